"""Kernels of ops that order, rank and compare elements by value, and of those that permute them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from actorflow.dtypes import DType
from actorflow.registry.kernel import kernel

from .segment import lowest
from .shaping import axis_in
from .strings import moving_kernel

_WORTH_SELECTING = 2000
_FOLDS = 8


@kernel("TopKV2")
def top_k(xp: Any, x: Any, k: Any) -> Any:
    count, size = int(k), x.shape[-1]
    if not 0 <= count <= size:
        raise ValueError(f"top_k: the last dimension of {x.shape} has no {count} elements.")
    rows = x.reshape(-1, size) if size else x.reshape(math.prod(x.shape[:-1]), 0)
    order = _top_few(xp, rows, count) if _selects(rows, count) else None
    if order is None:
        order = _descending(xp, rows)[:, :count]
    if xp is np and order.size:
        values = rows.reshape(-1).take(order + _beginnings(*rows.shape))
    else:
        values = (
            rows.reshape(-1).take(order + xp.arange(0, rows.size, size)[:, None]) if order.size else rows[:, :count]
        )
    shape = (*x.shape[:-1], count)
    return values.reshape(shape), order.astype(np.int32).reshape(shape)


@functools.lru_cache(64)
def _beginnings(height: int, width: int) -> Any:
    """Where each row begins in a matrix of so many rows and columns, as a column."""
    return np.arange(0, height * width, width)[:, None]


def _selects(rows: Any, count: int) -> bool:
    many = rows.size >= _WORTH_SELECTING and rows.dtype.kind in "fiu"
    return many and 0 < 2 * _FOLDS * count <= rows.shape[1]


def _descending(xp: Any, rows: Any) -> Any:
    """The order of each row with the largest first, and of equals the lowest index: that of a stable sort of the negated row,
    or where numbers can't be negated (NaN goes first), of the mirrored row, mirrored back."""
    if xp is np and rows.dtype.char in "fd" and rows.size:
        largest = np.maximum.reduce(rows, None)
        if largest == largest:
            return (-rows).argsort(-1, "stable")
    return rows.shape[1] - 1 - xp.argsort(rows[:, ::-1], axis=-1, kind="stable")[:, ::-1]


def _top_few(xp: Any, rows: Any, count: int) -> Any:
    """The same for the `count` largest of each row, by a sort of those that may be among them. None where there are NaNs or
    many equal ones."""
    height, size = rows.shape
    width = size // _FOLDS
    whole = _FOLDS * width
    most = xp.maximum.reduce(rows[:, :whole].reshape(height, _FOLDS, width), 1)
    xp.maximum(most[:, : size - whole], rows[:, whole:], out=most[:, : size - whole])
    if rows.dtype.kind == "f" and xp.isnan(most).any():
        return None
    # The count-th largest of some elements is not above that of all.
    least = xp.partition(most, width - count, axis=-1)[:, width - count, None]
    found = xp.flatnonzero(rows >= least)
    owners = found // size
    counts = xp.bincount(owners, minlength=height)
    if counts.max() > 4 * count + _FOLDS:
        return None
    places = xp.arange(found.size) - (xp.cumsum(counts) - counts)[owners]
    few = xp.full((height, int(counts.max())), lowest(rows.dtype), rows.dtype)
    few[owners, places] = rows.reshape(-1)[found]
    columns = xp.zeros(few.shape, xp.intp)
    columns[owners, places] = found - owners * size
    return xp.take_along_axis(columns, _descending(xp, few)[:, :count], 1)


@kernel("InTopKV2")
def in_top_k(xp: Any, predictions: Any, targets: Any, k: Any) -> Any:
    rows, classes = predictions.shape
    if targets.shape != (rows,):
        raise ValueError(f"in_top_k: predictions of shape {predictions.shape}, but targets of shape {targets.shape}.")
    known = (targets >= 0) & (targets < classes)
    if not classes:
        return known
    chosen = xp.take_along_axis(predictions, xp.where(known, targets, 0)[:, None], 1)
    better = (predictions > chosen).sum(axis=1)
    return known & xp.isfinite(predictions).all(axis=1) & (better < k)


# ---- sets


def _distinct(x: Any, out_idx: DType) -> tuple[Any, Any, Any]:
    """The distinct elements in the order in which they first appear, for each element which it is, and the counts."""
    if x.ndim != 1:
        raise ValueError(f"unique takes a vector, but the shape is {x.shape}.")
    values, first, which, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    kind = out_idx.as_numpy_dtype
    return values[order], rank[which].astype(kind), counts[order].astype(kind)


@kernel("Unique")
def unique(xp: Any, x: Any, *, out_idx: DType) -> Any:
    return _distinct(x, out_idx)[:2]


@kernel("UniqueWithCounts")
def unique_with_counts(xp: Any, x: Any, *, out_idx: DType) -> Any:
    return _distinct(x, out_idx)


@kernel("ListDiff")
def list_diff(xp: Any, x: Any, y: Any, *, out_idx: DType) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"setdiff1d takes vectors, but the shapes are {x.shape} and {y.shape}.")
    places = np.flatnonzero(~np.isin(x, y))
    return x[places], places.astype(out_idx.as_numpy_dtype)


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
    ends = lengths[:, None]
    places = xp.where(positions < ends, ends - 1 - positions, positions)
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


# ---- parts of matrices, and checks


@kernel("MatrixBandPart")
def matrix_band_part(xp: Any, x: Any, lower: Any, upper: Any) -> Any:
    height, width = x.shape[-2:]
    if lower > max(height, 0) or upper > max(width, 0):
        raise ValueError(f"A matrix of {height} x {width} has no {int(lower)} diagonals below and {int(upper)} above.")
    distance = xp.arange(height)[:, None] - xp.arange(width)
    inside = ((lower < 0) | (distance <= lower)) & ((upper < 0) | (-distance <= upper))
    return xp.where(inside, x, xp.zeros((), x.dtype))


@kernel("CheckNumerics")
def check_numerics(xp: Any, x: Any, *, message: str) -> Any:
    if not xp.isfinite(x).all():
        found = [name for name, test in (("NaN", xp.isnan), ("Inf", xp.isinf)) if test(x).any()]
        raise ValueError(f"{message} : Tensor had {' and '.join(found)} values")
    return x
