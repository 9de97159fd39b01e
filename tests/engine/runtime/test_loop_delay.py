"""The delay of an event loop: how late a timer is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actorflow.engine.runtime.event_loops.delay import PERIOD, LoopDelay


class Loop:
    """An event loop whose time a test sets."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: tuple[float, Callable[[], None]] | None = None

    def time(self) -> float:
        return self.now

    def call_at(self, due: float, callback: Callable[[], None]) -> Any:
        self.due = due, callback
        return self

    def cancel(self) -> None:
        self.due = None

    def turn(self, late: float) -> None:
        """Calls the timer so much too late."""
        assert self.due is not None
        self.now = self.due[0] + late
        self.due[1]()


def test_the_longest_delay_of_the_last_ten_seconds_counts() -> None:
    loop: Any = Loop()
    delay = LoopDelay(loop)
    assert delay.seconds == 0.0
    for late in (0.001, 0.3, 0.002):
        loop.turn(late)
    assert delay.seconds == pytest.approx(0.3)
    for _ in range(round(10 / PERIOD)):
        loop.turn(0.001)
    assert delay.seconds == pytest.approx(0.001), "it is forgotten"


def test_a_timer_that_is_overdue_counts_already() -> None:
    loop: Any = Loop()
    delay = LoopDelay(loop)
    loop.now += PERIOD + 2.0
    assert delay.seconds == pytest.approx(2.0)
    delay.stop()
    assert loop.due is None
