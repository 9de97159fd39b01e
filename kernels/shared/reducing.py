"""Sums and extremes of contiguous arrays of floats, in fewer and longer inner loops than those of numpy's reductions.

Other arrays, and small arrays, are reduced by numpy. The sums are exact to the same order: none adds more than 64 numbers in a
row before it adds what it has pairwise. Sums of columns add one row after the other, as numpy does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from . import blas

_LEAST = 1024
_BLOCK = 1024

Axis = int | tuple[int, ...]


def sum_over(xp: Any, x: Any, axis: Axis, keep_dims: bool = False, out: Any = None) -> Any:
    """The sum over one axis or several, in the type of `x`."""
    if x.size < _LEAST or not _is_fast(xp, x):
        return xp.add.reduce(x, axis, x.dtype, out, keep_dims)
    if axis == 0 and x.ndim == 2 and out is None and not keep_dims:
        return blas.column_sums(x)
    split = split_of(x.shape, axis, keep_dims)
    if split is None:
        return xp.add.reduce(x, axis, x.dtype, out, keep_dims)
    flat = x.reshape(split.rows, -1)
    return split.given(blas.column_sums(flat) if split.columns else _row_sums(flat), out)


def mean_of_integers(xp: Any, x: Any, add: Callable[[Any, Any], Any], counts: Any) -> Any:
    """The means of groups of integers, rounded towards zero, whose sums may be beyond the type of `x`.

    Args:
        add: `add(values, kind)` sums the groups in the type `kind`.
        counts: how many elements each group has.
    """
    kind = np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64)
    counts = kind.type(counts) if np.ndim(counts) == 0 else xp.asarray(counts).astype(kind)
    if x.dtype.itemsize < 8:
        total = add(x, kind)
        return ((total - xp.fmod(total, counts)) // counts).astype(x.dtype)
    # The upper and the lower half of each number have sums of their own, which 64 bits hold.
    upper, lower = add(x >> 32, kind), add(x & 0xFFFFFFFF, kind)
    rest = ((upper % counts).astype(np.uint64) << np.uint64(32)) + (lower % counts).astype(np.uint64)
    parts = counts.astype(np.uint64)
    floor = ((upper // counts) << 32) + lower // counts + (rest // parts).astype(kind)
    return floor + ((floor < 0) & (rest % parts != 0)).astype(kind)


def largest(xp: Any, x: Any, axis: Axis, keep_dims: bool = False, out: Any = None) -> Any:
    """The maximum over one axis or several, of which there is at least one element."""
    return _extreme(xp, xp.maximum, x, axis, keep_dims, out)


def smallest(xp: Any, x: Any, axis: Axis, keep_dims: bool = False, out: Any = None) -> Any:
    """The minimum over one axis or several, of which there is at least one element."""
    return _extreme(xp, xp.minimum, x, axis, keep_dims, out)


def _extreme(xp: Any, ufunc: Any, x: Any, axis: Axis, keep_dims: bool, out: Any) -> Any:
    if xp is not np:  # cupy's ufuncs reduce sums and products only
        return (x.max if ufunc is xp.maximum else x.min)(axis, out, keep_dims)
    split = None if x.size < _LEAST or not _is_fast(xp, x) else split_of(x.shape, axis, keep_dims)
    if split is None or split.columns:
        return ufunc.reduce(x, axis, None, out, keep_dims)
    # Rows of one flat array: `reduce` takes longer from one row to the next.
    return split.given(ufunc.reduceat(x.reshape(-1), np.arange(0, x.size, x.size // split.rows)), out)


def _is_fast(xp: Any, x: Any) -> bool:
    return x.dtype.char in "fd" and xp is np and x.flags.c_contiguous


@dataclass(frozen=True, slots=True)
class Split:
    """An array as a matrix of `rows` rows, of which the rows or the `columns` are reduced, and the result's shape."""

    rows: int
    columns: bool
    shape: tuple[int, ...]

    def given(self, result: Any, out: Any) -> Any:
        if out is None:
            return result.reshape(self.shape) if self.shape else result[0]
        out[...] = result.reshape(self.shape)
        return out


@functools.lru_cache(1024)
def split_of(shape: tuple[int, ...], axis: Axis, keep_dims: bool) -> Split | None:
    """None for axes that are not all the first or all the last axes, and for axes that do not exist."""
    rank = len(shape)
    axes = (axis,) if isinstance(axis, int) else axis
    if not axes or not all(-rank <= a < rank for a in axes):
        return None
    places = sorted([a % rank for a in axes])
    first, last = places[0], places[-1]
    if places != list(range(first, last + 1)):
        return None
    sizes = tuple([1 if i in places else size for i, size in enumerate(shape) if keep_dims or i not in places])
    if last == rank - 1:
        return Split(prod(shape[:first]), False, sizes)
    return Split(prod(shape[: last + 1]), True, sizes) if first == 0 else None


def _row_sums(x: Any) -> Any:
    rows, columns = x.shape
    blocks = columns // _BLOCK
    if blocks < 2:
        return np.einsum("ij->i", x)
    whole = blocks * _BLOCK
    head = x[:, :whole].reshape(rows, blocks, _BLOCK) if rows > 1 else x[0, :whole].reshape(blocks, _BLOCK)
    total = np.add.reduce(np.einsum("...j->...", head), -1, keepdims=rows == 1)
    return total if whole == columns else total + np.einsum("ij->i", x[:, whole:])
