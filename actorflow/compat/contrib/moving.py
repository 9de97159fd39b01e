"""Small functions of several parts of `tf.contrib`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import actorflow.compat.v1 as tf


def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    """Dropout that keeps mean and variance of a self-normalizing network (Klambauer and others 2017)."""
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x)
        if isinstance(keep_prob, (int, float)) and keep_prob == 1:
            return x
        alpha = -1.7580993408473766
        kept = (
            tf.random_uniform(tf.shape(x) if noise_shape is None else noise_shape, seed=seed, dtype=x.dtype) < keep_prob
        )
        mixed = tf.where(
            tf.logical_and(kept, tf.ones_like(x, tf.bool)), x, tf.fill(tf.shape(x), tf.cast(alpha, x.dtype))
        )
        a = (keep_prob + alpha**2 * keep_prob * (1 - keep_prob)) ** -0.5
        return a * mixed - a * alpha * (1 - keep_prob)


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Any:
    """`alpha · ln(1 + exp(x / alpha))`, cut at `clip`."""
    with tf.name_scope(name, "scaled_softplus", [x, alpha]):
        value = alpha * tf.nn.softplus(x / alpha)
        return value if clip is None else tf.minimum(value, clip)


def nth_element(input: Any, n: int, reverse: bool = False, name: str | None = None) -> Any:
    """The n-th smallest of each row; the n-th greatest with `reverse`."""
    ordered = tf.sort(input, direction="DESCENDING" if reverse else "ASCENDING")
    return tf.identity(ordered[..., n], name=name)


# ---- summaries


@contextlib.contextmanager
def always_record_summaries() -> Iterator[None]:
    """A block that changes nothing: summaries are written by what fetches them."""
    yield


never_record_summaries = always_record_summaries


def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> Any:
    """A block that changes nothing: summaries are written by what fetches them."""
    return always_record_summaries()


def should_record_summaries() -> bool:
    """True."""
    return True


def all_summary_ops() -> list[Any]:
    """The summaries of the default graph."""
    return list(tf.get_collection(tf.GraphKeys.SUMMARIES))


def flush(writer: Any = None, name: str | None = None, **named: Any) -> Any:
    """An operation that does nothing: a file writer writes when it is told to."""
    return tf.no_op(name=name)


# ---- estimators


def clip_gradients_by_norm(optimizer: Any, clip_norm: float) -> Any:
    """The optimizer, which cuts each gradient to a norm."""
    kind = type(optimizer)

    class Clipping(kind):  # type: ignore[misc,valid-type]
        def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = [(None if s is None else tf.clip_by_norm(s, clip_norm), v) for s, v in grads_and_vars]
            return super().apply_gradients(pairs, *args, **kwargs)

    optimizer.__class__ = Clipping
    return optimizer


def forward_features(estimator: Any, keys: Any = None, sparse_default_values: Any = None) -> Any:
    """An estimator whose predictions have features too.

    Args:
        estimator: the estimator.
        keys: names of features; all unless given.
        sparse_default_values: not offered.
    """
    names = [keys] if isinstance(keys, str) else keys
    inner = estimator.model_fn

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> Any:
        spec = inner(features, labels, mode, config)
        if spec.predictions:
            for name in names or list(features):
                spec.predictions[name] = tf.identity(features[name])
        return spec

    return tf.estimator.Estimator(model_fn=model_fn, model_dir=estimator.model_dir, config=estimator.config)
