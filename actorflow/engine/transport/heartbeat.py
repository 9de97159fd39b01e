"""The heartbeat: how often a process gives a sign of life, and which silence means that a peer is lost.

`Heartbeat` asks no clock: times go in, the verdict comes out. `Pulse` is the timer of an event loop around it. A transport beats
and judges by these two, or tells its library to keep to the same times, as that over ZeroMQ does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

PATIENCE = 3
"""A peer is lost after this number of heartbeats without a sign of life."""
_EVIDENCE = 4
"""After this number of heartbeats whoever watches has seen a loss: those of the patience, and a way there and back."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life every `seconds`."""

    seconds: float = 1.0

    @property
    def silence_seconds(self) -> float:
        """The longest silence of a peer that lives."""
        return PATIENCE * self.seconds

    @property
    def evidence_seconds(self) -> float:
        """The time until a loss has been seen by all who watch."""
        return _EVIDENCE * self.seconds

    def is_lost(self, heard: float, now: float) -> bool:
        """Whether a peer whose last sign of life came at the time `heard` is lost at the time `now`."""
        return now - heard > self.silence_seconds


NEAR, FAR = Heartbeat(0.4), Heartbeat(1.0)
"""For tasks that this process has started on its own machine, and for all others."""


class Pulse:
    """Calls `beat` at each heartbeat on the running event loop, until it is stopped."""

    def __init__(self, heartbeat: Heartbeat, beat: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._heartbeat, self._beat = heartbeat, beat
        self._timer = self._loop.call_later(heartbeat.seconds, self._go_on)

    def _go_on(self) -> None:
        self._beat()
        self._timer = self._loop.call_later(self._heartbeat.seconds, self._go_on)

    def stop(self) -> None:
        """Ends the beats. A second call does nothing."""
        self._timer.cancel()
