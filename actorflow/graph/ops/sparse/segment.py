"""Reductions over groups of rows picked by their indices first: a gather and a segment reduction in a single op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.base.dtypes import FLOATING, INDEX, REAL
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import fill, ones_like
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, rank, reshape, shape
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.arithmetic import div_no_nan
from actorflow.graph.ops.math.elementwise import sqrt
from actorflow.graph.ops.math.segment import unsorted_segment_sum
from actorflow.graph.ops.shape_rules import at_least_rank, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_IDS = {"indices": INDEX, "segment_ids": INDEX}
_COUNTED_IDS = {**_IDS, "num_segments": INDEX}


def _rows(c: Inference) -> Shape:
    """The shape of a row; a shape rule checks all inputs that all these ops have."""
    data, indices, ids = at_least_rank(c, 0, 1), require_rank(c, 1, 1), require_rank(c, 2, 1)
    if not compatible(indices, ids):
        raise ValueError(f"There are {indices and indices[0]} indices, but {ids and ids[0]} segment ids.")
    return None if data is None else data[1:]


def _found(c: Inference) -> Shape:
    row, ids = _rows(c), c.value(2)
    if row is None:
        return None
    return (None if ids is None else int(ids[-1]) + 1 if ids.size else 0, *row)


def _given(c: Inference) -> Shape:
    row, count = _rows(c), c.value(3)
    require_rank(c, 3, 0)
    if count is not None and count < 0:
        raise ValueError(f"Cannot specify a negative value for num_segments, such as {int(count)}.")
    return None if row is None else (None if count is None else int(count), *row)


@op("SparseSegmentSum", shape=_found, dtypes=REAL, types=_IDS)
def sparse_segment_sum_op(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, *, name: str | None = None
) -> Tensor:
    """The sums of the picked rows of each segment. See `sparse_segment_sum`."""


@op("SparseSegmentMean", shape=_found, dtypes=FLOATING, types=_IDS)
def sparse_segment_mean_op(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, *, name: str | None = None
) -> Tensor:
    """The means of the picked rows of each segment. See `sparse_segment_mean`."""


@op("SparseSegmentSqrtN", shape=_found, dtypes=FLOATING, types=_IDS)
def sparse_segment_sqrt_n_op(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, *, name: str | None = None
) -> Tensor:
    """The sums of the picked rows of each segment over the roots of their numbers. See `sparse_segment_sqrt_n`."""


@op("SparseSegmentSumWithNumSegments", shape=_given, dtypes=REAL, types=_COUNTED_IDS)
def sparse_segment_sum_counted(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, *, name: str | None = None
) -> Tensor:
    """`SparseSegmentSum` with a given number of segments."""


@op("SparseSegmentMeanWithNumSegments", shape=_given, dtypes=FLOATING, types=_COUNTED_IDS)
def sparse_segment_mean_counted(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, *, name: str | None = None
) -> Tensor:
    """`SparseSegmentMean` with a given number of segments."""


@op("SparseSegmentSqrtNWithNumSegments", shape=_given, dtypes=FLOATING, types=_COUNTED_IDS)
def sparse_segment_sqrt_n_counted(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, *, name: str | None = None
) -> Tensor:
    """`SparseSegmentSqrtN` with a given number of segments."""


def _gradient(node: Operation, dy: Tensor, divisor: Callable[[Tensor], Tensor] | None) -> list[Any]:
    """Each picked row gets the gradient of its segment, over `divisor` of the number of rows there."""
    data, indices, ids = node.inputs[:3]
    if divisor is not None:
        counts = unsorted_segment_sum(ones_like(ids, dy.dtype), ids, shape(dy)[0])
        ones = fill(expand_dims(rank(dy) - 1, 0), np.int32(1))
        dy = div_no_nan(dy, reshape(divisor(counts), concat([shape(counts), ones], 0)))
    slopes = unsorted_segment_sum(gather(dy, ids), indices, shape(data)[0])
    return [slopes] + [None] * (len(node.inputs) - 1)


@sparse_segment_sum_op.gradient
@sparse_segment_sum_counted.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return _gradient(node, dy, None)


@sparse_segment_mean_op.gradient
@sparse_segment_mean_counted.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return _gradient(node, dy, lambda counts: counts)


@sparse_segment_sqrt_n_op.gradient
@sparse_segment_sqrt_n_counted.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return _gradient(node, dy, sqrt)


@public("af", "af.sparse:segment_sum")
def sparse_segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
) -> Tensor:
    """Row i is the sum of the rows data[indices[k]] with segment_ids[k] = i; zeros without such rows
    (`tf.sparse_segment_sum`).

    Example:
        >>> af.sparse_segment_sum([[1], [2], [9]], indices=[0, 2, 1], segment_ids=[0, 0, 1])
        [[10]
         [ 2]]

    Args:
        data: real numbers of rank 1 or more.
        indices: a vector of rows of `data`.
        segment_ids: a vector with one id an index, never falling.
        num_segments: how many rows the result has; by default 1 more than the last id.

    Raises InvalidArgumentError in the run for ids that fall, or an index or id that is outside.
    """
    source = convert_to_tensor(data)
    if num_segments is None:
        return sparse_segment_sum_op(source, indices, segment_ids, name=name)
    return sparse_segment_sum_counted(source, indices, segment_ids, num_segments, name=name)


@public("af", "af.sparse:segment_mean")
def sparse_segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
) -> Tensor:
    """Row i is the mean of the rows data[indices[k]] with segment_ids[k] = i (`tf.sparse_segment_mean`). See
    `sparse_segment_sum`.

    Example:
        >>> af.sparse_segment_mean([[1.0], [2.0], [9.0]], indices=[0, 2, 1], segment_ids=[0, 0, 1])
        [[5.]
         [2.]]

    Args:
        data: floating, of rank 1 or more.
        indices: a vector of int32 or int64: the rows that are taken.
        segment_ids: int32 or int64, as long as `indices`: the row of the result of each; ascending.
        num_segments: how many rows the result has, an integer scalar; by default up to the last id.
    """
    source = convert_to_tensor(data)
    if num_segments is None:
        return sparse_segment_mean_op(source, indices, segment_ids, name=name)
    return sparse_segment_mean_counted(source, indices, segment_ids, num_segments, name=name)


@public("af", "af.sparse:segment_sqrt_n")
def sparse_segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
) -> Tensor:
    """Row i is the sum of the rows data[indices[k]] with segment_ids[k] = i over the root of their number
    (`tf.sparse_segment_sqrt_n`). See `sparse_segment_sum`.

    Example:
        >>> af.sparse_segment_sqrt_n([[1.0], [2.0], [9.0]], indices=[0, 2, 1], segment_ids=[0, 0, 1])
        [[7.0711]
         [2.    ]]

    Args:
        data: floating, of rank 1 or more.
        indices: a vector of int32 or int64: the rows that are taken.
        segment_ids: int32 or int64, as long as `indices`: the row of the result of each; ascending.
        num_segments: how many rows the result has, an integer scalar; by default up to the last id.
    """
    source = convert_to_tensor(data)
    if num_segments is None:
        return sparse_segment_sqrt_n_op(source, indices, segment_ids, name=name)
    return sparse_segment_sqrt_n_counted(source, indices, segment_ids, num_segments, name=name)
