"""Weighted losses that the graph collects (`tf.losses`).

Each function computes a loss for each element (or example), weights and reduces it by `compute_weighted_loss`, adds the
result to the collection `GraphKeys.LOSSES` and returns it. Weights are a scalar, or have the rank of the losses and in
each dimension their size or 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.lazy import lazily

if TYPE_CHECKING:
    from actorflow.ops.prediction_losses import (
        absolute_difference,
        cosine_distance,
        hinge_loss,
        huber_loss,
        log_loss,
        mean_pairwise_squared_error,
        mean_squared_error,
        sigmoid_cross_entropy,
        softmax_cross_entropy,
        sparse_softmax_cross_entropy,
    )
    from actorflow.ops.weighted_loss import (
        Reduction,
        add_loss,
        compute_weighted_loss,
        get_losses,
        get_regularization_loss,
        get_regularization_losses,
        get_total_loss,
    )

__getattr__, __dir__ = lazily(__name__, __file__)

__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]
