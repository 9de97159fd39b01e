"""`LoopDelay`: how late an event loop comes to what is due."""

from __future__ import annotations

import asyncio
from collections import deque

PERIOD = 0.25
"""Seconds from one look to the next."""
_LOOKS = 40


class LoopDelay:
    """The longest delay of an event loop within the last ten seconds: a timer notes how late it is called.

    Args:
        loop: the loop; the timer runs from now on, until `stop`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._late: deque[float] = deque(maxlen=_LOOKS)
        self._due = 0.0
        self._begin()

    @property
    def seconds(self) -> float:
        """The delay. A timer that is overdue now counts too."""
        return max((*self._late, self._loop.time() - self._due, 0.0))

    def _begin(self) -> None:
        self._due = self._loop.time() + PERIOD
        self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._late.append(self._loop.time() - self._due)
        self._begin()

    def stop(self) -> None:
        """Looks no more."""
        self._timer.cancel()
