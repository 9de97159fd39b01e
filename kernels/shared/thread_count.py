"""`ThreadCount`: how many threads take the calls of some work, by what its first calls take on one thread."""

from __future__ import annotations

import struct
from collections.abc import Callable
from time import perf_counter_ns
from typing import TypeVar

from actorflow.engine.runtime.codegen.background import background

T = TypeVar("T")

_MEASURED = 4
"""Calls on one thread before the decision. The first of them makes what the others find."""
_GRAIN = 50_000
"""Nanoseconds of work that each thread has to do at least: to wake a thread costs some of them."""
_MEMORY = struct.Struct("=q")
"""The number of threads, or 0 before the decision, as `native/src/primitives.c` reads it."""


class ThreadCount:
    """threads = min(most, work / grain). The work is the shortest time of a few calls on one thread, since other programs may
    have taken the core in a longer call. Several threads may call at the same time.

    Args:
        most: how many threads there are.
    """

    __slots__ = ("_most", "_times", "memory")

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: tuple[int, ...] = ()
        self.memory = bytearray(_MEMORY.size)
        """The memory with the decision. A function in C reads it, so that decided calls need no Python."""
        if most < 2:
            self.decide(1)

    def decide(self, threads: int) -> None:
        """All further calls take this number of threads."""
        _MEMORY.pack_into(self.memory, 0, threads)

    def run(self, work: Callable[[int], T]) -> T:
        """Calls `work` with a number of threads.

        As long as a compiler keeps a core busy, which tells nothing of later calls, nothing is measured.
        """
        (threads,) = _MEMORY.unpack_from(self.memory)
        if threads:
            return work(threads)
        if not background.idle:
            return work(1)
        begun = perf_counter_ns()
        result = work(1)
        self.add(perf_counter_ns() - begun)
        return result

    def add(self, nanoseconds: int) -> None:
        """Takes in what a call took on one thread."""
        self._times = (*self._times, nanoseconds)
        if len(self._times) >= _MEASURED:
            self.decide(max(1, min(self._most, min(self._times[1:]) // _GRAIN)))
