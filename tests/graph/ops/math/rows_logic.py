"""Rows of comparisons, boolean logic, bits and choices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.table import BINARY, COMPLEXES, INTS, NUMBERS, REALS, UNARY, Case, Literal, Reject, choice, each

from actorflow.base.dtypes import DType
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.math import logic
from actorflow.graph.ops.math import logic as bitwise

INF, NAN = float("inf"), float("nan")
TIES = [*BINARY, (choice(0, 1, 2), choice(0, 1, 2))]
MISMATCHED = Reject((ValueError, InvalidArgumentError), ([1.0, 2.0], [1.0, 2.0, 3.0]))
NUMBERS_ONLY = Reject(TypeError, ([1.0], [1.0]), dtype="float32")
SELECTABLE = f"{NUMBERS} bool string"


def comparison(ops: str, build: Callable[..., Any], function: Callable[..., Any], literal: list[bool]) -> Case:
    return Case(
        ops,
        build,
        each(function),
        TIES,
        dtypes=REALS,
        gradient=0,
        literal=Literal(([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), literal),
        special=[
            Literal(([NAN, NAN, INF], [0.0, NAN, NAN]), [False, False, False]),
            Literal(([200], [100]), [function(2, 1)], "uint8"),
        ],
        rejects=[
            MISMATCHED,
            Reject(TypeError, ([1j], [1j]), dtype="complex64"),
            Reject(TypeError, ([True], [True]), dtype="bool"),
        ],
    )


def logical(ops: str, build: Callable[..., Any], function: Callable[..., Any], literal: list[bool]) -> Case:
    return Case(
        ops,
        build,
        each(function),
        BINARY,
        dtypes="bool",
        literal=Literal(([False, False, True, True], [False, True, False, True]), literal),
        rejects=[Reject((ValueError, InvalidArgumentError), ([True] * 2, [True] * 3)), NUMBERS_ONLY],
    )


def bits(ops: str, build: Callable[..., Any], function: Callable[..., Any], literal: list[int]) -> Case:
    return Case(
        ops,
        build,
        each(function),
        BINARY,
        dtypes=INTS,
        domain=(-100.0, 100.0),
        literal=Literal(([12, -1, 5], [10, 7, 0]), literal, "int8"),
        rejects=[Reject((ValueError, InvalidArgumentError), ([1, 2], [1, 2, 3])), NUMBERS_ONLY],
    )


def flags(*shape: int) -> Callable[[np.random.Generator, DType], Any]:
    """An entry that draws bools."""
    return lambda rng, dtype: rng.integers(0, 2, shape).astype(bool)


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """`where` with broadcasting, by loops."""
    spread = np.broadcast_arrays(condition, x, y)
    result = np.empty(spread[0].shape, np.result_type(x, y))
    for index in np.ndindex(*result.shape):
        result[index] = (spread[1] if spread[0][index] else spread[2])[index]
    return result


def chosen_rows(condition: Any, x: Any, y: Any) -> Any:
    """TensorFlow 1's rule: a vector chooses rows."""
    shape = (-1, *(1,) * (np.ndim(x) - 1)) if np.ndim(condition) == 1 else np.shape(condition)
    return chosen(np.reshape(condition, shape), x, y)


def indices(condition: Any) -> Any:
    found = [index for index in np.ndindex(*condition.shape) if condition[index]]
    return np.array(found, np.int64).reshape(len(found), condition.ndim)


