"""Tensors as `tensorflow.TensorProto` messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType, string
from actorflow.base.records import wire
from actorflow.base.records.wire import BYTES, FIXED32, FIXED64, VARINT, BrokenMessageError

_BY_CODE = {dtype.code: dtype for dtype in (*dtypes.ALL, *dtypes.NARROW)}
# The fields that hold values as lists, by what an element is read as.
_FLOATS, _DOUBLES, _STRINGS = {5: "<f4", 9: "<f4"}, {6: "<f8", 12: "<f8"}, 8
_INTEGERS = {7, 10, 11, 16, 17}
_HALVES = 13
_LARGE, _LARGEST = 16 << 20, 256 << 20
"""Bytes of a tensor that few values fill: beyond the first a single value is kept once, beyond the second several are refused."""
_MOST_SIZES = 32  # of an array of numpy, in all its versions


def write_tensor(array: Any, dtype: DType) -> bytes:
    """An array as a message, its content in one piece."""
    sizes = b"".join([wire.write_field(2, _number(1, size) if size else b"") for size in array.shape])
    head = _number(1, dtype.code) + wire.write_field(2, sizes)
    if dtype is string:
        return head + b"".join([wire.write_field(_STRINGS, value) for value in array.reshape(-1).tolist()])
    content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return head + (wire.write_field(4, content) if content else b"")


def _number(field: int, value: int) -> bytes:
    return wire.write_varint(field << 3 | VARINT) + wire.write_varint(value)


def read_tensor(message: bytes, content: Any = b"") -> tuple[DType, Any]:
    """The element type and the array of a message, whether its values are in one piece or in a list.

    Args:
        message: in the wire format.
        content: the values in one piece, if the message is without them.

    Raises:
        BrokenMessageError: it is no such message, or its values don't fit its shape.
    """
    try:
        return _read_tensor(message, content)
    except BrokenMessageError:
        raise
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise BrokenMessageError(f"The values of a tensor can't be read: {error}.") from None


def _read_tensor(message: bytes, content: Any) -> tuple[DType, Any]:
    code = 0
    shape: tuple[int, ...] = ()
    values: list[Any] = []
    for number, kind, value in wire.fields(memoryview(message)):
        if number == 1 and kind == VARINT:
            code = value
        elif number == 2 and kind == BYTES:
            shape = _shape(value)
        elif number == 4 and kind == BYTES:
            content = value
        elif number == _STRINGS and kind == BYTES:
            values.append(bytes(value))
        elif number in _FLOATS and kind in (BYTES, FIXED32):
            values.extend(np.frombuffer(value, "<f4").tolist())
        elif number in _DOUBLES and kind in (BYTES, FIXED64):
            values.extend(np.frombuffer(value, "<f8").tolist())
        elif (number in _INTEGERS or number == _HALVES) and kind in (BYTES, VARINT):
            numbers = wire.varints(value) if kind == BYTES else np.array([value], np.uint64).view(np.int64)
            values.extend(numbers.tolist())
    dtype = _BY_CODE.get(code)
    if dtype is None:
        raise BrokenMessageError(f"The message is no tensor: it has the element type {code}.")
    return dtype, _array(dtype, shape, content, values)


def _shape(message: Any) -> tuple[int, ...]:
    sizes = []
    for _, dimension in wire.typed(message, {2: BYTES}):
        size = dict(wire.typed(dimension, {1: VARINT})).get(1, 0)
        if size >= 2**40:
            raise BrokenMessageError(f"A tensor's size is {size}.")
        sizes.append(size)
    if len(sizes) > _MOST_SIZES:
        raise BrokenMessageError(f"A tensor has {len(sizes)} sizes; {_MOST_SIZES} are the most.")
    return tuple(sizes)


def _array(dtype: DType, shape: tuple[int, ...], content: Any, values: list[Any]) -> Any:
    count = math.prod(shape)
    kind = dtype.numpy_dtype
    if dtype is string:
        strings = np.empty(len(values), object)
        strings[:] = values
        array: Any = strings
    elif content:
        if len(content) != count * kind.itemsize:
            raise BrokenMessageError(f"A {dtype} tensor of shape {shape} has {len(content)} bytes of content.")
        array = np.frombuffer(content, kind.newbyteorder("<")).astype(kind)
    elif dtype in (dtypes.float16, dtypes.bfloat16):
        array = np.array(values, np.uint16).view(kind)
    elif dtype.is_complex:
        array = np.array(values[::2], kind) + 1j * np.array(values[1::2], kind)
    else:
        array = np.array(values, np.int64 if dtype.is_integer else None).astype(kind)
    if len(array) < count and (len(array) or dtype is not string):  # the last value stands for all that follow
        size = count * kind.itemsize
        if len(array) < 2 and size > _LARGE:  # a message of some bytes takes no gigabytes
            return np.broadcast_to(array if len(array) else np.zeros(1, kind), shape)
        if size > _LARGEST:
            raise BrokenMessageError(
                f"A {dtype} tensor of shape {shape} has {len(array)} values, of which the last stands for the rest: "
                f"{size} bytes, of which {_LARGEST} are the most."
            )
        last = array[-1:] if len(array) else np.zeros(1, kind)
        array = np.concatenate([array, np.repeat(last, count - len(array))])
    if len(array) != count:
        raise BrokenMessageError(f"A {dtype} tensor of shape {shape} has {len(array)} values.")
    return array.reshape(shape)
