"""Steps of prepared work, joined into a series that one call of C does (`native/src/series.c`).

Threads go through the steps of a series side by side, and meet after each of them. One rule says for the whole series how
many threads there are, so steps that are too short to be divided by themselves are divided here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from actorflow.base.registry.series import SeriesPlace

from ..native.library import function, loaded
from .thread_count import ThreadCount
from .threads import most_threads, thread_count_of, threaded

MOST_ARRAYS, MOST_PARTS = 64, 64
"""The arguments of a call, and the parts of a step, that C takes."""


class Divisible(Protocol):
    """Some work that a step does: a library's programs for all of it, and for its parts."""

    def __call__(self, *arrays: Any) -> None:
        """Does it."""

    def programs(self) -> tuple[Sequence[Any], Sequence[Any], bytes]:
        """The program that does it all, if it exists; the programs of its parts, if they exist; and the elements at which each
        part begins, in each of its arrays."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkStep:
    """A step of a series.

    Args:
        work: what it does on the arrays that it reads, and its result.
        key: what tells the work and its amount from others.
        reads: the positions of the node's inputs that it reads, in the order of the arrays.
        shapes: those of the arrays, the result's last.
    """

    work: Divisible
    key: Hashable
    reads: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]

    def join(
        self, steps: Sequence[Any], places: Sequence[Sequence[SeriesPlace]], given: int, sizes: Sequence[int]
    ) -> Callable[..., None] | None:
        """See `actorflow.base.registry.series.SeriesStep`."""
        if len(sizes) > MOST_ARRAYS or not all(isinstance(step, WorkStep) for step in steps):
            return None
        series = _Series(steps, places, given, sizes)
        return series.function() if series.most_parts <= MOST_PARTS else None


class _Series:
    """The steps of a series, with the buffers of one call at a time."""

    def __init__(
        self, steps: Sequence[WorkStep], places: Sequence[Sequence[SeriesPlace]], inputs: int, sizes: Sequence[int]
    ) -> None:
        self._steps, self._places, self._given = steps, places, inputs
        most = most_threads()
        parts_of_steps = [step.work.programs() for step in steps]
        self.most_parts = max(len(parts) for _, parts, _ in parts_of_steps)
        # A call's programs have buffers that nothing else takes meanwhile.
        self._taken = [[[program.take() for program in programs] for programs in group[:2]] for group in parts_of_steps]
        recipes = tuple([tuple([tuple([buffer.recipe for buffer in taken]) for taken in pair]) for pair in self._taken])
        numbers = [_packed(n for place in own for n in (place.array, place.begin)) for own in places]
        layouts = tuple([(own, offsets) for own, (_, _, offsets) in zip(numbers, parts_of_steps)])
        room = sum(max(1, len(parts)) for _, parts, _ in parts_of_steps)
        self._key = ("series", *(step.key for step in steps))
        self._count: ThreadCount | None = thread_count_of(self._key, most) if most > 1 else None
        memory = None if self._count is None else self._count.memory
        self._work = (_packed([inputs, *sizes]), [recipes], layouts, room, memory)

    def function(self) -> Callable[..., None]:
        """The function of the arrays of a call."""
        bound, work, inputs = loaded().bind("series", self._otherwise), self._work, self._given

        def run(*arrays: Any) -> None:
            for array in arrays[:inputs]:
                if not array.flags.c_contiguous:
                    arrays = (*map(_contiguous, arrays[:inputs]), *arrays[inputs:])
                    break
            bound(work, *arrays)

        return run

    def _otherwise(self, work: Any, *arrays: Any) -> None:
        threaded(self._key, lambda threads: self._run(arrays, threads), count=self._count)

    def _run(self, arrays: Sequence[Any], threads: int) -> None:
        if loaded().call("series", threads, self._work, *arrays) is NotImplemented:
            self._each(arrays)

    def _each(self, arrays: Sequence[Any]) -> None:
        """Does one step after the other, as their nodes would: if another call has the buffers, and where something fails."""
        flat = [array.reshape(-1) for array in arrays]
        for step, places in zip(self._steps, self._places):
            own = [
                flat[place.array][place.begin : place.begin + prod(shape)].reshape(shape)
                for place, shape in zip(places, step.shapes)
            ]
            step.work(*own)


def _contiguous(array: Any) -> Any:
    return array if array.flags.c_contiguous else _ordered(array)


_ordered = function("ordered", np.ascontiguousarray)


def _packed(numbers: Any) -> bytes:
    listed = list(numbers)
    return struct.pack(f"={len(listed)}q", *listed)
