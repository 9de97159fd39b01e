"""Elementwise functions of one tensor: powers, roundings, exponentials, circular and hyperbolic functions."""

from __future__ import annotations

from typing import Any

from actorflow import dtypes as dt
from actorflow.dtypes import FLOATING, INEXACT, NUMERIC, REAL, SIGNED
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.declare import op
from actorflow.ops.math.cast import complex_abs, conj
from actorflow.ops.shape_rules import merged, unchanged
from actorflow.public import public

# Arithmetic operations that a transcendental function costs for an element, about.
FUNCTION = 10.0


@public("af", "af.math")
@op("Neg", shape=unchanged, dtypes=SIGNED)
def negative(x: TensorLike, *, name: str | None = None) -> Tensor:
    """-x, elementwise, of a signed type. The smallest integer stays as it is."""


@negative.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [-dy]


@op("Abs", shape=unchanged, dtypes=SIGNED & REAL)
def abs_op(x: TensorLike, *, name: str | None = None) -> Tensor:
    """|x|, elementwise, of a signed real type; its derivative at 0 is 0."""


@abs_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * sign(node.inputs[0])]


@public("af", "af.math")
def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """|x|, elementwise; of complex numbers their magnitude, which is float32 or float64."""
    tensor = convert_to_tensor(x)
    return complex_abs(tensor, name=name) if tensor.dtype.is_complex else abs_op(tensor, name=name)


@public("af", "af.math")
@op("Sign", shape=unchanged, dtypes=SIGNED)
def sign(x: TensorLike, *, name: str | None = None) -> Tensor:
    """-1, 0 or 1 as x is, elementwise; x / |x| of a complex x, and 0 of 0."""


@sign.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.ops.array.constant import zeros_like

    return [zeros_like(dy)]


