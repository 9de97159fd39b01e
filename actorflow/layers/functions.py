"""The functions (`tf.layers.dense`, `conv2d`, ...): each makes a layer and calls it, once.

Most take the inputs and then what their class takes. The three others pass arguments to the call as well, or in another order.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec

from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.layers.arguments import ONES, ZEROS, Constraint, Initializer, Regularizer
from actorflow.layers.batch_norm import BatchNormalization
from actorflow.layers.convolution import Conv1D, Conv2D, Conv3D
from actorflow.layers.dropping import Dropout
from actorflow.layers.flattening import Flatten
from actorflow.layers.fully_connected import Dense
from actorflow.layers.layer import Layer, snake_case
from actorflow.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
)
from actorflow.layers.separable import SeparableConv1D, SeparableConv2D
from actorflow.layers.transposed import Conv2DTranspose, Conv3DTranspose
from actorflow.public import public

P = ParamSpec("P")


def function_of(make: Callable[P, Layer]) -> Callable[Concatenate[TensorLike, P], Tensor]:
    """The function that makes a layer of a class and calls it; its signature and documentation are made from the class's."""

    def function(inputs: TensorLike, /, *args: P.args, **kwargs: P.kwargs) -> Tensor:
        layer = make(*args, **kwargs)
        made: Tensor = layer(inputs, scope=layer.given_name)
        return made

    kind: Any = make
    given = inspect.Parameter("inputs", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    function.__name__ = function.__qualname__ = snake_case(kind.__name__)
    function.__signature__ = inspect.Signature([given, *parameters])  # type: ignore[attr-defined]
    of_class, of_init = inspect.getdoc(kind) or "", inspect.getdoc(kind.__init__) or ""
    summary = re.sub(r"`tf\.layers\.\w+`", f"`tf.layers.{function.__name__}`", of_class.split("\n\n")[0])
    described = of_init.replace("Args:\n", "Args:\n    inputs: a tensor, in the layer's layout.\n")
    function.__doc__ = f"{summary}\n\nMakes an `af.layers.{kind.__name__}` and calls it.\n\n{described}"
    return function


dense = function_of(Dense)
conv1d = function_of(Conv1D)
conv2d = function_of(Conv2D)
conv3d = function_of(Conv3D)
conv2d_transpose = function_of(Conv2DTranspose)
conv3d_transpose = function_of(Conv3DTranspose)
separable_conv1d = function_of(SeparableConv1D)
separable_conv2d = function_of(SeparableConv2D)
max_pooling1d = function_of(MaxPooling1D)
max_pooling2d = function_of(MaxPooling2D)
max_pooling3d = function_of(MaxPooling3D)
average_pooling1d = function_of(AveragePooling1D)
average_pooling2d = function_of(AveragePooling2D)
average_pooling3d = function_of(AveragePooling3D)
public("af.layers", of="dense conv1d conv2d conv3d conv2d_transpose conv3d_transpose separable_conv1d separable_conv2d")
public(
    "af.layers", of="max_pooling1d max_pooling2d max_pooling3d average_pooling1d average_pooling2d average_pooling3d"
)


@public("af.layers")
def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """All dimensions but that of the batch as one (`tf.layers.flatten`).

        assert af.layers.flatten(af.ones([2, 3, 4])).shape == [2, 12]

    Args:
        inputs: a tensor of shape [batch, ...].
        name: the name of the scope; `flatten` unless given.
        data_format: "channels_last", or "channels_first": then the channels are moved behind space first.
    """
    made: Tensor = Flatten(data_format, name)(inputs, scope=name)
    return made


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
    made: Tensor = Dropout(rate, noise_shape, seed, name)(inputs, training=training, scope=name)
    return made


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
    """The inputs normalized by the batch's mean and variance, or outside of training by the moving ones
    (`tf.layers.batch_normalization`).

        images = af.placeholder(af.float32, [None, 8, 8, 3])
        y = af.layers.batch_normalization(images, training=True)
        train = af.train.GradientDescentOptimizer(0.1).minimize(af.reduce_mean(y))    # runs the updates as well

    Makes an `af.layers.BatchNormalization` and calls it.

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
    made: Tensor = layer(inputs, training=training, scope=name)
    return made
