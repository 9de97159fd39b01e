"""Kernels of sorted orders: top_k and searches in sorted rows."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel

from ..math.segment import lowest
from .reverse import _FOLDS, _WORTH_SELECTING


def _search(xp: Any, rows: Any, values: Any, side: str, out_type: DType) -> Any:
    if rows.ndim != 2 or values.ndim != 2 or len(rows) != len(values):
        raise ValueError(f"searchsorted: the rows {rows.shape} don't fit the values {values.shape}.")
    positions = xp.empty(values.shape, out_type.numpy_dtype)
    for place, row, needle in zip(positions, rows, values):
        place[...] = xp.searchsorted(row, needle, side)
    if side == "left" and values.dtype.kind in "fV":
        positions[values != values] = 0  # nothing is less than a NaN, which numpy puts behind all
    return positions


@kernel("LowerBound")
def lower_bound(xp: Any, rows: Any, values: Any, *, out_type: DType) -> Any:
    return _search(xp, rows, values, "left", out_type)


@kernel("UpperBound")
def upper_bound(xp: Any, rows: Any, values: Any, *, out_type: DType) -> Any:
    return _search(xp, rows, values, "right", out_type)


@kernel("TopKV2")
def top_k(xp: Any, x: Any, k: Any) -> Any:
    count, size = int(k), x.shape[-1]
    if not 0 <= count <= size:
        raise ValueError(
            f"input must have at least k columns: the last dimension of {x.shape} has no {count} elements."
        )
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
    """The beginning of each row in a matrix of `height` rows and `width` columns, as a column."""
    return np.arange(0, height * width, width)[:, None]


def _selects(rows: Any, count: int) -> bool:
    many = rows.size >= _WORTH_SELECTING and rows.dtype.kind in "fiu"
    return many and 0 < 2 * _FOLDS * count <= rows.shape[1]


def _descending(xp: Any, rows: Any) -> Any:
    """The order of each row with the largest first, and of equals the lowest index. It is the order of a stable sort of the
    negated row. If numbers can't be negated (NaN goes first), it is that of the mirrored row, mirrored back."""
    if xp is np and rows.dtype.char in "fd" and rows.size:
        largest = np.maximum.reduce(rows, None)
        if largest == largest:
            return (-rows).argsort(-1, "stable")
    return rows.shape[1] - 1 - xp.argsort(rows[:, ::-1], axis=-1, kind="stable")[:, ::-1]


def _top_few(xp: Any, rows: Any, count: int) -> Any:
    """The same for the `count` largest of each row, by a sort of those that may be among them. None for rows with NaNs or many
    equal numbers."""
    height, size = rows.shape
    width = size // _FOLDS
    whole = _FOLDS * width
    most = xp.maximum.reduce(rows[:, :whole].reshape(height, _FOLDS, width), 1)
    xp.maximum(most[:, : size - whole], rows[:, whole:], out=most[:, : size - whole])
    if rows.dtype.kind == "f" and xp.isnan(most).any():
        return None
    # The count-th largest of some elements is not above that of all.
    least = xp.partition(most, width - count, axis=-1)[:, width - count, None]
    candidates = xp.flatnonzero(rows >= least)
    owners = candidates // size
    counts = xp.bincount(owners, minlength=height)
    if counts.max() > 4 * count + _FOLDS:
        return None
    places = xp.arange(candidates.size) - (xp.cumsum(counts) - counts)[owners]
    few = xp.full((height, int(counts.max())), lowest(rows.dtype), rows.dtype)
    few[owners, places] = rows.reshape(-1)[candidates]
    columns = xp.zeros(few.shape, xp.intp)
    columns[owners, places] = candidates - owners * size
    return xp.take_along_axis(columns, _descending(xp, few)[:, :count], 1)


@kernel("InTopKV2")
def in_top_k(xp: Any, predictions: Any, targets: Any, k: Any) -> Any:
    rows, classes = predictions.shape
    if targets.shape != (rows,):
        raise ValueError(f"in_top_k: predictions of shape {predictions.shape}, but targets of shape {targets.shape}.")
    valid = (targets >= 0) & (targets < classes)
    if not classes:
        return valid
    chosen = xp.take_along_axis(predictions, xp.where(valid, targets, 0)[:, None], 1)
    better = (predictions > chosen).sum(axis=1)
    return valid & xp.isfinite(predictions).all(axis=1) & (better < k)
