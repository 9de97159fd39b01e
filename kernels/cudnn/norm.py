"""Batch normalization on GPUs by cuDNN, while training and after it, with the gradients of training.

cuDNN gives the mean and 1 / sqrt(variance + epsilon), which says nothing of a variance far below epsilon. So the variance is
taken from the running variance: with a momentum of 1 that is the batch's own, unbiased.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from actorflow.base.registry.kernel import kernel

from ..cuda.choices import GPU
from ..nn import normalization
from .conv import TYPES
from .program import CudnnOperation, Layout, packed, run, vector


def can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Images, none of them empty."""
    images = shapes[0] if len(shapes) == 5 else shapes[1]
    return images is not None and len(images) == 4 and prod(images) > 0


_OPTIONS: dict[str, Any] = {"device": GPU, "dtypes": TYPES, "library": "cudnn", "can": can}


def _layouts(x: Any, scale: Any, data_format: str) -> tuple[Layout, Layout] | None:
    """Of the images and of the vectors; None where cuDNN has no such pair."""
    last = not data_format.startswith("NC")
    sizes = (x.shape[0], x.shape[3], *x.shape[1:3]) if last else x.shape
    if scale.shape != sizes[1:2] or (x.dtype.name == "float64") != (scale.dtype.name == "float64"):
        return None
    return packed(sizes, x.dtype, last), vector(sizes[1], 4, scale.dtype)


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
    layouts = _layouts(x, scale, data_format)
    results = None
    if layouts is not None and offset.shape == scale.shape:
        if is_training:
            results = _trained(xp, x, scale, offset, epsilon, *layouts)
        elif mean.shape == variance.shape == scale.shape:
            results = _inferred(xp, x, scale, offset, mean, variance, epsilon, *layouts)
    if results is None:
        attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
        return normalization.fused_batch_norm(xp, x, scale, offset, mean, variance, **attrs)
    return results


def _trained(
    xp: Any, x: Any, scale: Any, offset: Any, epsilon: float, images: Layout, channels: Layout
) -> tuple[Any, ...] | None:
    count = x.size // scale.size
    if count < 2:
        return None  # one element has no unbiased variance
    operation = CudnnOperation(
        "batchnorm",
        (
            ("input", images),
            ("scale", channels),
            ("bias", channels),
            ("in_running_mean", channels),
            ("in_running_var", channels),
        ),
        (images, channels, channels, channels, channels),
        numbers=(("epsilon", epsilon), ("momentum", 1.0)),
    )
    before = xp.zeros(scale.shape, scale.dtype)
    arrays = (xp.ascontiguousarray(a) for a in (x, scale, offset))
    results = run(xp, operation, *arrays, before, before)
    if results is None:
        return None
    y, average, _, _, unbiased = results
    biased = unbiased * scale.dtype.type((count - 1) / count)
    return y.reshape(x.shape), average, unbiased, average.copy(), biased, scale.dtype.type(0)


def _inferred(
    xp: Any,
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    epsilon: float,
    images: Layout,
    channels: Layout,
) -> tuple[Any, ...] | None:
    operation = CudnnOperation(
        "batchnorm_inference",
        (
            ("input", images),
            ("mean", channels),
            ("inv_variance", channels),
            ("scale", channels),
            ("bias", channels),
        ),
        (images,),
    )
    factor = 1 / xp.sqrt(variance + scale.dtype.type(epsilon))
    arrays = (xp.ascontiguousarray(a) for a in (x, mean, factor, scale, offset))
    results = run(xp, operation, *arrays)
    if results is None:
        return None
    moments = (mean.copy(), variance.copy(), mean.copy(), variance.copy())
    return results[0].reshape(x.shape), *moments, scale.dtype.type(0)


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
    layouts = _layouts(x, scale, data_format)
    results = None
    fits = dy.shape == x.shape and dy.dtype == x.dtype and mean.shape == variance.shape == scale.shape
    if layouts is not None and is_training and fits:  # with fixed moments cuDNN has no gradient
        images, channels = layouts
        operation = CudnnOperation(
            "batchnorm_backward",
            (
                ("grad", images),
                ("input", images),
                ("scale", channels),
                ("mean", channels),
                ("inv_variance", channels),
            ),
            (images, channels, channels),
        )
        factor = 1 / xp.sqrt(variance + scale.dtype.type(epsilon))
        results = run(xp, operation, *(xp.ascontiguousarray(a) for a in (dy, x, scale, mean, factor)))
    if results is None:
        attrs: dict[str, Any] = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
        return normalization.fused_batch_norm_grad(xp, dy, x, scale, mean, variance, reserved, **attrs)
    nothing = xp.zeros((0,), scale.dtype)
    return results[0].reshape(x.shape), results[1], results[2], nothing, nothing.copy()
