"""Rows that are added to others by their numbers: scatters, sparse updates of optimizers, sums of segments. And distinct
elements.

Rows with one number are added in turn. numpy's kernels add them up first, so results may differ in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.base.packed_strings import unpacked
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.graph.ops.state.update import TABLE, Update

from ..array import gather as gathering
from ..array import unique as distinct
from ..math import segment
from ..sparse import segment as sparse
from ..state import scatter, training
from . import update
from .elementwise import FLOATS, NUMBERS
from .library import function, put

# ---- rows of variables


def _scatters(name: str, ufunc: Any) -> Callable[..., Any]:
    """`f(buffer, numbers, rows)`, in place. The numbers have been checked."""

    def python(buffer: Any, at: Any, rows: Any) -> None:
        if ufunc is None:
            buffer[at] = rows
            return
        at, rows = scatter.sum_duplicates(np, at, rows)
        buffer[at] = ufunc(buffer[at], rows)

    return function(name, python)


_add = _scatters("scatter_add", np.add)
_subtract = _scatters("scatter_sub", np.subtract)
_replace = _scatters("scatter_update", None)
_summed = function("sum_duplicates", lambda at, rows: scatter.sum_duplicates(np, at, rows))


def sum_duplicates(xp: Any, indices: Any, rows: Any) -> Any:
    """Each index once, with the sum of its rows."""
    return _summed(indices, rows)


_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native"}


def _changes_rows(op: str, how: Callable[..., Any]) -> None:
    """Registers the kernel of `Resource{op}`, and that of `op`, whose value is the variable's."""

    @kernel(f"Resource{op}", **_OPTIONS)
    def change(xp: Any, ref: VariableState, indices: Any, updates: Any) -> None:
        buffer = ref.writable()
        how(buffer, *scatter.flat_rows(np, buffer, indices, updates))

    @kernel(op, **_OPTIONS)
    def change_and_read(xp: Any, ref: VariableState, indices: Any, updates: Any) -> Any:
        change(xp, ref, indices, updates)
        return ref.read()


for _op, _how in (("ScatterAdd", _add), ("ScatterSub", _subtract), ("ScatterUpdate", _replace)):
    _changes_rows(_op, _how)


def _update_rows(xp: Any, row: Update, inputs: tuple[Any, ...], flag: bool) -> None:
    training.update_rows(xp, row, inputs, flag, sum_duplicates, update.compute)


for _row in TABLE:
    if _row.sparse is not None and not _row.moves:
        kernel(f"Sparse{_row.dense_type}", **_OPTIONS)(training.kernel_of(_row, True, _update_rows))


@kernel("SparseApplyAdam", **_OPTIONS)
def sparse_adam(
    xp: Any,
    var: VariableState,
    m: VariableState,
    v: VariableState,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    indices: Any,
) -> None:
    arguments = (beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, indices)
    training.adam_of_rows(xp, var, m, v, *arguments, sum_duplicates)


# ---- segments

_segment_sum = function("segment_sum", lambda data, ids: segment.segment_sum(np, data, ids))
_unsorted_sum = function(
    "unsorted_segment_sum",
    lambda data, ids, count, out=None: segment.unsorted_segment_sum(np, data, ids, count, out=out),
)


def _deep(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 1


_segment_mean = function("segment_mean", lambda data, ids: segment.segment_mean(np, data, ids))


@kernel("SegmentMean", dtypes=FLOATS, can=_deep, **_OPTIONS)
def segment_mean(xp: Any, data: Any, ids: Any) -> Any:
    return _segment_mean(data, ids)


@kernel("SegmentSum", dtypes=FLOATS, can=_deep, **_OPTIONS)
def segment_sum(xp: Any, data: Any, ids: Any) -> Any:
    return _segment_sum(data, ids)


def _picks_rows(op: str, name: str, python: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of `op`, without and with a number of segments."""
    picked = function(name, lambda data, indices, ids, count=None: python(np, data, indices, ids, count))

    @kernel(op, f"{op}WithNumSegments", dtypes=FLOATS, **_OPTIONS)
    def reduce_picked(xp: Any, data: Any, indices: Any, ids: Any, count: Any = None) -> Any:
        return picked(data, indices, ids, count)

    return reduce_picked


sparse_segment_sum = _picks_rows("SparseSegmentSum", "sparse_segment_sum", sparse.sparse_segment_sum)
sparse_segment_mean = _picks_rows("SparseSegmentMean", "sparse_segment_mean", sparse.sparse_segment_mean)
sparse_segment_sqrt_n = _picks_rows("SparseSegmentSqrtN", "sparse_segment_sqrt_n", sparse.sparse_segment_sqrt_n)


def _numbered(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[1]) > 0


@kernel("UnsortedSegmentSum", dtypes=NUMBERS, can=_numbered, **_OPTIONS)
def unsorted_segment_sum(xp: Any, data: Any, ids: Any, count: Any, *, out: Any = None) -> Any:
    return _unsorted_sum(data, ids, count, out)


_extreme = function("unsorted_segment_extreme")


@kernel("UnsortedSegmentMax", can=_numbered, **_OPTIONS)
def unsorted_segment_max(xp: Any, data: Any, ids: Any, count: Any, *, out: Any = None) -> Any:
    largest = _extreme(data, ids, count, False)
    return segment.unsorted_segment_max(xp, data, ids, count, out=out) if largest is None else put(largest, out)


@kernel("UnsortedSegmentMin", can=_numbered, **_OPTIONS)
def unsorted_segment_min(xp: Any, data: Any, ids: Any, count: Any, *, out: Any = None) -> Any:
    smallest = _extreme(data, ids, count, True)
    return segment.unsorted_segment_min(xp, data, ids, count, out=out) if smallest is None else put(smallest, out)


@kernel("ScatterNd", dtypes=NUMBERS, can=_deep, **_OPTIONS)
def scatter_nd(xp: Any, indices: Any, updates: Any, shape: Any, *, out: Any = None) -> Any:
    if indices.shape[-1] != 1 or len(shape) != updates.ndim - indices.ndim + 2 or indices.min(initial=0) < 0:
        return gathering.scatter_nd(np, indices, updates, shape, out=out)
    sums = _nd_sum(updates, indices[..., 0], int(shape[0]), out)
    fits = sums is not None and sums.shape == tuple(shape.tolist())
    return sums if fits else gathering.scatter_nd(np, indices, updates, shape, out=out)


_nd_sum = function("unsorted_segment_sum")

# ---- distinct elements

_KEYS = frozenset((dtypes.int32, dtypes.int64, dtypes.string))
_unique = function(
    "unique",
    lambda x, wide, *packs: distinct.unique_with_counts(
        np, unpacked(x), out_idx=dtypes.int64 if wide else dtypes.int32
    ),
)


@kernel("Unique", dtypes=_KEYS, packed="read", **_OPTIONS)
def unique(xp: Any, x: Any, *, out_idx: DType, packs: Collection[int] = ()) -> Any:
    return _unique(x, out_idx is dtypes.int64, 0 in packs)[:2]


@kernel("UniqueWithCounts", dtypes=_KEYS, packed="read", **_OPTIONS)
def unique_with_counts(xp: Any, x: Any, *, out_idx: DType, packs: Collection[int] = ()) -> Any:
    return _unique(x, out_idx is dtypes.int64, 0 in packs)
