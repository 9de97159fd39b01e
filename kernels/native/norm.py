"""Batch normalization with the activation behind it: by the batch's own moments, by stored moments, and the gradient of the
first. Results may differ from the Python kernels' in the last bits, because sums are added in another order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import num_elements
from actorflow.graph.ops.nn.fused import NORM_ACTIVATIONS

from ..nn import fused, normalization
from .library import function

LEAST = 2048
"""Elements from which on this pays."""
MOST_CHANNELS = 1024
_NUMBERS = {name: number for number, name in enumerate(NORM_ACTIVATIONS)}


_norm = function("batch_norm")
_norm_by = function("batch_norm_by")
_grad = function("batch_norm_grad")


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return attrs["data_format"] == "NHWC" and len(shapes[0]) == 4 and 0 < shapes[0][3] <= MOST_CHANNELS


def _can_go_back(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return bool(attrs["is_training"]) and _can(attrs, shapes)


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return (num_elements(shapes[0]) or 0) >= LEAST


_OPTIONS: dict[str, Any] = {
    "device": "CPU",
    "dtypes": frozenset((dtypes.float32,)),
    "library": "native",
    "pays": _pays,
}


def _normalized(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, *how: Any) -> Any:
    """All outputs, for an epsilon, a training step or none, an activation, and memory for the first output or None. None where
    numpy has to compute them."""
    epsilon, is_training, activation, out = how
    y = np.empty(x.shape, np.float32) if out is None else out
    if not is_training:
        if _norm_by(x, scale, offset, y, mean, variance, float(epsilon), _NUMBERS[activation]) is None:
            return None
        return y, mean.copy(), variance.copy(), mean.copy(), variance.copy(), np.float32(0)
    average, spread = np.empty(x.shape[-1], np.float32), np.empty(x.shape[-1], np.float32)
    if _norm(x, scale, offset, y, average, spread, float(epsilon), _NUMBERS[activation]) is None:
        return None
    count = x.size // x.shape[-1]
    unbiased = spread * np.float32(count / max(1, count - 1))
    return y, average, unbiased, average.copy(), spread, np.float32(0)


@kernel("FusedBatchNormV3", can=_can, **_OPTIONS)
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
    out: Any = None,
) -> Any:
    outputs = _normalized(x, scale, offset, mean, variance, epsilon, is_training, "", out)
    if outputs is not None:
        return outputs
    attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    return normalization.fused_batch_norm(xp, x, scale, offset, mean, variance, **attrs)


@kernel("_FusedBatchNorm", can=_can, **_OPTIONS)
def fused_batch_norm_and_activation(
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
    activation: str,
    out: Any = None,
) -> Any:
    outputs = _normalized(x, scale, offset, mean, variance, epsilon, is_training, activation, out)
    if outputs is not None:
        return outputs
    attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    return fused.fused_batch_norm(xp, x, scale, offset, mean, variance, **attrs, activation=activation)


def _gradients(inputs: tuple[Any, ...], epsilon: float, y: Any, activation: str, out: Any) -> Any:
    """The gradients of a normalization whose `inputs` are `dy`, `x`, `scale`, `mean` and `variance`; None where C has no code."""
    _, x, scale, *_ = inputs
    dx = np.empty(x.shape, np.float32) if out is None else out
    dscale, doffset = np.empty(scale.shape, np.float32), np.empty(scale.shape, np.float32)
    how = float(epsilon), y, _NUMBERS[activation]
    if _grad(*inputs, dx, dscale, doffset, *how) is None:
        return None
    return dx, dscale, doffset, np.zeros(0, np.float32), np.zeros(0, np.float32)


@kernel("FusedBatchNormGradV3", can=_can_go_back, **_OPTIONS)
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
    out: Any = None,
) -> Any:
    slopes = _gradients((dy, x, scale, mean, variance), epsilon, None, "", out)
    if slopes is not None:
        return slopes
    attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    return normalization.fused_batch_norm_grad(xp, dy, x, scale, mean, variance, reserved, **attrs)


@kernel("_FusedBatchNormGrad", can=_can_go_back, **_OPTIONS)
def fused_batch_norm_and_activation_grad(
    xp: Any,
    dy: Any,
    x: Any,
    scale: Any,
    mean: Any,
    variance: Any,
    reserved: Any,
    y: Any,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
    activation: str,
    out: Any = None,
) -> Any:
    slopes = _gradients((dy, x, scale, mean, variance), epsilon, y, activation, out)
    if slopes is not None:
        return slopes
    attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    return fused.fused_batch_norm_grad(xp, dy, x, scale, mean, variance, reserved, y, **attrs, activation=activation)
