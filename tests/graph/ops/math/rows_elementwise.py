"""Rows of elementwise functions of one tensor."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.table import COMPLEXES, FLOATS, NUMBERS, UNARY, Case, Literal, Reject, choice, each

from actorflow.graph.ops.math import elementwise as trigonometry
from actorflow.graph.ops.math import elementwise as unary
from actorflow.graph.ops.math import special

INF, NAN = float("inf"), float("nan")
INEXACT = f"{FLOATS} {COMPLEXES}"
SIGNED = f"int8 int16 int32 int64 {FLOATS}"
NO_INTEGERS = Reject(TypeError, ([4],), dtype="int32")
NO_BOOLS = Reject(TypeError, ([True],), dtype="bool")
HALVES = choice(-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5)


def either(real: Callable[[float], Any], of_complex: Callable[[complex], Any]) -> Callable[..., Any]:
    """A reference in Python's own functions of real or complex numbers."""
    return each(lambda x: of_complex(x) if isinstance(x, complex) else real(x))


def function(
    ops: str,
    build: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: list[float],
    outputs: list[float],
    domain: tuple[float, float] = (-2.0, 2.0),
    **more: Any,
) -> Case:
    """A row of a function of floating and complex numbers."""
    fields = {"dtypes": INEXACT, "rejects": [NO_INTEGERS], **more}
    return Case(ops, build, reference, UNARY, literal=Literal((inputs,), outputs), domain=domain, **fields)


def logistic(x: Any) -> Any:
    return 1 / (1 + cmath.exp(-x)) if isinstance(x, complex) else 1 / (1 + math.exp(-x))


def slope(x: float, at: Callable[[float], float], step: float = 1e-5) -> float:
    """A derivative by central differences of fourth order."""
    return (8 * (at(x + step) - at(x - step)) - at(x + 2 * step) + at(x - 2 * step)) / (12 * step)


def zeta_tail(order: int, x: float) -> float:
    """Σ 1 / (x + k)^order: 200 terms, and the rest by the integral with its first corrections."""
    end = x + 200
    rest = end ** (1 - order) / (order - 1) + end**-order / 2 + order * end ** (-order - 1) / 12
    return sum((x + k) ** -order for k in range(200)) + rest


