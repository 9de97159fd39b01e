"""Kernels of rectangular parts of a tensor. The parts are views.

The bounds are tensors, but mostly constants, so the numpy index that they make is remembered under their bytes.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Gpu
from actorflow.graph.constant_value import python_index
from actorflow.graph.ops.array.index import check_slice

from ..strings.objects import moving_kernel

Index = tuple[Any, ...]


@moving_kernel("Slice", gpu=Gpu(host=(1, 2), follows=True, recorded=True))
def slice_(xp: Any, x: Any, begin: Any, size: Any) -> Any:
    return x[_box(x.shape, begin.tobytes(), begin.dtype.char, size.tobytes(), size.dtype.char)]


@functools.lru_cache(maxsize=4096)
def _box(shape: tuple[int, ...], begin: bytes, begin_type: str, size: bytes, size_type: str) -> Index:
    first, counts = np.frombuffer(begin, begin_type), np.frombuffer(size, size_type)
    if len(first) != len(shape) or len(counts) != len(shape):
        raise ValueError(f"A slice of {shape} needs {len(shape)} numbers, not {first.tolist()} and {counts.tolist()}.")
    check_slice(shape, first.tolist(), counts.tolist())
    return tuple(slice(int(f), None if n == -1 else int(f + n)) for f, n in zip(first, counts))


@moving_kernel("StridedSlice", gpu=Gpu(host=(1, 2, 3), follows=True, recorded=True))
def strided_slice(
    xp: Any,
    x: Any,
    begin: Any,
    end: Any,
    strides: Any,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    try:
        return x[
            _index(
                begin.tobytes(),
                end.tobytes(),
                strides.tobytes(),
                begin.dtype.char + end.dtype.char + strides.dtype.char,
                (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask),
            )
        ]
    except IndexError as error:
        raise ValueError(f"Slice index out of bounds: {error}") from None


@kernel("StridedSliceGrad", gpu=Gpu(host=(0, 1, 2, 3)))
def strided_slice_grad(
    xp: Any,
    shape: Any,
    begin: Any,
    end: Any,
    strides: Any,
    dy: Any,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
    out: Any = None,
) -> Any:
    if out is None:
        out = xp.zeros(shape.tolist(), dy.dtype)
    else:
        out[...] = 0
    types = begin.dtype.char + end.dtype.char + strides.dtype.char
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    try:
        out[_index(begin.tobytes(), end.tobytes(), strides.tobytes(), types, masks)] = dy
    except IndexError as error:
        raise ValueError(f"Slice index out of bounds: {error}") from None
    return out


@functools.lru_cache(maxsize=4096)
def _index(begin: bytes, end: bytes, strides: bytes, types: str, masks: tuple[int, ...]) -> Index:
    first, last, steps = (np.frombuffer(b, t) for b, t in zip((begin, end, strides), types))
    if not len(first) == len(last) == len(steps):
        raise ValueError(f"Begin, end and strides have different lengths: {len(first)}, {len(last)}, {len(steps)}.")
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    single = masks[4] & ~masks[2] & ~masks[3]
    for i, step in enumerate(steps):
        if single >> i & 1 and step <= 0:
            raise ValueError("A single index can't have a negative stride.")
    return python_index(first, last, steps, dict(zip(names, masks)))
