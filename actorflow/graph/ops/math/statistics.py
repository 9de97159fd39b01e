"""Reductions that are made of others: log-sum-exp, norms, variances, counts."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DTypeLike, float32, float64
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import stop_gradient
from actorflow.graph.ops.math.arithmetic import add, squared_difference
from actorflow.graph.ops.math.cast import cast, conj
from actorflow.graph.ops.math.elementwise import exp, is_finite, log, sqrt, square
from actorflow.graph.ops.math.logic import equal, less, less_equal, not_equal, where_v2
from actorflow.graph.ops.math.reduction import reduce_all, reduce_max, reduce_mean, reduce_sum
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af", "af.math")
def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """log(Σ exp(x)) over dimensions, without overflow (`tf.reduce_logsumexp`). Errors are those of `reduce_sum`.

    Example:
        >>> af.reduce_logsumexp([1000.0, 1000.0]) - 1000.0
        0.6932

    Args:
        input_tensor: a floating tensor.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.
    """
    axis, keep = _one_of(axis, reduction_indices), bool(_one_of(keepdims, keep_dims))
    with composite(name, "ReduceLogSumExp", input_tensor, axis) as scope:
        values = convert_to_tensor(input_tensor)
        largest = reduce_max(values, axis, keepdims=True)
        # Any shift gives the same value, so it has no derivative; an infinite one would give inf - inf.
        shift = stop_gradient(where_v2(is_finite(largest), largest, 0))
        total = log(reduce_sum(exp(values - shift), axis, keepdims=keep))
        return add(total, shift if keep else reduce_sum(shift, axis), name=scope)


@public("af", "af.math")
def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """√(Σ |x|²) over dimensions (`tf.math.reduce_euclidean_norm`). Errors are those of `reduce_sum`.

    Example:
        >>> af.math.reduce_euclidean_norm([[3.0, 4.0], [5.0, 12.0]], axis=1)
        [ 5. 13.]

    Args:
        input_tensor: a tensor of numbers. The norm of integers is cut to an integer.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
    """
    with composite(name, "EuclideanNorm", input_tensor, axis) as scope:
        values = convert_to_tensor(input_tensor)
        dtype = values.dtype
        if dtype.is_integer:
            values = cast(values, float64)  # squares may be beyond the integers of the type
            return cast(sqrt(reduce_sum(square(values), axis, keepdims=keepdims)), dtype, name=scope)
        return sqrt(reduce_sum(values * conj(values), axis, keepdims=keepdims), name=scope)


@public("af", "af.math")
def reduce_variance(
    input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean of (x - mean)² over dimensions (`tf.math.reduce_variance`).

    Example:
        >>> af.math.reduce_variance([[1.0, 3.0], [2.0, 8.0]], axis=1)
        [1. 9.]

    Args:
        input_tensor: a floating tensor.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.

    Raises:
        TypeError: the tensor has another type.
    """
    with composite(name, "reduce_variance", input_tensor, axis) as scope:
        values = convert_to_tensor(input_tensor)
        if not values.dtype.is_floating:
            raise TypeError(f"A variance needs floating numbers, but {values.name} has type {values.dtype}.")
        mean = reduce_mean(values, axis, keepdims=True)
        return reduce_mean(squared_difference(values, mean), axis, keepdims=keepdims, name=scope)


@public("af", "af.math")
def reduce_std(input_tensor: TensorLike, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The root of `reduce_variance` (`tf.math.reduce_std`).

    Example:
        >>> af.math.reduce_std([1.0, 3.0])
        1.0

    Args:
        input_tensor: a floating tensor.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
    """
    with composite(name, "reduce_std", input_tensor, axis) as scope:
        return sqrt(reduce_variance(input_tensor, axis, keepdims), name=scope)


@public("af", "af.math")
def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dt.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """How many elements over dimensions are not zero (`tf.count_nonzero`).

    Example:
        >>> af.count_nonzero([[0, 1, 0], [2, 3, 0]], axis=1)
        [1 2]

    Args:
        input_tensor: a tensor of any type; of strings, those that are not empty count.
        axis: the dimensions to reduce: an int, a list or a tensor of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        dtype: the type of the counts, int64 by default.
        reduction_indices, keep_dims: the old names of `axis` and `keepdims`.
        input: another name of `input_tensor`.
    """
    input_tensor = _one_of(input_tensor, input)
    axis, keep = _one_of(axis, reduction_indices), bool(_one_of(keepdims, keep_dims))
    with composite(name, "count_nonzero", input_tensor, axis) as scope:
        values = convert_to_tensor(input_tensor)
        zero: Any = {"S": b"", "b": False}.get(values.dtype.kind, 0)
        counted = cast(not_equal(values, zero), dt.int64)
        return cast(reduce_sum(counted, axis, keepdims=keep), dtype, name=scope)


@public("af", "af.math", "tf.debugging")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no element is less than the element before it, in row-major order: a bool scalar (`tf.is_non_decreasing`).

    Example:
        >>> af.is_non_decreasing([1, 2, 2]), af.is_non_decreasing([2, 1])
        (True, False)
    """
    with composite(name, "is_non_decreasing", x) as scope:
        before, after = _neighbours(x)
        return reduce_all(less_equal(before, after), name=scope)


@public("af", "af.math", "tf.debugging")
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element is more than the element before it, in row-major order: a bool scalar
    (`tf.is_strictly_increasing`).

    Example:
        >>> af.is_strictly_increasing([1, 2, 3]), af.is_strictly_increasing([1, 2, 2])
        (True, False)
    """
    with composite(name, "is_strictly_increasing", x) as scope:
        before, after = _neighbours(x)
        return reduce_all(less(before, after), name=scope)


def _neighbours(x: TensorLike) -> tuple[Tensor, Tensor]:
    """All elements but the last, and all but the first, as vectors."""
    flat = reshape(x, [-1])
    return flat[:-1], flat[1:]


def _one_of(new: Any, old: Any) -> Any:
    """The value of an argument that has two names."""
    if new is not None and old is not None:
        raise ValueError("An argument is given under both its new and its old name.")
    return old if new is None else new


@public("af.math", "af.nn")
def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The share of zeros among the elements of `value`, as a float32 scalar (`tf.nn.zero_fraction`).

    Example:
        >>> af.nn.zero_fraction([0.0, 1.0, 0.0, 2.0])
        0.5
    """
    with composite(name, "zero_fraction", value) as scope:
        tensor = convert_to_tensor(value)
        return reduce_mean(cast(equal(tensor, zeros_like(tensor)), float32), name=scope)
