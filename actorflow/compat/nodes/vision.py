"""Nodes of images and boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.compat.names import boxes, numerics
from actorflow.graph.graphdef.rewrites.attributes import Attributes, constant_of
from actorflow.graph.tensor import Tensor


def _number(a: Attributes, tensor: Tensor, what: str) -> Any:
    """The value of an input that has to be constant."""
    value = constant_of(tensor)
    if value is None:
        raise a.refuse(f"has a computed {what}")
    return value


def _padded_boxes(a: Attributes, t: Sequence[Any]) -> Any:
    """`NonMaxSuppressionV4`."""
    kept, count = boxes.non_max_suppression_padded(t[0], t[1], t[2], t[3], t[4], pad_to_max_output_size=False)
    if a("pad_to_max_output_size", False):
        kept = af.pad(kept, [[0, t[2] - count]])
    return [kept, count]


def _weakened_boxes(a: Attributes, t: Sequence[Any]) -> Any:
    """`NonMaxSuppressionV5`."""
    sigma = float(_number(a, t[5], "soft_nms_sigma"))
    kept, scores = boxes.non_max_suppression_with_scores(t[0], t[1], t[2], t[3], t[4], soft_nms_sigma=sigma)
    count = af.size(kept)
    if a("pad_to_max_output_size", False):
        kept, scores = (af.pad(part, [[0, t[2] - count]]) for part in (kept, scores))
    return [kept, scores, count]


def _boxes_of_classes(a: Attributes, t: Sequence[Any]) -> Any:
    if t[0].static_shape is None or t[1].static_shape is None or t[1].static_shape[2] is None:
        raise a.refuse("has an unknown number of classes")
    each, total = (int(_number(a, t[place], "number of boxes")) for place in (2, 3))
    flags = {"pad_per_class": a("pad_per_class", False), "clip_boxes": a("clip_boxes", True)}
    return list(boxes.combined_non_max_suppression(t[0], t[1], each, total, t[4], t[5], **flags))


def _cropped_jpeg(a: Attributes, t: Sequence[Any]) -> Any:
    return af.image.decode_and_crop_jpeg(t[0], t[1], channels=a("channels", 0))


def _padded_convolution(a: Attributes, t: Sequence[Any]) -> Any:
    image, paddings, filters = t
    return af.nn.conv2d(
        af.pad(image, paddings, mode=a("mode")), filters, strides=list(a("strides")), padding=a("padding")
    )


def _projected(a: Attributes, t: Sequence[Any]) -> Any:
    """`ImageProjectiveTransform`: each pixel is looked up at its place, which a matrix of eight numbers says."""
    images, transforms, shape = t[:3]
    fill = t[3] if len(t) > 3 else af.constant(0.0)
    mode, way = a("fill_mode", "CONSTANT"), a("interpolation")
    arguments = [images, transforms, shape, fill]
    result = af.py_func(lambda *arrays: projected(*arrays, mode=mode, way=way), arguments, images.dtype, stateful=False)
    batch, *_, channels = images.static_shape or (None,) * 4
    sizes = constant_of(shape)
    result.set_shape([batch, *(sizes.tolist() if sizes is not None else (None, None)), channels])
    return result


def projected(images: Any, transforms: Any, shape: Any, fill: Any, *, mode: str, way: str) -> Any:
    """Images that are looked up at other places.

    Pixel (x, y) is the pixel of an image at (u / k, v / k). Here u = a x + b y + c, v = d x + e y + f, k = g x + h y + 1.

    Args:
        images: `[batch, rows, columns, channels]`.
        transforms: `[batch or 1, 8]`: a, b, c, d, e, f, g, h.
        shape: rows and columns of the result.
        fill: the value beyond an image.
        mode: `CONSTANT`, `REFLECT`, `WRAP` or `NEAREST`: which pixels are beyond an image.
        way: `NEAREST` or `BILINEAR`.
    """
    y, x = np.meshgrid(*(np.arange(size, dtype=np.float32) for size in shape), indexing="ij")
    a, b, c, d, e, f, g, h = (column[:, None, None] for column in transforms.T.astype(np.float32))
    k = g * x + h * y + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        across, down = (a * x + b * y + c) / k, (d * x + e * y + f) / k
    rows, columns = images.shape[1:3]
    down, across = _reflected(down, rows, mode), _reflected(across, columns, mode)
    batch = np.arange(len(images))[:, None, None]
    value = images.dtype.type(fill)

    def pixel(row: Any, column: Any) -> Any:
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        at_row, at_column = (np.where(inside, place, 0).astype(np.int64) for place in (row, column))
        return np.where(inside[..., None], images[batch, at_row, at_column], value)

    if way == "NEAREST":
        result = pixel(_rounded(down), _rounded(across))
    else:
        top, left = np.floor(down), np.floor(across)
        below, right = (down - top)[..., None], (across - left)[..., None]
        upper = (1 - right) * pixel(top, left) + right * pixel(top, left + 1)
        lower = (1 - right) * pixel(top + 1, left) + right * pixel(top + 1, left + 1)
        result = (1 - below) * upper + below * lower
    missing = ~np.isfinite(k + across + down) | (np.broadcast_to(k, down.shape) == 0)
    return np.where(missing[..., None], value, result).astype(images.dtype)


def _rounded(places: Any) -> Any:
    """The nearest whole numbers; a half goes away from zero."""
    return np.copysign(np.floor(np.abs(places) + 0.5), places)


def _reflected(places: Any, size: int, mode: str) -> Any:
    """Places within an image of `size`, for places that lie beyond it."""
    if mode == "NEAREST":
        return np.clip(places, 0, size - 1)
    if mode == "WRAP":
        if size == 1:
            return np.zeros_like(places)
        turns = np.where(places < 0, -np.floor(-places / (size - 1)) - 1, np.floor(places / (size - 1)))
        turns = np.where((places >= 0) & (places <= size - 1), 0, turns)
        return np.clip(places - size * turns, 0, size - 1)  # a turn begins a pixel early, as in TensorFlow
    if mode == "REFLECT":
        if size == 1:
            return np.zeros_like(places)
        around = np.mod(places, 2 * size)
        return np.clip(np.where(around >= size, 2 * size - around - 1, around), 0, size - 1)
    return places


KERNELS: dict[str, tuple[float, Callable[[Any], Any]]] = {
    "lanczos1": (1.0, lambda x: np.sinc(x) * np.sinc(x)),
    "lanczos3": (3.0, lambda x: np.sinc(x) * np.sinc(x / 3)),
    "lanczos5": (5.0, lambda x: np.sinc(x) * np.sinc(x / 5)),
    "gaussian": (1.5, lambda x: np.exp(-x * x / (2 * 0.5 * 0.5))),
    "box": (0.5, lambda x: np.where(np.abs(x) < 0.5, 1.0, np.where(np.abs(x) == 0.5, 0.5, 0.0))),
    "triangle": (1.0, lambda x: np.maximum(0, 1 - np.abs(x))),
    "keyscubic": (2.0, lambda x: _cubic(np.abs(x), 0.0, 0.5)),
    "mitchellcubic": (2.0, lambda x: _cubic(np.abs(x), 1 / 3, 1 / 3)),
}
"""For each way of sampling the radius of its kernel and its weights."""


def _cubic(x: Any, b: float, c: float) -> Any:
    near = ((12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + (6 - 2 * b)) / 6
    far = ((-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)) / 6
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def weights(size: int, old: int, scale: float, shift: float, kind: str, antialias: bool) -> Any:
    """The part of each old pixel of a line in each new pixel, `[size, old]`."""
    radius, kernel = KERNELS[kind]
    wide = max(1 / scale, 1.0) if antialias else 1.0
    centre = (np.arange(size) + 0.5) / scale - shift / scale
    offsets = np.arange(old)[None, :] + 0.5 - centre[:, None]
    parts = np.where(np.abs(offsets) <= radius * wide, kernel(offsets / wide), 0.0)
    sums = parts.sum(1, keepdims=True)
    inside = ((centre >= 0) & (centre <= old))[:, None]
    return np.where(inside & (np.abs(sums) > 1e-7), parts / np.where(sums == 0, 1, sums), 0.0).astype(np.float32)


def _scaled(a: Attributes, t: Sequence[Any]) -> Any:
    """`ScaleAndTranslate`, which resizes with a kernel as wide as the old pixels of a new pixel."""
    images, size, scale, shift = t
    kind, antialias = a("kernel_type", "lanczos3"), a("antialias", True)

    def tables(size: Any, old: Any, scale: Any, shift: Any) -> tuple[Any, Any]:
        lines = [(int(size[i]), int(old[i + 1]), float(scale[i]), float(shift[i])) for i in (0, 1)]
        down, across = (weights(*line, kind, antialias) for line in lines)
        return down, across

    arguments = [size, af.shape(images), scale, shift]
    down, across = af.py_func(tables, arguments, [af.float32, af.float32], stateful=False)
    for table in (down, across):
        table.set_shape([None, None])
    pixels = af.cast(images, af.float32)
    return af.einsum("bhwc,yh,xw->byxc", pixels, down, across)


def _glimpses(a: Attributes, t: Sequence[Any]) -> Any:
    flags = {"centered": a("centered", True), "normalized": a("normalized", True)}
    if a("noise", "uniform") != "uniform":
        raise a.refuse(f"has pixels of {a('noise')} noise")
    return af.image.extract_glimpse(t[0], t[1], t[2], **flags, uniform_noise=a("uniform_noise", True))


def _convolution(a: Attributes, t: Sequence[Any]) -> Any:
    """`Conv`, which has images and volumes alike."""
    if len(a("explicit_paddings", ()) or ()) or a("groups", 1) != 1 or a("batch_dims", 1) != 1:
        raise a.refuse("has borders, groups or batches of its own")
    if a("data_format", "CHANNELS_LAST") != "CHANNELS_LAST":
        raise a.refuse("has channels in front")
    convolve = af.nn.conv2d if len(a("strides")) == 4 else af.nn.conv3d
    steps: Any = {"strides": list(a("strides")), "dilations": list(a("dilations", ())) or [1] * len(a("strides"))}
    return convolve(t[0], t[1], padding=a("padding"), **steps)


FORMS = {
    "CombinedNonMaxSuppression": _boxes_of_classes,
    "Conv": _convolution,
    "DecodeAndCropJpeg": _cropped_jpeg,
    "ExtractGlimpseV2": _glimpses,
    "ExtractJpegShape": lambda a, t: boxes.extract_jpeg_shape(t[0], a("output_type", af.int32)),
    "ExtractVolumePatches": lambda a, t: numerics.extract_volume_patches(t[0], a("ksizes"), a("strides"), a("padding")),
    "FusedPadConv2D": _padded_convolution,
    "ImageProjectiveTransformV2": _projected,
    "ImageProjectiveTransformV3": _projected,
    "NonMaxSuppressionV4": _padded_boxes,
    "NonMaxSuppressionV5": _weakened_boxes,
    "NonMaxSuppressionWithOverlaps": lambda a, t: boxes.non_max_suppression_overlaps(*t),
    "ScaleAndTranslate": _scaled,
}
"""For each op how it is built."""
