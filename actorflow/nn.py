"""Neural networks: activations, losses, normalization, embeddings (`tf.nn`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.lazy import lazily

if TYPE_CHECKING:
    from actorflow.ops.candidate_sampling import (
        all_candidate_sampler,
        compute_accidental_hits,
        fixed_unigram_candidate_sampler,
        learned_unigram_candidate_sampler,
        log_uniform_candidate_sampler,
        uniform_candidate_sampler,
    )
    from actorflow.ops.conv import (
        conv1d,
        conv2d,
        conv2d_backprop_filter,
        conv2d_backprop_input,
        conv3d,
        conv3d_backprop_filter_v2,
        convolution,
    )
    from actorflow.ops.conv_depthwise import (
        depthwise_conv2d,
        depthwise_conv2d_backprop_filter,
        depthwise_conv2d_backprop_input,
        depthwise_conv2d_native,
        depthwise_conv2d_native_backprop_filter,
        depthwise_conv2d_native_backprop_input,
        separable_conv2d,
    )
    from actorflow.ops.conv_transpose import (
        atrous_conv2d,
        atrous_conv2d_transpose,
        conv1d_transpose,
        conv2d_transpose,
        conv3d_transpose,
    )
    from actorflow.ops.ctc import (
        collapse_repeated,
        ctc_beam_search_decoder,
        ctc_beam_search_decoder_v2,
        ctc_greedy_decoder,
        ctc_loss,
    )
    from actorflow.ops.ctc_dense import ctc_loss_v2, ctc_unique_labels
    from actorflow.ops.embedding import embedding_lookup
    from actorflow.ops.embedding_sparse import embedding_lookup_sparse, safe_embedding_lookup_sparse
    from actorflow.ops.layers import (
        batch_normalization,
        crelu,
        dropout,
        l2_normalize,
        moments,
        relu_layer,
        swish,
        xw_plus_b,
        zero_fraction,
    )
    from actorflow.ops.losses import (
        log_poisson_loss,
        sigmoid_cross_entropy_with_logits,
        softmax_cross_entropy_with_logits,
        softmax_cross_entropy_with_logits_v2,
        sparse_softmax_cross_entropy_with_logits,
        weighted_cross_entropy_with_logits,
    )
    from actorflow.ops.moments import (
        batch_norm_with_global_normalization,
        normalize_moments,
        sufficient_statistics,
        weighted_moments,
    )
    from actorflow.ops.morphology import dilation2d, erosion2d
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
    from actorflow.ops.normalization import fused_batch_norm, local_response_normalization, lrn
    from actorflow.ops.ordering import in_top_k, top_k
    from actorflow.ops.pool import (
        avg_pool,
        avg_pool1d,
        avg_pool2d,
        avg_pool3d,
        max_pool,
        max_pool1d,
        max_pool2d,
        max_pool3d,
        max_pool_with_argmax,
        pool,
    )
    from actorflow.ops.sampled_losses import nce_loss, sampled_softmax_loss
    from actorflow.ops.spatial import (
        batch_to_space,
        depth_to_space,
        space_to_batch,
        space_to_depth,
        with_space_to_batch,
    )
    from actorflow.ops.trigonometry import tanh
    from actorflow.ops.unary import sigmoid
    from actorflow.rnn import rnn_cell as rnn_cell
    from actorflow.rnn.raw import raw_rnn
    from actorflow.rnn.unroll import bidirectional_dynamic_rnn, dynamic_rnn, static_bidirectional_rnn, static_rnn

__getattr__, __dir__ = lazily(__name__, __file__)

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "batch_to_space",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "collapse_repeated",
    "compute_accidental_hits",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_v2",
    "ctc_unique_labels",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fixed_unigram_candidate_sampler",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "with_space_to_batch",
    "xw_plus_b",
    "zero_fraction",
]
