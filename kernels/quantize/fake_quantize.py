"""Kernels of fake quantization, in the arithmetic of float32 throughout, as in TensorFlow, so that steps are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

Range = tuple[Any, Any, Any]


def _nudged(xp: Any, low: Any, high: Any, num_bits: int, narrow_range: bool) -> Range:
    """The bounds of the range moved so that zero is a step, and the size of a step."""
    if not 2 <= num_bits <= 16:
        raise ValueError(f"num_bits has to be in [2, 16], not {num_bits}.")
    least, most = np.float32(int(narrow_range)), np.float32(2**num_bits - 1)
    with np.errstate(all="ignore"):
        step = (high - low) / (most - least)
        zero = least - low / step
        # Half away from zero, as C rounds.
        rounded = xp.where(zero < 0, -xp.floor(np.float32(0.5) - zero), xp.floor(zero + np.float32(0.5)))
        point = xp.where(zero < least, least, xp.where(zero > most, most, rounded))
        return (least - point) * step, (most - point) * step, step


def _quantized(xp: Any, x: Any, bounds: Range, empty: Any) -> Any:
    low, high, step = bounds
    half = np.float32(0.5)
    with np.errstate(all="ignore"):
        inverse = np.float32(1) / step
        zero = xp.floor(half - low * inverse)
        shifted = xp.maximum(xp.minimum(x, high), low) - low
        values = xp.floor(shifted * inverse - zero + half) * step
    return xp.where(empty, np.float32(0), values)


@kernel("FakeQuantWithMinMaxArgs")
def of_args(xp: Any, x: Any, *, min: float, max: float, num_bits: int, narrow_range: bool) -> Any:
    return _quantized(xp, x, _numbers(xp, min, max, num_bits, narrow_range), False)


@kernel("FakeQuantWithMinMaxArgsGradient")
def of_args_gradient(xp: Any, dy: Any, x: Any, *, min: float, max: float, num_bits: int, narrow_range: bool) -> Any:
    _check_alike(dy, x)
    low, high, _ = _numbers(xp, min, max, num_bits, narrow_range)
    return xp.where((x >= low) & (x <= high), dy, np.float32(0))


def _numbers(xp: Any, low: float, high: float, num_bits: int, narrow_range: bool) -> Range:
    if not low < high:
        raise ValueError(f"The range needs min < max, but they are {low} and {high}.")
    return _nudged(xp, np.float32(low), np.float32(high), num_bits, narrow_range)


def _check_alike(dy: Any, x: Any) -> None:
    if dy.shape != x.shape:
        raise ValueError(f"The gradients {dy.shape} and the inputs {x.shape} have different shapes.")


def _check_bounds(x: Any, low: Any, high: Any, per_channel: bool) -> None:
    shape = x.shape[-1:] if per_channel else ()
    if low.shape != shape or high.shape != shape or per_channel and not x.ndim:
        raise ValueError(f"The bounds {low.shape} and {high.shape} don't fit inputs of shape {x.shape}.")


def _of_bounds(xp: Any, x: Any, low: Any, high: Any, num_bits: int, narrow_range: bool) -> Any:
    return _quantized(xp, x, _nudged(xp, low, high, num_bits, narrow_range), (low == 0) & (high == 0))


@kernel("FakeQuantWithMinMaxVars")
def of_vars(xp: Any, x: Any, low: Any, high: Any, *, num_bits: int, narrow_range: bool) -> Any:
    _check_bounds(x, low, high, False)
    return _of_bounds(xp, x, low, high, num_bits, narrow_range)


@kernel("FakeQuantWithMinMaxVarsPerChannel")
def of_channels(xp: Any, x: Any, low: Any, high: Any, *, num_bits: int, narrow_range: bool) -> Any:
    _check_bounds(x, low, high, True)
    return _of_bounds(xp, x, low, high, num_bits, narrow_range)


def _bounds_gradient(
    xp: Any, dy: Any, x: Any, low: Any, high: Any, axes: tuple[int, ...], num_bits: int, narrow_range: bool
) -> tuple[Any, Any, Any]:
    _check_alike(dy, x)
    first, last, _ = _nudged(xp, low, high, num_bits, narrow_range)
    none = np.float32(0)
    empty = (low == 0) & (high == 0)
    below, above = ~empty & (x < first), ~empty & (x > last)
    inside = empty | (x >= first) & (x <= last)
    sums = [xp.where(part, dy, none).sum(axis=axes, dtype=np.float32) for part in (below, above)]
    return xp.where(inside, dy, none), sums[0], sums[1]


@kernel("FakeQuantWithMinMaxVarsGradient")
def of_vars_gradient(xp: Any, dy: Any, x: Any, low: Any, high: Any, *, num_bits: int, narrow_range: bool) -> Any:
    _check_bounds(x, low, high, False)
    return _bounds_gradient(xp, dy, x, low, high, tuple(range(x.ndim)), num_bits, narrow_range)


@kernel("FakeQuantWithMinMaxVarsPerChannelGradient")
def of_channels_gradient(xp: Any, dy: Any, x: Any, low: Any, high: Any, *, num_bits: int, narrow_range: bool) -> Any:
    _check_bounds(x, low, high, True)
    return _bounds_gradient(xp, dy, x, low, high, tuple(range(x.ndim - 1)), num_bits, narrow_range)
