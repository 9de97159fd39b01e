"""`Supervisor`: training that goes on across deaths (paper section 3.3; `tf.train.Supervisor`)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from types import TracebackType
from typing import Any, TypeVar

import anyio

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.base.unpicklable import unpicklable
from actorflow.cluster.client.engine import RemoteEngine
from actorflow.cluster.config.credentials import Credentials, Target
from actorflow.cluster.config.spec import task_name
from actorflow.cluster.processes.local import LocalCluster
from actorflow.cluster.wire.links import START_SECONDS
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.session.session import Session
from actorflow.engine.transport.heartbeat import FAR, NEAR, Heartbeat
from actorflow.errors import AbortedError, FailedPreconditionError
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.models.train.saving.saver import Saver
from actorflow.public import public
from actorflow.training.supervisor.events import Event, Events, Restored
from actorflow.training.supervisor.liveness import Life, Rules
from actorflow.training.supervisor.logical_workers import LogicalWorkers
from actorflow.training.supervisor.model_state import ModelState, check_arguments, checked_copies, folder_path
from actorflow.training.supervisor.moving.doubt import Doubt
from actorflow.training.supervisor.moving.move import StateMoves
from actorflow.training.supervisor.recovery.attempts import CURRENT, Attempt, Attempts
from actorflow.training.supervisor.recovery.chief_failure import tell_failure
from actorflow.training.supervisor.recovery.failure_classifier import FailureClassifier
from actorflow.training.supervisor.recovery.manager import STEPS, RecoveryManager, chance
from actorflow.training.supervisor.recovery.restarts import RestartPolicy, Restarts
from actorflow.training.supervisor.recovery.run_gate import RunGate
from actorflow.training.supervisor.saves import Checkpoints, SaveTimer
from actorflow.training.supervisor.task_roles import TaskRoles
from actorflow.training.supervisor.watch import Watch

T = TypeVar("T")
_LOG = get_logger("supervisor")
_SESSION_SECONDS = 30.0
"""So long its session waits for a task; a look at the chief's work is tried again then."""


