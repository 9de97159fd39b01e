"""Separable convolutions: each channel by itself, then a mix of channels at each place (`tf.layers.SeparableConv2D`)."""

from __future__ import annotations

from typing import Any

from actorflow.graph.ops.array.shape import expand_dims, squeeze
from actorflow.graph.ops.nn.conv.depthwise import separable_conv2d
from actorflow.graph.tensor import Tensor
from actorflow.models.layers.arguments import (
    ZEROS,
    Activation,
    Constraint,
    Dtype,
    Initializer,
    Regularizer,
    Sizes,
    whole,
)
from actorflow.models.layers.convolution import Convolving
from actorflow.public import public


class Separating(Convolving):
    """The base of both: two kernels."""

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Sizes = 1,
        depth_multiplier: int = 1,
        activation: Activation = None,
        use_bias: bool = True,
        depthwise_initializer: Initializer = None,
        pointwise_initializer: Initializer = None,
        bias_initializer: Initializer = ZEROS,
        depthwise_regularizer: Regularizer = None,
        pointwise_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        depthwise_constraint: Constraint = None,
        pointwise_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        trainable: bool = True,
        name: str | None = None,
        reuse: bool | None = None,
        dtype: Dtype = None,
        **inherited: Any,
    ) -> None:
        """
        Args:
            filters: the number of channels of the outputs.
            kernel_size: the size of the window, one number or a number for each dimension of space.
            strides: how far the window moves, given in the same way; equal in all dimensions.
            padding: "valid", "same", or for sequences "causal", as for `conv2d`.
            data_format: "channels_last" or "channels_first" (after the batch).
            dilation_rate: from how far apart the elements are that a window sees.
            depth_multiplier: how many channels each channel of the inputs is made into, before they are mixed.
            activation: a function of a tensor, such as `af.nn.relu`, or its name; None for none.
            use_bias: whether a bias is added.
            depthwise_initializer, pointwise_initializer, bias_initializer: `f(shape, dtype)` for the initial values; the kernels'
                is that of the variable scope, else glorot uniform, and the bias is 0.
            depthwise_regularizer, pointwise_regularizer, bias_regularizer: `f(variable)` gives a loss that is added to `losses`.
            activity_regularizer: `f(output)` gives a loss, for each example.
            depthwise_constraint, pointwise_constraint, bias_constraint: functions that optimizers apply to the value after each
                update.
            trainable: whether optimizers change the variables.
            name: the name of the variable scope; that of the class in snake case unless given.
            reuse: whether the variables exist already.
            dtype: the type of the variables; that of the inputs unless given.
            inherited: `_scope` and `_reuse`, and other arguments of `Layer`.

        Raises:
            ValueError: an argument can't be, or strides and dilations are both more than 1; at a call: the inputs have another
                rank, the number of their channels is not known, or no window fits in.
        """
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            None,
            bias_initializer,
            None,
            bias_regularizer,
            activity_regularizer,
            None,
            bias_constraint,
            trainable,
            name,
            reuse,
            dtype,
            **inherited,
        )
        self.depth_multiplier = whole(depth_multiplier, self._kind, "depth_multiplier")
        self.depthwise_initializer = depthwise_initializer
        self.pointwise_initializer = pointwise_initializer
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint

    def _make_kernels(self, channels: int) -> None:
        between = channels * self.depth_multiplier
        self.depthwise_kernel = self._kernel("depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier])
        self.pointwise_kernel = self._kernel("pointwise_kernel", [*[1] * self.rank, between, self.filters])

    def _convolve(self, inputs: Tensor) -> Tensor:
        """As for images: a sequence is an image of a single row."""
        x, depthwise, pointwise = self._behind(inputs), self.depthwise_kernel, self.pointwise_kernel
        row = 1 if self._channel_axis == -1 else 2
        flat = self.rank == 1
        convolved = separable_conv2d(
            expand_dims(x, row) if flat else x,
            expand_dims(depthwise, 0) if flat else depthwise,
            expand_dims(pointwise, 0) if flat else pointwise,
            strides=self.strides * (3 - self.rank),
            padding="VALID" if self.padding == "causal" else self.padding.upper(),
            rate=(1,) * (2 - self.rank) + self.dilation_rate,
            data_format="NHWC" if row == 1 else "NCHW",
        )
        return squeeze(convolved, [row]) if flat else convolved


@public("af.layers")
class SeparableConv1D(Separating):
    """A separable convolution of sequences [batch, steps, channels] (`tf.layers.SeparableConv1D`).

    `depthwise_kernel` has the shape [window, in, multiplier], `pointwise_kernel` [1, in · multiplier, out], `bias` [out].

    Example:
        >>> sequences = af.placeholder(af.float32, [None, 100, 3])
        >>> layer = af.layers.SeparableConv1D(8, 5, padding="same")
        >>> layer(sequences).shape, [v.shape.as_list() for v in layer.variables]
        (TensorShape([None, 100, 8]), [[5, 3, 1], [1, 3, 8], [8]])
    """

    rank = 1
    causal = True


@public("af.layers")
class SeparableConv2D(Separating):
    """A separable convolution of images [batch, height, width, channels] (`tf.layers.SeparableConv2D`).

    `depthwise_kernel` has the shape [height, width, in, multiplier], `pointwise_kernel` [1, 1, in · multiplier, out], `bias`
    [out].

    Example:
        >>> images = af.placeholder(af.float32, [None, 28, 28, 3])
        >>> layer = af.layers.SeparableConv2D(16, 3, depth_multiplier=2)
        >>> layer(images).shape, [v.shape.as_list() for v in layer.variables]
        (TensorShape([None, 26, 26, 16]), [[3, 3, 3, 2], [1, 1, 6, 16], [16]])
    """

    rank = 2
