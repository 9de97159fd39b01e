"""Summaries of tensors under their own names, as `slim.summaries` has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import actorflow.compat.v1 as tf


def _label(tensor: Any, name: str | None, prefix: str | None, postfix: str = "") -> str:
    return "/".join(part for part in (prefix, name or tensor.op.name, postfix) if part)


def _printed(label: str, summary: Any, value: Any) -> Any:
    """A summary that prints `value` when it is computed. It takes the place of `summary` in the graph's collection."""
    printing = tf.Print(summary, [value], label)
    tf.add_to_collection(tf.GraphKeys.SUMMARIES, printing)
    return printing


def add_histogram_summary(tensor: Any, name: str | None = None, prefix: str | None = None) -> Any:
    """A histogram of a tensor.

    Args:
        tensor: the tensor.
        name: the summary's name; the tensor's unless given.
        prefix: a text before the name, with a slash between.
    """
    return tf.summary.histogram(_label(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """Images of a tensor `[batch, height, width, channels]`. See `add_histogram_summary`.

    Args:
        tensor, name, prefix: see there.
        print_summary: whether to print the values, too.
    """
    label = _label(tensor, name, prefix)
    summary = tf.summary.image(label, tensor, collections=[] if print_summary else None)
    return _printed(label, summary, tensor) if print_summary else summary


def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """A number. See `add_image_summary`."""
    label = _label(tensor, name, prefix)
    summary = tf.summary.scalar(label, tensor, collections=[] if print_summary else None)
    return _printed(label, summary, tensor) if print_summary else summary


def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """The share of a tensor's elements that are zero. See `add_image_summary`."""
    label = _label(tensor, name, prefix, "Fraction_of_Zero_Values")
    return add_scalar_summary(tf.nn.zero_fraction(tensor), label, print_summary=print_summary)


def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """`add_histogram_summary` of each tensor."""
    return [add_histogram_summary(each, prefix=prefix) for each in tensors]


def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """`add_image_summary` of each tensor."""
    return [add_image_summary(each, prefix=prefix) for each in tensors]


def add_scalar_summaries(tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False) -> list[Any]:
    """`add_scalar_summary` of each tensor."""
    return [add_scalar_summary(each, prefix=prefix, print_summary=print_summary) for each in tensors]


def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """`add_zero_fraction_summary` of each tensor."""
    return [add_zero_fraction_summary(each, prefix=prefix) for each in tensors]
