"""Metrics of several classes: the accuracy of each, and how far each overlaps with what was found."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import float32, float64, int64
from actorflow.base.shapes import compatible, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones_like, zeros_like
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.linalg.diagonal import diag_part
from actorflow.graph.ops.math.arithmetic import divide, multiply
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.histogram import confusion_matrix
from actorflow.graph.ops.math.logic import equal, greater, not_equal, where
from actorflow.graph.ops.math.reduction import reduce_mean, reduce_sum
from actorflow.graph.ops.math.segment import unsorted_segment_sum
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.models.metrics.streaming import Collections, Metric, in_scope, ratio, streamed
from actorflow.public import public


def _vectors(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """All three with one dimension. Raises ValueError where the shapes of labels and predictions differ."""
    truth, predicted = convert_to_tensor(labels), convert_to_tensor(predictions)
    if not compatible(truth.static_shape, predicted.static_shape):
        raise ValueError(
            f"The shapes of predictions and labels differ: {show(predicted.static_shape)} and {show(truth.static_shape)}."
        )
    weighting = None if weights is None else convert_to_tensor(weights)
    if weighting is not None and weighting.static_shape != ():
        weighting = reshape(weighting, [-1])
    return reshape(cast(truth, int64), [-1]), reshape(predicted, [-1]), weighting


@public("af.metrics")
def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean over the classes of the part of their labels that were found (`tf.metrics.mean_per_class_accuracy`).

    Example:
        >>> value, update = af.metrics.mean_per_class_accuracy(labels=[0, 1, 1], predictions=[0, 1, 0], num_classes=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        [1.  0.5]

    Args:
        labels: the truth, integers below `num_classes`.
        predictions: of the same shape.
        num_classes: how many classes there are.
        weights: numbers of the shape of the labels, or a scalar; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums `total` and `count`, of which each class has its own.

    Returns:
        The value, a scalar; and the update, which adds a batch and gives the accuracy of each class.

    Raises:
        ValueError: the shapes differ.
    """
    with in_scope(name, "mean_accuracy", predictions, labels, weights):
        truth, predicted, weighting = _vectors(labels, predictions, weights)
        right = cast(equal(cast(predicted, int64), truth), float32)
        ones = ones_like(right)
        if weighting is not None:
            right, ones = multiply(right, cast(weighting, float32)), multiply(ones, cast(weighting, float32))
        return streamed(
            {
                "total": unsorted_segment_sum(ones, truth, num_classes),
                "count": unsorted_segment_sum(right, truth, num_classes),
            },
            lambda total, count: reduce_mean(ratio(count, total), name="mean_accuracy"),
            metrics_collections,
            updates_collections,
            update=lambda total, count: ratio(count, total),
        )


@public("af.metrics")
def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean over the classes of intersection by union of what is labelled and what was found (`tf.metrics.mean_iou`).

    Example:
        >>> value, update = af.metrics.mean_iou(labels=[0, 1, 1], predictions=[0, 1, 0], num_classes=2)
        >>> await session.run(af.local_variables_initializer())
        >>> await session.run(update)
        [[1. 0.]
         [1. 1.]]
        >>> await session.run(value)
        0.5

    Args:
        labels: the truth, integers below `num_classes`.
        predictions: of the same shape.
        num_classes: how many classes there are. Those that are neither labelled nor found do not count.
        weights: numbers of the shape of the labels, or a scalar; 1 unless given.
        metrics_collections, updates_collections: where the value and the update are listed.
        name: the variable scope of the sums `total_confusion_matrix`.

    Returns:
        The value, a scalar; and the update, which adds a batch and gives the matrix of counts, [num_classes, num_classes]: a row
        for each label.

    Raises:
        ValueError: the shapes differ.
    """
    with in_scope(name, "mean_iou", predictions, labels, weights):
        truth, predicted, weighting = _vectors(labels, predictions, weights)
        counted = confusion_matrix(truth, cast(predicted, int64), num_classes, weights=weighting, dtype=float64)
        counted.set_shape([num_classes, num_classes])
        return streamed(
            {"total_confusion_matrix": counted},
            _overlap,
            metrics_collections,
            updates_collections,
            update=lambda matrix: matrix,
        )


def _overlap(matrix: Tensor) -> Tensor:
    both = cast(diag_part(matrix), float32)
    either = cast(reduce_sum(matrix, 0), float32) + cast(reduce_sum(matrix, 1), float32) - both
    present = reduce_sum(cast(not_equal(either, 0.0), float32))
    overlap = reduce_sum(divide(both, where(greater(either, 0.0), either, ones_like(either))), name="mean_iou")
    return where(greater(present, 0.0), overlap / present, zeros_like(present))
