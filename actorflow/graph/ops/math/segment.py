"""Reductions over groups of rows: `segment_ids` says to which group (segment) each row belongs."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import INDEX, NUMERIC, REAL
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import fill, ones_like, zeros_like
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, rank, reshape, shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import at_least_rank, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_SORTED = {"segment_ids": INDEX}
_UNSORTED = {"segment_ids": INDEX, "num_segments": INDEX}


def _segments(c: Inference) -> Shape:
    data, ids = at_least_rank(c, 0, 1), require_rank(c, 1, 1)
    if data is None:
        return None
    if ids is not None and not compatible(ids, data[:1]):
        raise ValueError(
            f"segment_ids should be the same size as dimension 0 of the data, but there are {ids[0]} for {data[0]} rows."
        )
    constant = c.value(1)
    count = None if constant is None else int(constant[-1]) + 1 if constant.size else 0
    return (count, *data[1:])


# ---- sorted ids


@public("af", "af.math")
@op("SegmentSum", shape=_segments, dtypes=NUMERIC, types=_SORTED)
def segment_sum(data: TensorLike, segment_ids: TensorLike, *, name: str | None = None) -> Tensor:
    """Row i is the sum of the rows of `data` whose id is i; zeros for an absent id (`tf.segment_sum`).

    `segment_ids` is a vector with one id a row, never falling. Raises InvalidArgumentError in the run for ids that fall.

    Example:
        >>> af.segment_sum([[1, 2], [3, 4], [5, 6]], [0, 0, 1])
        [[4 6]
         [5 6]]
    """


@segment_sum.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [gather(dy, node.inputs[1]), None]


@public("af", "af.math")
@op("SegmentMean", shape=_segments, dtypes=NUMERIC, types=_SORTED)
def segment_mean(data: TensorLike, segment_ids: TensorLike, *, name: str | None = None) -> Tensor:
    """Row i is the mean of the rows of `data` whose id is i; zeros for an absent id (`tf.segment_mean`).

    `segment_ids` is a vector with one id a row, never falling. Raises InvalidArgumentError in the run for ids that fall.

    Example:
        >>> af.segment_mean([1.0, 5.0, 3.0], [0, 0, 1])
        [3. 3.]
    """


@segment_mean.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.arithmetic import div_no_nan

    data, ids = node.inputs
    column = concat([shape(ids), fill(reshape(rank(data) - 1, [1]), 1)], 0)
    counts = segment_sum(fill(column, np.ones((), dy.dtype.numpy_dtype)), ids)
    # Without NaN for segments that have no rows, which the second derivative would spread.
    return [gather(div_no_nan(dy, counts), ids), None]


@public("af", "af.math")
@op("SegmentProd", shape=_segments, dtypes=NUMERIC, types=_SORTED)
def segment_prod(data: TensorLike, segment_ids: TensorLike, *, name: str | None = None) -> Tensor:
    """Row i is the product of the rows of `data` whose id is i; 1 for an absent id (`tf.segment_prod`).

    `segment_ids` is a vector with one id a row, never falling. Raises InvalidArgumentError in the run for ids that fall.

    Example:
        >>> af.segment_prod([2, 5, 3, 4], [0, 0, 2, 2])
        [10  1 12]
    """


@segment_prod.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """The product over x in a segment without zeros; a single zero in a segment alone gets the product of the others."""
    from actorflow.graph.ops.math.cast import cast, conj
    from actorflow.graph.ops.math.logic import equal, greater, where

    data, ids = node.inputs
    is_zero = equal(data, zeros_like(data))
    zeros_in = segment_sum(cast(is_zero, ids.dtype), ids)
    # Two zeros or more in a segment leave nothing for anyone.
    weights = where(greater(zeros_in, ones_like(zeros_in)), zeros_like(dy), dy)
    others = segment_prod(where(is_zero, ones_like(data), data), ids)
    of_zero = gather(others, ids)
    of_rest = gather(node.outputs[0], ids) / where(is_zero, ones_like(data), data)
    return [gather(weights, ids) * conj(where(is_zero, of_zero, of_rest)), None]


@public("af", "af.math")
@op("SegmentMax", shape=_segments, dtypes=REAL, types=_SORTED)
def segment_max(data: TensorLike, segment_ids: TensorLike, *, name: str | None = None) -> Tensor:
    """Row i is the maximum of the rows of `data` whose id is i; zeros for an absent id (`tf.segment_max`).

    `segment_ids` is a vector with one id a row, never falling. Raises InvalidArgumentError in the run for ids that fall.

    Example:
        >>> af.segment_max([1, 5, 3, 4], [0, 0, 2, 2])
        [5 0 4]
    """


@public("af", "af.math")
@op("SegmentMin", shape=_segments, dtypes=REAL, types=_SORTED)
def segment_min(data: TensorLike, segment_ids: TensorLike, *, name: str | None = None) -> Tensor:
    """Row i is the minimum of the rows of `data` whose id is i; zeros for an absent id (`tf.segment_min`).

    `segment_ids` is a vector with one id a row, never falling. Raises InvalidArgumentError in the run for ids that fall.

    Example:
        >>> af.segment_min([1, 5, 3, 4], [0, 0, 1, 1])
        [1 3]
    """


@segment_max.gradient
@segment_min.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """Rows that share the extreme share its gradient."""
    from actorflow.graph.ops.math.arithmetic import div_no_nan
    from actorflow.graph.ops.math.cast import cast
    from actorflow.graph.ops.math.logic import equal, where

    data, ids = node.inputs
    chosen = equal(data, gather(node.outputs[0], ids))
    share = div_no_nan(dy, segment_sum(cast(chosen, dy.dtype), ids))
    return [where(chosen, gather(share, ids), zeros_like(data)), None]


# ---- ids in any order


def _unsorted(c: Inference) -> Shape:
    data, ids, count = c.shapes[0], c.shapes[1], c.value(2)
    require_rank(c, 2, 0)
    if count is not None and count < 0:
        raise ValueError(f"Cannot specify a negative value for num_segments, such as {int(count)}.")
    if data is None or ids is None:
        return None
    if len(ids) > len(data) or not compatible(data[: len(ids)], ids):
        raise ValueError(
            f"The shape of the data, {show(data)}, has to begin with that of the segment ids, {show(ids)}."
        )
    return (None if count is None else int(count), *data[len(ids) :])


@public("af", "af.math")
@op("UnsortedSegmentSum", shape=_unsorted, dtypes=NUMERIC, types=_UNSORTED)
def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, *, name: str | None = None
) -> Tensor:
    """Row i is the sum of the elements of `data` whose id is i (`tf.unsorted_segment_sum`); zeros for an absent id.

    Example:
        >>> af.unsorted_segment_sum([1, 5, 3, 4], [1, 0, 1, -1], 2)
        [5 4]

    Args:
        data: a tensor of numbers.
        segment_ids: int32 or int64, of the shape of the first dimensions of `data`. Elements with a negative id are
            left out.
        num_segments: how many rows the result has, an integer scalar.

    Returns:
        A tensor of shape [num_segments, the other dimensions of `data`...].

    Raises:
        InvalidArgumentError: an id is `num_segments` or more, in the run.
    """


def _rows_of(dy: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """For each element the row of `dy` with its id, and whether it has one (as a mask of that shape)."""
    from actorflow.graph.ops.math.arithmetic import maximum
    from actorflow.graph.ops.math.logic import greater_equal, logical_and

    rows = gather(dy, maximum(ids, zeros_like(ids)))
    kept = greater_equal(ids, zeros_like(ids))
    missing = rank(rows) - rank(ids)
    column = reshape(kept, concat([shape(ids), fill(expand_dims(missing, 0), 1)], 0))
    return rows, logical_and(column, ones_like(rows, "bool"))


@unsorted_segment_sum.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.logic import where

    rows, kept = _rows_of(dy, node.inputs[1])
    return [where(kept, rows, zeros_like(rows)), None, None]


@public("af", "af.math")
@op("UnsortedSegmentMax", shape=_unsorted, dtypes=REAL, types=_UNSORTED)
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, *, name: str | None = None
) -> Tensor:
    """Row i is the maximum of the elements of `data` whose id is i (`tf.unsorted_segment_max`); the type's smallest value
    for an absent id. Ids are as in `unsorted_segment_sum`.

    Example:
        >>> af.unsorted_segment_max([1, 5, 3, 4], [1, 0, 1, 0], 2)
        [5 3]

    Args:
        data: a tensor of real numbers.
        segment_ids: int32 or int64, of the shape of the first dimensions of `data`.
        num_segments: how many rows the result has, an integer scalar.
    """


@public("af", "af.math")
@op("UnsortedSegmentMin", shape=_unsorted, dtypes=REAL, types=_UNSORTED)
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, *, name: str | None = None
) -> Tensor:
    """Row i is the minimum of the elements of `data` whose id is i (`tf.unsorted_segment_min`); the type's largest value
    for an absent id. Ids are as in `unsorted_segment_sum`.

    Example:
        >>> af.unsorted_segment_min([1, 5, 3, 4], [1, 0, 1, 0], 2)
        [4 1]

    Args:
        data: a tensor of real numbers.
        segment_ids: int32 or int64, of the shape of the first dimensions of `data`.
        num_segments: how many rows the result has, an integer scalar.
    """


@unsorted_segment_max.gradient
@unsorted_segment_min.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.arithmetic import div_no_nan
    from actorflow.graph.ops.math.cast import cast
    from actorflow.graph.ops.math.logic import equal, logical_and, where

    data, ids, count = node.inputs
    best, kept = _rows_of(node.outputs[0], ids)
    chosen = logical_and(equal(data, best), kept)
    ties = unsorted_segment_sum(cast(chosen, dy.dtype), ids, count)
    share, _ = _rows_of(div_no_nan(dy, ties), ids)
    return [where(chosen, share, zeros_like(data)), None, None]


@public("af", "af.math")
@op("UnsortedSegmentProd", shape=_unsorted, dtypes=NUMERIC, types=_UNSORTED)
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, *, name: str | None = None
) -> Tensor:
    """Row i is the product of the elements of `data` whose id is i (`tf.unsorted_segment_prod`); 1 for an absent id.
    Ids are as in `unsorted_segment_sum`.

    Example:
        >>> af.unsorted_segment_prod([2, 5, 3], [2, 0, 2], 3)
        [5 1 6]

    Args:
        data: a tensor of numbers.
        segment_ids: int32 or int64, of the shape of the first dimensions of `data`.
        num_segments: how many rows the result has, an integer scalar.
    """


@unsorted_segment_prod.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """The product of the others: the whole one over the element; where that is zero, the product without zeros, unless
    its segment has another zero."""
    from actorflow.graph.ops.math.cast import cast, conj
    from actorflow.graph.ops.math.logic import equal, greater, logical_and, where

    data, ids, count = node.inputs
    zero = equal(data, zeros_like(data))
    nonzero = where(zero, ones_like(data), data)
    zeros, _ = _rows_of(unsorted_segment_sum(cast(zero, "int32"), ids, count), ids)
    rest, kept = _rows_of(unsorted_segment_prod(nonzero, ids, count), ids)
    whole, _ = _rows_of(node.outputs[0], ids)
    others = where(logical_and(zero, greater(zeros, 1)), zeros_like(data), where(zero, rest, whole / nonzero))
    rows, _ = _rows_of(dy, ids)
    return [where(kept, rows * conj(others), zeros_like(rows)), None, None]


@public("af", "af.math")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Row i is the mean of the elements of `data` whose id is i (`tf.unsorted_segment_mean`); zeros for an absent id.

    Example:
        >>> af.unsorted_segment_mean([1.0, 5.0, 3.0], [1, 0, 1], 3)
        [5. 2. 0.]

    Args:
        data: a tensor of numbers. Integers give float64 (float32 from 8 and 16 bits), as in `truediv`.
        segment_ids: int32 or int64, of the shape of the first dimensions of `data`, as in `unsorted_segment_sum`.
        num_segments: how many rows the result has, an integer scalar.
    """
    from actorflow.graph.ops.math.arithmetic import realdiv

    with composite(name, "UnsortedSegmentMean", data, segment_ids) as scope:
        total, counts = _totals(data, segment_ids, num_segments)
        mean = realdiv(total, counts, name=scope)
        mean.set_shape(total.shape)
        return mean


