"""Neural networks: activations, losses, normalization, embeddings (`tf.nn`)."""

from __future__ import annotations

from actorflow.ops.layers import (
    batch_normalization,
    crelu,
    dropout,
    embedding_lookup,
    l2_normalize,
    moments,
    relu_layer,
    swish,
    xw_plus_b,
    zero_fraction,
)
from actorflow.ops.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from actorflow.ops.nn import (
    bias_add,
    elu,
    l2_loss,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    softmax,
    softplus,
    softsign,
)
from actorflow.ops.ordering import in_top_k, top_k
from actorflow.ops.trigonometry import tanh
from actorflow.ops.unary import sigmoid

__all__ = [
    "batch_normalization",
    "bias_add",
    "crelu",
    "dropout",
    "elu",
    "embedding_lookup",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_softmax",
    "moments",
    "relu",
    "relu6",
    "relu_layer",
    "selu",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "xw_plus_b",
    "zero_fraction",
]
