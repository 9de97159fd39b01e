"""Elementwise arithmetic of two tensors, and sums of several.

A gradient is returned in the shape of the output; the gradient walk sums it down to an input that was broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import FLOATING, INEXACT, INTEGER, NUMERIC, REAL, STRING
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import num_elements
from actorflow.graph.convert import convert_alike, convert_to_tensor
from actorflow.graph.ops.arriving import divided, scaled
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.cast import cast, conj, real
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.math.logic import greater, greater_equal, less_equal, not_equal, where_v2
from actorflow.graph.ops.shape_rules import elementwise, merged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af", "af.math")
@op("Add", shape=elementwise, dtypes=NUMERIC | STRING, commutative=True, broadcasts=True)
def add(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x + y, elementwise with broadcasting. Integers wrap around; strings are joined.

    Example:
        >>> af.add([1, 2], 10)
        [11 12]
        >>> af.constant([1, 2]) + 10
        [11 12]
        >>> af.constant(["a", "b"]) + ".txt"
        [b'a.txt' b'b.txt']
    """


@add.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, dy]


@public("af", "af.math")
@op("Sub", shape=elementwise, dtypes=NUMERIC, broadcasts=True)
def subtract(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x - y, elementwise with broadcasting. Integers wrap around.

    Example:
        >>> af.subtract([5, 3], [1, 10])
        [ 4 -7]
    """


@subtract.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, -dy]


@public("af", "af.math")
@op("Mul", shape=elementwise, dtypes=NUMERIC, commutative=True, broadcasts=True)
def multiply(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x · y, elementwise with broadcasting. Integers wrap around.

    Example:
        >>> af.multiply([[1, 2], [3, 4]], [10, 100])
        [[ 10 200]
         [ 30 400]]
    """


@multiply.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs
    return [dy * conj(y), dy * conj(x)]


# ---- division


@public("af")
@op("RealDiv", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=4)
def realdiv(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x / y of floating or complex tensors, elementwise with broadcasting. x / 0 is ±inf, 0 / 0 is NaN.

    Example:
        >>> af.realdiv([1.0, 0.0], [0.0, 2.0])
        [inf  0.]
    """


@realdiv.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [divided(dy, y), scaled(dy, -x / y / y)]


@public("af", "af.math:divide_no_nan")
@op("DivNoNan", shape=elementwise, dtypes=INEXACT, broadcasts=True, work=5)
def div_no_nan(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x / y, and 0 where y is 0, of floating or complex tensors, elementwise with broadcasting.

    Example:
        >>> af.div_no_nan([1.0, 2.0], [0.0, 4.0])
        [0.  0.5]
    """


@div_no_nan.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = map(conj, node.inputs)
    return [div_no_nan(dy, y), scaled(dy, div_no_nan(div_no_nan(-x, y), y))]


@public("af")
@op("FloorDiv", shape=elementwise, dtypes=REAL, gradient=None, broadcasts=True, work=4)
def floor_div(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x / y rounded towards minus infinity, elementwise with broadcasting.

    Raises InvalidArgumentError in the run for an integer division by zero.

    Example:
        >>> af.floor_div([7, -7], 2)
        [ 3 -4]
    """


@public("af", "af:mod", "af.math", "af.math:mod")
@op("FloorMod", shape=elementwise, dtypes=REAL, broadcasts=True, work=4)
def floormod(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The remainder of x by `floordiv`, elementwise with broadcasting; it has the sign of y.

    Raises InvalidArgumentError in the run for an integer division by zero.

    Example:
        >>> af.floormod([7, -7], 3)
        [1 2]
    """


@floormod.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs
    return [dy, scaled(dy, -floor_div(x, y))]


@public("af")
@op("TruncateDiv", shape=elementwise, dtypes=INTEGER, gradient=None, broadcasts=True, work=6)
def truncatediv(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x / y of integers rounded towards zero, as in C, elementwise with broadcasting.

    Raises InvalidArgumentError in the run for a division by zero.

    Example:
        >>> af.truncatediv([7, -7], 2)
        [ 3 -3]
    """


@public("af")
@op("TruncateMod", shape=elementwise, dtypes=REAL, broadcasts=True, work=4)
def truncatemod(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The remainder of x by `truncatediv`, elementwise with broadcasting; it has the sign of x, as in C.

    Raises InvalidArgumentError in the run for an integer division by zero.

    Example:
        >>> af.truncatemod([7, -7], 3)
        [ 1 -1]
    """


@truncatemod.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs
    return [dy, scaled(dy, (node.outputs[0] - x) / y)]  # minus the quotient, which is a whole number


def quotient_type(dtype: dt.DType) -> dt.DType:
    """The type in which `truediv` divides: floats by themselves, integers in the smallest float that holds them all."""
    if not dtype.is_integer:
        return dtype
    return dt.float32 if dtype.size <= 2 else dt.float64


@public("af", "af.math")
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y by Python 3's rule, elementwise with broadcasting: integers give float64 (float32 from 8 and 16 bits).

    Example:
        >>> af.truediv(7, 2)
        3.5

    Raises:
        TypeError: x and y have different types.
    """
    left, right = convert_alike(x, y)
    dtype = quotient_type(left.dtype)
    return realdiv(cast(left, dtype), cast(right, dtype), name=name or "truediv")


@public("af", "af.math")
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y by Python's rule (`tf.divide`); see `truediv`.

    Example:
        >>> af.divide(7, 2)
        3.5
    """
    return truediv(x, y, name=name)


@public("af")
def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y by Python 2's rule, elementwise with broadcasting: integers are rounded towards minus infinity.

    Example:
        >>> af.div(7, 2), af.div(7.0, 2.0)
        (3, 3.5)

    Raises:
        TypeError: x and y have different types.
    """
    left, right = convert_alike(x, y)
    return (floor_div if left.dtype.is_integer else realdiv)(left, right, name=name or "div")


@public("af", "af.math")
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y rounded towards minus infinity, elementwise with broadcasting (`tf.floordiv`).

    Example:
        >>> af.floordiv([7.0, -7.0], 2.0)
        [ 3. -4.]
    """
    return floor_div(x, y, name=name or "floordiv")


# ---- powers, extremes, differences


@public("af", "af.math")
@op("Pow", shape=elementwise, dtypes=NUMERIC, broadcasts=True, work=20)
def pow(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x to the power of y, elementwise with broadcasting.

    Raises InvalidArgumentError in the run for an integer to a negative power.

    Example:
        >>> af.pow([1.0, 2.0, 3.0], 2.0)
        [1. 4. 9.]
        >>> 2.0 ** af.constant([1.0, 2.0, 3.0])
        [2. 4. 8.]
    """


@pow.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y, z = (conj(t) for t in (*node.inputs, *node.outputs))
    # log(x) counts only if log(x) is a number; the inner choice keeps its own derivative from spoiling the others.
    defined = not_equal(x, 0) if x.dtype.is_complex else greater(x, 0)
    log_x = where_v2(defined, log(where_v2(defined, x, 1)), 0)
    return [scaled(dy * y, pow(x, y - 1)), scaled(scaled(dy, z), log_x)]


@public("af", "af.math")
@op("Maximum", shape=elementwise, dtypes=REAL, broadcasts=True)
def maximum(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The larger of x and y, elementwise with broadcasting; NaN where either is. In the gradient x wins a tie.

    Example:
        >>> af.maximum([1, 5, 3], [4, 2, 3])
        [4 5 3]
        >>> af.maximum([-1.0, 2.0], 0.0)
        [0. 2.]
    """


@maximum.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs
    first = greater_equal(x, y)
    return [where_v2(first, dy, 0), where_v2(first, 0, dy)]


@public("af", "af.math")
@op("Minimum", shape=elementwise, dtypes=REAL, broadcasts=True)
def minimum(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The smaller of x and y, elementwise with broadcasting; NaN where either is. In the gradient x wins a tie.

    Example:
        >>> af.minimum([1, 5, 3], [4, 2, 3])
        [1 2 3]
    """


@minimum.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs
    first = less_equal(x, y)
    return [where_v2(first, dy, 0), where_v2(first, 0, dy)]


@public("af", "af.math")
@op("SquaredDifference", shape=elementwise, dtypes=NUMERIC, commutative=True, broadcasts=True, work=2)
def squared_difference(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """|x - y|², elementwise with broadcasting.

    Example:
        >>> af.squared_difference([1.0, 5.0], [3.0, 2.0])
        [4. 9.]
    """


@squared_difference.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, y = node.inputs
    dx = cast(real(dy), dy.dtype) * (2 * (x - y))
    return [dx, -dx]


@public("af", "af.math")
@op("Atan2", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=20)
def atan2(y: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The angle of the point (x, y) in radians, in [-π, π], elementwise with broadcasting.

    Example:
        >>> af.atan2([1.0, -1.0], [1.0, -1.0])
        [ 0.7854 -2.3562]
    """


@atan2.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    y, x = node.inputs
    arriving = divided(dy, x * x + y * y)
    return [x * arriving, -y * arriving]


# ---- sums of several


def _additions(c: Inference) -> float:
    """An addition for each element of each input except the first."""
    elements = num_elements(merged(c))
    return float((len(c.shapes) - 1) * (1 if elements is None else elements))


@op("AddN", shape=merged, dtypes=NUMERIC, work=_additions)
def add_n_op(inputs: Sequence[TensorLike], *, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and type, without broadcasting."""


@add_n_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy] * len(node.inputs)


@public("af", "af.math")
def add_n(inputs: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """The sum of `inputs`, tensors of one shape and type (`tf.add_n`).

    Example:
        >>> af.add_n([[1, 2], [3, 4], [5, 6]])
        [ 9 12]

    Raises:
        ValueError: there are none, or their shapes differ.
        TypeError: their types differ.
    """
    from actorflow.graph.ops.flow.control import identity

    values = list(inputs)
    if not values:
        raise ValueError("add_n needs at least one tensor.")
    if len(values) > 1:
        return add_n_op(values, name=name)
    only = convert_to_tensor(values[0])
    return only if name is None else identity(only, name=name)


@public("af", "af.math")
def accumulate_n(
    inputs: Sequence[TensorLike], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """`add_n` with a static shape and type to check (`tf.accumulate_n`). Raises ValueError and TypeError as it does.

    Example:
        >>> af.accumulate_n([[1, 2], [3, 4], [5, 6]])
        [ 9 12]

    Args:
        inputs: a list of tensors of one type and shape.
        shape: the static shape that the sum has to have.
        tensor_dtype: the element type that it has to have.
    """
    total = add_n(inputs, name=name or "AccumulateNV2")
    if tensor_dtype is not None and total.dtype is not dt.as_dtype(tensor_dtype):
        raise TypeError(f"accumulate_n was asked for {dt.as_dtype(tensor_dtype)}, but the inputs are {total.dtype}.")
    if shape is not None:
        total.set_shape(shape)
    return total


@public("af.math")
def polyval(coeffs: Sequence[TensorLike], x: TensorLike, name: str | None = None) -> Tensor:
    """The polynomial with these coefficients, that of the highest power first, at x, elementwise (`tf.math.polyval`).

    The coefficients broadcast with x. Of no coefficients it is 0. Raises ValueError for coefficients that are no list.

    Example:
        >>> af.math.polyval([2.0, 0.0, 1.0], 3.0)
        19.0
    """
    from actorflow.graph.ops.array.constant import zeros_like

    if not isinstance(coeffs, (list, tuple)):
        raise ValueError(f"polyval takes a list of coefficients, not a {type(coeffs).__name__}.")
    with composite(name, "polyval", x, *coeffs) as scope:
        values = convert_to_tensor(x)
        if not coeffs:
            return zeros_like(values, name=scope)
        total = convert_to_tensor(coeffs[0], values.dtype.base_dtype)
        for coefficient in coeffs[1:]:
            total = add(total * values, coefficient)
        return total


@public("af", "af.math")
def scalar_mul(scalar: TensorLike, x: Any, name: str | None = None) -> Any:
    """`x`, a tensor or indexed slices, times a scalar (`tf.scalar_mul`). Raises ValueError where `scalar` is none.

    Example:
        >>> af.scalar_mul(3.0, [1.0, 2.0])
        [3. 6.]
    """
    sparse = hasattr(x, "indices") and hasattr(x, "values")
    values = x.values if sparse else convert_to_tensor(x)
    factor = convert_to_tensor(scalar, values.dtype.base_dtype, graph=values.graph)
    if factor.static_shape not in ((), None):
        raise ValueError(f"scalar_mul takes a scalar, but {factor.name} has shape {factor.shape}.")
    product = multiply(factor, values, name=name)
    return type(x)(product, x.indices, x.dense_shape) if sparse else product
