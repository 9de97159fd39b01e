"""Batch, layer, instance and group normalization, as functions that make their variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.framework.arguments import add_arg_scope
from actorflow.compat.contrib.layers.outputs import channels, finished, made
from actorflow.compat.door.standins import smart_cond


def _parameter(name: str, shape: Any, dtype: Any, value: float, settings: dict[str, Any]) -> Any:
    initializers = settings.get("initializers") or {}
    regularizers = settings.get("regularizers") or {}
    initializer = initializers.get(name, tf.constant_initializer(value))
    return made(
        name, shape, dtype, initializer, regularizers.get(name), settings.get("collections"), settings["trainable"]
    )


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = tf.GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Normalizes each channel by the batch's mean and variance, or by moving averages of these (`batch_norm` of contrib).

    Args:
        inputs: a tensor of rank 2 or more.
        decay: of the moving averages.
        center, scale: whether to add `beta`, and to multiply with `gamma`.
        epsilon: what is added to the variance.
        activation_fn: a function, or None.
        param_initializers, param_regularizers: by the names `beta`, `gamma`, `moving_mean`, `moving_variance`.
        updates_collections: the collection of what moves the averages; None for moving at once.
        is_training: whether to take the batch's moments: a bool or a tensor.
        reuse, variables_collections, outputs_collections, trainable, scope: see `tf.layers.batch_normalization`.
        data_format: `NHWC` or `NCHW`.
        zero_debias_moving_mean: whether to correct the mean for its start at zero.
        fused: without effect: values are those of TensorFlow's fused form if TensorFlow would take that form.
        batch_weights, renorm, renorm_clipping, renorm_decay, adjustment: not offered.

    Raises:
        ValueError: an unknown format, or channels that are not known.
        NotImplementedError: an argument that is not offered.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     y = tf.contrib.layers.batch_norm(tf.ones([4, 3]), scope="bn")
        ...     print([v.name for v in tf.global_variables()])
        ['bn/beta:0', 'bn/moving_mean:0', 'bn/moving_variance:0']
    """
    if batch_weights is not None or renorm or adjustment is not None:
        raise NotImplementedError(
            "batch_norm of contrib takes no batch_weights, renorm or adjustment here: see tf.layers.batch_normalization."
        )
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with tf.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as opened:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank")
        axis = 1 if data_format == "NCHW" and rank > 2 else rank - 1
        count = channels(inputs, axis, "batch_norm")
        kind = tf.float32 if inputs.dtype in (tf.float16, tf.bfloat16) else inputs.dtype.base_dtype
        settings = {
            "initializers": param_initializers,
            "regularizers": param_regularizers,
            "collections": variables_collections,
            "trainable": trainable,
        }
        # as in TensorFlow, whose form for these makes them in another order
        by_layer = rank != 2 and updates_collections == tf.GraphKeys.UPDATE_OPS and not zero_debias_moving_mean
        parameters = _parameters(count, kind, center, scale, by_layer, settings)
        averages = _Averages(inputs, kind, axis, count, *parameters, decay, epsilon, zero_debias_moving_mean)
        training = averages.train_at_once if updates_collections is None else averages.train
        outputs = smart_cond(is_training, training, averages.serve)
        static_training = is_training if isinstance(is_training, (bool, int)) else None
        if updates_collections is not None and static_training is not False and static_training != 0:
            for update in smart_cond(is_training, averages.update, averages.stay):
                tf.add_to_collections(updates_collections, update)
        outputs.set_shape(inputs.shape)
        return finished(opened, outputs, activation_fn, outputs_collections)


