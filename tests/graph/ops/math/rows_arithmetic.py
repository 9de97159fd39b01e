"""Rows of the elementwise arithmetic of two tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from graph.ops.strings.rows_elementwise import words
from graph.ops.table import BINARY, COMPLEXES, FLOATS, INTS, NUMBERS, REALS, Case, Literal, Reject, choice, each

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.math import arithmetic as af

INF, NAN = float("inf"), float("nan")
INEXACT = f"{FLOATS} {COMPLEXES}"
MISMATCHED = Reject((ValueError, InvalidArgumentError), ([1.0, 2.0], [1.0, 2.0, 3.0]))
MIXED = Reject(TypeError, (np.array([1.0], np.float32), np.array([1], np.int32)))
BY_ZERO = Reject(InvalidArgumentError, ([1, 2], [1, 0]), dtype="int32", match="division by zero")
QUOTIENT = ((-9.0, 9.0), (1.0, 5.0))
TIES = [*BINARY, (choice(0, 1, 2), choice(0, 1, 2))]


def floor_quotient(x: Any, y: Any) -> Any:
    return each(lambda a, b: a // b)(x, y) if x.dtype.kind in "iu" else np.floor(np.true_divide(x, y))


def floor_rest(x: Any, y: Any) -> Any:
    return each(lambda a, b: a - b * math.floor(a / b))(x, y)


def truncated(x: Any, y: Any) -> Any:
    return each(lambda a, b: a - b * math.trunc(a / b))(x, y)


CASES = [
    Case(
        "Add",
        af.add,
        each(lambda x, y: x + y),
        BINARY,
        dtypes=NUMBERS,
        literal=Literal(([1.0, -2.5], [3.0, 4.0]), [4.0, 1.5]),
        special=[
            Literal(([127, -128], [1, -1]), [-128, 127], "int8"),
            Literal(([INF, INF, NAN], [1.0, -INF, 0.0]), [INF, NAN, NAN]),
        ],
        slopes=[Literal(([1.0, 2.0], 3.0), ([1.0, 1.0], 2.0))],
        rejects=[
            MISMATCHED,
            MIXED,
            Reject(TypeError, ([True], [False]), dtype="bool"),
        ],
    ),
    Case(
        "Add",
        af.add,
        each(lambda x, y: x + y),
        BINARY,
        dtypes="string",
        literal=Literal((words(b"a\0", b"b"), words(b"c", b"\0")), words(b"a\0c", b"b\0")),
        special=[
            Literal((words(b"a\0"), words(b"c", b"")), words(b"a\0c", b"a\0")),
            Literal((words(b"a"), words(b"\0")), words(b"a\0")),
        ],
        rejects=[
            Reject((ValueError, InvalidArgumentError), (words(b"a", b"b"), words(b"a", b"b", b"c"))),
            Reject(TypeError, (words(b"a"), np.int32(1))),
        ],
        note="S",
    ),
    Case(
        "Sub",
        af.subtract,
        each(lambda x, y: x - y),
        BINARY,
        dtypes=NUMBERS,
        literal=Literal(([1.0, -2.5], [3.0, 4.0]), [-2.0, -6.5]),
        special=[Literal(([0, 5], [1, 3]), [255, 2], "uint8"), Literal(([INF], [INF]), [NAN])],
        slopes=[Literal(([1.0, 2.0], 3.0), ([1.0, 1.0], -2.0))],
        rejects=[MISMATCHED, MIXED],
    ),
    Case(
        "Mul",
        af.multiply,
        each(lambda x, y: x * y),
        BINARY,
        dtypes=NUMBERS,
        literal=Literal(([1.5, -2.0], [3.0, 4.0]), [4.5, -8.0]),
        special=[
            Literal(([100, -128], [3, -1]), [44, -128], "int8"),
            Literal(([1 + 2j], [3 - 1j]), [5 + 5j], "complex64"),
            Literal(([INF, 0.0], [0.0, NAN]), [NAN, NAN]),
        ],
        slopes=[Literal(([1.0, 2.0], 3.0), ([3.0, 3.0], 3.0))],
        rejects=[MISMATCHED, MIXED],
    ),
    Case(
        "RealDiv",
        af.realdiv,
        each(lambda x, y: x / y),
        BINARY,
        dtypes=INEXACT,
        domain=((-2.0, 2.0), (0.5, 2.0)),
        literal=Literal(([1.0, -7.0], [4.0, 2.0]), [0.25, -3.5]),
        special=[Literal(([1.0, -1.0, 0.0], [0.0, 0.0, 0.0]), [INF, -INF, NAN])],
        slopes=[Literal(([1.0, 6.0], [4.0, 2.0]), ([0.25, 0.5], [-0.0625, -1.5]))],
        rejects=[MISMATCHED, Reject(TypeError, ([1], [2]), dtype="int32")],
    ),
    Case(
        "DivNoNan",
        af.div_no_nan,
        each(lambda x, y: x / y if y else 0.0),
        [*BINARY, ((7,), choice(0, 1, 2))],
        dtypes=INEXACT,
        domain=((-2.0, 2.0), (0.5, 2.0)),
        gradient=None,  # no derivative at the zeros of the last example; see the next row
        literal=Literal(([1.0, 0.0, NAN, 3.0], [0.0, 0.0, 0.0, 2.0]), [0.0, 0.0, 0.0, 1.5]),
        slopes=[Literal(([1.0, 2.0], [0.0, 4.0]), ([0.0, 0.25], [0.0, -0.125]))],
        rejects=[MISMATCHED],
    ),
    Case(
        "DivNoNan",
        af.div_no_nan,
        each(lambda x, y: x / y),
        BINARY,
        note="without zeros",
        dtypes=INEXACT,
        domain=((-2.0, 2.0), (0.5, 2.0)),
        literal=Literal(([1.0], [4.0]), [0.25]),
    ),
    Case(
        "FloorDiv",
        af.floordiv,
        floor_quotient,
        BINARY,
        dtypes=REALS,
        exact=True,
        domain=QUOTIENT,
        gradient=0,
        literal=Literal(([7.5, -7.5, 1.0, -1.0, 0.0], [2.0, 2.0, 0.0, 0.0, 0.0]), [3.0, -4.0, INF, -INF, NAN]),
        special=[Literal(([7, -7, 7, -7], [2, 2, -2, -2]), [3, -4, -4, 3], "int32")],
        slopes=[Literal(([1.5], [1.0]), (None, None))],
        rejects=[MISMATCHED, BY_ZERO],
    ),
    Case(
        "FloorMod",
        af.floormod,
        floor_rest,
        BINARY,
        dtypes=REALS,
        domain=QUOTIENT,
        literal=Literal(
            ([7.5, -7.5, 7.5, -7.5, 1.0, 5.0, -0.0], [2.0, 2.0, -2.0, -2.0, 0.0, INF, 3.0]),
            [1.5, 0.5, -0.5, -1.5, NAN, 5.0, -0.0],
        ),
        special=[Literal(([7, -7, 7, -7], [3, 3, -3, -3]), [1, 2, -2, -1], "int32")],
        slopes=[Literal(([5.5], [2.0]), ([1.0], [-2.0]))],
        rejects=[MISMATCHED, BY_ZERO],
    ),
    Case(
        "TruncateDiv",
        af.truncatediv,
        each(lambda x, y: math.trunc(x / y)),
        BINARY,
        dtypes=INTS,
        domain=QUOTIENT,
        literal=Literal(([7, -7, 7, -7], [2, 2, -2, -2]), [3, -3, -3, 3], "int32"),
        rejects=[
            Reject(InvalidArgumentError, ([1, 2], [1, 0]), match="division by zero"),
            Reject(TypeError, ([1.0], [2.0]), dtype="float32"),
        ],
    ),
    Case(
        "TruncateMod",
        af.truncatemod,
        truncated,
        BINARY,
        dtypes=REALS,
        domain=QUOTIENT,
        literal=Literal(([7.5, -7.5, 7.5, -7.5], [2.0, 2.0, -2.0, -2.0]), [1.5, -1.5, 1.5, -1.5]),
        special=[Literal(([7, -7, 7, -7], [3, 3, -3, -3]), [1, -1, 1, -1], "int32")],
        rejects=[MISMATCHED, BY_ZERO],
    ),
    Case(
        "Pow",
        af.pow,
        each(lambda x, y: x**y),
        BINARY,
        dtypes=INEXACT,
        domain=((0.3, 2.0), (-2.0, 2.0)),
        literal=Literal(([-8.0, 0.0, 0.0, 2.0, -2.0], [1 / 3, 0.0, -1.0, -2.0, 3.0]), [NAN, 1.0, INF, 0.25, -8.0]),
        slopes=[Literal(([-2.0, 0.0, 2.0], [2.0, 2.0, 3.0]), ([-4.0, 0.0, 12.0], [0.0, 0.0, 5.5451775]))],
        rejects=[MISMATCHED, MIXED],
        loose=3,
    ),
    Case(
        "Pow",
        af.pow,
        each(lambda x, y: x**y),
        BINARY,
        note="of integers",
        dtypes=INTS,
        domain=((-3.0, 3.0), (0.0, 4.0)),
        literal=Literal(([2, -3, 0], [10, 3, 0]), [1024, -27, 1], "int32"),
        special=[Literal(([3], [6]), [-39], "int8")],
        rejects=[Reject(InvalidArgumentError, ([2, 3], [-1, 2]), dtype="int32", match="negative integer powers")],
    ),
    Case(
        "Maximum",
        af.maximum,
        each(max),
        TIES,
        dtypes=REALS,
        gradient=None,  # ties have no derivative; see the next row
        literal=Literal(([1.0, 5.0, -INF], [3.0, 4.0, 0.0]), [3.0, 5.0, 0.0]),
        special=[Literal(([NAN, 1.0], [1.0, NAN]), [NAN, NAN])],
        slopes=[Literal(([1.0, 2.0], [1.0, 3.0]), ([1.0, 0.0], [0.0, 1.0]))],
        rejects=[MISMATCHED, Reject(TypeError, ([1j], [1j]), dtype="complex64")],
    ),
    Case("Maximum", af.maximum, each(max), BINARY, note="without ties", literal=Literal(([1.0], [3.0]), [3.0])),
    Case(
        "Minimum",
        af.minimum,
        each(min),
        TIES,
        dtypes=REALS,
        gradient=None,
        literal=Literal(([1.0, 5.0, -INF], [3.0, 4.0, 0.0]), [1.0, 4.0, -INF]),
        special=[Literal(([NAN, 1.0], [1.0, NAN]), [NAN, NAN])],
        slopes=[Literal(([1.0, 2.0], [1.0, 3.0]), ([1.0, 1.0], [0.0, 0.0]))],
        rejects=[MISMATCHED, Reject(TypeError, ([1j], [1j]), dtype="complex64")],
    ),
    Case("Minimum", af.minimum, each(min), BINARY, note="without ties", literal=Literal(([1.0], [3.0]), [1.0])),
    Case(
        "SquaredDifference",
        af.squared_difference,
        each(lambda x, y: (x - y) ** 2),
        BINARY,
        dtypes=REALS,
        literal=Literal(([1.0, -2.0], [3.0, 0.5]), [4.0, 6.25]),
        slopes=[Literal(([1.0], [3.0]), ([-4.0], [4.0]))],
        rejects=[MISMATCHED],
    ),
    Case(
        "SquaredDifference",
        af.squared_difference,
        each(lambda x, y: abs(x - y) ** 2),
        BINARY,
        dtypes=COMPLEXES,
        literal=Literal(([1 + 2j, 2 - 1j], [1 - 2j, 2 + 1j]), [16 + 0j, 4 + 0j]),
        note="complex",
    ),
    Case(
        "Atan2",
        af.atan2,
        each(math.atan2),
        BINARY,
        domain=((-2.0, 2.0), (0.3, 2.0)),
        literal=Literal(
            ([0.0, -0.0, 1.0, -1.0], [-1.0, -1.0, 0.0, -1.0]), [3.1415927, -3.1415927, 1.5707964, -2.3561945]
        ),
        special=[Literal(([NAN], [1.0]), [NAN])],
        slopes=[Literal(([1.0, 2.0], [3.0, 4.0]), ([0.3, 0.2], [-0.1, -0.1]))],
        rejects=[MISMATCHED, Reject(TypeError, ([1], [1]), dtype="int32")],
    ),
    Case(
        "AddN",
        lambda *xs: af.add_n(xs),
        each(lambda *xs: sum(xs)),
        [((), ()), ((2, 3), (2, 3), (2, 3)), ((0,), (0,)), ((3,),) * 5],
        dtypes=NUMBERS,
        literal=Literal(([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]), [9.0, 12.0]),
        special=[Literal(([127], [1]), [-128], "int8")],
        slopes=[Literal(([1.0], [3.0], [2.0]), ([1.0], [1.0], [1.0]))],
        rejects=[
            MISMATCHED,
            Reject((ValueError, InvalidArgumentError), ([1.0], [1.0, 2.0])),
            MIXED,
            Reject(ValueError, (), match="at least one"),
        ],
    ),
    Case(
        "AddN",
        lambda x: af.add_n_op([x]),
        each(lambda x: x),
        [((),), ((2, 3),)],
        note="of one",
        dtypes=NUMBERS,
        literal=Literal(([1.0, 2.0],), [1.0, 2.0]),
    ),
    # ---- made of others
    Case(
        "",
        af.truediv,
        each(lambda x, y: x / y),
        BINARY,
        note="truediv",
        dtypes=REALS,
        domain=QUOTIENT,
        literal=Literal(([7, -7], [2, 2]), np.array([3.5, -3.5], np.float64), "int32"),
        special=[
            Literal(([7, -7], [2, 2]), np.array([3.5, -3.5], np.float32), "int16"),
            Literal(([7.0], [2.0]), np.array([3.5], np.float32), "float32"),
        ],
        rejects=[MIXED],
    ),
    Case(
        "",
        af.div,
        lambda x, y: floor_quotient(x, y) if x.dtype.kind in "iu" else each(lambda a, b: a / b)(x, y),
        BINARY,
        note="div",
        dtypes=REALS,
        domain=QUOTIENT,
        literal=Literal(([7, -7], [2, 2]), [3, -4], "int32"),
        special=[Literal(([7.0, -7.0], [2.0, 2.0]), [3.5, -3.5])],
        rejects=[MIXED],
    ),
    Case(
        "",
        lambda *xs: af.accumulate_n(xs, shape=[2], tensor_dtype="float32"),
        each(lambda *xs: sum(xs)),
        [((2,), (2,), (2,))],
        note="accumulate_n",
        dtypes="float32",
        literal=Literal(([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]), [9.0, 12.0]),
        rejects=[Reject(TypeError, ([1.0, 2.0], [1.0, 2.0]), dtype="float64"), Reject(ValueError, ([1.0], [1.0]))],
    ),
    Case(
        "",
        lambda x: af.scalar_mul(2, x),
        each(lambda x: 2 * x),
        [((),), ((3,),)],
        note="scalar_mul",
        dtypes=REALS,
        literal=Literal(([1.0, 2.0],), [2.0, 4.0]),
        rejects=[Reject(ValueError, ([1.0, 2.0],), build=lambda x: af.scalar_mul([1.0, 2.0], x))],
    ),
]
