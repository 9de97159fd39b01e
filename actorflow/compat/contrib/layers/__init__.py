"""`tf.contrib.layers`: layers as functions that make their variables.

convolution.py    convolutions, transposed convolutions, convolutions of separable kernels
dense.py          `fully_connected`, and functions of functions of layers
embeddings.py     embeddings and encodings of ids
initializers.py   Xavier's initializer and variance scaling
normalization.py  batch, layer, instance and group normalization
optimizers.py     `optimize_loss`
outputs.py        collections of outputs by their names
pooling.py        pooling, dropout and flattening
regularizers.py   penalties of weights
summaries.py      summaries of tensors
utils.py          names of outputs, sizes of shapes, and conditions that are known
"""

from actorflow.compat.contrib.parts import part as _part

PLACES = {
    ".layers.convolution": "conv1d conv2d conv3d convolution convolution1d=conv1d convolution2d=conv2d convolution3d=conv3d "
    "conv2d_transpose convolution2d_transpose=conv2d_transpose conv3d_transpose convolution3d_transpose=conv3d_transpose "
    "separable_conv2d separable_convolution2d=separable_conv2d conv2d_in_plane convolution2d_in_plane=conv2d_in_plane",
    ".layers.dense": "fully_connected linear relu relu6 elu bias_add stack repeat maxout legacy_fully_connected legacy_linear "
    "legacy_relu unit_norm",
    ".layers.embeddings": "embed_sequence one_hot_encoding bow_encoder safe_embedding_lookup_sparse embedding_lookup_unique",
    ".layers.initializers": "initializers=. xavier_initializer xavier_initializer_conv2d variance_scaling_initializer",
    ".layers.normalization": "batch_norm layer_norm instance_norm group_norm",
    ".layers.optimizers": "optimize_loss OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES adaptive_clipping_fn",
    ".layers.utils": "utils=.",
    ".layers.outputs": "collect_named_outputs convert_collection_to_dict get_tensor_aliases append_tensor_alias",
    ".layers.pooling": "max_pool2d max_pool3d avg_pool2d avg_pool3d pool dropout flatten softmax spatial_softmax "
    "dense_to_sparse images_to_sequence sequence_to_images scale_gradient",
    ".layers.regularizers": "regularizers=. l1_regularizer l2_regularizer l1_l2_regularizer sum_regularizer apply_regularization",
    ".layers.summaries": "summarize_tensor summarize_activation summarize_tensors summarize_collection summarize_variables "
    "summarize_weights summarize_biases summarize_activations",
    "tf.feature_column": "real_valued_column=numeric_column bucketized_column one_hot_column=indicator_column embedding_column "
    "sparse_column_with_hash_bucket=categorical_column_with_hash_bucket "
    "sparse_column_with_keys=categorical_column_with_vocabulary_list "
    "sparse_column_with_integerized_feature=categorical_column_with_identity "
    "create_feature_spec_for_parsing=make_parse_example_spec",
    "tf": "recompute_grad",
}

__getattr__, __dir__, __all__ = _part(
    "layers",
    PLACES,
    {
        "input_from_feature_columns": "columns are read by tf.feature_column.input_layer",
        "weighted_sum_from_feature_columns": "columns are read by tf.feature_column.linear_model",
        "crossed_column": "use tf.feature_column.crossed_column, whose arguments are others",
        "RevBlock": "use tf.recompute_grad",
        "rev_block": "use tf.recompute_grad",
        "GDN": "the layer of generalised divisive normalization moved to the package tensorflow-compression",
        "gdn": "the layer of generalised divisive normalization moved to the package tensorflow-compression",
    },
)
