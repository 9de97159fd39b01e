"""Circular functions, of angles in radians, and hyperbolic ones, elementwise, of floating and complex tensors."""

from __future__ import annotations

from typing import Any

from actorflow.dtypes import INEXACT
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.complex import conj
from actorflow.ops.shape_rules import merged, unchanged
from actorflow.ops.unary import FUNCTION, sqrt, square
from actorflow.public import public
from actorflow.registry.op import op


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
