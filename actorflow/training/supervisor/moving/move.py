"""`StateMoves`: variables that go to other tasks between two steps, and those that come back from copies after a loss.

A move is decided by the chief's supervisor alone, and is made while its session has no step in flight:

1. All variables are kept as they are, those that move on the tasks to which they go.
2. The session's master gives their nodes other devices.
3. The variables get their values at their new places.
4. The former places drop theirs.

Each is a step or a request of the chief's session, so a new epoch fences it. A loss before the second leaves all as it was. After
it variables may lack values; then the epoch ends, and the copies of the first are the checkpoint from which training goes on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgpack

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.client.engine import RemoteEngine
from actorflow.cluster.config.spec import parse_task
from actorflow.cluster.master.graph_partitioner import task_of
from actorflow.cluster.wire.messages import AskCopies, DropState, MovedState
from actorflow.engine.session.session import Session
from actorflow.errors import AbortedError, FailedPreconditionError, InvalidArgumentError, OpError
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.saving.saver import Saver
from actorflow.training.supervisor.events import Events, StateMoved
from actorflow.training.supervisor.moving.balance import Moves, balanced
from actorflow.training.supervisor.moving.copies import StateCopies
from actorflow.training.supervisor.moving.doubt import LOSSES, Doubt
from actorflow.training.supervisor.moving.state_groups import state_groups
from actorflow.training.supervisor.recovery.manager import RecoveryManager

_LOG = get_logger("supervisor")
_MOST_NAMED = 4
_ASK_SECONDS = 5.0


class MovesLater(FailedPreconditionError):
    """Variables can't move now, and nothing has changed; a later try may succeed."""


class StepsUnderWay(MovesLater):
    """Variables may move when steps have ended."""


class TasksChanged(MovesLater):
    """A task has left since its part in what keeps copies was laid out. Nothing has begun."""


