"""The wire format of Protocol Buffers, as far as the messages here need it: fields as (number, value), and back.

A varint and fixed-width field gives an int, a length-delimited one a slice of the message.

`Message` stands on these functions. Records that come in large numbers are written by the functions themselves. By `Message` the
event of a scalar would take 56 times as long, and a tensor, an entry of a checkpoint or an event of a timeline 12 to 13 times.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_DOUBLE = struct.Struct("<d")
PIECE = 1 << 15
"""Bytes, or numbers, of a packed field that are read or written at a time."""


class BrokenMessageError(InvalidArgumentError):
    """The bytes are no message of that kind."""


def fields(data: bytes | memoryview) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field of a message, in its order.

    Raises:
        BrokenMessageError: the bytes are no message.
    """
    position, size = 0, len(data)
    while position < size:
        key, position = varint(data, position)
        number, kind = key >> 3, key & 7
        value: Any
        if kind == BYTES:
            length, position = varint(data, position)
            value = data[position : position + length]
            position += length
        elif kind == VARINT:
            value, position = varint(data, position)
        elif kind in (FIXED64, FIXED32):
            width = 8 if kind == FIXED64 else 4
            value = data[position : position + width]
            position += width
        else:
            raise BrokenMessageError(f"The message has a field of wire type {kind} before byte {position}.")
        if position > size or not number:
            raise BrokenMessageError(f"The message of {size} bytes is cut off in its field {number}.")
        yield number, kind, value


def typed(data: bytes | memoryview, kinds: Mapping[int, int]) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field that has one of these numbers, with its wire type. Others are passed over, as by all readers
    of Protocol Buffers: a field of another wire type is no field of the message.

    Args:
        data: the message.
        kinds: the wire types by number.

    Raises:
        BrokenMessageError: the bytes are no message.
    """
    for number, kind, value in fields(data):
        if kinds.get(number) == kind:
            yield number, value


def varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """The number at `position`, and the position after it."""
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise BrokenMessageError(f"The message has no whole number at byte {position}.")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7


def varint_pieces(data: bytes | memoryview) -> Iterator[Any]:
    """The numbers of a packed field, as arrays of int64 of some thousand numbers each, so that little memory is needed beside
    the result.

    Raises:
        BrokenMessageError: the bytes are no such field.
    """
    raw = np.frombuffer(data, np.uint8)
    position = 0
    while position < raw.size:
        piece = raw[position : position + PIECE]
        ends = np.flatnonzero(piece < 0x80)
        if not ends.size:
            what = "A number has more than ten bytes." if piece.size > 10 else "A list of numbers is cut off."
            raise BrokenMessageError(what)
        size = int(ends[-1]) + 1
        yield piece[:size].astype(np.int64) if ends.size == size else _numbers(piece, ends)
        position += size


def _numbers(raw: Any, ends: Any) -> Any:
    """The numbers whose last bytes are at `ends`, as int64."""
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    longest = int(lengths.max())
    if longest > 10:
        raise BrokenMessageError("A number has more than ten bytes.")
    values = np.zeros(len(ends), np.uint64)
    for place in range(longest):
        part = raw[np.minimum(starts + place, ends)].astype(np.uint64) & np.uint64(0x7F)
        values |= np.where(place < lengths, part << np.uint64(7 * place), np.uint64(0))
    return values.view(np.int64)


def varints(data: bytes | memoryview) -> Any:
    """All numbers of a packed field, as int64."""
    pieces = list(varint_pieces(data))
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, np.int64), *pieces])


def write_varints(values: Any) -> bytes:
    """Whole numbers as a packed field: the inverse of `varints`.

    Args:
        values: integers of at most 64 bits.
    """
    numbers = np.ascontiguousarray(values).ravel()
    return b"".join([_packed(numbers[at : at + PIECE].astype(np.uint64)) for at in range(0, numbers.size, PIECE)])


def _packed(numbers: Any) -> bytes:
    if int(numbers.max()) < 0x80:
        small: bytes = numbers.astype(np.uint8).tobytes()
        return small
    places = np.arange(10, dtype=np.uint64)
    parts = (numbers[:, None] >> (np.uint64(7) * places)).astype(np.uint8) & np.uint8(0x7F)
    least = np.array([1 << 7 * place for place in range(1, 10)], np.uint64)
    lengths = 1 + np.count_nonzero(numbers[:, None] >= least, axis=1)
    parts |= np.where(places < (lengths - 1)[:, None], np.uint8(0x80), np.uint8(0))
    packed: bytes = parts[places < lengths[:, None]].tobytes()
    return packed


def write_varint(value: int) -> bytes:
    """A number (a negative number in two's complement of 64 bits) as a varint."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_field(number: int, payload: bytes) -> bytes:
    """A length-delimited field."""
    return b"".join((write_varint(number << 3 | BYTES), write_varint(len(payload)), payload))


def write_int(number: int, value: int) -> bytes:
    """A varint field (a negative number in two's complement)."""
    return write_varint(number << 3 | VARINT) + write_varint(value)


def write_float(number: int, value: float) -> bytes:
    """A float32 field. A number beyond its range becomes infinite."""
    return write_varint(number << 3 | FIXED32) + np.float32(value).tobytes()


def write_double(number: int, value: float) -> bytes:
    """A float64 field."""
    return write_varint(number << 3 | FIXED64) + _DOUBLE.pack(value)


def write_doubles(number: int, values: Any) -> bytes:
    """A packed list of float64."""
    return write_field(number, np.ascontiguousarray(values, "<f8").tobytes())
