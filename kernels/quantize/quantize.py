"""Kernels of quantization, in the arithmetic of float32 throughout, as in TensorFlow, so that steps are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel

ONE = np.float32(1)


def _along(bound: Any, x: Any, axis: int) -> Any:
    """A bound, or the bounds of the entries of a dimension, in a shape that broadcasts over `x`."""
    if bound.shape != (() if axis == -1 else x.shape[axis : axis + 1]):
        raise ValueError(f"A bound of shape {bound.shape} does not fit a tensor of shape {x.shape} with axis {axis}.")
    return bound if axis == -1 else bound.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def _round(xp: Any, x: Any) -> Any:
    """Half away from zero, as C rounds; numpy rounds to even."""
    whole = xp.trunc(x)
    return whole + xp.copysign((xp.abs(x - whole) >= np.float32(0.5)).astype(np.float32), x)


def _integers(xp: Any, x: Any, limits: Any) -> Any:
    """Whole numbers as integers of the type; NaN, which is none, as 0."""
    wide = xp.nan_to_num(x.astype(np.float64), nan=0.0, posinf=limits.max, neginf=limits.min)
    return xp.clip(wide, limits.min, limits.max).astype(limits.dtype)


@kernel("QuantizeV2")
def quantize(
    xp: Any,
    x: Any,
    low: Any,
    high: Any,
    *,
    T: DType,
    mode: str,
    round_mode: str,
    narrow_range: bool,
    axis: int,
    ensure_minimum_range: float,
) -> Any:
    if (high < low).any():
        raise ValueError(f"The range ends below its begin: {low.tolist()} to {high.tolist()}.")
    apart = xp.maximum(ONE, xp.maximum(xp.abs(low), xp.abs(high))) * np.float32(ensure_minimum_range)
    first = xp.minimum(np.float32(0), low)
    last = xp.maximum(np.float32(0), xp.maximum(high, first + apart))
    limits = np.iinfo(T.numpy_dtype)
    if mode == "SCALED":
        first, last, factor = _scaled(xp, first, last, limits.min + int(narrow_range), limits.max)
        clamped = xp.minimum(xp.maximum(x, _along(first, x, axis)), _along(last, x, axis))
        steps = clamped * _along(factor, x, axis)
        levels = xp.rint(steps) if round_mode == "HALF_TO_EVEN" else _round(xp, steps)
    elif mode == "MIN_FIRST":
        count = float(limits.max) - float(limits.min) + 1
        scale = np.float32(count / ((float(last) - float(first)) * (count / (count - 1))))
        origin = _round(xp, first * scale)
        levels = _round(xp, x * scale) - (origin - np.float32(limits.min))
    else:
        spread = np.float32(float(limits.max) - float(limits.min))
        scale = _along((spread.astype(np.float64) / (last - first)).astype(np.float32), x, axis)
        begin, end = _along(first, x, axis), _along(last, x, axis)
        shifted = (xp.minimum(xp.maximum(x, begin), end) - begin) * scale
        if limits.min < 0:
            levels = _round(xp, shifted - np.float32((float(limits.max) - float(limits.min) + 1) / 2))
        else:
            levels = xp.floor(shifted + np.float32(0.5))
    return _integers(xp, levels, limits), first.astype(np.float32), last.astype(np.float32)


def _scaled(xp: Any, first: Any, last: Any, least: int, most: int) -> tuple[Any, Any, Any]:
    """The range that is a multiple of the integers' own, and the factor from values to integers."""
    huge = np.finfo(np.float32).max
    with np.errstate(divide="ignore", invalid="ignore"):
        below = xp.where(least * first > 0, np.float32(least) / first, huge)
        above = xp.where(most * last > 0, np.float32(most) / last, huge)
    factor = xp.minimum(below, above)
    return np.float32(least) / factor, np.float32(most) / factor, factor


@kernel("Dequantize")
def dequantize(xp: Any, x: Any, low: Any, high: Any, *, mode: str, narrow_range: bool, axis: int) -> Any:
    begin, end = _along(low, x, axis), _along(high, x, axis)
    limits = np.iinfo(x.dtype)
    floats = x.astype(np.float32)
    if mode == "SCALED":
        least = np.float32(limits.min + int(narrow_range))
        factor = end / np.float32(limits.max)
        return floats * (factor if limits.min == 0 else xp.maximum(begin / least, factor))
    if mode == "MIN_FIRST":
        scale = np.float32((float(end) - float(begin)) / (float(limits.max) - float(limits.min)))
        origin = begin if begin == end else _round(xp, begin / scale) * scale
        return origin + (floats - np.float32(limits.min)) * scale
    half = np.float32((float(limits.max) - float(limits.min) + 1) / 2 if limits.min < 0 else 0)
    factor = (end - begin) / np.float32(float(limits.max) - float(limits.min))
    return (floats + half) * factor + begin
