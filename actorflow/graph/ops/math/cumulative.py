"""Cumulative sums and products along one axis; ranges and evenly spaced numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import FLOATING, INDEX, NUMERIC, DType, DTypeLike, as_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.convert import as_array, symbolic_dtype
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import axes_of, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _with_axis(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape is not None:
        axes_of(c, 1, len(shape), "Expected scan axis in the range [{low}, {high}), but got {axis}.")
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
    from actorflow.graph.ops.math.arithmetic import div_no_nan
    from actorflow.graph.ops.math.cast import conj

    # As TensorFlow has it: a zero among the factors gets the gradient 0, which is right only if another factor is zero.
    exclusive, reverse = node.get_attr("exclusive"), node.get_attr("reverse")
    total = cumsum_op(conj(node.outputs[0]) * dy, node.inputs[1], exclusive=exclusive, reverse=not reverse)
    return [div_no_nan(total, conj(node.inputs[0])), None]


@public("af", "af.math")
def cumsum(
    x: TensorLike, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Cumulative sums along `axis`: [a, b, c] gives [a, a + b, a + b + c] (`tf.cumsum`).

    Example:
        >>> af.cumsum([1, 2, 3])
        [1 3 6]
        >>> af.cumsum([1, 2, 3], exclusive=True), af.cumsum([1, 2, 3], reverse=True)
        ([0 1 3], [6 5 3])

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

    Example:
        >>> af.cumprod([2, 3, 4])
        [ 2  6 24]

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
    """Element i gets Σ dy_j · exp(x_i - y_j), summed without overflow for positive dy_j and for negative dy_j."""
    from actorflow.graph.ops.math.elementwise import exp, log
    from actorflow.graph.ops.math.logic import greater, where_v2

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

    Example:
        >>> af.math.cumulative_logsumexp([0.0, 0.0, 1000.0])
        [   0.        0.6931 1000.    ]

    Args:
        x: a floating tensor.
        axis: the dimension to sum along, an int or a scalar; 0 by default.
        exclusive: each sum leaves its own element out; the sum of nothing gives -inf.
        reverse: sums from the end.
    """
    return cumulative_logsumexp_op(x, axis, exclusive=exclusive, reverse=reverse, name=name or "CumulativeLogsumexp")


# ---- ranges


def _range(c: Inference) -> Shape:
    for index in (0, 1, 2):
        require_rank(c, index, 0)
    values = [c.value(i) for i in range(3)]
    if any(v is None for v in values):
        return (None,)
    return (range_length(*(v.reshape(())[()] for v in values if v is not None)),)


def range_length(start: Any, limit: Any, delta: Any) -> int:
    """How many numbers a Range gives. Raises ValueError where `delta` is 0 or leads away from `limit`."""
    if delta == 0:
        raise ValueError("Requires delta != 0.")
    if start != limit and (limit > start) != (delta > 0):
        raise ValueError(
            f"Requires start {'<= limit when delta > 0' if delta > 0 else '>= limit when delta < 0'}: {start}/{limit}."
        )
    if isinstance(start, np.integer):
        return -((int(start) - int(limit)) // int(delta))
    return int(np.ceil(float(abs((limit - start) / delta))))


@op("Range", shape=_range, dtypes=dt.SIGNED - dt.COMPLEX, gradient=None)
def range_op(start: TensorLike, limit: TensorLike, delta: TensorLike, *, name: str | None = None) -> Tensor:
    """start, start + delta, ... before `limit`. See `range`."""


@public("af", "tf:range")
def range_(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """The vector start, start + delta, ... up to and without `limit` (`tf.range`); one argument counts from 0.

    Without `dtype` the arguments decide: the first of float64, float32, int64, int32 that an argument has.

    Example:
        >>> af.range_(4)
        [0 1 2 3]
        >>> af.range_(1.0, 2.0, 0.25)
        [1.   1.25 1.5  1.75]

    Args:
        start, limit: scalars of real numbers: the first number, and the number before which the vector ends. One argument
            alone is the limit, and the start is 0.
        delta: the step, a scalar; it may be negative.
        dtype: the element type of the result.

    Raises:
        ValueError: `delta` is 0 or leads away from `limit`; InvalidArgumentError where only the run knows.
    """
    if limit is None:
        start, limit = 0, start
    bounds = [start, limit, delta]
    with composite(name, "range", *bounds) as scope:
        kind = _widest(bounds) if dtype is None else as_dtype(dtype)
        return range_op(*(as_type(v, kind) for v in bounds), name=scope)


def _widest(values: Sequence[Any]) -> DType:
    dtypes = [type_of(v) for v in values]
    for candidate in (dt.float64, dt.float32, dt.int64):
        if candidate in dtypes:
            return candidate
    return dtypes[0] if dtypes[0] not in (dt.bool, dt.string) else dt.int32


def as_type(value: Any, dtype: DType) -> Any:
    """A value as an array of a type, a tensor as a tensor of it."""
    own = symbolic_dtype(value)
    if own is None:
        return np.asarray(value).astype(dtype.numpy_dtype)
    if own is dtype:
        return value
    from actorflow.graph.ops.math.cast import cast

    return cast(value, dtype)


def _linspace(c: Inference) -> Shape:
    for index in (0, 1, 2):
        require_rank(c, index, 0)
    num = c.value(2)
    if num is not None and num < 1:
        raise ValueError(f"linspace needs one number or more, but num={int(num)}.")
    return (None if num is None else int(num),)


@public("af", "af:lin_space")
@op("LinSpace", shape=_linspace, dtypes=FLOATING, types={"num": INDEX}, gradient=None)
def linspace(start: TensorLike, stop: TensorLike, num: TensorLike, *, name: str | None = None) -> Tensor:
    """`num` numbers in even steps from `start` to `stop`, both included (`tf.linspace`).

    Example:
        >>> af.linspace(0.0, 1.0, 5)
        [0.   0.25 0.5  0.75 1.  ]

    Args:
        start, stop: scalars of one floating type: the first and the last number.
        num: how many numbers, a scalar of int32 or int64, 1 or more.

    Raises ValueError, or InvalidArgumentError in the run, where `num` is less than 1.
    """


def type_of(value: Any, preferred: DTypeLike | None = None) -> DType:
    """The type of a tensor, or the type that a plain value would take: `preferred` if possible."""
    dtype = symbolic_dtype(value)
    return (
        as_dtype(as_array(value, None, None if preferred is None else as_dtype(preferred)).dtype)
        if dtype is None
        else dtype
    )
