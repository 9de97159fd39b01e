"""`TaskRoles`: what each task does for a training, and what happens as tasks join and leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.master.graph_partitioner import task_of
from actorflow.errors import FailedPreconditionError, OpError
from actorflow.training.supervisor.events import Events, ReplicasMapped, TaskSlow
from actorflow.training.supervisor.logical_workers import LogicalWorkers
from actorflow.training.supervisor.moving.move import MovesLater, StateMoves, jobs_of
from actorflow.training.supervisor.recovery.attempts import CURRENT
from actorflow.training.supervisor.saves import Checkpoints
from actorflow.training.supervisor.slow_tasks import SlowTasks, watch_speed

if TYPE_CHECKING:
    from actorflow.cluster.processes.local import LocalCluster
    from actorflow.training.supervisor.recovery.manager import RecoveryManager
    from actorflow.training.supervisor.supervisor import Supervisor

_LOG = get_logger("supervisor")
_MOVE_PAUSE = 10.0
"""The pause before variables try to move again, as a multiple of the time that a try has taken."""


class TaskRoles:
    """Which tasks hold variables, and which compute logical workers.

    Args:
        supervisor: of the training.
        events: hear which task computes which logical worker.
        workers: the logical workers of the graph, if it has some.
        is_strict: whether each loss takes all tasks back.
        is_local: whether the program has started the tasks itself, so that its session may use all of them.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        events: Events,
        workers: LogicalWorkers | None,
        *,
        is_strict: bool,
        is_local: bool,
    ) -> None:
        self._supervisor, self._events, self.workers = supervisor, events, workers
        self._is_strict, self._is_local = is_strict, is_local
        self.moves: StateMoves | None = None
        self.stateful: frozenset[str] | None = None
        """The tasks that hold variables; None before a session has placed them."""
        self.replicas: Mapping[str, tuple[int, ...]] = MappingProxyType({})
        """The logical workers by the task that computes them."""
        self._refused: frozenset[str] = frozenset()
        """The tasks that wanted to leave and could not."""
        self._move_after = 0.0
        """When variables may move again, by the clock of the event loop, after steps were under way that did not end."""

    @property
    def job(self) -> str | None:
        """The job whose tasks compute logical workers; None for all tasks, or without such workers."""
        return None if self.workers is None else self.workers.job

    def keeps_variables(self, task: str) -> bool:
        """Whether a task holds variables, or may do so."""
        return self.stateful is None or task in self.stateful

    def holds_state(self, task: str) -> bool:
        """Whether the loss of a task takes all tasks back."""
        return self._is_strict or self.keeps_variables(task)

    def has_copies(self, task: str) -> bool:
        """Whether variables of a task that is lost can go to other tasks, which have their values."""
        moves = self.moves
        return moves is not None and moves.keeps and not moves.plan([task], ()).stuck

    def uses(self, task: str) -> bool:
        """Whether the session runs nodes on a task; it may do so on each task of a cluster of this program."""
        placements = self._supervisor.session._engine.placements().values()
        return self._is_local or any(task_of(device) == task for device in placements)

    def changed(self, tasks: Collection[str]) -> None:
        """Tasks have joined or left; these are there now."""
        self._refused = frozenset()  # what could not leave may have somewhere to go now
        if self.moves is not None:
            self.moves.changed(tasks)
        self.map_replicas(tasks)

    def map_replicas(self, tasks: Collection[str]) -> None:
        """Tells which task computes which logical workers, if that has changed."""
        if self.workers is not None:
            mapping = self.workers.tasks(tasks)
            if mapping != self.replicas:
                self.replicas = mapping
                self._events.tell(ReplicasMapped, mapping)

    async def follow(
        self, wishes: Collection[str], level: Callable[[Collection[str], Collection[str]], Awaitable[None]]
    ) -> None:
        """Moves variables, where tasks want to leave or have joined. It tries again later if steps are under way, and after a
        loss. Tasks that can't leave are tried again when others want to leave, or tasks have joined or left.

        Args:
            wishes: the tasks that want to leave.
            level: see `Supervisor.level`.
        """
        moves = self.moves
        if moves is None or self.workers is None:
            return
        moves.leave(wishes)
        leaving = frozenset(task for task in wishes if self.keeps_variables(task))
        if not leaving:
            self._refused = leaving
        if (begun := anyio.current_time()) < self._move_after:
            return
        tasks, jobs = leaving if leaving != self._refused else frozenset(), moves.take_joined(self.stateful or ())
        if not tasks and not jobs:
            return
        try:
            await level(tasks, jobs)
        except MovesLater as error:
            moves.put_back(jobs)
            now = anyio.current_time()
            self._move_after = now + _MOVE_PAUSE * (now - begun)
            _LOG.info("variables move later", tasks=sorted(tasks), error=str(error))
        except FailedPreconditionError as error:
            if tasks:
                moves.put_back(jobs)
                self._refused = leaving
            _LOG.warning("variables stay where they are", tasks=sorted(tasks), error=str(error))
        except BaseException:
            moves.put_back(jobs)
            raise

    async def level(self, leaving: Collection[str], jobs: Collection[str], saves: Checkpoints) -> None:
        """Moves variables between two steps; see `Supervisor.level`. A checkpoint that is being written comes first."""
        moves, supervisor = self.moves, self._supervisor
        if moves is None:
            return
        async with moves.turn:
            moves.leave({*leaving, *moves.manager.monitor.leaving})
            jobs = jobs_of(self.stateful or ()) & frozenset(jobs)
            if jobs or any(map(self.keeps_variables, leaving)):
                attempt = CURRENT.get()
                await saves.until_written(attempt if attempt is not None and attempt.supervisor is supervisor else None)
                sources = await supervisor.guarded(lambda: moves.move(leaving, jobs))
                self.stateful = moves.settled()
                await moves.drop(sources)

    async def watch_speed(self, manager: RecoveryManager, cluster: LocalCluster | None, slow_factor: float) -> None:
        """Tells which tasks are slow, and replaces them if the policy wants that. Without end."""

        async def tell(task: str, factor: float) -> None:
            self._events.tell(TaskSlow, task, factor)
            if manager.replaces_slow(task):
                try:
                    await (manager.ask_to_leave(task) if cluster is None else cluster.kill(task))
                except OpError as error:
                    _LOG.warning("a slow task is not replaced", task=task, error=str(error))

        await watch_speed(SlowTasks(slow_factor), lambda: manager.monitor.waits, lambda: self.replicas, tell)