CASES = [
    Case(
        "Neg",
        unary.negative,
        each(lambda x: -x),
        UNARY,
        dtypes=f"{SIGNED} {COMPLEXES}",
        literal=Literal(([1.0, -2.5, 0.0],), [-1.0, 2.5, -0.0]),
        special=[Literal(([-128, 5],), [-128, -5], "int8"), Literal(([INF, NAN],), [-INF, NAN])],
        rejects=[NO_BOOLS],
    ),
    Case(
        "Abs",
        unary.abs,
        each(abs),
        UNARY,
        dtypes=SIGNED,
        literal=Literal(([1.0, -2.5, 0.0],), [1.0, 2.5, 0.0]),
        special=[Literal(([-128, -5],), [-128, 5], "int8"), Literal(([-INF, NAN],), [INF, NAN])],
        slopes=[Literal(([0.0, -1.0, 2.0],), [0.0, -1.0, 1.0])],
        rejects=[NO_BOOLS],
    ),
    Case(
        "Sign",
        unary.sign,
        each(lambda x: (x > 0) - (x < 0)),
        [*UNARY, (choice(-1, 0, 1),)],
        dtypes=SIGNED,
        gradient=None,  # none at 0; see the literal below
        literal=Literal(([-0.0, -3.0, INF, 0.5],), [0.0, -1.0, 1.0, 1.0]),
        special=[Literal(([NAN],), [NAN])],
        slopes=[Literal(([1.0, 0.0],), [0.0, 0.0])],
        rejects=[NO_BOOLS],
    ),
    Case(
        "Sign",
        unary.sign,
        each(lambda x: x / abs(x)),
        UNARY,
        note="of complex numbers",
        dtypes=COMPLEXES,
        gradient=None,  # TensorFlow has 0, which is wrong
        literal=Literal(([3 + 4j, 0j],), [0.6 + 0.8j, 0j]),
    ),
    Case(
        "Square",
        unary.square,
        each(lambda x: x * x),
        UNARY,
        dtypes=NUMBERS,
        literal=Literal(([1.0, -2.5, 0.0],), [1.0, 6.25, 0.0]),
        special=[Literal(([100],), [16], "int8"), Literal(([-INF, NAN],), [INF, NAN])],
        rejects=[NO_BOOLS],
    ),
    function(
        "Sqrt",
        unary.sqrt,
        either(math.sqrt, cmath.sqrt),
        [4.0, 0.0, -1.0, INF],
        [2.0, 0.0, NAN, INF],
        (0.3, 3.0),
        slopes=[Literal(([0.0, 4.0],), [INF, 0.25])],
    ),
    function(
        "Rsqrt",
        unary.rsqrt,
        either(lambda x: 1 / math.sqrt(x), lambda x: 1 / cmath.sqrt(x)),
        [4.0, 0.0, -1.0, INF],
        [0.5, INF, NAN, 0.0],
        (0.3, 3.0),
    ),
    function("Reciprocal", unary.reciprocal, each(lambda x: 1 / x), [4.0, 0.0, -INF], [0.25, INF, 0.0], (0.3, 3.0)),
    function(
        "Exp",
        unary.exp,
        either(math.exp, cmath.exp),
        [0.0, 1.0, -INF, 1000.0],
        [1.0, 2.7182817, 0.0, INF],
        special=[Literal(([NAN],), [NAN])],
    ),
    function(
        "Expm1",
        unary.expm1,
        either(math.expm1, lambda x: cmath.exp(x) - 1),
        [0.0, 1e-6, -INF, 1.0],
        [0.0, 1.0000005e-06, -1.0, 1.7182817],
    ),
    function(
        "Log",
        unary.log,
        either(math.log, cmath.log),
        [1.0, 2.7182817, 0.0, -1.0],
        [0.0, 0.99999994, -INF, NAN],
        (0.3, 3.0),
    ),
    function(
        "Log1p",
        unary.log1p,
        either(math.log1p, lambda x: cmath.log(1 + x)),
        [0.0, 1e-6, -1.0, -2.0],
        [0.0, 9.999995e-07, -INF, NAN],
        (-0.6, 3.0),
    ),
    function(
        "Sigmoid SigmoidGrad",
        unary.sigmoid,
        each(logistic),
        [0.0, 1.0, -100.0, 100.0, -INF],
        [0.5, 0.7310586, 3.783506e-44, 1.0, 0.0],
        slopes=[Literal(([0.0, 1.0, -100.0],), [0.25, 0.19661193, 3.783506e-44])],
    ),
    Case(
        "SigmoidGrad",
        unary.sigmoid_grad,
        each(lambda y, dy: dy * y * (1 - y)),
        [((), ()), ((2, 3), (2, 3)), ((0,), (0,))],
        dtypes=INEXACT,
        literal=Literal(([0.5, 0.25], [1.0, 2.0]), [0.25, 0.375]),
        rejects=[Reject(ValueError, ([1.0], [1.0, 2.0]))],
    ),
    # ---- rounding and kinds of numbers
    Case(
        "Floor",
        unary.floor,
        each(math.floor),
        [*UNARY, (HALVES,)],
        gradient=0,
        literal=Literal(([1.5, -1.5, 2.0, INF],), [1.0, -2.0, 2.0, INF]),
        special=[Literal(([NAN],), [NAN])],
        rejects=[NO_INTEGERS],
    ),
    Case(
        "Ceil",
        unary.ceil,
        each(math.ceil),
        [*UNARY, (HALVES,)],
        gradient=0,
        literal=Literal(([1.5, -1.5, 2.0, -INF],), [2.0, -1.0, 2.0, -INF]),
        rejects=[NO_INTEGERS],
    ),
    Case(
        "Rint",
        unary.rint,
        each(round),
        [*UNARY, (HALVES,)],
        gradient=0,
        literal=Literal(([0.5, 1.5, 2.5, -0.5, -1.5],), [0.0, 2.0, 2.0, -0.0, -2.0]),
        rejects=[NO_INTEGERS],
    ),
    Case(
        "Round",
        unary.round,
        each(round),
        [*UNARY, (HALVES,)],
        gradient=0,
        literal=Literal(([0.5, 1.5, 2.5, -0.5, -1.5],), [0.0, 2.0, 2.0, -0.0, -2.0]),
        special=[Literal(([1, -2],), np.array([1, -2], np.int32), "int32")],
        rejects=[],
    ),
    Case(
        "IsNan",
        unary.is_nan,
        each(math.isnan),
        [*UNARY, (choice(NAN, INF, 0.0),)],
        gradient=0,
        literal=Literal(([NAN, INF, -INF, 0.0],), [True, False, False, False]),
        rejects=[NO_INTEGERS],
    ),
    Case(
        "IsInf",
        unary.is_inf,
        each(math.isinf),
        [*UNARY, (choice(NAN, INF, -INF, 0.0),)],
        gradient=0,
        literal=Literal(([NAN, INF, -INF, 0.0],), [False, True, True, False]),
        rejects=[NO_INTEGERS],
    ),
    Case(
        "IsFinite",
        unary.is_finite,
        each(math.isfinite),
        [*UNARY, (choice(NAN, INF, -INF, 0.0),)],
        gradient=0,
        literal=Literal(([NAN, INF, -INF, 0.0],), [False, False, False, True]),
        rejects=[NO_INTEGERS],
    ),
    # ---- circular and hyperbolic functions
    function("Sin", trigonometry.sin, either(math.sin, cmath.sin), [0.0, 1.0, INF], [0.0, 0.84147096, NAN]),
    function("Cos", trigonometry.cos, either(math.cos, cmath.cos), [0.0, 1.0, INF], [1.0, 0.5403023, NAN]),
    function("Tan", trigonometry.tan, either(math.tan, cmath.tan), [0.0, 1.0], [0.0, 1.5574077], (-1.0, 1.0)),
    function(
        "Asin", trigonometry.asin, either(math.asin, cmath.asin), [0.0, 1.0, 2.0], [0.0, 1.5707964, NAN], (-0.8, 0.8)
    ),
    function(
        "Acos", trigonometry.acos, either(math.acos, cmath.acos), [0.0, 1.0, 2.0], [1.5707964, 0.0, NAN], (-0.8, 0.8)
    ),
    function(
        "Atan",
        trigonometry.atan,
        either(math.atan, cmath.atan),
        [0.0, 1.0, INF],
        [0.0, 0.7853982, 1.5707964],
        (-0.8, 0.8),
    ),
    function("Sinh", trigonometry.sinh, either(math.sinh, cmath.sinh), [0.0, 1.0, INF], [0.0, 1.1752012, INF]),
    function("Cosh", trigonometry.cosh, either(math.cosh, cmath.cosh), [0.0, 1.0, -INF], [1.0, 1.5430807, INF]),
    function(
        "Tanh TanhGrad",
        trigonometry.tanh,
        either(math.tanh, cmath.tanh),
        [0.0, 1.0, 100.0, -INF],
        [0.0, 0.7615942, 1.0, -1.0],
        (-1.0, 1.0),
        slopes=[Literal(([0.0, 1.0, 100.0],), [1.0, 0.41997433, 0.0])],
    ),
    Case(
        "TanhGrad",
        trigonometry.tanh_grad,
        each(lambda y, dy: dy * (1 - y * y)),
        [((), ()), ((2, 3), (2, 3)), ((0,), (0,))],
        dtypes=INEXACT,
        literal=Literal(([0.5, 0.25], [1.0, 2.0]), [0.75, 1.875]),
        rejects=[Reject(ValueError, ([1.0], [1.0, 2.0]))],
    ),
    function("Asinh", trigonometry.asinh, either(math.asinh, cmath.asinh), [0.0, 1.0], [0.0, 0.8813736], (-0.8, 0.8)),
    function(
        "Acosh", trigonometry.acosh, either(math.acosh, cmath.acosh), [1.0, 2.0, 0.5], [0.0, 1.316958, NAN], (1.3, 3.0)
    ),
    function(
        "Atanh",
        trigonometry.atanh,
        either(math.atanh, cmath.atanh),
        [0.0, 0.5, 1.0, 2.0],
        [0.0, 0.54930615, INF, NAN],
        (-0.7, 0.7),
    ),
    # ---- special functions
    function(
        "Erf",
        special.erf,
        each(math.erf),
        [-INF, 0.0, 0.5],
        [-1.0, 0.0, 0.5204999],
        dtypes=FLOATS,
        special=[Literal(([NAN],), [NAN])],
    ),
    function("Erfc", special.erfc, each(math.erfc), [-INF, 0.0, 5.0], [2.0, 1.0, 1.537460e-12], dtypes=FLOATS),
    function(
        "Lgamma Digamma Polygamma",
        special.lgamma,
        each(math.lgamma),
        [0.5, -1.5, -1.0, 0.0, INF],
        [0.5723649, 0.86004704, INF, INF, INF],
        (0.4, 3.0),
        dtypes=FLOATS,
    ),
    function(
        "Digamma Polygamma",
        special.digamma,
        each(lambda x: slope(x, math.lgamma)),
        [0.5, -1.5, 0.0, -1.0, INF],
        [-1.9635108, 0.7031568, NAN, NAN, INF],
        (0.4, 3.0),
        dtypes=FLOATS,
        loose=10,
    ),
    Case(
        "Polygamma",
        special.polygamma,
        each(lambda a, x: (-1) ** (a + 1) * math.factorial(int(a)) * zeta_tail(int(a) + 1, x)),
        [(choice(1.0, 2.0), (7,))],
        domain=(0.5, 3.0),
        gradient=None,
        loose=10,
        literal=Literal(([0.0, 1.0, 2.0], [1.5, 1.5, 1.5]), [0.03648996, 0.93480223, -0.8287967]),
    ),
    Case(
        "Polygamma",
        lambda x: special.polygamma([1.0, 2.0, 3.0], x),
        None,
        [((3,),), ((2, 1),)],
        note="of fixed order",
        domain=(0.5, 3.0),
        dtypes="float64",
        literal=Literal(([1.5],), [0.9348022005446793, -0.8287966442343201, 1.4090910340024367], "float64"),
        loose=1e3,
    ),
]
