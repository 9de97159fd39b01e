"""Special functions, elementwise, of floating tensors. They need the extra `special`, and say so in the run."""

from __future__ import annotations

import math
from typing import Any

from actorflow.base.dtypes import FLOATING, INEXACT, float32, float64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones_like, zeros_like
from actorflow.graph.ops.arriving import scaled
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.arithmetic import div_no_nan, subtract
from actorflow.graph.ops.math.cast import cast, conj
from actorflow.graph.ops.math.elementwise import abs as abs_
from actorflow.graph.ops.math.elementwise import exp, sign, square
from actorflow.graph.ops.math.logic import not_equal
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.shape_rules import elementwise, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_SLOPE = 2 / math.sqrt(math.pi)


_ROOT_TWO_PI = math.sqrt(2 * math.pi)


@public("af", "af.math")
@op("Erf", shape=unchanged, dtypes=FLOATING, work=20)
def erf(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The Gauss error function, elementwise.

    Example:
        >>> af.erf([-1.0, 0.0, 1.0])
        [-0.8427  0.      0.8427]
    """


@erf.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (_SLOPE * exp(-square(node.inputs[0])))]


@public("af", "af.math")
@op("Erfc", shape=unchanged, dtypes=FLOATING, work=20)
def erfc(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 less the Gauss error function, elementwise; exact to the last digits for a large x.

    Example:
        >>> af.erfc([0.0, 1.0, 5.0])
        [1.     0.1573 0.    ]
    """


@erfc.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (-_SLOPE * exp(-square(node.inputs[0])))]


@public("af.math")
@op("Erfinv", shape=unchanged, dtypes=FLOATING, work=30)
def erfinv(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The inverse of `erf` on [-1, 1], elementwise (`tf.math.erfinv`); NaN outside.

    Example:
        >>> af.erf(af.math.erfinv([-0.5, 0.0, 0.9]))
        [-0.5  0.   0.9]
    """


@erfinv.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, exp(square(node.outputs[0])) / _SLOPE)]


@public("af.math")
@op("Ndtri", shape=unchanged, dtypes=FLOATING, work=30)
def ndtri(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution at x in [0, 1], elementwise (`tf.math.ndtri`); NaN outside.

    Example:
        >>> af.math.ndtri([0.025, 0.5, 0.975])
        [-1.96  0.    1.96]
    """


@ndtri.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, _ROOT_TWO_PI * exp(square(node.outputs[0]) / 2))]


@public("af.math")
@op("BesselI0e", shape=unchanged, dtypes=FLOATING, work=30)
def bessel_i0e(x: TensorLike, *, name: str | None = None) -> Tensor:
    """exp(-|x|) times the modified Bessel function of order 0, elementwise (`tf.math.bessel_i0e`).

    Example:
        >>> af.math.bessel_i0e([0.0, 1000.0])
        [1.     0.0126]
    """


@bessel_i0e.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs[0], node.outputs[0]
    return [dy * (bessel_i1e(x) - sign(x) * y)]


@public("af.math")
@op("BesselI1e", shape=unchanged, dtypes=FLOATING, work=30)
def bessel_i1e(x: TensorLike, *, name: str | None = None) -> Tensor:
    """exp(-|x|) times the modified Bessel function of order 1, elementwise (`tf.math.bessel_i1e`).

    Example:
        >>> af.math.bessel_i1e([0.0, 1000.0])
        [0.     0.0126]
    """


@bessel_i1e.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.logic import equal, where_v2

    x, y = node.inputs[0], node.outputs[0]
    # I1(x) / x has the limit 1/2 at 0; the inner choice keeps the quotient's own derivative a number there.
    at_zero = equal(x, 0)
    quotient = where_v2(at_zero, 0.5, y / where_v2(at_zero, 1, x))
    return [dy * (bessel_i0e(x) - sign(x) * y - quotient)]


