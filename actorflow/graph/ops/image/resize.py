"""The ops that give images another size, and their gradients.

All four methods are linear and work along one dimension after the other. So one kernel computes them from the weights that a
method gives to pixels, and the gradients from the same weights.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import FLOATING, REAL, float32, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_SIZE = {"size": int32}
_WORK = 20


def _resized(c: Inference) -> Shape:
    images = require_rank(c, 0, 4)
    merge(require_rank(c, 1, 1), (2,))
    sizes = c.shape_value(1) or (None, None)
    if any(size is not None and size <= 0 for size in sizes):
        raise ValueError(f"An image's height and width are one or more, not {list(sizes)}.")
    if c.attrs.get("half_pixel_centers") and c.attrs["align_corners"]:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    return (None if images is None else images[0], *sizes, None if images is None else images[3])


def _original(c: Inference) -> Shape:
    """Of a gradient: the shape of the images."""
    grads, images = require_rank(c, 0, 4), require_rank(c, 1, 4)
    if grads is not None:
        images = merge(images, (grads[0], None, None, grads[3]))
    return images


@public("af.image")
@op("ResizeBilinear", shape=_resized, dtypes=REAL, types=_SIZE, result=float32, work=_WORK)
def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size, each pixel from the four nearest pixels (`tf.image.resize_bilinear`).

    Example:
        >>> af.image.resize_bilinear([[[[0.0], [1.0]]]], [1, 4])[0, 0, :, 0]
        [0.  0.5 1.  1. ]

    Args:
        images: real, `[batch, height, width, channels]`.
        size: int32 `[2]`: the new height and width.
        align_corners: whether the centres of the corner pixels keep their places.
        half_pixel_centers: whether a pixel's centre is half a pixel from its edge; otherwise it is at its upper left corner.

    Returns:
        float32 images.
    """


@public("af.image")
@op("ResizeBicubic", shape=_resized, dtypes=REAL, types=_SIZE, result=float32, work=_WORK)
def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size, each pixel from the sixteen nearest pixels (`tf.image.resize_bicubic`).

    Example:
        >>> af.image.resize_bicubic([[[[0.0], [1.0]]]], [1, 4])[0, 0, :, 0]
        [0.     0.5    1.     1.0938]

    Args:
        images: real, `[batch, height, width, channels]`.
        size: int32 `[2]`: the new height and width.
        align_corners: whether the centres of the corner pixels keep their places.
        half_pixel_centers: whether a pixel's centre is half a pixel from its edge; otherwise it is at its upper left corner.

    Returns:
        float32 images.
    """


@public("af.image")
@op("ResizeNearestNeighbor", shape=_resized, dtypes=REAL, types=_SIZE, result=T, work=_WORK)
def resize_nearest_neighbor(
    images: TensorLike,
    size: TensorLike,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size, each pixel that of the nearest one (`tf.image.resize_nearest_neighbor`).

    Example:
        >>> af.image.resize_nearest_neighbor([[[[0.0], [1.0]]]], [1, 4])[0, 0, :, 0]
        [0. 0. 1. 1.]

    Args:
        images: real, `[batch, height, width, channels]`.
        size: int32 `[2]`: the new height and width.
        align_corners: whether the centres of the corner pixels keep their places.
        half_pixel_centers: whether a pixel's centre is half a pixel from its edge; otherwise it is at its upper left corner.

    Returns:
        Images of the same type.
    """


@public("af.image")
@op("ResizeArea", shape=_resized, dtypes=REAL, types=_SIZE, result=float32, work=_WORK)
def resize_area(
    images: TensorLike, size: TensorLike, *, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Images of another size, each pixel the mean of what it covers (`tf.image.resize_area`).

    Example:
        >>> image = af.reshape(af.range_(16.0), [1, 4, 4, 1])
        >>> af.image.resize_area(image, [2, 2])[0, :, :, 0]
        [[ 2.5  4.5]
         [10.5 12.5]]

    Args:
        images: real, `[batch, height, width, channels]`.
        size: int32 `[2]`: the new height and width.
        align_corners: whether the centres of the corner pixels keep their places.

    Returns:
        float32 images.
    """


# ---- gradients


@op("ResizeBilinearGrad", shape=_original, dtypes=FLOATING, types={"grads": float32}, result=T, work=_WORK)
def resize_bilinear_grad(
    grads: TensorLike,
    original_image: TensorLike,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """The share of each pixel of the original in the slopes of `ResizeBilinear`."""


@op("ResizeBicubicGrad", shape=_original, dtypes=FLOATING, types={"grads": float32}, result=T, work=_WORK)
def resize_bicubic_grad(
    grads: TensorLike,
    original_image: TensorLike,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """The share of each pixel of the original in the slopes of `ResizeBicubic`."""


@op("ResizeAreaGrad", shape=_original, dtypes=FLOATING, types={"grads": float32}, result=T, work=_WORK)
def resize_area_grad(
    grads: TensorLike, original_image: TensorLike, *, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """The share of each pixel of the original in the slopes of `ResizeArea`."""


@op("ResizeNearestNeighborGrad", shape=_resized, dtypes=REAL, types=_SIZE, result=T, work=_WORK)
def resize_nearest_neighbor_grad(
    grads: TensorLike,
    size: TensorLike,
    *,
    align_corners: bool = False,
    half_pixel_centers: bool = False,
    name: str | None = None,
) -> Tensor:
    """The share of each pixel of the original, whose height and width are `size`, in the slopes of
    `ResizeNearestNeighbor`."""


def _options(node: Operation) -> dict[str, Any]:
    return {key: node.attrs[key] for key in ("align_corners", "half_pixel_centers") if key in node.attrs}


def _space(images: Tensor) -> Tensor:
    return shape(images)[1:3]


for _forward, _backward in (
    (resize_bilinear, resize_bilinear_grad),
    (resize_bicubic, resize_bicubic_grad),
    (resize_area, resize_area_grad),
):

    @_forward.gradient
    def _(node: Operation, dy: Tensor, backward: Any = _backward) -> list[Tensor | None]:
        images = node.inputs[0]
        if not images.dtype.is_floating:
            return [None, None]
        return [backward(dy, images, **_options(node)), None]

    @_backward.gradient
    def _(node: Operation, dy: Tensor, forward: Any = _forward) -> list[Tensor | None]:
        return [forward(cast(dy, float32), _space(node.inputs[0]), **_options(node)), None]


@resize_nearest_neighbor.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [resize_nearest_neighbor_grad(dy, _space(node.inputs[0]), **_options(node)), None]


@resize_nearest_neighbor_grad.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [resize_nearest_neighbor(dy, _space(node.inputs[0]), **_options(node)), None]
