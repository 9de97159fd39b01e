"""`Device`: what owns memory and runs kernels (paper section 3). Implementations are found by entry points.

A device's name is a full one (`/job:localhost/replica:0/task:0/device:CPU:0`). It has a type, under which kernels are
registered; an array module, which kernels compute with; an allocator; and threads or streams.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from actorflow.device.spec import DeviceSpec


@dataclass(frozen=True, slots=True)
class AllocatorStatistics:
    """Bytes that tensors of a device hold and have held. Blocks below `threshold` bytes are not counted."""

    live_bytes: int
    peak_bytes: int
    pooled_bytes: int
    allocations: int
    frees: int
    reuses: int
    budget: int | None
    threshold: int


class BlockSource(Protocol):
    """Memory that an allocator may take its blocks from, such as an arena that other processes see too."""

    def take(self, size: int) -> memoryview | None:
        """A block of at least `size` bytes; None where there is none."""

    def give(self, block: memoryview) -> None:
        """Takes a block back."""

    def owns(self, block: memoryview) -> bool:
        """Whether `block` is from here."""


@runtime_checkable
class Allocator(Protocol):
    """Gives buffers for large tensors and takes them back when their last view is gone."""

    threshold: int

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """A fresh array, its contents undefined.

        Raises:
            ResourceExhaustedError: the device's budget would be exceeded.
        """

    def check(self, nbytes: int) -> None:
        """Raises ResourceExhaustedError where `nbytes` more would exceed the budget."""

    def adopt(self, array: Any) -> Any:
        """Counts an array that a kernel allocated itself, until its last view is gone. Returns it."""

    def statistics(self) -> AllocatorStatistics: ...


@dataclass(frozen=True, slots=True)
class DeviceStatistics:
    """What a device did so far. `inline` and `threaded` count kernels by where they ran."""

    launches: int
    inline: int
    threaded: int
    memory: AllocatorStatistics


class Device(Protocol):
    """One device of one task."""

    name: str
    spec: DeviceSpec
    type: str
    xp: Any
    allocator: Allocator

    def submit(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Runs `work` on the device's compute thread, then `done` there. Called on the loop."""

    def count(self, inline: int, threaded: int) -> None:
        """Adds to the launches that `statistics` reports."""

    def statistics(self) -> DeviceStatistics: ...

    def close(self) -> None:
        """Ends threads; waits for none that still runs a kernel."""


DeviceFactory = Callable[..., Device]
