"""`resize_images`: images of another size by any method, with the proportions kept where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.base.dtypes import float32, int32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.image.crops import pad_to_bounding_box
from actorflow.graph.ops.image.ranks import image_of, in_batches, rank_of, sizes_of
from actorflow.graph.ops.image.resize import resize_area, resize_bicubic, resize_bilinear, resize_nearest_neighbor
from actorflow.graph.ops.math.arithmetic import maximum, minimum
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import floor, round
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.image")
class ResizeMethod:
    """How `resize_images` makes pixels (`tf.image.ResizeMethod`).

    Example:
        >>> method = af.image.ResizeMethod.NEAREST_NEIGHBOR
        >>> af.image.resize_images([[[0.0], [1.0]]], [1, 4], method)[0, :, 0]
        [0. 0. 1. 1.]
    """

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS: dict[Any, Callable[..., Tensor]] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}
_METHODS |= {name: _METHODS[number] for name, number in (("bilinear", 0), ("nearest", 1), ("bicubic", 2), ("area", 3))}


@public("af.image", "af.image:resize")
def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another height and width (`tf.image.resize_images`).

    Example:
        >>> af.image.resize([[[0.0], [1.0]]], [1, 4])[0, :, 0]
        [0.  0.5 1.  1. ]

    Args:
        images: `[batch, height, width, channels]`, or one image `[height, width, channels]`; the rank has to be known.
        size: int32 `[2]`: the new height and width.
        method: a value of `ResizeMethod`, or its name in lower case.
        align_corners: whether the centres of the corner pixels keep their places.
        preserve_aspect_ratio: whether height and width shrink or grow alike, as far as both are at most `size`.

    Returns:
        float32 images, or of the same type where no pixel is computed: with `NEAREST_NEIGHBOR`, and where the size is
        known to be the same.

    Raises:
        ValueError: another rank, a size that is not two numbers, or an unknown method.
    """
    return resized(images, size, method, preserve_aspect_ratio, name, align_corners=align_corners)


def resized(
    images: TensorLike, size: TensorLike, method: int | str, keeps: bool, name: str | None, **places: bool
) -> Tensor:
    """See `resize_images`.

    Args:
        images, size, method, name: see there.
        keeps: whether proportions are kept.
        places: arguments of the method's function that say how pixels lie.
    """
    function = _METHODS.get(method)
    if function is None:
        raise ValueError(f"Resize method is not implemented: {method!r}. There are {', '.join(map(repr, _METHODS))}.")
    source = image_of(images, "images")
    with composite(name, "resize", source) as scope:
        rank = rank_of(source, 3, 4)
        target = _size_of(size)
        if keeps:
            target = _in_proportion(source, target, rank)
        static_size = known_value(target)
        if (
            static_size is not None
            and source.static_shape is not None
            and source.static_shape[-3:-1] == tuple(static_size)
        ):
            return in_batches(source, lambda batch: batch, scope)
        return in_batches(source, lambda batch: function(batch, target, **places), scope)


def _size_of(size: TensorLike) -> Tensor:
    """`size` as a tensor. Raises ValueError for anything but two integers of 32 bits."""
    try:
        target = convert_to_tensor(size, int32)
    except (TypeError, ValueError) as error:
        raise ValueError(f"'size' must be a 1-D int32 Tensor of 2 elements: {error}") from None
    if target.static_shape not in (None, (2,)):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width.")
    return target


def _in_proportion(image: Tensor, size: Tensor, rank: int) -> Tensor:
    """The largest size of the image's proportions within `size`."""
    height, width, _ = (cast(convert_to_tensor(n), float32) for n in sizes_of(image, rank))
    scale = minimum(cast(size[0], float32) / height, cast(size[1], float32) / width)
    return stack([cast(round(scale * height), int32), cast(round(scale * width), int32)])


@public("af.image", "af.image:resize_with_pad")
def resize_image_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Images that fit in a size as large as they can, with zeros around (`tf.image.resize_image_with_pad`).

    Example:
        >>> wide = af.ones([2, 4, 1])
        >>> af.image.resize_image_with_pad(wide, 4, 4)[:, :, 0]
        [[0. 0. 0. 0.]
         [1. 1. 1. 1.]
         [1. 1. 1. 1.]
         [0. 0. 0. 0.]]

    Args:
        image: `[batch, height, width, channels]` or `[height, width, channels]`.
        target_height, target_width: the new size.
        method, align_corners: see `resize_images`.

    Raises:
        ValueError: another rank, or a size of zero or less.
    """
    source = image_of(image)
    for what, size in (("target_height", target_height), ("target_width", target_width)):
        if isinstance(size, int) and size <= 0:
            raise ValueError(f"{what} must be > 0.")
    with composite(None, "resize_image_with_pad", source) as scope:
        height, width, _ = (cast(convert_to_tensor(n), float32) for n in sizes_of(source, rank_of(source, 3, 4)))
        high, wide = (cast(convert_to_tensor(n), float32) for n in (target_height, target_width))
        ratio = maximum(width / wide, height / high)
        sizes = [cast(floor(n / ratio), int32) for n in (height, width)]
        resized = resize_images(source, stack(sizes), method, align_corners)
        top, left = (cast(maximum(0.0, floor((n - m / ratio) / 2)), int32) for n, m in ((high, height), (wide, width)))
        return pad_to_bounding_box(resized, top, left, target_height, target_width, name=scope)