@public("af", "af.math")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Row i is the sum of the elements of `data` whose id is i over the root of their number
    (`tf.unsorted_segment_sqrt_n`); zeros for an absent id.

    Example:
        >>> af.unsorted_segment_sqrt_n([1.0, 5.0, 3.0], [1, 0, 1], 2)
        [5.     2.8284]

    Args:
        data: a tensor of numbers. Integers give float64 (float32 from 8 and 16 bits), as in `truediv`.
        segment_ids: int32 or int64, of the shape of the first dimensions of `data`, as in `unsorted_segment_sum`.
        num_segments: how many rows the result has, an integer scalar.
    """
    from actorflow.graph.ops.math.arithmetic import realdiv
    from actorflow.graph.ops.math.elementwise import sqrt

    with composite(name, "UnsortedSegmentSqrtN", data, segment_ids) as scope:
        total, counts = _totals(data, segment_ids, num_segments)
        scaled = realdiv(total, sqrt(counts), name=scope)
        scaled.set_shape(total.shape)
        return scaled


def _totals(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike) -> tuple[Tensor, Tensor]:
    """The sum of each segment, and how many elements it has (1 for none), in a shape that divides it."""
    from actorflow.graph.ops.math.arithmetic import maximum, quotient_type
    from actorflow.graph.ops.math.cast import cast

    source, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    source = cast(source, quotient_type(source.dtype))  # before the sum, which may be beyond the integers of the type
    counts = unsorted_segment_sum(ones_like(ids, source.dtype.real_dtype), ids, num_segments)
    total = unsorted_segment_sum(source, ids, num_segments)
    missing = expand_dims(rank(source) - rank(ids), 0)
    column = reshape(counts, concat([shape(counts), fill(missing, 1)], 0))
    return total, cast(maximum(column, ones_like(column)), source.dtype)
