"""The values of a bundle's table: which tensor is where, as TensorFlow's `BundleEntryProto`; keys of slices; strings as bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorflow.base.dtypes import ALL, DType, string
from actorflow.base.records.crc32c import crc32c, mask
from actorflow.base.records.wire import (
    BYTES,
    FIXED32,
    VARINT,
    BrokenMessageError,
    typed,
    varint,
    write_field,
    write_int,
    write_varint,
)
from actorflow.engine.formats.regions import TensorRegion
from actorflow.errors import DataLossError

_BY_CODE = {dtype.code: dtype for dtype in ALL}
_KINDS = {1: VARINT, 2: BYTES, 3: VARINT, 4: VARINT, 5: VARINT, 6: FIXED32, 7: BYTES}
_MOST_SIZES = 32


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of the table: the place of its bytes, its type and shape. An entry with `slices` has no bytes itself."""

    dtype: DType
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int
    slices: tuple[TensorRegion, ...] = field(default=())

    def check(self) -> None:
        """Raises DataLossError where its bytes can't be those of its shape, before memory is taken for either."""
        count = math.prod(self.shape)
        if self.slices:
            if not all(len(region.shape) == len(self.shape) and region.fits() for region in self.slices):
                raise DataLossError(f"a slice is none of the shape {self.shape}")
            if sum([math.prod(region.shape) for region in self.slices]) < count:
                raise DataLossError(f"its slices are not all of the shape {self.shape}")
        elif self.size < count + 4 if self.dtype is string else self.size != count * self.dtype.numpy_dtype.itemsize:
            raise DataLossError(f"its shape {self.shape} is not that of its {self.size} bytes")

    def encode(self) -> bytes:
        """The entry as a message."""
        dims = b"".join(write_field(2, write_int(1, size)) for size in self.shape)
        return (
            write_int(1, self.dtype.code)
            + write_field(2, dims)
            + (write_int(3, self.shard) if self.shard else b"")
            + (write_int(4, self.offset) if self.offset else b"")
            + (write_int(5, self.size) if self.size else b"")
            + write_varint(6 << 3 | FIXED32)
            + struct.pack("<I", self.checksum)
        )


def header(shards: int) -> bytes:
    """The value of the empty key: how many files of bytes there are; little endian; version 1."""
    return write_int(1, shards) + write_field(3, write_int(1, 1))


def shards_of(data: bytes) -> int:
    """The number of files that a header names. Raises DataLossError for a header that can't be read."""
    fields = dict(_fields(data, {1: VARINT, 2: VARINT}))
    if fields.get(2):
        raise DataLossError("its numbers are big endian, which is not read")
    return int(fields.get(1, 0))


def decode(data: bytes) -> Entry:
    """The entry of a message. Raises DataLossError for a message that is no entry."""
    values: dict[int, Any] = {}
    shape: tuple[int, ...] = ()
    slices: list[TensorRegion] = []
    for number, value in _fields(data, _KINDS):
        if number == 2:
            shape = _shape(value)
        elif number == 7:
            slices.append(_region(value, shape))
        else:
            values[number] = value
    dtype = _BY_CODE.get(values.get(1, 0))
    if dtype is None:
        raise DataLossError(f"a tensor has the type {values.get(1, 0)}, which actorflow lacks")
    (checksum,) = struct.unpack("<I", values.get(6, b"\0\0\0\0"))
    place = values.get(3, 0), values.get(4, 0), values.get(5, 0)
    if any(size < 0 for size in shape) or len(shape) > _MOST_SIZES:
        raise DataLossError(f"a tensor has the shape {shape[:_MOST_SIZES]}")
    entry = Entry(dtype, shape, *place, checksum, tuple(slices))
    entry.check()
    return entry


def _fields(data: bytes, kinds: Mapping[int, int]) -> list[tuple[int, Any]]:
    try:
        return list(typed(data, kinds))
    except BrokenMessageError as error:
        raise DataLossError(f"an entry is damaged: {error.message}") from None


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _shape(message: bytes) -> tuple[int, ...]:
    dims = [value for _, value in _fields(message, {2: BYTES})]
    return tuple([_signed(next((size for _, size in _fields(dim, {1: VARINT})), 0)) for dim in dims])


