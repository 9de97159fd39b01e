"""Tokens as bytes, and back: arrays as they lie in memory, strings by their lengths, and nothing is pickled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.engine.device.sharing import SharedTensor
from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.transport.errors import FrameTooLarge, ProtocolError
from actorflow.errors import UnimplementedError

from .frames import FrameRecord, RecordFlag, pack, unpack_fields

_MOST_DIMENSIONS = 64
_MOST_BYTES = (1 << 63) - 1
"""The most bytes that numpy counts, even in a shape with a size of 0, which it leaves out."""
_NAMES = {dtype.name: dtype for dtype in (*dtypes.ALL, *dtypes.NARROW)}
_SIZES = np.dtype("<u8")
_QUIET = np.uint16(0x0040)
_NO_BYTES = memoryview(b"")
_SHORT = 256
"""Longer metadata is not remembered, so that no peer can fill the memory with it."""


@dataclass(frozen=True, slots=True)
class EncodedTensor:
    """A token ready for the wire: flags and metadata of its record, and its bytes. `copied` where these are a copy."""

    flags: int
    meta: bytes
    body: memoryview
    copied: bool
    keep: Any
    """The array that the bytes belong to. It is held while they are used, so that a variable isn't written under them."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """The form of an arriving tensor: its type and shape, and how many bytes it has on the wire."""

    dtype: dtypes.DType
    shape: tuple[int, ...]
    lossy: bool
    total: int

    @property
    def in_place(self) -> bool:
        """Whether the bytes on the wire are those of the array."""
        return not self.lossy and self.dtype is not dtypes.string


def encode_token(token: Any, lossy: bool) -> EncodedTensor:
    """The wire form of DEAD, None, or an array. Raises UnimplementedError for what can't leave its process."""
    if token is DEAD:
        return EncodedTensor(RecordFlag.DEAD | RecordFlag.LAST, b"", memoryview(b""), False, None)
    if token is None:
        return EncodedTensor(RecordFlag.NOTHING | RecordFlag.LAST, b"", memoryview(b""), False, None)
    if isinstance(token, bytes):
        token = np.array(token, object)
    elif not isinstance(token, np.ndarray | np.generic):
        raise UnimplementedError(
            f"A {type(token).__name__} cannot be sent to another process; only tensors can.",
            hint="Place what makes handles and lists on the same task as what uses them.",
        )
    array = np.asarray(token)
    name, meta = _named(array.dtype, array.shape)
    if name == "string":
        return EncodedTensor(0, meta, _encode_strings(array), True, None)
    if lossy and array.dtype == np.float32:
        return EncodedTensor(RecordFlag.LOSSY, meta, _bytes_of(_upper_halves(array)), True, None)
    plain = np.ascontiguousarray(array) if array.ndim else array
    if plain.dtype.byteorder == ">":
        plain = plain.astype(plain.dtype.newbyteorder("<"))
    return EncodedTensor(0, meta, _bytes_of(plain), plain is not array and not np.shares_memory(plain, array), plain)


def encode_in_place(token: SharedTensor | np.ndarray[Any, Any]) -> EncodedTensor:
    """The wire form of a tensor that stays in place: it has no bytes."""
    _, meta = _named(token.dtype, token.shape)
    return EncodedTensor(0, meta, _NO_BYTES, False, None)


@lru_cache(4096)
def _named(dtype: Any, shape: tuple[int, ...]) -> tuple[str, bytes]:
    """The type's name, and the metadata. An edge carries the same in each step."""
    name = dtypes.as_dtype(dtype).name
    return name, pack([name, list(shape)])


def described(array: np.ndarray[Any, Any]) -> tuple[str, tuple[int, ...]]:
    """The type and the shape of an array, as metadata has them."""
    return _named(array.dtype, array.shape)[0], array.shape


def rounded(token: Any) -> Any:
    """The token that a lossy edge makes of `token`, for transports that needn't send its bytes: float32 with 16 bits
    cut off."""
    array = np.asarray(token)
    if array.dtype != np.float32:
        return token
    result = (_upper_halves(array).astype(np.uint32) << 16).view(np.float32).reshape(array.shape)
    result.flags.writeable = False
    return result if array.ndim else result[()]


def read_form(record: FrameRecord, limit: int) -> TensorForm:
    """The form of a tensor that its first record announces, checked before anything is allocated. Raises
    ProtocolError."""
    read = _announced if len(record.meta) <= _SHORT else _announced.__wrapped__
    return _formed(*read(record.kind, record.meta), record.flags, record.total, limit)


def handle_form(record: FrameRecord, name: str, sizes: list[Any], limit: int) -> TensorForm:
    """The same of a handle, whose type and shape stand among other things. Raises ProtocolError."""
    return _formed(*_checked(name, sizes), record.flags, record.total, limit)


def plain_form(name: str, sizes: list[Any], limit: int) -> TensorForm:
    """The form of a tensor that is nothing but its elements. Raises ProtocolError."""
    dtype, shape, count = _checked(name, sizes)
    return _formed(dtype, shape, count, 0, count * dtype.size, limit)


