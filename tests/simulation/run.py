"""`Run`: one simulated run of a workload: its machines, what befalls them, and the book that is kept of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import anyio

import actorflow as af
from actorflow.errors import AbortedError, DeadlineExceededError, FailedPreconditionError, UnavailableError
from actorflow.testing import Trace, World
from simulation.chaos import Chaos
from simulation.checks import check_documented, leaks, lost_on_the_way, tasks_by_coroutine
from simulation.phases import PHASES, Phases
from simulation.tasks import FOLDER, Tasks

DELIVERIES = 1000
"""A run goes on until this number of frames have arrived,"""
GOOD = 15
"""and this number of steps have gone well."""
DEADLINE = 60.0
"""Far beyond the timeout of any run, with all that a freeze adds to it."""
T = TypeVar("T")
CONNECT_SECONDS = 5.0
STEP_SECONDS = 6.0
LOSSES = (UnavailableError, AbortedError, DeadlineExceededError, FailedPreconditionError)
"""The errors with which a run may end while faults go on."""
_CHIEFS_TARGET = "w0"
_REST = 5.0
_PERIOD = 0.25
_PAUSE = 0.04
_LOSS_PAUSE = 0.2
_LIKELY_END = 7.5
"""When faults are over, mostly."""
_MOST_PAUSE = 0.5


class Workload(Protocol):
    """The programs that run in a cluster, and the conditions that have to hold of it."""

    name: str
    cluster: Mapping[str, Sequence[str]]
    clients: Sequence[str]
    aims: Sequence[str]

    def prepare(self) -> None:
        """Makes what all runs share, before any of them."""

    async def main(self, run: Run) -> None:
        """Runs it, and returns when all is done and found to be right. Raises AssertionError."""


class Tally(Trace):
    """A trace that counts what arrives."""

    def __init__(self, show: Any = None) -> None:
        super().__init__(show, keep=40)
        self.deliveries = 0

    def add(self, now: float, what: str) -> None:
        if what.startswith("deliver "):
            self.deliveries += 1
        super().add(now, what)


class Run:
    """The common state of the programs of a workload. All but the observer's view of it is theirs to keep true."""

    folder: str = FOLDER
    """The folder of checkpoints."""

    def __init__(self, world: World, workload: Workload, *, faults: bool = True, window: float = 4.0) -> None:
        self.world = world
        self.workload = workload
        self.tasks = Tasks(world, workload.cluster, self._draining)
        self.phases = Phases(world, self.tasks)
        self.saves = 0
        self.last_committed = 0
        self.done = False
        """Set by the program that ends the run."""
        self.book: dict[Any, Any] = {}
        """Notes of programs for each other and for the end, beside all machines."""
        self.restores = 0
        self.ends: Counter[str] = Counter()
        """The errors of runs, by their classes; "good" for those without."""
        servers = list(self.tasks.names.values())
        world.share_files(*servers, *workload.clients)
        first = servers[0]
        self.chaos = (
            Chaos(
                world,
                self.tasks,
                self.phases,
                machines=[*servers, first, first, *workload.clients],
                writers=[first, first, *workload.clients],
                aims=workload.aims or PHASES,
                window=window,
            )
            if faults
            else None
        )

    @property
    def supervised(self) -> Any:
        """The object that a chief watches: a cluster, or the target by which it is reached."""
        return self.tasks.target(_CHIEFS_TARGET)

    def begins(self, supervisor: af.Supervisor) -> None:
        """Another chief begins. Told to those who want to know."""

    def _draining(self) -> AbstractContextManager[None]:
        return self.phases.during("drain")

    @property
    def is_enough(self) -> bool:
        """Whether all faults are over, and enough has happened."""
        trace = self.world.trace
        assert isinstance(trace, Tally)
        if self.chaos is None:
            return True
        return self.chaos.is_over and trace.deliveries >= DELIVERIES and self.ends["good"] >= GOOD

    async def in_time(self, work: Awaitable[T]) -> T:
        """The result of `work`, which must be over before its deadline, in one way or another."""
        with anyio.move_on_after(DEADLINE):
            return await work
        raise AssertionError(f"a run was not over after {DEADLINE:g} virtual seconds")

    # ---- what programs tell

    def ended(self, error: BaseException | None) -> None:
        """A run has ended, with an error or well."""
        self.ends["good" if error is None else type(error).__name__] += 1

    def committed(self, step: int, path: str) -> None:
        """A checkpoint is there."""
        self.saves += 1
        self.last_committed = max(self.last_committed, step)

    def restored(self, step: int) -> None:
        """Values are those of the checkpoint of a step, 0 for initial ones. No update that was committed may be lost."""
        self.restores += 1
        assert step >= self.last_committed, f"step {step} was restored, but {self.last_committed} was committed"

    # ---- the end

    async def until_done(self) -> None:
        """Waits for a program to say that it is done. Raises what one of them has failed with."""
        while not self.done:
            await anyio.sleep(_PERIOD)
            for host in self.world.hosts.values():
                for error in host.failures():
                    raise error

    async def pause(self, programs: int = 1) -> None:
        """Lets a moment pass while faults go on, so that the steps of `programs` programs are spread over it."""
        if self.chaos is not None and not self.chaos.is_over:
            await anyio.sleep(self.spread(_PAUSE * programs))

    async def pause_after_loss(self) -> None:
        """Lets a moment pass in which what was lost may be back."""
        await anyio.sleep(self.spread(_LOSS_PAUSE))

    def spread(self, seconds: float) -> float:
        """A pause between steps, which is longer where much has been done already: there are to be steps as long as faults go
        on, and not many more than enough."""
        trace = self.world.trace
        assert isinstance(trace, Tally)
        ahead = trace.deliveries / DELIVERIES * _LIKELY_END - self.world.now
        return max(seconds, min(ahead, _MOST_PAUSE))

    async def attempt(self, session: af.Session, fetches: Any, feeds: Any = None) -> Any:
        """A run, and what it gives (True where that is nothing); None where it has failed as it may."""
        try:
            with self.phases.during("RunStep"):
                result = await self.in_time(session.run(fetches, feeds, timeout=STEP_SECONDS))
        except LOSSES as error:
            check_documented(error)
            self.ended(error)
            await self.pause_after_loss()
            return None
        self.ended(None)
        await self.pause(2)
        return True if result is None else result

    def session(self, target: str, graph: af.Graph) -> af.Session:
        """A session by the task on a machine."""
        return af.Session(self.tasks.target(target), graph=graph, connect_timeout=CONNECT_SECONDS)

    async def rest(self) -> None:
        """Waits until nothing goes on, and looks at what the servers keep."""
        await anyio.sleep(_REST)
        found = [line for server in self.tasks.servers.values() for line in leaks(server)]
        for name in self.tasks.servers:
            assert self.world.host(name).is_alive, f"{name} is down"
            busy = {what: n for what, n in tasks_by_coroutine(self.world, name).items() if what != "Tasks._serve"}
            found += [f"{name} has {count} tasks of {what}" for what, count in busy.items()]
        found += lost_on_the_way(self.world)
        assert not found, "\n".join(["the servers keep what is over:", *found])
