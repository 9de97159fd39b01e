"""`fully_connected`, and functions of functions of layers."""

from __future__ import annotations

import functools
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.framework.arguments import add_arg_scope
from actorflow.compat.contrib.layers.initializers import xavier_initializer
from actorflow.compat.contrib.layers.outputs import channels, finished, made, normalized


@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008  (has no state)
    weights_regularizer: Any = None,
    biases_initializer: Any = tf.zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """`activation(inputs · weights + biases)`, over the last dimension (`tf.contrib.layers.fully_connected`).

    Args:
        inputs: a tensor of rank 2 or more, of which the last size is known.
        num_outputs: the size of the result's last dimension.
        activation_fn: a function, or None.
        normalizer_fn, normalizer_params: a function in place of the biases, and its arguments.
        weights_initializer, weights_regularizer, biases_initializer, biases_regularizer: of the variables.
        reuse, variables_collections, outputs_collections, trainable, scope: see `tf.layers.dense`.

    Raises:
        ValueError: `num_outputs` is no integer, or the last size is not known.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     y = tf.contrib.layers.fully_connected(tf.ones([2, 3]), 4, scope="dense")
        ...     print(y.shape.as_list(), [v.name for v in tf.trainable_variables()])
        [2, 4] ['dense/weights:0', 'dense/biases:0']
    """
    if not isinstance(num_outputs, int) and not hasattr(num_outputs, "__index__"):
        raise ValueError(f"num_outputs type should be one of (int, long), got {type(num_outputs)}.")
    num_outputs = int(num_outputs)
    with tf.variable_scope(scope, "fully_connected", [inputs], reuse=reuse) as opened:
        inputs = tf.convert_to_tensor(inputs)
        depth = channels(inputs, -1, "fully_connected")
        dtype = inputs.dtype.base_dtype
        shape = [depth, num_outputs]
        weights = made(
            "weights", shape, dtype, weights_initializer, weights_regularizer, variables_collections, trainable
        )
        rank = inputs.shape.ndims
        outputs = tf.matmul(inputs, weights) if rank == 2 else tf.tensordot(inputs, weights, [[rank - 1], [0]])
        outputs = normalized(
            outputs,
            num_outputs,
            normalizer_fn,
            normalizer_params,
            biases_initializer,
            biases_regularizer,
            variables_collections,
            trainable,
        )
        return finished(opened, outputs, activation_fn, outputs_collections)


relu = functools.partial(fully_connected, activation_fn=tf.nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=tf.nn.relu6)
linear = functools.partial(fully_connected, activation_fn=None)
elu = functools.partial(fully_connected, activation_fn=tf.nn.elu)


@add_arg_scope
def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Any = None,
    weight_init: Any = xavier_initializer(),  # noqa: B008
    bias_init: Any = tf.zeros_initializer(),  # noqa: B008
    name: str | None = None,
    weight_collections: Any = (tf.GraphKeys.WEIGHTS,),
    bias_collections: Any = (tf.GraphKeys.BIASES,),
    output_collections: Any = (tf.GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> Any:
    """`fully_connected` with the names of its arguments in 2016. See there."""
    with tf.variable_scope(name, "fully_connected", [x]):
        x = tf.convert_to_tensor(x)
        depth, dtype = channels(x, -1, "legacy_fully_connected"), x.dtype.base_dtype
        weights = tf.get_variable(
            "weights",
            [depth, num_output_units],
            dtype,
            weight_init,
            weight_regularizer,
            trainable,
            [*weight_collections, tf.GraphKeys.GLOBAL_VARIABLES],
        )
        rank = x.shape.ndims
        y = tf.matmul(x, weights) if rank == 2 else tf.tensordot(x, weights, [[rank - 1], [0]])
        if bias_init is not None:
            names = [*bias_collections, tf.GraphKeys.GLOBAL_VARIABLES]
            bias = tf.get_variable("bias", [num_output_units], dtype, bias_init, bias_regularizer, trainable, names)
            y = tf.nn.bias_add(y, bias)
        y = y if activation_fn is None else activation_fn(y)
        tf.add_to_collections(list(output_collections), y)
        return y


legacy_linear = legacy_fully_connected
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=tf.nn.relu)


@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = tf.zeros_initializer(),  # noqa: B008
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """`inputs` and a bias for each channel. Raises ValueError for an unknown format."""
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with tf.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as opened:
        inputs = tf.convert_to_tensor(inputs)
        count = channels(inputs, 1 if data_format == "NCHW" else -1, "bias_add")
        dtype = inputs.dtype.base_dtype
        biases = made("biases", [count], dtype, initializer, regularizer, variables_collections, trainable)
        return finished(
            opened, tf.nn.bias_add(inputs, biases, data_format=data_format), activation_fn, outputs_collections
        )


@add_arg_scope
def repeat(inputs: Any, repetitions: int, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """One layer several times: its names are `scope/scope_1`, `scope/scope_2` and so on."""
    scope = kwargs.pop("scope", None)
    with tf.variable_scope(scope, "Repeat", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        if scope is None:
            scope = getattr(layer, "__name__", None) or (layer.func.__name__ if hasattr(layer, "func") else "repeat")
        outputs = inputs
        for index in range(repetitions):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{scope}_{index + 1}"})
        return outputs


@add_arg_scope
def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Any:
    """One layer several times with other arguments: its names are `scope/scope_1` and so on."""
    scope = kwargs.pop("scope", None)
    with tf.variable_scope(scope, "Stack", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        if scope is None:
            scope = getattr(layer, "__name__", None) or (layer.func.__name__ if hasattr(layer, "func") else "stack")
        outputs = inputs
        for index, each in enumerate(stack_args):
            arguments = each if isinstance(each, (list, tuple)) else [each]
            outputs = layer(outputs, *arguments, **{**kwargs, "scope": f"{scope}_{index + 1}"})
        return outputs


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Any:
    """The greatest of each group of channels (Goodfellow and others 2013). Raises ValueError for a number that does not fit."""
    with tf.variable_scope(scope, "MaxOut", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        sizes = inputs.shape.as_list()
        count = sizes[axis]
        if count % num_units:
            raise ValueError(f"number of features({count}) is not a multiple of num_units({num_units})")
        axis %= len(sizes)
        shape = [-1 if size is None else size for size in sizes]
        shape[axis : axis + 1] = [num_units, count // num_units]
        return tf.reduce_max(tf.reshape(inputs, shape), axis + 1)


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """`inputs` of length 1 along a dimension."""
    with tf.variable_scope(scope, "UnitNorm", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        return inputs / tf.sqrt(epsilon + tf.reduce_sum(tf.square(inputs), dim, True))
