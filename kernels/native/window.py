"""Pools of maxima and convolutions of each channel by itself, over images with channels last.

Pools have the bits of the Python kernels. Gradients of windows that overlap, or do not lie inside of the images, are left to
oneDNN, or to numpy. Convolutions may differ in the last bits, because their sums are added in another
order.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel

from ..nn import pool
from ..nn.conv import depthwise as numpy_depthwise
from ..nn.conv.functions import attributes
from ..onednn import binding as onednn
from ..onednn import conv as _onednn_conv  # noqa: F401 - declared before those here, which are taken if they pay
from ..onednn import pool as onednn_pool
from .library import function

Window = tuple[int, int, int, int, int, int]
"""Its height and width, how far it moves down and to the right, and how far the first one lies above and left of the image."""
LEAST = 2048
"""Elements from which on pools pay."""
_MANY_FLOPS = 1e5
"""Of a depthwise convolution by windows of 3 x 3."""


# ---- pools of maxima

_pool = function("max_pool")
_pool_grad = function("max_pool_grad")


def _window(
    shape: Sequence[int], ksize: Any, strides: Any, padding: str, pads: Sequence[int] = ()
) -> tuple[Window, tuple[int, ...]] | None:
    """The window and the result's shape, where each window has elements of the image. `pads` lie around it if they are given."""
    return _found_window(tuple(shape), tuple(ksize), tuple(strides), padding, tuple(pads))


@functools.lru_cache(1024)
def _found_window(
    shape: tuple[int, ...], ksize: Any, strides: Any, padding: str, pads: tuple[int, ...]
) -> tuple[Window, tuple[int, ...]] | None:
    try:
        spans = pool._spans(shape, ksize, strides, padding, pads)
    except ValueError:
        return None
    if len(spans) != 4 or spans[0].moves or spans[3].moves or prod(shape) == 0:
        return None
    down, right = spans[1:3]
    if any(s.before >= s.window or (s.count - 1) * s.stride - s.before >= s.size for s in (down, right)):
        return None
    moves = down.window, right.window, down.stride, right.stride, down.before, right.before
    return moves, tuple([s.count for s in spans])


