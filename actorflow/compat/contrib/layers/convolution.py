"""Convolutions, transposed convolutions, and convolutions of separable kernels, as functions that make their variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.framework.arguments import add_arg_scope
from actorflow.compat.contrib.layers.initializers import xavier_initializer
from actorflow.compat.contrib.layers.outputs import channels, finished, made, normalized

_XAVIER = xavier_initializer()
_ZEROS = tf.zeros_initializer()


def several(value: Any, count: int) -> list[int]:
    """`value` for each of `count` dimensions: a number, or a list, an array or a shape of numbers."""
    sizes = (
        [int(each) for each in value]
        if isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0
        else [int(value)] * count
    )
    return sizes * count if len(sizes) == 1 else sizes


def _inputs(inputs: Any, rank: int, data_format: str | None, layer: str) -> tuple[Any, int, bool]:
    """The inputs as a tensor, their channels, and whether these come first."""
    inputs = tf.convert_to_tensor(inputs)
    if data_format not in (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    if inputs.shape.ndims is not None and inputs.shape.ndims != rank + 2:
        raise ValueError(f"Convolution not supported for input with rank {inputs.shape.ndims}")
    first = data_format is not None and data_format.startswith("NC")
    return inputs, channels(inputs, 1 if first else -1, layer), first


@add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = _ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int | None = None,
) -> Any:
    """A convolution over 1, 2 or 3 dimensions (`tf.contrib.layers.convolution`).

    Args:
        inputs: a tensor of shape [batch, spatial..., channels], or of the order of `data_format`.
        num_outputs: the number of filters.
        kernel_size, stride, rate: a number, or a number for each dimension.
        padding: `SAME` or `VALID`.
        data_format: such as `NHWC` or `NCHW`.
        activation_fn: a function, or None.
        normalizer_fn, normalizer_params: a function in place of the biases, and its arguments.
        weights_initializer, weights_regularizer, biases_initializer, biases_regularizer: of the variables.
        reuse, variables_collections, outputs_collections, trainable, scope: see `tf.layers.conv2d`.
        conv_dims: the number of dimensions that the inputs have to have.

    Raises:
        ValueError: an unknown format, another rank, or channels that are not known.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.contrib.layers.conv2d(tf.ones([1, 8, 8, 3]), 16, [3, 3], stride=2).shape.as_list()
        [1, 4, 4, 16]
    """
    with tf.variable_scope(scope, "Conv", [inputs], reuse=reuse) as opened:
        ndims = tf.convert_to_tensor(inputs).shape.ndims
        if conv_dims is not None and ndims is not None and conv_dims + 2 != ndims:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {ndims}")
        rank = conv_dims or (ndims or 4) - 2
        inputs, depth, _ = _inputs(inputs, rank, data_format, "convolution")
        dtype = inputs.dtype.base_dtype
        shape = [*several(kernel_size, rank), depth, int(num_outputs)]
        weights = made(
            "weights", shape, dtype, weights_initializer, weights_regularizer, variables_collections, trainable
        )
        outputs = tf.nn.convolution(
            inputs,
            weights,
            padding.upper(),
            strides=several(stride, rank),
            dilation_rate=several(rate, rank),
            data_format=data_format,
        )
        outputs = normalized(
            outputs,
            int(num_outputs),
            normalizer_fn,
            normalizer_params,
            biases_initializer,
            biases_regularizer,
            variables_collections,
            trainable,
            data_format,
        )
        return finished(opened, outputs, activation_fn, outputs_collections)


def _of_rank(rank: int) -> Any:
    def convolve(inputs: Any, num_outputs: int, kernel_size: Any, *args: Any, **kwargs: Any) -> Any:
        return convolution(inputs, num_outputs, kernel_size, *args, **{**kwargs, "conv_dims": rank})

    convolve.__name__ = convolve.__qualname__ = f"convolution{rank}d"
    convolve.__doc__ = f"`convolution` over {rank} dimension{'s' * (rank > 1)}."
    return convolve


def _scoped(rank: int) -> Any:
    """The function with the parameters of `convolution`, so that `arg_scope` knows them."""
    import inspect

    function = _of_rank(rank)
    parameters = [p for name, p in inspect.signature(convolution).parameters.items() if name != "conv_dims"]
    function.__signature__ = inspect.Signature(parameters)
    return add_arg_scope(function)


conv1d, conv2d, conv3d = _scoped(1), _scoped(2), _scoped(3)


def _transposed(
    rank: int, inputs: Any, weights: Any, strides: list[int], padding: str, first: bool, sizes: list[int]
) -> Any:
    """The transposed convolution, whose spatial sizes follow from `padding`."""
    shape = inputs.shape.as_list()
    spatial = range(2, 2 + rank) if first else range(1, 1 + rank)
    lengths: list[Any] = []
    for axis, stride, size in zip(spatial, strides, sizes, strict=True):
        length = shape[axis] if shape[axis] is not None else tf.shape(inputs)[axis]
        lengths.append(length * stride if padding == "SAME" else length * stride + max(size - stride, 0))
    count = weights.shape.as_list()[-2]
    batch = shape[0] if shape[0] is not None else tf.shape(inputs)[0]
    whole = [batch, count, *lengths] if first else [batch, *lengths, count]
    steps = [1, 1, *strides] if first else [1, *strides, 1]
    data_format = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[rank][first]
    transpose = tf.nn.conv2d_transpose if rank == 2 else tf.nn.conv3d_transpose
    static = all(isinstance(each, int) for each in whole)
    outputs = transpose(
        inputs, weights, whole if static else tf.stack(whole), strides=steps, padding=padding, data_format=data_format
    )
    outputs.set_shape([each if isinstance(each, int) else None for each in whole])
    return outputs


def _transposing(rank: int, name: str, default: str) -> Any:
    def convolve(
        inputs: Any,
        num_outputs: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str | None = None,
        activation_fn: Any = tf.nn.relu,
        normalizer_fn: Any = None,
        normalizer_params: Any = None,
        weights_initializer: Any = _XAVIER,
        weights_regularizer: Any = None,
        biases_initializer: Any = _ZEROS,
        biases_regularizer: Any = None,
        reuse: Any = None,
        variables_collections: Any = None,
        outputs_collections: Any = None,
        trainable: bool = True,
        scope: Any = None,
    ) -> Any:
        with tf.variable_scope(scope, default, [inputs], reuse=reuse) as opened:
            tensor, depth, first = _inputs(inputs, rank, data_format, name)
            sizes = several(kernel_size, rank)
            dtype = tensor.dtype.base_dtype
            shape = [*sizes, int(num_outputs), depth]
            weights = made(
                "weights", shape, dtype, weights_initializer, weights_regularizer, variables_collections, trainable
            )
            outputs = _transposed(rank, tensor, weights, several(stride, rank), padding.upper(), first, sizes)
            outputs = normalized(
                outputs,
                int(num_outputs),
                normalizer_fn,
                normalizer_params,
                biases_initializer,
                biases_regularizer,
                variables_collections,
                trainable,
                data_format,
            )
            return finished(opened, outputs, activation_fn, outputs_collections)

    convolve.__name__ = convolve.__qualname__ = name
    convolve.__doc__ = f"A transposed convolution over {rank} dimensions. Its arguments are those of `convolution`."
    return add_arg_scope(convolve)


conv2d_transpose = _transposing(2, "convolution2d_transpose", "Conv2d_transpose")
conv3d_transpose = _transposing(3, "convolution3d_transpose", "Conv3d_transpose")


@add_arg_scope
def separable_conv2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _XAVIER,
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = _ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution of each channel by itself, then a 1×1 convolution across channels; without `num_outputs` the first alone.

    Args:
        inputs: a tensor of rank 4.
        num_outputs: the number of filters, or None.
        kernel_size, stride, rate: a number, or a number for each dimension.
        depth_multiplier: the number of filters for each channel.
        pointwise_initializer: of the second kernel; `weights_initializer` unless given.
        padding, data_format, activation_fn, normalizer_fn, normalizer_params, weights_initializer, weights_regularizer:
            see `convolution`.
        biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections, trainable, scope: see
            `convolution`.

    Raises:
        ValueError: an unknown format, another rank, or channels that are not known.
    """
    with tf.variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse) as opened:
        inputs, depth, first = _inputs(inputs, 2, data_format, "separable_conv2d")
        dtype = inputs.dtype.base_dtype
        sizes, steps = several(kernel_size, 2), several(stride, 2)
        strides = [1, 1, *steps] if first else [1, *steps, 1]

        def weights(name: str, shape: list[Any], initializer: Any) -> Any:
            return made(name, shape, dtype, initializer, weights_regularizer, variables_collections, trainable)

        depthwise = weights("depthwise_weights", [*sizes, depth, depth_multiplier], weights_initializer)
        settings: dict[str, Any] = {"rate": several(rate, 2), "data_format": data_format}
        if num_outputs is not None:
            count = int(num_outputs)
            shape = [1, 1, depth * depth_multiplier, count]
            pointwise = weights("pointwise_weights", shape, pointwise_initializer or weights_initializer)
            outputs = tf.nn.separable_conv2d(inputs, depthwise, pointwise, strides, padding.upper(), **settings)
        else:
            count = depth * depth_multiplier
            outputs = tf.nn.depthwise_conv2d(inputs, depthwise, strides, padding.upper(), **settings)
        outputs = normalized(
            outputs,
            count,
            normalizer_fn,
            normalizer_params,
            biases_initializer,
            biases_regularizer,
            variables_collections,
            trainable,
            data_format,
        )
        return finished(opened, outputs, activation_fn, outputs_collections)


@add_arg_scope
def conv2d_in_plane(
    inputs: Any,
    kernel_size: Sequence[int],
    stride: Any = 1,
    padding: str = "SAME",
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = _XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = _ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """One convolution for all channels: the same kernel for each. Its arguments are those of `convolution`."""
    with tf.variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as opened:
        inputs, depth, _ = _inputs(inputs, 2, None, "conv2d_in_plane")
        dtype = inputs.dtype.base_dtype
        shape = [*several(kernel_size, 2), 1, 1]
        weights = made(
            "weights", shape, dtype, weights_initializer, weights_regularizer, variables_collections, trainable
        )
        kernels = tf.tile(weights, [1, 1, depth, 1])
        outputs = tf.nn.depthwise_conv2d(inputs, kernels, [1, *several(stride, 2), 1], padding.upper())
        outputs = normalized(
            outputs,
            depth,
            normalizer_fn,
            normalizer_params,
            biases_initializer,
            biases_regularizer,
            variables_collections,
            trainable,
        )
        return finished(opened, outputs, activation_fn, outputs_collections)
