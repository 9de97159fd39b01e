"""Elementwise functions of one tensor: powers, roundings, exponentials, circular and hyperbolic functions."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import FLOATING, INEXACT, NUMERIC, REAL, SIGNED
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.arriving import divided, scaled
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.cast import complex_abs, conj
from actorflow.graph.ops.shape_rules import merged, unchanged
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# Arithmetic operations that a transcendental function costs for an element, about.
FUNCTION = 10.0


@public("af", "af.math")
@op("Neg", shape=unchanged, dtypes=SIGNED)
def negative(x: TensorLike, *, name: str | None = None) -> Tensor:
    """-x, elementwise, of a signed type. The smallest integer stays as it is.

    Example:
        >>> af.negative([1, -2])
        [-1  2]
    """


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
    """|x|, elementwise; the magnitude of complex numbers, which is float32 or float64. A sparse tensor gives a sparse tensor.

    Example:
        >>> af.abs([-1.5, 2.0]), af.abs([3 + 4j])
        ([1.5 2. ], [5.])
    """
    if isinstance(x, SparseTensor):
        return x.with_values(abs(x.values, name))  # type: ignore[return-value]
    tensor = convert_to_tensor(x)
    return complex_abs(tensor, name=name) if tensor.dtype.is_complex else abs_op(tensor, name=name)


@public("af", "af.math")
@op("Sign", shape=unchanged, dtypes=SIGNED)
def sign(x: TensorLike, *, name: str | None = None) -> Tensor:
    """-1, 0 or 1 as x is, elementwise; x / |x| of a complex x, and 0 of 0.

    Example:
        >>> af.sign([-2.5, 0.0, 7.0])
        [-1.  0.  1.]
    """


@sign.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.constant import zeros_like

    return [zeros_like(dy)]


@public("af", "af.math")
@op("Square", shape=unchanged, dtypes=NUMERIC)
def square(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x², elementwise.

    Example:
        >>> af.square([-3, 4])
        [ 9 16]
    """


@square.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (2 * conj(node.inputs[0]))]


@public("af", "af.math")
@op("Sqrt", shape=unchanged, dtypes=INEXACT, work=4)
def sqrt(x: TensorLike, *, name: str | None = None) -> Tensor:
    """√x, elementwise; NaN of a negative number.

    Example:
        >>> af.sqrt([4.0, 2.0])
        [2.     1.4142]
    """


@sqrt.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [divided(dy * 0.5, conj(node.outputs[0]))]


@public("af", "af.math")
@op("Rsqrt", shape=unchanged, dtypes=INEXACT, work=8)
def rsqrt(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 / √x, elementwise; inf of 0 and NaN of a negative number.

    Example:
        >>> af.rsqrt([4.0, 0.0])
        [0.5 inf]
    """


@rsqrt.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    y = conj(node.outputs[0])
    return [scaled(scaled(scaled(dy * -0.5, y), y), y)]


@public("af", "af.math")
@op("Reciprocal", shape=unchanged, dtypes=INEXACT, work=4)
def reciprocal(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 / x, elementwise.

    Example:
        >>> af.reciprocal([2.0, 4.0])
        [0.5  0.25]
    """


@reciprocal.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    y = conj(node.outputs[0])
    return [scaled(scaled(-dy, y), y)]


# ---- exponentials and logarithms


@public("af", "af.math")
@op("Exp", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def exp(x: TensorLike, *, name: str | None = None) -> Tensor:
    """e to the power of x, elementwise.

    Example:
        >>> af.exp([0.0, 1.0])
        [1.     2.7183]
    """


@exp.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, conj(node.outputs[0]))]


@public("af", "af.math")
@op("Expm1", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def expm1(x: TensorLike, *, name: str | None = None) -> Tensor:
    """e to the power of x, less 1, elementwise; exact to the last digits for a small x.

    Example:
        >>> af.expm1(1e-6), af.exp(1e-6) - 1.0
        (1e-06, 1.07e-06)
    """


@expm1.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, exp(conj(node.inputs[0])))]


