"""Changes of element type, and complex numbers and their parts."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import ANY, COMPLEX, STRING, DType, DTypeLike, as_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.arriving import divided
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import elementwise, unchanged
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _cast_type(c: Inference) -> DType:
    target = as_dtype(c.attrs["DstT"])
    if target is dt.string:
        raise TypeError(f"Cast {c.dtypes[0]} to string is not supported; use af.as_string.")
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
    """`x` with the element type `dtype` (`tf.cast`); `x` itself if it has that type already.

    A sparse tensor gives a sparse tensor.

    Floats lose their fraction on the way to integers, integers wrap around, what is not zero is true, and complex
    numbers lose their imaginary part.

    Example:
        >>> af.cast([1.7, -1.7], af.int32)
        [ 1 -1]
        >>> af.cast([0, 2], af.bool)
        [False  True]

    Raises:
        TypeError: one of the two types is `string`.
    """
    target = as_dtype(dtype).base_dtype
    if isinstance(x, SparseTensor):
        same = x.dtype is target
        return x if same else x.with_values(cast(x.values, target, name))  # type: ignore[return-value]
    tensor = convert_to_tensor(x)
    return tensor if tensor.dtype is target else cast_op(tensor, DstT=target, name=name)


@public("af", "tf.dtypes")
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """`cast` of `value` clipped to what `dtype` can hold (`tf.saturate_cast`).

    Example:
        >>> af.saturate_cast([-5, 100, 300], af.uint8)
        [  0 100 255]
        >>> af.cast([-5, 100, 300], af.uint8)
        [251 100  44]
    """
    from actorflow.graph.ops.math.arithmetic import maximum, minimum

    tensor, target = convert_to_tensor(value), as_dtype(dtype)
    with tensor.graph.name_scope(name or "saturate_cast"):
        if tensor.dtype.min < target.min:
            tensor = maximum(tensor, target.min)
        if tensor.dtype.max > target.max:
            tensor = minimum(tensor, target.max)
        return cast(tensor, target)


@public("af")
def to_float(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to float32.

    Example:
        >>> af.to_float([1, 2])
        [1. 2.]
    """
    return cast(x, dt.float32, name or "ToFloat")


@public("af")
def to_double(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to float64.

    Example:
        >>> af.to_double([1, 2]).dtype
        actorflow.float64
    """
    return cast(x, dt.float64, name or "ToDouble")


@public("af")
def to_complex64(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to complex64.

    Example:
        >>> af.to_complex64([1.0, 2.0])
        [1.+0.j 2.+0.j]
    """
    return cast(x, dt.complex64, name or "ToComplex64")


@public("af")
def to_complex128(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to complex128.

    Example:
        >>> af.to_complex128(1.5)
        (1.5+0j)
    """
    return cast(x, dt.complex128, name or "ToComplex128")


@public("af")
def to_int32(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to int32.

    Example:
        >>> af.to_int32([1.9, -1.9])
        [ 1 -1]
    """
    return cast(x, dt.int32, name or "ToInt32")


@public("af")
def to_int64(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to int64.

    Example:
        >>> af.to_int64([1, 2]).dtype
        actorflow.int64
    """
    return cast(x, dt.int64, name or "ToInt64")


@public("af")
def to_bfloat16(x: TensorLike, name: str | None = None) -> Tensor:
    """`cast` to bfloat16.

    Example:
        >>> af.cast(af.to_bfloat16([1.0, 3.14159]), af.float32)
        [1.     3.1406]
    """
    return cast(x, dt.bfloat16, name or "ToBFloat16")


# ---- Complex numbers and their parts.
#
# The gradient of a function of complex numbers follows TensorFlow: the direction in which a real loss grows, so that
# derivatives are conjugated.


def _complex_type(c: Inference) -> DType:
    return dt.complex64 if c.dtypes[0] is dt.float32 else dt.complex128


def _real_type(c: Inference) -> DType:
    return c.dtypes[0].real_dtype


_PARTS = frozenset((dt.float32, dt.float64))


@op("Complex", shape=elementwise, dtypes=_PARTS, result=_complex_type, broadcasts=True)
def complex_op(real: TensorLike, imag: TensorLike, *, name: str | None = None) -> Tensor:
    """real + imag·i, elementwise with broadcasting: complex64 of float32 parts, complex128 of float64 parts."""


@complex_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [real(dy), imag(dy)]


@op("Real", shape=unchanged, dtypes=COMPLEX, result=_real_type)
def real_op(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The real parts of complex numbers."""


@real_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [complex_op(dy, 0)]


@op("Imag", shape=unchanged, dtypes=COMPLEX, result=_real_type)
def imag_op(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The imaginary parts of complex numbers."""


@imag_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [complex_op(0, dy)]


@op("Conj", shape=unchanged, dtypes=COMPLEX)
def conj_op(input: TensorLike, *, name: str | None = None) -> Tensor:
    """Complex numbers with the sign of their imaginary parts changed."""


@conj_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [conj(dy)]


@op("ComplexAbs", shape=unchanged, dtypes=COMPLEX, result=_real_type, work=4)
def complex_abs(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The magnitudes of complex numbers."""


@complex_abs.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.arithmetic import div_no_nan

    x, y = node.inputs[0], node.outputs[0]
    return [complex_op(dy, 0) * div_no_nan(x, complex_op(y, 0))]


@op("Angle", shape=unchanged, dtypes=COMPLEX, result=_real_type, work=10)
def angle_op(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The angles of complex numbers in radians, in (-π, π]."""


@angle_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x = node.inputs[0]
    return [divided(complex_op(0, dy), conj(x))]


@public("af", "tf.dtypes")
def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """real + imag·i (`tf.complex`). Raises TypeError where the parts are not both float32 or both float64.

    Example:
        >>> af.complex([1.0, 2.0], [0.5, -1.0])
        [1.+0.5j 2.-1.j ]
    """
    return complex_op(real, imag, name=name or "Complex")


@public("af", "af.math")
def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part of a complex tensor; a real tensor as it is.

    Example:
        >>> af.real([1 + 2j, 3 - 4j])
        [1. 3.]
    """
    tensor = convert_to_tensor(input)
    return real_op(tensor, name=name) if tensor.dtype.is_complex else tensor


@public("af", "af.math")
def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part of a complex tensor; zeros for a real tensor.

    Example:
        >>> af.imag([1 + 2j, 3 - 4j])
        [ 2. -4.]
    """
    from actorflow.graph.ops.array.constant import zeros_like

    tensor = convert_to_tensor(input)
    return imag_op(tensor, name=name) if tensor.dtype.is_complex else zeros_like(tensor, name=name)


@public("af", "af.math")
def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The angle of complex numbers in radians, in (-π, π]; π for a negative real number, 0 for a positive number.

    Example:
        >>> af.angle([1j, -1.0 + 0j])
        [1.5708 3.1416]
    """
    from actorflow.graph.ops.array.constant import zeros_like
    from actorflow.graph.ops.math.arithmetic import atan2

    tensor = convert_to_tensor(input)
    if tensor.dtype.is_complex:
        return angle_op(tensor, name=name)
    return atan2(zeros_like(tensor), tensor, name=name or "Angle")


@public("af", "af.math")
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor as it is.

    Example:
        >>> af.conj([1 + 2j])
        [1.-2.j]
    """
    tensor = convert_to_tensor(x)
    if tensor.dtype.kind not in "biufc":
        raise TypeError(f"Expected numeric or variant tensor, got dtype {tensor.dtype!r}: conj takes numbers.")
    return conj_op(tensor, name=name) if tensor.dtype.is_complex else tensor
