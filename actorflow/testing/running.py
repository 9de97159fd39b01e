"""`run`: a program on a virtual loop of its own, without threads, in which anyio cancels nested scopes in their order."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

from anyio._backends import _asyncio

from actorflow.base.process import machine
from actorflow.testing.loop import DAY, Clock, T, VirtualLoop


class OrderedSet(dict[Any, None]):
    """A set with the methods that anyio uses on a set of scopes, in the order in which they came."""

    def add(self, entry: Any) -> None:
        self[entry] = None

    def remove(self, entry: Any) -> None:
        del self[entry]

    def discard(self, entry: Any) -> None:
        self.pop(entry, None)


@contextmanager
def ordered_scopes() -> Iterator[None]:
    """Scopes that are made on virtual loops meanwhile keep their children in order."""
    real = _asyncio.CancelScope.__init__

    def init(scope: Any, *arguments: Any, **options: Any) -> None:
        real(scope, *arguments, **options)
        if isinstance(asyncio._get_running_loop(), VirtualLoop):
            scope._child_scopes = OrderedSet()

    _asyncio.CancelScope.__init__ = init  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        _asyncio.CancelScope.__init__ = real  # type: ignore[method-assign]


class VirtualMachine:
    """The machine of a program on one virtual loop: no threads, the loop's time, numbers for names."""

    is_real = False
    files = None
    process = "virtual"
    clock_id = ""

    def __init__(self, clock: Clock, seed: int = 0) -> None:
        self._clock = clock
        self._random = random.Random(f"{seed}/machine")
        self.work_clock = machine.counting_clock()

    def clocks(self) -> tuple[int, int]:
        now = round(self._clock.now * 1e9)
        return now, now

    def random_bytes(self, size: int) -> bytes:
        return self._random.randbytes(size)


def run(main: Callable[[], Coroutine[Any, Any, T]], *, limit: float = DAY) -> tuple[T, float]:
    """Runs `main()` on a loop of its own, and gives its result and the virtual seconds that it took.

    Raises:
        AssertionError: tasks are left.
        Deadlock: it does not end.
    """

    async def whole() -> T:
        result = await main()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks are left: {left}"
        return result

    loop = VirtualLoop(limit=limit)
    context = copy_context()
    context.run(machine.put, VirtualMachine(loop.clock))
    with no_threads(), ordered_scopes(), asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(whole(), context=context), loop.now


@contextmanager
def no_threads() -> Iterator[None]:
    """Refuses threads that are started from a virtual loop: their moments would be left to chance."""
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if isinstance(asyncio._get_running_loop(), VirtualLoop):
            raise RuntimeError(
                f"The thread {thread.name!r} would be started from a loop on virtual time, which has none. "
                "Call `actorflow.base.process.machine.on_thread`, or ask `machine.current().is_real` first."
            )
        real(thread)

    threading.Thread.start = start  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        threading.Thread.start = real  # type: ignore[method-assign]