CASES = [
    comparison("Less", logic.less, operator.lt, [True, False, False]),
    comparison("LessEqual", logic.less_equal, operator.le, [True, True, False]),
    comparison("Greater", logic.greater, operator.gt, [False, False, True]),
    comparison("GreaterEqual", logic.greater_equal, operator.ge, [False, True, True]),
    Case(
        "Equal",
        logic.equal,
        each(operator.eq),
        TIES,
        dtypes=f"{NUMBERS} bool",
        gradient=0,
        literal=Literal(([1.0, NAN, INF, 0.0], [1.0, NAN, INF, -0.0]), [True, False, True, True]),
        special=[Literal(([b"a", b"b\0"], [b"a", b"b"]), [True, False], "string")],
        rejects=[MISMATCHED],
    ),
    Case(
        "NotEqual",
        logic.not_equal,
        each(operator.ne),
        TIES,
        dtypes=f"{NUMBERS} bool",
        gradient=0,
        literal=Literal(([1.0, NAN, INF, 0.0], [1.0, NAN, INF, -0.0]), [False, True, False, False]),
        special=[Literal(([b"a", b"b\0"], [b"a", b"b"]), [False, True], "string")],
        rejects=[MISMATCHED],
    ),
    Case(
        "Equal NotEqual",
        lambda x, y: [logic.equal(x, y), logic.not_equal(x, y)],
        lambda x, y: (each(operator.eq)(x, y), each(operator.ne)(x, y)),
        BINARY,
        note="of strings",
        dtypes="string",
        literal=Literal(([b"a", b""], [b"a", b"b"]), ([True, False], [False, True])),
    ),
    logical("LogicalAnd", logic.logical_and, lambda x, y: x and y, [False, False, False, True]),
    logical("LogicalOr", logic.logical_or, lambda x, y: x or y, [False, True, True, True]),
    logical("LogicalXor", logic.logical_xor, operator.ne, [False, True, True, False]),
    Case(
        "LogicalNot",
        logic.logical_not,
        each(operator.not_),
        UNARY,
        dtypes="bool",
        literal=Literal(([True, False],), [False, True]),
        rejects=[Reject(TypeError, ([1.0],), dtype="float32")],
    ),
    bits("BitwiseAnd", bitwise.bitwise_and, operator.and_, [8, 7, 0]),
    bits("BitwiseOr", bitwise.bitwise_or, operator.or_, [14, -1, 5]),
    bits("BitwiseXor", bitwise.bitwise_xor, operator.xor, [6, -8, 5]),
    Case(
        "Invert",
        bitwise.invert,
        each(operator.inv),
        UNARY,
        dtypes=INTS,
        domain=(-100.0, 100.0),
        literal=Literal(([0, 5, -1],), [-1, -6, 0], "int8"),
        special=[Literal(([0, 5],), [255, 250], "uint8")],
        rejects=[Reject(TypeError, ([1.0],), dtype="float32")],
    ),
    Case(
        "LeftShift",
        bitwise.left_shift,
        each(operator.lshift),
        BINARY,
        dtypes=INTS,
        domain=((-9.0, 9.0), (0.0, 7.0)),
        literal=Literal(([1, 1, -1], [33, -1, 40]), [-(2**31), 1, -(2**31)], "int32"),
        special=[Literal(([1, 1, -1], [9, -1, 7]), [-128, 1, -128], "int8")],
        rejects=[NUMBERS_ONLY],
    ),
    Case(
        "RightShift",
        bitwise.right_shift,
        each(operator.rshift),
        BINARY,
        dtypes=INTS,
        domain=((-100.0, 100.0), (0.0, 7.0)),
        literal=Literal(([-8, -8, 7], [33, -1, 1]), [-1, -8, 3], "int32"),
        rejects=[NUMBERS_ONLY],
    ),
    # ---- choices
    Case(
        "SelectV2",
        logic.where_v2,
        chosen,
        [
            (flags(), (), ()),
            (flags(2, 3), (2, 3), (2, 3)),
            (flags(3), (2, 3), ()),
            (flags(2, 1), (3,), (2, 3)),
            (flags(), (0, 2), (2,)),
        ],
        dtypes=SELECTABLE,
        literal=Literal((np.array([[True], [False]]), [1.0, 2.0], [3.0, 4.0]), [[1.0, 2.0], [3.0, 4.0]]),
        slopes=[Literal((np.array([True, False]), [1.0, 2.0], 3.0), (None, [1.0, 0.0], 1.0))],
        rejects=[Reject((ValueError, InvalidArgumentError), (np.array([True] * 3), [1.0, 2.0], [3.0, 4.0]))],
    ),
    Case(
        "Select",
        logic.where,
        chosen_rows,
        [
            (flags(), (), ()),
            (flags(2, 3), (2, 3), (2, 3)),
            (flags(2), (2, 3), (2, 3)),
            (flags(2), (2, 3, 2), (2, 3, 2)),
            (flags(3), (3,), (3,)),
            (flags(), (2, 2), (2, 2)),
            (flags(0), (0, 2), (0, 2)),
        ],
        dtypes=SELECTABLE,
        literal=Literal(
            (np.array([True, False]), [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]), [[1, 2], [7, 8]]
        ),
        special=[Literal((np.array(True), [[1, 2], [3, 4]], [[5, 6], [7, 8]]), [[1, 2], [3, 4]], "int32")],
        slopes=[Literal((np.array([True, False]), [1.0, 2.0], [3.0, 4.0]), (None, [1.0, 0.0], [0.0, 1.0]))],
        rejects=[
            Reject((ValueError, InvalidArgumentError), (np.array([True] * 3), [[1.0, 2.0]] * 2, [[3.0, 4.0]] * 2)),
            Reject((ValueError, InvalidArgumentError), (np.array([True] * 2), [1.0, 2.0], [3.0])),
            Reject((ValueError, InvalidArgumentError), (np.array([[True] * 2]), [1.0, 2.0], [3.0, 4.0])),
            Reject(TypeError, ([1.0], [1.0], [1.0])),
            Reject(ValueError, (np.array([True]), [1.0]), match="both|neither"),
        ],
    ),
    Case(
        "Where",
        logic.where,
        indices,
        [((5,),), ((2, 3),), ((2, 2, 2),), ((0, 3),), (choice(0, 1, 2),)],
        dtypes=f"bool int32 uint8 float32 float64 {COMPLEXES}",
        gradient=0,
        static=False,
        literal=Literal(([[1.0, 0.0], [0.0, NAN]],), np.array([[0, 0], [1, 1]])),
        special=[Literal(([False, False],), np.zeros((0, 1), np.int64), "bool")],
        rejects=[Reject(InvalidArgumentError, (True,), dtype="bool", match="at least")],
    ),
]
