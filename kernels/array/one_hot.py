"""Kernels of one-hot codes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..shared.elementwise import numbered, scalar
from ..strings.objects import moving_kernel
from .constant import _FEW, _SHALLOW, _WIDE, filled
from .shape import axis_in


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
    if after == 1:
        places = numbers + numbered(xp, numbers.size, depth)
    else:
        whole, rest = xp.divmod(numbered(xp, numbers.size), max(after, 1))
        places = (whole * depth + numbers) * after + rest
    unsigned = numbers.view(xp.uintp)  # a negative number is too large
    if numbers.size and xp.maximum.reduce(unsigned) >= depth:
        places = places[unsigned < depth]
    result.reshape(-1)[places] = on
    return result
