"""TensorFlow 0.x's names, over those of `actorflow.compat.v1`.

    import actorflow.compat.v0 as tf

A name that is not here is that of `compat.v1`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import actorflow.compat.v1 as _v1
from actorflow.compat.v0 import nn as nn
from actorflow.graph.ops.io import summaries as _summaries

_RENAMED = {
    "all_variables": "global_variables",
    "batch_cholesky": "cholesky",
    "batch_matmul": "matmul",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_inverse": "matrix_inverse",
    "complex_abs": "abs",
    "initialize_all_variables": "global_variables_initializer",
    "initialize_local_variables": "local_variables_initializer",
    "initialize_variables": "variables_initializer",
    "inv": "reciprocal",
    "listdiff": "setdiff1d",
    "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "pack": "stack",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
}


def concat(concat_dim: Any, values: Any, name: str = "concat") -> Any:
    """`tf.concat` of 0.x, whose axis comes first."""
    return _v1.concat(values, concat_dim, name=name)


def split(split_dim: Any, num_split: int, value: Any, name: str = "split") -> Any:
    """`tf.split` of 0.x, whose axis comes first."""
    return _v1.split(value, num_split, axis=split_dim, name=name)


def _collected(summary: Any, collections: Iterable[str] | None) -> Any:
    names = [_v1.GraphKeys.SUMMARIES] if collections is None else list(collections)
    _v1.add_to_collections(names, summary)
    return summary


def scalar_summary(tags: Any, values: Any, collections: Iterable[str] | None = None, name: str | None = None) -> Any:
    """`tf.scalar_summary` of 0.x, whose tags are given and not made of names.

    Args:
        tags: a text, or strings of the shape of `values`.
        values: real numbers.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        name: the node's name.
    """
    return _collected(_summaries.scalar_summary(tags, values, name=name), collections)


def histogram_summary(tag: Any, values: Any, collections: Iterable[str] | None = None, name: str | None = None) -> Any:
    """`tf.histogram_summary` of 0.x.

    Args:
        tag: a text, or a scalar string.
        values: real numbers of any shape.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        name: the node's name.
    """
    return _collected(_summaries.histogram_summary(tag, values, name=name), collections)


def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Iterable[str] | None = None, name: str | None = None
) -> Any:
    """`tf.image_summary` of 0.x.

    Args:
        tag: a text, or a scalar string.
        tensor: `[batch, height, width, channels]`.
        max_images: how many images of the batch are written.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        name: the node's name.
    """
    return _collected(_summaries.image_summary(tag, tensor, max_images=max_images, name=name), collections)


def audio_summary(
    tag: Any,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Iterable[str] | None = None,
    name: str | None = None,
) -> Any:
    """`tf.audio_summary` of 0.x.

    Args:
        tag: a text, or a scalar string.
        tensor: float32 `[batch, frames]` or `[batch, frames, channels]`.
        sample_rate: frames a second.
        max_outputs: how many clips of the batch are written.
        collections: the collections that the summary joins; `GraphKeys.SUMMARIES` unless given.
        name: the node's name.
    """
    summary = _summaries.audio_summary(tag, tensor, sample_rate, max_outputs=max_outputs, name=name)
    return _collected(summary, collections)


def __getattr__(name: str) -> Any:
    target: Any = _v1
    for part in _RENAMED.get(name, name).split("."):
        target = getattr(target, part)
    return target


def __dir__() -> list[str]:
    return sorted({*dir(_v1), *_RENAMED, *(n for n in globals() if not n.startswith("_"))})
