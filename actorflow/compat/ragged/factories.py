"""Ragged tensors of lists, ranges and placeholders, and numbers of rows from places and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.compat.nodes.ragged import ranges, row_ids
from actorflow.compat.ragged.tensor import RaggedTensor
from actorflow.compat.ragged.values import nested_value


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: Any = af.int64,
) -> Any:
    """A ragged tensor of nested lists; a tensor of lists that have no rows.

    Args:
        pylist: nested lists of numbers or texts.
        dtype: the type; found from the values unless given.
        ragged_rank: the number of levels of rows; as many as there are unless given.
        inner_shape: the shape of each value.
        name: a scope.
        row_splits_dtype: int32 or int64.

    Raises:
        ValueError: the lists are not nested so.
    """
    with af.name_scope(name, "RaggedConstant"):
        values, splits, shape = _nested(pylist, ragged_rank, inner_shape)
        flat = af.constant(values, dtype, shape=shape) if values else af.zeros(shape, dtype or af.float32)
        levels = [af.constant(level, row_splits_dtype) for level in splits]
        return RaggedTensor.from_nested_row_splits(flat, levels, validate=False)


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """A `RaggedTensorValue` of nested lists; an array of lists that have no rows.

    Args:
        pylist: nested lists of numbers or texts.
        dtype: the type of the array.
        ragged_rank: the number of levels of rows; as many as there are unless given.
        inner_shape: the shape of each value.
        row_splits_dtype: int32 or int64.

    Raises:
        ValueError: the lists are not nested so.
    """
    values, splits, shape = _nested(pylist, ragged_rank, inner_shape)
    flat = np.array(values, getattr(dtype, "as_numpy_dtype", dtype)).reshape(shape)
    kind = np.dtype(getattr(row_splits_dtype, "as_numpy_dtype", row_splits_dtype))
    return nested_value([flat, *(np.array(level, kind) for level in splits)])


def _nested(pylist: Any, ragged_rank: int | None, inner_shape: Any) -> tuple[list[Any], list[list[int]], list[int]]:
    """The values, the splits of all levels, and the shape of the values."""
    depth = _depth(pylist)
    inner = (
        None if inner_shape is None else list(inner_shape if isinstance(inner_shape, (list, tuple)) else [inner_shape])
    )
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1 if inner is None else depth - 1 - len(inner))
    if depth and ragged_rank >= depth:
        raise ValueError(f"The lists are {depth} deep, and ragged_rank={ragged_rank} needs lists of {ragged_rank + 1}.")
    rows: Any = pylist
    splits: list[list[int]] = []
    for _ in range_of(ragged_rank):
        if not all(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
            raise ValueError("All values of a ragged level are lists, or none is: the lists have several depths.")
        splits.append([0, *(int(end) for end in np.cumsum([len(row) for row in rows]))])
        rows = [value for row in rows for value in row]
    shape = list(np.shape(rows)) if len(rows) else [0, *(inner or [])] if ragged_rank or inner else list(np.shape(rows))
    if inner is not None and shape[1:] != inner:
        raise ValueError(f"inner_shape is {inner}, but the values have the shape {shape[1:]}.")
    return (list(rows) if isinstance(rows, (list, tuple)) else rows.tolist()), splits, shape


range_of = range
"""Python's `range`, for this module has another."""


def _depth(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.ndim
    if isinstance(value, (list, tuple)):
        return 1 + max((_depth(each) for each in value), default=0)
    return 0


def placeholder(dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None) -> Any:
    """A ragged tensor that is fed by a `RaggedTensorValue`.

    Args:
        dtype: the type of the values.
        ragged_rank: the number of levels of rows.
        value_shape: the shape of each value; that of a scalar if it is `()`, unknown unless given.
        name: a scope.
    """
    if ragged_rank == 0:
        return af.placeholder(dtype, value_shape, name)
    with af.name_scope(name, "RaggedPlaceholder"):
        shape = None if value_shape is None else [None, *af.TensorShape(value_shape).as_list()]
        flat = af.placeholder(dtype, shape, "flat_values")
        splits = [af.placeholder(af.int64, [None], f"row_splits_{level}") for level in range_of(ragged_rank)]
        return RaggedTensor.from_nested_row_splits(flat, splits, validate=False)


def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = af.int64,
) -> RaggedTensor:
    """A row of numbers for each start.

    Args:
        starts: the first number of each row, or the limit if no limit is given.
        limits: the number before which each row ends.
        deltas: the step of each row.
        dtype: the type of the numbers.
        name: a scope.
        row_splits_dtype: int32 or int64.
    """
    with af.name_scope(name, "RaggedRange"):
        if limits is None:
            starts, limits = 0, starts
        first, last, step = (af.convert_to_tensor(each, dtype) for each in (starts, limits, deltas))
        kinds = [each.dtype for each in (first, last, step)]
        kind = next((k for k in (af.float64, af.float32, af.int64) if k in kinds), af.int32)
        splits, values = ranges(*(af.cast(each, kind) for each in (first, last, step)))
        return RaggedTensor(values, af.cast(splits, row_splits_dtype), internal=True)


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Any:
    """The number of the row of each value.

    Args:
        splits: the place of each row's first value, and the end of the last.
        name: a scope.
        out_type: int32 or int64; that of the splits unless given.

    Raises:
        ValueError: the splits are no integers.
    """
    with af.name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = af.convert_to_tensor(splits, preferred_dtype=af.int64)
        if splits.dtype not in (af.int32, af.int64):
            raise ValueError("splits must have dtype int32 or int64")
        return af.cast(row_ids(splits), splits.dtype if out_type is None else out_type)


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Any:
    """The place of each row's first value, and the end of the last.

    Args:
        segment_ids: the number of the row of each value, which grows.
        num_segments: the number of rows; that of the last value's row, and one more, unless given.
        out_type: int32 or int64; that of the numbers unless given.
        name: a scope.
    """
    with af.name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        ids = af.convert_to_tensor(segment_ids, preferred_dtype=af.int64)
        kind = ids.dtype if out_type is None else out_type
        wide = af.cast(ids, af.int64)
        count = (
            af.reduce_max(af.concat([[af.constant(-1, af.int64)], wide], 0)) + 1
            if num_segments is None
            else num_segments
        )
        lengths = af.unsorted_segment_sum(af.ones_like(wide), wide, af.cast(count, af.int64))
        return af.cast(af.concat([af.zeros([1], af.int64), af.cumsum(lengths)], 0), kind)
