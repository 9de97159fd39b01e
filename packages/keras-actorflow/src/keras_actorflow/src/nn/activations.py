"""Activations."""

from __future__ import annotations

import math
from typing import Any

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import floating
from keras_actorflow.src.sizes import size_of, sizes_of


def relu(x: Any) -> Any:
    return af.nn.relu(convert_to_tensor(x))


def relu6(x: Any) -> Any:
    return af.nn.relu6(convert_to_tensor(x))


def sigmoid(x: Any) -> Any:
    return af.sigmoid(floating(x))


def sparse_sigmoid(x: Any) -> Any:
    x = floating(x)
    return af.clip_by_value((x + 1) / 2, 0.0, 1.0)


def tanh(x: Any) -> Any:
    return af.tanh(floating(x))


def tanh_shrink(x: Any) -> Any:
    x = floating(x)
    return x - af.tanh(x)


def softplus(x: Any) -> Any:
    return af.nn.softplus(floating(x))


def softsign(x: Any) -> Any:
    return af.nn.softsign(floating(x))


def soft_shrink(x: Any, threshold: float = 0.5) -> Any:
    x = floating(x)
    return af.nn.relu(x - threshold) - af.nn.relu(-x - threshold)


def sparse_plus(x: Any) -> Any:
    x = floating(x)
    bent = af.square(x + 1) / 4
    return af.where_v2(x <= -1, af.zeros_like(x), af.where_v2(x < 1, bent, x))


def silu(x: Any) -> Any:
    x = floating(x)
    return x * af.sigmoid(x)


def squareplus(x: Any, b: Any = 4) -> Any:
    x = floating(x)
    return (x + af.sqrt(af.square(x) + convert_to_tensor(b, x.dtype))) / 2


def log_sigmoid(x: Any) -> Any:
    return -af.nn.softplus(-floating(x))


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    x = floating(x)
    return af.where_v2(x > 0, x, x * negative_slope)


def hard_sigmoid(x: Any) -> Any:
    x = floating(x)
    return af.clip_by_value(x / 6 + 0.5, 0.0, 1.0)


def hard_silu(x: Any) -> Any:
    x = floating(x)
    return x * hard_sigmoid(x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    x = floating(x)
    return af.nn.elu(x) if alpha == 1 else af.where_v2(x > 0, x, alpha * af.expm1(af.minimum(x, 0)))


def selu(x: Any) -> Any:
    return af.nn.selu(floating(x))


def gelu(x: Any, approximate: bool = True) -> Any:
    x = floating(x)
    if approximate:
        return 0.5 * x * (1 + af.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + af.erf(x / math.sqrt(2)))


def celu(x: Any, alpha: float = 1.0) -> Any:
    x = floating(x)
    return af.nn.relu(x) + alpha * af.expm1(af.minimum(x, 0) / alpha)


def glu(x: Any, axis: int = -1) -> Any:
    x = floating(x)
    size = x.shape[axis]
    if size is not None and size % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={tuple(x.shape)} with axis={axis}")
    part, gate = af.split(x, 2, axis)
    return part * af.sigmoid(gate)


def hard_tanh(x: Any) -> Any:
    return af.clip_by_value(floating(x), -1.0, 1.0)


def hard_shrink(x: Any, threshold: float = 0.5) -> Any:
    x = floating(x)
    return af.where_v2(af.abs(x) > threshold, x, af.zeros_like(x))


def threshold(x: Any, threshold: Any, default_value: Any) -> Any:
    x = floating(x)
    return af.where_v2(x > threshold, x, af.zeros_like(x) + default_value)


def _over_axis(function: Any, x: Any, axis: int | None) -> Any:
    x = floating(x)
    if axis is None:
        return af.reshape(function(af.reshape(x, [-1])), sizes_of(x))
    return function(x, axis=axis)


def softmax(x: Any, axis: int | None = -1) -> Any:
    return _over_axis(af.nn.softmax, x, axis)


def log_softmax(x: Any, axis: int | None = -1) -> Any:
    return _over_axis(af.nn.log_softmax, x, axis)


def sparsemax(x: Any, axis: int = -1) -> Any:
    x = floating(x)
    rank = len(x.shape)
    last = [number for number in range(rank) if number != axis % rank] + [axis % rank]
    rows = af.transpose(x, last)
    falling = -af.sort(-rows)
    sums = af.cumsum(falling, axis=rank - 1)
    numbers = af.cast(af.range_(1, size_of(rows, -1) + 1), x.dtype)
    support = af.reduce_sum(af.cast(1 + numbers * falling > sums, x.dtype), -1, True)
    top = af.gather(sums, af.cast(support, "int32") - 1, axis=rank - 1, batch_dims=rank - 1)
    result = af.nn.relu(rows - (top - 1) / support)
    back = [last.index(number) for number in range(rank)]
    return af.transpose(result, back)
