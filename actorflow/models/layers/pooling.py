"""Poolings: the largest element or the mean of each window (`tf.layers.MaxPooling2D`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from actorflow.base.shapes import ShapeLike, TensorShape, as_shape
from actorflow.graph.ops.nn.pooling.functions import (
    avg_pool,
    avg_pool1d,
    avg_pool3d,
    max_pool,
    max_pool1d,
    max_pool3d,
)
from actorflow.graph.tensor import Tensor
from actorflow.models.layers.arguments import Sizes, layout_of, padding_of, sizes
from actorflow.models.layers.convolution import Windows, output_size
from actorflow.models.layers.input_spec import InputSpec
from actorflow.public import public


class Pooling(Windows):
    """The common part of poolings; each has its rank and a function of `af.nn`."""

    pool: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        pool_size: Sizes,
        strides: Sizes | None,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **inherited: Any,
    ) -> None:
        """
        Args:
            pool_size: the size of the window, one number or a number for each dimension of space.
            strides: how far the window moves, given in the same way; None for the size of the window.
            padding: "valid" (no window lies partly outside), or "same" (windows may, with nothing there).
            data_format: "channels_last" or "channels_first" (after the batch).
            name: the name of the scope; that of the class in snake case unless given.
            inherited: `_scope` and `_reuse`, and other arguments of `Layer`.

        Raises:
            ValueError: an argument can't be; at a call: the inputs have another rank, or no window fits in.
        """
        super().__init__(name=name, **inherited)
        kind = self._kind
        self.pool_size = sizes(pool_size, self.rank, kind, "pool_size")
        self.strides = sizes(pool_size if strides is None else strides, self.rank, kind, "strides")
        self.padding = padding_of(padding, kind)
        self.data_format = layout_of(data_format, kind)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs: Tensor) -> Tensor:
        """The reduced windows of the inputs."""
        self.compute_output_shape(inputs.static_shape)
        return type(self).pool(inputs, self.pool_size, self.strides, self.padding.upper(), data_format=self._layout)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """The shape of the output for an input of this shape. Raises ValueError where no window fits in."""
        space = [
            output_size(size, window, stride, self.padding)
            for size, window, stride in zip(self._space(input_shape), self.pool_size, self.strides)
        ]
        return self._arranged(
            input_shape, space, (as_shape(input_shape) or {self._channel_axis: None})[self._channel_axis]
        )


@public("af.layers")
class MaxPooling1D(Pooling):
    """The largest element of each window of sequences [batch, steps, channels] (`tf.layers.MaxPooling1D`).

    Example:
        >>> af.layers.MaxPooling1D(pool_size=2, strides=2)(af.constant([[[1.0], [3.0], [2.0], [8.0]]]))
        [[[3.]
          [8.]]]
    """

    rank = 1
    pool = staticmethod(max_pool1d)


@public("af.layers")
class MaxPooling2D(Pooling):
    """The largest element of each window of images [batch, height, width, channels] (`tf.layers.MaxPooling2D`).

    The gradient goes to the first of equal elements.

    Example:
        >>> images = af.placeholder(af.float32, [None, 28, 28, 32])
        >>> halve = af.layers.MaxPooling2D(2, 2)
        >>> halve(images).shape
        TensorShape([None, 14, 14, 32])
    """

    rank = 2
    pool = staticmethod(max_pool)


@public("af.layers")
class MaxPooling3D(Pooling):
    """The largest element of each window of volumes [batch, depth, height, width, channels] (`tf.layers.MaxPooling3D`).

    Example:
        >>> af.layers.MaxPooling3D(2, 2)(af.ones([1, 4, 8, 8, 3])).shape
        TensorShape([1, 2, 4, 4, 3])
    """

    rank = 3
    pool = staticmethod(max_pool3d)


@public("af.layers")
class AveragePooling1D(Pooling):
    """The mean of each window of sequences [batch, steps, channels] (`tf.layers.AveragePooling1D`).

    Example:
        >>> af.layers.AveragePooling1D(pool_size=2, strides=2)(af.constant([[[1.0], [3.0], [2.0], [8.0]]]))
        [[[2.]
          [5.]]]
    """

    rank = 1
    pool = staticmethod(avg_pool1d)


@public("af.layers")
class AveragePooling2D(Pooling):
    """The mean of each window of images [batch, height, width, channels] (`tf.layers.AveragePooling2D`).

    Example:
        >>> af.layers.AveragePooling2D(2, 2)(af.constant([[[[1.0], [3.0]], [[5.0], [7.0]]]]))
        [[[[4.]]]]
    """

    rank = 2
    pool = staticmethod(avg_pool)


@public("af.layers")
class AveragePooling3D(Pooling):
    """The mean of each window of volumes [batch, depth, height, width, channels] (`tf.layers.AveragePooling3D`).

    Example:
        >>> af.layers.AveragePooling3D(2, 2)(af.ones([1, 4, 8, 8, 3])).shape
        TensorShape([1, 2, 4, 4, 3])
    """

    rank = 3
    pool = staticmethod(avg_pool3d)