@public("af.math")
def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0, elementwise (`tf.math.bessel_i0`).

    Example:
        >>> af.math.bessel_i0([0.0, 1.0])
        [1.     1.2661]
    """
    from actorflow.graph.ops.math.arithmetic import multiply

    with composite(name, "bessel_i0", x) as scope:
        values = convert_to_tensor(x)
        return multiply(exp(abs_(values)), bessel_i0e(values), name=scope)


@public("af.math")
def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1, elementwise (`tf.math.bessel_i1`).

    Example:
        >>> af.math.bessel_i1([0.0, 1.0])
        [0.     0.5652]
    """
    from actorflow.graph.ops.math.arithmetic import multiply

    with composite(name, "bessel_i1", x) as scope:
        values = convert_to_tensor(x)
        return multiply(exp(abs_(values)), bessel_i1e(values), name=scope)


@public("af", "af.math")
@op("Lgamma", shape=unchanged, dtypes=FLOATING, work=30)
def lgamma(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The logarithm of |Γ(x)|, elementwise; inf at the poles 0, -1, -2, ...

    Example:
        >>> af.exp(af.lgamma([3.0, 4.0, 5.0]))
        [ 2.  6. 24.]
    """


@lgamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, digamma(node.inputs[0]))]


@public("af", "af.math")
@op("Digamma", shape=unchanged, dtypes=FLOATING, work=30)
def digamma(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The derivative of `lgamma`, elementwise; NaN at its poles 0, -1, -2, ...

    Example:
        >>> af.digamma([1.0, 2.0])
        [-0.5772  0.4228]
    """


@digamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [scaled(dy, polygamma(1, node.inputs[0]))]


@public("af", "af.math")
@op("Polygamma", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=60)
def polygamma(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The a-th derivative of `digamma` at x, elementwise with broadcasting; a is a whole number of x's type.

    Example:
        >>> af.polygamma(1.0, [1.0, 2.0])
        [1.6449 0.6449]
    """


@polygamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, x = node.inputs
    return [None, scaled(dy, polygamma(a + 1, x))]


@public("af", "af.math")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), elementwise and without overflow (`tf.log_sigmoid`). Raises TypeError for other than floats.

    Example:
        >>> af.log_sigmoid([0.0, -1000.0])
        [   -0.6931 -1000.    ]
    """
    from actorflow.graph.ops.math.elementwise import negative
    from actorflow.graph.ops.nn.activation import softplus

    with composite(name, "LogSigmoid", x) as scope:
        return negative(softplus(-convert_to_tensor(x)), name=scope)


# ---- Functions of the gamma family, elementwise: incomplete gamma and beta functions, and Hurwitz' zeta function.
#
# They need the extra `special`, and say so in the run.


_WIDE_FLOATS = frozenset((float32, float64))


@public("af", "af.math")
@op("Igamma", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=60)
def igamma(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The lower regularized incomplete gamma function P(a, x), elementwise with broadcasting (`tf.igamma`).

    NaN where a is not positive or x is negative.

    Example:
        >>> af.igamma(1.0, [0.5, 1.0])
        [0.3935 0.6321]
    """


@public("af", "af.math")
@op("Igammac", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=60)
def igammac(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x), elementwise with broadcasting
    (`tf.igammac`).

    Example:
        >>> af.igammac(1.0, [0.5, 1.0])
        [0.6065 0.3679]
    """


@op("IgammaGradA", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=600)
def igamma_grad_a(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The derivative of `igamma` with respect to a."""


def _density(a: Tensor, x: Tensor) -> Tensor:
    """The derivative of P(a, x) with respect to x."""
    return exp(xlogy(a - 1, x) - x - lgamma(a))


@igamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, x = node.inputs
    return [scaled(dy, igamma_grad_a(a, x)), scaled(dy, _density(a, x))]


@igammac.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, x = node.inputs
    return [scaled(-dy, igamma_grad_a(a, x)), scaled(-dy, _density(a, x))]


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
@op("Betainc", shape=_betainc_shape, dtypes=_WIDE_FLOATS, broadcasts=True, work=100)
def betainc(a: TensorLike, b: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The regularized incomplete beta function I_x(a, b), elementwise (`tf.betainc`).

    The inputs have one shape, but for those that are scalars. Only x has a gradient.

    Example:
        >>> af.betainc(2.0, 3.0, [0.0, 0.5, 1.0])
        [0.     0.6875 1.    ]

    Args:
        a, b: the parameters, float32 or float64, above 0.
        x: of the same type, in [0, 1].
    """


@betainc.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, b, x = node.inputs
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return [None, None, scaled(dy, exp(xlog1py(b - 1, -x) + xlogy(a - 1, x) - log_beta))]


@public("af", "af.math")
@op("Zeta", shape=elementwise, dtypes=_WIDE_FLOATS, broadcasts=True, work=60)
def zeta(x: TensorLike, q: TensorLike, *, name: str | None = None) -> Tensor:
    """Hurwitz' zeta function Σ 1 / (q + k)^x over k = 0, 1, ..., elementwise with broadcasting (`tf.zeta`).

    inf at x = 1 and NaN below it. Only q has a gradient.

    Example:
        >>> af.zeta(2.0, [1.0, 2.0])
        [1.6449 0.6449]
    """


@zeta.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, q = node.inputs
    return [None, scaled(dy * -x, zeta(x + 1, q))]


@public("af", "af.math")
def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """log |Beta(x)| along the last dimension: Σ log Γ(xᵢ) - log Γ(Σ xᵢ) (`tf.lbeta`).

    Of no elements it is -inf. Raises ValueError for a scalar.

    Example:
        >>> af.exp(af.lbeta([2.0, 3.0]))
        0.0833
    """
    with composite(name, "lbeta", x) as scope:
        values = convert_to_tensor(x)
        return subtract(reduce_sum(lgamma(values), [-1]), lgamma(reduce_sum(values, [-1])), name=scope)


# ---- Elementwise products and quotients in which a zero decides, whatever the other operand is; and neighbours of floats.
#
# Each has the gradient of TensorFlow, which guards it in the same way.


_WIDE = frozenset((float32, float64))


def _is_nonzero(x: Tensor) -> Tensor:
    """1 where x is not 0, else 0."""
    return cast(not_equal(x, zeros_like(x)), x.dtype)


@public("af.math")
@op("Xlogy", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=12)
def xlogy(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x · log(y), and 0 where x is 0, elementwise with broadcasting (`tf.math.xlogy`).

    Example:
        >>> af.math.xlogy([0.0, 2.0], [0.0, 3.0])
        [0.     2.1972]
    """


@xlogy.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [scaled(dy, xlogy(_is_nonzero(x), y)), scaled(dy, xdivy(x, y))]


@public("af.math")
@op("Xlog1py", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=12)
def xlog1py(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x · log(1 + y), and 0 where x is 0, elementwise with broadcasting (`tf.math.xlog1py`).

    Example:
        >>> af.math.xlog1py([0.0, 2.0], [-1.0, 0.5])
        [0.     0.8109]
    """


@xlog1py.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [scaled(dy, xlog1py(_is_nonzero(x), y)), scaled(dy, xdivy(x, y + 1))]


@public("af.math")
@op("Xdivy", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=5)
def xdivy(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x / y, and 0 where x is 0, elementwise with broadcasting (`tf.math.xdivy`).

    Example:
        >>> af.math.xdivy([0.0, 6.0], [0.0, 3.0])
        [0. 2.]
    """


@xdivy.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [scaled(dy, xdivy(_is_nonzero(x), y)), scaled(dy, xdivy(-x, square(y)))]


@public("af.math")
@op("MulNoNan", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=2)
def multiply_no_nan(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x · y, and 0 where y is 0, even where x is NaN or infinite (`tf.math.multiply_no_nan`).

    Example:
        >>> af.math.multiply_no_nan([3.0, np.nan], [2.0, 0.0])
        [6. 0.]
    """


@multiply_no_nan.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [multiply_no_nan(dy, y), multiply_no_nan(x, dy)]


@public("af.math")
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0, elementwise (`tf.math.reciprocal_no_nan`).

    Example:
        >>> af.math.reciprocal_no_nan([2.0, 0.0])
        [0.5 0. ]
    """
    with composite(name, "reciprocal_no_nan", x) as scope:
        values = convert_to_tensor(x)
        return div_no_nan(ones_like(values), values, name=scope)


@public("af.math")
@op("NextAfter", shape=elementwise, dtypes=_WIDE, broadcasts=True)
def nextafter(x1: TensorLike, x2: TensorLike, *, name: str | None = None) -> Tensor:
    """The next number of the type after x1 on the way to x2, elementwise with broadcasting (`tf.math.nextafter`).

    Example:
        >>> af.math.nextafter(af.constant(1.0), 2.0) - 1.0
        1.19e-07
    """


@nextafter.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, zeros_like(dy)]
