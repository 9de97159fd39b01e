"""Pauses for others: a plan of a large graph is made on a thread of its own, which gives the interpreter up often.

A thread of pure Python holds the interpreter for 5 ms at a time, and so would each turn of the event loop have to wait.
Passes therefore iterate through `paced`, which lets others run every half millisecond; outside a planning thread it costs
nothing.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_INTERVAL = 0.0005


class _Planning(threading.local):
    """When this thread has to pause next; never, unless it plans."""

    due = math.inf


_planning = _Planning()


def pause() -> None:
    """Lets others run, if the thread plans and it is time."""
    if _planning.due < math.inf and time.perf_counter() > _planning.due:
        time.sleep(0)
        _planning.due = time.perf_counter() + _INTERVAL


def paced(items: Iterable[T]) -> Iterable[T]:
    """`items`, with pauses while they are gone through."""
    return items if _planning.due == math.inf else _with_pauses(items)


def _with_pauses(items: Iterable[T]) -> Iterator[T]:
    for item in items:
        yield item
        pause()


def activate() -> None:
    """Marks the current thread as one that plans."""
    _planning.due = 0.0
