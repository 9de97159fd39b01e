"""Kernels of reductions over groups of rows."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

from ..array.constant import filled
from ..array.gather import WORTH_SCIPY, accumulate, add_rows
from ..shared.reducing import mean_of_integers

_FEW = 64
_SPARSE = 2 * _FEW  # an id up to which few are missing


def _check_length(data: Any, ids: Any) -> None:
    if ids.shape != data.shape[:1]:
        raise ValueError(f"There are segment ids of shape {ids.shape} for data of shape {data.shape}.")


def check_order(ids: Any, length: int | None = None) -> None:
    """Raises ValueError where sorted segment ids are negative, fall, or (with a `length`) reach it."""
    if not ids.size:
        return
    if ids[0] >= 0 and (ids[1:] >= ids[:-1]).all() and (length is None or ids[-1] < length):
        return
    if ids[-1] < 0:
        raise ValueError(f"segment ids must be >= 0, but the last is {int(ids[-1])}.")
    limit = int(ids[-1]) + 1 if length is None else length
    outside = (ids < 0) | (ids >= limit)
    if outside.any():
        raise ValueError(
            f"Segment id {int(ids[outside.argmax()])} out of range [0, {limit}), possibly because 'segment_ids' input is not "
            f"sorted."
        )
    raise ValueError("segment ids must be >= 0, and never fall: these segment ids are not increasing.")


def _runs(xp: Any, ids: Any) -> tuple[Any, Any]:
    """The start of each run of equal ids, and the ids of the runs. There is at least one run."""
    if ids.size > _FEW:
        check_order(ids)
        new = xp.empty(ids.size, bool)
        new[0] = True
        xp.not_equal(ids[1:], ids[:-1], out=new[1:])
        starts = xp.flatnonzero(new)
        return starts, ids[starts]
    return _few_runs(ids.tobytes(), ids.dtype)


@functools.lru_cache(1024)
def _few_runs(ids: bytes, kind: Any) -> tuple[Any, Any]:
    """The same for a few ids, which mostly are those of the step before: looked up, they cost less than a call of numpy."""
    vector = np.frombuffer(ids, kind)
    check_order(vector)
    numbers = vector.tolist()
    values, starts = numbers[:1], [0]
    for place, number in enumerate(numbers):
        if number != values[-1]:
            values.append(number)
            starts.append(place)
    return np.array(starts), np.array(values)


@functools.lru_cache(1024)
def _segments_of_few(ids: bytes, kind: Any, rows: int) -> tuple[Any, list[int]] | None:
    """The places at which the rows of each id up to the last begin, and which ids are missing: they have the next one's place.
    None where `rows` is zero, more than a few, or not the number of ids."""
    if not 0 < rows <= _FEW or len(ids) != rows * kind.itemsize:
        return None
    starts, distinct = _few_runs(ids, kind)
    if distinct[-1] > _SPARSE:
        return None
    every = np.arange(distinct[-1] + 1)
    return starts[np.searchsorted(distinct, every)], np.setdiff1d(every, distinct).tolist()


def _sorted(xp: Any, ufunc: Any, data: Any, ids: Any, empty: int) -> tuple[Any, Any, Any]:
    """The reduction of each run of equal ids, with `empty` in rows that have none; the ids of the runs, their starts."""
    _check_length(data, ids)
    if ids.size == 0:
        return xp.zeros((0, *data.shape[1:]), data.dtype), ids, ids
    starts, present = _runs(xp, ids)
    height = int(present[-1]) + 1
    if data.size and len(present) == height:
        return ufunc.reduceat(data, starts, 0, data.dtype), present, starts
    result = xp.full((height, *data.shape[1:]), empty, data.dtype)
    if result.size:
        result[present] = ufunc.reduceat(data, starts, axis=0, dtype=data.dtype)
    return result, present, starts


@kernel("SegmentSum")
def segment_sum(xp: Any, data: Any, ids: Any) -> Any:
    if ids.size <= _FEW and xp is np and data.size and ids.ndim == 1 <= data.ndim:
        segments = _segments_of_few(ids.tobytes(), ids.dtype, len(data))
        if segments is not None:  # one call of numpy
            places, missing = segments
            result = np.add.reduceat(data, places, 0, data.dtype)
            for place in missing:
                result[place] = 0
            return result
    if xp is np and data.size >= WORTH_SCIPY and data.ndim > 1:
        _check_length(data, ids)
        check_order(ids)
        result = np.zeros((int(ids[-1]) + 1, *data.shape[1:]), data.dtype)
        if add_rows(result, ids, data):
            return result
    return _sorted(xp, xp.add, data, ids, 0)[0]


@kernel("SegmentMean")
def segment_mean(xp: Any, data: Any, ids: Any) -> Any:
    result, present, starts = _sorted(xp, xp.add, data, ids, 0)
    lengths = np.diff(starts, append=ids.size)
    counts = lengths.reshape((-1,) + (1,) * (data.ndim - 1))
    if data.dtype.kind in "iu":

        def add(values: Any, kind: Any) -> Any:
            return _sorted(xp, xp.add, values.astype(kind), ids, 0)[0][present]

        result[present] = mean_of_integers(xp, data, add, counts)
        return result
    result[present] = (result[present] / counts).astype(data.dtype)
    return result


@kernel("SegmentProd")
def segment_prod(xp: Any, data: Any, ids: Any) -> Any:
    return _sorted(xp, xp.multiply, data, ids, 1)[0]


@kernel("SegmentMax")
def segment_max(xp: Any, data: Any, ids: Any) -> Any:
    return _sorted(xp, xp.maximum, data, ids, 0)[0]


@kernel("SegmentMin")
def segment_min(xp: Any, data: Any, ids: Any) -> Any:
    return _sorted(xp, xp.minimum, data, ids, 0)[0]


def _unsorted(xp: Any, ufunc: Any, data: Any, ids: Any, count: Any, empty: Any, out: Any) -> Any:
    if data.shape[: ids.ndim] != ids.shape:
        raise ValueError(f"Data of shape {data.shape} do not begin with the shape of the segment ids, {ids.shape}.")
    length, row = int(count), data.shape[ids.ndim :]
    if length < 0:
        raise ValueError(f"Cannot specify a negative value for num_segments, such as {length}.")
    flat, rows = ids.reshape(-1), data.reshape(ids.size, *row)
    if flat.size and flat.max() >= length:
        bad = int(flat.argmax())
        place = ",".join(str(int(i)) for i in np.unravel_index(bad, ids.shape)) or "0"
        raise ValueError(
            f"segment_ids[{place}] = {int(flat[bad])} is out of range [0, {length}), the segments that there are."
        )
    if flat.size and flat.min() < 0:
        kept = flat >= 0
        flat, rows = flat[kept], rows[kept]
    result = filled(xp.empty((length, *row), data.dtype) if out is None else out, empty)
    if flat.size and result.size:
        accumulate(xp, ufunc, result.reshape(length, math.prod(row)), flat, rows)
    return result


@kernel("UnsortedSegmentSum")
def unsorted_segment_sum(xp: Any, data: Any, ids: Any, count: Any, *, out: Any = None) -> Any:
    return _unsorted(xp, xp.add, data, ids, count, 0, out)


@kernel("UnsortedSegmentProd")
def unsorted_segment_prod(xp: Any, data: Any, ids: Any, count: Any, *, out: Any = None) -> Any:
    return _unsorted(xp, xp.multiply, data, ids, count, 1, out)


@kernel("UnsortedSegmentMax")
def unsorted_segment_max(xp: Any, data: Any, ids: Any, count: Any, *, out: Any = None) -> Any:
    return _unsorted(xp, xp.maximum, data, ids, count, lowest(data.dtype), out)


@kernel("UnsortedSegmentMin")
def unsorted_segment_min(xp: Any, data: Any, ids: Any, count: Any, *, out: Any = None) -> Any:
    return _unsorted(xp, xp.minimum, data, ids, count, highest(data.dtype), out)


def lowest(dtype: Any) -> Any:
    """The smallest finite value of a type."""
    from actorflow.base.dtypes import as_dtype

    return as_dtype(dtype).min


def highest(dtype: Any) -> Any:
    """The largest finite value of a type."""
    from actorflow.base.dtypes import as_dtype

    return as_dtype(dtype).max