@public("af", "af.math")
@op("Log", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def log(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The natural logarithm, elementwise; -inf of 0 and NaN of a negative number.

    Example:
        >>> af.log([1.0, np.e, 0.0])
        [  0.   1. -inf]
    """


@log.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [divided(dy, conj(node.inputs[0]))]


@public("af", "af.math")
@op("Log1p", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def log1p(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The natural logarithm of 1 + x, elementwise; exact to the last digits for a small x.

    Example:
        >>> af.log1p(1e-9), af.log(1.0 + 1e-9)
        (1e-09, 0.0)
    """


@log1p.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [divided(dy, 1 + conj(node.inputs[0]))]


@public("af", "af.math", "af.nn")
@op("Sigmoid", shape=unchanged, dtypes=INEXACT, work=FUNCTION + 6)
def sigmoid(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), elementwise.

    Example:
        >>> af.sigmoid([-1.0, 0.0, 1.0])
        [0.2689 0.5    0.7311]
    """


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
    """The largest whole number that is not above x, elementwise.

    Example:
        >>> af.floor([1.7, -1.7])
        [ 1. -2.]
    """


@public("af", "af.math")
@op("Ceil", shape=unchanged, dtypes=FLOATING, gradient=None)
def ceil(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The smallest whole number that is not below x, elementwise.

    Example:
        >>> af.ceil([1.2, -1.2])
        [ 2. -1.]
    """


@public("af", "af.math")
@op("Rint", shape=unchanged, dtypes=FLOATING, gradient=None)
def rint(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The whole number nearest to x, elementwise; a half goes to the even number.

    Example:
        >>> af.rint([0.5, 1.5, 2.4])
        [0. 2. 2.]
    """


@op("Round", shape=unchanged, dtypes=FLOATING, gradient=None)
def round_op(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The whole number nearest to x, elementwise; a half goes to the even number."""


@public("af", "af.math")
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """The whole number nearest to x, elementwise; a half goes to the even number. Integers stay as they are.

    Example:
        >>> af.round([0.5, 1.5, 2.4, -1.6])
        [ 0.  2.  2. -2.]
    """
    tensor = convert_to_tensor(x)
    return tensor if tensor.dtype.is_integer else round_op(tensor, name=name)


@public("af", "af.math", "tf.debugging")
@op("IsNan", shape=unchanged, dtypes=FLOATING, result=dt.bool, gradient=None)
def is_nan(x: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether x is NaN, elementwise.

    Example:
        >>> af.is_nan([1.0, np.inf, np.nan])
        [False False  True]
    """


@public("af", "af.math", "tf.debugging")
@op("IsInf", shape=unchanged, dtypes=FLOATING, result=dt.bool, gradient=None)
def is_inf(x: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether x is inf or -inf, elementwise.

    Example:
        >>> af.is_inf([1.0, -np.inf, np.nan])
        [False  True False]
    """


@public("af", "af.math", "tf.debugging")
@op("IsFinite", shape=unchanged, dtypes=FLOATING, result=dt.bool, gradient=None)
def is_finite(x: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether x is neither NaN nor infinite, elementwise.

    Example:
        >>> af.is_finite([1.0, np.inf, np.nan])
        [ True False False]
    """


# ---- Circular functions, of angles in radians, and hyperbolic functions, elementwise, of floating and complex tensors.


@public("af", "af.math")
@op("Sin", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def sin(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The sine of x in radians, elementwise.

    Example:
        >>> af.sin([0.0, np.pi / 2])
        [0. 1.]
    """


@sin.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * cos(conj(node.inputs[0]))]


@public("af", "af.math")
@op("Cos", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def cos(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The cosine of x in radians, elementwise.

    Example:
        >>> af.cos([0.0, np.pi])
        [ 1. -1.]
    """


@cos.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [-dy * sin(conj(node.inputs[0]))]


@public("af", "af.math")
@op("Tan", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def tan(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The tangent of x in radians, elementwise.

    Example:
        >>> af.tan([0.0, np.pi / 4])
        [0. 1.]
    """


@tan.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, 1 + square(conj(node.outputs[0])))]


@public("af", "af.math")
@op("Asin", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def asin(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The angle in radians whose sine is x, elementwise; NaN outside [-1, 1].

    Example:
        >>> af.asin([0.0, 1.0])
        [0.     1.5708]
    """


@asin.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [divided(dy, sqrt(1 - square(conj(node.inputs[0]))))]


@public("af", "af.math")
@op("Acos", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def acos(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The angle in radians whose cosine is x, elementwise; NaN outside [-1, 1].

    Example:
        >>> af.acos([1.0, 0.0, -1.0])
        [0.     1.5708 3.1416]
    """


@acos.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [divided(-dy, sqrt(1 - square(conj(node.inputs[0]))))]


@public("af", "af.math")
@op("Atan", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def atan(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The angle in radians whose tangent is x, elementwise.

    Example:
        >>> af.atan([0.0, 1.0])
        [0.     0.7854]
    """


@atan.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy / (1 + square(conj(node.inputs[0])))]


# ---- hyperbolic functions


@public("af", "af.math")
@op("Sinh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def sinh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The hyperbolic sine, elementwise.

    Example:
        >>> af.sinh([0.0, 1.0])
        [0.     1.1752]
    """


@sinh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, cosh(conj(node.inputs[0])))]


@public("af", "af.math")
@op("Cosh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def cosh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The hyperbolic cosine, elementwise.

    Example:
        >>> af.cosh([0.0, 1.0])
        [1.     1.5431]
    """


@cosh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, sinh(conj(node.inputs[0])))]


@public("af", "af.math", "af.nn")
@op("Tanh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def tanh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The hyperbolic tangent, elementwise.

    Example:
        >>> af.tanh([-1.0, 0.0, 100.0])
        [-0.7616  0.      1.    ]
    """


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
    """The inverse of the hyperbolic sine, elementwise.

    Example:
        >>> af.asinh([0.0, 1.0])
        [0.     0.8814]
    """


@asinh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [divided(dy, cosh(conj(node.outputs[0])))]


@public("af", "af.math")
@op("Acosh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def acosh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic cosine, elementwise; NaN below 1.

    Example:
        >>> af.acosh([1.0, 2.0])
        [0.    1.317]
    """


@acosh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [divided(dy, sinh(conj(node.outputs[0])))]


@public("af", "af.math")
@op("Atanh", shape=unchanged, dtypes=INEXACT, work=FUNCTION)
def atanh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of the hyperbolic tangent, elementwise; NaN outside [-1, 1].

    Example:
        >>> af.atanh([0.0, 0.5, 1.0])
        [0.     0.5493    inf]
    """


@atanh.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [divided(dy, 1 - square(conj(node.inputs[0])))]
