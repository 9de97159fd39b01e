"""Boxes in images: the best of those that overlap, drawn into images, and drawn at random (`tf.image.non_max_suppression`, ...).

A box is y1, x1, y2, x2; unless something else is said, as shares of the image's height and width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import INTEGER, float16, float32, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.random.distributions import get_seed
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

_BOX_TYPES = frozenset((float16, float32))


def _chosen(c: Inference) -> Shape:
    boxes = merge(require_rank(c, 0, 2), (None, 4))
    merge(None if boxes is None else boxes[:1], require_rank(c, 1, 1))
    for index in (2, 3, 4):
        require_rank(c, index, 0)
    threshold = c.value(3)
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"iou_threshold must be in [0, 1], but it is {float(threshold)}.")
    return (None,)


@op(
    "NonMaxSuppressionV3",
    shape=_chosen,
    dtypes=_BOX_TYPES,
    types={
        "max_output_size": int32,
        "iou_threshold": float32,
        "score_threshold": float32,
    },
    result=int32,
    gradient=None,
    work=10_000,
)
def _non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike,
    score_threshold: TensorLike,
    *,
    name: str | None = None,
) -> Tensor:
    """See `non_max_suppression`."""


@public("af.image")
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The boxes of highest scores that overlap no better one too much (`tf.image.non_max_suppression`).

    Example:
        >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]]
        >>> af.image.non_max_suppression(boxes, scores=[0.7, 0.9, 0.5], max_output_size=3)
        [1 2]

    Args:
        boxes: float32 or float16 `[n, 4]`, in whatever unit; each pair of opposite corners may stand in either order.
        scores: `[n]`, of the type of the boxes.
        max_output_size: how many boxes there may be, an int32 scalar.
        iou_threshold: the largest share that the intersection of two may have in their union.
        score_threshold: boxes of this score or less are left out.

    Returns:
        The numbers of the boxes, int32, the best first; of equal scores the first.

    Raises:
        ValueError: other shapes, or a threshold outside [0, 1]. InvalidArgumentError in the run, if only the run knows
            them.
    """
    iou, score = (
        cast(threshold, float32) if isinstance(threshold, Tensor) and threshold.dtype in _BOX_TYPES else threshold
        for threshold in (iou_threshold, score_threshold)
    )
    return _non_max_suppression(boxes, scores, max_output_size, iou, score, name=name)


def _drawn(c: Inference) -> Shape:
    images, boxes = require_rank(c, 0, 4), require_rank(c, 1, 3)
    merge(boxes, (None if images is None else images[0], None, 4))
    require_rank(c, 2, 2)
    if images is not None and images[3] not in (None, 1, 3, 4):
        raise ValueError(f"Images to draw in have 1, 3 or 4 channels, not {images[3]}.")
    return images


@op(
    "DrawBoundingBoxesV2",
    shape=_drawn,
    dtypes=frozenset((float32, float16)),
    types={"boxes": float32, "colors": float32},
    result=T,
    gradient=None,
    work=10,
)
def _draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike, *, name: str | None = None
) -> Tensor:
    """See `draw_bounding_boxes`."""


@public("af.image")
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Tensor:
    """Images with the outlines of boxes (`tf.image.draw_bounding_boxes`).

    Example:
        >>> image = af.zeros([1, 4, 4, 1])
        >>> af.image.draw_bounding_boxes(image, [[[0.0, 0.0, 1.0, 1.0]]])[0, :, :, 0]
        [[1. 1. 1. 1.]
         [1. 0. 0. 1.]
         [1. 0. 0. 1.]
         [1. 1. 1. 1.]]

    Args:
        images: float32 or float16 `[batch, height, width, channels]`, of 1, 3 or 4 channels from 0 to 1.
        boxes: float32 `[batch, n, 4]`. A part outside of the image is left out.
        colors: float32 `[k, channels]`, taken in turn; ten colours of TensorFlow's unless given.

    Raises:
        ValueError: other shapes. InvalidArgumentError in the run, if only the run knows them.
    """
    palette = convert_to_tensor([], float32) if colors is None else convert_to_tensor(colors, float32)
    if colors is None:
        from actorflow.graph.ops.array.shape import reshape

        palette = reshape(palette, [0, 4])  # TensorFlow's op wants columns for all channels, of no rows as well
    return _draw_bounding_boxes(images, boxes, palette, name=name)


