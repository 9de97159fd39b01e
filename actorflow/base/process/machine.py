"""`Machine`: what a process takes from the machine it runs on: clocks, fresh names, threads, files.

A simulation puts a machine of its own in the context of each simulated process. All other processes have the real machine.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, Token, copy_context
from typing import Any, Protocol, TypeVar, TypeVarTuple

import anyio
from anyio.lowlevel import RunVar, checkpoint, checkpoint_if_cancelled

from actorflow.base.process import forks

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
_LOW_PRIORITY = 5
"""Against a thread of ordinary priority one gets a quarter of a processor that both want."""
MOST_OWN_THREADS = 256
MOST_SHARED_THREADS = 40
_own_lane: RunVar[Any] = RunVar("actorflow_own_lane")
_shared_lane: RunVar[Any] = RunVar("actorflow_shared_lane")
_behind: list[threading.Thread] = []
_beginning = forks.new_lock()
thread_time_ns: Callable[[], int] = getattr(time, "thread_time_ns", time.process_time_ns)
"""The processor time of this thread; of the process on a machine without threads."""


class Machine(Protocol):
    """The services that a process asks of its machine."""

    @property
    def is_real(self) -> bool:
        """Whether there are threads, and time passes by itself. If not, all work is done at once."""

    @property
    def files(self) -> Any:
        """The machine's file system, as `actorflow.checkpoint.stores.files.FileOperations`; None for the operating system's."""

    @property
    def process(self) -> str:
        """People's name for the process that runs on it: a number, or a name."""

    @property
    def clock_id(self) -> str:
        """Names the monotonic clock of `clocks`. Processes with equal names read one clock; an empty name says nothing."""

    def clocks(self) -> tuple[int, int]:
        """The monotonic and the wall clock, in nanoseconds."""

    def work_clock(self) -> float:
        """Seconds, by which those who share an event loop measure when to let others have their turn."""

    def random_bytes(self, size: int) -> bytes:
        """Bytes that no other process has, nor can guess."""


class RealMachine:
    """The machine of the operating system."""

    is_real = True
    files = None

    @property
    def process(self) -> str:
        return str(os.getpid())

    @property
    def clock_id(self) -> str:
        return _system_clock()

    def clocks(self) -> tuple[int, int]:
        return time.monotonic_ns(), time.time_ns()

    work_clock = staticmethod(time.perf_counter)

    def random_bytes(self, size: int) -> bytes:
        return os.urandom(size)


class ThreadlessMachine(RealMachine):
    """A machine whose processes can't start threads, such as CPython as WebAssembly: all work is done by its caller."""

    is_real = False


