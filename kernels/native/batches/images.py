"""Images of other sizes, the gradients of these, and parts of images, of floats and of bytes.

Rows are resized before columns, whichever shrink more, so results may differ from numpy's kernels in the last bits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

from ...image import regions, resize
from ..library import function

_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native"}
_resize, _resize_back, _boxes = (function(name) for name in ("resized", "resized_back", "boxes"))


@functools.lru_cache(256)
def _tables(method: str, old: tuple[int, int], new: tuple[int, int], align: bool, half: bool) -> tuple[Any, ...]:
    """The places and weights of rows, and those of columns."""
    taps = [resize.taps(method, *sizes, align, half) for sizes in zip(old, new)]
    return tuple(
        np.ascontiguousarray(part, kind) for along in taps for part, kind in zip(along, (np.int64, np.float32))
    )


def _resized(method: str, images: Any, size: Any, align: bool, half: bool) -> Any:
    """Images of another size; None where that is for numpy."""
    if images.ndim != 4 or not images.size:
        return None
    return _resize(images, *_tables(method, images.shape[1:3], resize.sizes(size), align, half))


def _slopes(method: str, slopes: Any, space: tuple[int, int], align: bool, half: bool) -> Any:
    """The slopes for images of height and width `space`; None where that is for numpy."""
    if slopes.ndim != 4 or not slopes.size or min(space) < 1:
        return None
    return _resize_back(slopes, *space, *_tables(method, space, slopes.shape[1:3], align, half))


@kernel("ResizeBilinear", **_OPTIONS)
def resize_bilinear(xp: Any, images: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    resized = _resized("Bilinear", images, size, align_corners, half_pixel_centers)
    if resized is not None:
        return resized
    return resize.resize_bilinear(xp, images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


@kernel("ResizeBicubic", **_OPTIONS)
def resize_bicubic(xp: Any, images: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    resized = _resized("Bicubic", images, size, align_corners, half_pixel_centers)
    if resized is not None:
        return resized
    return resize.resize_bicubic(xp, images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


@kernel("ResizeArea", **_OPTIONS)
def resize_area(xp: Any, images: Any, size: Any, *, align_corners: bool) -> Any:
    resized = _resized("Area", images, size, align_corners, False)
    return resize.resize_area(xp, images, size, align_corners=align_corners) if resized is None else resized


def _sized_as(images: Any, slopes: Any) -> bool:
    return bool(images.ndim == 4 and images.dtype == slopes.dtype)


@kernel("ResizeBilinearGrad", **_OPTIONS)
def resize_bilinear_grad(xp: Any, slopes: Any, images: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    if _sized_as(images, slopes):
        gradient = _slopes("Bilinear", slopes, images.shape[1:3], align_corners, half_pixel_centers)
        if gradient is not None:
            return gradient
    return resize.resize_bilinear_grad(
        xp, slopes, images, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@kernel("ResizeBicubicGrad", **_OPTIONS)
def resize_bicubic_grad(xp: Any, slopes: Any, images: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    if _sized_as(images, slopes):
        gradient = _slopes("Bicubic", slopes, images.shape[1:3], align_corners, half_pixel_centers)
        if gradient is not None:
            return gradient
    return resize.resize_bicubic_grad(
        xp, slopes, images, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@kernel("ResizeAreaGrad", **_OPTIONS)
def resize_area_grad(xp: Any, slopes: Any, images: Any, *, align_corners: bool) -> Any:
    if _sized_as(images, slopes):
        gradient = _slopes("Area", slopes, images.shape[1:3], align_corners, False)
        if gradient is not None:
            return gradient
    return resize.resize_area_grad(xp, slopes, images, align_corners=align_corners)


@kernel("ResizeNearestNeighborGrad", **_OPTIONS)
def resize_nearest_neighbor_grad(
    xp: Any, slopes: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    gradient = _slopes("NearestNeighbor", slopes, resize.sizes(size), align_corners, half_pixel_centers)
    if gradient is not None:
        return gradient
    return resize.resize_nearest_neighbor_grad(
        xp, slopes, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@kernel("CropAndResize", **_OPTIONS)
def crop_and_resize(
    xp: Any, images: Any, boxes: Any, numbers: Any, size: Any, *, method: str, extrapolation_value: float
) -> Any:
    target = np.asarray(size).reshape(-1).tolist()
    crops = (
        _boxes(images, boxes, numbers, *target, method == "nearest", float(extrapolation_value))
        if len(target) == 2
        else None
    )
    if crops is not None:
        return crops
    return regions.crop_and_resize(
        xp, images, boxes, numbers, size, method=method, extrapolation_value=extrapolation_value
    )
