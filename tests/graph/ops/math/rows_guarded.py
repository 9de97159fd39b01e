"""Rows of products and quotients in which a zero decides."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
from graph.ops.math.rows_elementwise import INF, NAN
from graph.ops.table import BINARY, COMPLEXES, FLOATS, UNARY, Case, Literal, Reject, each

from actorflow.graph.ops.math import arithmetic
from actorflow.graph.ops.math import special as guarded

INEXACT = f"{FLOATS} {COMPLEXES}"
REJECTS = [Reject(TypeError, ([1], [1]), dtype="int32"), Reject(ValueError, ([1.0, 2.0], [1.0, 2.0, 3.0]))]


def log(x: Any) -> Any:
    return cmath.log(x) if isinstance(x, complex) else math.log(x)


CASES = [
    Case(
        "Xlogy",
        guarded.xlogy,
        each(lambda x, y: x * log(y)),
        BINARY,
        dtypes=INEXACT,
        domain=((-2.0, 2.0), (0.3, 3.0)),
        literal=Literal(([0.0, 2.0, 0.0, 1.0], [0.0, 3.0, NAN, 0.0]), [0.0, 2.1972246, 0.0, -INF]),
        slopes=[Literal(([0.0, 2.0, 0.0], [0.0, 3.0, NAN]), ([0.0, 1.0986123, 0.0], [0.0, 0.6666667, 0.0]))],
        rejects=REJECTS,
    ),
    Case(
        "Xlog1py",
        guarded.xlog1py,
        each(lambda x, y: x * log(1 + y)),
        BINARY,
        dtypes=INEXACT,
        domain=((-2.0, 2.0), (-0.6, 3.0)),
        literal=Literal(([0.0, 2.0, 0.0, 1.0], [-1.0, 3.0, NAN, 0.0]), [0.0, 2.7725887, 0.0, 0.0]),
        slopes=[Literal(([0.0, 2.0, 1.0], [-1.0, 3.0, 0.0]), ([0.0, 1.3862944, 0.0], [0.0, 0.5, 1.0]))],
        rejects=REJECTS,
    ),
    Case(
        "Xdivy",
        guarded.xdivy,
        each(lambda x, y: x / y),
        BINARY,
        dtypes=INEXACT,
        domain=((-2.0, 2.0), (0.3, 3.0)),
        loose=5,
        literal=Literal(([0.0, 2.0, 0.0, 1.0], [0.0, 4.0, NAN, 0.0]), [0.0, 0.5, 0.0, INF]),
        slopes=[Literal(([0.0, 2.0, 1.0], [0.0, 4.0, 0.0]), ([0.0, 0.25, INF], [0.0, -0.125, -INF]))],
        rejects=REJECTS,
    ),
    Case(
        "MulNoNan",
        guarded.multiply_no_nan,
        each(lambda x, y: x * y),
        BINARY,
        dtypes=INEXACT,
        literal=Literal(([INF, 2.0, NAN, 1.0], [0.0, 3.0, 0.0, NAN]), [0.0, 6.0, 0.0, NAN]),
        slopes=[Literal(([INF, 2.0, 1.0], [0.0, 3.0, NAN]), ([0.0, 3.0, NAN], [INF, 2.0, 1.0]))],
        rejects=REJECTS,
    ),
    Case(
        "",
        guarded.reciprocal_no_nan,
        each(lambda x: 1 / x),
        UNARY,
        note="reciprocal_no_nan",
        dtypes=INEXACT,
        domain=(0.3, 3.0),
        literal=Literal(([2.0, 0.0, 0.5],), [0.5, 0.0, 2.0]),
        slopes=[Literal(([2.0, 0.0, 0.5],), [-0.25, 0.0, -4.0])],
        rejects=[Reject(TypeError, ([1],), dtype="int32")],
    ),
    Case(
        "NextAfter",
        guarded.nextafter,
        None,
        BINARY,
        dtypes="float32 float64",
        gradient=None,  # as if it were x1; see the slopes
        literal=Literal(
            ([1.0, -1.0, 1.0, INF], [2.0, 0.0, 1.0, 0.0]),
            [np.float32(1 + 2**-23), np.float32(-1 + 2**-24), 1.0, 3.4028235e38],
        ),
        special=[Literal(([0.0, 1.0, NAN], [1.0, 2.0, 1.0]), [5e-324, 1 + 2**-52, NAN], "float64")],
        slopes=[Literal(([0.0, 1.0], [1.0, 1.0]), ([1.0, 1.0], [0.0, 0.0]))],
        rejects=[Reject(TypeError, ([1.0], [1.0]), dtype="float16")],
    ),
    # ---- made of others
    Case(
        "",
        lambda x: arithmetic.polyval([2.0, 3.0, 1.0], x),
        each(lambda x: 2 * x * x + 3 * x + 1),
        UNARY,
        note="polyval",
        dtypes=INEXACT,
        loose=2,
        literal=Literal(([2.0, -1.0],), [15.0, 0.0]),
        slopes=[Literal(([2.0, -1.0],), [11.0, -1.0])],
        rejects=[Reject(ValueError, ([1.0],), build=lambda x: arithmetic.polyval(3.0, x))],  # type: ignore[arg-type]
    ),
    Case(
        "",
        lambda x: arithmetic.polyval([], x),
        lambda x: np.zeros_like(x),
        [((2, 3),)],
        note="polyval of nothing",
        gradient=0,
        literal=Literal(([2.0, -1.0],), [0.0, 0.0]),
    ),
    Case(
        "",
        arithmetic.divide,
        each(lambda x, y: x / y),
        [((3,), (3,)), ((2, 1), (3,))],
        note="divide",
        dtypes="int32",
        domain=(1.0, 9.0),
        gradient=None,
        literal=Literal(([3], [2]), np.array([1.5])),
    ),
]
