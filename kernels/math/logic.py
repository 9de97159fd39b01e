"""Kernels of comparisons, boolean logic, bits and choices."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.base.dtypes import BOOLEAN, INTEGER, REAL
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import ELEMENTWISE, Direct, Loop
from actorflow.errors import InvalidArgumentError

from ..shared.elementwise import chosen
from ..shared.loops import of

CHOICE = Loop(lambda attrs, condition, x, y: condition.choose(x, y), BOOLEAN)


@kernel("Less", gpu=ELEMENTWISE, loop=of("lt", REAL), direct=Direct(operator.lt, np.less))
def less(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x < y if out is None else xp.less(x, y, out=out)


@kernel("LessEqual", gpu=ELEMENTWISE, loop=of("le", REAL), direct=Direct(operator.le, np.less_equal))
def less_equal(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x <= y if out is None else xp.less_equal(x, y, out=out)


@kernel("Greater", gpu=ELEMENTWISE, loop=of("gt", REAL), direct=Direct(operator.gt, np.greater))
def greater(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x > y if out is None else xp.greater(x, y, out=out)


@kernel("GreaterEqual", gpu=ELEMENTWISE, loop=of("ge", REAL), direct=Direct(operator.ge, np.greater_equal))
def greater_equal(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x >= y if out is None else xp.greater_equal(x, y, out=out)


@kernel("Equal", gpu=ELEMENTWISE, loop=of("eq", REAL | BOOLEAN), direct=Direct(operator.eq, np.equal))
def equal(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x == y if out is None else xp.equal(x, y, out=out)


@kernel("NotEqual", gpu=ELEMENTWISE, loop=of("ne", REAL | BOOLEAN), direct=Direct(operator.ne, np.not_equal))
def not_equal(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x != y if out is None else xp.not_equal(x, y, out=out)


# ---- bool tensors, and the bits of integers


@kernel(
    "LogicalAnd",
    "BitwiseAnd",
    gpu=ELEMENTWISE,
    loop=of("and", INTEGER | BOOLEAN),
    direct=Direct(operator.and_, np.bitwise_and),
)
def bitwise_and(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x & y if out is None else xp.bitwise_and(x, y, out=out)


@kernel(
    "LogicalOr",
    "BitwiseOr",
    gpu=ELEMENTWISE,
    loop=of("or", INTEGER | BOOLEAN),
    direct=Direct(operator.or_, np.bitwise_or),
)
def bitwise_or(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x | y if out is None else xp.bitwise_or(x, y, out=out)


@kernel(
    "LogicalXor",
    "BitwiseXor",
    gpu=ELEMENTWISE,
    loop=of("xor", INTEGER | BOOLEAN),
    direct=Direct(operator.xor, np.bitwise_xor),
)
def bitwise_xor(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x ^ y if out is None else xp.bitwise_xor(x, y, out=out)


@kernel(
    "LogicalNot",
    "Invert",
    gpu=ELEMENTWISE,
    loop=of("not", INTEGER | BOOLEAN),
    direct=Direct(operator.invert, np.invert),
)
def invert(xp: Any, x: Any, *, out: Any = None) -> Any:
    return ~x if out is None else xp.invert(x, out=out)


def _places(xp: Any, x: Any, y: Any) -> Any:
    """How far to shift: C leaves more than the type's width open, numpy gives 0, TensorFlow takes the nearest."""
    return xp.clip(y, 0, x.dtype.itemsize * 8 - 1)


@kernel("LeftShift")
def left_shift(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x << _places(xp, x, y) if out is None else xp.left_shift(x, _places(xp, x, y), out=out)


@kernel("RightShift")
def right_shift(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x >> _places(xp, x, y) if out is None else xp.right_shift(x, _places(xp, x, y), out=out)


# ---- choices


@kernel("SelectV2", gpu=ELEMENTWISE, loop=CHOICE)
def select_v2(xp: Any, condition: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return chosen(xp, condition, x, y, out)


@kernel("Select", gpu=ELEMENTWISE, loop=replace(CHOICE, broadcasts=False))
def select(xp: Any, condition: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    rows = condition.ndim == 1 and x.ndim != 1
    fits = condition.shape == x.shape[:1] if rows else condition.ndim == 0 or condition.shape == x.shape
    if x.shape != y.shape or not fits:
        raise InvalidArgumentError(
            "x and y must have one shape, and the condition the same one, or none, or as many elements as there are rows.",
            details=[f"condition: {condition.shape}", f"x: {x.shape}", f"y: {y.shape}"],
        )
    if rows:
        condition = condition.reshape(-1, *(1,) * (x.ndim - 1))
    return chosen(xp, condition, x, y, out)


@kernel("Where")
def where(xp: Any, condition: Any) -> Any:
    if condition.ndim == 0:
        raise InvalidArgumentError("Where needs a condition with at least one dimension.")
    return xp.argwhere(condition)
