"""Pauses for others: a plan of a large graph is made on a thread of its own, which gives the interpreter up often.

A thread of pure Python holds the interpreter for 5 ms at a time, and so would each turn of the event loop have to wait.
Passes therefore iterate through `yielding`, which lets others run every half millisecond; outside a planning thread it costs
nothing.
"""

from __future__ import annotations

import gc
import math
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from actorflow.base.process import forks

T = TypeVar("T")
_INTERVAL = 0.0005


class _Planning(threading.local):
    """When this thread has to pause next; never, unless it plans."""

    due = math.inf


_planning = _Planning()


def yield_interpreter() -> None:
    """Lets others run, if the thread plans and it is time."""
    if _planning.due < math.inf and time.perf_counter() > _planning.due:
        time.sleep(0)
        _planning.due = time.perf_counter() + _INTERVAL


def yielding(items: Iterable[T]) -> Iterable[T]:
    """`items`, with pauses while they are gone through."""
    return items if _planning.due == math.inf else _with_pauses(items)


def _with_pauses(items: Iterable[T]) -> Iterator[T]:
    planning, clock = _planning, time.perf_counter  # the loops of a plan go through a million items
    for item in items:
        yield item
        if clock() > planning.due:
            yield_interpreter()


class _Collector:
    """Python's garbage collector, kept from a full collection while plans are made.

    The new objects of a plan of ten thousand nodes make Python look through all objects of the process, which holds up
    every thread for 50 ms and more. Planning makes no garbage in cycles; the collector is on again within a second.
    """

    def __init__(self) -> None:
        self._begin()
        forks.register(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._was_enabled = False

    def forked(self) -> None:
        """In a child that was forked no other thread plans."""
        if self._users and self._was_enabled:
            gc.enable()
        self._begin()

    @contextmanager
    def paused(self) -> Iterator[None]:
        with self._lock:
            if not self._users:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users and self._was_enabled:
                    gc.enable()


collector = _Collector()


@contextmanager
def planning() -> Iterator[None]:
    """A block in which the current thread plans."""
    _planning.due = 0.0
    try:
        yield
    finally:
        _planning.due = math.inf
