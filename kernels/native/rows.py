"""Rows by their numbers, slices with steps, one-hot vectors, the largest of each row, and concatenations.

All have the same bits as the Python kernels, which say what is wrong with numbers. Slices of small tensors are copies in
C's order. They cost no more than a view of so few elements, and what reads them finds them in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import num_elements

from ..array import gather as gathering
from ..array import index as indexing
from ..array import join as joining
from ..array import one_hot as array_one_hot
from ..array import shape as array_shape
from ..array import sort as array_sort
from ..math import reduction
from .elementwise import NUMBERS
from .library import function, put

_FEW = 2000
_DEEPEST = 8


def _few(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return 1 < (num_elements(shapes[0]) or 0) < _FEW


# ---- gathers

_gather = function("gather", lambda params, indices, out=None: gathering.gather(np, params, indices, out=out))
_gather_along = function(
    "gather", lambda params, indices, out, axis: gathering.gather_v2(np, params, indices, axis, batch_dims=0, out=out)
)


def _rowed(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0 and len(shapes[1]) > 0


@kernel("Gather", device="CPU", dtypes=NUMBERS, library="native", can=_rowed)
def gather(xp: Any, params: Any, indices: Any, *, out: Any = None) -> Any:
    return _gather(params, indices) if out is None else _gather(params, indices, out)


def _plain(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return attrs["batch_dims"] == 0 and len(shapes[0]) > 0 and len(shapes[1]) > 0


@kernel("GatherV2", device="CPU", dtypes=NUMBERS, library="native", can=_plain)
def gather_v2(xp: Any, params: Any, indices: Any, axis: Any, *, batch_dims: int, out: Any = None) -> Any:
    return _gather_along(params, indices, out, np.asarray(axis))  # a constant axis is a number of numpy's


# ---- one-hot vectors

_one_hot = function(
    "one_hot",
    lambda indices, depth, on, off, out=None: array_one_hot.one_hot(np, indices, depth, on, off, axis=-1, out=out),
)


def _last(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0 and attrs["axis"] in (-1, len(shapes[0]))


@kernel("OneHot", device="CPU", library="native", can=_last)
def one_hot(xp: Any, indices: Any, depth: Any, on: Any, off: Any, *, axis: int, out: Any = None) -> Any:
    return _one_hot(indices, depth, on, off) if out is None else _one_hot(indices, depth, on, off, out)


# ---- the largest along a dimension, and the largest of each row

_argmax = function("argmax", lambda x, axis: reduction.argmax(np, x, axis, output_type=dtypes.int64))
_top_k = function("top_k", lambda x, k: array_sort.top_k(np, x, k))


def _deep(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 1


def _ranked(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0


@kernel("ArgMax", device="CPU", dtypes=frozenset((dtypes.int64,)), library="native", can=_deep)
def argmax(xp: Any, x: Any, axis: Any, *, output_type: DType) -> Any:
    return _argmax(x, axis)


@kernel("TopKV2", device="CPU", library="native", can=_ranked, pays=_few)
def top_k(xp: Any, x: Any, k: Any) -> Any:
    return _top_k(x, k)


# ---- dimensions backwards

_reversed = function("reversed")


@kernel("ReverseV2", device="CPU", dtypes=dtypes.NUMERIC, library="native")
def reverse(xp: Any, x: Any, axis: Any, *, out: Any = None) -> Any:
    index = array_shape.backwards(tuple(axis.reshape(-1).tolist()), x.ndim)
    copied = _reversed(x, sum(1 << axis for axis, part in enumerate(index) if part.step), out)
    return put(x[index], out) if copied is None else copied


# ---- slices

_NONE = {"ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}


def _sliced(x: Any, begin: Any, end: Any, strides: Any, begin_mask: int, end_mask: int) -> Any:
    return indexing.strided_slice(np, x, begin, end, strides, begin_mask=begin_mask, end_mask=end_mask, **_NONE)


_slice = function("slice", _sliced)


def _can_slice(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    plain = not (attrs["ellipsis_mask"] or attrs["new_axis_mask"] or attrs["shrink_axis_mask"])
    return plain and 0 < len(shapes[0]) <= _DEEPEST and tuple(shapes[1]) == (len(shapes[0]),)


@kernel("StridedSlice", device="CPU", dtypes=NUMBERS, library="native", can=_can_slice, pays=_few)
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
    return _slice(x, begin, end, strides, begin_mask, end_mask)


# ---- concatenations

_join = function("join", lambda values, axis, out: joining.concat(np, values, axis, out=out))


@kernel("ConcatV2", device="CPU", dtypes=NUMBERS | {dtypes.uint8, dtypes.bool}, library="native")
def concat(xp: Any, values: Any, axis: Any, *, out: Any = None) -> Any:
    if out is None:  # for a small result, which numpy makes as it copies
        return joining.concat(np, values, axis)
    return _join(values, np.asarray(axis), out)  # a constant axis is a number of numpy's
