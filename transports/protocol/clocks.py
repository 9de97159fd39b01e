"""Beats: each side's clocks, the time that a beat takes there and back, and how far the clocks are apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .contents import BeatContent

_KEPT = 8
_SECOND = 1_000_000_000
_DRIFT = 200e-6
"""By how much two monotonic clocks may run apart, of the time that passes: crystals are good for 50 ppm each, and what corrects
them slews about as much."""


@dataclass(frozen=True, slots=True)
class ClockEstimate:
    """The peer's clocks less ours, in seconds; None before the first answer. `clock_error` is the bound of `clock_offset`'s
    error: both are 0 where the two sides read one clock."""

    round_trip: float | None = None
    clock_offset: float | None = None
    clock_error: float | None = None
    wall_offset: float | None = None


@dataclass(frozen=True, slots=True)
class _Sample:
    """One beat there and back, in nanoseconds; `begun` is when it left."""

    trip: int
    clock: int
    wall: int
    begun: int

    def error(self, now: int) -> float:
        """How wrong `clock` may be by now: neither way took longer than both, and the clocks have run apart since."""
        return self.trip / 2 + _DRIFT * (now - self.begun)


class ClockBeats:
    """The beats of one connection. `clock` gives the monotonic and the wall clock in nanoseconds.

    A beat carries its sender's two clocks, the monotonic clock of the last beat that it got, and how long ago that was.
    Of the last eight beats, the beat with the smallest error tells the clocks' difference.
    """

    def __init__(self, clock: Callable[[], tuple[int, int]]) -> None:
        self.clock = clock
        self.one_clock = False
        """Whether both sides say that they read one monotonic clock. A beat that contradicts ends this: machines that were
        started from one image may have equal names for different clocks."""
        self.last_heard = clock()[0]
        self._echo = 0
        self._samples: deque[_Sample] = deque(maxlen=_KEPT)

    def make(self) -> BeatContent:
        """The next beat."""
        now, wall = self.clock()
        return BeatContent(now, wall, self._echo, now - self.last_heard if self._echo else 0)

    def take(self, beat: BeatContent) -> None:
        """Takes the peer's beat."""
        now, my_wall = self.clock()
        self.last_heard, self._echo = now, beat.clock
        if beat.echo:
            trip = max(now - beat.echo - beat.held, 0)
            half = trip // 2
            sample = _Sample(trip, beat.clock + half - now, beat.wall + half - my_wall, beat.echo)
            self._samples.append(sample)
            if abs(sample.clock) > sample.error(now) + 1:
                self.one_clock = False

    def estimate(self) -> ClockEstimate:
        """The result of the beats so far."""
        if not self._samples:
            return ClockEstimate(clock_offset=0.0, clock_error=0.0) if self.one_clock else ClockEstimate()
        now = self.clock()[0]
        best = min(self._samples, key=lambda sample: sample.error(now))
        trip, wall = best.trip / _SECOND, best.wall / _SECOND
        if self.one_clock:
            return ClockEstimate(trip, 0.0, 0.0, wall)
        return ClockEstimate(trip, best.clock / _SECOND, best.error(now) / _SECOND, wall)
