"""`Freezing`: while nothing writes the variables that a plan reads, another plan is run in which their values are constants.

A server runs one signature thousands of times between two updates of its weights, and an evaluation goes through a data set
with the same weights. If they are constants, kernels are prepared for them, normalizations become part of the weights, and
nothing is read (`actorflow.engine.passes.freeze`).

When a plan has run a few times, its variables are watched, and they are frozen in one of the next runs. So a training that
looks at its loss after each step never gets there. The first write, by any step, ends it: runs that begin later read
variables again. After that they are frozen when nothing has written them for several times as long as their plan took to
make. So this work is never the largest part.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from actorflow.base.process import forks
from actorflow.engine.runtime.codegen.background import background
from actorflow.engine.runtime.state.variable_state import VariableState

P = TypeVar("P")
_RUNS = 4
"""The runs of a plan before its variables are watched."""
_PATIENCE = 4.0
"""The time for which variables have to stay unwritten, by that which the last plan took to make."""
_LARGEST = 1 << 26
"""The most bytes of a variable: kernels may keep values in a layout of their own beside it."""


class Freezing(Generic[P]):
    """Follows the runs of one plan.

    Args:
        reads: for each read that may be frozen, what gives its variable, or None where that is not known.
        room: gives the most bytes of all variables together.
        make: makes the plan for the values of reads, on any thread.
    """

    def __init__(
        self,
        reads: Mapping[str, Callable[[], VariableState | None]],
        room: Callable[[], int],
        make: Callable[[Mapping[str, Any]], P],
    ) -> None:
        self._reads, self._room, self._make = reads, room, make
        self._frozen: P | None = None
        self._watched: dict[str, VariableState] = {}
        self._left = _RUNS
        """The runs before the next look at the variables; 0 if there is nothing to look for."""
        self._due = 0.0
        self._took = 0.0
        """Seconds that the last plan took to make."""
        self._number = 0
        """Of the writes that were noticed: a plan that is made meanwhile is for former values."""
        self._lock = forks.new_lock()

    @property
    def is_frozen(self) -> bool:
        """Whether steps that begin now have constants in the place of variables."""
        return self._frozen is not None

    def next(self, plan: P) -> P:
        """The plan that a step which begins now is to run, in the place of `plan`. Called on the event loop."""
        frozen = self._frozen
        if frozen is not None:
            return frozen
        if self._left > 0:
            self._left -= 1
            if self._left == 0:
                with self._lock:  # a write that another thread begins waits until the values are read
                    self._advance()
        return plan

    def _advance(self) -> None:
        """Watches the variables, and freezes them where that was done before."""
        if not self._watched:
            self._watch()
        elif time.monotonic() < self._due:
            self._left = 1
        else:
            values = {name: state.read() for name, state in self._watched.items()}
            background.add(partial(self._freeze, values, self._number))

    def _watch(self) -> None:
        states = {name: state for name, of in self._reads.items() if (state := of()) is not None}
        if any(not state.initialized or state.writer is not None for state in states.values()):
            self._left = _RUNS
            return
        room, small = self._room(), set()
        for state in dict.fromkeys(states.values()):
            nbytes = 0 if state.dtype.kind == "S" else state.read().nbytes
            if 0 < nbytes <= min(room, _LARGEST):
                room -= nbytes
                small.add(state)
                state.watch(self)
        self._watched = {name: state for name, state in states.items() if state in small}
        self._left = 1 if self._watched else 0
        self._due = time.monotonic() + _PATIENCE * self._took

    def _freeze(self, values: Mapping[str, Any], number: int) -> None:
        """Makes the plan, in the background, and lets it run unless a variable was written meanwhile. A plan that can't be made
        is not tried again."""
        if number != self._number:
            return
        begun = time.monotonic()
        try:
            version = self._make(values)
        except BaseException:
            self._reads = {}
            raise
        self._took = time.monotonic() - begun
        with self._lock:
            if number == self._number:
                self._frozen = version

    def thaw(self) -> None:
        """A variable is about to be written, perhaps on another thread."""
        with self._lock:
            self._number += 1
            frozen, self._frozen = self._frozen, None
            watched, self._watched = self._watched, {}
            for state in set(watched.values()):
                state.unwatch(self)
            self._left = _RUNS
        del frozen  # its constants would keep the write from being done in place
