"""Pooling, dropout, flattening, and other layers without weights."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.framework.arguments import add_arg_scope
from actorflow.compat.contrib.layers.convolution import several
from actorflow.compat.contrib.layers.outputs import collect_named_outputs
from actorflow.compat.door.standins import smart_cond

_FORMATS = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def _pooling(rank: int, average: bool) -> Any:
    layer = getattr(tf.layers, f"{'average' if average else 'max'}_pooling{rank}d")
    default = f"{'Avg' if average else 'Max'}Pool{rank}D"
    last, first = _FORMATS[rank]

    def pool_it(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = last,
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Any:
        if data_format not in (last, first):
            raise ValueError(f"data_format has to be either {first} or {last}.")
        with tf.name_scope(scope, default, [inputs]) as name:
            order = "channels_first" if data_format == first else "channels_last"
            outputs = layer(
                tf.convert_to_tensor(inputs),
                several(kernel_size, rank),
                several(stride, rank),
                padding=padding.lower(),
                data_format=order,
            )
            return collect_named_outputs(outputs_collections, name, outputs)

    pool_it.__name__ = pool_it.__qualname__ = f"{'avg' if average else 'max'}_pool{rank}d"
    pool_it.__doc__ = f"The {'mean' if average else 'greatest'} of each window over {rank} dimensions."
    return add_arg_scope(pool_it)


max_pool2d, max_pool3d = _pooling(2, False), _pooling(3, False)
avg_pool2d, avg_pool3d = _pooling(2, True), _pooling(3, True)


@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """Pooling of any kind over any number of dimensions: see `tf.nn.pool`."""
    with tf.name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as name:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims - 2
        outputs = tf.nn.pool(
            inputs,
            several(kernel_size, rank),
            pooling_type,
            padding,
            dilation_rate=several(dilation_rate, rank),
            strides=several(stride, rank),
            data_format=data_format,
        )
        return collect_named_outputs(outputs_collections, name, outputs)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """`inputs` with some elements set to zero and the others scaled by `1 / keep_prob`, while training."""
    with tf.variable_scope(scope, "Dropout", [inputs]) as opened:
        inputs = tf.convert_to_tensor(inputs)
        outputs = smart_cond(
            is_training,
            lambda: tf.nn.dropout(inputs, keep_prob=keep_prob, noise_shape=noise_shape, seed=seed),
            lambda: tf.identity(inputs),
        )
        return collect_named_outputs(outputs_collections, opened.original_name_scope, outputs)


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    """`inputs` of shape [batch, all the rest]."""
    with tf.name_scope(scope, "Flatten", [inputs]) as name:
        outputs = tf.layers.flatten(tf.convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, name, outputs)


@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Any:
    """Softmax over the last dimension of a tensor of any rank."""
    with tf.variable_scope(scope, "softmax", [logits]):
        return tf.nn.softmax(logits)


@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: Any = None,
    name: Any = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Any:
    """The expected position of each channel's features, between -1 and 1: [batch, 2 · channels] (Levine and others 2016)."""
    with tf.variable_scope(name, "spatial_softmax"):
        features = tf.convert_to_tensor(features)
        if data_format == "NHWC":
            features = tf.transpose(features, [0, 3, 1, 2])
        count = features.shape.as_list()[1]
        height, width = tf.shape(features)[2], tf.shape(features)[3]
        if temperature is None:
            temperature = tf.get_variable("temperature", [], tf.float32, tf.ones_initializer(), trainable=trainable)
        flat = tf.reshape(features, [-1, height * width])
        attention = tf.nn.softmax(flat / temperature)
        rows, columns = tf.meshgrid(tf.linspace(-1.0, 1.0, height), tf.linspace(-1.0, 1.0, width), indexing="ij")
        positions = [tf.reduce_sum(tf.reshape(each, [-1]) * attention, 1, keepdims=True) for each in (rows, columns)]
        return tf.reshape(tf.concat(positions, 1), [-1, count * 2])


@add_arg_scope
def dense_to_sparse(tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None) -> Any:
    """A sparse tensor of what is not `eos_token`."""
    with tf.variable_scope(scope, "dense_to_sparse", [tensor]) as opened:
        tensor = tf.convert_to_tensor(tensor)
        indices = tf.where(tf.not_equal(tensor, tf.constant(eos_token, tensor.dtype)))
        values = tf.gather_nd(tensor, indices)
        outputs = tf.SparseTensor(indices, values, tf.shape(tensor, out_type=tf.int64))
        if outputs_collections:
            tf.add_to_collections(outputs_collections, outputs)
        del opened
        return outputs


@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = "NHWC", outputs_collections: Any = None, scope: Any = None
) -> Any:
    """Images [batch, height, width, channels] as sequences [width, height · batch, channels]."""
    with tf.name_scope(scope, "ImagesToSequence", [inputs]) as name:
        inputs = tf.convert_to_tensor(inputs)
        if data_format == "NCHW":
            inputs = tf.transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.shape.as_list()
        sizes = tf.shape(inputs)
        outputs = tf.transpose(tf.reshape(inputs, [sizes[0] * sizes[1], sizes[2], depth]), [1, 0, 2])
        outputs.set_shape([width, None, depth])
        return collect_named_outputs(outputs_collections, name, outputs)


@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """Sequences of `images_to_sequence` as images again."""
    with tf.name_scope(scope, "SequenceToImages", [inputs]) as name:
        inputs = tf.convert_to_tensor(inputs)
        width, batch, depth = inputs.shape.as_list()
        count = -1 if batch is None else batch // height
        length = tf.shape(inputs)[0] if width is None else width
        outputs = tf.transpose(tf.reshape(inputs, [length, count, height, depth]), [1, 2, 0, 3])
        if output_data_format == "channels_first":
            outputs = tf.transpose(outputs, [0, 3, 1, 2])
        return collect_named_outputs(outputs_collections, name, outputs)


def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """`inputs`, whose gradient is multiplied."""
    return inputs * gradient_multiplier + tf.stop_gradient(inputs * (1.0 - gradient_multiplier))
