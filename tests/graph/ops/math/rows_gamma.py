"""Rows of the gamma family and of other special functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from graph.ops.math.rows_elementwise import INF, NAN, NO_INTEGERS, function, slope, zeta_tail
from graph.ops.table import BINARY, FLOATS, UNARY, Case, Literal, Reject, each

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.math import special
from actorflow.graph.ops.math import special as gamma

EITHER = (ValueError, InvalidArgumentError)
WIDE = "float32 float64"


def lower_gamma(a: float, x: float) -> float:
    """P's series Σ x^(a + n) e^-x / Γ(a + n + 1)."""
    return sum(math.exp((a + n) * math.log(x) - x - math.lgamma(a + n + 1)) for n in range(80))


def beta_part(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its hypergeometric series."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    term = total = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    for n in range(200):
        term *= x * (a + b + n) / (a + 1 + n)
        total += term
    return total


def inverse(of: Callable[[float], float], low: float, high: float) -> Callable[[float], float]:
    """The inverse of a rising function, by bisection."""

    def found(y: float) -> float:
        left, right = low, high
        for _ in range(100):
            middle = (left + right) / 2
            left, right = (middle, right) if of(middle) < y else (left, middle)
        return left

    return found


def bessel(order: int, x: float) -> float:
    """exp(-|x|) I_n(x): the mean of exp(x cos t) cos(n t), whose trapezoids are exact for smooth periodic functions."""
    angles = [math.pi * (k + 0.5) / 64 for k in range(64)]
    return sum(math.exp(x * math.cos(t) - abs(x)) * math.cos(order * t) for t in angles) / 64


CASES = [
    Case(
        "Igamma IgammaGradA",
        gamma.igamma,
        each(lower_gamma),
        BINARY,
        domain=(0.4, 3.0),
        gradient=1,
        loose=10,
        literal=Literal(([0.5, 1.0, 2.0, 3.0], [0.5, 2.0, 0.0, INF]), [0.68268955, 0.86466473, 0.0, 1.0]),
        special=[
            Literal(([0.0, -1.0, 1.0, NAN, 1.0], [1.0, 1.0, -1.0, 1.0, NAN]), [NAN] * 5),
            Literal(([20.0, 50.0], [10.0, 60.0]), [0.003454359, 0.91559422]),
        ],
        slopes=[
            Literal(
                ([0.5, 1.0, 20.0, 50.0, 2.0], [0.5, 2.0, 10.0, 60.0, 30.0]),
                (
                    [-0.6472004, -0.22082545, -0.002608232, -0.021284793, 0.0],
                    [0.48394147, 0.13533528, 0.0037321788, 0.019392457, 0.0],
                ),
            ),
            Literal(([2.0, 0.0], [0.0, 1.0]), ([0.0, NAN], [0.0, 0.0])),
        ],
        rejects=[Reject(TypeError, ([1], [1]), dtype="int32"), Reject(ValueError, ([1.0, 2.0], [1.0, 2.0, 3.0]))],
    ),
    Case(
        "Igammac",
        gamma.igammac,
        each(lambda a, x: 1 - lower_gamma(a, x)),
        BINARY,
        domain=(0.4, 3.0),
        gradient=1,
        loose=10,
        literal=Literal(([0.5, 1.0, 2.0, 3.0], [0.5, 2.0, 0.0, INF]), [0.31731045, 0.13533528, 1.0, 0.0]),
        special=[Literal(([0.0, -1.0, 1.0], [1.0, 1.0, -1.0]), [NAN] * 3)],
        slopes=[Literal(([0.5, 1.0], [0.5, 2.0]), ([0.6472004, 0.22082545], [-0.48394147, -0.13533528]))],
    ),
    Case(
        "Igamma",
        lambda x: gamma.igamma(np.array([0.5, 2.0, 30.0]), x),
        lambda x: np.vectorize(lower_gamma)(np.array([0.5, 2.0, 30.0]), x),
        [((3,),), ((2, 1),)],
        note="of a fixed order",
        dtypes="float64",
        domain=(0.4, 3.0),
        literal=Literal(([0.5, 0.5, 20.0],), [0.6826894921370859, 0.09020401043104986, 0.02181821752555721], "float64"),
    ),
    Case(
        "IgammaGradA",
        gamma.igamma_grad_a,
        each(lambda a, x: slope(a, lambda at: lower_gamma(at, x))),
        BINARY,
        domain=(0.4, 3.0),
        gradient=None,  # it has none
        loose=10,
        literal=Literal(([0.5, 1.0, 2.0], [0.5, 2.0, 0.0]), [-0.6472004, -0.22082545, 0.0]),
        special=[Literal(([3.0, -1.0], [INF, 1.0]), [0.0, NAN])],
    ),
    Case(
        "Betainc",
        gamma.betainc,
        each(beta_part),
        [((), (), ()), ((2, 3), (2, 3), (2, 3)), ((), (), (4,)), ((0,), (0,), (0,))],
        dtypes=WIDE,
        domain=((0.5, 3.0), (0.5, 3.0), (0.1, 0.8)),
        gradient=None,
        literal=Literal(([0.5, 2.0, 1.0, 2.0], [0.5, 3.0, 1.0, 2.0], [0.25, 0.5, 0.0, 1.0]), [1 / 3, 0.6875, 0.0, 1.0]),
        special=[Literal(([-1.0], [1.0], [0.5]), [NAN]), Literal((2.0, 3.0, [0.5, 0.25]), [0.6875, 0.26171866])],
        slopes=[
            Literal(
                ([0.5, 2.0, 1.0, 2.0], [0.5, 3.0, 1.0, 2.0], [0.25, 0.5, 0.0, 1.0]),
                (None, None, [0.7351052, 1.5, 1.0, 0.0]),
            )
        ],
        rejects=[
            Reject(EITHER, ([1.0, 2.0], [[1.0], [2.0]], [0.5, 0.5])),
            Reject(TypeError, ([1.0], [1.0], [0.5]), dtype="float16"),
        ],
    ),
    Case(
        "Betainc",
        lambda x: gamma.betainc(np.array(1.5), np.array(2.5), x),
        each(lambda x: beta_part(1.5, 2.5, x)),
        UNARY,
        note="of fixed parameters",
        dtypes="float64",
        domain=(0.1, 0.8),
        literal=Literal(([0.5],), [0.7122065907891938], "float64"),
    ),
    Case(
        "Zeta",
        gamma.zeta,
        each(lambda x, q: zeta_tail(x, q)),
        BINARY,
        dtypes=WIDE,
        domain=((1.5, 4.0), (0.4, 3.0)),
        gradient=None,
        loose=10,
        literal=Literal(([2.0, 3.0, 2.0], [1.0, 0.5, -0.5]), [1.644934, 8.414397, 8.934802]),
        special=[Literal(([1.0, 2.0, 3.0, 0.5, 2.0], [1.0, 0.0, 0.0, 1.0, -1.0]), [INF, INF, NAN, NAN, INF])],
        slopes=[Literal(([1.0, 2.0, 3.0], [1.0, 1.0, 0.5]), (None, [-1.644934, -2.404114, -48.70455]))],
        rejects=[Reject(TypeError, ([2.0], [1.0]), dtype="float16")],
    ),
    Case(
        "Zeta",
        lambda q: gamma.zeta(np.array([2.0, 3.5]), q),
        lambda q: np.vectorize(zeta_tail)(np.array([2.0, 3.5]), q),
        [((2,),), ((3, 1),)],
        note="of fixed powers",
        dtypes="float64",
        domain=(0.4, 3.0),
        literal=Literal(([1.0, 1.0],), [1.6449340668482266, 1.1267338673170566], "float64"),
        loose=1e3,
    ),
    Case(
        "",
        gamma.lbeta,
        lambda x: np.vectorize(math.lgamma)(x).sum(-1) - np.vectorize(math.lgamma, otypes=[float])(x.sum(-1)),
        [((3,),), ((2, 3),), ((2, 1, 2),)],
        note="lbeta",
        domain=(0.4, 3.0),
        loose=10,
        literal=Literal(([[1.0, 2.0, 3.0], [0.5, 0.5, 0.5]],), [-4.0943446, 1.8378772]),
        special=[Literal((np.zeros((2, 0), np.float32),), [-INF, -INF])],
        slopes=[Literal(([1.0, 2.0, 3.0],), [-2.2833335, -1.2833334, -0.7833335])],
        rejects=[Reject(ValueError, (2.0,))],
    ),
    # ---- inverses of distributions
    function(
        "Erfinv",
        special.erfinv,
        each(inverse(math.erf, -5.0, 5.0)),
        [0.0, 0.5, -0.25, 1.0, -1.0, 2.0],
        [0.0, 0.4769363, -0.22531205, INF, -INF, NAN],
        (-0.8, 0.8),
        dtypes=FLOATS,
        slopes=[Literal(([0.0, 0.5, -0.25],), [0.88622695, 1.1125849, 0.9323783])],
    ),
    function(
        "Ndtri",
        special.ndtri,
        each(inverse(lambda y: math.erfc(-y / math.sqrt(2)) / 2, -9.0, 9.0)),
        [0.0, 0.5, 0.25, 1.0, 2.0],
        [-INF, 0.0, -0.6744898, INF, NAN],
        (0.1, 0.9),
        dtypes=FLOATS,
        slopes=[Literal(([0.5, 0.25],), [2.5066283, 3.1468651])],
    ),
    # ---- Bessel functions
    function(
        "BesselI0e",
        special.bessel_i0e,
        each(lambda x: bessel(0, x)),
        [0.0, 1.0, -2.0, 100.0, INF],
        [1.0, 0.46575963, 0.30850834, 0.03994438, 0.0],
        dtypes=FLOATS,
        slopes=[Literal(([0.0, 1.0, -2.0],), [0.0, -0.25784922, 0.093239009])],
    ),
    function(
        "BesselI1e",
        special.bessel_i1e,
        each(lambda x: bessel(1, x)),
        [0.0, 1.0, -2.0, 100.0, INF],
        [0.0, 0.20791042, -0.21526933, 0.039744154, 0.0],
        dtypes=FLOATS,
        slopes=[Literal(([0.0, 1.0, -2.0],), [0.5, 0.049938799, -0.014395654])],
    ),
    function(
        "",
        special.bessel_i0,
        each(lambda x: bessel(0, x) * math.exp(abs(x))),
        [0.0, 1.0, -2.0],
        [1.0, 1.266066, 2.2795854],
        note="bessel_i0",
        dtypes=FLOATS,
        loose=10,
    ),
    function(
        "",
        special.bessel_i1,
        each(lambda x: bessel(1, x) * math.exp(abs(x))),
        [0.0, 1.0, -2.0],
        [0.0, 0.5651591, -1.5906372],
        note="bessel_i1",
        dtypes=FLOATS,
        loose=10,
    ),
    function(
        "",
        special.log_sigmoid,
        each(lambda x: -math.log1p(math.exp(-x))),
        [0.0, -100.0, 100.0],
        [-0.6931472, -100.0, 0.0],
        note="log_sigmoid",
        dtypes=FLOATS,
        rejects=[NO_INTEGERS],
        slopes=[Literal(([0.0, -100.0, 100.0],), [0.5, 1.0, 0.0])],
    ),
]
