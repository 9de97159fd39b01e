"""Tensors of ONNX files as arrays, and back. External data lie below the model's folder, and nowhere else."""

from __future__ import annotations

import math
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from actorflow.base.dtypes import complex64, complex128, float32, float64, int64, string, uint32, uint64
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.protos import TensorProto
from actorflow.exchange.onnx.types import BITS, code_of, dtype_of


@dataclass(frozen=True, slots=True)
class DataFolders:
    """The places of a model's external data.

    In a cache of links the model's file and those of its data are links into a folder of files, which is trusted as well.

    Args:
        bases: the folders in which locations are looked up, in this order.
        roots: the folders, without links, below which the files have to lie that locations lead to.
    """

    bases: tuple[Path, ...]
    roots: tuple[Path, ...]

    @classmethod
    def of(cls, folder: str | os.PathLike[str] | None, model: Path | None = None) -> DataFolders:
        """The folders for a model's file, and for the folder that the caller named."""
        named = [] if folder is None else [Path(folder)]
        beside = [] if model is None else [model.parent, model.resolve().parent]
        bases = list(dict.fromkeys((*named, *beside)))
        return cls(tuple(bases), tuple(dict.fromkeys(base.resolve() for base in bases)))

    def find(self, location: str) -> Path | None:
        """The file of a location, None if it does not exist. Raises PermissionError if it lies outside."""
        plain = os.path.normpath(location)
        if not location or "\0" in location or os.path.isabs(location) or plain.startswith(".."):
            raise PermissionError(location)
        outside = False
        for base in self.bases:
            try:
                path = (base / location).resolve()
                is_file = path.is_file()
            except OSError:  # such as a name that is too long
                continue
            if is_file:
                if any(path.is_relative_to(root) for root in self.roots):
                    return path
                outside = True
        if outside:
            raise PermissionError(location)
        return None


