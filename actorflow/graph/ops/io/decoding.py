"""From byte strings to tensors: raw bytes, CSV, compressed data, `.npy`, and tensors as messages."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import ANY, DTypeLike, as_dtype, string, uint8
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, show
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank, scalar, unchanged, unknown
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

RAW_TYPES = dt.FLOATING | dt.COMPLEX | {dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.bool}
CSV_TYPES = frozenset((dt.float32, dt.float64, dt.int32, dt.int64, dt.string))


def _raw_shape(c: Inference) -> Shape:
    if c.attrs["out_type"] not in RAW_TYPES:
        raise TypeError(f"decode_raw gives {', '.join(sorted(d.name for d in RAW_TYPES))}, not {c.attrs['out_type']}.")
    return None if c.shapes[0] is None else (*c.shapes[0], None)


@op("DecodeRaw", shape=_raw_shape, types={"bytes": string}, result="out_type", gradient=None, work=1)
def decode_raw_op(
    bytes: TensorLike, *, out_type: DTypeLike, little_endian: bool = True, name: str | None = None
) -> Tensor:
    """See `decode_raw`."""


@public("af", "af.io")
def decode_raw(
    input_bytes: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,
) -> Tensor:
    """The bytes of strings as numbers, in a dimension more (`tf.decode_raw`).

    Example:
        >>> af.decode_raw(["ab", "cd"], af.uint8)
        [[ 97  98]
         [ 99 100]]

    Args:
        input_bytes: strings, all of one length.
        out_type: any element type but string, uint32 and uint64.
        little_endian: the order of the bytes of a number.
        bytes: the older name of `input_bytes`.

    Raises:
        TypeError: there are no such numbers.
        InvalidArgumentError: in the run, where strings have different lengths, or no whole number of numbers.
    """
    data = bytes if input_bytes is None else input_bytes
    if data is None or out_type is None:
        raise ValueError("decode_raw needs `input_bytes` and `out_type`.")
    return decode_raw_op(data, out_type=as_dtype(out_type), little_endian=little_endian, name=name or "DecodeRaw")


def _csv_shapes(c: Inference) -> list[Shape]:
    for index in range(1, len(c.shapes)):
        shape = c.shapes[index]
        if shape is not None and (len(shape) > 1 or shape and shape[0] is not None and shape[0] > 1):
            raise ValueError(f"A default is a scalar or a vector of at most one element; its shape is {show(shape)}.")
    return [c.shapes[0]] * (len(c.shapes) - 1)


@op(
    "DecodeCSV",
    shape=_csv_shapes,
    types={"records": string},
    dtypes=CSV_TYPES,
    result=lambda c: tuple(d.base_dtype for d in c.dtypes[1:]),
    gradient=None,
    work=200,
)
def decode_csv_op(
    records: TensorLike,
    record_defaults: Sequence[Any],
    *,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] = (),
    name: str | None = None,
) -> Tensor:
    """See `decode_csv`."""


@public("af", "af.io")
def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Columns of CSV records, one tensor of the shape of `records` each (`tf.decode_csv`, RFC 4180).

    Example:
        >>> name, count = af.decode_csv(["apple,3", '"pear, green",'], record_defaults=[[""], [0]])
        >>> name, count
        ([b'apple' b'pear, green'], [3 0])

    Args:
        records: strings, each one record.
        record_defaults: for each column a scalar or a vector of one element, which stands for an empty field and whose
            type is the column's (float32, float64, int32, int64, string). An empty vector, or a type alone, says that a
            field must not be empty.
        field_delim: one character between fields.
        use_quote_delim: False takes double quotes as ordinary characters.
        na_value: a field with this text is empty too.
        select_cols: the columns that `record_defaults` is for, increasing; by default all.

    Raises:
        ValueError: arguments that don't fit each other.
        InvalidArgumentError: in the run; the message has the record's number, and the field's.
    """
    if select_cols is not None:
        if any(b <= a for a, b in itertools.pairwise(select_cols)):
            raise ValueError(f"select_cols has to increase, but it is {list(select_cols)}.")
        if select_cols and select_cols[0] < 0:
            raise ValueError(f"select_cols has numbers of columns from 0, but it is {list(select_cols)}.")
        if len(select_cols) != len(record_defaults):
            raise ValueError(f"select_cols has {len(select_cols)} columns, record_defaults {len(record_defaults)}.")
    if len(field_delim.encode()) != 1:
        raise ValueError(f"field_delim is one character of one byte, but it is {field_delim!r}.")
    if not record_defaults:
        raise ValueError("decode_csv needs at least one default.")
    with composite(name, "DecodeCSV", records, list(record_defaults)) as scope:
        graph = graph_of([records, *record_defaults])
        defaults = [_default(default, graph) for default in record_defaults]
        result: Any = decode_csv_op(
            records,
            defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=tuple(select_cols or ()),
            name=scope,
        )
    return [result] if isinstance(result, Tensor) else list(result)


