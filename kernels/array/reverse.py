"""Kernels that put elements in another order: reverse_sequence, roll, invert_permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

from ..strings.objects import moving_kernel
from .shape import axis_in

_WORTH_SELECTING = 2000


_FOLDS = 8


# ---- permutations


@kernel("InvertPermutation")
def invert_permutation(xp: Any, x: Any) -> Any:
    if x.ndim != 1:
        raise ValueError(f"A permutation is a vector, but the shape is {x.shape}.")
    if not np.array_equal(np.sort(x), np.arange(len(x))):
        raise ValueError(f"{x.tolist()} is no permutation of 0 .. {len(x) - 1}.")
    result = xp.empty_like(x)
    result[x] = xp.arange(len(x), dtype=x.dtype)
    return result


@moving_kernel("ReverseSequence")
def reverse_sequence(xp: Any, x: Any, lengths: Any, *, seq_dim: int, batch_dim: int) -> Any:
    along, batch = axis_in(seq_dim, x.ndim), axis_in(batch_dim, x.ndim)
    size = x.shape[along]
    if along == batch or lengths.shape != (x.shape[batch],):
        raise ValueError(f"Lengths of shape {lengths.shape} don't fit dimension {batch} of {x.shape}.")
    if lengths.size and not (0 <= lengths.min() and lengths.max() <= size):
        raise ValueError(f"The lengths {lengths.tolist()} are not all in [0, {size}].")
    positions = xp.arange(size)
    ends = lengths[:, None].astype(positions.dtype)
    places = xp.where(positions < ends, ends - 1 - positions, positions)
    if max(along, batch) == 1 and x.flags.c_contiguous:  # rows of one matrix, which are taken as they are
        count = len(lengths)
        numbers = places + xp.arange(count)[:, None] * size if along else places.T * count + xp.arange(count)
        return x.reshape(count * size, -1 if x.size else 0).take(numbers.reshape(-1), 0).reshape(x.shape)
    rows = x.swapaxes(0, batch) if batch == 0 else xp.moveaxis(x, batch, 0)
    at = along + (along < batch)
    places = places.reshape([len(rows) if i == 0 else size if i == at else 1 for i in range(x.ndim)])
    return xp.moveaxis(xp.take_along_axis(rows, places, at), 0, batch)


@moving_kernel("Roll")
def roll(xp: Any, x: Any, shift: Any, axis: Any) -> Any:
    if x.ndim == 0 or shift.shape != axis.shape or shift.ndim > 1:
        raise ValueError(f"roll: shifts {shift.shape} and axes {axis.shape} don't fit a tensor of shape {x.shape}.")
    axes = [axis_in(a, x.ndim) for a in axis.reshape(-1).tolist()]
    return xp.roll(x, shift.reshape(-1).tolist(), axes)
