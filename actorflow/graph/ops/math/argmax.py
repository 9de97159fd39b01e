"""`argmax` and `argmin`: the place of the largest or smallest element along an axis."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INDEX, REAL, DTypeLike
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, show
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.reduction import input_size
from actorflow.graph.ops.shape_rules import axes_of
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _without_axis(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape is None:
        return None
    axes = axes_of(
        c, 1, len(shape), "Expected dimension in the range [{low}, {high}), but got {axis}: it must be in the range."
    )
    if axes is None:
        return (None,) * max(len(shape) - 1, 0)
    if shape[axes[0]] == 0:
        raise InvalidArgumentError(f"Reduction axis {axes[0]} is empty in shape {show(shape)}.")
    return tuple(size for i, size in enumerate(shape) if i != axes[0])


@op(
    "ArgMax",
    shape=_without_axis,
    dtypes=REAL,
    types={"dimension": INDEX},
    result="output_type",
    gradient=None,
    work=input_size,
)
def argmax_op(
    input: TensorLike, dimension: TensorLike, *, output_type: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """The index of the largest element along `dimension`, the first of several, as int32 or int64."""


@op(
    "ArgMin",
    shape=_without_axis,
    dtypes=REAL,
    types={"dimension": INDEX},
    result="output_type",
    gradient=None,
    work=input_size,
)
def argmin_op(
    input: TensorLike, dimension: TensorLike, *, output_type: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """The index of the smallest element along `dimension`, the first of several, as int32 or int64."""


def _arg_axis(axis: Any, dimension: Any) -> Any:
    if axis is not None and dimension is not None:
        raise ValueError("Give axis or dimension, which is its old name, but not both.")
    chosen = dimension if axis is None else axis
    return 0 if chosen is None else chosen


@public("af", "af.math")
def argmax(
    input: TensorLike,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: DTypeLike = dt.int64,
) -> Tensor:
    """The index of the largest element along `axis` (0 by default), the first of several (`tf.argmax`).

    Example:
        >>> af.argmax([1.0, 3.0, 2.0])
        1
        >>> af.argmax([[1, 9], [8, 2]], axis=1)
        [1 0]

    Args:
        input: a tensor of real numbers of rank 1 or more.
        axis: the dimension to search, an int or a scalar; a negative axis counts from the end.
        dimension: the old name of `axis`.
        output_type: int32 or int64.

    Returns:
        Indices in the shape of `input` without that axis.

    Raises:
        ValueError: there is no such axis, or it has no elements.
    """
    return argmax_op(input, _arg_axis(axis, dimension), output_type=output_type, name=name)


@public("af", "af.math")
def argmin(
    input: TensorLike,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: DTypeLike = dt.int64,
) -> Tensor:
    """The index of the smallest element along `axis` (0 by default), the first of several (`tf.argmin`). See `argmax`.

    Example:
        >>> af.argmin([3.0, 1.0, 2.0])
        1

    Args:
        input: a tensor of real numbers of rank 1 or more.
        axis: the dimension to search, an int or a scalar; a negative axis counts from the end.
        dimension: the old name of `axis`.
        output_type: int32 or int64.
    """
    return argmin_op(input, _arg_axis(axis, dimension), output_type=output_type, name=name)


# ---- the older names, which TensorFlow 1 still has


@public("af")
def arg_max(
    input: TensorLike, dimension: TensorLike, output_type: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """`argmax` along `dimension` (`tf.arg_max`).

    Example:
        >>> af.arg_max([[1.0, 3.0, 2.0]], 1)
        [1]

    Args:
        input: a tensor of real numbers of rank 1 or more.
        dimension: the axis to search, an int or a scalar.
        output_type: the type of the indices, int32 or int64.
    """
    return argmax(input, dimension, name, output_type=output_type)


@public("af")
def arg_min(
    input: TensorLike, dimension: TensorLike, output_type: DTypeLike = dt.int64, name: str | None = None
) -> Tensor:
    """`argmin` along `dimension` (`tf.arg_min`).

    Example:
        >>> af.arg_min([[1.0, 3.0, 2.0]], 1)
        [0]

    Args:
        input: a tensor of real numbers of rank 1 or more.
        dimension: the axis to search, an int or a scalar.
        output_type: the type of the indices, int32 or int64.
    """
    return argmin(input, dimension, name, output_type=output_type)
