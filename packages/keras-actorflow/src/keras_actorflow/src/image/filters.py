"""Filters of images."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor, is_tensor
from keras_actorflow.src.image.layout import batched
from keras_actorflow.src.numpy.promotion import kind
from keras_actorflow.src.sizes import sizes_of


def _filtered(x: Any, kernel: Any) -> Any:
    """Each channel convolved with a matrix."""
    channels = int(x.shape[-1])
    sizes = sizes_of(kernel)
    kernel = af.tile(af.reshape(kernel, [*sizes, 1, 1]), [1, 1, channels, 1])
    return af.nn.depthwise_conv2d_native(x, kernel, [1, 1, 1, 1], "SAME")


def gaussian_blur(
    images: Any, kernel_size: Any = (3, 3), sigma: Any = (1.0, 1.0), data_format: str | None = None
) -> Any:
    """Images, smoothed."""
    x, back = batched(images, data_format)
    name = kind(x)
    wide = x if name in ("float32", "float64") else af.cast(x, "float32")
    sigma = convert_to_tensor(sigma, wide.dtype)

    def line(number: int) -> Any:
        size = kernel_size[number] if is_tensor(kernel_size[number]) else int(kernel_size[number])
        places = af.cast(af.range_(size), wide.dtype) - af.cast(size - 1, wide.dtype) / 2
        weights = af.exp(-0.5 * af.square(places / sigma[number]))
        return weights / af.reduce_sum(weights)

    kernel = af.expand_dims(line(1), 1) * af.expand_dims(line(0), 0)
    return back(af.cast(_filtered(wide, kernel), name))


def sobel_edges(images: Any, data_format: str | None = None) -> Any:
    """The slopes of images down and across, along a new last axis."""
    x, back = batched(images, data_format)
    across = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    parts = [back(_filtered(x, convert_to_tensor(kernel, x.dtype))) for kernel in (across.T, across)]
    return af.stack(parts, axis=-1)
