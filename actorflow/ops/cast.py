"""Changes of element type."""

from __future__ import annotations

from typing import Any

from actorflow import dtypes as dt
from actorflow.dtypes import ANY, STRING, DType, DTypeLike, as_dtype
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.shape_rules import unchanged
from actorflow.public import public
from actorflow.registry.op import op
from actorflow.registry.opdef import Inference


def _cast_type(c: Inference) -> DType:
    target = as_dtype(c.attrs["DstT"])
    if target is dt.string:
        raise TypeError("Numbers can't be cast to strings; use af.as_string.")
    return target


@op("Cast", shape=unchanged, dtypes=ANY - STRING, result=_cast_type)
def cast_op(x: TensorLike, *, DstT: DTypeLike, name: str | None = None) -> Tensor:
    """x with the element type `DstT`, by C's rules: floats lose their fraction on the way to integers, integers wrap
    around, nonzero is true, and a complex number loses its imaginary part."""


@cast_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    source = node.inputs[0].dtype
    differentiable = source.is_floating or source.is_complex
    return [cast(dy, source) if differentiable else None]


@public("af", "tf.dtypes")
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """`x` with the element type `dtype` (`tf.cast`); x itself where it has it already.

    Floats lose their fraction on the way to integers, integers wrap around, what is not zero is true, and complex
    numbers lose their imaginary part.

    Raises:
        TypeError: one of the two types is `string`.
    """
    target = as_dtype(dtype).base_dtype
    tensor = convert_to_tensor(x)
    return tensor if tensor.dtype is target else cast_op(tensor, DstT=target, name=name)


@public("af", "tf.dtypes")
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """`cast` of `value` clipped to what `dtype` can hold (`tf.saturate_cast`)."""
    from actorflow.ops.arithmetic import maximum, minimum

    tensor, target = convert_to_tensor(value), as_dtype(dtype)
    with tensor.graph.name_scope(name or "saturate_cast"):
        if tensor.dtype.min < target.min:
            tensor = maximum(tensor, target.min)
        if tensor.dtype.max > target.max:
            tensor = minimum(tensor, target.max)
        return cast(tensor, target)


@public("af")
def to_float(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to float32."""
    return cast(x, dt.float32, name or "ToFloat")


@public("af")
def to_double(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to float64."""
    return cast(x, dt.float64, name or "ToDouble")


@public("af")
def to_complex64(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to complex64."""
    return cast(x, dt.complex64, name or "ToComplex64")


@public("af")
def to_complex128(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to complex128."""
    return cast(x, dt.complex128, name or "ToComplex128")


@public("af")
def to_int32(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to int32."""
    return cast(x, dt.int32, name or "ToInt32")


@public("af")
def to_int64(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to int64."""
    return cast(x, dt.int64, name or "ToInt64")


@public("af")
def to_bfloat16(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to bfloat16."""
    return cast(x, dt.bfloat16, name or "ToBFloat16")