@public("af", "af.math")
@op("Square", shape=unchanged, dtypes=NUMERIC)
def square(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x², elementwise."""


@square.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (2 * conj(node.inputs[0]))]


@public("af", "af.math")
@op("Sqrt", shape=unchanged, dtypes=INEXACT, work=4)
def sqrt(x: TensorLike, *, name: str | None = None) -> Tensor:
    """√x, elementwise; NaN of a negative number."""


@sqrt.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * 0.5 / conj(node.outputs[0])]


@public("af", "af.math")
@op("Rsqrt", shape=unchanged, dtypes=INEXACT, work=8)
def rsqrt(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 / √x, elementwise; inf of 0 and NaN of a negative number."""


@rsqrt.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    y = conj(node.outputs[0])
    return [dy * -0.5 * (y * square(y))]


@public("af", "af.math")
@op("Reciprocal", shape=unchanged, dtypes=INEXACT, work=4)
def reciprocal(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 / x, elementwise."""


@reciprocal.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [-dy * square(conj(node.outputs[0]))]


# ---- exponentials and logarithms


@public("af", "af.math")
@op("Exp", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def exp(x: TensorLike, *, name: str | None = None) -> Tensor:
    """e to the power of x, elementwise."""


@exp.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * conj(node.outputs[0])]


@public("af", "af.math")
@op("Expm1", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def expm1(x: TensorLike, *, name: str | None = None) -> Tensor:
    """e to the power of x, less 1, elementwise; exact to the last digits for a small x."""


@expm1.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * exp(conj(node.inputs[0]))]


@public("af", "af.math")
@op("Log", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def log(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The natural logarithm, elementwise; -inf of 0 and NaN of a negative number."""


@log.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy / conj(node.inputs[0])]


@public("af", "af.math")
@op("Log1p", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def log1p(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The natural logarithm of 1 + x, elementwise; exact to the last digits for a small x."""


@log1p.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy / (1 + conj(node.inputs[0]))]


@public("af", "af.math", "af.nn")
@op("Sigmoid", shape=unchanged, dtypes=INEXACT, work=FUNCTION + 6)
def sigmoid(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), elementwise."""


@op("SigmoidGrad", shape=merged, dtypes=INEXACT, work=3)
def sigmoid_grad(y: TensorLike, dy: TensorLike, *, name: str | None = None) -> Tensor:
    """dy · y · (1 - y): the gradient of a sigmoid with the output y. Both have one shape."""


@sigmoid.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [sigmoid_grad(conj(node.outputs[0]), dy)]


@sigmoid_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    y, dy = map(conj, node.inputs)
    return [ddy * dy * (1 - 2 * y), sigmoid_grad(y, ddy)]


# ---- rounding and kinds of numbers


@public("af", "af.math")
@op("Floor", shape=unchanged, dtypes=FLOATING, gradient=None)
def floor(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The largest whole number that is not above x, elementwise."""


@public("af", "af.math")
@op("Ceil", shape=unchanged, dtypes=FLOATING, gradient=None)
def ceil(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The smallest whole number that is not below x, elementwise."""


@public("af", "af.math")
@op("Rint", shape=unchanged, dtypes=FLOATING, gradient=None)
def rint(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The whole number nearest to x, elementwise; a half goes to the even one."""


@op("Round", shape=unchanged, dtypes=FLOATING, gradient=None)
def round_op(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The whole number nearest to x, elementwise; a half goes to the even one."""


@public("af", "af.math")
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """The whole number nearest to x, elementwise; a half goes to the even one. Integers stay as they are."""
    tensor = convert_to_tensor(x)
    return tensor if tensor.dtype.is_integer else round_op(tensor, name=name)


@public("af", "af.math", "tf.debugging")
@op("IsNan", shape=unchanged, dtypes=FLOATING, result=dt.bool, gradient=None)
def is_nan(x: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether x is NaN, elementwise."""


@public("af", "af.math", "tf.debugging")
@op("IsInf", shape=unchanged, dtypes=FLOATING, result=dt.bool, gradient=None)
def is_inf(x: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether x is inf or -inf, elementwise."""


@public("af", "af.math", "tf.debugging")
@op("IsFinite", shape=unchanged, dtypes=FLOATING, result=dt.bool, gradient=None)
def is_finite(x: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether x is neither NaN nor infinite, elementwise."""


# ---- Circular functions, of angles in radians, and hyperbolic ones, elementwise, of floating and complex tensors.


@public("af", "af.math")
@op("Sin", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def sin(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The sine of x in radians, elementwise."""


@sin.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * cos(conj(node.inputs[0]))]


@public("af", "af.math")
@op("Cos", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def cos(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The cosine of x in radians, elementwise."""


@cos.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [-dy * sin(conj(node.inputs[0]))]


@public("af", "af.math")
@op("Tan", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def tan(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The tangent of x in radians, elementwise."""


@tan.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (1 + square(conj(node.outputs[0])))]


@public("af", "af.math")
@op("Asin", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def asin(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The angle in radians whose sine is x, elementwise; NaN outside [-1, 1]."""


@asin.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy / sqrt(1 - square(conj(node.inputs[0])))]


@public("af", "af.math")
@op("Acos", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def acos(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The angle in radians whose cosine is x, elementwise; NaN outside [-1, 1]."""


@acos.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [-dy / sqrt(1 - square(conj(node.inputs[0])))]


@public("af", "af.math")
@op("Atan", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def atan(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The angle in radians whose tangent is x, elementwise."""


@atan.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy / (1 + square(conj(node.inputs[0])))]


# ---- hyperbolic functions


@public("af", "af.math")
@op("Sinh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def sinh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The hyperbolic sine, elementwise."""


@sinh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * cosh(conj(node.inputs[0]))]


@public("af", "af.math")
@op("Cosh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def cosh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The hyperbolic cosine, elementwise."""


@cosh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * sinh(conj(node.inputs[0]))]


@public("af", "af.math", "af.nn")
@op("Tanh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def tanh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The hyperbolic tangent, elementwise."""


@op("TanhGrad", shape=merged, dtypes=INEXACT, work=3)
def tanh_grad(y: TensorLike, dy: TensorLike, *, name: str | None = None) -> Tensor:
    """dy · (1 - y²): the gradient of a hyperbolic tangent with the output y. Both have one shape."""


@tanh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [tanh_grad(conj(node.outputs[0]), dy)]


@tanh_grad.gradient
def _(node: Operation, ddy: Tensor) -> list[Any]:
    y, dy = map(conj, node.inputs)
    return [ddy * dy * (-2 * y), tanh_grad(y, ddy)]


@public("af", "af.math")
@op("Asinh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def asinh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic sine, elementwise."""


@asinh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy / cosh(conj(node.outputs[0]))]


@public("af", "af.math")
@op("Acosh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def acosh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic cosine, elementwise; NaN below 1."""


@acosh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy / sinh(conj(node.outputs[0]))]


@public("af", "af.math")
@op("Atanh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def atanh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic tangent, elementwise; NaN outside [-1, 1]."""


@atanh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy / (1 - square(conj(node.inputs[0])))]
