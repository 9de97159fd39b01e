"""The fixtures of every test: a look at what it left behind, and a seed that a failure reports.

After each test the fixture `no_leaks` compares tasks, threads, child processes, file descriptors and shared memory with
those before it, and fails the test that left something. A test that can't help it (a library keeps a socket, say) is
marked `@pytest.mark.allow_leaks("fds")`; the kinds are tasks, threads, children, fds, shm.

Devices get the allocator of `poison.py`, except in tests marked `@pytest.mark.real_memory`.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import pytest_timeout
from hypothesis import settings
from hypothesis.database import InMemoryExampleDatabase
from patience import MachineTime, watch
from poison import PoisonAllocator
from progress import register

import actorflow as af
from actorflow.base.process import lanes
from actorflow.devices import cpu
from actorflow.engine.runtime.codegen import jit

os.environ.setdefault(
    "GRPC_ENABLE_FORK_SUPPORT", "0"
)  # otherwise each later fork of this process makes files of grpc's
COMPILES = 30.0  # seconds of MachineTime that the compiler's thread may take
GRACE = 1.0  # seconds of MachineTime that a thread, a process or a task may take to end after the test
POLL = 0.002
SHM = "/dev/shm"
KINDS = ("tasks", "threads", "children", "fds", "shm")
LEFT_TASKS = pytest.StashKey[list[str]]()

# Times depend on the machine, and the limit of a test already bounds it.
_NOT_KEPT = {} if os.access(Path.cwd(), os.W_OK) else {"database": InMemoryExampleDatabase()}
settings.register_profile("actorflow", deadline=None, print_blob=True, **_NOT_KEPT)
settings.load_profile("actorflow")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"allow_leaks(*kinds): the test may leave these behind: {', '.join(KINDS)}")
    config.addinivalue_line("markers", "gpu: the test needs a GPU and CuPy; make test-gpu runs it")
    config.addinivalue_line(
        "markers",
        "extras(*names): needs extras that `make test` does not install, or much time; make test-extras runs it",
    )
    config.addinivalue_line("markers", "real_memory: the test's devices get the allocator that users have")
    config.addinivalue_line("markers", "slow: one of the slowest, as measured in seconds.txt; make test-all runs it")
    register(config)
    # A signal that nohup or a shell in the background ignores, processes that tests start would ignore too. SIGHUP
    # stays: nohup means it.
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """The limit of a test follows the machine: `patience.py`."""
    if settings.method != "signal" or threading.current_thread() is not threading.main_thread():
        return None
    item.cancel_timeout = watch(settings.timeout, lambda: pytest_timeout.timeout_sigalrm(item, settings))  # type: ignore[attr-defined]
    return True


def _uses_loop(item: pytest.Function) -> bool:
    inner = getattr(getattr(item.obj, "hypothesis", None), "inner_test", item.obj)
    makers = (definition.func for found in item._fixtureinfo.name2fixturedefs.values() for definition in found)
    return any(inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in (inner, *makers))


def pytest_collection_finish() -> None:
    """Takes what collecting has made out of the garbage collector's sight: thousands of tests, which each collection that a test
    asks for would go through."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the slow tests, before pytest chooses by marks; orders the fixtures: no_leaks, the loop, left_tasks, the test's own.
    They end the other way round."""
    slow = _slow()
    for item in items:
        if item.nodeid in slow:
            item.add_marker("slow")
        if isinstance(item, pytest.Function) and "left_tasks" not in item.fixturenames and _uses_loop(item):
            item.fixturenames.insert(item.fixturenames.index("no_leaks") + 1, "left_tasks")


def _slow() -> set[str]:
    """The names of the tests that `make timings` found to be slow."""
    file = Path(__file__).with_name("seconds.txt")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {line.split(maxsplit=1)[1] for line in lines if "::" in line and not line.startswith("#")}


# ---- what exists now; a listing costs some 10 µs, so the description of a leak is made only when there is one


def _threads() -> set[threading.Thread]:
    # A dummy stands for a thread of foreign code; it may stay listed when its thread is gone. A thread of all lanes that has
    # nothing to do ends by itself.
    return {
        thread
        for thread in threading.enumerate()
        if not isinstance(thread, threading._DummyThread) and thread.name != lanes.IDLE
    }


def _children() -> set[int]:
    try:  # one system call tells that there are none
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return set()
    found: set[int] = set()
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children", "rb") as file:
                found.update(map(int, file.read().split()))
    except OSError:  # no such listing on this system, or a thread that has just ended
        pass
    return found - {_tracker("_pid")}


def _fds() -> set[tuple[int, str]]:
    found: set[tuple[int, str]] = set()
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:  # not Linux
        return found
    tracker = _tracker("_fd")
    for number in numbers:
        fd = int(number)
        if fd > 2 and fd != tracker:  # pytest's capture moves the first three
            try:
                found.add((fd, os.readlink(f"/proc/self/fd/{number}")))
            except OSError:  # the descriptor of the listing itself
                pass
    return found


def _shm() -> set[str]:
    """The files of shared memory. Semaphores are those of other processes: actorflow has none, and what scikit-learn uses in the
    tests that run beside these makes some."""
    try:
        return {name for name in os.listdir(SHM) if not name.startswith("sem.")}
    except OSError:
        return set()


def _tracker(field: str) -> int | None:
    """A field of multiprocessing's resource tracker, which the interpreter starts once and keeps."""
    module = sys.modules.get("multiprocessing.resource_tracker")
    return getattr(getattr(module, "_resource_tracker", None), field, None)


