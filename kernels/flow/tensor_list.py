"""Kernels of lists of tensors (`actorflow.graph.ops.flow.lists`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import Shape, show
from actorflow.errors import InvalidArgumentError

from .lists import Items, Stack

_READ = "Tried to read from index {index} but array size is: {size}"
_WRITTEN = "Tried to write to index {index} but array is not resizeable and size is: {size}"


@kernel("EmptyTensorList")
def empty(xp: Any) -> Any:
    return Stack()


@kernel("TensorListPushBack")
def push_back(xp: Any, handle: Any, tensor: Any) -> Any:
    return handle.push(tensor)


@kernel("TensorListPopBack")
def pop_back(xp: Any, handle: Any) -> Any:
    return handle.pop()


@kernel("TensorListReserve")
def reserve(xp: Any, num_elements: Any) -> Any:
    if num_elements < 0:
        raise InvalidArgumentError(f"A list can't have {int(num_elements)} elements.")
    return Items(int(num_elements))


@kernel("TensorListFromTensor")
def from_tensor(xp: Any, tensor: Any) -> Any:
    if not tensor.ndim:
        raise InvalidArgumentError("A scalar has no rows to make a list of.")
    return Items.of(tensor)


@kernel("TensorListGetItem")
def get_item(xp: Any, handle: Any, index: Any, *, element_dtype: DType, element_shape: Shape) -> Any:
    at = int(index)
    handle.check(at, _READ)
    item = handle.get(at)
    return handle.missing(at, element_shape, element_dtype.numpy_dtype) if item is None else item


def _place(handle: Items, at: int, once: bool, grows: bool) -> int:
    """The size of the list after a write at `at`. Raises for a write that is not allowed."""
    if not (grows and at >= 0):
        handle.check(at, _WRITTEN)
    if once and handle.has(at):
        raise InvalidArgumentError(f"Could not write to TensorArray index {at} because it has already been written to.")
    return max(handle.size, at + 1)


@kernel("TensorListSetItem")
def set_item(xp: Any, handle: Any, index: Any, item: Any, *, once: bool, grows: bool) -> Any:
    at = int(index)
    return handle.set(at, item, _place(handle, at, once, grows))


@kernel("TensorListInsertItem")
def insert_item(xp: Any, handle: Any, index: Any, item: Any) -> Any:
    at = int(index)
    if not 0 <= at <= handle.size:
        raise InvalidArgumentError(f"The list has {handle.size} elements, but one is inserted at {at}.")
    items = {place + (place >= at): element for place, element in handle.items()}
    return Items(handle.size + 1, {**items, at: item}, handle.like)


@kernel("TensorListRemoveItem")
def remove_item(xp: Any, handle: Any, index: Any) -> Any:
    at = int(index)
    handle.check(at, _READ)
    items = {place - (place > at): element for place, element in handle.items() if place != at}
    return Items(handle.size - 1, items, handle.like)


@kernel("TensorListClearItem")
def clear_item(xp: Any, handle: Any, index: Any) -> Any:
    return handle.set(int(index), None)


def stacked(xp: Any, items: list[Any], dtype: DType, shape: Shape) -> Any:
    if not items:
        if shape is None or None in shape:
            raise InvalidArgumentError(
                f"TensorArray has size zero, but element shape {show(shape)} is not fully defined. Currently only static shapes "
                f"are supported when packing zero-size TensorArrays.",
                hint="Give element_shape.",
            )
        return xp.zeros((0, *shape), dtype.numpy_dtype)
    if any(np.shape(item) != np.shape(items[0]) for item in items):
        shapes = sorted({str(np.shape(item)) for item in items})
        raise InvalidArgumentError(f"The elements of the list have different shapes: {', '.join(shapes[:4])}.")
    if dtype.kind == "S" and not np.shape(items[0]):
        column = np.empty(len(items), object)
        column[:] = [item.item() if isinstance(item, np.ndarray) else item for item in items]
        return column
    return xp.stack(items)


@kernel("TensorListStack")
def stack_list(xp: Any, handle: Any, *, element_dtype: DType, element_shape: Shape) -> Any:
    return stacked(xp, handle.all(element_shape, element_dtype.numpy_dtype), element_dtype, element_shape)


@kernel("TensorListGather")
def gather_list(xp: Any, handle: Any, indices: Any, *, element_dtype: DType, element_shape: Shape) -> Any:
    items = []
    for at in np.asarray(indices).tolist():
        handle.check(at, _READ)
        item = handle.get(at)
        items.append(handle.missing(at, element_shape, element_dtype.numpy_dtype) if item is None else item)
    return stacked(xp, items, element_dtype, element_shape)


@kernel("TensorListScatter")
def scatter_list(xp: Any, handle: Any, indices: Any, tensor: Any, *, once: bool, adds: bool, grows: bool) -> Any:
    places = np.asarray(indices).tolist()
    if len(places) != len(tensor):
        raise InvalidArgumentError(f"{len(tensor)} rows are written to {len(places)} places of the list.")
    for at, row in zip(places, tensor):
        size = _place(handle, at, once, grows)
        present = handle.get(at) if adds else None
        handle = handle.set(at, row if present is None else present + row, size)
    return handle


@kernel("TensorListClear")
def clear_items(xp: Any, handle: Any, indices: Any) -> Any:
    for at in np.asarray(indices).tolist():
        handle = handle.set(at, None)
    return handle


@kernel("TensorListConcat")
def concat_list(xp: Any, handle: Any, *, element_dtype: DType, element_shape: Shape) -> Any:
    shape = None if element_shape is None or None in element_shape else element_shape
    items = handle.all(shape, element_dtype.numpy_dtype)
    if not items:
        rest = () if element_shape is None else element_shape[1:]
        return xp.zeros((0, *(size or 0 for size in rest)), element_dtype.numpy_dtype)
    for at, item in enumerate(items):
        if not item.ndim:
            raise InvalidArgumentError(f"Concat saw a scalar shape at index {at} but requires at least vectors.")
        if item.shape[1:] != items[0].shape[1:]:
            raise InvalidArgumentError(
                f"TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: {show(items[0].shape[1:])} "
                f"but index {at} has (excepting dimension 0) shape: {show(item.shape[1:])}"
            )
    return xp.concatenate(items)


@kernel("TensorListSplit")
def split_list(xp: Any, tensor: Any, lengths: Any) -> Any:
    if np.ndim(lengths) != 1:
        raise InvalidArgumentError(f"Expected lengths to be a vector, received shape: {show(np.shape(lengths))}")
    if not tensor.ndim:
        raise InvalidArgumentError("Expected value to be at least a vector, but received shape: []")
    sizes = np.asarray(lengths).tolist()
    if sum(sizes) != len(tensor):
        raise InvalidArgumentError(
            f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sum(sizes)} and value's shape is: "
            f"{show(tensor.shape)}"
        )
    ends = np.cumsum(sizes).tolist()
    return Items.of(tensor[end - size : end] for size, end in zip(sizes, ends))


@kernel("TensorListLengths")
def lengths_of(xp: Any, handle: Any) -> Any:
    return np.array([len(item) for item in handle.all()], np.int64)


@kernel("TensorListLength")
def length(xp: Any, handle: Any) -> Any:
    return np.int32(handle.size)


@kernel("TensorListZerosLike")
def zeros_like(xp: Any, handle: Any) -> Any:
    return handle.zeros()


@kernel("TensorListAdd")
def add(xp: Any, x: Any, y: Any) -> Any:
    return x + y
