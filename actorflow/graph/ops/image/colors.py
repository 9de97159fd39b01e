"""Images in other colours: hue, saturation and value, grey, YIQ and YUV (`tf.image.rgb_to_hsv` and its like)."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import FLOATING, float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.image.convert import convert_image_dtype
from actorflow.graph.ops.image.ranks import image_of
from actorflow.graph.ops.math.matmul import tensordot
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.shape_rules import at_least_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _three_channels(c: Inference) -> Shape:
    shape = at_least_rank(c, 0, 1)
    if shape is not None:
        merge(shape[-1:], (3,))
    return shape


@public("af.image")
@op("RGBToHSV", shape=_three_channels, dtypes=FLOATING, gradient=None, work=30)
def rgb_to_hsv(images: TensorLike, *, name: str | None = None) -> Tensor:
    """Red, green and blue as hue, saturation and value (`tf.image.rgb_to_hsv`).

    `images` is floating, of one dimension or more, the last of which has the three channels, from 0 to 1; the hue is in [0, 1).
    Raises ValueError for another number of channels, InvalidArgumentError where only the run knows it.

    Example:
        >>> af.image.rgb_to_hsv([0.0, 1.0, 0.0])
        [0.3333 1.     1.    ]
    """


@public("af.image")
@op("HSVToRGB", shape=_three_channels, dtypes=FLOATING, gradient=None, work=30)
def hsv_to_rgb(images: TensorLike, *, name: str | None = None) -> Tensor:
    """Hue, saturation and value as red, green and blue (`tf.image.hsv_to_rgb`).

    `images` is floating, of one dimension or more, the last of which has the three channels, from 0 to 1.
    Raises ValueError for another number of channels, InvalidArgumentError where only the run knows it.

    Example:
        >>> af.image.hsv_to_rgb([1 / 3, 1.0, 1.0])
        [0. 1. 0.]
    """


@public("af.image")
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """The brightness of colours as one channel of the same type (`tf.image.rgb_to_grayscale`).

    `images` has three channels in its last dimension; ValueError is raised where their number is known to be another.

    Example:
        >>> af.image.rgb_to_grayscale([[[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]])
        [[[0.2989]
          [0.9999]]]
    """
    source = _of_channels(images, 3)
    with composite(name, "rgb_to_grayscale", source) as scope:
        floating = convert_image_dtype(source, float32)
        grey = reduce_sum(floating * constant([0.2989, 0.5870, 0.1140]), -1)
        return convert_image_dtype(expand_dims(grey, -1), source.dtype.base_dtype, name=scope)


@public("af.image")
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """One channel three times (`tf.image.grayscale_to_rgb`).

    `images` has one channel in its last dimension; ValueError is raised where their number is known to be another.

    Example:
        >>> af.image.grayscale_to_rgb([[[7], [9]]])
        [[[7 7 7]
          [9 9 9]]]
    """
    source = _of_channels(images, 1)
    with composite(name, "grayscale_to_rgb", source) as scope:
        return concat([source, source, source], -1, name=scope)


_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


@public("af.image")
def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Red, green and blue, floating, as brightness and two of colour (`tf.image.rgb_to_yiq`).

    Example:
        >>> af.image.rgb_to_yiq([1.0, 1.0, 1.0])
        [1. 0. 0.]
    """
    return _mixed(images, _YIQ, "rgb_to_yiq")


@public("af.image")
def yiq_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of `rgb_to_yiq` (`tf.image.yiq_to_rgb`).

    Example:
        >>> af.image.yiq_to_rgb(af.image.rgb_to_yiq([0.2, 0.4, 0.6]))
        [0.2 0.4 0.6]
    """
    return _mixed(images, _FROM_YIQ, "yiq_to_rgb")


@public("af.image")
def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Red, green and blue, floating, as brightness and two of colour (`tf.image.rgb_to_yuv`).

    Example:
        >>> af.image.rgb_to_yuv([1.0, 0.0, 0.0])
        [ 0.299  -0.1471  0.615 ]
    """
    return _mixed(images, _YUV, "rgb_to_yuv")


@public("af.image")
def yuv_to_rgb(images: TensorLike) -> Tensor:
    """The inverse of `rgb_to_yuv` (`tf.image.yuv_to_rgb`).

    Example:
        >>> af.image.yuv_to_rgb(af.image.rgb_to_yuv([0.2, 0.4, 0.6]))
        [0.2 0.4 0.6]
    """
    return _mixed(images, _FROM_YUV, "yuv_to_rgb")


def _mixed(images: TensorLike, matrix: Any, name: str) -> Tensor:
    source = _of_channels(images, 3)
    with composite(None, name, source) as scope:
        weights = np.array(matrix).astype(source.dtype.numpy_dtype)
        return tensordot(source, weights, 1, name=scope)


def _of_channels(images: TensorLike, count: int) -> Tensor:
    source = convert_to_tensor(images)
    static_shape = source.static_shape
    if static_shape is not None and (not static_shape or static_shape[-1] not in (None, count)):
        raise ValueError(f"The last dimension of 'images' (shape {source.shape}) has to have {count} channels.")
    return image_of(source, "images") if static_shape is not None and len(static_shape) > 3 else source
