"""Kernels of images of another size.

A method is a function from two sizes to taps: for each new pixel the old pixels that it is made of, and their weights. A kernel
goes along the height and then the width; a gradient goes the same way with the transposed matrix of the weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

Taps: TypeAlias = "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]"  # indices and weights, [new size, taps]
_FLOAT = np.float32
_TABLE = 1024  # The number of places at which TensorFlow looks the weights of its cubic function up


def _scale(old: int, new: int, align: bool) -> Any:
    return _FLOAT((old - 1) / (new - 1)) if align and new > 1 else _FLOAT(old) / _FLOAT(new)


def _places(old: int, new: int, align: bool, half: bool) -> Any:
    """The positions of the new pixels among the old pixels."""
    at, scale = np.arange(new, dtype=_FLOAT), _scale(old, new, align)
    return (at + _FLOAT(0.5)) * scale - _FLOAT(0.5) if half else at * scale


def _bilinear(old: int, new: int, align: bool, half: bool) -> Taps:
    at = _places(old, new, align, half)
    below = np.floor(at)
    part = at - below
    pairs = np.stack([np.maximum(below, 0), np.minimum(np.ceil(at), old - 1)], 1)
    return pairs.astype(np.intp), np.stack([1 - part, part], 1)


def _nearest(old: int, new: int, align: bool, half: bool) -> Taps:
    at = np.arange(new, dtype=_FLOAT) + _FLOAT(0.5 if half else 0)
    at = at * _scale(old, new, align)
    chosen = np.floor(at + _FLOAT(0.5)) if align else np.floor(at)
    return np.clip(chosen, 0, old - 1).astype(np.intp)[:, None], np.ones((new, 1), _FLOAT)


@functools.cache
def _cubic(a: float) -> Any:
    """The cubic function at distances below 1, and the same from 1 to 2."""
    x = np.arange(_TABLE + 1) / _TABLE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    return near.astype(_FLOAT), (((a * x - 5 * a) * x + 8 * a) * x - 4 * a).astype(_FLOAT)


def _bicubic(old: int, new: int, align: bool, half: bool) -> Taps:
    at = _places(old, new, align, half)
    below = np.floor(at)
    near, far = _cubic(-0.5 if half else -0.75)
    part = np.rint((at - below) * _TABLE).astype(np.intp)
    weights = np.stack([far[part], near[part], near[_TABLE - part], far[_TABLE - part]], 1)
    taps = below[:, None].astype(np.intp) + np.arange(-1, 3)
    chosen = np.clip(taps, 0, old - 1)
    if half:  # what lies outside counts for nothing
        weights = np.where(chosen == taps, weights, _FLOAT(0))
        weights = weights / weights.sum(1, keepdims=True)
    return chosen, weights


def _area(old: int, new: int, align: bool, half: bool) -> Taps:
    scale = _scale(old, new, align and old > 1)  # a single pixel has no other corner to align with
    begins = np.arange(new, dtype=_FLOAT) * scale
    ends = (np.arange(new, dtype=_FLOAT) + 1) * scale
    first, last = np.floor(begins).astype(np.intp), np.ceil(ends).astype(np.intp)
    taps = first[:, None] + np.arange(int((last - first).max()))
    covered = np.minimum(taps + 1, ends[:, None]) - np.maximum(taps, begins[:, None])
    weights = np.where(taps < last[:, None], covered, 0) / scale
    return np.clip(taps, 0, old - 1), weights.astype(_FLOAT)


_METHODS: dict[str, Callable[[int, int, bool, bool], Taps]] = {
    "Bilinear": _bilinear,
    "Bicubic": _bicubic,
    "NearestNeighbor": _nearest,
    "Area": _area,
}


@functools.lru_cache(256)
def taps(method: str, old: int, new: int, align: bool, half: bool) -> Taps:
    return _METHODS[method](old, new, align, half)


@functools.lru_cache(64)
def _matrix(method: str, old: int, new: int, align: bool, half: bool) -> Any:
    """The weights as a matrix [new, old]."""
    indices, weights = taps(method, old, new, align, half)
    matrix = np.zeros((new, old), _FLOAT)
    np.add.at(matrix, (np.arange(new)[:, None], indices), weights)
    return matrix


def _along(xp: Any, x: Any, axis: int, taps: Taps) -> Any:
    indices, weights = taps
    shape = [1] * x.ndim
    shape[axis] = -1
    total = None
    for index, weight in zip(indices.T, weights.T):
        part = xp.take(x, xp.asarray(index), axis) * xp.asarray(weight.reshape(shape))
        total = part if total is None else xp.add(total, part, out=total)
    return total


def sizes(size: Any) -> tuple[int, int]:
    target = tuple(int(n) for n in np.asarray(size).reshape(-1))
    if len(target) != 2 or min(target) <= 0:
        raise InvalidArgumentError(f"An image's height and width are one or more, not {list(target)}.")
    return target[0], target[1]


def _check(images: Any) -> None:
    if images.ndim != 4 or 0 in images.shape[1:3]:
        raise InvalidArgumentError(
            f"Images have the shape [batch, height, width, channels], with a pixel at least, not {images.shape}."
        )


def _resized(xp: Any, method: str, images: Any, size: Any, align: bool, half: bool = False) -> Any:
    target = sizes(size)
    _check(images)
    resized = images if images.dtype == np.float64 else images.astype(_FLOAT, copy=False)
    for axis in sorted((1, 2), key=lambda axis: target[axis - 1] / images.shape[axis]):  # what shrinks goes first
        resized = _along(xp, resized, axis, taps(method, images.shape[axis], target[axis - 1], align, half))
    return resized.astype(_FLOAT, copy=False)


def _slopes(xp: Any, method: str, slopes: Any, space: tuple[int, int], align: bool, half: bool = False) -> Any:
    """The slopes of a resize, for the images of height and width `space` that were resized."""
    _check(slopes)
    gradient = slopes
    for axis, old in zip((1, 2), space):
        matrix = xp.asarray(_matrix(method, old, slopes.shape[axis], align, half)).astype(gradient.dtype, copy=False)
        gradient = xp.moveaxis(xp.tensordot(matrix, gradient, axes=((0,), (axis,))), 0, axis)
    return gradient


@kernel("ResizeBilinear")
def resize_bilinear(xp: Any, images: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    return _resized(xp, "Bilinear", images, size, align_corners, half_pixel_centers)


@kernel("ResizeBicubic")
def resize_bicubic(xp: Any, images: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    return _resized(xp, "Bicubic", images, size, align_corners, half_pixel_centers)


@kernel("ResizeArea")
def resize_area(xp: Any, images: Any, size: Any, *, align_corners: bool) -> Any:
    return _resized(xp, "Area", images, size, align_corners)


@kernel("ResizeNearestNeighbor")
def resize_nearest_neighbor(xp: Any, images: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    target = sizes(size)
    _check(images)
    resized = images
    for axis in (1, 2):
        indices, _ = taps("NearestNeighbor", images.shape[axis], target[axis - 1], align_corners, half_pixel_centers)
        resized = xp.take(resized, xp.asarray(indices[:, 0]), axis)
    return resized


def _of(xp: Any, method: str, slopes: Any, images: Any, align: bool, half: bool = False) -> Any:
    _check(images)
    gradient = _slopes(xp, method, slopes, images.shape[1:3], align, half)
    return xp.ascontiguousarray(gradient.astype(images.dtype, copy=False))


@kernel("ResizeBilinearGrad")
def resize_bilinear_grad(xp: Any, slopes: Any, images: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    return _of(xp, "Bilinear", slopes, images, align_corners, half_pixel_centers)


@kernel("ResizeBicubicGrad")
def resize_bicubic_grad(xp: Any, slopes: Any, images: Any, *, align_corners: bool, half_pixel_centers: bool) -> Any:
    return _of(xp, "Bicubic", slopes, images, align_corners, half_pixel_centers)


@kernel("ResizeAreaGrad")
def resize_area_grad(xp: Any, slopes: Any, images: Any, *, align_corners: bool) -> Any:
    return _of(xp, "Area", slopes, images, align_corners)


@kernel("ResizeNearestNeighborGrad")
def resize_nearest_neighbor_grad(
    xp: Any, slopes: Any, size: Any, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    gradient = _slopes(xp, "NearestNeighbor", slopes, sizes(size), align_corners, half_pixel_centers)
    return xp.ascontiguousarray(gradient.astype(slopes.dtype, copy=False))
