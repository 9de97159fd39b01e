"""Means of what batches bring: of values, of errors, of correct answers (`tf.metrics.mean`, `accuracy`, ...)."""

from __future__ import annotations

from actorflow.base.dtypes import float32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones_like, zeros_like
from actorflow.graph.ops.array.shape import size
from actorflow.graph.ops.math import elementwise
from actorflow.graph.ops.math.arithmetic import divide, multiply, squared_difference, subtract
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import sqrt
from actorflow.graph.ops.math.logic import equal, less, where
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.models.metrics.streaming import (
    Collections,
    Metric,
    collected,
    in_scope,
    ratio,
    same_rank,
    spread,
    streamed,
)
from actorflow.public import public


@public("af.metrics")
def mean(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The weighted mean of all values so far (`tf.metrics.mean`).

    Run `af.local_variables_initializer()` before, `update` for each batch, and `average` at any time.

    Example:
        >>> loss = af.placeholder(af.float32, [None])
        >>> average, update = af.metrics.mean(loss)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update, {loss: [1.0, 3.0]}), await session.run(update, {loss: [8.0]})
        (2.0, 4.0)

    Args:
        values: numbers of any shape.
        weights: numbers that broadcast to `values`; 0 leaves a value out. 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums `total` and `count`.

    Returns:
        The value, a float32 scalar, 0 before the first batch; and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the weights can't be broadcast to the values.
    """
    with in_scope(name, "mean", values, weights):
        total, count = _weighted(convert_to_tensor(values), weights)
        counted = cast(size(total), float32) if count is None else reduce_sum(count)
        return streamed({"total": reduce_sum(total), "count": counted}, ratio, metrics_collections, updates_collections)


@public("af.metrics")
def mean_tensor(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The weighted mean of each element over all batches so far (`tf.metrics.mean_tensor`).

    Example:
        >>> values = af.placeholder(af.float32, [2])
        >>> average, update = af.metrics.mean_tensor(values)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update, {values: [0.0, 10.0]}), await session.run(update, {values: [4.0, 20.0]})
        ([ 0. 10.], [ 2. 15.])

    Args:
        values: numbers, of a shape that is fully known.
        weights: numbers that broadcast to `values`; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums `total_tensor` and `count_tensor`.

    Returns:
        The value, of the shape of `values`, 0 where nothing was counted; and the update, which adds a batch.

    Raises:
        ValueError: the shape of the values is not known, or the weights can't be broadcast.
    """
    with in_scope(name, "mean", values, weights):
        total, count = _weighted(convert_to_tensor(values), weights)
        counted = ones_like(total) if count is None else count
        return streamed(
            {"total_tensor": total, "count_tensor": counted}, ratio, metrics_collections, updates_collections
        )


def _weighted(values: Tensor, weights: TensorLike | None) -> tuple[Tensor, Tensor | None]:
    """The values as float32 times their weights, and the weights."""
    numbers = cast(values, float32)
    if weights is None:
        return numbers, None
    numbers, _, weighting = same_rank(numbers, None, weights)
    assert weighting is not None
    each = spread(weighting, numbers)
    return multiply(numbers, each), each


