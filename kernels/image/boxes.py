"""Kernels of boxes. They compute on the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import float64
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext
from actorflow.errors import InvalidArgumentError

from ..random import philox
from ..random.distributions import stream

_COLOURS: Any = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


@kernel("NonMaxSuppressionV3")
def non_max_suppression(xp: Any, boxes: Any, scores: Any, most: Any, overlap: Any, least: Any) -> Any:
    boxes, scores = np.asarray(boxes, np.float32), np.asarray(scores)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise InvalidArgumentError(
            f"Boxes [n, 4] and n scores are needed, but the shapes are {boxes.shape} and {scores.shape}."
        )
    if not 0 <= overlap <= 1:
        raise InvalidArgumentError(f"iou_threshold must be in [0, 1], but it is {float(overlap)}.")
    low = np.minimum(boxes[:, :2], boxes[:, 2:])
    high = np.maximum(boxes[:, :2], boxes[:, 2:])
    areas = (high - low).prod(1)
    order = np.argsort(-scores, kind="stable")
    left = order[scores[order] > least]
    chosen: list[int] = []
    while len(left) and len(chosen) < most:
        best, left = left[0], left[1:]
        chosen.append(best)
        common = np.maximum(np.minimum(high[best], high[left]) - np.maximum(low[best], low[left]), 0).prod(1)
        union = areas[best] + areas[left] - common
        shares = np.where((areas[best] > 0) & (areas[left] > 0), common / np.where(union > 0, union, 1), 0)
        left = left[shares <= overlap]
    return xp.asarray(np.array(chosen, np.int32))


@kernel("DrawBoundingBoxesV2")
def draw_bounding_boxes(xp: Any, images: Any, boxes: Any, colours: Any) -> Any:
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4) or boxes.shape != (len(images), *boxes.shape[1:2], 4):
        raise InvalidArgumentError(
            f"Images [batch, height, width, 1, 3 or 4] and boxes [batch, n, 4] are needed, but the shapes are {images.shape} and "
            f"{boxes.shape}."
        )
    height, width, channels = images.shape[1:]
    palette: Any = np.asarray(colours) if colours.size else np.ones_like(_COLOURS) if channels == 1 else _COLOURS
    if palette.ndim != 2 or palette.shape[1] < channels:
        raise InvalidArgumentError(f"Colours have {channels} channels, but their shape is {palette.shape}.")
    drawn = np.array(images)
    for image, own in zip(drawn, np.asarray(boxes)):
        for number, box in enumerate(own):
            _draw(image, box, palette[number % len(palette), :channels], height, width)
    return xp.asarray(drawn)


def _draw(image: Any, box: Any, colour: Any, height: int, width: int) -> None:
    """The outline of one box, as far as it is in the image."""
    top, left, bottom, right = (int(v) for v in box * np.array([height - 1, width - 1] * 2, np.float32))
    if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            image[row, columns] = colour
    for column in (left, right):
        if 0 <= column < width:
            image[rows, column] = colour


@kernel("SampleDistortedBoundingBoxV2")
def sample_distorted_bounding_box(
    xp: Any,
    image_size: Any,
    boxes: Any,
    covered: Any,
    *,
    seed: int,
    seed2: int,
    aspect_ratio_range: Sequence[float],
    area_range: Sequence[float],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
    ctx: KernelContext,
) -> Any:
    height, width, _ = (int(n) for n in image_size)
    if height <= 0 or width <= 0:
        raise InvalidArgumentError(f"The image has the size {[height, width]}, and no pixel.")
    objects = np.asarray(boxes, np.float64).reshape(-1, 4)
    if not ((objects[:, :2] < objects[:, 2:]).all() and objects.min(initial=0) >= 0 and objects.max(initial=1) <= 1):
        raise InvalidArgumentError(
            f"The objects are boxes within [0, 1], from the upper left corner on: {objects.tolist()}."
        )
    if not len(objects):
        if not use_image_if_no_bounding_boxes:
            raise InvalidArgumentError(
                "No bounding boxes provided as input.",
                hint="With use_image_if_no_bounding_boxes=True the whole image counts as the object.",
            )
        objects = np.array([[0.0, 0.0, 1.0, 1.0]])
    pixels = objects * [height, width, height, width]
    source = stream(ctx, seed, seed2)
    top, left, high, wide = 0, 0, height, width
    for _ in range(max_attempts):
        drawn = philox.fill(source, philox.uniform(53), (4,), float64).tolist()
        window = _sample(drawn, height, width, aspect_ratio_range, area_range)
        if window is not None and _shares(pixels, window).max() >= covered:
            top, left, high, wide = window
            break
    box = np.array([[[top / height, left / width, (top + high) / height, (left + wide) / width]]], np.float32)
    kind = image_size.dtype
    return xp.asarray(np.array([top, left, 0], kind)), xp.asarray(np.array([high, wide, -1], kind)), xp.asarray(box)


def _sample(
    drawn: Sequence[float], height: int, width: int, ratios: Sequence[float], areas: Sequence[float]
) -> tuple[int, int, int, int] | None:
    """A box of a ratio and an area within the bounds, from four numbers in [0, 1); None where none of the ratio fits in."""
    ratio = ratios[0] + drawn[0] * (ratios[1] - ratios[0])
    least, most = (areas[i] * height * width for i in (0, 1))
    lowest = max(1, math.ceil(math.sqrt(least / ratio)))
    highest = math.floor(min(math.sqrt(most / ratio), height, (width + 0.5) / ratio))
    if highest < lowest:
        return None
    high = lowest + int(drawn[1] * (highest - lowest + 1))
    wide = min(width, max(1, round(high * ratio)))
    if not least <= high * wide <= most:
        return None
    return int(drawn[2] * (height - high + 1)), int(drawn[3] * (width - wide + 1)), high, wide


def _shares(objects: Any, box: tuple[int, int, int, int]) -> Any:
    """How much of each object is in a box."""
    top, left, high, wide = box
    common = np.minimum(objects[:, 2:], [top + high, left + wide]) - np.maximum(objects[:, :2], [top, left])
    return np.maximum(common, 0).prod(1) / (objects[:, 2:] - objects[:, :2]).prod(1)
