"""Kernels of reductions and scans.

Halves are summed and multiplied in float32. Without a type numpy would give int64 for an int32, so the kernels name it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INTEGER, DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Gpu
from actorflow.errors import InvalidArgumentError

from ..shared.elementwise import scalar
from ..shared.reducing import largest, mean_of_integers, smallest, sum_over

_HALVES = frozenset((dt.float16, dt.bfloat16))


def _axes(axis: Any) -> Any:
    """An axis input as numpy takes it."""
    return tuple(axis.tolist()) if axis.ndim else axis.item()


@kernel("Sum", dtypes=_HALVES, gpu=Gpu(host=(1,), follows=True, recorded=True))
def sum_halves(xp: Any, x: Any, axis: Any, *, keep_dims: bool) -> Any:
    return x.sum(_axes(axis), xp.float32, None, keep_dims).astype(x.dtype)


@kernel("Sum", gpu=Gpu(host=(1,), follows=True, recorded=True))
def sum_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return sum_over(xp, x, _axes(axis), keep_dims, out)


@kernel("Prod", dtypes=_HALVES, gpu=Gpu(host=(1,), follows=True, recorded=True))
def prod_halves(xp: Any, x: Any, axis: Any, *, keep_dims: bool) -> Any:
    return x.prod(_axes(axis), xp.float32, None, keep_dims).astype(x.dtype)


@kernel("Prod", gpu=Gpu(host=(1,), follows=True, recorded=True))
def prod_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return (
        x.prod(_axes(axis), x.dtype, None, keep_dims) if out is None else x.prod(_axes(axis), x.dtype, out, keep_dims)
    )


def _count(x: Any, total: Any) -> int:
    """How many elements entered each sum."""
    return int(x.size // max(total.size, 1))


@kernel("Mean", dtypes=_HALVES, gpu=Gpu(host=(1,), follows=True, recorded=True))
def mean_halves(xp: Any, x: Any, axis: Any, *, keep_dims: bool) -> Any:
    total = x.sum(_axes(axis), xp.float32, None, keep_dims)
    return (total / xp.float32(_count(x, total))).astype(x.dtype)


@kernel("Mean", dtypes=INTEGER, gpu=Gpu(host=(1,), follows=True, recorded=True))
def mean_integers(xp: Any, x: Any, axis: Any, *, keep_dims: bool) -> Any:
    def add(values: Any, kind: Any) -> Any:
        return values.sum(_axes(axis), kind, None, keep_dims)

    count = math.prod(x.shape[along] for along in axis.reshape(-1).tolist())
    return mean_of_integers(xp, x, add, max(count, 1))


@kernel("Mean", gpu=Gpu(host=(1,), follows=True, recorded=True))
def mean_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    # numpy's mean warns of an empty slice by another way than its floating-point errors, and takes twice as long.
    total = sum_over(xp, x, _axes(axis), keep_dims, out)
    if out is None and x.dtype.char in "fd" and xp is np:
        return total / scalar(np, x.dtype, x.size // (total.size or 1))
    count = scalar(xp, total.real.dtype, _count(x, total))
    return xp.true_divide(total, count, out=out)


# ---- extremes


def _limit(x: Any, largest: bool) -> Any:
    """The minimum (maximum) of nothing: the type's largest (smallest) value."""
    dtype = dt.as_dtype(x.dtype)
    if dtype.is_floating:
        return float("inf") if largest else float("-inf")
    return dtype.max if largest else dtype.min


def _extreme_of_nothing(xp: Any, x: Any, axis: Any, keep_dims: bool, maximum: bool, out: Any) -> Any:
    shape = x.sum(_axes(axis), xp.float32, None, keep_dims).shape
    result = xp.empty(shape, x.dtype) if out is None else out
    result[...] = _limit(x, not maximum)
    return result


@kernel("Max", gpu=Gpu(host=(1,), follows=True, recorded=True))
def max_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    if x.size:
        return largest(xp, x, _axes(axis), keep_dims, out)
    return _extreme_of_nothing(xp, x, axis, keep_dims, True, out)


@kernel("Min", gpu=Gpu(host=(1,), follows=True, recorded=True))
def min_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    if x.size:
        return smallest(xp, x, _axes(axis), keep_dims, out)
    return _extreme_of_nothing(xp, x, axis, keep_dims, False, out)


