"""Functions of the gamma family, elementwise: incomplete gamma and beta functions, and Hurwitz' zeta function.

They need the extra `special`, and say so in the run.
"""

from __future__ import annotations

from typing import Any

from actorflow.dtypes import FLOATING, float32, float64
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.arithmetic import subtract
from actorflow.ops.building import composite
from actorflow.ops.guarded import xlog1py, xlogy
from actorflow.ops.reduction import reduce_sum
from actorflow.ops.shape_rules import elementwise
from actorflow.ops.special import lgamma
from actorflow.ops.unary import exp
from actorflow.public import public
from actorflow.registry.op import op
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, merge

_WIDE = frozenset((float32, float64))


@public("af", "af.math")
@op("Igamma", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=60)
def igamma(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The lower regularized incomplete gamma function P(a, x), elementwise with broadcasting (`tf.igamma`).

    NaN where a is not positive or x is negative."""


@public("af", "af.math")
@op("Igammac", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=60)
def igammac(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x), elementwise with broadcasting
    (`tf.igammac`)."""


@op("IgammaGradA", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=600)
def igamma_grad_a(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The derivative of `igamma` with respect to a."""


def _density(a: Tensor, x: Tensor) -> Tensor:
    """The derivative of P(a, x) with respect to x."""
    return exp(xlogy(a - 1, x) - x - lgamma(a))


@igamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, x = node.inputs
    return [dy * igamma_grad_a(a, x), dy * _density(a, x)]


@igammac.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, x = node.inputs
    return [-dy * igamma_grad_a(a, x), -dy * _density(a, x)]


@igamma_grad_a.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    # Half of the answer (that for x) would be a wrong gradient for whoever asks for both.
    raise LookupError("The derivative of igamma with respect to a has no derivative of its own.")


def _betainc_shape(c: Inference) -> Shape:
    """One shape for all inputs; scalars fit any."""
    shape: Shape = ()
    for other in c.shapes:
        if other is None:
            shape = None if shape == () else shape
        elif other != ():
            shape = merge(None if shape == () else shape, other)
    return shape


@public("af", "af.math")
@op("Betainc", shape=_betainc_shape, dtypes=_WIDE, broadcasts=True, work=100)
def betainc(a: TensorLike, b: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The regularized incomplete beta function of x in [0, 1], elementwise (`tf.betainc`).

    The inputs have one shape, but for those that are scalars. Only x has a gradient."""


@betainc.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, b, x = node.inputs
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return [None, None, dy * exp(xlog1py(b - 1, -x) + xlogy(a - 1, x) - log_beta)]


@public("af", "af.math")
@op("Zeta", shape=elementwise, dtypes=_WIDE, broadcasts=True, work=60)
def zeta(x: TensorLike, q: TensorLike, *, name: str | None = None) -> Tensor:
    """Hurwitz' zeta function Σ 1 / (q + k)^x over k = 0, 1, ..., elementwise with broadcasting (`tf.zeta`).

    inf at x = 1 and NaN below it. Only q has a gradient."""


@zeta.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, q = node.inputs
    return [None, dy * -x * zeta(x + 1, q)]


@public("af", "af.math")
def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """log |Beta(x)| along the last dimension: Σ log Γ(xᵢ) - log Γ(Σ xᵢ) (`tf.lbeta`).

    Of no elements it is -inf. Raises ValueError for a scalar."""
    with composite(name, "lbeta", x) as scope:
        values = convert_to_tensor(x)
        return subtract(reduce_sum(lgamma(values), [-1]), lgamma(reduce_sum(values, [-1])), name=scope)
