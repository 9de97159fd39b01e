"""Images made brighter, of more contrast, of another hue, at random too (`tf.image.adjust_brightness` and its like).

Each works on floats between 0 and 1 and gives the type that it was given; what leaves the range of an integer type becomes its
limit.
"""

from __future__ import annotations

from collections.abc import Callable

from actorflow.base.dtypes import float32, uint8
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import size
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import Assert, identity, with_dependencies
from actorflow.graph.ops.image.colors import hsv_to_rgb, rgb_to_hsv
from actorflow.graph.ops.image.convert import convert_image_dtype
from actorflow.graph.ops.image.ranks import image_of, rank_of
from actorflow.graph.ops.io.images import decode_jpeg, encode_jpeg
from actorflow.graph.ops.math.arithmetic import maximum, pow
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.clip import clip_by_value
from actorflow.graph.ops.math.elementwise import floor, rsqrt, sqrt, square
from actorflow.graph.ops.math.logic import greater_equal
from actorflow.graph.ops.math.reduction import reduce_mean
from actorflow.graph.ops.random.distributions import random_uniform
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _adjusted(source: Tensor, name: str, adjust: Callable[[Tensor], Tensor]) -> Tensor:
    """`adjust` of the image as floats, as the type that it has."""
    with composite(None, name, source) as scope:
        kind = source.dtype.base_dtype
        floating = source if kind.is_floating else convert_image_dtype(source, float32)
        return convert_image_dtype(adjust(floating), kind, saturate=True, name=scope)


@public("af.image")
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """`delta` added to all elements (`tf.image.adjust_brightness`).

    `image` is real, of any shape; `delta` a float scalar, of elements from 0 to 1.

    Example:
        >>> af.image.adjust_brightness([[[0.1, 0.5, 0.9]]], 0.2)
        [[[0.3 0.7 1.1]]]
    """
    return _adjusted(
        convert_to_tensor(image), "adjust_brightness", lambda x: x + cast(convert_to_tensor(delta), x.dtype)
    )


@public("af.image")
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """The distances from each channel's mean times a factor (`tf.image.adjust_contrast`).

    `images` is real, of rank 3 or more; `contrast_factor` a float scalar. Each image and channel has its own mean.

    Example:
        >>> gray = af.constant([[[0.2], [0.6]]])
        >>> af.image.adjust_contrast(gray, 0.5)
        [[[0.3]
          [0.5]]]
    """

    def adjust(x: Tensor) -> Tensor:
        mean = reduce_mean(x, [-3, -2], keepdims=True)
        return (x - mean) * cast(convert_to_tensor(contrast_factor), x.dtype) + mean

    return _adjusted(image_of(images), "adjust_contrast", adjust)


@public("af.image")
def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """`gain * image ** gamma` (`tf.image.adjust_gamma`).

    Example:
        >>> af.image.adjust_gamma([[[0.25, 0.5, 1.0]]], gamma=2.0)
        [[[0.0625 0.25   1.    ]]]

    Args:
        image: real, of any rank.
        gamma: a scalar of zero or more; above 1 the image gets darker.
        gain: a scalar.

    Raises:
        ValueError: `gamma` is a number below zero. InvalidArgumentError in the run for a tensor below zero.
    """
    if isinstance(gamma, (int, float)) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    power, factor = convert_to_tensor(gamma), convert_to_tensor(gain)
    if isinstance(gamma, Tensor):
        check = Assert(greater_equal(power, constant(0, power.dtype)), ["Gamma should be a non-negative real number."])
        power = with_dependencies([check], power)
    return _adjusted(
        convert_to_tensor(image), "adjust_gamma", lambda x: cast(factor, x.dtype) * pow(x, cast(power, x.dtype))
    )


def _with_hsv(x: Tensor, change: Callable[[Tensor, Tensor, Tensor], list[Tensor]]) -> Tensor:
    hsv = rgb_to_hsv(x)
    return hsv_to_rgb(concat(change(hsv[..., 0:1], hsv[..., 1:2], hsv[..., 2:3]), -1))


@public("af.image")
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """The hue moved around its circle (`tf.image.adjust_hue`).

    Example:
        >>> red = [[[1.0, 0.0, 0.0]]]
        >>> af.image.adjust_hue(red, 1 / 3)
        [[[0. 1. 0.]]]

    Args:
        image: real, of rank 3 or more, with three channels.
        delta: a float scalar from -1 to 1, where 1 is the whole circle.
    """

    def change(hue: Tensor, saturation: Tensor, value: Tensor) -> list[Tensor]:
        turned = hue + cast(convert_to_tensor(delta), hue.dtype)
        return [turned - floor(turned), saturation, value]

    return _adjusted(image_of(image), name or "adjust_hue", lambda x: _with_hsv(x, change))


