"""Images as batches with channels last, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras.src.backend import config

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor


def checked(images: Any) -> Any:
    """Images as a tensor.

    Raises:
        ValueError: they have not three axes or four.
    """
    images = convert_to_tensor(images)
    if len(images.shape) not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={tuple(images.shape)}"
        )
    return images


def one_of(value: Any, choices: Any, argument: str) -> None:
    """Raises ValueError if an argument is none of its choices."""
    if value not in choices:
        raise ValueError(
            f"Invalid value for argument `{argument}`. Expected of one {set(choices)}. Received: {argument}={value}"
        )


def batched(images: Any, data_format: str | None) -> tuple[Any, Callable[[Any], Any]]:
    """Images as a batch with channels last, and the way back."""
    images = checked(images)
    first = config.standardize_data_format(data_format) == "channels_first"
    single = len(images.shape) == 3
    x = af.expand_dims(images, 0) if single else images
    x = af.transpose(x, [0, 2, 3, 1]) if first else x

    def back(result: Any) -> Any:
        result = af.transpose(result, [0, 3, 1, 2]) if first else result
        return af.squeeze(result, [0]) if single else result

    return x, back