@functools.cache
def _system_clock(proc: str = "/proc") -> str:
    """The system counts the monotonic clock from its boot, and each time namespace adds a number of its own. The name is a digest
    of both, which tells a peer nothing else; it is empty where the system doesn't tell."""
    import hashlib  # only tasks need it

    try:
        with open(f"{proc}/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        namespace = os.readlink(f"{proc}/self/ns/time") if os.path.lexists(f"{proc}/self/ns/time") else ""
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(f"{boot} {namespace}".encode()).hexdigest()[:32] if boot else ""


def counting_clock(step: float = 1e-5) -> Callable[[], float]:
    """A `work_clock` that goes on by `step` whenever it is looked at, whatever the real time."""
    numbers = itertools.count()
    return lambda: next(numbers) * step


_REAL: Machine = ThreadlessMachine() if sys.platform in ("emscripten", "wasi") else RealMachine()
_CURRENT: ContextVar[Machine] = ContextVar("actorflow_machine", default=_REAL)


def current() -> Machine:
    """The machine of the process that calls."""
    return _CURRENT.get()


def put(machine: Machine) -> Token[Machine]:
    """Makes `machine` the current machine in this context."""
    return _CURRENT.set(machine)


def wall_time() -> float:
    """Seconds since 1970, as `time.time`."""
    return current().clocks()[1] / 1e9


def fresh_incarnation() -> int:
    """A number of 63 bits for a process, which no other process has; never 0."""
    return int.from_bytes(current().random_bytes(8), "little") >> 1 | 1 << 62


def fresh_hex(size: int) -> str:
    """`2 * size` hexadecimal digits that no other call gives, as `secrets.token_hex`."""
    return current().random_bytes(size).hex()


def cores() -> int:
    """How many cores this process may use; 0 on a simulated machine, where work takes none."""
    return usable_cores() if current().is_real else 0


def usable_cores() -> int:
    """How many cores the system lets this process use: those of its affinity, within the limit of its control group, which may
    grant the time of fewer; 1 at least."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _limit_of_group() or allowed)


@functools.cache
def _limit_of_group(root: str = "/sys/fs/cgroup") -> int | None:
    """The cores that a control group of either version grants, rounded up; None without a limit."""
    for quota_file, period_file in (("cpu.max", None), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            words = _words(f"{root}/{quota_file}") + (_words(f"{root}/{period_file}") if period_file else [])
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):  # there is no such file, or it says "max"
            continue
        if quota > 0 and period > 0:
            return -(-quota // period)
    return None


def _words(path: str) -> list[str]:
    with open(path, encoding="ascii") as file:
        return file.read().split()


def host() -> str:
    """The name of the machine that a process runs on, for people."""
    return socket.gethostname() if current().is_real else current().process


def pid() -> int:
    """The system's number of this process; 0 for a simulated process, which the system does not know."""
    return os.getpid() if current().is_real else 0


def resident_bytes(pid: int) -> int | None:
    """How much memory a process of this machine has now; None where the system does not tell, or the process is simulated."""
    if not current().is_real:
        return None
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return None


async def on_thread(work: Callable[[*Arguments], T], *arguments: *Arguments, abandon_on_cancel: bool = False) -> T:
    """Calls `work` on a thread and waits for it; on a machine without threads, calls it here. An event loop has at most 40 such
    calls at a time.

    Args:
        work: is called with the arguments.
        arguments: what it is called with.
        abandon_on_cancel: whether a cancelled caller leaves the call behind. Otherwise a cancel scope of anyio waits for its end.
    """
    if abandon_on_cancel or not current().is_real:
        return await _on_lane(_shared_lane, MOST_SHARED_THREADS, work, arguments)
    await checkpoint_if_cancelled()
    with anyio.CancelScope(shield=True):
        result = await _on_lane(_shared_lane, MOST_SHARED_THREADS, work, arguments)
    return result


async def on_own_thread(work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
    """Calls `work`, which may wait for other such calls, on a thread that it has for itself. Cancelled, this leaves it behind.

    An event loop has at most 256 such calls at a time, and those that were left behind count until they end: a later one
    waits for a thread.
    """
    return await _on_lane(_own_lane, MOST_OWN_THREADS, work, arguments)


async def _on_lane(lanes: RunVar[Any], width: int, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """Calls `work` in a lane that the event loop has."""
    if not current().is_real:
        await checkpoint()
        return work(*arguments)
    try:
        lane = lanes.get()
    except LookupError:
        from actorflow.base.process.lanes import Lane  # only here: importing actorflow does not import asyncio

        lane = Lane(width)
        lanes.set(lane)
    result: T = await lane.run(work, *arguments)
    return result


_SHARE: ContextVar[float] = ContextVar("actorflow_share", default=1.0)


@contextmanager
def taking(share: float) -> Iterator[None]:
    """A block whose work on threads takes this share of a processor's time, if the work is done in pieces (`breather`). Others
    of this process, such as an event loop with requests, wait for a piece at most."""
    token = _SHARE.set(share)
    try:
        yield
    finally:
        _SHARE.reset(token)


def takes_share() -> bool:
    """Whether the caller's block is to take a share of a processor's time only (`taking`). Its pieces of work should be short,
    because others wait for each of them, and one thread should do them all."""
    return _SHARE.get() < 1 and current().is_real


_NO_HUGE_PAGES = 15  # MADV_NOHUGEPAGE of Linux


def in_small_pages(address: int, size: int) -> None:
    """Lets fresh memory come in small pages if the system would give large pages. The system clears each large page at once,
    and looks for room for it, and meanwhile the processor does nothing else for up to some milliseconds.

    Args:
        address: the place of memory that nothing was written to yet.
        size: how many bytes there are.
    """
    if sys.platform != "linux" or not current().is_real:
        return
    import ctypes  # only where much is loaded beside other work

    page = os.sysconf("SC_PAGE_SIZE")
    begin, end = -(-address // page) * page, (address + size) // page * page
    if end > begin:
        # It is advice alone: where the system knows no large pages, it refuses, and nothing is lost.
        ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _NO_HUGE_PAGES)


def breather() -> Callable[[], None]:
    """The function to call between two pieces of work, on whatever thread. It sleeps where the caller's block is to take a share
    only (`taking`)."""
    if not takes_share():
        return lambda: None
    share = _SHARE.get()
    begun: dict[int, float] = {}

    def breathe() -> None:
        thread = threading.get_ident()
        worked = thread_time_ns() - begun.get(thread, math.inf)
        if worked > 0:
            time.sleep(worked / 1e9 * (1 / share - 1))
        begun[thread] = thread_time_ns()

    return breathe


def in_background(work: Callable[[], T]) -> T:
    """Calls `work` on a thread of its own and waits for it. If threads have priorities (on Linux), that thread has a low
    priority: it takes what processors have left."""
    if not current().is_real:
        return work()
    with ThreadPoolExecutor(1, "actorflow background", initializer=_give_way) as thread:
        return thread.submit(copy_context().run, work).result()


def behind(work: Callable[[], object], *, at_once: bool = False) -> None:
    """Lets such a thread call `work` and does not wait for it, but for what was begun so before. A process ends after it.

    Args:
        work: is called when what was begun before has ended.
        at_once: whether the thread waits for that, and not the caller, such as an event loop, which bounds by itself how much it
            begins.
    """
    if not current().is_real:
        work()
        return
    if not at_once:
        for former in list(_behind):
            former.join()
    with _beginning:
        before = list(_behind)

        def run() -> None:
            for former in before:
                former.join()
            _give_way()
            work()

        thread = threading.Thread(target=copy_context().run, args=(run,), name="actorflow background")
        thread.start()
        _behind[:] = [thread]


def _give_way() -> None:
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOW_PRIORITY)
