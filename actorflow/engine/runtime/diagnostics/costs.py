"""Measured costs of nodes: what decides whether a kernel runs on the loop or on the device's thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

INLINE_LIMIT_NS = 700_000.0
"""A kernel that is expected to take longer goes to the device's thread. A hop there and back costs 30 to 100 µs, and a
thread that takes the interpreter back holds the loop up by itself; less time than this on the loop is cheaper than both."""

UNKNOWN_NS = 2 * INLINE_LIMIT_NS
"""The guess for a kernel that may take any time: its first run is on the thread, and tells where the next runs are."""

_RECENT = 9
_SAMPLES = 8
_MOST_SIZES = 64


class Cost:
    """One node's expected nanoseconds: a static guess, then the median of the last few measurements."""

    __slots__ = ("_hops", "_recent", "_threaded", "nanoseconds", "samples")

    def __init__(self, guess: float) -> None:
        self.nanoseconds = guess
        self.samples = 0
        self._recent: list[float] | None = None
        self._threaded: list[tuple[float, float]] | None = None
        self._hops: list[float] | None = None

    def add(self, nanoseconds: float, busy: float | None = None) -> None:
        """Takes one measurement in. Slow measurements (a page fault, another process) count for nothing while they are fewer
        than half of the last nine. The lower of two in the middle counts, so the second measurement corrects a slow first
        measurement.

        Args:
            busy: of a run on a thread, the nanoseconds in which the thread had a core.
        """
        self.samples += 1
        if busy is not None:
            threaded = self._threaded = [] if self._threaded is None else self._threaded
            threaded.append((busy, max(0.0, nanoseconds - busy)))
            if len(threaded) > _RECENT:
                del threaded[0]
        recent = self._recent
        if recent is None:
            self._recent = [nanoseconds]
            self.nanoseconds = nanoseconds
            return
        recent.append(nanoseconds)
        if len(recent) > _RECENT:
            del recent[0]
        self.nanoseconds = sorted(recent)[(len(recent) - 1) // 2]

    def hopped(self, nanoseconds: float) -> None:
        """Takes the time of a hop from the loop to the device's thread, or back, with a run of this node."""
        hops = self._hops = [] if self._hops is None else self._hops
        hops.append(nanoseconds)
        if len(hops) > 2 * _RECENT:
            del hops[0]

    @property
    def hop(self) -> float:
        """The usual nanoseconds of a hop to the device's thread or back; 0 before the first hop."""
        return sorted(self._hops)[(len(self._hops) - 1) // 2] if self._hops else 0.0

    def alone(self) -> tuple[float, float]:
        """The nanoseconds of a run that finds a core free as soon as it wants a core, and the part in which it wants none.

        A thread is without a core where its kernel sleeps, as for a disk, and where others have the cores. The latter comes
        and goes: what is left in the best quarter of the last runs is the kernel's own.
        """
        if not self._threaded:
            return self.nanoseconds, 0.0
        busy, idle = (sorted(column) for column in zip(*self._threaded))
        own = idle[(len(idle) - 1) // 4]
        return busy[(len(busy) - 1) // 2] + own, own

    @property
    def settled(self) -> bool:
        return self.samples >= _SAMPLES


class LaunchCost(Cost):
    """The cost of a kernel that is only launched: however long the launch takes (the first one compiles), it is made on the
    loop, in the order in which nodes fire."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0.0)

    def add(self, nanoseconds: float, busy: float | None = None) -> None:
        self.samples += 1


class NodeCosts:
    """The costs of a node whose input sizes differ from run to run, by the number of input elements.

    outputs: the bytes of each output, as a timed run has shown them last.
    """

    __slots__ = ("_by_size", "_guess_elements", "guess", "outputs")

    def __init__(self, guess: float, expected_elements: int) -> None:
        self.guess = guess
        self._guess_elements = max(expected_elements, 1)
        self._by_size: dict[int, Cost] = {}
        self.outputs: tuple[int, ...] = ()

    def saw(self, result: Any) -> None:
        """Takes the sizes of what a run has given."""
        values = result if type(result) is tuple else (result,)
        self.outputs = tuple([getattr(value, "nbytes", 0) for value in values])

    def usual(self) -> Cost | None:
        """The cost for the sizes that were timed most often; None before the first run."""
        return max(self._by_size.values(), key=lambda cost: cost.samples, default=None)

    def of(self, inputs: Sequence[Any]) -> Cost:
        """The cost for inputs of these sizes. Sizes that were not seen yet are guessed in proportion."""
        elements = 0
        for value in inputs:
            elements += getattr(value, "size", 0) or 0
        cost = self._by_size.get(elements)
        if cost is None:
            if len(self._by_size) >= _MOST_SIZES:
                self._by_size.clear()
            cost = self._by_size[elements] = Cost(self.guess * max(1.0, elements / self._guess_elements))
        return cost
