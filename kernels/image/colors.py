"""Kernels of colours."""

from __future__ import annotations

from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError


def _check(images: Any) -> None:
    if not images.ndim or images.shape[-1] != 3:
        raise InvalidArgumentError(
            f"Images have three channels in their last dimension, but the shape is {images.shape}."
        )


@kernel("RGBToHSV")
def rgb_to_hsv(xp: Any, images: Any) -> Any:
    _check(images)
    red, green, blue = (images[..., i] for i in range(3))
    value = images.max(-1)
    spread = value - images.min(-1)
    some = spread > 0
    unit = 1 / (6 * xp.where(some, spread, 1))
    hue = xp.where(
        red == value,
        unit * (green - blue),
        xp.where(green == value, unit * (blue - red) + 2 / 6, unit * (red - green) + 4 / 6),
    )
    hue = xp.where(some, hue, 0)
    saturation = xp.where(value > 0, spread / xp.where(value > 0, value, 1), 0)
    return xp.stack([xp.where(hue < 0, hue + 1, hue), saturation, value], -1).astype(images.dtype, copy=False)


@kernel("HSVToRGB")
def hsv_to_rgb(xp: Any, images: Any) -> Any:
    _check(images)
    turn, saturation, value = images[..., 0] * 6, images[..., 1], images[..., 2]
    parts = [abs(turn - 3) - 1, 2 - abs(turn - 2), 2 - abs(turn - 4)]
    colours = [(1 - saturation + saturation * xp.clip(part, 0, 1)) * value for part in parts]
    return xp.stack(colours, -1).astype(images.dtype, copy=False)
