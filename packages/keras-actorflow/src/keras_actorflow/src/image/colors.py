"""Colours."""

from __future__ import annotations

from typing import Any

from keras.src.backend import config

import actorflow as af
from keras_actorflow.src.image.layout import checked
from keras_actorflow.src.numpy.promotion import kind


def _planes(images: Any, data_format: str | None) -> tuple[list[Any], int]:
    axis = -3 if config.standardize_data_format(data_format) == "channels_first" else -1
    return [af.squeeze(part, [axis]) for part in af.split(images, 3, axis)], axis


def _floats(images: Any) -> Any:
    if not images.dtype.is_floating:
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={kind(images)}")
    return images


def rgb_to_grayscale(images: Any, data_format: str | None = None) -> Any:
    images = checked(images)
    name = kind(images)
    channels = images.shape[-3 if config.standardize_data_format(data_format) == "channels_first" else -1]
    if channels not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). "
            f"Received input with shape: images.shape={tuple(images.shape)}"
        )
    if channels == 1:
        return images
    (red, green, blue), axis = _planes(
        af.cast(images, "float32") if not images.dtype.is_floating else images, data_format
    )
    return af.cast(af.expand_dims(0.2989 * red + 0.587 * green + 0.114 * blue, axis), name)


def rgb_to_hsv(images: Any, data_format: str | None = None) -> Any:
    (red, green, blue), axis = _planes(_floats(checked(images)), data_format)
    value = af.maximum(af.maximum(red, green), blue)
    spread = value - af.minimum(af.minimum(red, green), blue)
    saturation = af.div_no_nan(spread, value)
    norm = af.div_no_nan(af.ones_like(spread), 6 * spread)
    hue = af.where_v2(af.equal(value, green), norm * (blue - red) + 2 / 6, norm * (red - green) + 4 / 6)
    hue = af.where_v2(af.equal(value, red), norm * (green - blue), hue)
    hue = af.where_v2(spread > 0, hue, af.zeros_like(hue)) + af.cast(hue < 0, hue.dtype)
    return af.stack([hue, saturation, value], axis=axis)


def hsv_to_rgb(images: Any, data_format: str | None = None) -> Any:
    (hue, saturation, value), axis = _planes(_floats(checked(images)), data_format)
    turn = af.floormod(hue, 1) * 6
    parts = [
        af.clip_by_value(af.abs(turn - 3) - 1, 0.0, 1.0),
        af.clip_by_value(2 - af.abs(turn - 2), 0.0, 1.0),
        af.clip_by_value(2 - af.abs(turn - 4), 0.0, 1.0),
    ]
    return af.stack([value * (1 - saturation + saturation * part) for part in parts], axis=axis)
