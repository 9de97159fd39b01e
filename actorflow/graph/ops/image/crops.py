"""Parts of images, and images with a frame: crops and pads (`tf.image.crop_to_bounding_box` and its like)."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import float32, int32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.index import slice_
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.array.pad_tile import pad
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.flow.control import Assert, identity, with_dependencies
from actorflow.graph.ops.image.ranks import image_of, one_or_many, rank_of, sizes_of
from actorflow.graph.ops.math.arithmetic import floordiv, maximum, minimum
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import greater, greater_equal
from actorflow.graph.ops.math.reduction import reduce_all
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _checked(image: Tensor, claims: list[tuple[Any, str]]) -> Tensor:
    """`image`, once all claims hold. Raises ValueError for a claim that is known to be false."""
    nodes = []
    for claim, words in claims:
        if isinstance(claim, Tensor):
            nodes.append(Assert(claim, [words]))
        elif not claim:
            raise ValueError(words)
    return with_dependencies(nodes, image) if nodes else image


def _at_least(value: Any, least: Any) -> Any:
    return greater_equal(value, least) if isinstance(value, Tensor) or isinstance(least, Tensor) else value >= least


def _above(value: Any, least: Any) -> Any:
    return greater(value, least) if isinstance(value, Tensor) or isinstance(least, Tensor) else value > least


def _has_elements(image: Tensor) -> tuple[Any, str]:
    """The claim that no size of an image is zero."""
    static_shape = image.static_shape or (None,)
    words = f"all dims of 'image.shape' must be > 0: {image.shape}."
    if 0 in static_shape or None not in static_shape:
        return 0 not in static_shape, words
    return reduce_all(greater(shape(image), 0)), words


def _whole(size: Any) -> Any:
    """A size as a number if the graph alone decides it, else as int32: sizes of int64 stand beside those of int32."""
    if not isinstance(size, Tensor):
        return size
    number = known_value(size)
    return cast(size, int32) if number is None else int(number)


def _known(size: Any) -> int | None:
    return None if isinstance(size, Tensor) else int(size)


@public("af.image")
def crop_to_bounding_box(
    image: TensorLike,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
    name: str | None = None,
) -> Tensor:
    """A rectangle of images (`tf.image.crop_to_bounding_box`).

    Example:
        >>> image = af.reshape(af.range_(16), [4, 4, 1])
        >>> af.image.crop_to_bounding_box(image, offset_height=1, offset_width=0, target_height=2, target_width=3)[:, :, 0]
        [[ 4  5  6]
         [ 8  9 10]]

    Args:
        image: `[batch, height, width, channels]` or `[height, width, channels]`.
        offset_height, offset_width: its upper left corner, integers or scalars.
        target_height, target_width: its size.

    Raises:
        ValueError: another rank, or a rectangle that is known to lie outside. InvalidArgumentError in the run, where sizes
            are known only then.
    """
    source = convert_to_tensor(image)
    offset_height, offset_width = _whole(offset_height), _whole(offset_width)
    target_height, target_width = _whole(target_height), _whole(target_width)
    with composite(name, "crop_to_bounding_box", source) as scope:
        source, rank = one_or_many(source)
        height, width, channels = sizes_of(source, rank)
        source = _checked(
            source,
            [
                _has_elements(source),
                (_at_least(offset_width, 0), "offset_width must be >= 0."),
                (_at_least(offset_height, 0), "offset_height must be >= 0."),
                (_above(target_width, 0), "target_width must be > 0."),
                (_above(target_height, 0), "target_height must be > 0."),
                (_at_least(width, target_width + offset_width), "width must be >= target + offset."),
                (_at_least(height, target_height + offset_height), "height must be >= target + offset."),
            ],
        )
        first = [0] * (rank - 3)
        begin = stack([*first, offset_height, offset_width, 0])
        part = slice_(source, begin, stack([*(-1 for _ in first), target_height, target_width, -1]), name=scope)
        before = (source.static_shape or (None,) * rank)[: rank - 3]
        part.set_shape((*before, _known(target_height), _known(target_width), _known(channels)))
        return part


@public("af.image")
def pad_to_bounding_box(
    image: TensorLike,
    offset_height: Any,
    offset_width: Any,
    target_height: Any,
    target_width: Any,
    name: str | None = None,
) -> Tensor:
    """Images in a larger frame of zeros (`tf.image.pad_to_bounding_box`).

    Example:
        >>> af.image.pad_to_bounding_box([[[7]]], 1, 0, 2, 3)[:, :, 0]
        [[0 0 0]
         [7 0 0]]

    Args:
        image: `[batch, height, width, channels]` or `[height, width, channels]`.
        offset_height, offset_width: how many zeros are above and to the left, integers or scalars.
        target_height, target_width: the size of the frame.

    Raises:
        ValueError: another rank, or a frame that is known to be too small. InvalidArgumentError in the run, where sizes are
            known only then.
    """
    source = convert_to_tensor(image)
    offset_height, offset_width = _whole(offset_height), _whole(offset_width)
    target_height, target_width = _whole(target_height), _whole(target_width)
    with composite(name, "pad_to_bounding_box", source) as scope:
        source, rank = one_or_many(source)
        height, width, channels = sizes_of(source, rank)
        below, right = target_height - offset_height - height, target_width - offset_width - width
        source = _checked(
            source,
            [
                _has_elements(source),
                (_at_least(offset_height, 0), "offset_height must be >= 0."),
                (_at_least(offset_width, 0), "offset_width must be >= 0."),
                (_at_least(right, 0), "width must be <= target - offset."),
                (_at_least(below, 0), "height must be <= target - offset."),
            ],
        )
        frame = [[0, 0]] * (rank - 3) + [[offset_height, below], [offset_width, right], [0, 0]]
        padded = pad(source, stack([stack(pair) for pair in frame]), name=scope)
        before = (source.static_shape or (None,) * rank)[: rank - 3]
        padded.set_shape((*before, _known(target_height), _known(target_width), _known(channels)))
        return padded


@public("af.image")
def central_crop(image: TensorLike, central_fraction: float | Tensor, name: str | None = None) -> Tensor:
    """The middle of images (`tf.image.central_crop`).

    Example:
        >>> image = af.reshape(af.range_(16), [4, 4, 1])
        >>> af.image.central_crop(image, 0.5)[:, :, 0]
        [[ 5  6]
         [ 9 10]]

    Args:
        image: `[batch, height, width, channels]` or `[height, width, channels]`.
        central_fraction: the share of height and width that is left, above 0 and at most 1.

    Raises:
        ValueError: another rank, or a share that can't be.
    """
    source = image_of(image)
    if not isinstance(central_fraction, Tensor) and not 0 < central_fraction <= 1:
        raise ValueError("central_fraction must be within (0, 1].")
    if not isinstance(central_fraction, Tensor) and central_fraction == 1:
        return source
    with composite(name, "central_crop", source) as scope:
        height, width, _ = sizes_of(source, rank_of(source, 3, 4))
        top, left = (_offset(size, central_fraction) for size in (height, width))
        return crop_to_bounding_box(source, top, left, height - 2 * top, width - 2 * left, name=scope)


def _offset(size: Any, fraction: Any) -> Any:
    """Half of what a crop takes off."""
    if isinstance(size, Tensor) or isinstance(fraction, Tensor):
        whole = cast(convert_to_tensor(size), float32)
        return cast((whole - whole * fraction) / 2.0, int32)
    return int((size - size * fraction) / 2)


@public("af.image", "af.image:resize_with_crop_or_pad")
def resize_image_with_crop_or_pad(image: TensorLike, target_height: Any, target_width: Any) -> Tensor:
    """The middle of images, or images in the middle of zeros, so that they get a size
    (`tf.image.resize_image_with_crop_or_pad`).

    Example:
        >>> image = af.reshape(af.range_(1, 9), [2, 4, 1])
        >>> af.image.resize_image_with_crop_or_pad(image, 3, 2)[:, :, 0]
        [[2 3]
         [6 7]
         [0 0]]

    Args:
        image: `[batch, height, width, channels]` or `[height, width, channels]`.
        target_height, target_width: the size, integers or scalars.

    Raises:
        ValueError: another rank, or a size of zero or less.
    """
    source = convert_to_tensor(image)
    target_height, target_width = _whole(target_height), _whole(target_width)
    with composite(None, "resize_image_with_crop_or_pad", source) as scope:
        source, rank = one_or_many(source)
        height, width, _ = sizes_of(source, rank)
        source = _checked(
            source,
            [
                _has_elements(source),
                (_above(target_width, 0), "target_width must be > 0."),
                (_above(target_height, 0), "target_height must be > 0."),
            ],
        )
        cut = crop_to_bounding_box(
            source,
            _margin(height, target_height),
            _margin(width, target_width),
            _least(height, target_height),
            _least(width, target_width),
        )
        above, left = _margin(target_height, height), _margin(target_width, width)
        return pad_to_bounding_box(cut, above, left, target_height, target_width, name=scope)


def _margin(outer: Any, inner: Any) -> Any:
    """Half of the outer size's excess over the inner size, and 0 without an excess."""
    more = _least(outer - inner, 0, True)
    return floordiv(more, 2) if isinstance(more, Tensor) else more // 2


