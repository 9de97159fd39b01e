"""Xavier's initializer and variance scaling, as `tf.contrib.layers` has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import actorflow.compat.v1 as tf


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = tf.float32) -> Callable[..., Any]:
    """Draws of a variance that goes with the mean of inputs and outputs (Glorot and Bengio 2010)."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None, dtype: Any = tf.float32
) -> Callable[..., Any]:
    """Draws of the variance `factor / n`.

    Args:
        factor: a number.
        mode: the number n: `FAN_IN`, `FAN_OUT` or `FAN_AVG`.
        uniform: whether draws are uniform; else of a normal distribution that is cut at two deviations.
        seed, dtype: of the draws.

    Raises:
        TypeError: a type that is not floating.
        ValueError: an unknown mode.
    """
    if not tf.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise ValueError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initialize(shape: Any, dtype: Any = dtype, partition_info: Any = None) -> Any:
        sizes = [float(size) for size in (shape if partition_info is None else partition_info.full_shape)]
        field = math.prod(sizes[:-2])
        inputs = (sizes[-2] if len(sizes) > 1 else sizes[-1] if sizes else 1.0) * field
        outputs = (sizes[-1] if sizes else 1.0) * field
        count = {"FAN_IN": inputs, "FAN_OUT": outputs, "FAN_AVG": (inputs + outputs) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / count)
            return tf.random_uniform(shape, -limit, limit, dtype or tf.float32, seed=seed)
        # a normal distribution that is cut at two deviations has 0.88 of the deviation
        return tf.truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / count), dtype or tf.float32, seed=seed)

    return initialize
