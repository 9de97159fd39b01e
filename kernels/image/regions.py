"""Kernels of regions of images, and of their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError


def _check(images: Any, boxes: Any, numbers: Any) -> None:
    if (
        len(images) != 4
        or min(images[1:3]) < 1
        or boxes.ndim != 2
        or boxes.shape[1] != 4
        or numbers.shape != boxes.shape[:1]
    ):
        raise InvalidArgumentError(
            f"Regions need images [batch, height, width, channels], boxes [n, 4] and n numbers of images, but the shapes are "
            f"{tuple(images)}, {boxes.shape} and {numbers.shape}."
        )
    if len(numbers) and not ((numbers >= 0) & (numbers < images[0])).all():
        bad = int(((numbers >= 0) & (numbers < images[0])).argmin())
        raise InvalidArgumentError(f"box_index[{bad}] = {int(numbers[bad])} is not in [0, {images[0]}), the batch.")


def _places(low: Any, high: Any, count: int, size: int) -> Any:
    """The positions of the pixels of a crop in its image, along one dimension."""
    if count == 1:
        return np.array([0.5 * (low + high) * (size - 1)], np.float32)
    step = (high - low) * (size - 1) / (count - 1)
    return (low * (size - 1) + np.arange(count, dtype=np.float32) * step).astype(np.float32)


class _PixelLine:
    """The pixels of a crop along one dimension: which are inside, and for these the two pixels that they lie between, and
    how far they are from the first."""

    def __init__(self, low: Any, high: Any, count: int, size: int) -> None:
        at = _places(low, high, count, size)
        self.inside = np.flatnonzero((at >= 0) & (at <= size - 1))
        at = at[self.inside]
        self.near = np.clip(np.floor(at + np.float32(0.5)), 0, size - 1).astype(np.intp)  # rounds halves away from zero
        self.first, self.second = np.floor(at).astype(np.intp), np.ceil(at).astype(np.intp)
        self.part = at - np.floor(at)


def _lines(boxes: Any, crop: tuple[int, int], space: tuple[int, int]) -> Iterator[tuple[_PixelLine, _PixelLine]]:
    for y1, x1, y2, x2 in np.asarray(boxes):
        yield _PixelLine(y1, y2, crop[0], space[0]), _PixelLine(x1, x2, crop[1], space[1])


@kernel("CropAndResize")
def crop_and_resize(
    xp: Any, images: Any, boxes: Any, numbers: Any, size: Any, *, method: str, extrapolation_value: float
) -> Any:
    crop = tuple(int(n) for n in np.asarray(size).reshape(-1))
    if len(crop) != 2 or min(crop) <= 0:
        raise InvalidArgumentError(f"A crop's height and width are one or more, not {list(crop)}.")
    numbers = np.asarray(numbers)
    _check(images.shape, boxes, numbers)
    crops = xp.full((len(boxes), *crop, images.shape[3]), np.float32(extrapolation_value))
    for target, number, (ys, xs) in zip(crops, numbers, _lines(boxes, (crop[0], crop[1]), images.shape[1:3])):
        image, at = images[int(number)], np.ix_(ys.inside, xs.inside)
        if method == "nearest":
            target[at] = image[np.ix_(ys.near, xs.near)]
            continue
        down, right = ys.part[:, None, None], xs.part[None, :, None]
        upper = _between(image, ys.first, xs, right)
        target[at] = upper + (_between(image, ys.second, xs, right) - upper) * down
    return crops


def _between(image: Any, rows: Any, xs: _PixelLine, right: Any) -> Any:
    left = image[np.ix_(rows, xs.first)].astype(np.float32)
    return left + (image[np.ix_(rows, xs.second)] - left) * right


@kernel("CropAndResizeGradImage")
def crop_and_resize_grad_image(
    xp: Any, slopes: Any, boxes: Any, numbers: Any, size: Any, *, T: DType, method: str
) -> Any:
    shape = tuple(int(n) for n in np.asarray(size).reshape(-1))
    numbers = np.asarray(numbers)
    _check(shape, boxes, numbers)
    if slopes.ndim != 4 or slopes.shape[::3] != (len(boxes), shape[3]):
        raise InvalidArgumentError(f"Slopes of shape {slopes.shape} are none of {len(boxes)} crops of images {shape}.")
    gradient = np.zeros(shape, np.float32)
    for slope, number, (ys, xs) in zip(slopes, numbers, _lines(boxes, slopes.shape[1:3], (shape[1], shape[2]))):
        image, inner = gradient[int(number)], np.asarray(slope)[np.ix_(ys.inside, xs.inside)]
        if method == "nearest":
            np.add.at(image, np.ix_(ys.near, xs.near), inner)
            continue
        down, right = ys.part[:, None, None], xs.part[None, :, None]
        for rows, weight in ((ys.first, 1 - down), (ys.second, down)):
            for columns, share in ((xs.first, 1 - right), (xs.second, right)):
                np.add.at(image, np.ix_(rows, columns), inner * weight * share)
    return xp.asarray(gradient.astype(T.numpy_dtype, copy=False))


@kernel("CropAndResizeGradBoxes")
def crop_and_resize_grad_boxes(xp: Any, slopes: Any, images: Any, boxes: Any, numbers: Any, *, method: str) -> Any:
    numbers = np.asarray(numbers)
    _check(images.shape, boxes, numbers)
    if slopes.ndim != 4 or slopes.shape[::3] != (len(boxes), images.shape[3]):
        raise InvalidArgumentError(
            f"Slopes of shape {slopes.shape} are none of {len(boxes)} crops of images {images.shape}."
        )
    crop, space = slopes.shape[1:3], images.shape[1:3]
    gradient = np.zeros((len(boxes), 4), np.float32)
    for target, slope, number, (ys, xs) in zip(gradient, slopes, numbers, _lines(boxes, crop, space)):
        image = np.asarray(images[int(number)], np.float32)
        inner = np.asarray(slope)[np.ix_(ys.inside, xs.inside)]
        corners = [
            [image[np.ix_(rows, columns)] for columns in (xs.first, xs.second)] for rows in (ys.first, ys.second)
        ]
        down, right = ys.part[:, None, None], xs.part[None, :, None]
        by_y = (1 - right) * (corners[1][0] - corners[0][0]) + right * (corners[1][1] - corners[0][1])
        by_x = (1 - down) * (corners[0][1] - corners[0][0]) + down * (corners[1][1] - corners[1][0])
        for axis, (line, slope_along) in enumerate(
            ((ys, (by_y * inner).sum((1, 2))), (xs, (by_x * inner).sum((0, 2))))
        ):
            most = space[axis] - 1
            share = line.inside * (most / (crop[axis] - 1)) if crop[axis] > 1 else np.full(len(line.inside), 0.5 * most)
            target[axis] = ((most - share) * slope_along).sum()
            target[axis + 2] = (share * slope_along).sum()
    return xp.asarray(gradient)
