"""`Device`: what owns memory and runs kernels (paper section 3). Implementations are found by entry points.

A device's name is a full one (`/job:localhost/replica:0/task:0/device:CPU:0`). It has a type, under which kernels are
registered; an array module, which kernels compute with; an allocator; and threads or streams.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

from actorflow.device.spec import DeviceSpec

if TYPE_CHECKING:
    from actorflow.graph.node import Node


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


class AsynchronousDevice(Device, Protocol):
    """A device whose kernels are only launched, such as a GPU. Its attribute `asynchronous` is true.

    Launches are carried out in their order, so that a node's consumers may be launched as soon as it is. Its tensors are
    arrays of `xp`, or numpy's: what is small, or is wanted in host memory (`actorflow.runtime.residence`), stays there.
    """

    asynchronous: bool
    host: Device
    """The CPU beside it, which computes what only host memory is needed for."""

    def launcher(self, node: Node, call: Callable[..., Any], on_host: Callable[..., Any] | None) -> Callable[..., Any]:
        """`call`, the kernel of a node, on this device: brings what is in host memory and not wanted there. `on_host` is
        the kernel for the CPU, where the op has one that may take its place."""

    def constant(self, value: Any) -> Any:
        """A value that is the same in all steps: brought once, or where small, kept for being brought once."""

    def bring(self, value: Any) -> Any:
        """A value of the host or of another device as it is passed on here: on its way to this device where it is large."""

    def lend(self, value: Any) -> Any:
        """A value for another device of this type in this process to `bring`."""

    def take(self, value: Any, done: Callable[[Any, BaseException | None], None]) -> None:
        """Calls `done` on the running event loop with the value in host memory, or an error. Never before it returns."""

    def settle(self, done: Callable[[BaseException | None], None]) -> None:
        """Calls `done` on the running event loop when all that was launched so far has run; with the error that ended it."""


def as_asynchronous(device: Device) -> AsynchronousDevice | None:
    """The device, if its kernels are only launched."""
    return cast(AsynchronousDevice, device) if getattr(device, "asynchronous", False) else None


DeviceFactory = Callable[..., Device]
