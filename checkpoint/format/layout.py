"""The layout of a shard: that of the `safetensors` format, as pure functions between tensors and bytes.

A shard is eight bytes with the header's length, the header (JSON: for each tensor its type, shape and place), and the bytes of
all tensors without gaps. Types that the format lacks (strings, complex128) are written as bytes; their true type is in the
manifest. Strings are their lengths, as 64-bit numbers, and then their contents.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import DType, as_dtype
from actorflow.engine.formats.regions import TensorRegion
from actorflow.errors import DataLossError

CHUNK = 1 << 23
"""Bytes that are summed and written at once. If they are few they stay in the processor's caches between the two. If they are
many, the thread that does so asks less often for the interpreter, which it takes from the steps that run."""
MAX_HEADER = 100_000_000  # the library's own limit

Array: TypeAlias = "np.ndarray[Any, Any]"
Buffer: TypeAlias = "bytes | bytearray | memoryview"

_NAMES = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "complex64": "C64",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShardTensor:
    """A tensor on its way into a shard: its bytes, and what they mean. `region` says which part of a variable the tensor is, or
    is None for all of it."""

    name: str
    kind: str
    dtype: DType
    shape: tuple[int, ...]
    content: memoryview
    region: TensorRegion | None = None

    @property
    def size(self) -> int:
        return self.content.nbytes


def piece(name: str, kind: str, value: Any, region: TensorRegion | None = None) -> ShardTensor:
    """A tensor as a piece. Its memory is not copied (strings are), and has to stay as it is until it is written."""
    array = np.asarray(value)
    dtype = as_dtype(array.dtype)
    if dtype.kind == "S":
        return ShardTensor(name, kind, dtype, array.shape, _packed(array), region)
    if array.dtype.byteorder == ">" or not np.little_endian and array.dtype.itemsize > 1:
        array = array.astype(array.dtype.newbyteorder("<"))
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return ShardTensor(name, kind, dtype, array.shape, flat.data if flat.size else memoryview(b""), region)


def _packed(strings: Array) -> memoryview:
    items = [s.encode() if isinstance(s, str) else bytes(s) for s in strings.astype(object).reshape(-1).tolist()]
    lengths = np.array([len(s) for s in items], "<u8")
    return memoryview(b"".join((lengths.tobytes(), *items)))


def unpacked_strings(data: Buffer, shape: tuple[int, ...]) -> Array:
    """The strings of a piece. Raises ValueError where the bytes are no such piece."""
    count = int(np.prod(shape, dtype=np.int64))
    if count * 8 > len(data):
        raise ValueError(f"{count} strings need more than {len(data)} bytes")
    lengths = np.frombuffer(data, "<u8", count)
    content = bytes(memoryview(data)[count * 8 :])
    ends = np.cumsum(lengths, dtype=object) if count else np.zeros(0, object)
    if (int(ends[-1]) if count else 0) != len(content):
        raise ValueError("the lengths of its strings are not those of its bytes")
    result = np.empty(count, object)
    start = 0
    for index, end in enumerate(ends.tolist()):
        result[index] = content[start:end]
        start = end
    return result.reshape(shape)


def order(pieces: Sequence[ShardTensor]) -> list[ShardTensor]:
    """The pieces as they stand in a shard: the widest elements first, so that all are aligned."""
    return sorted(pieces, key=lambda p: (-_alignment(p.dtype), p.name))


def _alignment(dtype: DType) -> int:
    return dtype.size if dtype.name in _NAMES else 8


def header(pieces: Sequence[ShardTensor], metadata: Mapping[str, str]) -> bytes:
    """The length and the header of a shard that holds `pieces` in this order."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    start = 0
    for p in pieces:
        code = _NAMES.get(p.dtype.name)
        entries[p.name] = {
            "dtype": code or "U8",
            "shape": list(p.shape) if code else [p.size],
            "data_offsets": [start, start + p.size],
        }
        start += p.size
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def chunks(content: memoryview) -> Iterator[memoryview]:
    """The bytes in parts of `CHUNK` and a last part, uncopied."""
    for start in range(0, content.nbytes, CHUNK):
        yield content[start : start + CHUNK]


def header_size(first: Buffer, size: int) -> int:
    """How many bytes come before the tensors of a shard of `size` bytes that begins with the eight bytes `first`.

    Raises:
        DataLossError: it can't be a shard.
    """
    if len(first) < 8:
        raise DataLossError("it is cut off")
    (length,) = struct.unpack("<Q", bytes(first[:8]))
    if length > min(MAX_HEADER, size - 8):
        raise DataLossError("it is cut off, or no safetensors file")
    return int(length) + 8