def _region(message: bytes, shape: tuple[int, ...]) -> TensorRegion:
    begin, sizes = [], []
    for whole, (_, extent) in zip(shape, _fields(message, {1: BYTES})):
        fields = dict(_fields(extent, {1: VARINT, 2: VARINT}))
        begin.append(int(fields.get(1, 0)))
        sizes.append(int(fields.get(2, whole)))
    return TensorRegion(shape, tuple(begin), tuple(sizes))


# ---- keys of slices: TensorFlow's "ordered code", in which the order of bytes is that of what they stand for


def slice_key(name: str, region: TensorRegion, *, opened: bool = False) -> bytes:
    """The key of a slice of a variable. With `opened`, a dimension that is there in full is written as such."""
    text = name.encode().replace(b"\xff", b"\xff\0").replace(b"\0", b"\0\xff") + b"\0\1"
    out = _increasing(0) + text + _increasing(len(region.shape))
    for begin, size, whole in zip(region.begin, region.shape, region.whole):
        full = opened and begin == 0 and size == whole
        out += _signed_increasing(0 if full else begin) + _signed_increasing(-1 if full else size)
    return out


def _increasing(value: int) -> bytes:
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _signed_increasing(value: int) -> bytes:
    bits = (~value if value < 0 else value).bit_length()
    length = bits // 7 + 1
    data = bytearray(value.to_bytes(length, "big", signed=True))
    ones = (0xFF00 >> length) & 0xFF if length < 8 else 0xFF
    data[0] ^= ones
    if length > 8:
        data[1] ^= {9: 0x80, 10: 0xC0}[length]
    return bytes(data)


# ---- strings: their lengths, a checksum of these, and their bytes


def pack(array: Any, dtype: DType) -> tuple[bytes, int]:
    """The bytes of a tensor, and their masked checksum."""
    if dtype is not string:
        little = array.astype(array.dtype.newbyteorder("<")) if array.dtype.byteorder == ">" else array
        data = np.ascontiguousarray(little).tobytes()
        return data, mask(crc32c(data))
    items = [s.encode() if isinstance(s, str) else bytes(s) for s in array.astype(object).reshape(-1).tolist()]
    lengths = b"".join(_length(len(s)) for s in items)
    first = struct.pack("<I", mask(crc32c(lengths)))
    content = b"".join(items)
    return b"".join([*(write_varint(len(s)) for s in items), first, content]), mask(crc32c(lengths + first + content))


def unpack(data: bytes, dtype: DType, shape: Sequence[int], checksum: int) -> Any:
    """The array of a tensor's bytes. Raises DataLossError for damaged bytes."""
    if dtype is not string:
        return numbers(np.frombuffer(bytearray(data), np.uint8), mask(crc32c(data)), dtype, shape, checksum)
    count, position, lengths = math.prod(shape), 0, []
    try:
        for _ in range(min(count, len(data))):
            length, position = varint(data, position)
            lengths.append(length)
    except BrokenMessageError:
        raise DataLossError("the lengths of its strings are damaged") from None
    if len(lengths) != count or sum(lengths) + position + 4 != len(data):
        raise DataLossError("the lengths of its strings are not those of its bytes")
    summed = b"".join(map(_length, lengths)) + data[position:]
    if mask(crc32c(summed)) != checksum:
        raise DataLossError("its checksum is another")
    texts, position = np.empty(count, object), position + 4
    for index, length in enumerate(lengths):
        texts[index] = data[position : position + length]
        position += length
    return texts.reshape(shape)


def _length(size: int) -> bytes:
    return struct.pack("<I" if size < 1 << 32 else "<Q", size)


def numbers(data: Any, found: int, dtype: DType, shape: Sequence[int], checksum: int) -> Any:
    """The array of a tensor of numbers, in the memory of its bytes. Raises DataLossError for damaged bytes.

    Args:
        data: an array of bytes.
        found: their masked checksum.
        dtype: the type of the numbers.
        shape: their shape.
        checksum: the masked checksum that they should have.
    """
    if found != checksum:
        raise DataLossError("its checksum is another")
    count = math.prod(shape)
    if count * dtype.numpy_dtype.itemsize != data.size:
        raise DataLossError(f"its shape {tuple(shape)} is not that of its {data.size} bytes")
    return data.view(dtype.numpy_dtype).reshape(shape)
