"""The batch normalization of a training step, and its gradient. Results may differ from the Python kernels' in the last
bits, because sums are added in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.registry.kernel import kernel
from actorflow.shapes import num_elements

from ..nn import normalization
from .library import function

LEAST = 2048
"""Elements from which on this pays."""
MOST_CHANNELS = 1024


def _nothing(*given: Any) -> None:
    """Stands for: numpy has to compute it."""


_norm = function("batch_norm", _nothing)
_grad = function("batch_norm_grad", _nothing)


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    fits = attrs["is_training"] and attrs["data_format"] == "NHWC" and len(shapes[0]) == 4
    return bool(fits and 0 < shapes[0][3] <= MOST_CHANNELS)


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return (num_elements(shapes[0]) or 0) >= LEAST


_OPTIONS: dict[str, Any] = {
    "device": "CPU",
    "dtypes": frozenset((dtypes.float32,)),
    "library": "native",
    "can": _can,
    "pays": _pays,
}


@kernel("FusedBatchNormV3", **_OPTIONS)
def fused_batch_norm(
    xp: Any,
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> Any:
    y, average, spread = (
        np.empty(x.shape, np.float32),
        np.empty(x.shape[-1], np.float32),
        np.empty(x.shape[-1], np.float32),
    )
    if _norm(x, scale, offset, y, average, spread, float(epsilon)) is None:
        attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
        return normalization.fused_batch_norm(xp, x, scale, offset, mean, variance, **attrs)
    count = x.size // x.shape[-1]
    unbiased = spread * np.float32(count / max(1, count - 1))
    return y, average, unbiased, average.copy(), spread, np.float32(0)


@kernel("FusedBatchNormGradV3", **_OPTIONS)
def fused_batch_norm_grad(
    xp: Any,
    dy: Any,
    x: Any,
    scale: Any,
    mean: Any,
    variance: Any,
    reserved: Any,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> Any:
    dx, dscale, doffset = (np.empty(shape, np.float32) for shape in (x.shape, scale.shape, scale.shape))
    if _grad(dy, x, scale, mean, variance, dx, dscale, doffset, float(epsilon)) is None:
        attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
        return normalization.fused_batch_norm_grad(xp, dy, x, scale, mean, variance, reserved, **attrs)
    return dx, dscale, doffset, np.zeros(0, np.float32), np.zeros(0, np.float32)
