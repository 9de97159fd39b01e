"""`sequence_loss` and `hardmax`."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as tf


def hardmax(logits: Any, name: str | None = None) -> Any:
    """1 at the greatest of each row, 0 elsewhere."""
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits)
        return tf.one_hot(tf.argmax(logits, -1), logits.shape.as_list()[-1], dtype=logits.dtype)


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """The weighted cross entropies of sequences.

    Args:
        logits: [batch, time, classes].
        targets, weights: [batch, time].
        average_across_timesteps, average_across_batch: over which to divide the sum.
        softmax_loss_function: a function of `labels` and `logits` in the place of the cross entropy.
        name: a scope.

    Raises:
        ValueError: tensors of another rank.
    """
    for tensor, rank, label in ((logits, 3, "Logits"), (targets, 2, "Targets"), (weights, 2, "Weights")):
        if len(tensor.shape) != rank:
            raise ValueError(f"{label} must be a {rank}-dimensional tensor, not of shape {tensor.shape}.")
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = tf.shape(logits)[2]
        flat, labels = tf.reshape(logits, [-1, classes]), tf.reshape(targets, [-1])
        if softmax_loss_function is None:
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
        else:
            entropy = softmax_loss_function(labels=labels, logits=flat)
        entropy = entropy * tf.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return tf.reduce_sum(entropy) / (tf.reduce_sum(weights) + 1e-12)
        entropy = tf.reshape(entropy, tf.shape(logits)[:2])
        if average_across_timesteps:
            return tf.reduce_sum(entropy, [1]) / (tf.reduce_sum(weights, 1) + 1e-12)
        if average_across_batch:
            return tf.reduce_sum(entropy, [0]) / (tf.reduce_sum(weights, 0) + 1e-12)
        return entropy
