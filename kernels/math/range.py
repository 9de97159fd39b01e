"""Kernels of ranges and evenly spaced numbers."""

from __future__ import annotations

from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Gpu

from ..array.constant import filled


def _check_scalars(name: str, *values: Any) -> None:
    if any(value.ndim for value in values):
        raise ValueError(f"{name} takes scalars, but the shapes are {', '.join(str(v.shape) for v in values)}.")


@kernel("Range", gpu=Gpu(host=(0, 1, 2)))
def range_(xp: Any, start: Any, limit: Any, delta: Any, *, out: Any = None) -> Any:
    # The rule that gives the length is the one of the static shape.
    from actorflow.graph.ops.math.cumulative import range_length

    _check_scalars("range", start, limit, delta)
    length = range_length(start, limit, delta)
    steps = xp.arange(length).astype(start.dtype)
    return xp.add(start, xp.multiply(steps, delta, out=out), out=out)


@kernel("LinSpace")
def linspace(xp: Any, start: Any, stop: Any, num: Any, *, out: Any = None) -> Any:
    _check_scalars("linspace", start, stop, num)
    count = int(num)
    if count < 1:
        raise ValueError(f"linspace needs one number or more, but num={count}.")
    if count == 1:
        return filled(xp.empty(1, start.dtype) if out is None else out, start)
    step = ((stop - start) / (count - 1)).astype(start.dtype)
    line = xp.add(start, xp.multiply(xp.arange(count).astype(start.dtype), step, out=out), out=out)
    line[-1] = stop
    return line
