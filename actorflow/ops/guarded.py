"""Elementwise products and quotients in which a zero decides, whatever the other operand is; and neighbours of floats.

Each has the gradient of TensorFlow, which guards it in the same way.
"""

from __future__ import annotations

from typing import Any

from actorflow.dtypes import INEXACT, float32, float64
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.arithmetic import div_no_nan
from actorflow.ops.building import composite
from actorflow.ops.cast import cast
from actorflow.ops.complex import conj
from actorflow.ops.filling import ones_like, zeros_like
from actorflow.ops.logic import not_equal
from actorflow.ops.shape_rules import elementwise
from actorflow.ops.unary import square
from actorflow.public import public
from actorflow.registry.op import op

_WIDE = frozenset((float32, float64))


def _is_nonzero(x: Tensor) -> Tensor:
    """1 where x is not 0, else 0."""
    return cast(not_equal(x, zeros_like(x)), x.dtype)


@public("af.math")
@op("Xlogy", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=12)
def xlogy(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x · log(y), and 0 where x is 0, elementwise with broadcasting (`tf.math.xlogy`)."""


@xlogy.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [dy * xlogy(_is_nonzero(x), y), dy * xdivy(x, y)]


@public("af.math")
@op("Xlog1py", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=12)
def xlog1py(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x · log(1 + y), and 0 where x is 0, elementwise with broadcasting (`tf.math.xlog1py`)."""


@xlog1py.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [dy * xlog1py(_is_nonzero(x), y), dy * xdivy(x, y + 1)]


@public("af.math")
@op("Xdivy", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=5)
def xdivy(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x / y, and 0 where x is 0, elementwise with broadcasting (`tf.math.xdivy`)."""


@xdivy.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [dy * xdivy(_is_nonzero(x), y), dy * xdivy(-x, square(y))]


@public("af.math")
@op("MulNoNan", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=2)
def multiply_no_nan(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x · y, and 0 where y is 0, even where x is NaN or infinite (`tf.math.multiply_no_nan`)."""


@multiply_no_nan.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [multiply_no_nan(dy, y), multiply_no_nan(x, dy)]


@public("af.math")
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0, elementwise (`tf.math.reciprocal_no_nan`)."""
    with composite(name, "reciprocal_no_nan", x) as scope:
        values = convert_to_tensor(x)
        return div_no_nan(ones_like(values), values, name=scope)


@public("af.math")
@op("NextAfter", shape=elementwise, dtypes=_WIDE, broadcasts=True)
def nextafter(x1: TensorLike, x2: TensorLike, *, name: str | None = None) -> Tensor:
    """The next number of the type after x1 on the way to x2, elementwise with broadcasting (`tf.math.nextafter`)."""


@nextafter.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, zeros_like(dy)]
