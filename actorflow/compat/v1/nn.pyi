# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.numerics import conv3d_backprop_filter as conv3d_backprop_filter
from actorflow.compat.names.numerics import conv_transpose as conv_transpose
from actorflow.compat.names.training import avg_pool_v2 as avg_pool_v2
from actorflow.compat.names.training import compute_average_loss as compute_average_loss
from actorflow.compat.names.training import max_pool_v2 as max_pool_v2
from actorflow.compat.names.training import scale_regularization_loss as scale_regularization_loss
from actorflow.graph.ops.array.sort import in_top_k as in_top_k
from actorflow.graph.ops.array.sort import top_k as top_k
from actorflow.graph.ops.array.space_batch import batch_to_space as batch_to_space
from actorflow.graph.ops.array.space_batch import depth_to_space as depth_to_space
from actorflow.graph.ops.array.space_batch import space_to_batch as space_to_batch
from actorflow.graph.ops.array.space_batch import space_to_depth as space_to_depth
from actorflow.graph.ops.array.space_batch import with_space_to_batch as with_space_to_batch
from actorflow.graph.ops.math.elementwise import sigmoid as sigmoid
from actorflow.graph.ops.math.elementwise import tanh as tanh
from actorflow.graph.ops.math.statistics import zero_fraction as zero_fraction
from actorflow.graph.ops.nn.activation import bias_add as bias_add
from actorflow.graph.ops.nn.activation import elu as elu
from actorflow.graph.ops.nn.activation import l2_loss as l2_loss
from actorflow.graph.ops.nn.activation import leaky_relu as leaky_relu
from actorflow.graph.ops.nn.activation import log_softmax as log_softmax
from actorflow.graph.ops.nn.activation import relu as relu
from actorflow.graph.ops.nn.activation import relu6 as relu6
from actorflow.graph.ops.nn.activation import selu as selu
from actorflow.graph.ops.nn.activation import softmax as softmax
from actorflow.graph.ops.nn.activation import softplus as softplus
from actorflow.graph.ops.nn.activation import softsign as softsign
from actorflow.graph.ops.nn.candidate_sampling import all_candidate_sampler as all_candidate_sampler
from actorflow.graph.ops.nn.candidate_sampling import compute_accidental_hits as compute_accidental_hits
from actorflow.graph.ops.nn.candidate_sampling import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from actorflow.graph.ops.nn.candidate_sampling import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from actorflow.graph.ops.nn.candidate_sampling import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from actorflow.graph.ops.nn.candidate_sampling import uniform_candidate_sampler as uniform_candidate_sampler
from actorflow.graph.ops.nn.conv.depthwise import depthwise_conv2d as depthwise_conv2d
from actorflow.graph.ops.nn.conv.depthwise import depthwise_conv2d_native as depthwise_conv2d_native
from actorflow.graph.ops.nn.conv.depthwise import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_backprop_filter
from actorflow.graph.ops.nn.conv.depthwise import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter
from actorflow.graph.ops.nn.conv.depthwise import depthwise_conv2d_native_backprop_input as depthwise_conv2d_backprop_input
from actorflow.graph.ops.nn.conv.depthwise import depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input
from actorflow.graph.ops.nn.conv.depthwise import separable_conv2d as separable_conv2d
from actorflow.graph.ops.nn.conv.functions import conv1d as conv1d
from actorflow.graph.ops.nn.conv.functions import conv2d as conv2d
from actorflow.graph.ops.nn.conv.functions import conv2d_backprop_filter as conv2d_backprop_filter
from actorflow.graph.ops.nn.conv.functions import conv2d_backprop_input as conv2d_backprop_input
from actorflow.graph.ops.nn.conv.functions import conv3d as conv3d
from actorflow.graph.ops.nn.conv.functions import convolution as convolution
from actorflow.graph.ops.nn.conv.morphology import dilation2d as dilation2d
from actorflow.graph.ops.nn.conv.morphology import erosion2d as erosion2d
from actorflow.graph.ops.nn.conv.rules import conv3d_backprop_filter_op as conv3d_backprop_filter_v2
from actorflow.graph.ops.nn.conv.transpose import atrous_conv2d as atrous_conv2d
from actorflow.graph.ops.nn.conv.transpose import atrous_conv2d_transpose as atrous_conv2d_transpose
from actorflow.graph.ops.nn.conv.transpose import conv1d_transpose as conv1d_transpose
from actorflow.graph.ops.nn.conv.transpose import conv2d_transpose as conv2d_transpose
from actorflow.graph.ops.nn.conv.transpose import conv3d_transpose as conv3d_transpose
from actorflow.graph.ops.nn.ctc import collapse_repeated as collapse_repeated
from actorflow.graph.ops.nn.ctc import ctc_beam_search_decoder as ctc_beam_search_decoder
from actorflow.graph.ops.nn.ctc import ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2
from actorflow.graph.ops.nn.ctc import ctc_greedy_decoder as ctc_greedy_decoder
from actorflow.graph.ops.nn.ctc import ctc_loss as ctc_loss
from actorflow.graph.ops.nn.ctc_dense import ctc_loss_v2 as ctc_loss_v2
from actorflow.graph.ops.nn.ctc_dense import ctc_unique_labels as ctc_unique_labels
from actorflow.graph.ops.nn.embedding import embedding_lookup as embedding_lookup
from actorflow.graph.ops.nn.embedding import embedding_lookup_sparse as embedding_lookup_sparse
from actorflow.graph.ops.nn.embedding import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from actorflow.graph.ops.nn.layers import crelu as crelu
from actorflow.graph.ops.nn.layers import dropout as dropout
from actorflow.graph.ops.nn.layers import relu_layer as relu_layer
from actorflow.graph.ops.nn.layers import swish as swish
from actorflow.graph.ops.nn.layers import xw_plus_b as xw_plus_b
from actorflow.graph.ops.nn.losses import log_poisson_loss as log_poisson_loss
from actorflow.graph.ops.nn.losses import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from actorflow.graph.ops.nn.losses import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from actorflow.graph.ops.nn.losses import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from actorflow.graph.ops.nn.losses import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from actorflow.graph.ops.nn.losses import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from actorflow.graph.ops.nn.moments import batch_norm_with_global_normalization as batch_norm_with_global_normalization
from actorflow.graph.ops.nn.moments import batch_normalization as batch_normalization
from actorflow.graph.ops.nn.moments import moments as moments
from actorflow.graph.ops.nn.moments import normalize_moments as normalize_moments
from actorflow.graph.ops.nn.moments import sufficient_statistics as sufficient_statistics
from actorflow.graph.ops.nn.moments import weighted_moments as weighted_moments
from actorflow.graph.ops.nn.normalization import fused_batch_norm as fused_batch_norm
from actorflow.graph.ops.nn.normalization import l2_normalize as l2_normalize
from actorflow.graph.ops.nn.normalization import local_response_normalization as local_response_normalization
from actorflow.graph.ops.nn.normalization import local_response_normalization as lrn
from actorflow.graph.ops.nn.pooling.fractional import fractional_avg_pool as fractional_avg_pool
from actorflow.graph.ops.nn.pooling.fractional import fractional_max_pool as fractional_max_pool
from actorflow.graph.ops.nn.pooling.functions import avg_pool as avg_pool
from actorflow.graph.ops.nn.pooling.functions import avg_pool as avg_pool2d
from actorflow.graph.ops.nn.pooling.functions import avg_pool1d as avg_pool1d
from actorflow.graph.ops.nn.pooling.functions import avg_pool3d as avg_pool3d
from actorflow.graph.ops.nn.pooling.functions import max_pool as max_pool
from actorflow.graph.ops.nn.pooling.functions import max_pool1d as max_pool1d
from actorflow.graph.ops.nn.pooling.functions import max_pool2d as max_pool2d
from actorflow.graph.ops.nn.pooling.functions import max_pool3d as max_pool3d
from actorflow.graph.ops.nn.pooling.functions import max_pool_with_argmax as max_pool_with_argmax
from actorflow.graph.ops.nn.pooling.functions import pool as pool
from actorflow.graph.ops.nn.sampled_losses import nce_loss as nce_loss
from actorflow.graph.ops.nn.sampled_losses import sampled_softmax_loss as sampled_softmax_loss
from actorflow.models.rnn import rnn_cell as rnn_cell
from actorflow.models.rnn.raw import raw_rnn as raw_rnn
from actorflow.models.rnn.unroll import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from actorflow.models.rnn.unroll import dynamic_rnn as dynamic_rnn
from actorflow.models.rnn.unroll import static_bidirectional_rnn as static_bidirectional_rnn
from actorflow.models.rnn.unroll import static_rnn as static_rnn

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
