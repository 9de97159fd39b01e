"""Several tasks' times on one clock: how far a task's clock is ahead, and no effect before its cause."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How many nanoseconds a task's clock is ahead of ours, and by how many that may be wrong at most."""

    offset: int
    error: int

    @staticmethod
    def between(low: int, high: int) -> ClockOffset:
        """Anything from `low` to `high`."""
        middle = (low + high) // 2
        return ClockOffset(middle, max(high - middle, 0))


SAME_CLOCK = ClockOffset(0, 0)


def ahead_of(estimate: ClockOffset | None, asked: int, answered: int, first: int, last: int) -> ClockOffset:
    """How far a task's clock is ahead, which did something from `first` to `last`, by its clock, between our `asked` and
    `answered`. An `estimate` is the better for it, where the two agree: they don't where clocks run apart in a long step.
    """
    if estimate is not None and not estimate.error:
        return estimate
    low, high = last - answered, first - asked
    if estimate is None:
        return ClockOffset.between(low, high)
    low, high = max(low, estimate.offset - estimate.error), min(high, estimate.offset + estimate.error)
    return estimate if low > high else ClockOffset.between(low, high)


class TaskClock:
    """One task's times, some of which are put off: `move` a time and all later times go with it, so that their order stays."""

    def __init__(self) -> None:
        self._since: list[int] = []
        self._later: list[int] = []

    def __call__(self, time: int) -> int:
        """`time` as it is now."""
        at = bisect_right(self._since, time)
        return time + self._later[at - 1] if at else time

    def move(self, time: int, to: int) -> None:
        """Puts `time` off, which is earlier than `to`, and with it each later time, unless that is put off further."""
        later = to - time
        at = bisect_right(self._since, time)
        if at and self._since[at - 1] == time:
            at -= 1
            self._later[at] = later
        else:
            self._since.insert(at, time)
            self._later.insert(at, later)
        end = at + 1
        while end < len(self._later) and self._later[end] <= later:
            end += 1
        del self._since[at + 1 : end], self._later[at + 1 : end]


def in_order(tasks: Iterable[str], pairs: Sequence[tuple[str, int, str, int]]) -> dict[str, TaskClock]:
    """For each task the clock by which no effect comes before its cause. `pairs` are [cause's task, its time, effect's task, its
    time].

    Times are only put off. If no time is wrong by more than some bound, none is afterwards: an effect moves to its
    cause's time, which is not later than its own true time by more than the cause's error.
    """
    clocks = {task: TaskClock() for task in tasks}
    pairs = sorted(pairs, key=lambda pair: pair[1])
    for _ in range(len(pairs) + 1):  # causes have no cycles; in what a broken task says there might be
        moved = False
        for source, cause, destination, effect in pairs:
            to = clocks[source](cause)
            if clocks[destination](effect) < to:
                clocks[destination].move(effect, to)
                moved = True
        if not moved:
            break
    return clocks