def _parameters(
    count: int, dtype: Any, center: bool, scale: bool, factor_first: bool, settings: dict[str, Any]
) -> tuple[Any, Any, Any, Any]:
    """The factor and the offset of each channel, or None, and the variables of both moving averages."""
    gamma = _parameter("gamma", [count], dtype, 1.0, settings) if scale and factor_first else None
    beta = _parameter("beta", [count], dtype, 0.0, settings) if center else None
    if scale and gamma is None:
        gamma = _parameter("gamma", [count], dtype, 1.0, settings)
    fixed = {**settings, "regularizers": None, "trainable": False}
    mean = _parameter("moving_mean", [count], dtype, 0.0, fixed)
    return gamma, beta, mean, _parameter("moving_variance", [count], dtype, 1.0, fixed)


@dataclass(frozen=True, slots=True)
class _Averages:
    """A batch normalization: its input, its parameters, and the moving averages of the batches' moments.

    Args:
        inputs: the tensor to normalize.
        dtype: the type of the moments.
        axis: the dimension of the channels.
        channels: the number of channels.
        gamma, beta: the factor and the offset of each channel, or None.
        mean, variance: the variables of the moving averages.
        decay: of the moving averages.
        epsilon: what is added to the variance.
        zero_debias: whether to correct the mean for its start at zero.
    """

    inputs: Any
    dtype: Any
    axis: int
    channels: int
    gamma: Any
    beta: Any
    mean: Any
    variance: Any
    decay: float
    epsilon: float
    zero_debias: bool

    def train(self) -> Any:
        """The input, normalized by its own moments."""
        return self._normalize(*self._moments())

    def train_at_once(self) -> Any:
        """The same, behind an update of the moving averages."""
        mean, variance = self._moments()
        with tf.control_dependencies(self._moved(mean, variance)):
            return self._normalize(tf.identity(mean), tf.identity(variance))

    def serve(self) -> Any:
        """The input, normalized by the moving averages."""
        return self._normalize(self.mean, self.variance)

    def update(self) -> list[Any]:
        """The operations that move the averages."""
        return self._moved(*self._moments())

    def stay(self) -> list[Any]:
        """In place of `update`: the averages as they are."""
        return [tf.identity(self.mean), tf.identity(self.variance)]

    def _moments(self) -> Any:
        axes = [axis for axis in range(self.inputs.shape.ndims) if axis != self.axis]
        return tf.nn.moments(tf.cast(self.inputs, self.dtype), axes)

    def _normalize(self, mean: Any, variance: Any) -> Any:
        offset = None if self.beta is None else self._shaped(self.beta)
        factor = None if self.gamma is None else self._shaped(self.gamma)
        whole = tf.cast(self.inputs, self.dtype)
        moments = self._shaped(mean), self._shaped(variance)
        normed = tf.nn.batch_normalization(whole, *moments, offset, factor, self.epsilon)
        return tf.cast(normed, self.inputs.dtype)

    def _shaped(self, value: Any) -> Any:
        """A value for each channel, in a shape that broadcasts over the input."""
        rank = self.inputs.shape.ndims
        if self.axis == rank - 1:
            return value
        return tf.reshape(value, [self.channels if axis == self.axis else 1 for axis in range(rank)])

    def _moved(self, mean: Any, variance: Any) -> list[Any]:
        if self.inputs.shape.ndims in (2, 4):  # as the fused op does: the average of the variance is that without bias
            size = tf.cast(tf.size(self.inputs) // self.channels, self.dtype)
            variance = variance * (size / tf.maximum(size - 1.0, 1.0))
        from actorflow.compat.door.calculations import assign_moving_average

        return [
            assign_moving_average(self.mean, mean, self.decay, zero_debias=self.zero_debias),
            assign_moving_average(self.variance, variance, self.decay, zero_debias=False),
        ]


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Normalizes each example over its dimensions from `begin_norm_axis` on (Ba and others 2016).

    Args:
        inputs: a tensor of known rank.
        center, scale: whether to add `beta`, and to multiply with `gamma`.
        activation_fn: a function, or None.
        begin_norm_axis: the first dimension that is normalized.
        begin_params_axis: the first dimension of `beta` and `gamma`.
        reuse, variables_collections, outputs_collections, trainable, scope: see `batch_norm`.

    Raises:
        ValueError: sizes of the parameters that are not known.
    """
    with tf.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as opened:
        inputs = tf.convert_to_tensor(inputs)
        sizes = inputs.shape.as_list()
        rank, dtype = len(sizes), inputs.dtype.base_dtype
        begin = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or begin >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin}) must be < rank(inputs) ({rank})"
            )
        shape = sizes[begin_params_axis:]
        if None in shape:
            raise ValueError(f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {shape}")
        settings = {"collections": variables_collections, "trainable": trainable}
        beta = _parameter("beta", shape, dtype, 0.0, settings) if center else None
        gamma = _parameter("gamma", shape, dtype, 1.0, settings) if scale else None
        mean, variance = tf.nn.moments(inputs, list(range(begin, rank)), keep_dims=True)
        epsilon = 1e-3 if dtype == tf.float16 else 1e-12
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return finished(opened, outputs, activation_fn, outputs_collections)


@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Normalizes each channel of each example over its spatial dimensions (Ulyanov and others 2016). See `batch_norm`."""
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with tf.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as opened:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        axis = 1 if data_format == "NCHW" else rank - 1
        count, dtype = channels(inputs, axis, "instance_norm"), inputs.dtype.base_dtype
        settings = {"initializers": param_initializers, "collections": variables_collections, "trainable": trainable}
        broad = [1] * rank
        broad[axis] = count
        beta = tf.reshape(_parameter("beta", [count], dtype, 0.0, settings), broad) if center else None
        gamma = tf.reshape(_parameter("gamma", [count], dtype, 1.0, settings), broad) if scale else None
        axes = [each for each in range(1, rank) if each != axis]
        mean, variance = tf.nn.moments(inputs, axes, keep_dims=True)
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return finished(opened, outputs, activation_fn, outputs_collections)


@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Normalizes groups of channels of each example (Wu and He 2018). See `batch_norm`.

    Args:
        inputs: a tensor of known rank.
        groups: the number of groups, which divides that of channels.
        channels_axis: the dimension of channels.
        reduction_axes: the further dimensions that are normalized together.
        mean_close_to_zero: without effect.
        center, scale, epsilon, activation_fn, param_initializers, reuse, variables_collections, outputs_collections,
            trainable, scope: see `batch_norm`.

    Raises:
        ValueError: the groups do not divide the channels.
    """
    with tf.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as opened:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        axis = channels_axis % rank
        count, dtype = channels(inputs, axis, "group_norm"), inputs.dtype.base_dtype
        if count % groups:
            raise ValueError(f"{count} channels is not commensurate with {groups} groups.")
        dynamic = tf.unstack(tf.shape(inputs))
        static = inputs.shape.as_list()
        sizes = [size if size is not None else dynamic[index] for index, size in enumerate(static)]
        split = [*sizes[:axis], groups, count // groups, *sizes[axis + 1 :]]
        axes = [axis + 1, *((each % rank) + (each % rank > axis) for each in reduction_axes)]
        settings = {"initializers": param_initializers, "collections": variables_collections, "trainable": trainable}
        broad = [1] * (rank + 1)
        broad[axis : axis + 2] = [groups, count // groups]
        beta = tf.reshape(_parameter("beta", [count], dtype, 0.0, settings), broad) if center else None
        gamma = tf.reshape(_parameter("gamma", [count], dtype, 1.0, settings), broad) if scale else None
        parts = tf.reshape(inputs, tf.stack(split))
        mean, variance = tf.nn.moments(parts, sorted(axes), keep_dims=True)
        outputs = tf.nn.batch_normalization(parts, mean, variance, beta, gamma, epsilon)
        outputs = tf.reshape(outputs, tf.stack(sizes))
        outputs.set_shape(inputs.shape)
        return finished(opened, outputs, activation_fn, outputs_collections)
