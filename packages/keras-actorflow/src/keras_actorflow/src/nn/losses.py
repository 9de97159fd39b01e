"""Encodings of labels, crossentropies, normalization, signal to noise."""

from __future__ import annotations

import math
from typing import Any

from keras.src.backend import config

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import common, floating, kind
from keras_actorflow.src.sizes import size_of


def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with actorflow backend")
    x = convert_to_tensor(x)
    x = x if kind(x) in ("int32", "int64", "uint8") else af.cast(x, "int64")
    dtype = dtype or config.floatx()
    if dtype == "bool":
        return af.cast(af.one_hot(x, num_classes, axis=axis, dtype="int32"), "bool")
    return af.one_hot(x, num_classes, axis=axis, dtype=dtype)


def multi_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    x = convert_to_tensor(x)
    joined = 1 if len(x.shape) > 1 else 0
    marks = one_hot(x, num_classes, axis=axis, dtype=dtype, sparse=sparse)
    return af.reduce_any(marks, joined) if kind(marks) == "bool" else af.reduce_max(marks, joined)


def _probabilities(output: Any) -> Any:
    epsilon = config.epsilon()
    return af.clip_by_value(output, epsilon, 1.0 - epsilon)


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    target = af.cast(target, output.dtype)
    _same_shapes(target, output)
    if len(target.shape) < 1:
        raise ValueError(
            "Arguments `target` and `output` must be at least rank 1. "
            f"Received: target.shape={tuple(target.shape)}, output.shape={tuple(output.shape)}"
        )
    if from_logits:
        logs = af.nn.log_softmax(output, axis=axis)
    else:
        logs = af.log(_probabilities(output / af.reduce_sum(output, axis, True)))
    return -af.reduce_sum(target * logs, axis)


def _same_shapes(target: Any, output: Any) -> None:
    pairs = zip(tuple(target.shape), tuple(output.shape), strict=False)
    if len(target.shape) != len(output.shape) or any(a != b for a, b in pairs if a is not None and b is not None):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. "
            f"Received: target.shape={tuple(target.shape)}, output.shape={tuple(output.shape)}"
        )


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    target, output = convert_to_tensor(target, "int64"), convert_to_tensor(output)
    if len(target.shape) == len(output.shape) and target.shape[-1] == 1:
        target = af.squeeze(target, [-1])
    if len(output.shape) < 1:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={tuple(output.shape)}")
    place = axis % len(output.shape)
    kept = tuple(output.shape)[:place] + tuple(output.shape)[place + 1 :]
    if len(target.shape) != len(kept) or any(
        a != b for a, b in zip(target.shape, kept, strict=True) if None not in (a, b)
    ):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last dimension: "
            f"target.shape={tuple(target.shape)}, output.shape={tuple(output.shape)}"
        )
    if from_logits:
        logs = af.nn.log_softmax(output, axis=axis)
    else:
        logs = af.log(_probabilities(output / af.reduce_sum(output, axis, True)))
    marks = af.one_hot(target, size_of(output, place), axis=place, dtype=logs.dtype)
    return -af.reduce_sum(marks * logs, axis)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    target = af.cast(target, output.dtype)
    _same_shapes(target, output)
    if from_logits:
        return af.nn.relu(output) - output * target + af.nn.softplus(-af.abs(output))
    output = _probabilities(output)
    return -(target * af.log(output) + (1 - target) * af.log(1 - output))


def moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> Any:
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with actorflow.")
    x = convert_to_tensor(x)
    name = kind(x)
    wide = af.cast(x, "float32") if name in ("float16", "bfloat16") else x
    mean = af.reduce_mean(wide, axes, True)
    variance = af.reduce_mean(af.squared_difference(wide, af.stop_gradient(mean)), axes, keepdims)
    if not keepdims:
        mean = af.squeeze(mean, [axes] if isinstance(axes, int) else list(axes))
    if name == "float16":
        limit = 65504.0
        mean, variance = af.clip_by_value(mean, -limit, limit), af.clip_by_value(variance, -limit, limit)
    return af.cast(mean, name), af.cast(variance, name)


def batch_normalization(
    x: Any, mean: Any, variance: Any, axis: int, offset: Any = None, scale: Any = None, epsilon: float = 1e-3
) -> Any:
    x = convert_to_tensor(x)
    sizes = [1] * len(x.shape)
    sizes[axis] = size_of(convert_to_tensor(mean), 0)

    def along(value: Any) -> Any:
        return af.reshape(convert_to_tensor(value, x.dtype), sizes)

    factor = af.rsqrt(along(variance) + epsilon)
    factor = factor if scale is None else factor * along(scale)
    shift = -along(mean) * factor
    shift = shift if offset is None else shift + along(offset)
    return x * factor + shift


def layer_normalization(
    x: Any, gamma: Any = None, beta: Any = None, axis: Any = -1, epsilon: float | None = None, **kwargs: Any
) -> Any:
    x = convert_to_tensor(x)
    epsilon = config.epsilon() if epsilon is None else epsilon
    axes = [axis] if isinstance(axis, int) else list(axis)
    mean = af.reduce_mean(x, axes, True)
    variance = af.reduce_mean(af.squared_difference(x, mean), axes, True)
    result = (x - mean) * af.rsqrt(variance + epsilon)
    if gamma is not None:
        result = result * convert_to_tensor(gamma, result.dtype)
    return result if beta is None else result + convert_to_tensor(beta, result.dtype)


def psnr(x1: Any, x2: Any, max_val: Any) -> Any:
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    pairs = zip(tuple(x1.shape), tuple(x2.shape), strict=False)
    if len(x1.shape) != len(x2.shape) or any(a != b for a, b in pairs if None not in (a, b)):
        raise ValueError(f"Input shapes {tuple(x1.shape)} and {tuple(x2.shape)} must match for PSNR calculation. ")
    x1, x2 = (floating(x) for x in common(x1, x2))
    limit = convert_to_tensor(max_val, x2.dtype)
    error = af.reduce_mean(af.square(x1 - x2))
    return (20 * af.log(limit) - 10 * af.log(error)) / math.log(10.0)
