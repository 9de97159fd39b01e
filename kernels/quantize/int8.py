"""Kernels of products and convolutions with weights of int8. numpy multiplies whole numbers as floats that hold their sums
exactly, because BLAS knows those alone.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

from ..nn import fused
from ..nn.conv import functions as conv
from ..shared import blas

_EXACT = 1 << 24
"""Whole numbers up to which float32 has all of them."""


def limits(xp: Any, x: Any, limit: float, signed: bool) -> Any:
    """The value that the largest step stands for: `limit`, or the largest value of each row, in a shape that broadcasts."""
    if limit:
        return np.float32(limit)
    return xp.max(xp.abs(x) if signed else x, axis=tuple(range(1, x.ndim)), keepdims=True, initial=np.float32(0))


def steps(xp: Any, x: Any, limit: float, signed: bool) -> tuple[Any, Any]:
    """The nearest whole numbers of each row, still as floats, and what they are multiplied by."""
    most = np.float32(127 if signed else 255)
    top = limits(xp, x, limit, signed)
    inverse = xp.where(top > np.finfo(np.float32).tiny, most / top, np.float32(0))
    numbers = xp.multiply(x, inverse)
    xp.rint(numbers, out=numbers)
    return xp.clip(numbers, np.float32(-128 if signed else 0), most, out=numbers), xp.asarray(top / most)


def _kind(count: int, signed: bool) -> Any:
    """The float type in which sums of `count` products are exact."""
    return np.float32 if count * 127 * (128 if signed else 255) <= _EXACT else np.float64


def finished(xp: Any, y: Any, factor: Any, scales: Any, bias: Any, activation: str) -> Any:
    """Sums of whole numbers as what they stand for, in `y` itself."""
    xp.multiply(y, factor, out=y)
    xp.multiply(y, scales, out=y)
    xp.add(y, bias, out=y)
    return fused.activated(xp, y, activation)


@kernel("Int8MatMul", device="CPU")
def int8_matmul(
    xp: Any, a: Any, weights: Any, scales: Any, bias: Any, *, limit: float, signed: bool, activation: str
) -> Any:
    if a.ndim != 2 or weights.ndim != 2 or a.shape[1] != weights.shape[0]:
        raise ValueError(f"The inner sizes of {a.shape} and {weights.shape} differ, or these are no matrices.")
    whole, factor = steps(xp, a, limit, signed)
    kind = _kind(weights.shape[0], signed)
    sums = blas.matmul(whole.astype(kind, copy=False), weights.astype(kind)).astype(np.float32, copy=False)
    return finished(xp, sums, factor, scales, bias, activation)


@kernel("Int8Conv2D", device="CPU")
def int8_conv2d(
    xp: Any,
    x: Any,
    weights: Any,
    scales: Any,
    bias: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    dilations: Any,
    limit: float,
    signed: bool,
    activation: str,
) -> Any:
    whole, factor = steps(xp, x, limit, signed)
    kind = _kind(prod(weights.shape[:3]), signed)
    attrs = conv.attributes(strides, padding, "NHWC", dilations, explicit_paddings)
    sums = conv.conv2d(xp, whole.astype(kind, copy=False), weights.astype(kind), **attrs).astype(np.float32, copy=False)
    return finished(xp, sums, factor, scales, bias, activation)
