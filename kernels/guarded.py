"""Kernels of products and quotients in which a zero decides."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel


@kernel("Xlogy")
def xlogy(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _unless_zero(xp, x, x * xp.log(y), out)


@kernel("Xlog1py")
def xlog1py(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _unless_zero(xp, x, x * xp.log1p(y), out)


@kernel("Xdivy")
def xdivy(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return _unless_zero(xp, x, xp.true_divide(x, y), out)


@kernel("MulNoNan")
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
