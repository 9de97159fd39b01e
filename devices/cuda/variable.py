"""Variables in GPU memory: reads share one snapshot, and a write goes in place only when no reader has it any more.

Launches keep the order of the host's calls, so what an update overwrites has been read by all that were launched before
it. A buffer that was read and is still held may be used by later launches, and so is kept.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.shapes import Shape, compatible, show
from actorflow.engine.device.base import Allocator
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import InvalidArgumentError

from .memory import Lease, array_over


class CudaVariable(VariableState):
    """A variable of a `CudaDevice`."""

    __slots__ = ("_buffer", "_device", "_reading")

    def __init__(self, name: str, dtype: DType, shape: Shape, allocator: Allocator, device: Any) -> None:
        super().__init__(name, dtype, shape, allocator)
        self._device = device
        self._buffer: Any = None
        self._reading: weakref.ref[Lease] | None = None

    @property
    def initialized(self) -> bool:
        return self._buffer is not None

    def read(self) -> Any:
        """The value as an array of the GPU that no later write changes. Raises FailedPreconditionError if no value is set."""
        if self._buffer is None:
            raise self._uninitialized()
        self._device.hooks.uses(self, self._buffer, False)
        lease = self._reading and self._reading()
        if lease is None:
            lease = Lease(self._buffer)
            self._reading = weakref.ref(lease)
        device = self._device
        return array_over(
            device.xp, self._buffer.shape, self._buffer.dtype, self._buffer.data, lease, self._buffer.device.id
        )

    def on_host(self) -> Any:
        return self._device.fetch(self.read())

    def assign(self, value: Any) -> None:
        shape = tuple(value.shape)
        if not compatible(self.shape, shape):
            raise InvalidArgumentError(
                f"Variable {self.name!r} has shape {show(self.shape)}, but the value assigned has {shape}."
            )
        if self._buffer is None or self._buffer.shape != shape or self._leased():
            self._take(self._fresh(shape))
        self._device.hooks.uses(self, self._buffer, True)
        self._device.copy(self._buffer, value)

    def buffer(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if not compatible(self.shape, shape):
            raise InvalidArgumentError(
                f"Variable {self.name!r} has shape {show(self.shape)}, but a value of shape {shape} is to be assigned."
            )
        return np.empty(shape, self.dtype.numpy_dtype)

    def adopt(self, buffer: np.ndarray[Any, Any]) -> None:
        self.assign(buffer)

    def writable(self) -> Any:
        if self._buffer is None:
            raise self._uninitialized()
        if self._leased():
            self.copies += 1
            old = self._buffer
            self._take(self._fresh(old.shape))
            self._device.copy(self._buffer, old)
        self._device.hooks.uses(self, self._buffer, True)
        return self._buffer

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if self._buffer is None:
            raise self._uninitialized()
        if self._buffer.shape != tuple(shape):
            raise InvalidArgumentError(
                f"Variable {self.name!r} has shape {self._buffer.shape}, but the update has {tuple(shape)}."
            )

    def scratch(self) -> Any:
        return self._fresh(self._buffer.shape)

    def is_at(self, buffer: Any) -> bool:
        """Whether the value is in this buffer."""
        return self._buffer is buffer

    @property
    def leased(self) -> bool:
        """Whether a value that was read is still held."""
        return self._leased()

    def _leased(self) -> bool:
        return self._reading is not None and self._reading() is not None

    def _take(self, fresh: Any) -> None:
        self._device.hooks.moves(self)
        self._buffer = fresh
        self._reading = None
