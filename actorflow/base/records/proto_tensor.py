"""Tensors as `tensorflow.TensorProto` messages, and Examples from their JSON form."""

from __future__ import annotations

import base64
import json
import math
import re
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType, float32, int64, string
from actorflow.base.records import wire
from actorflow.base.records.features import write_feature
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


_JSON_LISTS = {"bytesList": string, "floatList": float32, "int64List": int64}
_JSON_LISTS |= {"bytes_list": string, "float_list": float32, "int64_list": int64}
_JSON_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_JSON_WORD = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def example_from_json(text: bytes) -> bytes:
    """An Example message from the JSON form of one (byte strings in base64).

    Raises:
        ValueError: the text is no such JSON.
    """
    record = _object(json.loads(text, parse_constant=_no_number), "features")
    entries: list[bytes] = []
    features = _object(record.get("features") or {}, "feature").get("feature") or {}
    for name, feature in _object(features).items():
        body = b""
        for key, content in _object(feature, *_JSON_LISTS).items():
            dtype = _JSON_LISTS[key]
            values = _object(content, "value").get("value") or []
            body = write_feature(dtype, [_json_value(dtype, value) for value in values])
        entries.append(wire.write_field(1, wire.write_field(1, name.encode()) + wire.write_field(2, body)))
    return wire.write_field(1, b"".join(entries)) if "features" in record else b""


def _object(value: Any, *keys: str) -> dict[str, Any]:
    if not isinstance(value, dict) or keys and not value.keys() <= set(keys):
        raise ValueError(f"{json.dumps(value)[:80]} is no part of an Example: an object with {keys} is.")
    return value


def _json_value(dtype: DType, value: Any) -> Any:
    """A value of an Example from its JSON form. Raises ValueError for what Protocol Buffers do not take as such a value."""
    if isinstance(value, str) and dtype is string:
        text = value.replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    if dtype is string or isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{value!r:.40} is no {dtype.name}.")
    if isinstance(value, str):
        value = value.strip(" ") if dtype is float32 else value
        if dtype is float32 and _JSON_WORD.fullmatch(value):
            return float(value)
        if not _JSON_NUMBER.fullmatch(value):
            raise ValueError(f"{value!r:.40} is no number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if dtype is float32:
        if abs(number) > dtype.max:
            raise ValueError(f"{value!r:.40} is beyond the numbers of float32.")
        return number
    if not number.is_integer():
        raise ValueError(f"{value!r:.40} is no integer of 64 bits.")
    whole = int(number) if isinstance(value, str) and not value.lstrip("+-").isdigit() else int(value)
    if not -(2**63) <= whole < 2**63:
        raise ValueError(f"{value!r:.40} is no integer of 64 bits.")
    return whole


def _no_number(text: str) -> Any:
    """Raises ValueError: JSON has no NaN and no infinities, but Python would read them."""
    raise ValueError(f"{text} is no value of JSON.")
