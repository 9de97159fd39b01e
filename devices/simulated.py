"""A device without hardware: numpy computes, but memory budget and clock are its own.

Placement, swapping and scheduling are tested with it: it has another type than the CPU, a budget that may be as small as a
test wants, and a clock that advances by a fixed time for each kernel instead of the time that passes.
"""

from __future__ import annotations

from collections.abc import Callable

from .cpu import CpuDevice


class SimulatedDevice(CpuDevice):
    """A CPU device of type SIM (or another). `now` is its own time in seconds; nothing runs on a thread."""

    type = "SIM"

    def __init__(
        self,
        name: str,
        *,
        memory_budget: int | None = None,
        kind: str = "SIM",
        seconds_per_launch: float = 1e-6,
    ) -> None:
        super().__init__(name, memory_budget=memory_budget)
        self.type = kind
        self.now = 0.0
        self._seconds_per_launch = seconds_per_launch

    def submit(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Runs `work`, then `done`, at once: a simulated device is as fast as its clock says."""
        work()
        done()

    def count(self, inline: int, threaded: int) -> None:
        """Adds to the launches, and lets their time pass."""
        super().count(inline, threaded)
        self.now += (inline + threaded) * self._seconds_per_launch
