"""`tf.contrib.losses`: losses whose predictions come first. `tf.losses` has them with the labels first."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as tf

add_loss = tf.losses.add_loss
get_losses = tf.losses.get_losses
get_regularization_losses = tf.losses.get_regularization_losses
get_total_loss = tf.losses.get_total_loss


def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: Any = None) -> Any:
    """The weighted mean of losses."""
    return tf.losses.compute_weighted_loss(losses, weights, scope)


def absolute_difference(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None) -> Any:
    """The mean of absolute differences."""
    return tf.losses.absolute_difference(labels, predictions, weights, scope)


def mean_squared_error(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None) -> Any:
    """The mean of squared differences."""
    return tf.losses.mean_squared_error(labels, predictions, weights, scope)


def mean_pairwise_squared_error(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None) -> Any:
    """The mean of squared differences of pairs."""
    return tf.losses.mean_pairwise_squared_error(labels, predictions, weights, scope)


def log_loss(predictions: Any, labels: Any = None, weights: Any = 1.0, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """The mean of logarithmic losses."""
    return tf.losses.log_loss(labels, predictions, weights, epsilon, scope)


def hinge_loss(logits: Any, labels: Any = None, scope: Any = None) -> Any:
    """The hinge loss of each element, which is not averaged."""
    with tf.name_scope(scope, "hinge_loss", [logits, labels]):
        labels = tf.cast(labels, tf.float32)
        return tf.nn.relu(1.0 - (2.0 * labels - 1.0) * tf.convert_to_tensor(logits))


def cosine_distance(
    predictions: Any, labels: Any = None, axis: Any = None, weights: Any = 1.0, scope: Any = None, dim: Any = None
) -> Any:
    """The mean of cosine distances of vectors of length 1."""
    return tf.losses.cosine_distance(labels, predictions, axis if axis is not None else dim, weights, scope)


def sigmoid_cross_entropy(
    logits: Any, multi_class_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: Any = None
) -> Any:
    """The mean of cross entropies of independent classes."""
    return tf.losses.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: Any = None
) -> Any:
    """The mean of cross entropies of classes that exclude each other."""
    return tf.losses.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(logits: Any, labels: Any, weights: Any = 1.0, scope: Any = None) -> Any:
    """The mean of cross entropies of classes by their numbers."""
    return tf.losses.sparse_softmax_cross_entropy(labels, logits, weights, scope)