class StateMoves:
    """The moves of one training.

    Args:
        graph, variables, count: see `StateCopies`.
        session, events, saver: of the supervisor.
        doubt: about the runs before.
    """

    def __init__(
        self,
        graph: Graph,
        variables: Sequence[Any],
        count: int,
        session: Session,
        events: Events,
        saver: Saver | None = None,
        *,
        doubt: Doubt,
    ) -> None:
        self._graph, self._all, self._count, self._saver, self._doubt = graph, variables, count, saver, doubt
        self._session, self._events = session, events
        self.manager: RecoveryManager
        self.copies: StateCopies | None = None
        self._leaving: frozenset[str] = frozenset()
        self._members: frozenset[str] = frozenset()
        self._joined: frozenset[str] = frozenset()
        """The jobs of tasks that have joined, and may take a share."""
        self._is_stale = False
        self._has_moved = False
        """Whether variables may be elsewhere than where a session that knows nothing of it would put them."""
        """Whether the session may have other devices than it says."""
        self.turn = anyio.Lock()
        """Held by a move from its plan until the former places have dropped what has moved."""
        self._dropping = anyio.Lock()

    @property
    def keeps(self) -> bool:
        """Whether each run leaves copies."""
        return self._count > 0

    def ready(self) -> StateCopies:
        """The copies, whose nodes are made at their first use."""
        if self.copies is None:
            self.copies = StateCopies(self._graph, self._all, self._count, self._doubt)
            self.copies.leaving = self._leaving
            self._settle(self.copies)
        return self.copies

    def _settle(self, copies: StateCopies) -> None:
        copies.settle(self._session)
        self._engine.place_variables(copies.homes)

    def changed(self, tasks: Collection[str]) -> None:
        """Tasks have joined or left; these are there now."""
        self._is_stale = True
        if self._members:
            self._joined |= jobs_of(set(tasks) - self._members)
        self._members = frozenset(tasks)

    def leave(self, tasks: Collection[str]) -> None:
        """Tasks are about to leave, and others are not: no step needs these any more, for copies either."""
        self._leaving = frozenset(tasks)
        if self.copies is not None:
            self.copies.leaving = self._leaving

    def take_joined(self, holders: Collection[str]) -> frozenset[str]:
        """The jobs of tasks that have joined since this was asked last, of those that hold variables."""
        joined, self._joined = self._joined & jobs_of(holders), frozenset()
        return joined

    def put_back(self, jobs: Collection[str]) -> None:
        """Tasks of these jobs have no share yet."""
        self._joined |= frozenset(jobs)

    async def _refresh(self) -> None:
        if self._is_stale:
            self._is_stale = False
            try:
                await self._engine.remote.refresh_devices()
            except OpError:
                self._is_stale = True
                raise

    @property
    def _engine(self) -> RemoteEngine:
        engine = self._session._engine
        assert isinstance(engine, RemoteEngine)
        return engine

    # ---- beside steps

    async def run(self, fetches: Any, feeds: Mapping[Any, Any] | None, **options: Any) -> Any:
        """A run that leaves copies."""
        begun = anyio.current_time()
        while True:
            await self._refresh()
            copies = self.ready()
            try:
                async with self._placed(copies):
                    return await copies.run(self._session, fetches, feeds, begun, **options)
            except TasksChanged:
                pass  # the next try has the tasks that are there

    @asynccontextmanager
    async def _placed(self, copies: StateCopies) -> AsyncIterator[None]:
        """A block that runs nodes of copies on the tasks that the session knows. The master may know sooner than this program
        that a task has left: then it refuses to place them.

        Raises:
            TasksChanged: so it was.
            AbortedError: so it was, and that task has variables.
        """
        devices = self._devices()
        try:
            yield
        except InvalidArgumentError as error:
            node = error.node or ""
            is_own = copies.is_own(node)
            if not is_own and node not in copies.homes:
                raise
            is_stale = self._is_stale
            await self._engine.remote.refresh_devices()
            gone = devices - self._devices()
            if gone & set(copies.homes.values()):
                raise AbortedError(f"{_tasks(gone)} has left the cluster with variables.") from error
            if not is_own or not (gone or is_stale):
                raise
            raise TasksChanged(f"{_tasks(gone) or 'A task'} has left the cluster meanwhile.") from error

    def _devices(self) -> set[str]:
        return {device.name for device in self._session.list_devices()}

    # ---- after a loss

    async def restore(self) -> bool:
        """Gives all variables the values of the last run of which all copies are there. The result is whether such a run was."""
        self._doubt.end()
        if self.copies is None:
            await self._tell_saver()
            return False
        async with self._dropping:
            pass  # else a task might drop what this restore brings there
        await self._engine.remote.refresh_devices()
        self._is_stale = False
        newest = self.copies.newest(await self._rows(self.copies))
        present = {device.name for device in self._session.list_devices()}
        await self._engine.move({name: home for name, home in self.copies.homes.items() if home in present})
        await self._session.warmup(list(self._all))  # variables of tasks that are gone get other places
        self._settle(self.copies)
        if self._saver is not None:
            self._saver._rebuild(self.copies.tasks(self._session))
        if newest is None:
            return False
        run, holders = newest
        self._has_moved = True
        await self.copies.adopt(self._session, run, holders)
        _LOG.info("variables have their values from copies", run=run, tasks=sorted(set(holders.values())))
        if not self.keeps:
            self.copies.forget()  # the next loss goes back to a later checkpoint, and not to these
            await self._send_all({task: [] for task in self.manager.monitor.lives}, copies=True)
        return True

    async def _tell_saver(self) -> None:
        """Lets the saver know where variables are that ask for a job with several tasks."""
        requests = {DeviceSpec.parse(variable.device) for variable in self._all}
        devices = [device.spec.task_of() for device in self._session.list_devices()]
        has_choice = any(len({device for device in devices if spec.task_of().matches(device)}) > 1 for spec in requests)
        if self._saver is not None and has_choice:
            await self._session.warmup(list(self._all))
            places = {v.op.name: str(DeviceSpec.parse(self._session.placement(v.op)).task_of()) for v in self._all}
            if len(set(places.values())) > 1:
                self._saver._rebuild(places)

    async def _rows(self, copies: StateCopies) -> Mapping[str, Sequence[tuple[int, str, Sequence[str]]]]:
        rows: dict[str, Sequence[tuple[int, str, Sequence[str]]]] = {}

        async def ask(task: str) -> None:
            try:
                with anyio.fail_after(_ASK_SECONDS):
                    packed = await self.manager.monitor.call(task, AskCopies(copies.owner))
            except (OpError, TimeoutError) as error:
                _LOG.info("a task does not tell its copies", task=task, error=str(error))
                return
            rows[task] = [(run, part, names) for run, part, names in msgpack.unpackb(packed)]

        async with anyio.create_task_group() as group:
            for task, life in self.manager.monitor.lives.items():
                if life.is_up:
                    group.start_soon(ask, task)
        return rows

    # ---- between two steps

    def settled(self) -> frozenset[str]:
        """Takes the places of the variables after a restore, and tells the tasks that hold variables."""
        if self.copies is not None:
            self._settle(self.copies)
            if self._saver is not None:
                self._saver._rebuild(self.copies.tasks(self._session))
        return frozenset(task_of(self._session.placement(variable.op)) for variable in self._all)

    def plan(self, leaving: Collection[str], jobs: Collection[str]) -> Moves:
        """Which nodes move where; see `balanced`."""
        specs = [device.spec for device in self._session.list_devices()]
        placed = self._engine.placements()
        names = [variable.op.name for variable in self._all]
        if self.copies is not None:
            placed = {**placed, **self.copies.homes}
        return balanced(state_groups(self._graph, names, placed, specs), leaving, jobs)

    async def move(self, leaving: Collection[str], jobs: Collection[str]) -> Mapping[str, str]:
        """Takes variables from tasks that leave, and levels those of jobs that have got tasks. The result has the former devices
        of what has moved, for `settled` and then `drop`. Called in the turn.

        Raises:
            MovesLater: steps or partial runs are under way that do not end, or a task has left meanwhile. Nothing has changed.
            FailedPreconditionError: variables, tables or queues can't leave their task, and are named. Nothing has changed.
            OpError: a task was lost meanwhile.
        """
        self._is_stale = True
        await self._refresh()
        moves = self.plan(leaving, jobs)
        if moves.stuck:
            tasks, names = ", ".join(sorted(leaving)), "; ".join(moves.stuck[:_MOST_NAMED])
            raise FailedPreconditionError(
                f"{tasks} can't leave, for the last copy would be lost of {names}.",
                hint="Ask for a job and not for a task (af.device('/job:ps')), or let another task of the job join first.",
            )
        if not moves.devices:
            return {}
        copies = self.ready()
        begin = anyio.current_time()
        sources = {name: placed for name in moves.devices if (placed := copies.homes.get(name)) is not None}
        async with self._alone(copies):
            raised = self._doubt.raised
            await self._doubt.over()
            await self._take(copies, moves)
            self._check_whole(copies, raised)
            run, layout = copies.last()
            await self._rehome(copies, moves, run, {part.name: task_of(part.next_home) for part in layout})
        if not self.keeps:
            copies.forget()
        places = {name: (sources[name], moves.devices[name]) for name in sources}
        self._events.tell(StateMoved, places, moves.nbytes, anyio.current_time() - begin)
        return sources

    @asynccontextmanager
    async def _alone(self, copies: StateCopies) -> AsyncIterator[None]:
        """A block in which no other step of the session is under way. Raises StepsUnderWay where that can't be."""
        engine = self._engine
        with anyio.move_on_after(engine.patience) as scope:
            await copies.turn.acquire()
        if scope.cancelled_caught:
            raise _is_busy(engine)
        try:
            async with self._session._snapshot(consistent=True):
                if not engine.is_quiet:
                    raise _is_busy(engine)
                yield
        finally:
            copies.turn.release()

    async def _take(self, copies: StateCopies, moves: Moves) -> None:
        try:
            async with self._placed(copies):
                await copies.take(self._session, moves.devices)
        except BaseException as error:
            if not self.keeps:
                copies.forget()  # a later loss would go back to them, past newer checkpoints
            if isinstance(error, LOSSES):  # said once, and whoever moves may be no attempt, which would hear it
                self.manager.take_back(AbortedError(f"Variables were about to move. {error.message}"))
            raise

    def _check_whole(self, copies: StateCopies, raised: int) -> None:
        """Raises AbortedError where a run has failed before the values were taken, which was not known yet."""
        try:
            self._doubt.check(raised)
        except AbortedError:
            copies.forget()
            raise

    async def _rehome(self, copies: StateCopies, moves: Moves, run: int, holders: Mapping[str, str]) -> None:
        former = dict(copies.homes)
        self._has_moved = True
        try:
            await self._engine.move(moves.devices)
            copies.homes |= moves.devices
            copies.moved |= moves.devices.keys() - copies.variables
            await copies.adopt(self._session, run, holders, moves.devices.keys())
        except BaseException as error:
            copies.homes = former | dict(moves.devices)
            why = error.message if isinstance(error, OpError) else "The move was stopped in the middle."
            self.manager.take_back(AbortedError(f"Variables were about to move, and have no values now. {why}"))
            raise

    async def drop(self, sources: Mapping[str, str]) -> None:
        """Lets the former places drop the variables, and all tasks what they have kept for the move. Called in the turn.

        Args:
            sources: as `move` gives them.
        """
        copies = self.copies
        if copies is None or not sources:
            return
        await self.tell_masters()
        by_task: dict[str, list[list[str]]] = {} if self.keeps else {task: [] for task in self.manager.monitor.lives}
        for name, device in sources.items():
            if name in copies.variables and copies.homes.get(name) != device:
                attrs = self._graph.nodes[name].attrs
                by_task.setdefault(task_of(device), []).append([attrs["container"], attrs["shared_name"] or name])
        async with self._dropping:
            await self._send_all(by_task, copies=not self.keeps)

    async def tell_masters(self) -> None:
        """Tells all tasks where the variables are, for the sessions of other clients. No cancellation stops that halfway."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for task, life in self.manager.monitor.lives.items():
                    if life.is_up:
                        group.start_soon(self.tell_master, task)

    async def tell_master(self, task: str) -> None:
        """Tells a task where the variables are, if they have moved; a task that has come up since knows nothing of that."""
        if self.copies is None or not self._has_moved:
            return
        homes, rows = self.copies.homes, []
        own = {variable.op.name for variable in self._graph.get_collection(GraphKeys.LOCAL_VARIABLES)}
        for name in self.copies.variables:
            if name in own:
                continue  # each client has its own
            attrs = self._graph.nodes[name].attrs
            rows.append([attrs["container"], attrs["shared_name"] or name, homes[name]])
        try:
            with anyio.fail_after(_ASK_SECONDS):
                await self.manager.monitor.call(task, MovedState(self.manager.epoch, rows))
        except (OpError, TimeoutError) as error:
            _LOG.warning("a task does not hear where variables are", task=task, error=str(error))

    async def close(self) -> None:
        """Lets the tasks that are there drop all copies. No loss is mended any more."""
        if self.copies is not None:
            up = [task for task, life in self.manager.monitor.lives.items() if life.is_up]
            await self._send_all({task: [] for task in up}, copies=True)

    async def _send_all(self, variables: Mapping[str, list[list[str]]], *, copies: bool) -> None:
        """Lets tasks drop variables, and the copies as well if `copies` says so. No cancellation stops that halfway."""
        owner = self.ready().owner

        async def send(task: str) -> None:
            try:
                with anyio.fail_after(_ASK_SECONDS):
                    await self.manager.monitor.call(task, DropState(owner, copies, variables[task]))
            except (OpError, TimeoutError) as error:
                _LOG.warning("a task does not drop what has moved", task=task, error=str(error))

        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for task in variables:
                    group.start_soon(send, task)


def _tasks(devices: Collection[str]) -> str:
    return ", ".join(sorted(set(map(task_of, devices))))


def _is_busy(engine: RemoteEngine) -> StepsUnderWay:
    return StepsUnderWay(
        "Variables can't move now, and nothing has changed: a step or a partial run of the supervisor's session is under way and "
        "waits, for a queue or for its next part. It would write to the former places.",
        details=engine.pending().splitlines(),
        hint="End the partial run, or run what the step waits for; then call level() or scale() again.",
    )


def jobs_of(tasks: Collection[str]) -> frozenset[str]:
    """The jobs of tasks."""
    return frozenset(parse_task(task)[0] for task in tasks)
