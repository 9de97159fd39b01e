"""`Recorder`: traces some of the steps of a task while it is on, and keeps the last of them."""

from __future__ import annotations

from collections import deque
from typing import Any

from actorflow.runtime.diagnostics.trace import Trace


class RecordedTrace(Trace):
    """The trace of a step that a recorder has chosen."""

    __slots__ = ()


class Recorder:
    """Traces each step whose number is a multiple of `every`, so that all tasks of a step choose the same ones.

    It keeps the last `most` events: older traces make room for newer ones, and are counted in `dropped`.
    """

    def __init__(self, every: int, most: int) -> None:
        self._every = every
        self._most = most
        self._kept: deque[tuple[int, Trace]] = deque()
        self._size = 0
        self.dropped = 0

    def trace_for(self, step: int) -> Trace | None:
        """A new trace where the step is to be recorded."""
        return RecordedTrace(detail="plan") if step % self._every == 0 else None

    def ended(self, step: int, trace: Trace) -> None:
        """Takes the trace of a step that is over, if it is one of a recorder."""
        if type(trace) is not RecordedTrace:
            return
        self._kept.append((step, trace))
        self._size += len(trace.events)
        while self._size > self._most and len(self._kept) > 1:
            self._size -= len(self._kept.popleft()[1].events)
            self.dropped += 1

    def rows(self) -> list[Any]:
        """[number of the step, its events in plain types] for each trace that is kept, oldest first."""
        return [[step, trace.rows()[0]] for step, trace in self._kept]
