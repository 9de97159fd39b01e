"""Pooling."""

from __future__ import annotations

from typing import Any

from keras.src.backend import config

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.nn.convolution import channels_first, channels_last, per_axis
from keras_actorflow.src.numpy.promotion import kind
from keras_actorflow.src.sizes import size_of


def _pooled(inputs: Any, pool_size: Any, strides: Any, padding: str, data_format: str | None, how: str) -> Any:
    inputs = convert_to_tensor(inputs)
    data_format = config.standardize_data_format(data_format)
    x = channels_last(inputs) if data_format == "channels_first" else inputs
    rank = len(x.shape) - 2
    window = per_axis(pool_size, rank, "pool_size")
    steps = window if strides is None else per_axis(strides, rank, "strides")
    name = kind(x)
    wide = af.cast(x, "float32") if name not in ("float32", "float64") else x
    result = af.cast(af.nn.pool(wide, window, how, padding.upper(), strides=steps), name)
    return channels_first(result) if data_format == "channels_first" else result


def max_pool(
    inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: str | None = None
) -> Any:
    return _pooled(inputs, pool_size, strides, padding, data_format, "MAX")


def average_pool(
    inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: str | None = None
) -> Any:
    return _pooled(inputs, pool_size, strides, padding, data_format, "AVG")


def _adaptive(inputs: Any, output_size: Any, data_format: str | None, reduce: Any) -> Any:
    x = convert_to_tensor(inputs)
    first = 2 if config.standardize_data_format(data_format) == "channels_first" else 1
    rank = len(x.shape) - 2
    sizes = per_axis(output_size, rank, "output_size")
    for axis, count in zip(range(first, first + rank), sizes, strict=True):
        length = size_of(x, axis)
        parts = []
        for number in range(count):
            begin, end = number * length // count, -((number + 1) * length // -count)
            parts.append(reduce(af.gather(x, af.range_(begin, end), axis=axis), axis, True))
        x = af.concat(parts, axis=axis)
    return x


def adaptive_average_pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Any:
    return _adaptive(inputs, output_size, data_format, af.reduce_mean)


def adaptive_max_pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Any:
    return _adaptive(inputs, output_size, data_format, af.reduce_max)
