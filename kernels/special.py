"""Kernels of special functions, which scipy computes (`cupyx.scipy` on a GPU)."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from actorflow.errors import UnimplementedError
from actorflow.registry.kernel import kernel


@functools.cache
def _library(xp: Any) -> Any:
    name = "cupyx.scipy.special" if xp.__name__ == "cupy" else "scipy.special"
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnimplementedError(
            f"Special functions need {name}, which is not installed.",
            hint="Install it with: pip install 'actorflow[special]'",
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
