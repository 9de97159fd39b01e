"""Kernels of ranges, evenly spaced numbers and one-hot codes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from actorflow.registry.kernel import kernel
from actorflow.registry.traits import Gpu

from ..shared.elementwise import numbered, scalar
from ..strings.objects import moving_kernel
from .constant import _FEW, _SHALLOW, _WIDE, filled
from .shape import axis_in


def _check_scalars(name: str, *values: Any) -> None:
    if any(value.ndim for value in values):
        raise ValueError(f"{name} takes scalars, but the shapes are {', '.join(str(v.shape) for v in values)}.")


@kernel("Range", gpu=Gpu(host=(0, 1, 2)))
def range_(xp: Any, start: Any, limit: Any, delta: Any, *, out: Any = None) -> Any:
    # The rule that gives the length is the one of the static shape.
    from actorflow.ops.array.range import range_length

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


@functools.lru_cache(64)
def _one_hot_rows(depth: int, on: bytes, off: bytes, kind: str) -> Any:
    """One row of each index from -1 on, up to one too large."""
    rows = np.full((depth + 2, depth), np.frombuffer(off, kind)[0])
    np.fill_diagonal(rows[1:], np.frombuffer(on, kind)[0])
    return rows


@moving_kernel("OneHot")
def one_hot(xp: Any, indices: Any, depth: Any, on: Any, off: Any, *, axis: int, out: Any = None) -> Any:
    depth = int(depth)
    if out is None and xp is np and axis == -1 and 0 < depth <= _SHALLOW:
        kind = indices.dtype
        if kind.char in _WIDE and indices.ndim and on.dtype.isbuiltin == 1 and not on.dtype.hasobject:
            rows = _one_hot_rows(depth, on.tobytes(), off.tobytes(), on.dtype.char)
            # The sum wraps around for the largest index, which is too large either way.
            return rows.take(indices + scalar(np, kind, 1), 0, None, "clip")
    if depth < 0:
        raise ValueError(f"The depth of one_hot is zero or more, but is {depth}.")
    shape = indices.shape
    at = axis_in(axis, len(shape) + 1)
    if out is None and at == len(shape) and xp.size(indices) * depth < _FEW:
        return xp.where(indices[..., None] == xp.arange(depth), on, off)
    result = filled(xp.empty((*shape[:at], depth, *shape[at:]), on.dtype) if out is None else out, off)
    numbers = indices.reshape(-1).astype(xp.intp, copy=False)
    after = math.prod(shape[at:])
    places = numbered(xp, numbers.size)
    if after == 1:
        places = numbers + places * depth
    else:
        whole, rest = xp.divmod(places, max(after, 1))
        places = (whole * depth + numbers) * after + rest
    inside = numbers.view(xp.uintp) < depth  # as an unsigned number, a negative one is too large
    result.reshape(-1)[places if inside.all() else places[inside]] = on
    return result