@kernel("Any", gpu=Gpu(host=(1,), follows=True, recorded=True))
def any_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return xp.any(x, axis=_axes(axis), out=out, keepdims=keep_dims)


@kernel("All", gpu=Gpu(host=(1,), follows=True, recorded=True))
def all_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return xp.all(x, axis=_axes(axis), out=out, keepdims=keep_dims)


@kernel("Unreduce", gpu=Gpu(host=(1, 2), recorded=True))
def unreduce(xp: Any, x: Any, shape: Any, axis: Any, *, keep_dims: bool) -> Any:
    sizes = tuple(shape.tolist())
    if not keep_dims:
        gone = {int(a) % max(len(sizes), 1) for a in axis.reshape(-1)}
        x = x.reshape(tuple(1 if i in gone else size for i, size in enumerate(sizes)))
    return xp.broadcast_to(x, sizes)


# ---- along one axis


def _nonempty(x: Any, axis: Any) -> int:
    along = int(axis)
    if not -x.ndim <= along < x.ndim or x.shape[along] == 0:
        raise InvalidArgumentError(
            f"Expected dimension in the range [{-x.ndim}, {x.ndim}), but got {along}, and one of {x.shape} that has elements."
        )
    return along


@kernel("ArgMax", gpu=Gpu(host=(1,)))
def argmax(xp: Any, x: Any, axis: Any, *, output_type: DType) -> Any:
    return _typed(_places(xp, x, _nonempty(x, axis), "argmax"), output_type)


@kernel("ArgMin", gpu=Gpu(host=(1,)))
def argmin(xp: Any, x: Any, axis: Any, *, output_type: DType) -> Any:
    return _typed(_places(xp, x, _nonempty(x, axis), "argmin"), output_type)


def _places(xp: Any, x: Any, axis: int, name: str) -> Any:
    """The first places of the extremes. A NaN is none where another value is there, unlike in numpy."""
    places = getattr(x, name)(axis)
    if x.dtype.kind in "iub":
        return places
    if xp is np and x.dtype.kind == "f":
        at = np.take_along_axis(x, np.expand_dims(places, axis), axis)
        if not np.isnan(at).any():
            return places
    worst = x.dtype.type("-inf" if name == "argmax" else "inf")
    return getattr(xp.where(xp.isnan(x), worst, x), name)(axis)


def _typed(places: Any, dtype: DType) -> Any:
    kind = dtype.numpy_dtype
    return places if places.dtype == kind else places.astype(kind)


def _scan(xp: Any, accumulate: Any, start: float, x: Any, axis: Any, exclusive: bool, reverse: bool, out: Any) -> Any:
    """numpy's cumulative function with TensorFlow's switches: on flipped views, and shifted by one element for `exclusive`."""
    if axis.ndim:
        raise ValueError(f"axis must be a scalar, not of shape {axis.shape}.")
    axis = int(axis)
    if not (exclusive or reverse):
        return accumulate(x, axis=axis, dtype=x.dtype, out=out)
    target = xp.empty(x.shape, x.dtype) if out is None else out
    source, view = (xp.flip(x, axis), xp.flip(target, axis)) if reverse else (x, target)
    if not exclusive:
        accumulate(source, axis=axis, dtype=x.dtype, out=view)
        return target
    moved, filled = xp.moveaxis(source, axis, 0), xp.moveaxis(view, axis, 0)
    filled[:1] = start
    accumulate(moved[:-1], axis=0, dtype=x.dtype, out=filled[1:])
    return target


@kernel("Cumsum", gpu=Gpu(host=(1,)))
def cumsum(xp: Any, x: Any, axis: Any, *, exclusive: bool, reverse: bool, out: Any = None) -> Any:
    return _scan(xp, np.add.accumulate if xp is np else xp.cumsum, 0, x, axis, exclusive, reverse, out)


@kernel("Cumprod", gpu=Gpu(host=(1,)))
def cumprod(xp: Any, x: Any, axis: Any, *, exclusive: bool, reverse: bool, out: Any = None) -> Any:
    return _scan(xp, np.multiply.accumulate if xp is np else xp.cumprod, 1, x, axis, exclusive, reverse, out)


@kernel("CumulativeLogsumexp")
def cumulative_logsumexp(xp: Any, x: Any, axis: Any, *, exclusive: bool, reverse: bool, out: Any = None) -> Any:
    return _scan(xp, xp.logaddexp.accumulate, float("-inf"), x, axis, exclusive, reverse, out)
