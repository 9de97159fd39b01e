"""`EventQueue`: what happens outside of all processes, in the order of time; and `Trace`, a line for each event that matters."""

from __future__ import annotations

import asyncio
import hashlib
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
        """The time at which the first is due; infinity if there is none."""
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


# ---- `Trace`: what happened in a simulation, a line for each event that matters.


_MOST_MORE = 1000


"""The number of lines beyond those asked for that may be kept for a while."""


class Trace:
    """The events of a simulation. Equal seeds give equal lines, in every process.

    Args:
        show: called with each line as it is made; `print` follows a simulation.
        keep: how many of the last lines are kept.
    """

    def __init__(self, show: Callable[[str], object] | None = None, *, keep: int = 100_000) -> None:
        self.lines: list[str] = []
        self.count = 0
        self._show = show
        self._keep = keep
        self._hash = hashlib.sha256()
        self._hashed = 0
        """The number of `lines` that are in the hash; they get into it many at a time."""

    def add(self, now: float, what: str) -> None:
        """Notes `what` at the virtual second `now`."""
        line = f"{now:14.9f} {what}"
        self.count += 1
        self.lines.append(line)
        if len(self.lines) > self._keep + _MOST_MORE:
            self._fold()
            del self.lines[: -self._keep]
            self._hashed = self._keep
        if self._show is not None:
            self._show(line)

    def _fold(self) -> None:
        self._hash.update("".join(f"{line}\n" for line in self.lines[self._hashed :]).encode())
        self._hashed = len(self.lines)

    @property
    def digest(self) -> str:
        """A hash of all lines, also of those that are not kept."""
        self._fold()
        return self._hash.hexdigest()
