"""Two threads on two cores, also in the moments before the operating system has spread them.

A thread that wakes another one goes on itself. Where the system puts the woken one on the waker's core, both share it until
the next balancing, milliseconds later, and the work of two takes as long as that of one. So a helper may not run where its
caller does. It is told again whenever the caller has moved.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable


def _finder() -> Callable[[], int] | None:
    """The function that says on which core the caller runs; None where there is none."""
    try:
        found = ctypes.PyDLL(None).sched_getcpu  # it takes less than to give the interpreter away
    except (AttributeError, OSError, TypeError):
        return None
    return found if hasattr(os, "sched_setaffinity") else None


_core = _finder()


class Apart:
    """Keeps one thread after the other off the core on which `keep` is called."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told = (-1, -1)

    def keep(self, thread: int | None) -> None:
        """Lets a thread of that number of the system's, where there is one, run on the other cores of this process alone."""
        if _core is None or thread is None:
            return
        told = thread, _core()
        if told == self._told or told[1] < 0:
            return
        self._told = told
        others = os.sched_getaffinity(0) - {told[1]}
        if others:
            try:
                os.sched_setaffinity(thread, others)
            except OSError:
                return  # it has ended, or the system does not let us: it runs where it runs
