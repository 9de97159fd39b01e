"""The functions (`tf.layers.dense`, `conv2d`, ...): each makes a layer and calls it, once.

Most take the inputs and then what their class takes. The three others pass arguments to the call as well, or in another order.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow.graph.structure.module import snake_case
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.models.layers.arguments import ONES, ZEROS, Constraint, Initializer, Regularizer
from actorflow.models.layers.batch_norm import BatchNormalization
from actorflow.models.layers.convolution import Conv1D, Conv2D, Conv3D
from actorflow.models.layers.dropping import Dropout
from actorflow.models.layers.fully_connected import Dense, Flatten
from actorflow.models.layers.layer import Layer
from actorflow.models.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
)
from actorflow.models.layers.separable import SeparableConv1D, SeparableConv2D
from actorflow.models.layers.transposed import Conv2DTranspose, Conv3DTranspose
from actorflow.public import public


def function_of(kind: type[Layer], example: str) -> Any:
    """The function that makes a layer of a class and calls it; its signature and documentation are made from the class's."""

    def function(inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        layer = kind(*args, **kwargs)
        output: Tensor = layer(inputs, scope=layer.given_name)
        return output

    first = inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [
        parameter
        for name, parameter in inspect.signature(kind.__init__).parameters.items()
        if name not in ("self", "inherited")
    ]
    function.__name__ = function.__qualname__ = snake_case(kind.__name__)
    function.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]
    of_class = inspect.getdoc(kind) or ""
    of_init = re.sub(r"    inherited:.*\n?", "", inspect.getdoc(kind.__init__) or "")
    summary = re.sub(r"`tf\.layers\.\w+`", f"`tf.layers.{function.__name__}`", of_class.split("\n\n")[0])
    described = of_init.replace("Args:\n", "Args:\n    inputs: a tensor, in the layer's layout.\n")
    makes = f"Makes an `af.layers.{kind.__name__}` and calls it."
    function.__doc__ = f"{summary}\n\n{makes}\n\nExample:{example.rstrip()}\n\n{described}"
    return function


dense = function_of(
    Dense,
    """
    >>> x = af.placeholder(af.float32, [None, 3])
    >>> af.layers.dense(x, 2, activation=af.nn.relu).shape
    TensorShape([None, 2])
    """,
)
conv1d = function_of(
    Conv1D,
    """
    >>> sequences = af.placeholder(af.float32, [None, 100, 3])
    >>> af.layers.conv1d(sequences, filters=8, kernel_size=5).shape
    TensorShape([None, 96, 8])
    """,
)
conv2d = function_of(
    Conv2D,
    """
    >>> images = af.placeholder(af.float32, [None, 28, 28, 1])
    >>> af.layers.conv2d(images, filters=32, kernel_size=5, padding="same").shape
    TensorShape([None, 28, 28, 32])
    """,
)
conv3d = function_of(
    Conv3D,
    """
    >>> volumes = af.placeholder(af.float32, [None, 16, 32, 32, 1])
    >>> af.layers.conv3d(volumes, filters=4, kernel_size=3, strides=2).shape
    TensorShape([None, 7, 15, 15, 4])
    """,
)
conv2d_transpose = function_of(
    Conv2DTranspose,
    """
    >>> small = af.placeholder(af.float32, [None, 7, 7, 64])
    >>> af.layers.conv2d_transpose(small, 32, 3, strides=2, padding="same").shape
    TensorShape([None, 14, 14, 32])
    """,
)
conv3d_transpose = function_of(
    Conv3DTranspose,
    """
    >>> small = af.placeholder(af.float32, [None, 4, 4, 4, 8])
    >>> af.layers.conv3d_transpose(small, 4, 3, strides=2, padding="same").shape
    TensorShape([None, 8, 8, 8, 4])
    """,
)
separable_conv1d = function_of(
    SeparableConv1D,
    """
    >>> sequences = af.placeholder(af.float32, [None, 100, 3])
    >>> af.layers.separable_conv1d(sequences, filters=8, kernel_size=5, padding="same").shape
    TensorShape([None, 100, 8])
    """,
)
separable_conv2d = function_of(
    SeparableConv2D,
    """
    >>> images = af.placeholder(af.float32, [None, 28, 28, 3])
    >>> af.layers.separable_conv2d(images, filters=16, kernel_size=3).shape
    TensorShape([None, 26, 26, 16])
    """,
)
max_pooling1d = function_of(
    MaxPooling1D,
    """
    >>> af.layers.max_pooling1d(af.constant([[[1.0], [3.0], [2.0], [8.0]]]), pool_size=2, strides=2)
    [[[3.]
      [8.]]]
    """,
)
max_pooling2d = function_of(
    MaxPooling2D,
    """
    >>> images = af.placeholder(af.float32, [None, 28, 28, 32])
    >>> af.layers.max_pooling2d(images, pool_size=2, strides=2).shape
    TensorShape([None, 14, 14, 32])
    """,
)
max_pooling3d = function_of(
    MaxPooling3D,
    """
    >>> volumes = af.placeholder(af.float32, [None, 8, 16, 16, 3])
    >>> af.layers.max_pooling3d(volumes, 2, 2).shape
    TensorShape([None, 4, 8, 8, 3])
    """,
)
average_pooling1d = function_of(
    AveragePooling1D,
    """
    >>> af.layers.average_pooling1d(af.constant([[[1.0], [3.0], [2.0], [8.0]]]), pool_size=2, strides=2)
    [[[2.]
      [5.]]]
    """,
)
average_pooling2d = function_of(
    AveragePooling2D,
    """
    >>> images = af.placeholder(af.float32, [None, 28, 28, 32])
    >>> af.layers.average_pooling2d(images, pool_size=2, strides=2).shape
    TensorShape([None, 14, 14, 32])
    """,
)
average_pooling3d = function_of(
    AveragePooling3D,
    """
    >>> volumes = af.placeholder(af.float32, [None, 8, 16, 16, 3])
    >>> af.layers.average_pooling3d(volumes, 2, 2).shape
    TensorShape([None, 4, 8, 8, 3])
    """,
)
public("af.layers", of="dense conv1d conv2d conv3d conv2d_transpose conv3d_transpose separable_conv1d separable_conv2d")
public(
    "af.layers", of="max_pooling1d max_pooling2d max_pooling3d average_pooling1d average_pooling2d average_pooling3d"
)


