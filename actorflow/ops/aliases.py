"""Older names of functions, which TensorFlow 1 still has."""

from __future__ import annotations

from actorflow.dtypes import DTypeLike, int64
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.math.argmax import argmax, argmin
from actorflow.public import public


@public("af")
def arg_max(
    input: TensorLike, dimension: TensorLike, output_type: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """`argmax` along `dimension` (`tf.arg_max`).

    Args:
        input: a tensor of real numbers of rank 1 or more.
        dimension: the axis to search, an int or a scalar.
        output_type: the type of the indices, int32 or int64.
    """
    return argmax(input, dimension, name, output_type=output_type)


@public("af")
def arg_min(
    input: TensorLike, dimension: TensorLike, output_type: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """`argmin` along `dimension` (`tf.arg_min`).

    Args:
        input: a tensor of real numbers of rank 1 or more.
        dimension: the axis to search, an int or a scalar.
        output_type: the type of the indices, int32 or int64.
    """
    return argmin(input, dimension, name, output_type=output_type)
