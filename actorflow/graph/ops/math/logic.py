"""Comparisons, boolean logic, and choices by a condition."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import ANY, BOOLEAN, INTEGER, REAL, STRING
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import elementwise, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- comparisons


@public("af", "af.math")
@op("Less", shape=elementwise, dtypes=REAL, result=dt.bool, gradient=None)
def less(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x < y, elementwise with broadcasting; a bool tensor. A comparison with NaN is false.

    Example:
        >>> af.less([1, 2, 3], 2)
        [ True False False]
    """


@public("af", "af.math")
@op("LessEqual", shape=elementwise, dtypes=REAL, result=dt.bool, gradient=None)
def less_equal(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x <= y, elementwise with broadcasting; a bool tensor. A comparison with NaN is false.

    Example:
        >>> af.less_equal([1, 2, 3], 2)
        [ True  True False]
    """


@public("af", "af.math")
@op("Greater", shape=elementwise, dtypes=REAL, result=dt.bool, gradient=None)
def greater(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x > y, elementwise with broadcasting; a bool tensor. A comparison with NaN is false.

    Example:
        >>> af.greater([1, 2, 3], 2)
        [False False  True]
    """


@public("af", "af.math")
@op("GreaterEqual", shape=elementwise, dtypes=REAL, result=dt.bool, gradient=None)
def greater_equal(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x >= y, elementwise with broadcasting; a bool tensor. A comparison with NaN is false.

    Example:
        >>> af.greater_equal([1, 2, 3], 2)
        [False  True  True]
    """


@public("af", "af.math")
@op("Equal", shape=elementwise, dtypes=ANY, result=dt.bool, gradient=None, commutative=True)
def equal(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x == y, elementwise with broadcasting, of any type; a bool tensor. NaN equals nothing.

    Example:
        >>> af.equal([1, 2, 3], [1, 0, 3])
        [ True False  True]
    """


@public("af", "af.math")
@op("NotEqual", shape=elementwise, dtypes=ANY, result=dt.bool, gradient=None, commutative=True)
def not_equal(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x != y, elementwise with broadcasting, of any type; a bool tensor. NaN differs from everything.

    Example:
        >>> af.not_equal(["a", "b"], ["a", "c"])
        [False  True]
    """


# ---- boolean logic


@public("af", "af.math")
@op("LogicalAnd", role=roles.LOGIC, shape=elementwise, dtypes=BOOLEAN, gradient=None, commutative=True)
def logical_and(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x and y, elementwise with broadcasting, of bool tensors.

    Example:
        >>> af.logical_and([True, True], [True, False])
        [ True False]
    """


@public("af", "af.math")
@op("LogicalOr", role=roles.LOGIC, shape=elementwise, dtypes=BOOLEAN, gradient=None, commutative=True)
def logical_or(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x or y, elementwise with broadcasting, of bool tensors.

    Example:
        >>> af.logical_or([True, False], [False, False])
        [ True False]
    """


@public("af", "af.math")
@op("LogicalXor", shape=elementwise, dtypes=BOOLEAN, gradient=None, commutative=True)
def logical_xor(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """Whether either x or y is true, but not both, elementwise with broadcasting, of bool tensors.

    Example:
        >>> af.logical_xor([True, True], [True, False])
        [False  True]
    """


@public("af", "af.math")
@op("LogicalNot", role=roles.LOGIC, shape=unchanged, dtypes=BOOLEAN, gradient=None)
def logical_not(x: TensorLike, *, name: str | None = None) -> Tensor:
    """not x, elementwise, of a bool tensor.

    Example:
        >>> af.logical_not([True, False])
        [False  True]
    """


# ---- choices


def _select_shape(c: Inference) -> Shape:
    """`x` and `y` have one shape; the condition has it too, or is a scalar, or a vector as long as they have rows."""
    condition = c.shapes[0]
    shape = merge(c.shapes[1], c.shapes[2])
    if condition is None or condition == ():
        return shape
    if len(condition) == 1 and shape is not None and len(shape) != 1:
        if not shape or not compatible(condition, shape[:1]):
            raise ValueError(
                f"Dimensions must be equal: a vector as the condition selects rows, so it needs as many elements as there "
                f"are rows; the condition has shape {show(condition)}, x and y have {show(shape)}."
            )
        return (condition[0] if shape[0] is None else shape[0], *shape[1:])
    return shape if len(condition) == 1 and shape is None else merge(condition, shape)


@op("Select", shape=_select_shape, types={"condition": BOOLEAN})
def select(condition: TensorLike, x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """`x` where `condition` is true, else `y`, which has the shape of x. TensorFlow 1's rule: the condition has their
    shape, or is a scalar that chooses a whole tensor, or a vector that chooses row by row."""


@public("af")
@op("SelectV2", shape=elementwise, types={"condition": BOOLEAN}, broadcasts=True)
def where_v2(condition: TensorLike, x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """`x` where `condition` is true, else `y`, elementwise with broadcasting of all three (`tf.where` of TensorFlow 2).

    Example:
        >>> af.where_v2([[True], [False]], [1, 2, 3], 0)
        [[1 2 3]
         [0 0 0]]

    Args:
        condition: a bool tensor.
        x, y: tensors of one type, any.
    """


@where_v2.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    condition = node.inputs[0]
    return [None, where_v2(condition, dy, 0), where_v2(condition, 0, dy)]


@select.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.constant import zeros_like

    condition, zeros = node.inputs[0], zeros_like(dy)
    return [None, select(condition, dy, zeros), select(condition, zeros, dy)]


def _indices_shape(c: Inference) -> Shape:
    shape = c.shapes[0]
    return (None, None if shape is None else len(shape))


@op("Where", shape=_indices_shape, dtypes=ANY - STRING, result=dt.int64, gradient=None)
def where_indices(condition: TensorLike, *, name: str | None = None) -> Tensor:
    """The indices of the true (or nonzero) elements in row-major order: int64 of shape (how many, rank)."""


@public("af")
def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Chooses between `x` and `y`, or finds what is true (`tf.where` of TensorFlow 1).

    Example:
        >>> af.where([True, False, True], [1, 2, 3], [10, 20, 30])
        [ 1 20  3]
        >>> af.where([[True, False], [False, True]])
        [[0 0]
         [1 1]]

    Args:
        condition: a bool tensor.
        x, y: the values to choose from, of one shape and type. The condition has their shape, or is a scalar, or a
            vector that chooses row by row. `where_v2` broadcasts instead.

    Returns:
        `x` where the condition is true, else `y`; without them the int64 indices of its true elements, of shape
        (how many, rank).

    Raises:
        ValueError: x was given without y, or y without x, or the shapes don't fit.
    """
    if x is None and y is None:
        return where_indices(condition, name=name)
    if x is None or y is None:
        raise ValueError("where() takes x and y, or neither of them.")
    return select(condition, x, y, name=name)


# ---- Operations on the bits of integers (`tf.bitwise`).


@public("af", "tf.bitwise")
@op("BitwiseAnd", shape=elementwise, dtypes=INTEGER, gradient=None, commutative=True)
def bitwise_and(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits that are set in both x and y, elementwise with broadcasting, of integers.

    Example:
        >>> af.bitwise_and(0b1100, 0b1010)
        8
    """


@public("af", "tf.bitwise")
@op("BitwiseOr", shape=elementwise, dtypes=INTEGER, gradient=None, commutative=True)
def bitwise_or(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits that are set in x or y, elementwise with broadcasting, of integers.

    Example:
        >>> af.bitwise_or(0b1100, 0b1010)
        14
    """


@public("af", "tf.bitwise")
@op("BitwiseXor", shape=elementwise, dtypes=INTEGER, gradient=None, commutative=True)
def bitwise_xor(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits that differ between x and y, elementwise with broadcasting, of integers.

    Example:
        >>> af.bitwise_xor(0b1100, 0b1010)
        6
    """


@public("af", "tf.bitwise")
@op("Invert", shape=unchanged, dtypes=INTEGER, gradient=None)
def invert(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x with all its bits flipped, elementwise, of integers.

    Example:
        >>> af.invert(af.constant([0, 5], af.int32)), af.invert(af.constant([0, 5], af.uint8))
        ([-1 -6], [255 250])
    """


@public("af", "tf.bitwise")
@op("LeftShift", shape=elementwise, dtypes=INTEGER, gradient=None)
def left_shift(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits of x moved up by y places, elementwise with broadcasting, of integers.

    A y outside [0, bits of the type) is taken as the nearest inside, as TensorFlow does.

    Example:
        >>> af.left_shift([1, 3], 4)
        [16 48]
    """


@public("af", "tf.bitwise")
@op("RightShift", shape=elementwise, dtypes=INTEGER, gradient=None)
def right_shift(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """The bits of x moved down by y places, elementwise with broadcasting, of integers; the sign of x is kept.

    A y outside [0, bits of the type) is taken as the nearest inside, as TensorFlow does.

    Example:
        >>> af.right_shift([16, -16], 2)
        [ 4 -4]
    """