def _formed(dtype: dtypes.DType, shape: tuple[int, ...], count: int, flags: int, total: int, limit: int) -> TensorForm:
    lossy = bool(flags & RecordFlag.LOSSY)
    if lossy and dtype is not dtypes.float32:
        raise ProtocolError(f"A tensor of {dtype.name} is marked as lossy; only float32 can be.")
    smallest = 8 * count if dtype is dtypes.string else count * (2 if lossy else dtype.size)
    if max(total, smallest) > limit:
        raise FrameTooLarge(f"A tensor of {max(total, smallest):,} bytes has arrived; {limit:,} are the most.")
    if total < smallest or (total != smallest and dtype is not dtypes.string):
        raise ProtocolError(
            f"A tensor of {dtype.name}{list(shape)} is announced with {total:,} bytes instead of {smallest:,}."
        )
    return TensorForm(dtype, shape, lossy, total)


@lru_cache(4096)
def _announced(kind: int, meta: bytes) -> tuple[dtypes.DType, tuple[int, ...], int]:
    """Type, shape and number of elements of a tensor, from its metadata. Raises ProtocolError."""
    name, sizes = unpack_fields(FrameRecord(kind, meta=meta), str, list)
    return _checked(name, sizes)


def _checked(name: str, sizes: list[Any]) -> tuple[dtypes.DType, tuple[int, ...], int]:
    dtype = _NAMES.get(name)
    if dtype is None:
        raise ProtocolError(f"A tensor of type {name[:40]!r} has arrived; there is no such type.")
    if len(sizes) > _MOST_DIMENSIONS or not all(type(size) is int and 0 <= size < 1 << 62 for size in sizes):
        raise ProtocolError(f"A tensor has arrived with a shape that none can have: {str(sizes)[:80]}.")
    count = math.prod(sizes)
    if not count and math.prod(filter(None, sizes)) * (dtype.size or _SIZES.itemsize) > _MOST_BYTES:
        raise ProtocolError(f"A tensor has arrived with a shape that none can have: {str(sizes)[:80]}.")
    return dtype, tuple(sizes), count


class ReceiveBuffer:
    """The buffer for the bytes of a tensor that arrives; `finished` makes it the token."""

    __slots__ = ("_array", "_form", "view")

    def __init__(self, form: TensorForm, allocate: Callable[[tuple[int, ...], Any], Any]) -> None:
        self._form = form
        raw = form.lossy or form.dtype is dtypes.string
        self._array = np.empty(form.total, np.uint8) if raw else allocate(form.shape, np.dtype(form.dtype.numpy_dtype))
        self.view = _bytes_of(self._array)

    def finished(self, allocate: Callable[[tuple[int, ...], Any], Any]) -> Any:
        """The token, read-only: an array, or a numpy scalar for a number without dimensions."""
        form, array = self._form, self._array
        self.view = memoryview(b"")
        if form.dtype is dtypes.string:
            array = _decode_strings(array, form.shape)
        elif form.lossy:
            wide = allocate(form.shape, np.dtype(np.float32))
            np.left_shift(array.view(np.uint16).reshape(form.shape), 16, out=wide.view(np.uint32), dtype=np.uint32)
            array = wide
        array.flags.writeable = False
        return array if array.ndim or form.dtype is dtypes.string else array[()]


def view_of(form: TensorForm, memory: memoryview) -> Any:
    """The array that lies in `memory`. Its base is the memory itself, so a reference to it tells when it is used no more."""
    return np.ndarray(form.shape, form.dtype.numpy_dtype, memory)


def _bytes_of(array: Any) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # not every element type has a buffer format


def _upper_halves(array: Any) -> Any:
    bits = np.ascontiguousarray(array, np.float32).reshape(-1).view(np.uint32)
    halves = (bits >> 16).astype(np.uint16)
    halves[np.isnan(array).reshape(-1)] |= _QUIET  # a NaN whose payload is cut off would become infinite
    return halves


def _encode_strings(array: Any) -> memoryview:
    strings = [text if type(text) is bytes else _as_bytes(text) for text in array.ravel().tolist()]
    sizes = np.fromiter(map(len, strings), _SIZES, len(strings))
    return memoryview(sizes.tobytes() + b"".join(strings))


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return bytes(value)
    raise UnimplementedError(
        f"A tensor of strings holds a {type(value).__name__}, which cannot be sent to another process."
    )


def _decode_strings(data: Any, shape: tuple[int, ...]) -> Any:
    array = np.empty(shape, object)
    count = array.size
    sizes = data[: 8 * count].view(_SIZES).tolist()
    if 8 * count + sum(sizes) != data.size:
        raise ProtocolError(
            f"{count} strings are {8 * count + sum(sizes):,} bytes by their lengths, but {data.size:,} came."
        )
    content, position = data[8 * count :].tobytes(), 0
    flat = array.reshape(-1)
    for index, size in enumerate(sizes):
        flat[index] = content[position : position + size]
        position += size
    return array