def _default(value: Any, graph: Any) -> Tensor:
    if isinstance(value, (dt.DType, type)):
        return (
            convert_to_tensor([], as_dtype(value), graph=graph) if as_dtype(value) is not string else _no_string(graph)
        )
    return convert_to_tensor(value, graph=graph)


def _no_string(graph: Any) -> Tensor:
    import numpy as np

    return convert_to_tensor(np.empty(0, object), string, graph=graph)


@op("DecodeCompressed", shape=unchanged, types={"bytes": string}, result=string, gradient=None, work=2000)
def decode_compressed_op(bytes: TensorLike, *, compression_type: str = "", name: str | None = None) -> Tensor:
    """See `decode_compressed`."""


@public("af", "af.io")
def decode_compressed(bytes: TensorLike, compression_type: str = "", name: str | None = None) -> Tensor:
    """Each string unpacked (`tf.io.decode_compressed`): `compression_type` is "", "ZLIB" or "GZIP".

    Example:
        >>> import zlib
        >>> af.decode_compressed(zlib.compress(b"hello"), "ZLIB")
        b'hello'

    Raises:
        ValueError: there is no such type.
        DataLossError: in the run, where a string is damaged or cut off.
    """
    if compression_type not in ("", "ZLIB", "GZIP"):
        raise ValueError(f"compression_type is '', 'ZLIB' or 'GZIP', not {compression_type!r}.")
    return decode_compressed_op(bytes, compression_type=compression_type, name=name or "DecodeCompressed")


@public("af", "af.io")
@op("DecodeJSONExample", shape=unchanged, types={"json_examples": string}, result=string, gradient=None, work=2000)
def decode_json_example(json_examples: TensorLike, *, name: str | None = None) -> Tensor:
    """Each JSON form of an Example as the message (`tf.decode_json_example`), for `parse_example`.

    Some forms beyond the specification give the values that TensorFlow gives: a single value for a list, `null`, arrays in
    arrays, and numbers in quotes such as "0x10". Text that is no JSON, with single quotes or a comma before a bracket, is
    refused.

    Raises InvalidArgumentError in the run where a string is no such JSON; it says where and why.

    Example:
        >>> message = af.decode_json_example('{"features": {"feature": {"age": {"int64List": {"value": [7]}}}}}')
        >>> af.parse_single_example(message, {"age": af.FixedLenFeature([], af.int64)})
        {'age': 7}
    """


@public("af", "af.io")
@op("SerializeTensor", shape=scalar, dtypes=ANY, result=string, gradient=None)
def serialize_tensor(tensor: TensorLike, *, name: str | None = None) -> Tensor:
    """A tensor as a TensorProto message, a scalar string (`tf.serialize_tensor`).

    Example:
        >>> message = af.serialize_tensor([1.0, 2.0])
        >>> message.dtype, af.parse_tensor(message, af.float32)
        (actorflow.string, [1. 2.])
    """


def _message(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    return unknown(c)


@op("ParseTensor", shape=_message, types={"serialized": string}, result="out_type", gradient=None)
def parse_tensor_op(serialized: TensorLike, *, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """See `parse_tensor`."""


@public("af", "af.io")
def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor in a TensorProto message (`tf.parse_tensor`).

    Raises InvalidArgumentError in the run where the string is no such message, or of another type than `out_type`.

    Example:
        >>> af.parse_tensor(af.serialize_tensor([1.0, 2.0]), af.float32)
        [1. 2.]
    """
    return parse_tensor_op(serialized, out_type=as_dtype(out_type), name=name or "ParseTensor")


@op("DecodeNpy", shape=_message, types={"contents": string}, result="out_type", gradient=None)
def decode_npy_op(contents: TensorLike, *, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """See `decode_npy`."""


@public("af.io")
def decode_npy(contents: TensorLike, out_type: DTypeLike = uint8, name: str | None = None) -> Tensor:
    """The array in a numpy `.npy` file's content, a scalar string; nothing of it is executed.

    Raises InvalidArgumentError in the run where the string is no such file, holds Python objects, or elements of another
    type than `out_type`.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> np.save(file, np.array([[1, 2]], np.uint8))
        >>> af.io.decode_npy(file.getvalue())
        [[1 2]]
    """
    return decode_npy_op(contents, out_type=as_dtype(out_type), name=name or "DecodeNpy")