@public("af", "af.supervisor")
class Supervisor:
    """Gives variables values, sees that tasks live, saves checkpoints, and after a loss goes on from the last checkpoint.

    The body runs once for each step that is kept, and once more for a step that a loss has taken back. Its other
    effects (print, read from a file) should go by `step`, the global step.

    Example:
        >>> v, x = af.Variable(3.0), af.placeholder(af.float32, [])
        >>> train = af.train.GradientDescentOptimizer(0.1).minimize((v - x) ** 2, global_step=af.train.create_global_step())
        >>> async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
        ...     async with af.Supervisor(cluster, checkpoint_dir="run", save_steps=2) as supervisor:
        ...         async for attempt in supervisor.steps(until=3):
        ...             async with attempt as step:
        ...                 await supervisor.run(train, {x: 1.0})
        >>> af.train.latest_checkpoint("run")
        'run/model.ckpt-3'

    Args:
        cluster: a `LocalCluster`, whose lost tasks are started again; or a target, "" for this process, whose tasks a
            scheduler starts again. The environment's `ACTORFLOW_TARGET` unless given, or else this process.
        graph: the default graph unless given.
        is_chief: the chief of the cluster initialises, saves and restores. Others wait until it has done so, and
            follow.
        init_op: gives variables values if there is no checkpoint; that of all global variables unless given.
        init_feeds: the values that are fed to `init_op`.
        local_init_op: run after `init_op` or a restore, by others than the chief as well; that of all local variables
            unless given.
        checkpoint_dir: a folder that all tasks that hold variables reach. Servers that were started elsewhere have to
            allow it (`--files`, `file_roots`). That all have the same folder is looked at before anything is restored
            or saved.
        save_steps: a checkpoint is made this number of steps after the last checkpoint, and at the end.
        save_seconds: a checkpoint is made at each multiple of this number of seconds, and at the end.
        save_beside: whether steps go on as soon as a periodic checkpoint's values are taken, while it is written. No
            two checkpoints are written at a time.
        max_to_keep: the number of checkpoints to keep; None keeps all.
        saver: saves and restores; a saver for all global variables unless given.
        recovery: "all" takes all tasks back to the last checkpoint after any loss. With "task" the loss of a task
            without variables ends only the steps that it takes part in, which suits training that does not wait for all
            workers.
        restarts: how often lost tasks are started again.
        credentials, session_options: for sessions with a target; see `Session`.
        heartbeat_seconds: the pause between two heartbeats; a task is lost when it was silent for three of them. A busy
            Python program does not count as silent. For the tasks of a `LocalCluster` it is 0.4 unless given, so that a
            process that was stopped is lost within two seconds; for others it is 1.
        rules: when a task whose event loop does not answer is said to be busy.
        wait_seconds: the maximum number of seconds that others wait for the chief.
        start_seconds: for how many seconds tasks are waited for that are absent at the start: tasks may start in any order.
            The log names them after some seconds, and the error at the end. A task that refuses is an error at once.
        seed: makes the random part of the pauses between restarts the same in each run.
        model: the nodes that it runs, made before; they go before those that other arguments would make.
        saves: whether it saves checkpoints. Otherwise the program does, and the supervisor restores them.
        replicas: the number of logical workers of the graph; see `af.train.Replicas`. Then no worker's task may keep state,
            and an event tells which task computes which of them whenever that changes.
        copies: on how many further tasks the values of all variables are kept beside each run that changes something. After the
            loss of a task that holds variables training goes on from these, and no step is lost. Such runs take turns.
        lost_seconds: with `replicas`, where a scheduler starts tasks again: a lost task that is not back after this number of
            seconds is declared lost, and training goes on with the others. It holds no variables then, or `copies` keeps their
            values and they may go to another task; and its job has more tasks than it needs. Such a task may join again. None
            waits for it.

    Raises:
        InvalidArgumentError: an argument is invalid, or the graph's logical workers are not as `replicas` says.
        ValueError: there is a `checkpoint_dir`, but nothing to save.
    """

    __reduce_ex__ = unpicklable(
        "A supervisor is not pickled, for it watches a cluster from this process: make it where it is needed."
    )

    _gate: RunGate
    _doubt: Doubt
    _classifier: FailureClassifier
    _manager: RecoveryManager | None = None
    _session: Session | None = None
    _is_shared = False
    """Whether it is known that all tasks have the same folder."""

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
        save_beside: bool = True,
        max_to_keep: int | None = 5,
        saver: Saver | None = None,
        recovery: str = "all",
        restarts: RestartPolicy | None = None,
        credentials: Credentials | str | os.PathLike[str] | None = None,
        session_options: Mapping[str, Any] | None = None,
        heartbeat_seconds: float | None = None,
        rules: Rules | None = None,
        wait_seconds: float | None = None,
        start_seconds: float = START_SECONDS,
        seed: int | None = None,
        model: ModelState | None = None,
        saves: bool = True,
        replicas: int | None = None,
        copies: int = 0,
        lost_seconds: float | None = None,
    ) -> None:
        check_arguments(recovery, checkpoint_dir is None and (save_steps is not None or save_seconds is not None))
        self.graph = get_default_graph() if graph is None else graph
        self.is_chief = is_chief
        self._lost_seconds, self._copies = lost_seconds, checked_copies(copies)
        workers = None if replicas is None else LogicalWorkers(self.graph, replicas)
        self.model = model or ModelState(
            self.graph,
            folder_path(checkpoint_dir),
            init_op=init_op,
            init_feeds=init_feeds,
            local_init_op=local_init_op,
            saver=saver,
            max_to_keep=max_to_keep,
        )
        self._cluster = cluster if isinstance(cluster, LocalCluster) else None
        self._target = cluster if isinstance(cluster, str) else None
        self._credentials, self._recovery = credentials, recovery
        self._session_options = dict(session_options or {})
        usual = FAR if self._cluster is None else NEAR
        self._heartbeat = usual if heartbeat_seconds is None else Heartbeat(heartbeat_seconds)
        self._rules = rules or Rules()
        self._wait_seconds, self._start_seconds = wait_seconds, start_seconds
        self._session_options.setdefault("connect_timeout", min(_SESSION_SECONDS, start_seconds))
        self._restarts = Restarts(restarts or RestartPolicy(), chance(seed))
        self._events = Events(machine.wall_time)
        self._saves = self._checkpoints(SaveTimer(save_steps, save_seconds), saves, save_beside)
        self._roles = TaskRoles(
            self, self._events, workers, is_strict=recovery == "all", is_local=self._cluster is not None
        )

    def _checkpoints(self, timer: SaveTimer, may_save: bool, is_beside: bool) -> Checkpoints:
        is_on = may_save and self.is_chief and self.model.saver is not None and self.model.folder is not None
        return Checkpoints(self, self._events, timer, lambda: self._gate.generation, is_on=is_on, is_beside=is_beside)

    # ---- from its start to its end

    async def start(self) -> None:
        """Begins: a chief when all tasks are there and variables have their values, others when the chief has done so.

        Example:
            >>> step, x = af.train.get_or_create_global_step(), af.placeholder(af.int64, [])
            >>> count = step.assign_add(x)
            >>> async def main():
            ...     supervisor = af.Supervisor("")
            ...     await supervisor.start()  # `async with` does the same
            ...     print(await supervisor.run(count, {x: 1}))
            ...     await supervisor.close()
            >>> await main()
            1

        Raises:
            OpError: that can't be.
        """
        if self._session is not None:
            raise FailedPreconditionError("The supervisor has been started already.")
        self._gate = RunGate()
        self._doubt = Doubt(self._heartbeat.evidence_seconds, lambda: self._gate.generation)
        target = self._target if self._cluster is None else self._master(self._cluster)
        if self._cluster is not None and self.model.folder is not None:
            await self._cluster.allow_files(self.model.folder)
        self._session = Session(target, self.graph, credentials=self._credentials, **self._session_options)
        engine = self._session._engine
        if self.model.folder is not None:
            engine.allow_files(self.model.folder)
        self._classifier = FailureClassifier(
            self._gate,
            self.model,
            self._session,
            self._restarts,
            self._events,
            self.is_chief,
            self._recovery,
            self._heartbeat,
            self._wait_seconds,
        )
        try:
            if not self.is_chief:
                await self._classifier.wait_for_chief(self._start_seconds)
            elif isinstance(engine, RemoteEngine):
                engine.place_variables({})
                await self._watch(engine.target, engine)
            else:
                await self._begin()
                self._gate.open()
        except BaseException as error:
            try:
                if self.is_chief and isinstance(error, Exception):
                    await tell_failure(self._session, error)
            finally:
                await self._end()
            raise

    def _master(self, cluster: LocalCluster) -> Target:
        """The task that runs the steps. Any worker may leave a training with logical workers; the coordinator stays."""
        return cluster.target if self._roles.workers is None else cluster.target_of(cluster.coordinator)

    async def _watch(self, target: Target, engine: RemoteEngine) -> None:
        """Begins to watch the cluster, and waits until it is up."""
        watch = Watch(
            events=self._events,
            restarts=self._restarts,
            rules=self._rules,
            heartbeat=self._heartbeat,
            start_seconds=self._start_seconds,
            folder=self.model.folder,
            restore=self._begin,
            roles=self._roles,
            lost_seconds=None if self._roles.workers is None else self._lost_seconds,
            on_abort=self._gate.turn_back,
            on_up=self._gate.open,
            on_failure=self._gate.fail,
        )
        self._roles.moves = moves = StateMoves(
            self.graph,
            self.model.variables,
            self._copies,
            self.session,
            self._events,
            self.model.saver,
            doubt=self._doubt,
        )
        self._manager = self._classifier.manager = await watch.begin(target, self._cluster, engine)
        moves.manager = self._manager
        self._manager.on_task_up = moves.tell_master
        if self._roles.workers is not None:
            self._manager.beside(self._roles.watch_speed(self._manager, self._cluster, self._rules.slow_factor))
        await self._gate.wait()

    async def close(self, *, save: bool = True) -> None:
        """Saves a last checkpoint if steps were made since the checkpoint before, and ends. The cluster stays as it is.
        While something is lost there is nothing to save. A checkpoint that is being written is waited for in either
        case.

        Example:
            >>> step, x = af.train.get_or_create_global_step(), af.placeholder(af.int64, [])
            >>> count = step.assign_add(x)
            >>> supervisor = af.Supervisor("", checkpoint_dir="run")
            >>> await supervisor.start()
            >>> _ = await supervisor.run(count, {x: 1})
            >>> await supervisor.close()  # saves
            >>> af.train.latest_checkpoint("run")
            'run/model.ckpt-1'

        Raises:
            OpError: the last checkpoint could not be saved.
        """
        try:
            if self._saves.is_on:
                await self._saves.close(is_whole=self._gate.is_open, save=save)
        finally:
            await self._end()

    async def _end(self) -> None:
        with anyio.CancelScope(shield=True):
            self._events.close()
            try:
                await self._saves.end()
                if self._roles.moves is not None:
                    await self._roles.moves.close()
                if self._manager is not None:
                    await self._manager.close()
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
    def guard(self) -> Supervisor | None:
        """Itself where tasks may be lost; None in a process of its own, where a step needs no attempt."""
        return self if isinstance(self.session._engine, RemoteEngine) else None

    @property
    def saver(self) -> Saver | None:
        """The saver; None without a `checkpoint_dir`."""
        return self.model.saver

    @property
    def replicas(self) -> Mapping[str, tuple[int, ...]]:
        """The logical workers by the task that computes them; empty unless their number was given."""
        return self._roles.replicas

    @property
    def epoch(self) -> int:
        """The epoch of the cluster that it has given; 0 if there is none to keep."""
        return 0 if self._manager is None else self._manager.epoch

    @property
    def lives(self) -> dict[str, Life]:
        """The state of each task; empty if there is no cluster, or this is not its chief."""
        return {} if self._manager is None else self._manager.monitor.lives

    @property
    def history(self) -> list[Event]:
        """The events so far, at most a thousand."""
        return list(self._events.past)

    def events(self) -> AsyncIterator[Event]:
        """The events so far, and then each as it comes, until the supervisor is closed.

        Example:
            >>> step, x = af.train.get_or_create_global_step(), af.placeholder(af.int64, [])
            >>> count = step.assign_add(x)
            >>> async with af.Supervisor("", checkpoint_dir="run") as supervisor:
            ...     path = await supervisor.save()
            >>> [type(event).__name__ async for event in supervisor.events()]
            ['Restored', 'CheckpointSaved', 'CheckpointSaved']
        """
        return self._events.follow()

    # ---- steps

    def steps(self, until: int | None = None) -> Attempts:
        """The attempts of a training loop, until the global step is `until` (forever unless given). Between them
        periodic checkpoints are made, and a checkpoint at the end.

        Example:
            >>> step, x = af.train.get_or_create_global_step(), af.placeholder(af.int64, [])
            >>> count = step.assign_add(x)
            >>> async with af.Supervisor("") as supervisor:
            ...     async for attempt in supervisor.steps(until=3):
            ...         async with attempt as number:
            ...             print(number, await supervisor.run(count, {x: 1}))
            0 1
            1 2
            2 3

        Raises:
            FailedPreconditionError: the graph has no global step, or another chief has taken over.
            ResourceExhaustedError: a task was lost more often than it may be started again; has the report of its death.
            OpError: a checkpoint could not be saved or restored.
        """
        return Attempts(self, until)

    async def next_attempt(self, until: int | None) -> Attempt | None:
        """The next attempt when all is well; None at the end."""
        while True:
            await self._gate.wait()
            attempt = Attempt(self, -1, self._gate.generation)
            try:
                step = await self._between_steps(attempt, until)
                if until is not None and step >= until:
                    return None
            except Exception as error:
                if not await attempt.leave(error):
                    raise
            else:
                return Attempt(self, step, attempt.generation)

    async def attempt(self, step: int) -> Attempt:
        """An attempt when all is well, for a loop that counts its steps and saves its checkpoints itself: `next_attempt`
        without a look at the global step. Raises what makes it impossible to go on.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     v, count = af.Variable(3.0), af.train.create_global_step()
            >>> async with af.Supervisor("", graph=graph, checkpoint_dir="run") as supervisor:
            ...     async with await supervisor.attempt(0) as step:
            ...         print(step, await supervisor.run(v))
            0 3.0
        """
        while True:
            await self._gate.wait()
            attempt = Attempt(self, step, self._gate.generation)
            try:
                await self._follow_members()
            except Exception as error:
                if not isinstance(error, AbortedError):
                    raise
            else:
                return attempt

    async def _follow_members(self) -> None:
        if self._manager is not None:
            await self._roles.follow(self._manager.monitor.leaving, self.level)

    async def _between_steps(self, attempt: Attempt, until: int | None) -> int:
        """Saves a checkpoint if it is due, and gives the global step."""
        attempt.enter()
        try:
            await self._follow_members()
            step = await self.guarded(lambda: self.model.step(self.session))
            if self._saves.is_on:
                await self._saves.between_steps(attempt, step, ends=until is not None and step >= until)
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
        """Runs `fetches` by the supervisor's session.

        After a loss it fails at once, wherever it waits; and so do all further runs of that attempt. Outside of
        attempts it waits until all tasks are there again.

        Example:
            >>> step, x = af.train.get_or_create_global_step(), af.placeholder(af.int64, [])
            >>> count = step.assign_add(x)
            >>> async with af.Supervisor("") as supervisor:
            ...     print(await supervisor.run(count, {x: 1}))
            1

        Args:
            fetches, feeds, timeout, trace: see `Session.run`.

        Raises:
            AbortedError, UnavailableError: a task was lost. The attempt ends with it, and the next one begins at the
                restored step.
            OpError: any other error of `Session.run`.
        """
        self._saves.is_changed = True
        moves = self._roles.moves
        if moves is not None and moves.keeps:
            return await self.guarded(lambda: moves.run(fetches, feeds, timeout=timeout, trace=trace))

        async def start() -> Any:
            with self._doubt.of_run():
                return await self.session.run(fetches, feeds, timeout=timeout, trace=trace)

        return await self.guarded(start)

    async def guarded(self, start: Callable[[], Awaitable[T]]) -> T:
        """Awaits `start()`, what uses the session in another way than `run` does. Fails at once if there is a loss, as
        `run` does.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     v = af.Variable(3.0)
            >>> async with af.Supervisor("", graph=graph, checkpoint_dir="run") as supervisor:
            ...     print(await supervisor.guarded(lambda: supervisor.session.run(v)))
            3.0
        """
        self.session  # noqa: B018  (raises before the start)
        attempt = CURRENT.get()
        return await self._gate.through(attempt if attempt is not None and attempt.supervisor is self else None, start)

    async def is_loss(self, error: BaseException, attempt: Attempt) -> bool:
        """Whether an error of a run is a loss, and training goes on without it; see `FailureClassifier`."""
        with self._doubt.judged():
            return await self._classifier.is_loss(error, attempt)

    def went_well(self) -> None:
        """A step was made."""
        self._restarts.forget(STEPS)
        self._restarts.step_made(() if self._manager is None else self._manager.nursed)

    # ---- state

    async def save(self) -> str:
        """Saves a checkpoint now, and gives its path. Raises FailedPreconditionError without a `checkpoint_dir`.

        Example:
            >>> step, x = af.train.get_or_create_global_step(), af.placeholder(af.int64, [])
            >>> count = step.assign_add(x)
            >>> async with af.Supervisor("", checkpoint_dir="run") as supervisor:
            ...     path = await supervisor.save()
            >>> path == af.train.latest_checkpoint("run")
            False
        """
        return await self._saves.save()

    async def scale(self, /, **jobs: int) -> None:
        """Changes how many tasks the cluster has, between two steps. A checkpoint is saved, tasks join and leave
        (`LocalCluster.scale`), and training goes on from that checkpoint with the tasks that are there. No step is lost.
        Variables of tasks that leave move, unless they ask for a task by its number. With `replicas`, where tasks join or leave
        that hold no variables, there is neither a checkpoint nor a pause: the next step has the tasks that are there.

        Example:
            >>> step, x = af.train.get_or_create_global_step(), af.placeholder(af.int64, [])
            >>> count = step.assign_add(x)
            >>> async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
            ...     async with af.Supervisor(cluster, checkpoint_dir="run") as supervisor:
            ...         _ = await supervisor.run(count, {x: 1})
            ...         await supervisor.scale(worker=3)
            ...         print(await supervisor.run(count, {x: 1}), cluster.spec.num_tasks("worker"))
            2 3

        Args:
            jobs: the number of tasks of a job.

        Raises:
            FailedPreconditionError: there is no `LocalCluster` or no `checkpoint_dir`, an attempt is under way here, or a
                task may not leave.
            OpError: the checkpoint is not saved, or tasks don't come up; training goes on with those that are there.
        """
        cluster, manager = self._cluster, self._manager
        if cluster is None or manager is None or not self._saves.is_on:
            raise FailedPreconditionError(
                "Only the chief of a LocalCluster with a checkpoint_dir changes its tasks.",
                hint="Supervisor(cluster, checkpoint_dir=...)",
            )
        if CURRENT.get() is not None:
            raise FailedPreconditionError(
                "The cluster can't get other tasks within an attempt, which would end with it.",
                hint="Call scale() behind the block of `async with attempt`.",
            )
        present = {job: cluster.spec.task_indices(job) for job in jobs if job in cluster.spec.jobs}
        leaving = [task_name(job, index) for job, indices in present.items() for index in indices[max(jobs[job], 0) :]]
        if self._roles.workers is not None:
            grown = {job: max(count, len(present.get(job, ()))) for job, count in jobs.items()}
            await manager.let_change([], lambda: cluster.scale(saved=False, **grown))
            await self.level(leaving, [job for job, count in grown.items() if count > len(present.get(job, ()))])
            await manager.let_change(leaving, lambda: cluster.scale(saved=False, **jobs))
            return
        await self._saves.until_written(None)
        await self.save()
        await manager.change_tasks(leaving, lambda: cluster.scale(saved=True, **jobs))
        await self._gate.wait()

    async def level(self, leaving: Collection[str] = (), jobs: Collection[str] = ()) -> None:
        """Moves variables between two steps: away from tasks that are about to leave, and so that the tasks of some jobs hold
        about as many bytes. No step is lost.

        Example:
            >>> with af.device("/job:ps"):
            ...     step, x = af.train.get_or_create_global_step(), af.placeholder(af.int64, [])
            ...     count = step.assign_add(x)
            >>> async with af.LocalCluster({"worker": 1, "ps": 2}, transport="local") as cluster:
            ...     async with af.Supervisor(cluster, checkpoint_dir="run") as supervisor:
            ...         _ = await supervisor.run(count, {x: 1})
            ...         await supervisor.level(leaving=["/job:ps/task:0"])
            ...         print(await supervisor.run(count, {x: 1}), supervisor.session.placement(step.op).split("/")[3])
            2 task:1

        Args:
            leaving: the names of the tasks.
            jobs: the names of the jobs.

        Raises:
            FailedPreconditionError: something can't leave its task, for it asks for the task by its number, or is a table or a
                queue; its name is said. Or steps or partial runs are under way that wait for something.
        """
        await self._roles.level(leaving, jobs, self._saves)

    async def _begin(self) -> None:
        """Training can begin, or go on."""
        path, step, has_copies = await self._prepare()
        # to go back to until the first periodic save, random counters included
        if path is None and not has_copies and self._saves.is_on:
            await self._saves.write(step)

    async def _prepare(self) -> tuple[str | None, int, bool]:
        """Gives variables the values of a checkpoint, whose path is in the result, of copies, as the result says, or initial
        values."""
        if not self._is_shared:
            await self.model.check_folder(self.session)
            self._is_shared = True
        roles, has_copies = self._roles, False

        async def from_copies() -> bool:
            nonlocal has_copies
            has_copies = roles.moves is not None and await roles.moves.restore()
            if not has_copies:
                await self._saves.settled()
            return has_copies

        path, step = await self.model.prepare(self.session, from_copies)
        if not has_copies:  # else the last checkpoint is that of before
            self._saves.begin(step)
        if roles.moves is not None:
            roles.stateful = roles.moves.settled()
            await roles.moves.tell_masters()
        self._events.tell(Restored, path, step, self.epoch, has_copies)
        roles.map_replicas([d.name for d in self.session.list_devices()] if self._manager is None else self.lives)
        return path, step, has_copies
