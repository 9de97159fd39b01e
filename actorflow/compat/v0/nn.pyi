# `make names` writes this file from the marks in the sources.

"""`tf.nn` of 0.x: that of version 1, but the cross entropies take the logits first."""

from typing import Any

from actorflow.compat.v1.nn import all_candidate_sampler as all_candidate_sampler
from actorflow.compat.v1.nn import atrous_conv2d as atrous_conv2d
from actorflow.compat.v1.nn import atrous_conv2d_transpose as atrous_conv2d_transpose
from actorflow.compat.v1.nn import avg_pool as avg_pool
from actorflow.compat.v1.nn import avg_pool1d as avg_pool1d
from actorflow.compat.v1.nn import avg_pool2d as avg_pool2d
from actorflow.compat.v1.nn import avg_pool3d as avg_pool3d
from actorflow.compat.v1.nn import avg_pool_v2 as avg_pool_v2
from actorflow.compat.v1.nn import batch_norm_with_global_normalization as batch_norm_with_global_normalization
from actorflow.compat.v1.nn import batch_normalization as batch_normalization
from actorflow.compat.v1.nn import batch_to_space as batch_to_space
from actorflow.compat.v1.nn import bias_add as bias_add
from actorflow.compat.v1.nn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from actorflow.compat.v1.nn import collapse_repeated as collapse_repeated
from actorflow.compat.v1.nn import compute_accidental_hits as compute_accidental_hits
from actorflow.compat.v1.nn import compute_average_loss as compute_average_loss
from actorflow.compat.v1.nn import conv1d as conv1d
from actorflow.compat.v1.nn import conv1d_transpose as conv1d_transpose
from actorflow.compat.v1.nn import conv2d as conv2d
from actorflow.compat.v1.nn import conv2d_backprop_filter as conv2d_backprop_filter
from actorflow.compat.v1.nn import conv2d_backprop_input as conv2d_backprop_input
from actorflow.compat.v1.nn import conv2d_transpose as conv2d_transpose
from actorflow.compat.v1.nn import conv3d as conv3d
from actorflow.compat.v1.nn import conv3d_backprop_filter as conv3d_backprop_filter
from actorflow.compat.v1.nn import conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2
from actorflow.compat.v1.nn import conv3d_transpose as conv3d_transpose
from actorflow.compat.v1.nn import conv_transpose as conv_transpose
from actorflow.compat.v1.nn import convolution as convolution
from actorflow.compat.v1.nn import crelu as crelu
from actorflow.compat.v1.nn import ctc_beam_search_decoder as ctc_beam_search_decoder
from actorflow.compat.v1.nn import ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2
from actorflow.compat.v1.nn import ctc_greedy_decoder as ctc_greedy_decoder
from actorflow.compat.v1.nn import ctc_loss as ctc_loss
from actorflow.compat.v1.nn import ctc_loss_v2 as ctc_loss_v2
from actorflow.compat.v1.nn import ctc_unique_labels as ctc_unique_labels
from actorflow.compat.v1.nn import depth_to_space as depth_to_space
from actorflow.compat.v1.nn import depthwise_conv2d as depthwise_conv2d
from actorflow.compat.v1.nn import depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter
from actorflow.compat.v1.nn import depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input
from actorflow.compat.v1.nn import depthwise_conv2d_native as depthwise_conv2d_native
from actorflow.compat.v1.nn import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter
from actorflow.compat.v1.nn import depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input
from actorflow.compat.v1.nn import dilation2d as dilation2d
from actorflow.compat.v1.nn import dropout as dropout
from actorflow.compat.v1.nn import dynamic_rnn as dynamic_rnn
from actorflow.compat.v1.nn import elu as elu
from actorflow.compat.v1.nn import embedding_lookup as embedding_lookup
from actorflow.compat.v1.nn import embedding_lookup_sparse as embedding_lookup_sparse
from actorflow.compat.v1.nn import erosion2d as erosion2d
from actorflow.compat.v1.nn import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from actorflow.compat.v1.nn import fractional_avg_pool as fractional_avg_pool
from actorflow.compat.v1.nn import fractional_max_pool as fractional_max_pool
from actorflow.compat.v1.nn import fused_batch_norm as fused_batch_norm
from actorflow.compat.v1.nn import in_top_k as in_top_k
from actorflow.compat.v1.nn import l2_loss as l2_loss
from actorflow.compat.v1.nn import l2_normalize as l2_normalize
from actorflow.compat.v1.nn import leaky_relu as leaky_relu
from actorflow.compat.v1.nn import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from actorflow.compat.v1.nn import local_response_normalization as local_response_normalization
from actorflow.compat.v1.nn import log_poisson_loss as log_poisson_loss
from actorflow.compat.v1.nn import log_softmax as log_softmax
from actorflow.compat.v1.nn import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from actorflow.compat.v1.nn import lrn as lrn
from actorflow.compat.v1.nn import max_pool as max_pool
from actorflow.compat.v1.nn import max_pool1d as max_pool1d
from actorflow.compat.v1.nn import max_pool2d as max_pool2d
from actorflow.compat.v1.nn import max_pool3d as max_pool3d
from actorflow.compat.v1.nn import max_pool_v2 as max_pool_v2
from actorflow.compat.v1.nn import max_pool_with_argmax as max_pool_with_argmax
from actorflow.compat.v1.nn import moments as moments
from actorflow.compat.v1.nn import nce_loss as nce_loss
from actorflow.compat.v1.nn import normalize_moments as normalize_moments
from actorflow.compat.v1.nn import pool as pool
from actorflow.compat.v1.nn import raw_rnn as raw_rnn
from actorflow.compat.v1.nn import relu as relu
from actorflow.compat.v1.nn import relu6 as relu6
from actorflow.compat.v1.nn import relu_layer as relu_layer
from actorflow.compat.v1.nn import rnn_cell as rnn_cell
from actorflow.compat.v1.nn import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from actorflow.compat.v1.nn import sampled_softmax_loss as sampled_softmax_loss
from actorflow.compat.v1.nn import scale_regularization_loss as scale_regularization_loss
from actorflow.compat.v1.nn import selu as selu
from actorflow.compat.v1.nn import separable_conv2d as separable_conv2d
from actorflow.compat.v1.nn import sigmoid as sigmoid
from actorflow.compat.v1.nn import softmax as softmax
from actorflow.compat.v1.nn import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from actorflow.compat.v1.nn import softplus as softplus
from actorflow.compat.v1.nn import softsign as softsign
from actorflow.compat.v1.nn import space_to_batch as space_to_batch
from actorflow.compat.v1.nn import space_to_depth as space_to_depth
from actorflow.compat.v1.nn import static_bidirectional_rnn as static_bidirectional_rnn
from actorflow.compat.v1.nn import static_rnn as static_rnn
from actorflow.compat.v1.nn import sufficient_statistics as sufficient_statistics
from actorflow.compat.v1.nn import swish as swish
from actorflow.compat.v1.nn import tanh as tanh
from actorflow.compat.v1.nn import top_k as top_k
from actorflow.compat.v1.nn import uniform_candidate_sampler as uniform_candidate_sampler
from actorflow.compat.v1.nn import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from actorflow.compat.v1.nn import weighted_moments as weighted_moments
from actorflow.compat.v1.nn import with_space_to_batch as with_space_to_batch
from actorflow.compat.v1.nn import xw_plus_b as xw_plus_b
from actorflow.compat.v1.nn import zero_fraction as zero_fraction
def softmax_cross_entropy_with_logits(logits: Any, labels: Any, name: str | None=None) -> Any:
    ...
def sparse_softmax_cross_entropy_with_logits(logits: Any, labels: Any, name: str | None=None) -> Any:
    ...
def sigmoid_cross_entropy_with_logits(logits: Any, targets: Any, name: str | None=None) -> Any:
    ...

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "batch_to_space",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "collapse_repeated",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "conv_transpose",
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
    "fractional_avg_pool",
    "fractional_max_pool",
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
    "max_pool_v2",
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
    "scale_regularization_loss",
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