def _least(left: Any, other: Any, most: bool = False) -> Any:
    """The less of two numbers, or with `most` the greater."""
    if isinstance(left, Tensor) or isinstance(other, Tensor):
        return (maximum if most else minimum)(left, other)
    return (max if most else min)(left, other)


@public("af.image")
def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the differences of neighbouring pixels, a measure of noise (`tf.image.total_variation`).

    Example:
        >>> af.image.total_variation([[[0.0], [1.0]], [[0.0], [5.0]]])
        10.0

    Args:
        images: `[batch, height, width, channels]` or `[height, width, channels]`.

    Returns:
        A vector `[batch]`, or a scalar for one image.

    Raises:
        ValueError: another rank.
    """
    from actorflow.graph.ops.math.elementwise import abs as magnitude
    from actorflow.graph.ops.math.reduction import reduce_sum

    source = image_of(images, "images")
    with composite(name, "total_variation", source) as scope:
        rank = rank_of(source, 3, 4)
        axes = list(range(rank - 3, rank))
        down, right = (
            (source[1:] - source[:-1], source[:, 1:] - source[:, :-1])
            if rank == 3
            else (source[:, 1:] - source[:, :-1], source[:, :, 1:] - source[:, :, :-1])
        )
        total: Tensor = reduce_sum(magnitude(down), axes) + reduce_sum(magnitude(right), axes)
        return identity(total, name=scope)