# ---- how a leak reads


def _frames(frame: Any) -> str:
    lines = []
    while frame is not None and len(lines) < 3:
        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(lines) or "not started"


def _say_task(task: asyncio.Task[Any]) -> str:
    stack = task.get_stack(limit=1)
    return f"task {task.get_name()} ({task.get_coro()!r}) at {_frames(stack[-1] if stack else None)}"


def _say_thread(thread: threading.Thread) -> str:
    return f"thread {thread.name} at {_frames(sys._current_frames().get(thread.ident or 0))}"


def _say_child(pid: int) -> str:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        command = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").replace("\0", " ").strip()
    except OSError:
        return f"child {pid}"
    return f"child {pid} " + ("ended, but nobody has waited for it" if state == "Z" else command[:200])


def _say_fd(entry: tuple[int, str]) -> str:
    return f"file descriptor {entry[0]} -> {entry[1]}"


def _settled(look: Callable[[], set[Any]], before: set[Any]) -> set[Any]:
    """The things that are there now and were not before, when those that are about to end have had the time to."""
    new = look() - before
    if not new:
        return new
    gc.collect()  # what a reference cycle holds is not lost
    given = MachineTime()
    while (new := look() - before) and (left := GRACE - given.seconds()) > 0:
        thread = next(iter(new))
        if isinstance(thread, threading.Thread):
            thread.join(left)
        else:
            time.sleep(POLL)
    return new


# ---- the fixtures


@pytest_asyncio.fixture
async def left_tasks(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Looks at the tasks while the loop is still open; `no_leaks` reports them."""
    before = asyncio.all_tasks()
    yield
    given = MachineTime()
    while (new := asyncio.all_tasks() - before - {asyncio.current_task()}) and given.seconds() < GRACE:
        await asyncio.wait(new, timeout=POLL)
    request.node.stash[LEFT_TASKS] = [_say_task(task) for task in new]


@pytest.fixture(autouse=True, scope="session")
def graphs_are_valid_after_each_pass() -> Iterator[None]:
    """For each plan that a test makes, the graph is looked at after each of its passes."""
    from actorflow.engine.passes.pipeline import validate, watched

    with watched(validate):
        yield


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """A test may make the log of its process quiet, which is that of all tests."""
    yield
    logging.getLogger("actorflow").setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that left something behind. It is set up before all other fixtures, and so ends after them."""
    allowed = {kind for mark in request.node.iter_markers("allow_leaks") for kind in mark.args}
    if not allowed <= set(KINDS):
        pytest.fail(f"allow_leaks takes {', '.join(KINDS)}")
    threads, children, fds, shm = _threads(), _children(), _fds(), _shm()
    yield
    found: list[str] = []
    if "tasks" not in allowed:
        found += request.node.stash.get(LEFT_TASKS, [])
    if "threads" not in allowed:
        given = MachineTime()
        while not jit.background.wait(1) and given.seconds() < COMPILES:  # what compiles ends by itself
            pass
        found += map(_say_thread, _settled(_threads, threads))
    if "children" not in allowed:
        found += map(_say_child, _settled(_children, children))
    if "fds" not in allowed:
        found += map(_say_fd, sorted(_settled(_fds, fds)))
    if "shm" not in allowed:
        found += (f"shared memory {SHM}/{name}" for name in sorted(_settled(_shm, shm)))
    if found:
        more = [f"and {len(found) - 20} more"] if len(found) > 20 else []
        pytest.fail("\n  ".join(["the test left behind:", *found[:20], *more]), pytrace=False)


@pytest.fixture(autouse=True)
def poisoned_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    """Memory that is read before it is written, or after it is freed, is full of garbage."""
    real = cpu.make_allocator
    if request.node.get_closest_marker("real_memory") is None:
        cpu.make_allocator = PoisonAllocator
    yield
    cpu.make_allocator = real


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    """A fresh graph, which is the default one in the test."""
    with af.Graph().as_default() as made:
        yield made


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A seed for the test's random numbers: ACTORFLOW_TEST_SEED, or a fresh one. A failure reports it."""
    given = os.environ.get("ACTORFLOW_TEST_SEED")
    value = int(given, 0) if given else random.SystemRandom().randrange(2**32)
    request.node.add_report_section("setup", "seed", f"ACTORFLOW_TEST_SEED={value}")
    return value
