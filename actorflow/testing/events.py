"""`EventQueue`: what happens outside of all processes, in the order of time; and who calls it up."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections.abc import Callable
from typing import Any


class EventQueue:
    """Callbacks by their virtual second; those of the same second in the order in which they were added."""

    def __init__(self) -> None:
        self._events: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._order = itertools.count()

    def add(self, when: float, callback: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        """`callback(*arguments)` is due at `when`."""
        heapq.heappush(self._events, (when, next(self._order), callback, arguments))

    @property
    def next_moment(self) -> float:
        """When the first is due; infinity where there is none."""
        return self._events[0][0] if self._events else math.inf

    def run(self, now: float) -> None:
        """Calls all that are due at `now`, and those that they add for `now`."""
        events = self._events
        while events and events[0][0] <= now:
            _, _, callback, arguments = heapq.heappop(events)
            callback(*arguments)

    def clear(self) -> None:
        """Forgets them all."""
        self._events.clear()


class LoopScheduler:
    """A network's `Scheduler` for machines that share one event loop, of whatever kind: time is the loop's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue = EventQueue()

    @property
    def now(self) -> float:
        return self._loop.time()

    def call_at(self, when: float, callback: Callable[..., object], *arguments: Any) -> None:
        self._queue.add(when, callback, arguments)
        self._loop.call_at(when, self._due, when)

    def _due(self, when: float) -> None:
        self._queue.run(max(when, self._loop.time()))