def array_of(tensor: Any, folder: DataFolders | None = None) -> Any:
    """The array that a `TensorProto` is.

    Args:
        tensor: the message.
        folder: where external data may lie; None if they may lie nowhere.

    Raises:
        InvalidArgumentError: sizes are negative, the data do not fit them, or external data are missing or lie elsewhere.
    """
    name = tensor.name or "(without a name)"
    dtype = dtype_of(tensor.data_type, f"data_type of the tensor {name!r}")
    shape = tuple(tensor.dims)
    if any(size < 0 for size in shape):
        raise InvalidArgumentError(f"dims of the tensor {name!r} are {list(shape)}, of which one is negative.")
    count = math.prod(shape)
    if dtype is string:
        if len(tensor.string_data) != count:
            raise _misfit(name, "string_data", len(tensor.string_data), count, "strings")
        words = np.empty(count, object)
        words[:] = list(tensor.string_data)
        return words.reshape(shape)
    bits = BITS.get(dtype, 8 * dtype.numpy_dtype.itemsize)
    size = -(-count * bits // 8)
    if tensor.data_location == 1:
        raw: Any = _external(tensor, name, folder, size)
    elif tensor.HasField("raw_data") or not count:
        raw = tensor.raw_data
    else:
        return _of_numbers(tensor, name, dtype, count).reshape(shape)
    if len(raw) != size:
        raise _misfit(name, "raw_data", len(raw), size, "bytes")
    if dtype in BITS:
        return _unpacked(np.frombuffer(raw, np.uint8), dtype, count).reshape(shape)
    return np.frombuffer(raw, dtype.numpy_dtype.newbyteorder("<")).astype(dtype.numpy_dtype, copy=False).reshape(shape)


def _misfit(name: str, field: str, count: int, expected: int, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{field} of the tensor {name!r} has {count} {what}, but its dims need {expected}.")


def _of_numbers(tensor: Any, name: str, dtype: Any, count: int) -> Any:
    """From the fields of numbers: small types are in int32_data, halves and float8 by their bits."""
    kind = dtype.numpy_dtype
    if dtype in (float32, complex64):
        field, source = "float_data", np.array(tensor.float_data, np.float32)
    elif dtype in (float64, complex128):
        field, source = "double_data", np.array(tensor.double_data, np.float64)
    elif dtype is int64:
        field, source = "int64_data", np.array(tensor.int64_data, np.int64)
    elif dtype in (uint32, uint64):
        field, source = "uint64_data", np.array(tensor.uint64_data, np.uint64)
    else:
        field, source = "int32_data", np.array(tensor.int32_data, np.int64)
    needed = count * (2 if dtype.is_complex else 1)
    if dtype in BITS:
        needed = -(-count * BITS[dtype] // 8)
    if len(source) != needed:
        raise _misfit(name, field, len(source), needed, "numbers")
    if dtype in BITS:
        return _unpacked(source.astype(np.uint8), dtype, count)
    if dtype.is_complex:
        return source.view(kind)
    if dtype.is_floating and field == "int32_data":
        return source.astype({1: np.uint8, 2: np.uint16}[kind.itemsize]).view(kind)
    return source.astype(kind)


def _unpacked(raw: Any, dtype: Any, count: int) -> Any:
    """Elements of four or two bits, the first element in the lowest bits of a byte."""
    bits = BITS[dtype]
    parts = np.stack([raw >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], -1).reshape(-1)[:count]
    if dtype.kind == "f":
        return parts.view(dtype.numpy_dtype)
    if dtype.kind == "i":
        parts = ((parts ^ 1 << bits - 1).astype(np.int8) - (1 << bits - 1)).astype(np.int8)
    return parts.astype(dtype.numpy_dtype)


def _packed(values: Any, dtype: Any) -> bytes:
    bits = BITS[dtype]
    raw = values.reshape(-1)
    raw = raw.view(np.uint8) if dtype.kind == "f" else raw.astype(np.int8).view(np.uint8)
    per = 8 // bits
    padded = np.zeros(-(-len(raw) // per) * per, np.uint8)
    padded[: len(raw)] = raw & (1 << bits) - 1
    shifted = padded.reshape(-1, per) << np.arange(0, 8, bits, dtype=np.uint8)
    return bytes(np.bitwise_or.reduce(shifted, 1))


def _external(tensor: Any, name: str, folder: DataFolders | None, size: int) -> Any:
    """The bytes of external data, mapped into memory."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise InvalidArgumentError(
            f"The data of the tensor {name!r} are in the file {location!r}, but the model came as bytes.",
            hint="Load the model from its file, or give folder=.",
        )
    try:
        path = folder.find(location)
    except PermissionError:
        raise InvalidArgumentError(
            f"external_data of the tensor {name!r} lie in {location!r}, which is outside of the model's folder.",
            hint="If it is a link to a place that you trust, give the folder around both by folder=.",
        ) from None
    if path is None:
        raise InvalidArgumentError(f"external_data of the tensor {name!r} are missing: there is no file {location!r}.")
    try:
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", size))
    except ValueError:
        raise InvalidArgumentError(f"offset or length of the external data of {name!r} is no number.") from None
    if offset < 0 or length != size or offset + length > path.stat().st_size:
        raise InvalidArgumentError(
            f"external_data of the tensor {name!r} are {length} bytes from {offset} on of {location!r}, which has "
            f"{path.stat().st_size}; the tensor needs {size}."
        )
    if not length:
        return b""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return memoryview(mapped)[offset : offset + length]


def tensor_proto(value: Any, name: str = "") -> Any:
    """The `TensorProto` of an array; strings are bytes or text."""
    from actorflow.base.dtypes import as_dtype

    array = np.asarray(value)
    dtype = as_dtype(array.dtype)
    proto = TensorProto(data_type=code_of(dtype), dims=array.shape)
    if name:
        proto.name = name
    if dtype is string:
        proto.string_data.extend(w.encode() if isinstance(w, str) else bytes(w) for w in array.reshape(-1).tolist())
    elif dtype in BITS:
        proto.raw_data = _packed(array, dtype)
    else:
        flat = np.ascontiguousarray(array)
        proto.raw_data = (flat.astype(flat.dtype.newbyteorder("<")) if flat.dtype.kind in "iufc" else flat).tobytes()
    return proto
