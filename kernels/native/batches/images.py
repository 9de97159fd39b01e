"""Images of other sizes, parts of images, the gradients of both, and colours; of floats, and sizes and parts also of bytes.

Rows are resized before columns, whichever shrink more, so results may differ from numpy's kernels in the last bits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, float32
from actorflow.base.registry.kernel import kernel

from ...image import colors, regions, resize
from ..library import function, put

_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native"}
_resize, _resize_back = (function(name) for name in ("resized", "resized_back"))
_boxes, _crops_to_images, _crops_to_boxes = (function(name) for name in ("boxes", "crops_to_images", "crops_to_boxes"))


@functools.lru_cache(256)
def _tables(method: str, old: tuple[int, int], new: tuple[int, int], align: bool, half: bool) -> tuple[Any, ...]:
    """The places and weights of rows, and those of columns."""
    taps = [resize.taps(method, *sizes, align, half) for sizes in zip(old, new)]
    return tuple(
        np.ascontiguousarray(part, kind) for along in taps for part, kind in zip(along, (np.int64, np.float32))
    )


def _resized(method: str, images: Any, size: Any, align: bool, half: bool, out: Any) -> Any:
    """Images of another size; None where that is for numpy."""
    if images.ndim != 4 or not images.size:
        return None
    return _resize(images, *_tables(method, images.shape[1:3], resize.sizes(size), align, half), out)


def _slopes(method: str, slopes: Any, space: tuple[int, int], align: bool, half: bool, out: Any) -> Any:
    """The slopes for images of height and width `space`; None where that is for numpy."""
    if slopes.ndim != 4 or not slopes.size or min(space) < 1:
        return None
    return _resize_back(slopes, *space, *_tables(method, space, slopes.shape[1:3], align, half), out)


def _slopes_of(method: str, slopes: Any, images: Any, align: bool, half: bool, out: Any) -> Any:
    """The slopes for `images`; None where that is for numpy."""
    if images.ndim != 4 or images.dtype != slopes.dtype:
        return None
    return _slopes(method, slopes, images.shape[1:3], align, half, out)


@kernel("ResizeBilinear", **_OPTIONS)
def resize_bilinear(
    xp: Any, images: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool, out: Any = None
) -> Any:
    resized = _resized("Bilinear", images, size, align_corners, half_pixel_centers, out)
    if resized is not None:
        return resized
    return put(
        resize.resize_bilinear(xp, images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers),
        out,
    )


@kernel("ResizeBicubic", **_OPTIONS)
def resize_bicubic(
    xp: Any, images: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool, out: Any = None
) -> Any:
    resized = _resized("Bicubic", images, size, align_corners, half_pixel_centers, out)
    if resized is not None:
        return resized
    return put(
        resize.resize_bicubic(xp, images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers), out
    )


@kernel("ResizeArea", **_OPTIONS)
def resize_area(xp: Any, images: Any, size: Any, *, align_corners: bool, out: Any = None) -> Any:
    resized = _resized("Area", images, size, align_corners, False, out)
    if resized is not None:
        return resized
    return put(resize.resize_area(xp, images, size, align_corners=align_corners), out)


@kernel("ResizeBilinearGrad", **_OPTIONS)
def resize_bilinear_grad(
    xp: Any, slopes: Any, images: Any, *, align_corners: bool, half_pixel_centers: bool, out: Any = None
) -> Any:
    gradient = _slopes_of("Bilinear", slopes, images, align_corners, half_pixel_centers, out)
    if gradient is not None:
        return gradient
    return put(
        resize.resize_bilinear_grad(
            xp, slopes, images, align_corners=align_corners, half_pixel_centers=half_pixel_centers
        ),
        out,
    )


@kernel("ResizeBicubicGrad", **_OPTIONS)
def resize_bicubic_grad(
    xp: Any, slopes: Any, images: Any, *, align_corners: bool, half_pixel_centers: bool, out: Any = None
) -> Any:
    gradient = _slopes_of("Bicubic", slopes, images, align_corners, half_pixel_centers, out)
    if gradient is not None:
        return gradient
    return put(
        resize.resize_bicubic_grad(
            xp, slopes, images, align_corners=align_corners, half_pixel_centers=half_pixel_centers
        ),
        out,
    )


@kernel("ResizeAreaGrad", **_OPTIONS)
def resize_area_grad(xp: Any, slopes: Any, images: Any, *, align_corners: bool, out: Any = None) -> Any:
    gradient = _slopes_of("Area", slopes, images, align_corners, False, out)
    if gradient is not None:
        return gradient
    return put(resize.resize_area_grad(xp, slopes, images, align_corners=align_corners), out)


@kernel("ResizeNearestNeighborGrad", **_OPTIONS)
def resize_nearest_neighbor_grad(
    xp: Any, slopes: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool, out: Any = None
) -> Any:
    gradient = _slopes("NearestNeighbor", slopes, resize.sizes(size), align_corners, half_pixel_centers, out)
    if gradient is not None:
        return gradient
    options = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return put(resize.resize_nearest_neighbor_grad(xp, slopes, size, **options), out)


# ---- parts


@kernel("CropAndResize", **_OPTIONS)
def crop_and_resize(
    xp: Any,
    images: Any,
    boxes: Any,
    numbers: Any,
    size: Any,
    *,
    method: str,
    extrapolation_value: float,
    out: Any = None,
) -> Any:
    target = np.asarray(size).reshape(-1).tolist()
    crops = None
    if len(target) == 2:
        crops = _boxes(images, boxes, numbers, *target, method == "nearest", float(extrapolation_value), out)
    if crops is not None:
        return crops
    crops = regions.crop_and_resize(
        xp, images, boxes, numbers, size, method=method, extrapolation_value=extrapolation_value
    )
    return put(crops, out)


@kernel("CropAndResizeGradImage", **_OPTIONS)
def crop_and_resize_grad_image(
    xp: Any, slopes: Any, boxes: Any, numbers: Any, size: Any, *, T: DType, method: str, out: Any = None
) -> Any:
    space = np.asarray(size).reshape(-1).tolist()
    gradient = None
    if len(space) == 4 and T == float32:
        gradient = _crops_to_images(slopes, boxes, numbers, *space, method == "nearest", out)
    if gradient is not None:
        return gradient
    return put(regions.crop_and_resize_grad_image(xp, slopes, boxes, numbers, size, T=T, method=method), out)


@kernel("CropAndResizeGradBoxes", **_OPTIONS)
def crop_and_resize_grad_boxes(xp: Any, slopes: Any, images: Any, boxes: Any, numbers: Any, *, method: str) -> Any:
    gradient = _crops_to_boxes(slopes, images, boxes, numbers)
    if gradient is not None:
        return gradient
    return regions.crop_and_resize_grad_boxes(xp, slopes, images, boxes, numbers, method=method)


# ---- colours

_hues = function("hues", lambda images, out: put(colors.rgb_to_hsv(np, images), out))
_reds = function("reds", lambda images, out: put(colors.hsv_to_rgb(np, images), out))


@kernel("RGBToHSV", **_OPTIONS)
def rgb_to_hsv(xp: Any, images: Any, *, out: Any = None) -> Any:
    return _hues(images, out)


@kernel("HSVToRGB", **_OPTIONS)
def hsv_to_rgb(xp: Any, images: Any, *, out: Any = None) -> Any:
    return _reds(images, out)
