"""Weighted losses that the graph collects (`tf.losses`).

Each function computes a loss for each element (or example), weights and reduces it by `compute_weighted_loss`, adds the
result to the collection `GraphKeys.LOSSES` and returns it. Weights are a scalar, or have the rank of the losses and in
each dimension their size or 1.
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.losses", __name__)
