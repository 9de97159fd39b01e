"""Regions of images by boxes: their contents in one size, and the gradients of that (`tf.image.crop_and_resize`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import FLOATING, REAL, DTypeLike, float32, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import from_value, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

METHODS = ("bilinear", "nearest")


def _check(c: Inference, boxes: int, numbers: int) -> Shape:
    """The number of boxes as a shape of one size. Raises ValueError for other shapes or another method."""
    merge(require_rank(c, boxes, 2), (None, 4))
    if c.attrs["method"] not in METHODS:
        raise ValueError(f"The method is {' or '.join(METHODS)}, not {c.attrs['method']!r}.")
    static_shape = c.shapes[boxes]
    return merge(require_rank(c, numbers, 1), None if static_shape is None else static_shape[:1])


def _cropped(c: Inference) -> Shape:
    images, count = require_rank(c, 0, 4), _check(c, 1, 2)
    merge(require_rank(c, 3, 1), (2,))
    sizes = c.shape_value(3) or (None, None)
    if any(size is not None and size <= 0 for size in sizes):
        raise ValueError(f"A crop's height and width are one or more, not {list(sizes)}.")
    return (count[0] if count else None, *sizes, None if images is None else images[3])


def _uncropped(c: Inference) -> Shape:
    require_rank(c, 0, 4)
    _check(c, 1, 2)
    return from_value(3)(c)


def _of_boxes(c: Inference) -> Shape:
    require_rank(c, 0, 4), require_rank(c, 1, 4)
    _check(c, 2, 3)
    return c.shapes[2]


@op(
    "CropAndResize",
    shape=_cropped,
    dtypes=REAL,
    types={"boxes": float32, "box_ind": int32, "crop_size": int32},
    result=float32,
    work=30,
)
def _crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike,
    crop_size: TensorLike,
    *,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """See `crop_and_resize`."""


@op(
    "CropAndResizeGradImage",
    shape=_uncropped,
    types={"grads": float32, "boxes": float32, "box_ind": int32, "image_size": int32},
    result="T",
    gradient=None,
    work=60,
)
def crop_and_resize_grad_image(
    grads: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike,
    image_size: TensorLike,
    *,
    T: DTypeLike,
    method: str = "bilinear",
    name: str | None = None,
) -> Tensor:
    """The share of each pixel in the slopes of the crops; `image_size` is the shape of the images."""


@op(
    "CropAndResizeGradBoxes",
    shape=_of_boxes,
    dtypes=REAL,
    types={"grads": float32, "boxes": float32, "box_ind": int32},
    result=float32,
    gradient=None,
    work=60,
)
def crop_and_resize_grad_boxes(
    grads: TensorLike,
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike,
    *,
    method: str = "bilinear",
    name: str | None = None,
) -> Tensor:
    """The share of each box's sides in the slopes of the crops."""


@_crop_and_resize.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    image, boxes, numbers, _size = node.inputs
    d_image = None
    if image.dtype.base_dtype in FLOATING:
        d_image = crop_and_resize_grad_image(
            dy, boxes, numbers, shape(image), T=image.dtype.base_dtype, method=node.attrs["method"]
        )
    # Of the nearest pixels no slope is defined; TensorFlow gives that of the bilinear method.
    return [d_image, crop_and_resize_grad_boxes(dy, image, boxes, numbers), None, None]


@public("af.image")
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike | None = None,
    crop_size: TensorLike | Sequence[int] | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
    box_indices: TensorLike | None = None,
) -> Tensor:
    """Regions of images, all in one size (`tf.image.crop_and_resize`).

    Example:
        >>> image = af.reshape(af.range_(16.0), [1, 4, 4, 1])
        >>> af.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], box_ind=[0], crop_size=[2, 2])[0, :, :, 0]
        [[ 0.  3.]
         [12. 15.]]

    Args:
        image: real, `[batch, height, width, channels]`.
        boxes: float32 `[n, 4]`: y1, x1, y2, x2 of each, where 0 and 1 are the centres of the first and the last pixels. With
            y1 > y2 the region is upside down, and it may lie outside.
        box_ind, box_indices: int32 `[n]`: which image each box is in; `box_indices` is the newer name.
        crop_size: int32 `[2]`: height and width of the results.
        method: "bilinear" or "nearest".
        extrapolation_value: stands for what lies outside.

    Returns:
        float32 `[n, height, width, channels]`. The gradient goes to the images and to the boxes.

    Raises:
        ValueError: other shapes, or an unknown method. InvalidArgumentError in the run, where shapes are known only then, or
            there is no such image.
    """
    numbers = box_indices if box_ind is None else box_ind
    if numbers is None or crop_size is None:
        raise ValueError("crop_and_resize needs `box_ind` and `crop_size`.")
    return _crop_and_resize(
        image, boxes, numbers, crop_size, method=method, extrapolation_value=extrapolation_value, name=name
    )
