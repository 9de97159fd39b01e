"""Penalties of weights, as `tf.contrib.layers` has them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import actorflow.compat.v1 as tf

Regularizer = Callable[..., Any]


def _checked(scale: Any, what: str) -> float:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, float) and not 0.0 <= scale:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
    if isinstance(scale, float) and what == "l1" and scale >= 1.0:
        raise ValueError(f"Setting a scale greater than or equal to 1 on a regularizer: {scale:g}")
    return scale  # type: ignore[no-any-return]


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """`scale` times the sum of absolute weights. Raises ValueError for an integer, and for a scale below 0 or from 1 on."""
    if _checked(scale, "l1") == 0.0:
        return lambda _, name=None: None

    def penalty(weights: Any, name: str | None = None) -> Any:
        with tf.name_scope(scope, "l1_regularizer", [weights]) as scope_name:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return tf.multiply(factor, tf.reduce_sum(tf.abs(weights)), name=name or scope_name)

    return penalty


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """`scale` times half the sum of squared weights. Raises ValueError for an integer or a negative scale."""
    if _checked(scale, "l2") == 0.0:
        return lambda _, name=None: None

    def penalty(weights: Any, name: str | None = None) -> Any:
        with tf.name_scope(scope, "l2_regularizer", [weights]) as scope_name:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return tf.multiply(factor, tf.nn.l2_loss(weights), name=name or scope_name)

    return penalty


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> Regularizer:
    """The sum of both penalties."""
    for scale in (scale_l1, scale_l2):
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"scale cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    if scale_l1 == 0.0:
        return l2_regularizer(scale_l2, scope)
    if scale_l2 == 0.0:
        return l1_regularizer(scale_l1, scope)

    def l1(weights: Any) -> Any:
        return tf.multiply(tf.convert_to_tensor(scale_l1, weights.dtype.base_dtype), tf.reduce_sum(tf.abs(weights)))

    whole: Any = sum_regularizer([l1, l2_regularizer(scale_l2)], scope)
    return whole  # type: ignore[no-any-return]


def sum_regularizer(regularizer_list: Sequence[Regularizer | None], scope: str | None = None) -> Regularizer | None:
    """The sum of some penalties; None without a penalty."""
    chosen = [each for each in regularizer_list if each is not None]
    if not chosen:
        return None

    def penalty(weights: Any) -> Any:
        with tf.name_scope(scope, "sum_regularizer", [weights]) as name:
            parts = [value for each in chosen if (value := each(weights)) is not None]
            return tf.add_n(parts, name=name) if parts else None

    return penalty


def apply_regularization(regularizer: Regularizer | None, weights_list: Sequence[Any] | None = None) -> Any:
    """The sum of a penalty over weights, which becomes a loss of regularization too.

    Args:
        regularizer: a function of weights.
        weights_list: weights; those of the collection `weights` unless given.

    Raises:
        ValueError: there are no weights, or a penalty is no scalar.
    """
    weights = tf.get_collection(tf.GraphKeys.WEIGHTS) if not weights_list else list(weights_list)
    if not weights:
        raise ValueError("No weights to regularize.")
    if regularizer is None:
        return tf.constant(0.0)
    with tf.name_scope("get_regularization_penalty", values=weights) as scope:
        parts = [regularizer(each) for each in weights]
        parts = [each if each is not None else tf.constant(0.0) for each in parts]
        for each in parts:
            if each.shape.ndims != 0:
                raise ValueError(
                    f"regularizer must return a scalar Tensor instead of a Tensor with rank {each.shape.ndims}."
                )
        total = tf.add_n(parts, name=scope)
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, total)
        return total
