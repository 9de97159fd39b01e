"""`Device`: what owns memory and runs kernels (paper section 3). Implementations are found by entry points.

A device's name is a full one (`/job:localhost/replica:0/task:0/device:CPU:0`). It has a type, under which kernels are
registered; an array module, which kernels compute with; an allocator; and threads or streams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

from actorflow.graph.device_spec import DeviceSpec

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
        """A block of at least `size` bytes; None if the source has none."""

    def give(self, block: memoryview) -> None:
        """Takes a block back."""

    def owns(self, block: memoryview) -> bool:
        """Whether `block` is from here."""


@runtime_checkable
class Allocator(Protocol):
    """Gives buffers for large tensors and takes them back when their last view is gone."""

    threshold: int

    budget: int | None
    """The most bytes that may be in use, None where the memory itself is the limit."""

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
    """The counts of a device's work so far. `inline` and `threaded` count kernels by the place of their runs;
    `swapped_out` and `swapped_in` are bytes that went to the host for a while and came back."""

    launches: int
    inline: int
    threaded: int
    memory: AllocatorStatistics
    swapped_out: int = 0
    swapped_in: int = 0
    replays: int = 0
    """How often a recorded region was replayed."""
    not_recorded: tuple[tuple[str, str], ...] = ()
    """The first nodes of regions that could not be recorded, with the reason."""
    shared_out: int = 0
    """Tokens that other processes of the host copied from this device's memory, without the host."""
    shared_in: int = 0
    """Tokens that this device copied from the memory of other processes."""
    not_shared: tuple[tuple[str, str], ...] = ()
    """Devices of other processes to which tokens go by the host, with the reason; this device itself if it can show its
    memory to none."""


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


class Recordable(Protocol):
    """A tape whose calls launch kernels (`actorflow.engine.runtime.tape.tape.Tape`)."""

    instructions: tuple[Any, ...]
    results: tuple[int, ...]

    def fresh_values(self, inputs: Sequence[Any]) -> list[Any]:
        """The values of a run as it begins."""

    def perform(self, instruction: Any, values: list[Any]) -> int:
        """Launches what an instruction calls, puts its outputs among the values, and drops what no later instruction reads."""


class Replay(Protocol):
    """Launches that were recorded."""

    stale: bool
    """Whether something has changed for good, so that there is nothing left to replay."""

    def __call__(self, inputs: Sequence[Any]) -> list[Any] | None:
        """Launches them with these inputs, and gives the results; or None, and nothing done, where something is not as it was
        recorded."""


class AsynchronousDevice(Device, Protocol):
    """A device whose kernels are only launched, such as a GPU. Its attribute `asynchronous` is true.

    Launches are carried out in their order, so that a node's consumers may be launched as soon as it is. Its tensors are
    arrays of `xp`, or numpy's: what is small, or is wanted in host memory (`actorflow.engine.runtime.state.host_copies`),
    stays there.
    """

    asynchronous: bool
    host: Device
    """The CPU beside it, which computes what only host memory is needed for."""

    def launcher(self, node: Node, call: Callable[..., Any], on_host: Callable[..., Any] | None) -> Callable[..., Any]:
        """`call`, the kernel of a node, on this device: brings what is in host memory and not wanted there. `on_host` is
        the kernel for the CPU, if the op has a kernel that may take the place of `call`."""

    def together(self) -> AbstractContextManager[None]:
        """A block of many launches on this thread, which go into the compute stream as one batch."""

    def record(self, line: Recordable, inputs: Sequence[Any]) -> Replay | None:
        """Records what a tape of launches does for inputs of these types and shapes, so that it can be done again in
        fewer launches. None if the line can't be recorded; `statistics` says why. The line is not run for its
        results."""

    def constant(self, value: Any) -> Any:
        """A value that is the same in all steps: brought once, or where small, kept for being brought once."""

    def bring(self, value: Any) -> Any:
        """A value of the host or of another device as it is passed on here: a large value is on its way to this device."""

    def lend(self, value: Any) -> Any:
        """A value for another device of this type in this process to `bring`."""

    def take(self, value: Any, done: Callable[[Any, BaseException | None], None]) -> None:
        """Calls `done` on the running event loop with the value in host memory, or an error. Never before it returns."""

    def settle(self, done: Callable[[BaseException | None], None]) -> None:
        """Calls `done` on the running event loop when all that was launched so far has run; with the error that ended it."""


class SwappingDevice(Device, Protocol):
    """A device whose tensors may wait in host memory, because its own is scarcer. Its attribute `swaps` is true.

    Both methods call `done` once, on the running event loop, with the result or an error; it may be called before they return.
    """

    swaps: bool

    def swap_out(self, value: Any, done: Callable[[Any, BaseException | None], object]) -> None:
        """Calls `done` when a copy of `value` is in host memory. The caller holds `value` no longer than that."""

    def swap_in(self, value: Any, done: Callable[[Any, BaseException | None], object]) -> None:
        """Calls `done` when what `swap_out` gave is in the device's memory again, in the same memory layout."""


def as_swapping(device: Device) -> SwappingDevice | None:
    """The device, if its tensors may wait in host memory."""
    return cast(SwappingDevice, device) if getattr(device, "swaps", False) else None


def as_asynchronous(device: Device) -> AsynchronousDevice | None:
    """The device, if its kernels are only launched."""
    return cast(AsynchronousDevice, device) if getattr(device, "asynchronous", False) else None


DeviceFactory = Callable[..., Device]