def _can_pool(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return _window(shapes[0], attrs["ksize"], attrs["strides"], attrs["padding"]) is not None


def _can_pool_padded(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return _window(shapes[0], attrs["ksize"], attrs["strides"], "VALID", attrs["pads"]) is not None


def _window_beside(shape: Any, ksize: Any, strides: Any, padding: str) -> tuple[Window, tuple[int, ...]] | None:
    """The same where windows lie side by side, all of them inside."""
    window = _window(shape, ksize, strides, padding)
    if window is None:
        return None
    (high, wide, down, right, top, left), (_, rows, columns, _) = window
    inside = not top and not left and rows * high <= shape[1] and columns * wide <= shape[2]
    return window if (high, wide) == (down, right) and inside else None


def _can_pool_grad(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return _window_beside(shapes[0], attrs["ksize"], attrs["strides"], attrs["padding"]) is not None


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return bool(prod(shapes[0]) >= LEAST)


_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": frozenset((dtypes.float32,)), "library": "native"}


@kernel("MaxPool", can=_can_pool, pays=_pays, **_OPTIONS)
def max_pool(xp: Any, x: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    window = _window(x.shape, ksize, strides, padding)
    if window is not None:
        y = np.empty(window[1], np.float32) if out is None else out
        if _pool(x, y, *window[0]) is not None:
            return y
    return onednn_pool.max_pool(xp, x, ksize=ksize, strides=strides, padding=padding, out=out)


@kernel("_PaddedMaxPool", can=_can_pool_padded, **_OPTIONS)
def padded_max_pool(xp: Any, x: Any, *, ksize: Any, strides: Any, pads: Any, out: Any = None) -> Any:
    window = _window(x.shape, ksize, strides, "VALID", pads)
    if window is not None:
        y = np.empty(window[1], np.float32) if out is None else out
        if _pool(x, y, *window[0]) is not None:
            return y
    return pool.padded_max_pool(xp, x, ksize=ksize, strides=strides, pads=pads, out=out)


@kernel("MaxPoolGrad", can=_can_pool_grad, pays=_pays, **_OPTIONS)
def max_pool_grad(xp: Any, x: Any, y: Any, dy: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    window = _window_beside(x.shape, ksize, strides, padding)
    if window is not None and y.shape == window[1]:
        (high, wide, *_), result = window
        dx = np.empty(x.shape, np.float32) if out is None else out
        if (result[1] * high, result[2] * wide) != x.shape[1:3]:
            dx[...] = 0  # between the last windows and the borders
        if _pool_grad(x, y, dy, dx, high, wide) is not None:
            return dx
    return onednn_pool.max_pool_grad(xp, x, y, dy, ksize=ksize, strides=strides, padding=padding, out=out)


# ---- depthwise convolutions

_forward = function("depthwise")
_to_images = function("depthwise_to_images")
_to_weights = function("depthwise_to_weights")


def _can_convolve(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return bool(attrs["data_format"] == "NHWC")


def _convolving_pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """oneDNN is twice as quick from `_MANY_FLOPS` on. The shape of a gradient is a number of sizes, so that the known shape
    stands for both."""
    images = next(shape for shape in (shapes[0], shapes[-1]) if len(shape) == 4)
    return 18.0 * prod(images) < _MANY_FLOPS or onednn.loaded() is None


def _geometry(images: Any, weights: Any, attrs: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The result's height and width, and what the functions are told of windows. Raises ValueError where nothing fits."""
    high, wide = numpy_depthwise._spans(images, weights, attrs)
    moves = high.stride, wide.stride, high.before, wide.before, high.dilation, wide.dilation
    return (high.count, wide.count), moves


@kernel("DepthwiseConv2dNative", can=_can_convolve, pays=_convolving_pays, **_OPTIONS)
def depthwise(
    xp: Any,
    x: Any,
    w: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
    dilations: Any,
    out: Any = None,
) -> Any:
    attrs = attributes(strides, padding, data_format, dilations, explicit_paddings)
    counts, moves = _geometry(x.shape, w.shape, attrs)
    if w.shape[3] == 1:
        y = np.empty((len(x), *counts, w.shape[2]), np.float32) if out is None else out
        if _forward(x, w, y, *moves) is not None:
            return y
    options: dict[str, Any] = {"strides": strides, "padding": padding, "explicit_paddings": explicit_paddings}
    return numpy_depthwise.depthwise(xp, x, w, **options, data_format=data_format, dilations=dilations, out=out)


@kernel("DepthwiseConv2dNativeBackpropInput", can=_can_convolve, pays=_convolving_pays, **_OPTIONS)
def depthwise_to_input(
    xp: Any,
    sizes: Any,
    w: Any,
    dy: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
    dilations: Any,
    out: Any = None,
) -> Any:
    attrs = attributes(strides, padding, data_format, dilations, explicit_paddings)
    shape = tuple(sizes.tolist())
    counts, moves = _geometry(shape, w.shape, attrs)
    if dy.shape == (shape[0], *counts, w.shape[2]) and w.shape[3] == 1:
        dx = np.empty(shape, np.float32) if out is None else out
        if _to_images(dx, w, dy, *moves) is not None:
            return dx
    options: dict[str, Any] = {"strides": strides, "padding": padding, "explicit_paddings": explicit_paddings}
    options |= {"data_format": data_format, "dilations": dilations}
    return numpy_depthwise.depthwise_to_input(xp, sizes, w, dy, **options, out=out)


@kernel("DepthwiseConv2dNativeBackpropFilter", can=_can_convolve, pays=_convolving_pays, **_OPTIONS)
def depthwise_to_filter(
    xp: Any,
    x: Any,
    sizes: Any,
    dy: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    data_format: str,
    dilations: Any,
) -> Any:
    attrs = attributes(strides, padding, data_format, dilations, explicit_paddings)
    shape = tuple(sizes.tolist())
    counts, moves = _geometry(x.shape, shape, attrs)
    if dy.shape == (len(x), *counts, shape[2]) and shape[3] == 1:
        dw = np.empty(shape, np.float32)
        if _to_weights(x, dw, dy, *moves) is not None:
            return dw
    options: dict[str, Any] = {"strides": strides, "padding": padding, "explicit_paddings": explicit_paddings}
    return numpy_depthwise.depthwise_to_filter(
        xp, x, sizes, dy, **options, data_format=data_format, dilations=dilations
    )
