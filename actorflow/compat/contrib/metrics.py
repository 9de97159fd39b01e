"""`tf.contrib.metrics`: metrics whose predictions come first. `tf.metrics` has them with the labels first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import actorflow.compat.v1 as tf

confusion_matrix = tf.math.confusion_matrix
set_difference = tf.sets.difference
set_intersection = tf.sets.intersection
set_size = tf.sets.size
set_union = tf.sets.union


def _streaming(metric: Callable[..., Any]) -> Callable[..., Any]:
    """The metric with its first two arguments exchanged."""

    def function(predictions: Any, labels: Any, *arguments: Any, **named: Any) -> Any:
        return metric(labels, predictions, *arguments, **named)

    function.__name__ = function.__qualname__ = f"streaming_{metric.__name__}"
    function.__doc__ = f"`tf.metrics.{metric.__name__}` with the predictions first."
    return function


streaming_accuracy = _streaming(tf.metrics.accuracy)
streaming_auc = _streaming(tf.metrics.auc)
streaming_false_negatives = _streaming(tf.metrics.false_negatives)
streaming_false_negatives_at_thresholds = _streaming(tf.metrics.false_negatives_at_thresholds)
streaming_false_positives = _streaming(tf.metrics.false_positives)
streaming_false_positives_at_thresholds = _streaming(tf.metrics.false_positives_at_thresholds)
streaming_mean = tf.metrics.mean
streaming_mean_absolute_error = _streaming(tf.metrics.mean_absolute_error)
streaming_mean_cosine_distance = _streaming(tf.metrics.mean_cosine_distance)
streaming_mean_iou = _streaming(tf.metrics.mean_iou)
streaming_mean_relative_error = _streaming(tf.metrics.mean_relative_error)
streaming_mean_squared_error = _streaming(tf.metrics.mean_squared_error)
streaming_mean_tensor = tf.metrics.mean_tensor
streaming_percentage_less = tf.metrics.percentage_below
streaming_precision = _streaming(tf.metrics.precision)
streaming_precision_at_thresholds = _streaming(tf.metrics.precision_at_thresholds)
streaming_recall = _streaming(tf.metrics.recall)
streaming_recall_at_k = _streaming(tf.metrics.recall_at_k)
streaming_recall_at_thresholds = _streaming(tf.metrics.recall_at_thresholds)
streaming_root_mean_squared_error = _streaming(tf.metrics.root_mean_squared_error)
streaming_sensitivity_at_specificity = _streaming(tf.metrics.sensitivity_at_specificity)
streaming_sparse_average_precision_at_k = _streaming(tf.metrics.average_precision_at_k)
streaming_sparse_precision_at_k = _streaming(tf.metrics.precision_at_k)
streaming_sparse_recall_at_k = _streaming(tf.metrics.recall_at_k)
streaming_specificity_at_sensitivity = _streaming(tf.metrics.specificity_at_sensitivity)
streaming_true_negatives = _streaming(tf.metrics.true_negatives)
streaming_true_negatives_at_thresholds = _streaming(tf.metrics.true_negatives_at_thresholds)
streaming_true_positives = _streaming(tf.metrics.true_positives)
streaming_true_positives_at_thresholds = _streaming(tf.metrics.true_positives_at_thresholds)


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """The part of predictions that are right, in this batch. Raises ValueError for other types."""
    predictions, labels = tf.convert_to_tensor(predictions), tf.convert_to_tensor(labels)
    if labels.dtype != predictions.dtype or not (labels.dtype.is_integer or labels.dtype in (tf.bool, tf.string)):
        raise ValueError(f"Labels and predictions should be of one type, integer, bool or string, not {labels.dtype}.")
    with tf.name_scope(name, "accuracy", [predictions, labels]):
        right = tf.cast(tf.equal(predictions, labels), tf.float32)
        if weights is not None:
            factors = tf.cast(weights, tf.float32)
            return tf.div(tf.reduce_sum(right * factors), tf.reduce_sum(factors))
        return tf.reduce_mean(right)


def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """The values of metrics, and their updates. Raises ValueError without a metric."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of metrics by their names, and their updates."""
    return {name: pair[0] for name, pair in names_to_tuples.items()}, {
        n: pair[1] for n, pair in names_to_tuples.items()
    }


def count(
    values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None, name: Any = None
) -> Any:
    """The number of values, or the sum of their weights, over batches."""
    with tf.variable_scope(name, "count", (values, weights)):
        total = tf.get_variable(
            "count",
            [],
            tf.float32,
            tf.zeros_initializer(),
            trainable=False,
            collections=[tf.GraphKeys.LOCAL_VARIABLES, tf.GraphKeys.METRIC_VARIABLES],
        )
        values = tf.cast(values, tf.float32)
        number = tf.cast(tf.size(values), tf.float32)
        if weights is not None:
            number = tf.reduce_sum(tf.ones_like(values) * tf.cast(weights, tf.float32))
        update = tf.assign_add(total, number)
        value = tf.identity(total)
        if metrics_collections:
            tf.add_to_collections(metrics_collections, value)
        if updates_collections:
            tf.add_to_collections(updates_collections, update)
        return value, update


def f1_score(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Any:
    """The greatest harmonic mean of precision and recall over thresholds."""
    edges = [-1e-7, *((index + 1.0) / (num_thresholds - 1) for index in range(num_thresholds - 2)), 1.0 + 1e-7]
    with tf.variable_scope(name, "f1", (labels, predictions, weights)):
        precision, first = tf.metrics.precision_at_thresholds(labels, predictions, edges, weights)
        recall, second = tf.metrics.recall_at_thresholds(labels, predictions, edges, weights)

        def best(p: Any, r: Any) -> Any:
            return tf.reduce_max(tf.math.divide_no_nan(2.0 * p * r, p + r))

        value, update = best(precision, recall), best(first, second)
        if metrics_collections:
            tf.add_to_collections(metrics_collections, value)
        if updates_collections:
            tf.add_to_collections(updates_collections, update)
        return value, update
