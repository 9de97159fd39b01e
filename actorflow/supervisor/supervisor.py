"""`Supervisor`: training that goes on across deaths (paper section 3.3; `tf.train.Supervisor`)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any

import anyio
import structlog

from actorflow import machine
from actorflow.cluster.client import RemoteEngine, connect, query_status
from actorflow.cluster.credentials import Credentials, resolve
from actorflow.cluster.division import task_of
from actorflow.cluster.endpoints import open_endpoints
from actorflow.cluster.local import LocalCluster
from actorflow.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnavailableError,
)
from actorflow.graph.graph import Graph, get_default_graph
from actorflow.runtime.trace import Trace
from actorflow.session.session import Session
from actorflow.supervisor.attempts import CURRENT, Attempt, Attempts
from actorflow.supervisor.epochs import EpochStore
from actorflow.supervisor.events import CheckpointSaved, Event, Events, Restored, StepAborted
from actorflow.supervisor.keeper import STEPS, Keeper, chance
from actorflow.supervisor.liveness import Life, Rules
from actorflow.supervisor.model import Model, folder_path
from actorflow.supervisor.monitor import Monitor
from actorflow.supervisor.restarts import RestartPolicy, Restarts
from actorflow.supervisor.saves import SaveTimer
from actorflow.train.saver import Saver

_LOG = structlog.get_logger("actorflow.supervisor")
_LOSSES = (UnavailableError, AbortedError, DeadlineExceededError)
_EVIDENCE_HEARTBEATS = 4
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 1.0
_REPORT_SECONDS = 4.0


class Supervisor:
    """Gives variables their values, sees that the tasks live, saves checkpoints, and after a loss goes on from the last one.

        async with af.LocalCluster({"ps": 1, "worker": 2}) as cluster:
            async with af.Supervisor(cluster, graph=g, checkpoint_dir=path, save_steps=100) as supervisor:
                async for attempt in supervisor.steps(until=1000):
                    async with attempt as step:
                        loss, _ = await supervisor.run([loss_t, train_op], {x: batch(step)})

    The body runs once for each step that is kept, and once more for one that a loss has taken back. What else it does (print,
    read from a file) should go by `step`, the global step.

    Args:
        cluster: a `LocalCluster`, whose lost tasks are started again; or a target, "" for this process, whose tasks a
            scheduler starts again. The environment's `ACTORFLOW_TARGET` unless given, or else this process.
        graph: the default graph unless given.
        is_chief: the chief, one for a cluster, initialises, saves and restores. Others wait until it has done so, and follow.
        init_op: gives variables values where there is no checkpoint; that of all global variables unless given.
        init_feeds: what is fed to it.
        local_init_op: run after `init_op` or a restore; that of all local variables unless given.
        checkpoint_dir: a folder that all tasks that hold variables reach. Servers that were started elsewhere have to allow it
            (`--files`, `file_roots`).
        save_steps, save_seconds: a checkpoint is made so many steps after the last one, or at each multiple of so many
            seconds, and at the end.
        max_to_keep: how many checkpoints are kept; None for all.
        saver: saves and restores, where it is to be another one than that of all global variables.
        recovery: "all" takes all back to the last checkpoint after any loss. With "task" the loss of a task without
            variables ends only the steps that it takes part in, which suits training that does not wait for all workers.
        restarts: how often lost tasks are started again.
        credentials, session_options: for sessions with a target; see `Session`.
        heartbeat_seconds: a task is lost when it was silent for three times as long. Python may be as busy as it likes.
        rules: when a task whose event loop does not answer is said to be busy.
        wait_seconds: how long those who are not the chief wait for it at most.
        seed: of the chance in back-offs.

    Raises:
        InvalidArgumentError: what is given can't be.
        ValueError: there is a `checkpoint_dir`, but nothing to save.
    """

    def __init__(
        self,
        cluster: LocalCluster | str | None = None,
        graph: Graph | None = None,
        *,
        is_chief: bool = True,
        init_op: Any = None,
        init_feeds: Mapping[Any, Any] | None = None,
        local_init_op: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        save_steps: int | None = None,
        save_seconds: float | None = None,
        max_to_keep: int | None = 5,
        saver: Saver | None = None,
        recovery: str = "all",
        restarts: RestartPolicy | None = None,
        credentials: Credentials | str | os.PathLike[str] | None = None,
        session_options: Mapping[str, Any] | None = None,
        heartbeat_seconds: float = 1.0,
        rules: Rules | None = None,
        wait_seconds: float | None = None,
        seed: int | None = None,
    ) -> None:
        if recovery not in ("all", "task"):
            raise InvalidArgumentError(f'recovery={recovery!r}: it is "all" or "task".')
        if checkpoint_dir is None and (save_steps is not None or save_seconds is not None):
            raise InvalidArgumentError("There is nowhere to save to.", hint="checkpoint_dir=..., a folder")
        self.graph = get_default_graph() if graph is None else graph
        self.is_chief = is_chief
        self.model = Model(
            self.graph,
            folder_path(checkpoint_dir),
            init_op=init_op,
            init_feeds=init_feeds,
            local_init_op=local_init_op,
            saver=saver,
            max_to_keep=max_to_keep,
        )
        self._cluster = cluster if isinstance(cluster, LocalCluster) else None
        self._target = cluster if isinstance(cluster, str) else os.environ.get("ACTORFLOW_TARGET", "")
        self._credentials = credentials
        self._session_options = dict(session_options or {})
        self._recovery = recovery
        self._heartbeat, self._rules = heartbeat_seconds, rules or Rules()
        self._wait_seconds = wait_seconds
        self._timer = SaveTimer(save_steps, save_seconds)
        self._draw = chance(seed)
        self._restarts = Restarts(restarts or RestartPolicy(), self._draw)
        self._events = Events(machine.wall_time)
        self._keeper: Keeper | None = None
        self._session: Session | None = None
        self._up: anyio.Event
        self._generation = 0
        self._loss: Exception | None = None
        self._failure: Exception | None = None
        self._scopes: set[anyio.CancelScope] = set()
        self._stateful: frozenset[str] | None = None
        self._is_changed = False
        """Whether something was run since the last checkpoint."""

    # ---- from its start to its end

    async def start(self) -> None:
        """Begins: a chief when all tasks are there and variables have their values, others when the chief has done so.

        Raises:
            OpError: that can't be.
        """
        if self._session is not None:
            raise FailedPreconditionError("The supervisor has been started already.")
        self._up = anyio.Event()
        target = self._target if self._cluster is None else self._cluster.target
        if target:
            target = resolve(target, self._credentials)
        if self._cluster is not None and self.model.folder is not None and "://" not in self.model.folder:
            await self._cluster.allow_files(self.model.folder)
        self._session = Session(target, self.graph, **self._session_options)
        try:
            if not self.is_chief:
                await self._wait_for_chief()
            elif not target:
                await self._prepare()
                self._up.set()
            else:
                await self._keep(target)
        except BaseException:
            await self._end()
            raise

    async def _keep(self, target: Any) -> None:
        """Begins to watch the cluster, and waits until it is up."""
        assert self._session is not None
        engine = self._session._engine
        assert isinstance(engine, RemoteEngine)
        cluster = self._cluster
        if cluster is not None:
            tasks = {task: cluster.spec.address_of(task) for task in cluster.spec.tasks}
        else:
            tasks = (await query_status(target, timeout=self._heartbeat + 30.0))["tasks"]
        keys = target.credentials
        transport, options = "zmq", {"heartbeat_seconds": self._heartbeat}
        if target.startswith("local://"):
            transport, options = "local", {}
        links = connect(target, open_endpoints(transport, credentials=keys, options=options))
        keeper = Keeper(
            EpochStore(self.model.folder),
            self._restarts,
            self._events,
            cluster=cluster,
            client=lambda: engine.name,
            restore=self._prepare,
            holds_state=self._holds_state,
            on_abort=self._abort,
            on_up=self._up_again,
            on_failure=self._fail,
        )
        monitor = Monitor(
            tasks,
            links,
            None if keys is None else keys.peer_key(),
            process=lambda task: None if cluster is None else cluster.processes.get(task),
            restarts=cluster is not None,
            on_change=keeper.changed,
            epoch=lambda: keeper.epoch,
            rules=self._rules,
        )
        self._keeper = keeper
        keeper.start(monitor)
        await self._wait_up()

    async def close(self, *, save: bool = True) -> None:
        """Saves a last checkpoint where steps were made since the one before, and ends. The cluster stays as it is.

        Raises:
            OpError: the last checkpoint could not be saved.
        """
        try:
            if save and self._saves and self._is_changed and self._failure is None:
                step = await self._guarded(lambda: self.model.step(self.session))
                if step != self._timer.saved_step:
                    await self._guarded(lambda: self._save(step))
        finally:
            await self._end()

    async def _end(self) -> None:
        with anyio.CancelScope(shield=True):
            self._events.close()
            try:
                if self._keeper is not None:
                    await self._keeper.close()
            finally:
                if self._session is not None:
                    await self._session.close()

    async def __aenter__(self) -> Supervisor:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(save=error is None)

    # ---- what it is

    @property
    def session(self) -> Session:
        """The session that it runs steps by. Raises FailedPreconditionError before the start."""
        if self._session is None:
            raise FailedPreconditionError(
                "The supervisor has not been started.", hint="async with af.Supervisor(...) as supervisor: ..."
            )
        return self._session

    @property
    def saver(self) -> Saver | None:
        """What saves and restores; None without a `checkpoint_dir`."""
        return self.model.saver

    @property
    def epoch(self) -> int:
        """The epoch of the cluster that it has given; 0 where there is none to keep."""
        return 0 if self._keeper is None else self._keeper.epoch

    @property
    def lives(self) -> dict[str, Life]:
        """What is known of each task; empty where there is no cluster, or this is not its chief."""
        return {} if self._keeper is None else self._keeper.monitor.lives

    @property
    def history(self) -> list[Event]:
        """The events so far, at most a thousand."""
        return list(self._events.past)

    def events(self) -> AsyncIterator[Event]:
        """The events so far, and then each as it comes, until the supervisor is closed."""
        return self._events.follow()

    # ---- steps

    def steps(self, until: int | None = None) -> Attempts:
        """The attempts of a training loop, until the global step is `until` (for ever unless given). Between them periodic
        checkpoints are made, and one at the end.

        Raises:
            FailedPreconditionError: the graph has no global step, or another chief has taken over.
            ResourceExhaustedError: a task was lost more often than it may be started again; has the report of its death.
            OpError: a checkpoint could not be saved or restored.
        """
        return Attempts(self, until)

    async def next_attempt(self, until: int | None) -> Attempt | None:
        """The next attempt when all is well; None at the end."""
        while True:
            await self._wait_up()
            attempt = Attempt(self, -1, self._generation)
            try:
                step = await self._between_steps(attempt, until)
                if until is not None and step >= until:
                    return None
            except Exception as error:
                if not await attempt.leave(error):
                    raise
            else:
                return Attempt(self, step, attempt.generation)

    async def _between_steps(self, attempt: Attempt, until: int | None) -> int:
        """Saves a checkpoint if one is due, and gives the global step."""
        attempt.enter()
        try:
            step = await self._guarded(lambda: self.model.step(self.session))
            ends = until is not None and step >= until
            if self._saves and (self._timer.is_due(step, anyio.current_time()) or ends):
                if step != self._timer.saved_step:
                    await self._guarded(lambda: self._save(step))
            return step
        finally:
            attempt.reset()

    async def run(
        self,
        fetches: Any,
        feeds: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
        trace: Trace | None = None,
    ) -> Any:
        """`Session.run`, by the supervisor's session. After a loss it fails at once, wherever it waits; and so do all further
        runs of that attempt. Outside of attempts it waits until all is well.

        Raises:
            AbortedError: a task was lost. An attempt ends with it, and the next one begins at the restored step.
            OpError: what `Session.run` raises.
        """
        self._is_changed = True
        return await self._guarded(lambda: self.session.run(fetches, feeds, timeout=timeout, trace=trace))

    async def _guarded(self, start: Callable[[], Any]) -> Any:
        """Awaits `start()`, unless there is a loss."""
        attempt = CURRENT.get()
        if attempt is not None and attempt.supervisor is not self:
            attempt = None
        if attempt is None:
            await self._wait_up()
        generation = self._generation if attempt is None else attempt.generation
        try:
            self._check(generation)
            with anyio.CancelScope() as scope:
                self._scopes.add(scope)
                try:
                    return await start()
                finally:
                    self._scopes.discard(scope)
            self._check(generation)
            raise AbortedError("The run was stopped.")
        except Exception as error:
            if attempt is not None:
                attempt.failures.append(error)
            raise

    def _check(self, generation: int) -> None:
        """Raises what has happened since."""
        if self._failure is not None:
            raise self._failure
        if generation != self._generation:
            loss = self._loss
            raise AbortedError(
                "The step was aborted, because something was lost." if loss is None else _first_line(loss),
                details=getattr(loss, "details", ()),
                hint="An attempt of supervisor.steps() begins again by itself.",
            )

    async def is_loss(self, error: BaseException, attempt: Attempt) -> bool:
        """Whether an error of a run is a loss, for which there has to be evidence soon, or else not many of them in a row."""
        leaves = _leaves(error)
        if self._is_quiet(attempt):
            if not isinstance(self.session._engine, RemoteEngine):
                return False
            if not all(isinstance(leaf, (*_LOSSES, FailedPreconditionError)) for leaf in leaves):
                return False
            if _has(leaves, FailedPreconditionError) and not await self._lacks_values():
                return False
            await self._gather_evidence(attempt)
        if self._is_quiet(attempt):
            pause = self._restarts.next_pause(STEPS, anyio.current_time())
            if pause is None or _has(leaves, DeadlineExceededError):
                return False
            _LOG.warning("a step failed, and nothing was lost; it is tried again", error=str(error), pause=pause)
            await anyio.sleep(pause)
            if self._keeper is not None and self._recovery == "all" and self._is_quiet(attempt):
                self._keeper.take_back(AbortedError(f"A step failed: {_first_line(leaves[0])}"))
        if attempt.step >= 0:
            taken_back = attempt.generation != self._generation and self._loss is not None
            self._events.tell(StepAborted, attempt.step, _first_line(self._loss if taken_back else leaves[0]))
        if not self.is_chief:
            await self._wait_for_chief()
        elif self._keeper is not None and self._recovery == "task":
            await self._until_changed(self._keeper.monitor.all_up)
        return True

    def _is_quiet(self, attempt: Attempt) -> bool:
        """Whether nothing is known to be lost since the attempt began. Raises the failure that ends all."""
        if self._failure is not None:
            raise self._failure
        return attempt.generation == self._generation and all(life.is_up for life in self.lives.values())

    async def _gather_evidence(self, attempt: Attempt) -> None:
        """Waits a moment for the monitor to see what a run has felt."""
        if self._keeper is not None:
            with anyio.move_on_after(_EVIDENCE_HEARTBEATS * self._heartbeat):
                while self._is_quiet(attempt):
                    await self._keeper.monitor.next_change()

    async def _until_changed(self, wait: Callable[[], Any]) -> None:
        """Awaits `wait()`, at most until all is taken back, or there is no way to go on."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                await wait()
            finally:
                self._scopes.discard(scope)

    def went_well(self) -> None:
        """A step was made."""
        self._restarts.forget(STEPS)

    async def _lacks_values(self) -> bool:
        """Whether variables have lost their values, or that can't be asked."""
        try:
            return bool(await self.model.missing(self.session))
        except _LOSSES:
            return True

    # ---- state

    @property
    def _saves(self) -> bool:
        return self.is_chief and self.model.saver is not None and self.model.folder is not None

    async def save(self) -> str:
        """Saves a checkpoint now, and gives its path. Raises FailedPreconditionError without a `checkpoint_dir`."""
        step = await self._guarded(lambda: self.model.step(self.session))
        return str(await self._guarded(lambda: self._save(step)))

    async def _save(self, step: int) -> str:
        path = await self.model.save(self.session, step)
        self._timer.saved(step, anyio.current_time())
        self._is_changed = False
        self._events.tell(CheckpointSaved, path, step)
        return path

    async def _prepare(self) -> None:
        """Gives variables their values."""
        path, step = await self.model.prepare(self.session)
        self._timer.begin(step, anyio.current_time())
        self._is_changed = False
        if self._keeper is not None:
            self._stateful = frozenset(task_of(self.session.placement(v.op)) for v in self.model.variables)
        self._events.tell(Restored, path, step, self.epoch)

    def _holds_state(self, task: str) -> bool:
        return self._recovery == "all" or self._stateful is None or task in self._stateful

    async def _wait_for_chief(self) -> None:
        """Waits until all variables have values. Raises DeadlineExceededError when that takes more than `wait_seconds`."""
        pause, begin = _SHORTEST_WAIT, anyio.current_time()
        told = False
        with anyio.move_on_after(self._wait_seconds):
            while True:
                if not await self._lacks_values():
                    self._up.set()
                    return
                if not told and anyio.current_time() - begin > _REPORT_SECONDS:
                    told = True
                    _LOG.warning("waiting for the chief to give variables their values")
                await anyio.sleep(pause * (0.5 + self._draw() / 2))
                pause = min(pause * 2, _LONGEST_WAIT)
        raise DeadlineExceededError(
            f"The chief has not given all variables their values within {self._wait_seconds:g} s.",
            hint="Does the chief run (is_chief=True), with a graph that has the same variables?",
        )

    # ---- losses

    async def _wait_up(self) -> None:
        while self._failure is None and not self._up.is_set():
            await self._up.wait()
        if self._failure is not None:
            raise self._failure

    def _abort(self, error: Exception) -> None:
        """All that is under way is taken back."""
        self._loss = error
        self._generation += 1
        if self._up.is_set():
            self._up = anyio.Event()
        for scope in list(self._scopes):
            scope.cancel()

    def _up_again(self) -> None:
        self._up.set()

    def _fail(self, error: Exception) -> None:
        """There is no way to go on."""
        self._failure = error
        self._generation += 1
        for scope in list(self._scopes):
            scope.cancel()
        self._up.set()


def _has(errors: list[BaseException], kind: type[BaseException]) -> bool:
    return any(isinstance(error, kind) for error in errors)


def _first_line(error: BaseException | None) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
