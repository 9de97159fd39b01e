"""A device without hardware: numpy computes, but memory budget and clock are its own.

Placement, swapping and scheduling are tested with it. It has another type than the CPU, and a budget that may be as small as a
test wants. Its clock advances by a fixed time for each kernel instead of the time that passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.engine.device.base import DeviceStatistics

from .allocator import axes_in_memory, inverse
from .cpu import CpuDevice


class SimulatedDevice(CpuDevice):
    """A CPU device of type SIM (or another). `now` is its own time in seconds; nothing runs on a thread."""

    type = "SIM"
    swaps = True

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
        self._swapped_out = self._swapped_in = 0

    def submit(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Runs `work`, then `done`, at once: a simulated device is as fast as its clock says. Raises FailedPreconditionError
        after `close`."""
        self._check_open()
        work()
        done()

    def count(self, inline: int, threaded: int) -> None:
        """Adds to the launches, and lets their time pass."""
        super().count(inline, threaded)
        self.now += (inline + threaded) * self._seconds_per_launch

    def swap_out(self, value: Any, done: Callable[[Any, BaseException | None], object]) -> None:
        """Gives `done` a copy that the device's budget knows nothing of."""
        self._swapped_out += value.nbytes
        done(np.array(value, order="K") if isinstance(value, np.ndarray) else value, None)

    def swap_in(self, value: Any, done: Callable[[Any, BaseException | None], object]) -> None:
        """Gives `done` a copy of `value` in the device's memory. Raises ResourceExhaustedError if the memory has no room."""
        self._swapped_in += value.nbytes
        if not isinstance(value, np.ndarray):
            done(value, None)
            return
        axes = axes_in_memory(value.strides)
        dense = value.transpose(axes)
        mine = self.allocator.allocate(dense.shape, dense.dtype)
        np.copyto(mine, dense)
        done(mine.transpose(inverse(axes)), None)

    def statistics(self) -> DeviceStatistics:
        return replace(super().statistics(), swapped_out=self._swapped_out, swapped_in=self._swapped_in)
