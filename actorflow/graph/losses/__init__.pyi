# `make names` writes this file from the marks in the sources.

"""Weighted losses that the graph collects (`tf.losses`).

Each function computes a loss for each element (or example), weights and reduces it by `compute_weighted_loss`, adds the
result to the collection `GraphKeys.LOSSES` and returns it. Weights are a scalar, or have the rank of the losses and in
each dimension their size or 1.
"""

from actorflow.graph.losses.prediction import absolute_difference as absolute_difference
from actorflow.graph.losses.prediction import cosine_distance as cosine_distance
from actorflow.graph.losses.prediction import hinge_loss as hinge_loss
from actorflow.graph.losses.prediction import huber_loss as huber_loss
from actorflow.graph.losses.prediction import log_loss as log_loss
from actorflow.graph.losses.prediction import mean_pairwise_squared_error as mean_pairwise_squared_error
from actorflow.graph.losses.prediction import mean_squared_error as mean_squared_error
from actorflow.graph.losses.prediction import sigmoid_cross_entropy as sigmoid_cross_entropy
from actorflow.graph.losses.prediction import softmax_cross_entropy as softmax_cross_entropy
from actorflow.graph.losses.prediction import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
from actorflow.graph.losses.weighted import Reduction as Reduction
from actorflow.graph.losses.weighted import add_loss as add_loss
from actorflow.graph.losses.weighted import compute_weighted_loss as compute_weighted_loss
from actorflow.graph.losses.weighted import get_losses as get_losses
from actorflow.graph.losses.weighted import get_regularization_loss as get_regularization_loss
from actorflow.graph.losses.weighted import get_regularization_losses as get_regularization_losses
from actorflow.graph.losses.weighted import get_total_loss as get_total_loss

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
