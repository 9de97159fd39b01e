"""Element types and types of values: ONNX's numbers and messages, and actorflow's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DType
from actorflow.base.shapes import Shape
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.exchange.onnx.protos import TypeProto

_CODES = {
    1: dt.float32, 2: dt.uint8, 3: dt.int8, 4: dt.uint16, 5: dt.int16, 6: dt.int32, 7: dt.int64, 8: dt.string, 9: dt.bool,
    10: dt.float16, 11: dt.float64, 12: dt.uint32, 13: dt.uint64, 14: dt.complex64, 15: dt.complex128, 16: dt.bfloat16,
    17: dt.float8_e4m3fn, 18: dt.float8_e4m3fnuz, 19: dt.float8_e5m2, 20: dt.float8_e5m2fnuz, 21: dt.uint4, 22: dt.int4,
    23: dt.float4_e2m1fn, 24: dt.float8_e8m0fnu, 25: dt.uint2, 26: dt.int2, 27: dt.float6_e2m3fn, 28: dt.float6_e3m2fn,
}  # fmt: skip
_OF_TYPE = {dtype: code for code, dtype in _CODES.items()}

BITS = {dt.uint4: 4, dt.int4: 4, dt.float4_e2m1fn: 4, dt.uint2: 2, dt.int2: 2}
"""Types of which a byte of an ONNX file holds several."""


def dtype_of(code: int, field: str = "data_type") -> DType:
    """The type of ONNX's number `code`. Raises InvalidArgumentError, which names the field, for an unknown number."""
    dtype = _CODES.get(code)
    if dtype is None:
        raise InvalidArgumentError(f"{field} is {code}, which is the number of no element type of ONNX.")
    return dtype


def code_of(dtype: DType) -> int:
    """ONNX's number of a type. Raises UnimplementedError for a type that ONNX does not have."""
    code = _OF_TYPE.get(dtype.base_dtype)
    if code is None:
        raise UnimplementedError(f"ONNX has no type for {dtype}.")
    return code


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a value.

    Args:
        kind: `tensor`, `sequence`, `optional` or `map`.
        dtype: the element type of the tensors in it; None where the file does not say.
        shape: their shape.
        inside: the kind of the content of an optional or a sequence: `tensor`, `sequence` or `map`.
        names: the names of the sizes that the file leaves open, by their positions.
        key: the type of the keys of a map.
    """

    kind: str = "tensor"
    dtype: DType | None = None
    shape: Shape = None
    inside: str = "tensor"
    names: tuple[str, ...] = ()
    key: DType | None = None


def value_type(proto: Any, name: str) -> ValueType:
    """The type that a `TypeProto` says. Raises UnimplementedError for sparse tensors and lists of lists."""
    kind = proto.WhichOneof("value")
    if kind in (None, "tensor_type"):
        tensor = proto.tensor_type
        dtype = dtype_of(tensor.elem_type, f"elem_type of {name!r}") if tensor.elem_type else None
        if not tensor.HasField("shape"):
            return ValueType("tensor", dtype)
        sizes: list[int | None] = []
        for dimension in tensor.shape.dim:
            is_static = dimension.WhichOneof("value") == "dim_value" and dimension.dim_value >= 0
            sizes.append(dimension.dim_value if is_static else None)
        return ValueType("tensor", dtype, tuple(sizes), names=tuple(d.dim_param for d in tensor.shape.dim))
    if kind == "map_type":
        inner = value_type(proto.map_type.value_type, name)
        return ValueType(
            "map", inner.dtype, inner.shape, key=dtype_of(proto.map_type.key_type, f"key_type of {name!r}")
        )
    if kind in ("sequence_type", "optional_type"):
        inner = value_type(getattr(proto, kind).elem_type, name)
        if (
            inner.kind == "tensor"
            or (kind == "sequence_type" and inner.kind == "map")
            or (kind == "optional_type" and inner.kind == "sequence")
        ):
            return ValueType(kind.removesuffix("_type"), inner.dtype, inner.shape, inner.kind)
    raise UnimplementedError(f"The value {name!r} is a {kind.removesuffix('_type')}, which actorflow does not read.")


def type_proto(dtype: DType, shape: Shape, names: tuple[str | None, ...] = ()) -> Any:
    """The `TypeProto` of a tensor; `names` are those of its unknown sizes."""
    proto = TypeProto()
    proto.tensor_type.elem_type = code_of(dtype)
    if shape is not None:
        proto.tensor_type.shape.SetInParent()
        for at, size in enumerate(shape):
            dimension = proto.tensor_type.shape.dim.add()
            if size is not None:
                dimension.dim_value = size
            elif at < len(names) and names[at]:
                dimension.dim_param = names[at]
    return proto
