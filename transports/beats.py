"""Beats: each side's clocks, the time that a beat takes there and back, and how far the clocks are apart."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .frames import Record, pack, unpack_fields

_KEPT = 8
_SECOND = 1_000_000_000


class Beats:
    """The beats of one connection. `clock` gives the monotonic and the wall clock in nanoseconds.

    A beat carries its sender's two clocks, the monotonic clock of the last beat that it got, and how long ago that was.
    From the last eight, the one that was fastest there and back tells the clocks' difference best.
    """

    def __init__(self, clock: Callable[[], tuple[int, int]]) -> None:
        self.clock = clock
        self.last_heard = clock()[0]
        self._echo = 0
        self._samples: deque[tuple[int, int, int]] = deque(maxlen=_KEPT)

    def make(self) -> bytes:
        """The metadata of the next beat."""
        now, wall = self.clock()
        return pack([now, wall, self._echo, now - self.last_heard if self._echo else 0])

    def take(self, record: Record) -> None:
        """Takes the peer's beat. Raises ProtocolError where it is none."""
        theirs, wall, echo, held = unpack_fields(record, int, int, int, int)
        now, my_wall = self.clock()
        self.last_heard, self._echo = now, theirs
        if echo:
            there_and_back = max(now - echo - held, 0)
            half = there_and_back // 2
            self._samples.append((there_and_back, theirs + half - now, wall + half - my_wall))

    def best(self) -> tuple[float | None, float | None, float | None]:
        """Round trip, and the peer's monotonic and wall clock less ours, in seconds; None before the first answer."""
        if not self._samples:
            return None, None, None
        trip, clock, wall = min(self._samples)
        return trip / _SECOND, clock / _SECOND, wall / _SECOND
