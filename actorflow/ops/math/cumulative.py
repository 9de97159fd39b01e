"""Cumulative sums and products along one axis."""

from __future__ import annotations

from typing import Any

from actorflow.dtypes import FLOATING, INDEX, NUMERIC
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.declare import op
from actorflow.ops.shape_rules import axes_of
from actorflow.public import public
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape


def _with_axis(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape is not None:
        axes_of(c, 1, len(shape))
    return shape


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
    from actorflow.ops.math.arithmetic import div_no_nan
    from actorflow.ops.math.cast import conj

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
        axis: the dimension to sum along, an int or a scalar; 0 by default.
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
    """Cumulative products along `axis`: [a, b, c] gives [a, a · b, a · b · c] (`tf.cumprod`). Errors are those of
    `cumsum`.

    Args:
        x: a tensor of numbers.
        axis: the dimension to multiply along, an int or a scalar; 0 by default.
        exclusive: each product leaves its own element out: [1, a, a · b].
        reverse: products from the end: [a · b · c, b · c, c].
    """
    return cumprod_op(x, axis, exclusive=exclusive, reverse=reverse, name=name)


@op("CumulativeLogsumexp", shape=_with_axis, dtypes=FLOATING, types={"axis": INDEX}, work=20)
def cumulative_logsumexp_op(
    x: TensorLike, axis: TensorLike, *, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """log Σ exp(x) of all elements up to each along `axis`. See `cumulative_logsumexp`."""


@cumulative_logsumexp_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """Element i gets Σ dy_j · exp(x_i - y_j), summed without overflow for the positive dy_j and the negative ones."""
    from actorflow.ops.math.elementwise import exp, log
    from actorflow.ops.math.logic import greater, where_v2

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
    """log(cumsum(exp(x))) along `axis` without overflow (`tf.math.cumulative_logsumexp`). Errors are those of `cumsum`.

    Args:
        x: a floating tensor.
        axis: the dimension to sum along, an int or a scalar; 0 by default.
        exclusive: each sum leaves its own element out; the sum of nothing gives -inf.
        reverse: sums from the end.
    """
    return cumulative_logsumexp_op(x, axis, exclusive=exclusive, reverse=reverse, name=name or "CumulativeLogsumexp")
