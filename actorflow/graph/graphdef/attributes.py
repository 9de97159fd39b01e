"""Attributes of nodes as `AttrValue` messages, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.base.records.proto_tensor import read_tensor, write_tensor
from actorflow.base.shapes import Shape
from actorflow.graph.graphdef.protos import BY_CODE, AttrValue, TensorProto, TensorShapeProto
from actorflow.public import public

_LISTS = {
    "Sequence[int]": "i", "tuple[int, ...]": "i", "Sequence[float]": "f", "Sequence[str]": "s", "Keys": "s",
    "Sequence[DType]": "type", "Types": "type", "Shapes": "shape",
}  # fmt: skip


def to_attr(value: Any, kind: str = "Any") -> AttrValue:
    """The message of a value.

    Args:
        value: what a node keeps as its attribute.
        kind: how the op's declaration spells the attribute's type, which decides where the value does not: an empty list, a
            shape, None.

    Raises:
        TypeError: no message has such a value.
    """
    proto = AttrValue()
    if kind == "ShapeLike":
        proto.shape.CopyFrom(shape_proto(value))
    elif kind in _LISTS or isinstance(value, (tuple, list)):
        proto.list.SetInParent()
        for entry in value or ():
            _append(proto.list, _LISTS.get(kind) or _kind_of(entry), entry)
    elif kind == "float" and value is not None:
        proto.f = value
    elif isinstance(value, np.ndarray):
        proto.tensor.CopyFrom(make_tensor_proto(value))
    else:
        field = _kind_of(value)
        setattr(proto, field, value.code if field == "type" else value)
    return proto


def _kind_of(value: Any) -> str:
    if isinstance(value, DType):
        return "type"
    if isinstance(value, (str, bytes)):
        return "s"
    if isinstance(value, (bool, np.bool_)):
        return "b"
    if isinstance(value, (int, np.integer)):
        return "i"
    if isinstance(value, (float, np.floating)):
        return "f"
    if isinstance(value, tuple) or value is None:
        return "shape"
    raise TypeError(f"an attribute holds a {type(value).__name__}, which no GraphDef has")


def _append(proto: Any, field: str, value: Any) -> None:
    if field == "shape":
        proto.shape.append(shape_proto(value))
    else:
        getattr(proto, field).append(value.code if field == "type" else value)


def from_attr(message: AttrValue) -> Any:
    """The value of a message: a plain value, an array, a DType, a shape (a tuple or None), or a tuple of them.

    Raises:
        ValueError: it has none, or a value of a kind that nodes don't keep.
    """
    field = message.WhichOneof("value")
    if field == "list":
        for part in ("s", "i", "f", "b", "type", "shape", "tensor"):
            if values := getattr(message.list, part):
                return tuple([_plain(part, value) for value in values])
        if message.list.func:
            raise ValueError("it is a list of functions")
        return ()
    if field is None:
        raise ValueError("it has no value")
    if field in ("func", "placeholder"):
        raise ValueError("it is a function" if field == "func" else "it belongs to the body of a function")
    return _plain(field, getattr(message, field))


def _plain(field: str, value: Any) -> Any:
    if field == "s":
        return value.decode("utf-8", "surrogateescape")
    if field == "type":
        return dtype_of(value)
    if field == "shape":
        return shape_of(value)
    if field == "tensor":
        return make_ndarray(value)
    return value


def dtype_of(code: int) -> DType:
    """The element type of a number of `DataType`. Raises ValueError for a type that actorflow does not have."""
    dtype = BY_CODE.get(code % 100)
    if dtype is None:
        raise ValueError(f"actorflow has no element type of the number {code}")
    return dtype.ref if code > 100 else dtype


def shape_proto(shape: Shape) -> TensorShapeProto:
    """A shape as a message."""
    proto = TensorShapeProto()
    if shape is None:
        proto.unknown_rank = True
    for size in shape or ():
        proto.dim.add(size=-1 if size is None else size)
    proto.SetInParent()
    return proto


def shape_of(message: TensorShapeProto) -> Shape:
    """The shape that a message means, with None for each size that is not known."""
    return None if message.unknown_rank else tuple([None if d.size < 0 else d.size for d in message.dim])


@public("af")
def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> TensorProto:
    """An array, or a value that numpy makes an array, as a `TensorProto`.

    Example:
        >>> proto = af.make_tensor_proto([1, 2, 3], dtype=af.int64)
        >>> proto.dtype == af.int64.as_datatype_enum, af.make_ndarray(proto)
        (True, [1 2 3])

    Args:
        values: the array; a single value fills `shape`.
        dtype: its element type, if it is not the array's own.
        shape: its sizes, if they are not the array's own.
        verify_shape: refuses to fill or reshape.
        allow_broadcast: allows an array to be widened to `shape` as numpy does.

    Raises:
        TypeError: the values are no array, or not of that shape with `verify_shape`.
        ValueError: they don't fit `shape`.
    """
    from actorflow.graph.convert import as_array

    array = as_array(values, None if dtype is None else dtypes.as_dtype(dtype))
    if shape is not None and tuple(shape) != array.shape:
        if verify_shape:
            raise TypeError(f"The values have shape {array.shape}, but {tuple(shape)} is wanted.")
        wide = array.size == 1 or allow_broadcast
        array = (
            np.broadcast_to(array.reshape(()) if array.size == 1 else array, tuple(shape))
            if wide
            else array.reshape(shape)
        )
    return TensorProto.FromString(write_tensor(array, dtypes.as_dtype(array.dtype)))


@public("af")
def make_ndarray(tensor: Any) -> Any:
    """The array of a `TensorProto` (of actorflow's, or any message that serialises as a `TensorProto`).

    Example:
        >>> af.make_ndarray(af.make_tensor_proto([[1.0, 2.0]]))
        [[1. 2.]]

    Raises:
        InvalidArgumentError: its values don't fit its shape or type.
    """
    if isinstance(tensor, TensorProto):
        return read_tensor(*tensor.apart("tensor_content"))[1]
    return read_tensor(tensor.SerializeToString())[1]