@public("af.layers")
def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """All dimensions but that of the batch as one (`tf.layers.flatten`).

    Example:
        >>> af.layers.flatten(af.ones([2, 3, 4])).shape
        TensorShape([2, 12])

    Args:
        inputs: a tensor of shape [batch, ...].
        name: the name of the scope; `flatten` unless given.
        data_format: "channels_last", or "channels_first": then the channels are moved behind space first.
    """
    output: Tensor = Flatten(data_format, name)(inputs, scope=name)
    return output


@public("af.layers")
def dropout(
    inputs: TensorLike,
    rate: TensorLike = 0.5,
    noise_shape: Sequence[Any] | None = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Tensor:
    """In training, sets each element to 0 with probability `rate` and divides the others by 1 - rate (`tf.layers.dropout`).

    Example:
        >>> y = af.layers.dropout(af.ones([1000]), rate=0.5, training=True)
        >>> af.unique(af.sort(y)).y
        [0. 2.]

    Args:
        inputs: a floating tensor.
        rate: the probability that an element is dropped, a number or a scalar in [0, 1).
        noise_shape: the shape of the random choices: sizes of 1 drop or keep together, None stands for the input's size.
        seed: makes the choices the same in every session.
        training: a bool, or a boolean scalar that a run decides: whether anything is dropped.
        name: the name of the scope; `dropout` unless given.

    Raises:
        ValueError: `rate` is not between 0 and 1.
        TypeError: `training` is neither a bool nor a tensor.
    """
    output: Tensor = Dropout(rate, noise_shape, seed, name)(inputs, training=training, scope=name)
    return output


@public("af.layers")
def batch_normalization(
    inputs: TensorLike,
    axis: int | Sequence[int] = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Initializer = ZEROS,
    gamma_initializer: Initializer = ONES,
    moving_mean_initializer: Initializer = ZEROS,
    moving_variance_initializer: Initializer = ONES,
    beta_regularizer: Regularizer = None,
    gamma_regularizer: Regularizer = None,
    beta_constraint: Constraint = None,
    gamma_constraint: Constraint = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    renorm: bool = False,
    renorm_clipping: Mapping[str, Any] | None = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Callable[[Tensor], tuple[Any, Any]] | None = None,
) -> Tensor:
    """The inputs normalized by the batch's mean and variance, or outside of training by the moving averages
    (`tf.layers.batch_normalization`).

    Makes an `af.layers.BatchNormalization` and calls it.

    Example:
        >>> images = af.placeholder(af.float32, [None, 8, 8, 3])
        >>> y = af.layers.batch_normalization(images, training=True)
        >>> train = af.train.GradientDescentOptimizer(0.1).minimize(af.reduce_mean(y))  # runs the updates as well
        >>> y.shape
        TensorShape([None, 8, 8, 3])

    Args:
        inputs: a floating tensor of known rank.
        axis, momentum, epsilon, center, scale: see `af.layers.BatchNormalization`, here and below.
        beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer: the initial values.
        beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint: losses of, and bounds on the parameters.
        training: a bool, or a boolean scalar that a run decides: whether the moments are the batch's.
        trainable, name, reuse: whether optimizers change the variables, their scope, and whether they exist already.
        renorm, renorm_clipping, renorm_momentum: Batch Renormalization.
        fused, virtual_batch_size, adjustment: how it is computed.

    Raises:
        TypeError, ValueError: as `af.layers.BatchNormalization`.
    """
    layer = BatchNormalization(
        axis,
        momentum,
        epsilon,
        center,
        scale,
        beta_initializer,
        gamma_initializer,
        moving_mean_initializer,
        moving_variance_initializer,
        beta_regularizer,
        gamma_regularizer,
        beta_constraint,
        gamma_constraint,
        renorm,
        renorm_clipping,
        renorm_momentum,
        fused,
        trainable,
        virtual_batch_size,
        adjustment,
        name,
        reuse,
    )
    output: Tensor = layer(inputs, training=training, scope=name)
    return output
