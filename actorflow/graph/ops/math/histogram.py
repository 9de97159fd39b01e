"""How often values come: counts of integers, histograms, confusion matrices. None of them has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DTypeLike, as_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import control_dependencies
from actorflow.graph.ops.array.constant import constant, ones_like, zeros
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.array.scatter import scatter_nd
from actorflow.graph.ops.array.shape import size, squeeze
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.arithmetic import maximum, minimum, truediv
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.clip import clip_by_value
from actorflow.graph.ops.math.elementwise import floor
from actorflow.graph.ops.math.logic import greater, greater_equal, less, logical_and
from actorflow.graph.ops.math.reduction import reduce_all, reduce_max
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

_COUNTED = frozenset((dt.int32, dt.int64, dt.float32, dt.float64))


def _bins(c: Inference, index: int, least: int) -> Shape:
    require_rank(c, index, 0)
    count = c.value(index)
    if count is not None and count < least:
        raise ValueError(f"{c.op.type} needs {least} bins or more, not {int(count)}.")
    return (None if count is None else int(count),)


@op(
    "Bincount",
    shape=lambda c: _bins(c, 1, 0),
    dtypes=_COUNTED,
    types={"arr": dt.int32, "size": dt.int32},
    gradient=None,
)
def bincount_op(arr: TensorLike, size: TensorLike, weights: TensorLike, *, name: str | None = None) -> Tensor:
    """The counts (or sums of weights) of the integers from 0 to `size` - 1 in `arr`. See `bincount`."""


@public("af", "af.math")
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = dt.int32,
    name: str | None = None,
) -> Tensor:
    """Element i is how often i comes in `arr` (`tf.bincount`).

    Example:
        >>> af.bincount([1, 1, 3])
        [0 2 0 1]
        >>> af.bincount([1, 1, 3], weights=[0.5, 0.25, 2.0])
        [0.   0.75 0.   2.  ]

    Args:
        arr: integers of zero or more, of any shape.
        weights: in the shape of `arr`, what each element counts; the result has their type.
        minlength: the least length of the result, which else ends with the largest element.
        maxlength: the largest length; larger elements are left out.
        dtype: the result's type without weights: int32, int64, float32 or float64.

    Raises InvalidArgumentError in the run for a negative element, or weights of another shape.
    """
    with composite(name, "bincount", arr, weights, minlength, maxlength) as scope:
        values = convert_to_tensor(arr, dt.int32)
        some = greater(size(values), 0)
        # The largest of nothing is int32's smallest value, which has to become a length of 0.
        length = cast(some, dt.int32) * (maximum(reduce_max(values), -1) + 1)
        if minlength is not None:
            length = maximum(length, minlength)
        if maxlength is not None:
            length = minimum(length, maxlength)
        weighing = zeros([0], dtype) if weights is None else convert_to_tensor(weights)
        return bincount_op(values, length, weighing, name=scope)


# ---- histograms


def _histogram(c: Inference) -> Shape:
    merge(c.shapes[1], (2,))
    return _bins(c, 2, 1)


@op(
    "HistogramFixedWidth",
    shape=_histogram,
    dtypes=_COUNTED,
    types={"nbins": dt.int32},
    result="dtype",
    gradient=None,
    work=6,
)
def histogram_fixed_width_op(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike,
    *,
    dtype: DTypeLike = dt.int32,
    name: str | None = None,
) -> Tensor:
    """The counts of the values in bins of equal width. See `histogram_fixed_width`."""


@public("af")
def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dt.int32,
    name: str | None = None,
) -> Tensor:
    """How many of `values` are in each of `nbins` bins of equal width (`tf.histogram_fixed_width`).

    Example:
        >>> af.histogram_fixed_width([0.1, 0.2, 0.9, 5.0], [0.0, 1.0], nbins=2)
        [2 2]

    Args:
        values: numbers of any shape. Those outside the range count in the first or the last bin.
        value_range: a vector of two numbers of their type: the ends of the range.
        nbins: how many bins, an int32 scalar.
        dtype: the type of the counts, int32 or int64.

    Raises:
        InvalidArgumentError: the range is empty, or a value is NaN, in the run.
    """
    return histogram_fixed_width_op(values, value_range, nbins, dtype=dtype, name=name or "histogram_fixed_width")


@public("af")
def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dt.int32,
    name: str | None = None,
) -> Tensor:
    """The bin of each of `values` in the histogram of `histogram_fixed_width`, in their shape
    (`tf.histogram_fixed_width_bins`).

    Example:
        >>> af.histogram_fixed_width_bins([0.1, 0.2, 0.9, 5.0], [0.0, 1.0], nbins=2)
        [0 0 1 1]

    Args:
        values: numbers of any shape. Those outside the range are in the first or the last bin.
        value_range: a vector of two numbers of their type: the ends of the range.
        nbins: how many bins, an int32 scalar.
        dtype: the type of the bins' numbers, int32 or int64.
    """
    with composite(name, "histogram_fixed_width_bins", values, value_range, nbins) as scope:
        source = convert_to_tensor(values)
        ends = convert_to_tensor(value_range, source.dtype)
        count = convert_to_tensor(nbins, dt.int32)
        scaled = truediv(source - ends[0], ends[1] - ends[0])
        bins = cast(floor(cast(count, scaled.dtype) * scaled), dt.int32)
        return cast(clip_by_value(bins, 0, count - 1), dtype, name=scope)


# ---- confusion matrices


def _within(classes: Tensor, side: Tensor, what: str) -> Tensor:
    """The classes, with an error in the run for a class that has no row in a matrix of this size."""
    from actorflow.graph.ops.flow.control import Assert, identity

    fits = logical_and(greater_equal(classes, constant(0, dt.int64)), less(classes, side))
    text = f"`{what}` out of bound: classes are 0 and more, and smaller than num_classes"
    with control_dependencies([Assert(reduce_all(fits), [text, side, classes])]):
        return identity(classes)


@public("af", "af.math")
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: Any = None,
    dtype: DTypeLike = dt.int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """Element (i, j) is how often class j was predicted where class i is right (`tf.confusion_matrix`).

    Example:
        >>> af.confusion_matrix(labels=[0, 1, 1], predictions=[0, 1, 0])
        [[1 0]
         [1 1]]

    Args:
        labels: a vector of classes, integers of zero or more.
        predictions: a vector of as many classes. One of the two may have a last dimension of size 1 more,
            where both ranks are known as the graph is built.
        num_classes: the side of the matrix; by default 1 more than the largest class.
        dtype: the type of the matrix.
        weights: a vector: what each pair counts.

    Raises InvalidArgumentError in the run for a class that is negative, or `num_classes` or more.
    """
    with composite(name, "confusion_matrix", labels, predictions, num_classes, weights) as scope:
        right, guessed = convert_to_tensor(labels), convert_to_tensor(predictions)
        ranks = [None if t.static_shape is None else len(t.static_shape) for t in (right, guessed)]
        if ranks == [2, 1]:
            right = squeeze(right, [-1])
        if ranks == [1, 2]:
            guessed = squeeze(guessed, [-1])
        right, guessed = cast(right, dt.int64), cast(guessed, dt.int64)
        if num_classes is None:
            side = maximum(reduce_max(right), reduce_max(guessed)) + 1
        else:
            side = cast(convert_to_tensor(num_classes), dt.int64)
            right, guessed = _within(right, side, "labels"), _within(guessed, side, "predictions")
        amounts = ones_like(guessed, dtype) if weights is None else cast(convert_to_tensor(weights), dtype)
        matrix = scatter_nd(stack([right, guessed], axis=1), amounts, stack([side, side]), name=scope)
        fixed = int(num_classes) if isinstance(num_classes, (int, np.integer)) else None
        matrix.set_shape((fixed, fixed))
        assert matrix.dtype is as_dtype(dtype)
        return matrix