@public("af.image")
def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Tensor:
    """The saturation times a factor, 1 at the most (`tf.image.adjust_saturation`).

    Example:
        >>> pink = [[[1.0, 0.5, 0.5]]]
        >>> af.image.adjust_saturation(pink, 2.0)
        [[[1. 0. 0.]]]

    Args:
        image: real, of rank 3 or more, with three channels.
        saturation_factor: a float scalar.
    """

    def change(hue: Tensor, saturation: Tensor, value: Tensor) -> list[Tensor]:
        factor = cast(convert_to_tensor(saturation_factor), hue.dtype)
        return [hue, clip_by_value(saturation * factor, 0.0, 1.0), value]

    return _adjusted(image_of(image), name or "adjust_saturation", lambda x: _with_hsv(x, change))


# ---- at random


def _check_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


@public("af.image")
def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a number drawn from [-max_delta, max_delta) in each run (`tf.image.random_brightness`).

    Example:
        >>> image = af.constant([[[0.5, 0.5, 0.5]]])
        >>> moved = af.image.random_brightness(image, max_delta=0.1)
        >>> af.reduce_max(af.abs(moved - image)) <= 0.1
        True

    Args:
        image: real, of rank 3 or more.
        max_delta: zero or more.
        seed: makes the numbers the same in every session.

    Raises:
        ValueError: `max_delta` is below zero.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


@public("af.image")
def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a factor drawn from [lower, upper) in each run (`tf.image.random_contrast`).

    Example:
        >>> af.image.random_contrast(af.ones([2, 2, 3]), 0.5, 1.5)[0, 0]
        [1. 1. 1.]

    Args:
        image: real, of rank 3 or more.
        lower, upper: zero or more.
        seed: makes the factors the same in every session.

    Raises:
        ValueError: `lower` is below zero, or not below `upper`.
    """
    _check_range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


@public("af.image")
def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a number drawn from [-max_delta, max_delta) in each run (`tf.image.random_hue`).

    Example:
        >>> gray = af.fill([1, 1, 3], 0.5)
        >>> af.image.random_hue(gray, max_delta=0.5)
        [[[0.5 0.5 0.5]]]

    Args:
        image: real, of rank 3 or more, with three channels.
        max_delta: from 0 to 0.5.
        seed: makes the numbers the same in every session.

    Raises:
        ValueError: `max_delta` is another number.
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


@public("af.image")
def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a factor drawn from [lower, upper) in each run (`tf.image.random_saturation`).

    Example:
        >>> gray = af.fill([1, 1, 3], 0.5)
        >>> af.image.random_saturation(gray, 0.5, 2.0)
        [[[0.5 0.5 0.5]]]

    Args:
        image: real, of rank 3 or more, with three channels.
        lower, upper: zero or more.
        seed: makes the factors the same in every session.

    Raises:
        ValueError: `lower` is below zero, or not below `upper`.
    """
    _check_range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


# ---- statistics


@public("af.image")
def per_image_standardization(image: TensorLike) -> Tensor:
    """Each image with a mean of 0 and a deviation of 1 (`tf.image.per_image_standardization`).

    The deviation counts as one over the root of the number of elements at least, so an image of one colour becomes zeros.
    `image` is real, `[..., height, width, channels]`; the result is float32, or of the floating type that it has.

    Example:
        >>> af.image.per_image_standardization([[[1.0], [3.0]], [[5.0], [7.0]]])[:, :, 0]
        [[-1.3416 -0.4472]
         [ 0.4472  1.3416]]
    """
    source = image_of(image)
    with composite(None, "per_image_standardization", source) as scope:
        x = source if source.dtype.is_floating else cast(source, float32)
        mean = reduce_mean(x, [-3, -2, -1], keepdims=True)
        deviation = sqrt(reduce_mean(square(x - mean), [-3, -2, -1], keepdims=True))
        count = cast(size(x), x.dtype) / cast(size(mean), x.dtype)
        return identity((x - mean) / maximum(deviation, rsqrt(count)), name=scope)


# ---- the quality of JPEG


@public("af.image")
def adjust_jpeg_quality(image: TensorLike, jpeg_quality: int, name: str | None = None) -> Tensor:
    """An image with the losses of a JPEG of some quality (`tf.image.adjust_jpeg_quality`).

    Example:
        >>> image = af.cast(af.random_uniform([8, 8, 3], 0, 256, af.int32), af.uint8)
        >>> af.image.adjust_jpeg_quality(image, 50).shape
        TensorShape([8, 8, 3])

    Args:
        image: real, `[height, width, channels]` with 1 or 3 channels.
        jpeg_quality: from 0 to 100, a number.

    Raises:
        ValueError: another quality, or another rank.
    """
    if not 0 <= jpeg_quality <= 100:
        raise ValueError(f"jpeg_quality is from 0 to 100, not {jpeg_quality}.")
    source = image_of(image)
    with composite(name, "adjust_jpeg_quality", source) as scope:
        rank_of(source, 3)
        pixels = convert_image_dtype(source, uint8, saturate=True)
        static_shape = source.static_shape or (None,) * 3
        decoded = decode_jpeg(encode_jpeg(pixels, quality=jpeg_quality), channels=static_shape[2] or 0)
        decoded.set_shape(static_shape)
        return convert_image_dtype(decoded, source.dtype.base_dtype, saturate=True, name=scope)
