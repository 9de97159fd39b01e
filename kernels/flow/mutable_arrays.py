"""Kernels of arrays and stacks that change in place (`actorflow.graph.ops.flow.mutable_arrays`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.process import forks
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import Shape
from actorflow.errors import InvalidArgumentError

from .tensor_list import stacked

_FLOW = np.float32(0)


class Array:
    """An array of a step. That of a gradient adds up what is written, and has zeros of the shapes of the elements that it is the
    gradient of."""

    def __init__(self, size: int, dtype: DType, shape: Shape, grows: bool, of: Array | None = None) -> None:
        self.size, self.dtype, self.shape, self.grows, self.of = size, dtype, shape, grows, of
        self.items: dict[int, Any] = {}
        self._gradients: dict[str, Array] = {}
        self._lock = forks.new_lock()

    def gradient(self, source: str) -> Array:
        with self._lock:
            if source not in self._gradients:
                self._gradients[source] = Array(self.size, self.dtype, self.shape, self.grows, self)
            return self._gradients[source]

    def write(self, at: int, value: Any) -> None:
        with self._lock:
            if at < 0 or at >= self.size and not self.grows:
                raise InvalidArgumentError(f"Element {at} of a TensorArray of {self.size} elements is written.")
            self.size = max(self.size, at + 1)
            present = self.items.get(at) if self.of is not None else None
            self.items[at] = value if present is None else present + value

    def read(self, xp: Any, at: int) -> Any:
        value = self.items.get(at)
        if value is not None:
            return value
        if not 0 <= at < self.size:
            raise InvalidArgumentError(f"Element {at} of a TensorArray of {self.size} elements is read.")
        like = None if self.of is None else self.of.items.get(at)
        shape = self.shape if like is None else np.shape(like)
        if shape is None or None in shape:
            raise InvalidArgumentError(
                f"Element {at} of a TensorArray is read, which was not written, and the shape of its zeros is not known."
            )
        return xp.zeros(shape, self.dtype.numpy_dtype)

    def rows(self, xp: Any, indices: Any) -> list[Any]:
        return [self.read(xp, at) for at in np.asarray(indices).tolist()]


@kernel("TensorArrayV3")
def array(xp: Any, size: Any, *, dtype: DType, element_shape: Shape, dynamic_size: bool) -> Any:
    if size < 0:
        raise InvalidArgumentError(f"A TensorArray can't have {int(size)} elements.")
    return Array(int(size), dtype, element_shape, dynamic_size), _FLOW


@kernel("TensorArrayGradV3")
def array_gradient(xp: Any, handle: Array, flow_in: Any, *, source: str) -> Any:
    return handle.gradient(source), _FLOW


@kernel("TensorArrayGradWithShape")
def array_gradient_of_rows(xp: Any, handle: Array, flow_in: Any, shape_to_prepend: Any, *, source: str) -> Any:
    return handle.gradient(source), _FLOW


@kernel("TensorArrayWriteV3")
def write(xp: Any, handle: Array, index: Any, value: Any, flow_in: Any) -> Any:
    handle.write(int(index), value)
    return _FLOW


@kernel("TensorArrayReadV3")
def read(xp: Any, handle: Array, index: Any, flow_in: Any) -> Any:
    return handle.read(xp, int(index))


@kernel("TensorArrayGatherV3")
def gather(xp: Any, handle: Array, indices: Any, flow_in: Any, *, dtype: DType, element_shape: Shape) -> Any:
    shape = handle.shape if element_shape is None else element_shape
    return stacked(xp, handle.rows(xp, indices), dtype, shape)


@kernel("TensorArrayScatterV3")
def scatter(xp: Any, handle: Array, indices: Any, value: Any, flow_in: Any) -> Any:
    places = np.asarray(indices).tolist()
    if len(places) != len(value):
        raise InvalidArgumentError(f"{len(value)} rows are written to {len(places)} places of a TensorArray.")
    for at, row in zip(places, value):
        handle.write(at, row)
    return _FLOW


@kernel("TensorArrayConcatV3")
def concat(xp: Any, handle: Array, flow_in: Any, *, dtype: DType, element_shape_except0: Shape) -> Any:
    items = handle.rows(xp, range(handle.size))
    lengths = np.array([len(item) for item in items], np.int64)
    if not items:
        rest = [size or 0 for size in element_shape_except0 or ()]
        return xp.zeros((0, *rest), dtype.numpy_dtype), lengths
    return xp.concatenate(items), lengths


@kernel("TensorArraySplitV3")
def split(xp: Any, handle: Array, value: Any, lengths: Any, flow_in: Any) -> Any:
    sizes = np.asarray(lengths).tolist()
    if sum(sizes) != len(value):
        raise InvalidArgumentError(f"The lengths sum to {sum(sizes)}, but there are {len(value)} rows.")
    for at, (size, end) in enumerate(zip(sizes, np.cumsum(sizes).tolist())):
        handle.write(at, value[end - size : end])
    return _FLOW


@kernel("TensorArraySizeV3")
def size(xp: Any, handle: Array, flow_in: Any) -> Any:
    return np.int32(handle.size)


@kernel("TensorArrayCloseV3")
def close(xp: Any, handle: Array) -> None:
    return None


@kernel("StackV2")
def stack(xp: Any, max_size: Any) -> Any:
    return _Stack()


class _Stack:
    """A stack of a step."""

    def __init__(self) -> None:
        self.items: list[Any] = []


@kernel("StackPushV2")
def push(xp: Any, handle: _Stack, elem: Any) -> Any:
    handle.items.append(elem)
    return elem


@kernel("StackPopV2")
def pop(xp: Any, handle: _Stack) -> Any:
    if not handle.items:
        raise InvalidArgumentError("An element is taken from an empty stack.")
    return handle.items.pop()


@kernel("StackCloseV2")
def close_stack(xp: Any, handle: _Stack) -> None:
    return None
