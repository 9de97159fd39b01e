"""The derivative of a gamma sample with respect to its shape parameter."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel

from .special import apply


@kernel("RandomGammaGrad")
def random_gamma_grad(xp: Any, alpha: Any, sample: Any) -> Any:
    """-(dP/da) / (dP/dx) of the regularized incomplete gamma function P: the sample moves with `alpha` so that its rank
    in the distribution stays. dP/da is a difference of five points in float64, of whichever of P and 1 - P is small."""
    kind = xp.result_type(alpha, sample)
    a, x = (xp.asarray(v, xp.float64) for v in xp.broadcast_arrays(alpha, sample))
    step = a * 1e-3
    lower = apply(xp, "gammainc", a, x) < 0.5

    def tail(k: int) -> Any:
        moved = a + k * step
        return xp.where(lower, apply(xp, "gammainc", moved, x), -apply(xp, "gammaincc", moved, x))

    slope = (8 * (tail(1) - tail(-1)) - (tail(2) - tail(-2))) / (12 * step)
    density = xp.exp((a - 1) * xp.log(x) - x - apply(xp, "gammaln", a))
    return (-slope / density).astype(kind)
