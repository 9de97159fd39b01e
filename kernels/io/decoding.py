"""Kernels that decode byte strings. They compute on the host."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, as_dtype, in_words, string
from actorflow.base.records import csv
from actorflow.base.records.messages.example_json import example_from_json
from actorflow.base.records.proto_tensor import read_tensor, write_tensor
from actorflow.base.records.unpacking import Unpacker, check_unpacked, most_unpacked
from actorflow.base.records.wire import BrokenMessageError
from actorflow.base.registry.kernel import kernel
from actorflow.errors import DataLossError, InvalidArgumentError

from ..strings.objects import as_arrays, mapped

_HEX = re.compile(rb"\s*[+-]?0[xX]")


@kernel("DecodeRaw")
def decode_raw(xp: Any, data: Any, *, out_type: DType, little_endian: bool) -> Any:
    strings = as_arrays(data)
    parts = strings.reshape(-1).tolist()
    kind = out_type.numpy_dtype
    length = len(parts[0]) if parts else 0
    for index, part in enumerate(parts):
        if len(part) != length:
            raise InvalidArgumentError(
                f"DecodeRaw requires input strings to all be the same size, but element {index} has size {length} != {len(part)}"
            )
    if length % kind.itemsize:
        raise InvalidArgumentError(
            f"Input to DecodeRaw has length {length} that is not a multiple of {kind.itemsize}, the size of {out_type}"
        )
    raw = np.frombuffer(b"".join(parts), np.uint8)
    if out_type.is_bool and raw.size and raw.max() > 1:
        raise InvalidArgumentError("decode_raw to bool needs bytes that are 0 or 1.")
    if not little_endian and kind.itemsize > 1:
        width = kind.itemsize // 2 if out_type.is_complex else kind.itemsize
        raw = raw.reshape(-1, width)[:, ::-1]
    # A copy: numbers are aligned, and the string may go.
    numbers = np.array(np.ascontiguousarray(raw).reshape(-1).view(kind))
    return xp.asarray(numbers.reshape(*strings.shape, length // kind.itemsize))


@kernel("DecodeCSV")
def decode_csv(
    xp: Any,
    records: Any,
    record_defaults: Sequence[Any],
    *,
    field_delim: str,
    use_quote_delim: bool,
    na_value: str,
    select_cols: tuple[int, ...],
) -> Any:
    records, record_defaults = as_arrays(records), [as_arrays(d) for d in record_defaults]
    count, delimiter, missing = len(record_defaults), field_delim.encode(), na_value.encode()
    columns: list[list[Any]] = [[] for _ in range(count)]
    readers = [_reader(default) for default in record_defaults]
    for row, record in enumerate(records.reshape(-1).tolist()):
        try:
            fields = csv.split(record, delimiter, use_quote_delim)
        except ValueError as error:
            raise InvalidArgumentError(f"{error}, in record {row}: {record[:80]!r}.") from None
        if select_cols:
            fields = [fields[i] for i in select_cols if i < len(fields)]
        if len(fields) != count:
            raise InvalidArgumentError(
                f"Expect {count} fields but have {len(fields)} in record {row}: {record[:80]!r}."
            )
        for index, field in enumerate(fields):
            try:
                columns[index].append(readers[index](b"" if field == missing else field))
            except ValueError:
                raise InvalidArgumentError(_bad_field(index, row, field, record_defaults[index])) from None
    result = []
    for column, default in zip(columns, record_defaults):
        values = np.empty(len(column), default.dtype)
        values[:] = column
        result.append(
            xp.asarray(values.reshape(records.shape)) if not default.dtype.hasobject else values.reshape(records.shape)
        )
    return tuple(result) if count > 1 else result[0]


def _bad_field(index: int, row: int, field: bytes, default: Any) -> str:
    if not field and not default.size:
        return f"Field {index} is required but missing in record {row}!"
    return f"Field {index} in record {row} is not a valid {in_words(as_dtype(default.dtype))}: {field.decode(errors='replace')}"


def _reader(default: Any) -> Callable[[bytes], Any]:
    """From a field to its value; ValueError for a field without a value."""
    kind = default.dtype
    if kind.hasobject:
        convert: Callable[[bytes], Any] = bytes
    elif kind.kind == "i":
        limits = np.iinfo(kind)

        def convert(field: bytes) -> Any:
            value = int(field)
            if b"_" in field or not limits.min <= value <= limits.max:
                raise ValueError
            return value

    else:

        def convert(field: bytes) -> Any:
            if b"_" in field:
                raise ValueError
            return float.fromhex(field.decode()) if _HEX.match(field) else float(field)

    fallback = default.reshape(-1).tolist()

    def read(field: bytes) -> Any:
        if field:
            return convert(field)
        if not fallback:
            raise ValueError
        return fallback[0]

    return read


@kernel("DecodeCompressed")
def decode_compressed(xp: Any, data: Any, *, compression_type: str) -> Any:
    strings = as_arrays(data)
    if not compression_type:
        return strings.copy()
    return mapped(lambda packed: _unpack(packed, compression_type), strings)


def _unpack(packed: bytes, packing: str) -> bytes:
    unpacker, most = Unpacker(packing), most_unpacked()
    unpacker.feed(packed)
    unpacker.feed(b"")
    data = unpacker.take(most + 1)
    check_unpacked(len(data), f"The string of {len(packed)} bytes")
    if unpacker.damage is not None:
        raise DataLossError(f"The string of {len(packed)} bytes can't be unpacked: {unpacker.damage}.")
    return data


@kernel("DecodeJSONExample")
def decode_json_example(xp: Any, json_examples: Any) -> Any:
    return mapped(_example, as_arrays(json_examples))


def _example(text: bytes) -> bytes:
    try:
        return example_from_json(text)
    except ValueError as error:
        raise InvalidArgumentError(
            f"Error while parsing JSON: {text[:80]!r} is no form of an Example: {error}"
        ) from error


@kernel("SerializeTensor")
def serialize_tensor(xp: Any, tensor: Any) -> Any:
    array = as_arrays(tensor)
    array = array if array.dtype == object else np.asarray(array.get() if hasattr(array, "get") else array)
    return as_arrays(write_tensor(array, as_dtype(array.dtype)))


@kernel("ParseTensor")
def parse_tensor(xp: Any, serialized: Any, *, out_type: DType) -> Any:
    strings = as_arrays(serialized)
    if strings.ndim:
        raise InvalidArgumentError(f"Expected `serialized` to be a scalar, got shape: {strings.shape}")
    data = strings.item()
    try:
        dtype, array = read_tensor(data)
    except BrokenMessageError as error:
        shown = data[:40].decode(errors="replace")
        raise InvalidArgumentError(f"Could not parse `serialized` as TensorProto: '{shown}'. {error.message}") from None
    if dtype is not out_type:
        raise InvalidArgumentError(f"Type mismatch between parsed tensor ({dtype}) and dtype ({out_type})")
    return array if dtype is string else xp.asarray(array)


_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@kernel("DecodeNpy")
def decode_npy(xp: Any, contents: Any, *, out_type: DType) -> Any:
    data = as_arrays(contents).item()
    try:
        array = _array_of(data)
    except (ValueError, EOFError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError) as error:
        raise InvalidArgumentError(
            f"The string of {len(data)} bytes is no .npy file that can be read: {error or type(error).__name__}."
        ) from None
    try:
        dtype = as_dtype(array.dtype)
    except TypeError:
        raise InvalidArgumentError(f"The .npy file holds {array.dtype}, which is no element type of tensors.") from None
    if dtype is not out_type or array.dtype.kind in "SU":
        raise InvalidArgumentError(f"The .npy file holds {array.dtype}, but {out_type} is asked for.")
    return xp.asarray(np.ascontiguousarray(array, array.dtype.newbyteorder("=")))


def _array_of(data: bytes) -> Any:
    """The array of a .npy file. Its bytes are counted before memory is taken for its shape. Raises ValueError and others."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"its version is {version}, in which numpy writes records with fields alone")
    shape, _, dtype = _HEADERS[version](file)
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or size > len(data) - file.tell():
        raise ValueError(f"its shape {shape} of {dtype} is not that of its {len(data) - file.tell()} bytes")
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