@public("af.metrics")
def accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The part of the predictions that are equal to their labels (`tf.metrics.accuracy`).

    Example:
        >>> labels, found = af.placeholder(af.int64, [None]), af.placeholder(af.int64, [None])
        >>> value, update = af.metrics.accuracy(labels, found)
        >>> await session.run(af.local_variables_initializer())
        >>> for batch in ([1, 2], [1, 3]), ([4, 5], [4, 5]):
        ...     await session.run(update, dict(zip([labels, found], batch)))
        0.5
        0.75
        >>> await session.run(value)
        0.75

    Args:
        labels: the truth, of any type and shape.
        predictions: of the same shape; cast to the type of the labels.
        weights: numbers that broadcast to the labels; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums `total` and `count`.

    Returns:
        The value, and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
    """
    predicted, truth, weighting = same_rank(predictions, labels, weights)
    right = cast(equal(cast(predicted, truth.dtype), truth), float32)
    return mean(right, weighting, metrics_collections, updates_collections, name or "accuracy")


@public("af.metrics")
def percentage_below(
    values: TensorLike,
    threshold: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The part of the values that are less than `threshold` (`tf.metrics.percentage_below`).

    Example:
        >>> value, update = af.metrics.percentage_below([0.1, 0.4, 0.7, 0.9], threshold=0.5)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.5

    Args:
        values: numbers of any shape.
        threshold: a scalar of their type.
        weights: numbers that broadcast to `values`; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums.

    Returns:
        The value, and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the weights can't be broadcast.
    """
    below = cast(less(values, threshold), float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


@public("af.metrics")
def mean_absolute_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of |predictions - labels| (`tf.metrics.mean_absolute_error`).

    Example:
        >>> value, update = af.metrics.mean_absolute_error(labels=[1.0, 2.0], predictions=[1.0, 5.0])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        1.5

    Args:
        labels, predictions: numbers of one shape and type.
        weights: numbers that broadcast to the labels; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums.

    Returns:
        The value, and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
    """
    predicted, truth, weighting = same_rank(predictions, labels, weights)
    return mean(
        elementwise.abs(subtract(predicted, truth)),
        weighting,
        metrics_collections,
        updates_collections,
        name or "mean_absolute_error",
    )


@public("af.metrics")
def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of (predictions - labels)² (`tf.metrics.mean_squared_error`).

    Example:
        >>> value, update = af.metrics.mean_squared_error(labels=[1.0, 2.0], predictions=[1.0, 5.0])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        4.5

    Args:
        labels, predictions: numbers of one shape and type.
        weights: numbers that broadcast to the labels; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums.

    Returns:
        The value, and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
    """
    predicted, truth, weighting = same_rank(predictions, labels, weights)
    error = squared_difference(truth, predicted)
    return mean(error, weighting, metrics_collections, updates_collections, name or "mean_squared_error")


@public("af.metrics")
def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The root of `mean_squared_error` (`tf.metrics.root_mean_squared_error`).

    Example:
        >>> value, update = af.metrics.root_mean_squared_error(labels=[1.0, 2.0], predictions=[4.0, 6.0])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        3.5355

    Args:
        labels, predictions: numbers of one shape and type.
        weights: numbers that broadcast to the labels; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums.

    Returns:
        The value, and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
    """
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    return collected((sqrt(value), sqrt(update)), metrics_collections, updates_collections)


@public("af.metrics")
def mean_relative_error(
    labels: TensorLike,
    predictions: TensorLike,
    normalizer: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of |predictions - labels| / normalizer, 0 where that is 0 (`tf.metrics.mean_relative_error`).

    Example:
        >>> value, update = af.metrics.mean_relative_error(labels=[1.0, 10.0], predictions=[2.0, 11.0], normalizer=[1.0, 10.0])
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.55

    Args:
        labels, predictions: numbers of one shape and type.
        normalizer: what errors are divided by, of the same shape.
        weights: numbers that broadcast to the labels; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums.

    Returns:
        The value, and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
    """
    predicted, truth, weighting = same_rank(predictions, labels, weights)
    predicted, by, _ = same_rank(predicted, normalizer, None)
    error = divide(elementwise.abs(subtract(truth, predicted)), by)
    relative = where(equal(by, 0.0), zeros_like(error), error)
    return mean(relative, weighting, metrics_collections, updates_collections, name or "mean_relative_error")


@public("af.metrics")
def mean_cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    dim: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """1 - the mean of the products of labels and predictions over `dim`, which have length 1
    (`tf.metrics.mean_cosine_distance`).

    Example:
        >>> value, update = af.metrics.mean_cosine_distance([[1.0, 0.0]], [[0.6, 0.8]], dim=1)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        0.4

    Args:
        labels, predictions: numbers of one shape and type, with length 1 along `dim`.
        dim: the dimension of the vectors.
        weights: numbers that broadcast to the labels with size 1 in `dim`; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums.

    Returns:
        The value, and the update, which adds a batch and gives the value after it.

    Raises:
        ValueError: the shapes differ, or the weights can't be broadcast.
    """
    predicted, truth, weighting = same_rank(predictions, labels, weights)
    products = reduce_sum(multiply(predicted, truth), [dim], keepdims=True)
    value, update = mean(products, weighting, name=name or "mean_cosine_distance")
    return collected((subtract(1.0, value), subtract(1.0, update)), metrics_collections, updates_collections)
