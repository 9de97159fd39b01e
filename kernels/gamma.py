"""Kernels of the gamma family; scipy computes most of them (`cupyx.scipy` on a GPU)."""

from __future__ import annotations

import math
from typing import Any

from actorflow.errors import InvalidArgumentError
from actorflow.registry.kernel import kernel

from .special import apply


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
            "Betainc takes tensors of one shape, and scalars.", details=[f"shape: {value.shape}" for value in (a, b, x)]
        )
    return apply(xp, "betainc", a, b, x, out=out)


@kernel("Zeta")
def zeta(xp: Any, x: Any, q: Any) -> Any:
    # At the poles 0, -1, -2, ... of q the sum is inf for an even power; for others its sign is not defined.
    pole, even = (q <= 0) & (q == xp.floor(q)), x % 2 == 0
    limit = xp.where(even, x.dtype.type(xp.inf), x.dtype.type(xp.nan))
    return xp.where(pole & (x > 1), limit, apply(xp, "zeta", x, q))
