"""Other sizes of images. Along an axis, a resize is a product with a matrix of weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from keras.src.backend import config

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor, has_value, is_tensor
from keras_actorflow.src.image.layout import batched, one_of
from keras_actorflow.src.numpy.promotion import kind
from keras_actorflow.src.sizes import larger, size_of, sizes_of, smaller, vector


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


def _weights(before: Any, after: Any, scale: Any, shift: Any, method: str, antialias: bool, dtype: Any) -> Any:
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
    edge = before - 0.5 if isinstance(before, int) else af.cast(before, dtype) - 0.5
    inside = af.logical_and(places >= -0.5, places <= edge)
    return af.where_v2(af.expand_dims(inside, 0), weights, af.zeros_like(weights))


def _along(x: Any, weights: Any, axis: int) -> Any:
    rank = len(x.shape)
    order = [number for number in range(rank) if number != axis] + [axis]
    moved = af.transpose(x, order)
    sizes = sizes_of(moved)
    rows = af.reshape(moved, [math.prod(sizes[:-1]), sizes[-1]])
    result = af.reshape(af.matmul(rows, weights), [*sizes[:-1], size_of(weights, -1)])
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
    height, width = size_of(x, 1), size_of(x, 2)
    exact = interpolation == "nearest"
    wide = x if exact or name in ("float32", "float64") else af.cast(x, "float32")
    if crop_to_aspect_ratio:
        inner = (
            larger(smaller(height, width * rows // columns), 1),
            larger(smaller(width, height * columns // rows), 1),
        )
        top, left = (height - inner[0]) // 2, (width - inner[1]) // 2
        wide = wide[:, top : top + inner[0], left : left + inner[1], :]
    elif pad_to_aspect_ratio:
        outer = larger(height, width * rows // columns), larger(width, height * columns // rows)
        top, left = (outer[0] - height) // 2, (outer[1] - width) // 2
        widths = af.reshape(vector([0, 0, top, top, left, left, 0, 0]), [4, 2])
        wide = af.pad(wide, widths, constant_values=convert_to_tensor(fill_value, wide.dtype))
    for axis, target in ((1, rows), (2, columns)):
        before = size_of(wide, axis)
        if isinstance(before, int) and before == target:
            continue
        if exact:
            places = af.minimum((2 * af.range_(target) + 1) * before // (2 * target), before - 1)
            wide = af.gather(wide, places, axis=axis)
        else:
            scale = _ratio(target, before, wide.dtype)
            weights = _weights(before, target, scale, af.zeros_like(scale), interpolation, antialias, wide.dtype)
            wide = _along(wide, weights, axis)
    return back(_narrowed(wide, name))


def _ratio(after: int, before: Any, dtype: Any) -> Any:
    if isinstance(before, int):
        return convert_to_tensor(after / before, dtype)
    return af.cast(after / af.cast(before, "float64"), dtype)


def _narrowed(x: Any, name: str) -> Any:
    """The numbers in their own type: integers are rounded, and kept within their limits."""
    target = af.as_dtype(name)
    if kind(x) == name:
        return x
    return af.saturate_cast(af.round(x), target) if target.is_integer else af.cast(x, target)


def _number(size: Any) -> Any:
    return size if is_tensor(size) and not has_value(size) else int(size)


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
            size_of(x, axis),
            _number(output_shape[axis]),
            scale[number],
            translation[number],
            method,
            antialias,
            wide.dtype,
        )
        wide = _along(wide, weights, axis)
    return _narrowed(wide, name)
