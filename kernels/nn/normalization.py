"""Kernels of normalization across channels and over batches. Halves are computed in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import LAUNCHED
from actorflow.graph.ops.nn.conv.geometry import check_shape

from ..shared.elementwise import with_vector
from ..shared.reducing import sum_over
from .conv.functions import given_back, last, widened

_PIECE = 32768  # elements, which stay in a core's cache between two functions

# ---- across channels


def _window_sums(xp: Any, x: Any, radius: int) -> Any:
    """For each channel the sum over those up to `radius` away."""
    total = x.copy()
    for distance in range(1, min(radius, x.shape[-1] - 1) + 1):
        total[..., distance:] += x[..., :-distance]
        total[..., :-distance] += x[..., distance:]
    return total


def _rank_4(x: Any) -> None:
    if x.ndim != 4:
        raise ValueError(f"LRN takes four dimensions, but the shape is {x.shape}.")


@kernel("LRN")
def lrn(xp: Any, x: Any, *, depth_radius: int, bias: float, alpha: float, beta: float, out: Any = None) -> Any:
    _rank_4(x)
    wide = widened(xp, x)
    norm = _window_sums(xp, wide * wide, depth_radius)
    norm *= alpha
    norm += bias
    xp.power(norm, -beta, out=norm)
    if out is None:
        return xp.multiply(wide, norm, out=norm).astype(x.dtype, copy=False)
    return xp.multiply(wide, norm, out=out, casting="same_kind")


@kernel("LRNGrad")
def lrn_grad(xp: Any, dy: Any, x: Any, y: Any, *, depth_radius: int, bias: float, alpha: float, beta: float) -> Any:
    _rank_4(x)
    check_shape("input_grads", dy.shape, x.shape)
    check_shape("output_image", y.shape, x.shape)
    slopes, wide, output = widened(xp, dy), widened(xp, x), widened(xp, y)
    norm = _window_sums(xp, wide * wide, depth_radius)
    norm *= alpha
    norm += bias
    pulled = _window_sums(xp, slopes * output / norm, depth_radius)
    pulled *= wide
    pulled *= -2 * alpha * beta
    pulled += slopes * norm**-beta
    return pulled.astype(dy.dtype, copy=False)


# ---- over batches


def _images(xp: Any, x: Any, layout: str) -> Any:
    if x.ndim != 4:
        raise ValueError(f"A fused batch norm takes four dimensions, but the shape is {x.shape}.")
    return last(xp, x, layout)


def _check_vectors(channels: int, **vectors: Any) -> None:
    for name, vector in vectors.items():
        check_shape(name, vector.shape, (channels,))


def _moments(xp: Any, images: Any, kind: Any) -> tuple[Any, Any, Any]:
    """The mean and the biased variance of each channel (NaN of no elements), and the elements less their mean."""
    count = images.size // max(1, images.shape[-1])
    if count == 0:
        return xp.full(images.shape[-1], xp.nan, kind), xp.full(images.shape[-1], xp.nan, kind), xp.array(images)
    flat = images.reshape(-1, images.shape[-1])
    mean = sum_over(xp, flat, 0) / kind.type(count)
    centred = with_vector(xp, xp.subtract, flat, mean, xp.empty(flat.shape, kind))
    total = xp.zeros(mean.shape, kind)
    rows = max(1, _PIECE // flat.shape[1] if xp is np else len(flat))
    squares = xp.empty((min(rows, len(flat)), flat.shape[1]), kind)
    for start in range(0, len(flat), rows):
        piece = centred[start : start + rows]
        total += sum_over(xp, xp.multiply(piece, piece, out=squares[: len(piece)]), 0)
    return mean, total / kind.type(count), centred.reshape(images.shape)


@kernel("FusedBatchNormV3", gpu=LAUNCHED)
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
    images = _images(xp, x, data_format).astype(scale.dtype, copy=False)
    _check_vectors(images.shape[-1], scale=scale, offset=offset)
    if is_training:
        average, spread, y = _moments(xp, images, scale.dtype)
        count = images.size // max(1, images.shape[-1])
        unbiased = spread * scale.dtype.type(count / max(1, count - 1))
    else:
        _check_vectors(images.shape[-1], mean=mean, variance=variance)
        average, spread, y = mean, variance, images - mean
        unbiased = variance.copy()
    factor = scale / xp.sqrt(spread + scale.dtype.type(epsilon))
    with_vector(xp, xp.multiply, y, factor, y)
    with_vector(xp, xp.add, y, offset, y)
    moments = (average.copy(), unbiased, average.copy(), spread.copy())
    return given_back(xp, y, data_format, x.dtype, None), *moments, scale.dtype.type(0)


@kernel("FusedBatchNormGradV3", gpu=LAUNCHED)
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
    kind = scale.dtype
    check_shape("y_backprop", dy.shape, x.shape)
    slopes = _images(xp, dy, data_format).astype(kind, copy=False)
    images = _images(xp, x, data_format).astype(kind, copy=False)
    channels = images.shape[-1]
    _check_vectors(channels, scale=scale, reserve_space_1=mean, reserve_space_2=variance)
    factor = 1 / xp.sqrt(variance + kind.type(epsilon))
    centred = images - mean
    doffset = sum_over(xp, slopes, (0, 1, 2))
    slanted = sum_over(xp, slopes * centred, (0, 1, 2))
    dscale = slanted * factor
    if is_training:
        count = kind.type(max(1, images.size // max(1, channels)))
        centred *= slanted * (factor * factor / count)
        dx = slopes - doffset / count
        dx -= centred
        dx *= scale * factor
    else:
        dx = slopes * (scale * factor)
    nothing = xp.zeros(0, kind)
    return given_back(xp, dx, data_format, dy.dtype, None), dscale, doffset, nothing, nothing.copy()
