"""Rows of fake quantization. Its gradient is not that of the staircase that it is, so TensorFlow's slopes stand for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER
from graph.ops.table import Case, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError

NAN, INF = math.nan, math.inf
X = [-8.0, -6.5, -6.0, -0.1, 0.0, 0.02, 0.03, 3.3, 5.99, 6.0, 7.0, NAN, INF]
LEFT = [-6.0235295, -6.0235295, -5.9764705, -0.09411765, 0, 0, 0.047058824, 3.2941177]
ROUNDED = [*LEFT, 5.9764705, 5.9764705, 5.9764705, NAN, 5.9764705]
INSIDE = [0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
UP = [float(i) for i in range(13)]
PASSED = [0, 0, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0]
M = [[1.0, 2.0, 3.0], [-4.0, 5.0, 0.5]]
LOW, HIGH = np.float32(-6.0), np.float32(6.0)
UPPER = np.float32([1.5, 4.0])
LOWS, HIGHS = np.float32([-1.0, -2.0, 0.0]), np.float32([1.0, 4.0, 0.0])


def bounds(low: float, high: float, num_bits: int, narrow: bool) -> tuple[float, float, float]:
    """The range moved so that zero is one of its steps, and the step."""
    least, most = int(narrow), 2**num_bits - 1
    step = (high - low) / (most - least)
    zero = min(max(math.floor(least - low / step + 0.5), least), most)
    return (least - zero) * step, (most - zero) * step, step


def rounded(low: float, high: float, num_bits: int = 8, narrow: bool = False) -> Callable[..., Any]:
    first, last, step = bounds(low, high, num_bits, narrow)

    def one(v: float) -> float:
        return math.floor((min(max(v, first), last) - first) / step + 0.5) * step + first

    return lambda x, *_: np.vectorize(one, otypes=[float])(x) if x.size else x


def passed(low: float, high: float) -> Callable[..., Any]:
    first, last, _ = bounds(low, high, 8, False)
    return lambda dy, x, *_: np.where((x >= first) & (x <= last), dy, 0)


def passed_and_rest(dy: Any, x: Any, low: Any, high: Any) -> Any:
    first, last, _ = bounds(float(low), float(high), 8, False)
    return passed(float(low), float(high))(dy, x), dy[x < first].sum(), dy[x > last].sum()


def by_channel(low: Any, high: Any) -> Callable[..., Any]:
    def reference(x: Any, *_: Any) -> Any:
        return np.stack([rounded(float(a), float(b))(x[..., i]) for i, (a, b) in enumerate(zip(low, high))], axis=-1)

    return reference


def passed_by_channel(dy: Any, x: Any, low: Any, high: Any) -> Any:
    parts = [passed_and_rest(dy[..., i], x[..., i], low[i], high[i]) for i in range(x.shape[-1])]
    return tuple(np.stack(part, axis=-1) for part in zip(*parts))


def row(op: str, build: Any, reference: Any, args: Any, literal: Literal, **more: Any) -> Case:
    return Case(
        op, build, reference, args, literal, **{"dtypes": "float32", "domain": (-8.0, 8.0), "gradient": None, **more}
    )


def args_like(**settings: Any) -> Callable[..., Any]:
    return lambda x: af.fake_quant_with_min_max_args(x, **settings)


BAD_BITS = [1, 17]
CASES = [
    row(
        "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient",
        af.fake_quant_with_min_max_args,
        rounded(-6.0, 6.0),
        [((20,),), ((2, 3),), ((),), ((0,),)],
        Literal((X,), ROUNDED),
        slopes=[Literal((X,), INSIDE)],
        rejects=[
            Reject(TypeError, (np.float64([1.0]),)),
            Reject(InvalidArgumentError, (X,), build=args_like(min=1.0, max=1.0)),
            *(Reject(InvalidArgumentError, (X,), build=args_like(num_bits=n)) for n in BAD_BITS),
        ],
    ),
    row(
        "FakeQuantWithMinMaxArgs",
        args_like(min=0.3, max=5.0, num_bits=4, narrow_range=True),
        rounded(0.3, 5.0, 4, True),
        [((20,),)],
        Literal((X,), [0, 0, 0, 0, 0, 0, 0, 3.3571429, 4.7, 4.7, 4.7, NAN, 4.7]),
        note="narrow",
    ),
    row(
        "FakeQuantWithMinMaxArgs",
        args_like(min=-5.0, max=-1.0, num_bits=3),
        rounded(-5.0, -1.0, 3),
        [((20,),)],
        Literal((X,), [-4, -4, -4, 0, 0, 0, 0, 0, 0, 0, 0, NAN, 0]),
        note="below zero",
    ),
    row(
        "FakeQuantWithMinMaxArgsGradient",
        af.fake_quant_with_min_max_args_gradient,
        passed(-6.0, 6.0),
        [((20,), (20,)), ((2, 3), (2, 3))],
        Literal((UP, X), PASSED),
        rejects=[
            Reject(EITHER, ([1.0], X)),
            Reject(
                InvalidArgumentError,
                (UP, X),
                build=lambda d, x: af.fake_quant_with_min_max_args_gradient(d, x, min=7.0),
            ),
        ],
    ),
    row(
        "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient",
        af.fake_quant_with_min_max_vars,
        rounded(-6.0, 6.0),
        [((20,), LOW, HIGH), ((2, 3), LOW, HIGH), ((), LOW, HIGH), ((0,), LOW, HIGH)],
        Literal((X, LOW, HIGH), ROUNDED),
        special=[Literal((X, np.float32(0.0), np.float32(0.0)), [0.0] * 13)],
        slopes=[Literal((X, -6.0, 6.0), (INSIDE, 2, 4))],
        rejects=[
            Reject(EITHER, (X, np.float32([1.0]), np.float32([2.0]))),
            Reject(TypeError, (np.float64(X), LOW, HIGH)),
            *(
                Reject(
                    InvalidArgumentError,
                    (X, LOW, HIGH),
                    build=lambda x, a, b, n=n: af.fake_quant_with_min_max_vars(x, a, b, num_bits=n),
                )
                for n in BAD_BITS
            ),
        ],
    ),
    row(
        "FakeQuantWithMinMaxVarsGradient",
        af.fake_quant_with_min_max_vars_gradient,
        passed_and_rest,
        [((20,), (20,), LOW, HIGH), ((2, 3), (2, 3), LOW, HIGH), ((), (), LOW, HIGH)],
        Literal((UP, X, LOW, HIGH), (PASSED, 1, 39)),
        special=[Literal((UP, X, np.float32(0.0), np.float32(0.0)), (UP, 0, 0))],
        rejects=[Reject(EITHER, ([1.0], X, LOW, HIGH)), Reject(EITHER, (UP, X, np.float32([1.0]), HIGH))],
    ),
    row(
        "FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient",
        af.fake_quant_with_min_max_vars_per_channel,
        by_channel([-1.0, -2.0], [1.5, 4.0]),
        [((5, 2), LOWS[:2], UPPER), ((2,), LOWS[:2], UPPER), ((3, 2, 2), LOWS[:2], UPPER)],
        Literal((M, LOWS, np.float32([1.0, 6.0, 0.0])), [[1.0039216, 2.0078433, 0.0], [-0.99607843, 4.9882355, 0.0]]),
        special=[Literal(([1.0, 2.0], np.float32([-1.0, 0.0]), np.float32([1.0, 1.0])), [1.0039216, 1.0])],
        slopes=[Literal((M, LOWS.tolist(), HIGHS.tolist()), ([[1, 1, 1], [0, 0, 1]], [1, 0, 0], [0, 1, 0]))],
        rejects=[
            Reject(EITHER, (M, LOWS[:2], HIGHS[:2])),
            Reject(EITHER, (1.0, LOWS[:1], HIGHS[:1])),
        ],
    ),
    row(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        af.fake_quant_with_min_max_vars_per_channel_gradient,
        passed_by_channel,
        [((5, 2), (5, 2), LOWS[:2], HIGHS[:2]), ((2,), (2,), LOWS[:2], HIGHS[:2])],
        Literal((M, M, LOWS, HIGHS), ([[1, 2, 3], [0, 0, 0.5]], [-4, 0, 0], [0, 5, 0])),
        rejects=[Reject(EITHER, (M[:1], M, LOWS, HIGHS)), Reject(EITHER, (M, M, LOWS[:2], HIGHS[:2]))],
    ),
]
