"""Other sizes of images. Along an axis, a resize is a product with a matrix of weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from keras.src.backend import config

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.image.layout import batched, one_of
from keras_actorflow.src.numpy.promotion import kind


def _triangle(x: Any) -> Any:
    return af.nn.relu(1 - af.abs(x))


def _cubic(x: Any) -> Any:
    x = af.abs(x)
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return af.where_v2(x >= 2, af.zeros_like(x), af.where_v2(x >= 1, far, near))


def _lanczos(radius: int) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        angle = math.pi * x
        small = af.abs(x) < 1e-3
        safe = af.where_v2(small, af.ones_like(angle), angle)
        wave = radius * af.sin(safe) * af.sin(safe / radius) / (safe * safe)
        return af.where_v2(af.abs(x) > radius, af.zeros_like(x), af.where_v2(small, af.ones_like(x), wave))

    return kernel


_KERNELS = {
    "bilinear": _triangle,
    "linear": _triangle,
    "triangle": _triangle,
    "trilinear": _triangle,
    "bicubic": _cubic,
    "cubic": _cubic,
    "tricubic": _cubic,
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
}
_RESIZES = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")
_METHODS = ("linear", "bilinear", "trilinear", "cubic", "bicubic", "tricubic", "lanczos3", "lanczos5")


def _weights(before: int, after: int, scale: Any, shift: Any, method: str, antialias: bool, dtype: Any) -> Any:
    """For each new place, the weights of the old ones: a matrix of `before` rows and `after` columns."""
    inverse = 1 / scale
    spread = af.maximum(inverse, 1.0) if antialias else af.ones_like(inverse)
    places = (af.cast(af.range_(after), dtype) + 0.5) * inverse - shift * inverse - 0.5
    distance = af.abs(af.expand_dims(places, 0) - af.expand_dims(af.cast(af.range_(before), dtype), 1)) / spread
    weights = _KERNELS[method](distance)
    total = af.reduce_sum(weights, 0, True)
    tiny = 1000 * 1.19e-7
    weights = af.where_v2(af.abs(total) > tiny, weights / af.where_v2(af.equal(total, 0), af.ones_like(total), total),
                          af.zeros_like(weights))  # fmt: skip
    inside = af.logical_and(places >= -0.5, places <= before - 0.5)
    return af.where_v2(af.expand_dims(inside, 0), weights, af.zeros_like(weights))


def _along(x: Any, weights: Any, axis: int) -> Any:
    rank = len(x.shape)
    order = [number for number in range(rank) if number != axis] + [axis]
    moved = af.transpose(x, order)
    sizes = [int(size) for size in moved.shape]
    rows = af.reshape(moved, [math.prod(sizes[:-1]), sizes[-1]])
    result = af.reshape(af.matmul(rows, weights), [*sizes[:-1], int(weights.shape[-1])])
    return af.transpose(result, [order.index(number) for number in range(rank)])


def resize(
    images: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> Any:
    """Images of another height and width."""
    one_of(interpolation, _RESIZES, "interpolation")
    if fill_mode != "constant":
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")
    if len(size) != 2:
        raise ValueError(f"Argument `size` must be a tuple of two elements (height, width). Received: size={size}")
    x, back = batched(images, data_format)
    name = kind(x)
    rows, columns = int(size[0]), int(size[1])
    height, width = int(x.shape[1]), int(x.shape[2])
    exact = interpolation == "nearest"
    wide = x if exact or name in ("float32", "float64") else af.cast(x, "float32")
    if crop_to_aspect_ratio:
        inner = (
            max(min(height, int(float(width * rows) / columns)), 1),
            max(min(width, int(float(height * columns) / rows)), 1),
        )
        top, left = int((height - inner[0]) / 2), int((width - inner[1]) / 2)
        wide = wide[:, top : top + inner[0], left : left + inner[1], :]
    elif pad_to_aspect_ratio:
        outer = max(height, int(float(width * rows) / columns)), max(width, int(float(height * columns) / rows))
        top, left = int((outer[0] - height) / 2), int((outer[1] - width) / 2)
        wide = af.pad(
            wide, [[0, 0], [top, top], [left, left], [0, 0]], constant_values=convert_to_tensor(fill_value, wide.dtype)
        )
    for axis, target in ((1, rows), (2, columns)):
        before = int(wide.shape[axis])
        if before == target:
            continue
        if exact:
            places = [min(int((number + 0.5) * before / target), before - 1) for number in range(target)]
            wide = af.gather(wide, af.constant(places, af.int32), axis=axis)
        else:
            scale = convert_to_tensor(target / before, wide.dtype)
            weights = _weights(before, target, scale, af.zeros_like(scale), interpolation, antialias, wide.dtype)
            wide = _along(wide, weights, axis)
    return back(_narrowed(wide, name))


def _narrowed(x: Any, name: str) -> Any:
    """The numbers in their own type: integers are rounded, and kept within their limits."""
    target = af.as_dtype(name)
    if kind(x) == name:
        return x
    return af.saturate_cast(af.round(x), target) if target.is_integer else af.cast(x, target)


def scale_and_translate(
    images: Any, output_shape: Any, scale: Any, translation: Any, spatial_dims: Any, method: str, antialias: bool = True
) -> Any:
    """Images that are scaled and moved along some axes."""
    one_of(method, _METHODS, "method")
    x = convert_to_tensor(images)
    name = kind(x)
    wide = x if name in ("float32", "float64") else af.cast(x, config.floatx())
    scale, translation = convert_to_tensor(scale, wide.dtype), convert_to_tensor(translation, wide.dtype)
    for number, axis in enumerate(spatial_dims):
        axis = axis % len(x.shape)
        weights = _weights(
            int(x.shape[axis]),
            int(output_shape[axis]),
            scale[number],
            translation[number],
            method,
            antialias,
            wide.dtype,
        )
        wide = _along(wide, weights, axis)
    return _narrowed(wide, name)
