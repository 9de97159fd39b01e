"""Indices of extremes, and cumulative sums and products, along one axis."""

from __future__ import annotations

from typing import Any

from actorflow import dtypes as dt
from actorflow.dtypes import FLOATING, INDEX, NUMERIC, REAL, DTypeLike
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.reduction import input_size
from actorflow.ops.shape_rules import axes_of
from actorflow.public import public
from actorflow.registry.op import op
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, show


def _without_axis(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape is None:
        return None
    axes = axes_of(c, 1, len(shape))
    if axes is None:
        return (None,) * max(len(shape) - 1, 0)
    if shape[axes[0]] == 0:
        raise ValueError(f"The axis {axes[0]} of the shape {show(shape)} has no elements.")
    return tuple(size for i, size in enumerate(shape) if i != axes[0])


def _with_axis(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape is not None:
        axes_of(c, 1, len(shape))
    return shape


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

    Args:
        input: a tensor of real numbers of rank 1 or more.
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
    """The index of the smallest element along `axis` (0 by default), the first of several. See `argmax`."""
    return argmin_op(input, _arg_axis(axis, dimension), output_type=output_type, name=name)


# ---- cumulative sums and products


@op("Cumsum", shape=_with_axis, dtypes=NUMERIC, types={"axis": INDEX})
def cumsum_op(
    x: TensorLike, axis: TensorLike, *, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The sums of all elements up to each along `axis`. See `cumsum`."""


@cumsum_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    exclusive, reverse = node.get_attr("exclusive"), node.get_attr("reverse")
    return [cumsum_op(dy, node.inputs[1], exclusive=exclusive, reverse=not reverse), None]


@op("Cumprod", shape=_with_axis, dtypes=NUMERIC, types={"axis": INDEX})
def cumprod_op(
    x: TensorLike, axis: TensorLike, *, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The products of all elements up to each along `axis`. See `cumprod`."""


@cumprod_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.ops.arithmetic import div_no_nan
    from actorflow.ops.complex import conj

    # As TensorFlow has it: a zero among the factors gets the gradient 0, which is right only where another one is zero.
    exclusive, reverse = node.get_attr("exclusive"), node.get_attr("reverse")
    total = cumsum_op(conj(node.outputs[0]) * dy, node.inputs[1], exclusive=exclusive, reverse=not reverse)
    return [div_no_nan(total, conj(node.inputs[0])), None]


@public("af", "af.math")
def cumsum(
    x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Cumulative sums along `axis`: [a, b, c] gives [a, a + b, a + b + c] (`tf.cumsum`).

    Args:
        x: a tensor of numbers.
        exclusive: each sum leaves its own element out: [0, a, a + b].
        reverse: sums from the end: [a + b + c, b + c, c].

    Raises:
        ValueError: there is no such axis.
    """
    return cumsum_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)


@public("af", "af.math")
def cumprod(
    x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Cumulative products along `axis`; see `cumsum`. The product of nothing is 1."""
    return cumprod_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)


@op("CumulativeLogsumexp", shape=_with_axis, dtypes=FLOATING, types={"axis": INDEX}, work=20)
def cumulative_logsumexp_op(
    x: TensorLike, axis: TensorLike, *, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """log Σ exp(x) of all elements up to each along `axis`. See `cumulative_logsumexp`."""


@cumulative_logsumexp_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """Element i gets Σ dy_j · exp(x_i - y_j), summed without overflow for the positive dy_j and the negative ones."""
    from actorflow.ops.logic import greater, where_v2
    from actorflow.ops.unary import exp, log

    x, axis, y = *node.inputs, node.outputs[0]
    exclusive, reverse = node.get_attr("exclusive"), node.get_attr("reverse")

    def part(weights: Tensor) -> Tensor:
        present = greater(weights, 0)
        logs = where_v2(present, log(where_v2(present, weights, 1)), dy.dtype.min)
        return exp(cumulative_logsumexp_op(logs - y, axis, exclusive=exclusive, reverse=not reverse) + x)

    return [part(dy) - part(-dy), None]


@public("af.math")
def cumulative_logsumexp(
    x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """log(cumsum(exp(x))) along `axis` without overflow (`tf.math.cumulative_logsumexp`); see `cumsum`. That of nothing
    is -inf."""
    return cumulative_logsumexp_op(x, axis, exclusive=exclusive, reverse=reverse, name=name or "CumulativeLogsumexp")
