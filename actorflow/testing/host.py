"""`Host`: a simulated machine with one process: its event loop, clocks, files, place in the network, and its lives."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from actorflow.base.process import machine
from actorflow.engine.transport.base import ProcessIdentity
from actorflow.errors import UnavailableError
from actorflow.testing.files import SimulatedFiles
from actorflow.testing.loop import VirtualLoop

if TYPE_CHECKING:
    from actorflow.testing.world import World

T = TypeVar("T")
Program = Callable[..., Coroutine[Any, Any, T]]
_BOOT = 1_700_000_000 * 10**9
_MOST_UPTIME = 10**15


class HostCrashed(UnavailableError):
    """The process that ran this has died."""


class Job(Generic[T]):
    """A coroutine in a simulated process. `await job` gives its result, or raises its error or `HostCrashed`; from any
    process of the simulation, for this is the observer's way around the network."""

    def __init__(self, host: Host, name: str) -> None:
        self.host = host
        self.name = name
        self.done = False
        self.looked_at = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._waiting: list[asyncio.Future[None]] = []

    def __await__(self) -> Generator[Any, None, T]:
        self.looked_at = True
        if not self.done:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            yield from future.__await__()
        if self.error is not None:
            raise self.error
        result: T = self.result
        return result

    def finish(self, result: Any, error: BaseException | None) -> None:
        """Keeps the outcome and wakes those who wait for it. The first one counts."""
        if self.done:
            return
        self.done, self.result, self.error = True, result, error
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.get_loop().is_closed():
                future.get_loop().call_soon(_wake, future)


class Host:
    """A simulated machine, which stands for a `machine.Machine` in what it runs.

    Each process that it starts has an event loop and an incarnation of its own. Files outlive them.
    """

    is_real = False
    clock_id = ""

    def __init__(self, world: World, name: str, files: SimulatedFiles) -> None:
        self.world = world
        self.name = name
        self._random = random.Random(f"{world.seed}/host {name}")
        self.mount(files)
        self.work_clock = machine.counting_clock()
        self.station = world.network.add(name, self.deliver, self.clocks, self.random_bytes)
        self.is_frozen = False
        self.is_alive = False
        self.seconds_per_call = 0.0
        """The seconds that a callback takes on this machine."""
        self.busy_until = 0.0
        self.calls_to_live: int | None = None
        """After this number of further callbacks the process dies, in the way of `death`; or in the middle of a file
        operation, in that way.
        """
        self.death: Callable[[], object] = self._plain_death
        self.lose_files = True
        """Whether a crash takes what was not flushed."""
        self.wall_jump = 0.0
        self.incarnation = 0
        self._uptime = self._random.randrange(_MOST_UPTIME)
        self._skew = self._random.randrange(-(10**9), 10**9)
        self._programs: list[tuple[Program[Any], tuple[Any, ...]]] = []
        self._jobs: list[Job[Any]] = []
        self.loop: VirtualLoop
        self.ready: deque[asyncio.Handle]
        self.context: Context
        self.start()

    # ---- what its process asks of it

    @property
    def process(self) -> str:
        return self.name

    @property
    def files(self) -> SimulatedFiles:
        return self._files

    def mount(self, files: SimulatedFiles) -> None:
        """Gives it this file system."""
        self._files = files
        files.on_crash = lambda: self.death()

    def clocks(self) -> tuple[int, int]:
        now = round(self.world.now * 1e9)
        return self._uptime + now, _BOOT + self._skew + round(self.wall_jump * 1e9) + now

    def random_bytes(self, size: int) -> bytes:
        return self._random.randbytes(size)

    def identity(self, task: str, cluster: str = "simulated") -> ProcessIdentity:
        """The identity of its process."""
        return ProcessIdentity(cluster, task, self.incarnation)

    # ---- its lives

    def start(self) -> None:
        """Starts a process. Coroutines that were spawned with `again` run in it."""
        self.incarnation = self._random.getrandbits(63) | 1
        self.loop = self.world.make_loop()
        self.ready = self.loop.ready
        self.context = Context()
        self.context.run(machine.put, self)
        self.is_alive = True
        self.world.call_the_roll()
        self.station.start()
        self.busy_until = 0.0
        for program, arguments in self._programs:
            self._begin(program, arguments)

    def spawn(self, program: Program[T], *arguments: Any, again: bool = True) -> Job[T]:
        """Runs `program(*arguments)` in the process; with `again` also in each that is started later."""
        if again:
            self._programs.append((program, arguments))
        if not self.is_alive:
            job: Job[T] = Job(self, program.__qualname__)
            job.finish(None, HostCrashed(f"{self.name} is down."))
            return job
        return self._begin(program, arguments)

    def _begin(self, program: Program[T], arguments: tuple[Any, ...]) -> Job[T]:
        job: Job[T] = Job(self, getattr(program, "__qualname__", "program"))
        self._jobs = [other for other in self._jobs if not other.done or not other.looked_at] + [job]
        self.context.run(self._begin_task, program, arguments, job)
        return job

    def _begin_task(self, program: Program[T], arguments: tuple[Any, ...], job: Job[T]) -> None:
        task = self.loop.begin(program(*arguments), self.context.copy())
        task.add_done_callback(lambda task: _finish(job, task))

    def deliver(self, callback: Callable[[], object]) -> None:
        """Calls back within the process, when it gets to it; not at all if the process is dead."""
        if self.is_alive:
            self.loop.call_soon(callback, context=self.context)

    def die_after(
        self, calls: int, death: Callable[[], object] | None = None, *, operations: int | None = None
    ) -> None:
        """Lets the process die after `calls` further callbacks, or in the middle of the last of `operations` on files,
        if that comes first. `death` says how."""
        self.calls_to_live = max(calls, 1)
        self.death = death or self._plain_death
        if operations is not None:
            self.files.stop_after(operations)

    def _plain_death(self) -> None:
        self.world.crash(self.name)

    def stop(self) -> VirtualLoop:
        """The process is dead. Its loop is given back, to be buried."""
        self.is_alive = False
        self.loop.is_halted = True
        self.is_frozen = self.station.is_frozen = False
        self.calls_to_live = None
        self.world.call_the_roll()
        for job in self._jobs:
            if not job.done:
                job.looked_at = True
                job.finish(None, HostCrashed(f"{self.name} crashed while {job.name} ran."))
        return self.loop

    def failures(self) -> list[BaseException]:
        """The errors of jobs that no caller has looked at."""
        return [job.error for job in self._jobs if job.error is not None and not job.looked_at]


def _finish(job: Job[Any], task: asyncio.Task[Any]) -> None:
    if task.cancelled():
        job.finish(None, asyncio.CancelledError())
    else:
        error = task.exception()
        job.finish(None if error is not None else task.result(), error)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
