"""Special functions, elementwise, of floating tensors. They need the extra `special`, and say so in the run."""

from __future__ import annotations

import math
from typing import Any

from actorflow.dtypes import FLOATING
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.building import composite
from actorflow.ops.shape_rules import elementwise, unchanged
from actorflow.ops.unary import abs as abs_
from actorflow.ops.unary import exp, sign, square
from actorflow.public import public
from actorflow.registry.op import op

_SLOPE = 2 / math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)


@public("af", "af.math")
@op("Erf", shape=unchanged, dtypes=FLOATING, work=20)
def erf(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The Gauss error function, elementwise."""


@erf.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (_SLOPE * exp(-square(node.inputs[0])))]


@public("af", "af.math")
@op("Erfc", shape=unchanged, dtypes=FLOATING, work=20)
def erfc(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 less the Gauss error function, elementwise; exact to the last digits for a large x."""


@erfc.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (-_SLOPE * exp(-square(node.inputs[0])))]


@public("af.math")
@op("Erfinv", shape=unchanged, dtypes=FLOATING, work=30)
def erfinv(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of `erf` on [-1, 1], elementwise (`tf.math.erfinv`); NaN outside."""


@erfinv.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (exp(square(node.outputs[0])) / _SLOPE)]


@public("af.math")
@op("Ndtri", shape=unchanged, dtypes=FLOATING, work=30)
def ndtri(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution at x in [0, 1], elementwise (`tf.math.ndtri`); NaN outside."""


@ndtri.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (_ROOT_TWO_PI * exp(square(node.outputs[0]) / 2))]


@public("af.math")
@op("BesselI0e", shape=unchanged, dtypes=FLOATING, work=30)
def bessel_i0e(x: TensorLike, *, name: str | None = None) -> Tensor:
    """exp(-|x|) times the modified Bessel function of order 0, elementwise (`tf.math.bessel_i0e`)."""


@bessel_i0e.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs[0], node.outputs[0]
    return [dy * (bessel_i1e(x) - sign(x) * y)]


@public("af.math")
@op("BesselI1e", shape=unchanged, dtypes=FLOATING, work=30)
def bessel_i1e(x: TensorLike, *, name: str | None = None) -> Tensor:
    """exp(-|x|) times the modified Bessel function of order 1, elementwise (`tf.math.bessel_i1e`)."""


@bessel_i1e.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.ops.logic import equal, where_v2

    x, y = node.inputs[0], node.outputs[0]
    # I1(x) / x has the limit 1/2 at 0; the inner choice keeps the quotient's own derivative a number there.
    at_zero = equal(x, 0)
    quotient = where_v2(at_zero, 0.5, y / where_v2(at_zero, 1, x))
    return [dy * (bessel_i0e(x) - sign(x) * y - quotient)]


@public("af.math")
def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0, elementwise (`tf.math.bessel_i0`)."""
    from actorflow.ops.arithmetic import multiply

    with composite(name, "bessel_i0", x) as scope:
        values = convert_to_tensor(x)
        return multiply(exp(abs_(values)), bessel_i0e(values), name=scope)


@public("af.math")
def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1, elementwise (`tf.math.bessel_i1`)."""
    from actorflow.ops.arithmetic import multiply

    with composite(name, "bessel_i1", x) as scope:
        values = convert_to_tensor(x)
        return multiply(exp(abs_(values)), bessel_i1e(values), name=scope)


@public("af", "af.math")
@op("Lgamma", shape=unchanged, dtypes=FLOATING, work=30)
def lgamma(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The logarithm of |Γ(x)|, elementwise; inf at the poles 0, -1, -2, ..."""


@lgamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * digamma(node.inputs[0])]


@public("af", "af.math")
@op("Digamma", shape=unchanged, dtypes=FLOATING, work=30)
def digamma(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The derivative of `lgamma`, elementwise; NaN at its poles 0, -1, -2, ..."""


@digamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * polygamma(1, node.inputs[0])]


@public("af", "af.math")
@op("Polygamma", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=60)
def polygamma(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The a-th derivative of `digamma` at x, elementwise with broadcasting; a is a whole number of x's type."""


@polygamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, x = node.inputs
    return [None, dy * polygamma(a + 1, x)]


@public("af", "af.math")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), elementwise and without overflow (`tf.log_sigmoid`). Raises TypeError for other than floats."""
    from actorflow.ops.nn import softplus
    from actorflow.ops.unary import negative

    with composite(name, "LogSigmoid", x) as scope:
        return negative(softplus(-convert_to_tensor(x)), name=scope)
