"""`Scene`: one run of a workload over real processes. The programs are those of the simulation; they see it as their `Run`."""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup
from simulation.run import CONNECT_SECONDS, Run, Workload

import actorflow as af
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.config.spec import task_name
from actorflow.errors import OpError
from actorflow.supervisor import CheckpointSaved, WorkerLost

PATIENCE = 40.0
"""Seconds after which something is stuck: no error and no result may take as long."""
_PAUSE = 0.02
_SETTLE_SECONDS = 10.0
_MOST_MORE_DESCRIPTORS = 4
_LINK_DESCRIPTORS = 10
"""Of the links between two tasks, one each way, which stay: four sockets, and what wakes the threads of each. A process that was
started in the middle of a run had none of them when it was looked at first."""
T = TypeVar("T")


class Scene(Run):
    """The common state of the programs of a workload, and the hand that disturbs them.

    Args:
        seed: of the hand's chances.
        by_target: the chief knows the cluster by its address only, and a scheduler (`tend`) starts dead tasks again. Else the
            chief does so.
    """

    def __init__(
        self,
        workload: Workload,
        cluster: af.LocalCluster,
        group: TaskGroup,
        folder: Path,
        seed: int,
        *,
        by_target: bool,
    ) -> None:
        self.workload, self.cluster, self.folder = workload, cluster, str(folder)
        self.rng = random.Random(seed)
        self.names = {
            name: task_name(job, index) for job, names in workload.cluster.items() for index, name in enumerate(names)
        }
        self.supervisors: list[af.Supervisor] = []
        self.over = False
        self.damaged: set[str] = set()
        """The paths of checkpoints that somebody has damaged; they may be passed over."""
        self.errors: deque[str] = deque(maxlen=8)
        """The last errors of runs."""
        self.passed_over = 0
        """How many damaged checkpoints were passed over at restores."""
        self.pids: set[int] = set()
        self.untended: set[str] = set()
        """The tasks that the scheduler lets alone."""
        self.least_descriptors: dict[int, int] = {}
        """How many descriptors each process had in the middle of the work."""
        self._by_target = by_target
        self._committed: dict[int, str] = {}
        self._news = anyio.Event()
        # what a `Run` has
        self.saves = self.restores = 0
        self.done = False
        self.book: dict[Any, Any] = {}
        self.ends: Counter[str] = Counter()
        self.phases = SimpleNamespace(during=lambda phase: nullcontext(), is_restoring=None)  # type: ignore[assignment]
        self.world = SimpleNamespace(seed=seed, spawn=lambda machine, *call: group.start_soon(*call))  # type: ignore[assignment]
        lives = SimpleNamespace(get=lambda name: cluster.processes.get(self.names[name]))
        self.tasks = SimpleNamespace(servers=lives)  # type: ignore[assignment]
        self.chaos = SimpleNamespace(is_over=False)  # type: ignore[assignment]

    # ---- what programs see

    @property
    def is_enough(self) -> bool:
        return self.over

    @property
    def supervised(self) -> Any:
        return self.cluster.target if self._by_target else self.cluster

    def begins(self, supervisor: af.Supervisor) -> None:
        self.supervisors.append(supervisor)

    def session(self, target: str, graph: af.Graph) -> af.Session:
        return af.Session(self.cluster.target_of(self.names[target]), graph=graph, connect_timeout=CONNECT_SECONDS)

    async def in_time(self, work: Awaitable[T]) -> T:
        with anyio.move_on_after(PATIENCE):
            return await work
        raise AssertionError(f"a run was not over after {PATIENCE:g} s; {self.told()}")

    def ended(self, error: BaseException | None) -> None:
        super().ended(error)
        if error is not None:
            self.errors.append(f"{type(error).__name__}: {error!s:.400}")
        self._tell()

    def committed(self, step: int, path: str) -> None:
        self.saves += 1
        self.damaged.discard(path)
        self._committed[step] = path
        self._tell()

    def restored(self, step: int) -> None:
        """Later checkpoints than the one of `step` may only be passed over where they are damaged."""
        self.restores += 1
        later = {number: path for number, path in self._committed.items() if number > step}
        whole = [number for number, path in later.items() if path not in self.damaged]
        assert not whole, f"step {step} was restored, but {whole} were committed"
        self.passed_over += len(later)
        for number in later:
            del self._committed[number]
        self._tell()

    async def until_done(self) -> None:
        while not self.done:
            await self._news.wait()
        self._tell()

    async def pause(self, programs: int = 1) -> None:
        await anyio.sleep(self.spread(_PAUSE))

    def spread(self, seconds: float) -> float:
        """Longer, the more has been done: who is disturbed last still finds something to do."""
        return seconds * min(1 + self.ends["good"] / 50, 8.0)

    # ---- what the hand does

    @property
    def supervisor(self) -> af.Supervisor:
        """The present chief's."""
        return self.supervisors[-1]

    @property
    def lost(self) -> list[str]:
        """The tasks that were lost so far."""
        return [e.task for s in self.supervisors for e in s.history if isinstance(e, WorkerLost)]

    @property
    def whole(self) -> list[str]:
        """The paths of the checkpoints that a loss can go back to."""
        return [path for path in self._committed.values() if path not in self.damaged]

    @property
    def last_checkpoint(self) -> str:
        """The path of the checkpoint that was committed last."""
        found = [e.path for s in self.supervisors for e in s.history if isinstance(e, CheckpointSaved)]
        return found[-1]

    def any_task(self, *jobs: str) -> str:
        """A task, by chance; of certain jobs where they are given."""
        return self.rng.choice([t for t in self.names.values() if not jobs or t.split(":")[1].split("/")[0] in jobs])

    def send(self, task: str, number: int) -> None:
        """Sends a signal to a task."""
        self.cluster.processes[task].signal(number)

    async def goes_on(self, runs: int = 4) -> None:
        """Waits until all tasks are up, a checkpoint is made, and `runs` more runs have gone well."""
        saves, good = self.saves, self.ends["good"]
        await self.until(lambda: self.saves > saves and self.ends["good"] >= good + runs and self._all_up(), "goes on")

    def _all_up(self) -> bool:
        return all(life.is_up for life in self.supervisor.lives.values())

    async def until(self, holds: Callable[[], object], what: str) -> None:
        """Waits for news until `holds()`. Raises AssertionError when that takes too long."""
        with anyio.move_on_after(PATIENCE):
            while not holds():
                with anyio.move_on_after(0.25):
                    await self._news.wait()
            return
        raise AssertionError(f"stuck where it {what}; {self.told()}")

    def told(self) -> str:
        """The known facts, for a failure."""
        if not self.supervisors:
            return "no chief has begun"
        lives = {task: life.state.value for task, life in self.supervisor.lives.items()}
        events = "\n".join(str(event)[:300] for event in self.supervisor.history[-12:])
        errors = "\n".join(self.errors)
        return f"{lives}; {dict(self.ends)}; what was told last:\n{events}\nthe last errors:\n{errors}"

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def tend(self) -> None:
        """Is the scheduler: starts the tasks again whose processes have ended."""
        while True:
            for task in self.names.values():
                if task not in self.untended and not self.cluster.runs(task):
                    await self.cluster.restart(task)
            await anyio.sleep(0.05)

    # ---- the end

    def note_processes(self) -> None:
        """Notes who is there, and what each has open."""
        for process in self.cluster.processes.values():
            self.pids.add(process.pid)
            self.least_descriptors.setdefault(process.pid, _descriptors(process.pid))

    async def check_rest(self) -> None:
        """When all clients are gone, servers keep nothing of them: no sessions, steps, or descriptors."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while found := await self._kept():
            assert time.monotonic() < deadline, "\n".join(["the tasks keep what is over:", *found])
            await anyio.sleep(0.05)

    async def _kept(self) -> list[str]:
        found = []
        for task, process in self.cluster.processes.items():
            if process.returncode is not None:  # it was lost at the very end
                continue
            try:
                status = await query_status(self.cluster.target_of(task))
            except OpError as error:
                found.append(f"{task} does not answer: {error.message}")
                continue
            for what in ("sessions", "steps_in_flight"):
                if status[what]:
                    found.append(f"{task} has {status[what]} {what}")
            count, before = _descriptors(process.pid), self.least_descriptors.get(process.pid)
            links = _LINK_DESCRIPTORS * (len(self.cluster.processes) - 1)
            if before is not None and count > before + links + _MOST_MORE_DESCRIPTORS:
                found.append(f"{task} has {count} descriptors, and had {before}")
        return found


def _descriptors(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:  # it has ended
        return 0
