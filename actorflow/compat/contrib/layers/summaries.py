"""Summaries of tensors, as `tf.contrib.layers` has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import actorflow.compat.v1 as tf


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A summary of a tensor: a scalar, or a histogram."""
    label = tag or tensor.op.name
    return tf.summary.scalar(label, tensor) if tensor.shape.ndims == 0 else tf.summary.histogram(label, tensor)


def summarize_activation(op: Any) -> Any:
    """A summary of a layer's outputs, and of the part of them that is zero."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        less = tf.less(op, tf.cast(tf.constant(0.0), op.dtype)) if op.op.type != "Relu6" else tf.greater(op, 6.0)
        tf.summary.scalar(f"{op.op.name}/zeros", tf.reduce_mean(tf.cast(less, tf.float32)))
    return tf.summary.histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """A summary of each tensor."""
    return [summarizer(each) for each in tensors]


def summarize_collection(
    collection: Any, name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """A summary of each tensor of a collection whose name a pattern fits."""
    import re

    return [
        summarizer(each)
        for each in tf.get_collection(collection)
        if not name_filter or re.match(name_filter, each.op.name)
    ]


def summarize_variables(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """A summary of each global variable."""
    return summarize_collection(tf.GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


def summarize_weights(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """A summary of each tensor of the collection `weights`."""
    return summarize_collection(tf.GraphKeys.WEIGHTS, name_filter, summarizer)


def summarize_biases(name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_tensor) -> list[Any]:
    """A summary of each tensor of the collection `biases`."""
    return summarize_collection(tf.GraphKeys.BIASES, name_filter, summarizer)


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """A summary of each tensor of the collection `activations`."""
    return summarize_collection(tf.GraphKeys.ACTIVATIONS, name_filter, summarizer)