def _sampled(c: Inference) -> list[Shape]:
    merge(require_rank(c, 0, 1), (3,))
    merge(require_rank(c, 1, 3), (None, None, 4))
    require_rank(c, 2, 0)
    ratios, areas = c.attrs["aspect_ratio_range"], c.attrs["area_range"]
    if len(ratios) != 2 or not 0 < ratios[0] <= ratios[1]:
        raise ValueError(f"aspect_ratio_range is two positive numbers in order, not {list(ratios)}.")
    if len(areas) != 2 or not 0 < areas[0] <= areas[1] <= 1:
        raise ValueError(f"area_range is two numbers in (0, 1] in order, not {list(areas)}.")
    if c.attrs["max_attempts"] <= 0:
        raise ValueError(f"max_attempts is one or more, not {c.attrs['max_attempts']}.")
    return [(3,), (3,), (1, 1, 4)]


@op(
    "SampleDistortedBoundingBoxV2",
    shape=_sampled,
    dtypes=INTEGER,
    types={"bounding_boxes": float32, "min_object_covered": float32},
    result=(T, T, float32),
    gradient=None,
    stateful=True,
    work=10_000,
)
def _sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    min_object_covered: TensorLike,
    *,
    seed: int = 0,
    seed2: int = 0,
    aspect_ratio_range: Sequence[float] = (0.75, 1.33),
    area_range: Sequence[float] = (0.05, 1.0),
    max_attempts: int = 100,
    use_image_if_no_bounding_boxes: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """See `sample_distorted_bounding_box`."""


@public("af.image")
def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A box at random that shows enough of an object (`tf.image.sample_distorted_bounding_box`).

    Example:
        >>> image, box = af.ones([100, 80, 3]), [[[0.1, 0.2, 0.5, 0.9]]]
        >>> begin, size, drawn = af.image.sample_distorted_bounding_box([100, 80, 3], box, min_object_covered=0.1)
        >>> crop = af.slice_(image, begin, size)
        >>> drawn.shape, bool(af.reduce_all(begin + af.shape(crop) <= [100, 80, 3]))
        (TensorShape([1, 1, 4]), True)

    Args:
        image_size: integers `[3]`: height, width and channels.
        bounding_boxes: float32 `[1, n, 4]`: the objects.
        seed, seed2: make the boxes the same in every session.
        min_object_covered: how much of some object has to be in the box, as a share of the object's area.
        aspect_ratio_range: the bounds of width / height; (0.75, 1.33) unless given.
        area_range: the bounds of the box's share of the image's area; (0.05, 1) unless given.
        max_attempts: how many boxes are tried before the whole image is taken; 100 unless given.
        use_image_if_no_bounding_boxes: whether the image is the object if no box is given; else that is an error.

    Returns:
        The beginning of the box and its size, both `[3]` for `slice_`, and the box as float32 `[1, 1, 4]`. The drawn
        numbers differ from TensorFlow's.

    Raises:
        ValueError: ranges that can't be. InvalidArgumentError in the run: no object, or an object outside of the image.
    """
    draw: Any = _sample_distorted_bounding_box
    first, second = (0, 0) if seed is None and not seed2 else get_seed(seed)
    options: dict[str, Any] = {
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "max_attempts": max_attempts,
        "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes,
    }
    boxes: tuple[Tensor, Tensor, Tensor] = draw(
        image_size,
        bounding_boxes,
        min_object_covered,
        seed=first,
        seed2=seed2 or second,
        name=name,
        **{key: tuple(v) if isinstance(v, list) else v for key, v in options.items() if v is not None},
    )
    return boxes
