"""Kernels of special functions, which scipy computes (`cupyx.scipy` on a GPU)."""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any

from actorflow.base.dtypes import FLOATING
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import ELEMENTWISE, Loop
from actorflow.errors import InvalidArgumentError, UnimplementedError, with_topic


@functools.cache
def _library(xp: Any) -> Any:
    name = "cupyx.scipy.special" if xp.__name__ == "cupy" else "scipy.special"
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnimplementedError(
            f"Special functions need {name}, which is not installed.",
            hint=with_topic("Install it with: pip install 'actorflow[special]'", "extra-missing"),
        ) from None


def apply(xp: Any, name: str, *inputs: Any, out: Any = None) -> Any:
    """The function of that name in the inputs' type; halves are computed in float32, which scipy has loops for."""
    kind = inputs[0].dtype
    function = getattr(_library(xp), name)
    if kind.itemsize > 2:
        return function(*inputs, out=out)
    result = xp.asarray(function(*(value.astype(xp.float32) for value in inputs)))
    if out is None:
        return result.astype(kind)
    xp.copyto(out, result, casting="same_kind")
    return out


@kernel("Erf")
def erf(xp: Any, x: Any, *, out: Any = None) -> Any:
    return apply(xp, "erf", x, out=out)


@kernel("Erfc")
def erfc(xp: Any, x: Any, *, out: Any = None) -> Any:
    return apply(xp, "erfc", x, out=out)


@kernel("Erfinv")
def erfinv(xp: Any, x: Any, *, out: Any = None) -> Any:
    return apply(xp, "erfinv", x, out=out)


@kernel("Ndtri")
def ndtri(xp: Any, x: Any, *, out: Any = None) -> Any:
    return apply(xp, "ndtri", x, out=out)


@kernel("BesselI0e")
def bessel_i0e(xp: Any, x: Any, *, out: Any = None) -> Any:
    return apply(xp, "i0e", x, out=out)


@kernel("BesselI1e")
def bessel_i1e(xp: Any, x: Any, *, out: Any = None) -> Any:
    return apply(xp, "i1e", x, out=out)


@kernel("Lgamma")
def lgamma(xp: Any, x: Any, *, out: Any = None) -> Any:
    return apply(xp, "gammaln", x, out=out)


@kernel("Digamma")
def digamma(xp: Any, x: Any) -> Any:
    # scipy gives -inf at the pole 0, but NaN at those below it; TensorFlow gives NaN at all of them.
    return xp.where(x == 0, x.dtype.type(xp.nan), apply(xp, "digamma", x))


@kernel("Polygamma")
def polygamma(xp: Any, a: Any, x: Any) -> Any:
    """The a-th derivative of digamma: (-1)^(a+1) a! zeta(a + 1, x)."""
    zeta = apply(xp, "zeta", a + 1, x)
    series = (1 - 2 * ((a + 1) % 2)) * apply(xp, "gamma", a + 1) * zeta
    return xp.where(a == 0, apply(xp, "digamma", x + 0 * a), series).astype(x.dtype)


# ---- Kernels of the gamma family; scipy computes most of them (`cupyx.scipy` on a GPU).


@kernel("Igamma")
def igamma(xp: Any, a: Any, x: Any, *, out: Any = None) -> Any:
    return _above_zero(xp, a, apply(xp, "gammainc", a, x, out=out), out)


@kernel("Igammac")
def igammac(xp: Any, a: Any, x: Any, *, out: Any = None) -> Any:
    return _above_zero(xp, a, apply(xp, "gammaincc", a, x, out=out), out)


def _above_zero(xp: Any, a: Any, value: Any, out: Any) -> Any:
    """NaN where a is 0, for which scipy gives the limit."""
    if out is None:
        return xp.where(a == 0, value.dtype.type(xp.nan), value)
    xp.copyto(out, xp.nan, where=a == 0)
    return out


@kernel("IgammaGradA")
def igamma_grad_a(xp: Any, a: Any, x: Any) -> Any:
    kind = a.dtype
    order, at = xp.broadcast_arrays(a.astype(xp.float64), x.astype(xp.float64))
    inside = (order > 0) & (at > 0) & xp.isfinite(at) & xp.isfinite(order)
    # Far beyond order, where P is 1 to the last digit, the derivative is 0.
    inside &= at < 2 * order + 80
    slope = xp.where((at >= 0) & (order > 0), 0.0, xp.nan)
    slope[inside] = _series(xp, order[inside], at[inside])
    return slope.astype(kind)


def _series(xp: Any, a: Any, x: Any) -> Any:
    """d/da Σ w_n = Σ w_n · (log x - ψ(a + n + 1)), with w_n = x^(a + n) e^-x / Γ(a + n + 1): P's series by terms.

    The weights are a tail of Poisson's distribution, so that the terms beyond its bulk are below the last digit.
    """
    if not x.size:
        return x
    log_x = xp.log(x)
    weight = xp.exp(a * log_x - x - apply(xp, "gammaln", a + 1))
    psi = apply(xp, "digamma", a + 1)
    total = xp.zeros_like(x)
    for n in range(int(max(float((x - a).max()), 0.0) + 12 * math.sqrt(float(x.max()))) + 60):
        total += weight * (log_x - psi)
        psi += 1 / (a + n + 1)
        weight *= x / (a + n + 1)
    return total


@kernel("Betainc")
def betainc(xp: Any, a: Any, b: Any, x: Any, *, out: Any = None) -> Any:
    shapes = {value.shape for value in (a, b, x)} - {()}
    if len(shapes) > 1:
        raise InvalidArgumentError(
            "Shapes of a, b and x are inconsistent: Betainc takes tensors of one shape, and scalars.",
            details=[f"shape: {value.shape}" for value in (a, b, x)],
        )
    return apply(xp, "betainc", a, b, x, out=out)


@kernel("Zeta")
def zeta(xp: Any, x: Any, q: Any) -> Any:
    # At the poles 0, -1, -2, ... of q the sum is inf for an even power; for others its sign is not defined.
    pole, even = (q <= 0) & (q == xp.floor(q)), x % 2 == 0
    limit = xp.where(even, x.dtype.type(xp.inf), x.dtype.type(xp.nan))
    return xp.where(pole & (x > 1), limit, apply(xp, "zeta", x, q))


# ---- Kernels of products and quotients in which a zero decides.


@kernel("Xlogy")
def xlogy(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _unless_zero(xp, x, x * xp.log(y), out)


@kernel("Xlog1py")
def xlog1py(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _unless_zero(xp, x, x * xp.log1p(y), out)


@kernel("Xdivy", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x, y: x.equals(0).choose(0, x / y), FLOATING))
def xdivy(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _unless_zero(xp, x, xp.true_divide(x, y), out)


@kernel("MulNoNan", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x, y: y.equals(0).choose(0, x * y), FLOATING))
def multiply_no_nan(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _unless_zero(xp, y, x * y, out)


@kernel("NextAfter")
def next_after(xp: Any, x1: Any, x2: Any, *, out: Any = None) -> Any:
    return xp.nextafter(x1, x2, out=out)


def _unless_zero(xp: Any, deciding: Any, value: Any, out: Any) -> Any:
    """`value`, and 0 where `deciding` is 0."""
    zero = value.dtype.type(0)
    if out is None:
        return xp.where(deciding == 0, zero, value)
    xp.copyto(out, value)
    xp.copyto(out, zero, where=deciding == 0)
    return out
