"""Transposed convolutions: `Conv2DTranspose` and `Conv3DTranspose` (`tf.layers.Conv2DTranspose`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from actorflow.base.shapes import ShapeLike, TensorShape
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.nn.conv.transpose import conv2d_transpose, conv3d_transpose
from actorflow.graph.tensor import Tensor
from actorflow.models.layers.arguments import ZEROS, Activation, Constraint, Dtype, Initializer, Regularizer, Sizes
from actorflow.models.layers.convolution import Convolving
from actorflow.public import public


class Transposing(Convolving):
    """The base of transposed convolutions: they take no dilations, and make space larger by the strides."""

    transpose: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        filters: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Activation = None,
        use_bias: bool = True,
        kernel_initializer: Initializer = None,
        bias_initializer: Initializer = ZEROS,
        kernel_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
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
            strides: by how much space is made larger, given in the same way.
            padding: "valid" (windows lie side by side, the output has room for all of the last), or "same" (the output is
                larger than the input by the strides alone).
            data_format: "channels_last" or "channels_first" (after the batch).
            activation: a function of a tensor, such as `af.nn.relu`, or its name; None for none.
            use_bias: whether a bias is added.
            kernel_initializer, bias_initializer: `f(shape, dtype)` for the initial values; the kernel's is that of the variable
                scope, else glorot uniform, and the bias is 0.
            kernel_regularizer, bias_regularizer: `f(variable)` gives a loss that is added to `losses`.
            activity_regularizer: `f(output)` gives a loss, for each example.
            kernel_constraint, bias_constraint: functions that optimizers apply to the value after each update.
            trainable: whether optimizers change the variables.
            name: the name of the variable scope; that of the class in snake case unless given.
            reuse: whether the variables exist already.
            dtype: the type of the variables; that of the inputs unless given.
            inherited: `_scope` and `_reuse`, and other arguments of `Layer`.

        Raises:
            ValueError: an argument can't be; at a call: the inputs have another rank, or the number of their channels is not
                known.
        """
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            1,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            trainable,
            name,
            reuse,
            dtype,
            **inherited,
        )

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """The shape of the output for an input of this shape."""
        space = [
            None if size is None else size * stride + self._beyond(window, stride)
            for size, window, stride in zip(self._space(input_shape), self.kernel_size, self.strides)
        ]
        return self._arranged(input_shape, space, self.filters)

    def _make_kernels(self, channels: int) -> None:
        self.kernel = self._kernel("kernel", [*self.kernel_size, self.filters, channels])

    def _beyond(self, window: int, stride: int) -> int:
        """How far the last window reaches over its stride."""
        return max(window - stride, 0) if self.padding == "valid" else 0

    def _convolve(self, inputs: Tensor) -> Tensor:
        sizes = shape_of(inputs)
        first = 1 if self._channel_axis == -1 else 2
        space = [
            sizes[first + i] * stride + self._beyond(window, stride) if size is None else target
            for i, (size, target, window, stride) in enumerate(
                zip(
                    self._space(inputs.static_shape),
                    self._space(self.compute_output_shape(inputs.static_shape)),
                    self.kernel_size,
                    self.strides,
                )
            )
        ]
        ordered = [*space, self.filters] if first == 1 else [self.filters, *space]
        return type(self).transpose(
            inputs,
            self.kernel,
            stack([sizes[0], *ordered]),
            strides=self.strides,
            padding=self.padding.upper(),
            data_format=self._layout,
        )


@public("af.layers")
class Conv2DTranspose(Transposing):
    """A transposed convolution of images [batch, height, width, channels] (`tf.layers.Conv2DTranspose`).

    `kernel` has the shape [height, width, out, in], `bias` [out].

    Example:
        >>> small = af.placeholder(af.float32, [None, 7, 7, 64])
        >>> af.layers.Conv2DTranspose(32, 3, strides=2, padding="same")(small).shape
        TensorShape([None, 14, 14, 32])
    """

    rank = 2
    transpose = staticmethod(conv2d_transpose)


@public("af.layers")
class Conv3DTranspose(Transposing):
    """A transposed convolution of volumes [batch, depth, height, width, channels] (`tf.layers.Conv3DTranspose`).

    `kernel` has the shape [depth, height, width, out, in], `bias` [out].

    Example:
        >>> small = af.placeholder(af.float32, [None, 4, 4, 4, 8])
        >>> af.layers.Conv3DTranspose(4, 3, strides=2, padding="same")(small).shape
        TensorShape([None, 8, 8, 8, 4])
    """

    rank = 3
    transpose = staticmethod(conv3d_transpose)
