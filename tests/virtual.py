"""An event loop whose time passes only while nothing is ready: seconds cost nothing, and their number is exact."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
LONGEST = 86_400.0  # no test is meant to wait for longer than a virtual day


class _Selector(selectors.DefaultSelector):
    """Where a loop would sleep until a timer, lets its time jump there; but not while a plan is made on a thread, which
    takes no virtual time."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        planning = any(thread.name == "actorflow planner" for thread in threading.enumerate())
        found = super().select(1.0 if planning else 0)
        if not found and not planning:
            self.loop.now += timeout
            if self.loop.now > LONGEST:
                raise TimeoutError("the virtual clock has passed a day: a timer renews itself for ever")
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop on virtual time. `now` is in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, float]:
    """Runs `main()`, and gives its result and the virtual seconds that it took. Fails where tasks are left."""

    async def whole() -> T:
        result = await main()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks are left: {left}"
        return result

    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(whole()), loop.now
