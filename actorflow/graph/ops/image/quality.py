"""How alike images are, and how their pixels change: PSNR, SSIM, gradients, Sobel's edges (`tf.image.psnr` and its like)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorflow.base.dtypes import float32
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.pad_tile import pad, tile
from actorflow.graph.ops.array.shape import reshape, shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.image.convert import convert_image_dtype
from actorflow.graph.ops.image.ranks import image_of, one_batch, rank_of
from actorflow.graph.ops.math.elementwise import log, square
from actorflow.graph.ops.math.reduction import reduce_mean
from actorflow.graph.ops.nn.conv.depthwise import depthwise_conv2d
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _pair(left: TensorLike, other: TensorLike) -> tuple[Tensor, Tensor]:
    a, b = image_of(left, "img1"), image_of(other, "img2")
    shapes = a.static_shape, b.static_shape
    if None not in shapes and shapes[0][-3:] != shapes[1][-3:] and None not in (*shapes[0][-3:], *shapes[1][-3:]):  # type: ignore[index]
        raise ValueError(f"Two images are compared that differ in shape: {a.shape} and {b.shape}.")
    return convert_image_dtype(a, float32), convert_image_dtype(b, float32)


def _largest(value: Any, like: TensorLike) -> float:
    """`max_val` for images as floats."""
    dtype = image_of(like).dtype.base_dtype
    return float(value) / (1.0 if dtype.is_floating else float(dtype.max))


@public("af.image")
def psnr(a: TensorLike, b: TensorLike, max_val: float, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of pairs of images in decibels (`tf.image.psnr`).

    Example:
        >>> image = af.zeros([1, 8, 8, 1])
        >>> af.image.psnr(image, image + 0.1, max_val=1.0)
        [20.]

    Args:
        a, b: of one type, `[..., height, width, channels]`.
        max_val: the difference of the largest and the smallest value that there can be, such as 255.

    Returns:
        float32 `[...]`.
    """
    with composite(name, "PSNR", a, b) as scope:
        left, other = _pair(a, b)
        error = reduce_mean(square(left - other), [-3, -2, -1])
        most = _largest(max_val, a)
        return identity(20 * math.log10(most) - (10 / math.log(10)) * log(error), name=scope)


@public("af.image")
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: float,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of pairs of images (`tf.image.ssim`; Wang et al. 2004): 1 for equal images.

    Example:
        >>> image = af.random_uniform([1, 16, 16, 1])
        >>> af.image.ssim(image, image, max_val=1.0), af.image.ssim(image, 1.0 - image, max_val=1.0) < 0.0
        ([1.], [ True])

    Args:
        img1, img2: of one type, `[..., height, width, channels]`, at least as large as the filter.
        max_val: the difference of the largest and the smallest value that there can be, such as 255.
        filter_size, filter_sigma: of the Gaussian window in which images are compared.
        k1, k2: the constants of the measure.

    Returns:
        float32 `[...]`.
    """
    with composite(None, "SSIM", img1, img2) as scope:
        left, other = _pair(img1, img2)
        most = _largest(max_val, img1)
        at = np.arange(filter_size, dtype=np.float64) - (filter_size - 1) / 2
        line = np.exp(-(at**2) / (2 * filter_sigma**2))
        window = np.outer(line, line) / line.sum() ** 2
        channels = (left.static_shape or other.static_shape or (None,))[-1]
        if channels is None:
            raise ValueError(f"ssim needs a known number of channels, but the shape is {left.shape}.")
        kernel = np.repeat(window[:, :, None, None], channels, 2).astype(np.float32)

        def blurred(x: Tensor) -> Tensor:
            return one_batch(x, lambda batch: depthwise_conv2d(batch, kernel, [1, 1, 1, 1], "VALID"), "blurred")

        first, second = (k1 * most) ** 2, (k2 * most) ** 2
        mean, mean_2 = blurred(left), blurred(other)
        product, squares = mean * mean_2 * 2.0, square(mean) + square(mean_2)
        luminance = (product + first) / (squares + first)
        both, each = blurred(left * other) * 2.0, blurred(square(left) + square(other))
        structure = (both - product + second) / (each - squares + second)
        return reduce_mean(reduce_mean(luminance * structure, [-3, -2]), [-1], name=scope)


@public("af.image")
def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """The differences of each pixel from the next pixel, downwards and to the right, with zeros at the end
    (`tf.image.image_gradients`).

    `image` is `[batch, height, width, channels]`; ValueError is raised for another rank.

    Example:
        >>> down, right = af.image.image_gradients([[[[1.0], [2.0]], [[4.0], [8.0]]]])
        >>> down[0, :, :, 0], right[0, :, :, 0]
        ([[3. 6.]
          [0. 0.]], [[1. 0.]
                     [4. 0.]])
    """
    source = image_of(image)
    with composite(None, "image_gradients", source):
        rank_of(source, 4)
        down = concat([source[:, 1:] - source[:, :-1], zeros_like(source[:, :1])], 1)
        right = concat([source[:, :, 1:] - source[:, :, :-1], zeros_like(source[:, :, :1])], 2)
        return down, right


_SOBEL = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]], np.float32)


@public("af.image")
def sobel_edges(image: TensorLike) -> Tensor:
    """Sobel's slopes of each channel, downwards and to the right (`tf.image.sobel_edges`).

    `image` is floating `[batch, height, width, channels]`; the result has a further dimension of two.

    Example:
        >>> step = af.concat([af.zeros([1, 3, 2, 1]), af.ones([1, 3, 2, 1])], axis=2)
        >>> af.image.sobel_edges(step)[0, 1, :, 0, 1]
        [0. 4. 4. 0.]
    """
    source = image_of(image)
    with composite(None, "sobel_edges", source) as scope:
        rank_of(source, 4)
        channels = (source.static_shape or (None,) * 4)[3]
        if channels is None:
            raise ValueError(f"sobel_edges needs a known number of channels, but the shape is {source.shape}.")
        kernels = tile(np.moveaxis(_SOBEL, 0, -1)[:, :, None, :].astype(source.dtype.numpy_dtype), [1, 1, channels, 1])
        padded = pad(source, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
        convolved = depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID")
        edges = reshape(convolved, concat([shape(source), [2]], 0), name=scope)
        edges.set_shape((*(source.static_shape or (None,) * 4), 2))
        return edges
