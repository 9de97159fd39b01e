"""The lists in `tensorflow.Feature` messages, read and written without objects in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, float32, int64, string
from actorflow.base.records.wire import (
    BYTES,
    FIXED32,
    VARINT,
    BrokenMessageError,
    fields,
    varints,
    write_field,
    write_varint,
)
from actorflow.errors import InvalidArgumentError

KINDS = {1: string, 2: float32, 3: int64}
NUMBERS = {dtype: number for number, dtype in KINDS.items()}


def read_feature(data: bytes) -> tuple[DType, Any] | None:
    """The list of a Feature message: its element type and a vector; None where the feature has no list.

    Raises:
        BrokenMessageError: the bytes are no Feature.
    """
    kind: DType | None = None
    bodies: list[bytes] = []
    for number, wire_type, value in fields(data):
        dtype = KINDS.get(number)
        if dtype is None:
            continue
        if wire_type != BYTES:
            raise BrokenMessageError(f"A feature's field {number} has wire type {wire_type}.")
        if dtype is not kind:  # a field of a `oneof`: the last kind counts
            kind, bodies = dtype, []
        bodies.append(value)
    if kind is None:
        return None
    return kind, _read_list(b"".join(bodies), kind)


def _read_list(data: bytes, dtype: DType) -> Any:
    parts: list[Any] = []
    for number, wire_type, value in fields(data):
        if number != 1:
            continue
        if dtype is string and wire_type == BYTES:
            parts.append(value)
        elif dtype is float32 and wire_type in (BYTES, FIXED32):
            if len(value) % 4:
                raise BrokenMessageError("A list of floats is cut off.")
            parts.append(np.frombuffer(value, "<f4"))
        elif dtype is int64 and wire_type == BYTES:
            parts.append(varints(value))
        elif dtype is int64 and wire_type == VARINT:
            parts.append(np.array([value], np.uint64).view(np.int64))
        else:
            raise BrokenMessageError(f"A list of {dtype} has an element of wire type {wire_type}.")
    if dtype is string:
        strings = np.empty(len(parts), object)
        strings[:] = parts
        return strings
    if len(parts) == 1:
        return parts[0].astype(dtype.numpy_dtype)
    return np.concatenate(parts, dtype=dtype.numpy_dtype) if parts else np.zeros(0, dtype.numpy_dtype)


def write_feature(dtype: DType, values: Sequence[Any]) -> bytes:
    """A Feature message with one list."""
    if dtype is string:
        body = b"".join([write_field(1, value) for value in values])
    elif not len(values):
        body = b""
    elif dtype is float32:
        body = write_field(1, np.asarray(values, "<f4").tobytes())
    else:
        body = write_field(1, b"".join([write_varint(int(value)) for value in values]))
    return write_field(NUMBERS[dtype], body)


def read_map(data: bytes) -> dict[bytes, bytes]:
    """The entries (field 1) of a message that is a map from names to messages; the last entry of a name counts."""
    entries: dict[bytes, bytes] = {}
    for number, wire_type, entry in fields(data):
        if number != 1 or wire_type != BYTES:
            continue
        key = value = b""
        for part, kind, content in fields(entry):
            if kind == BYTES:
                key, value = (content, value) if part == 1 else (key, content) if part == 2 else (key, value)
        entries[key] = value
    return entries


def submessage(data: bytes, wanted: int) -> bytes:
    """The message in field `wanted`; several are merged, which for messages is to join their bytes."""
    parts = [value for number, kind, value in fields(data) if number == wanted and kind == BYTES]
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_example(data: bytes) -> dict[bytes, bytes]:
    """The Feature messages of an Example by name, not yet read.

    Raises:
        BrokenMessageError: the bytes are no Example.
    """
    return read_map(submessage(data, 1))


def read_sequence_example(data: bytes) -> tuple[dict[bytes, bytes], dict[bytes, list[bytes]]]:
    """The Feature messages of a SequenceExample: those of its context, and lists of them, by name."""
    lists = {
        name: [value for number, kind, value in fields(body) if number == 1 and kind == BYTES]
        for name, body in read_map(submessage(data, 2)).items()
    }
    return read_map(submessage(data, 1)), lists


def as_bytes(value: Any) -> bytes:
    """Text as UTF-8. Raises InvalidArgumentError for what is no text."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise InvalidArgumentError(f"{value!r:.40} (a {type(value).__name__}) is no byte string.")
    return value
