"""Rows of functions that are made of reductions: norms, variances, clipping."""

from __future__ import annotations

import math

import numpy as np
from graph.ops.math.rows_reduction import AXES, EMPTY, INF, NAN, mean, reduced
from graph.ops.table import INTS, REALS, Case, Literal, Reject, each

from actorflow.graph.ops.linalg import norm as linalg_norm
from actorflow.graph.ops.math import clip, statistics


def variance(values: list[float]) -> float:
    return mean([(value - mean(values)) ** 2 for value in values])


def deviation(values: list[float]) -> float:
    return math.sqrt(variance(values))


def euclidean(values: list[float]) -> float:
    return math.hypot(*values)


CASES = [
    Case(
        "",
        statistics.reduce_logsumexp,
        reduced(lambda values: math.log(sum(map(math.exp, values)))),
        AXES,
        note="reduce_logsumexp",
        literal=Literal(([1000.0, 1000.0], np.array(0, np.int32)), 1000.6931),
        special=[
            Literal(([-INF, -INF], np.array(0, np.int32)), -INF),
            Literal(([INF, 0.0], np.array(0, np.int32)), INF),
        ],
        slopes=[Literal(([-INF, 1.0], np.array(0, np.int32)), ([0.0, 1.0], None))],
    ),
    Case(
        "",
        lambda x, axis: [
            statistics.reduce_variance(x, axis),
            statistics.reduce_std(x, axis),
            statistics.reduce_euclidean_norm(x, axis),
        ],
        lambda x, axis: tuple(reduced(f)(x, axis) for f in (variance, deviation, euclidean)),
        AXES[1:4],
        note="reduce_variance reduce_std reduce_euclidean_norm",
        literal=Literal(([3.0, 5.0, 7.0, 1.0], np.array(0, np.int32)), (5.0, 2.236068, 9.165151)),
        rejects=[Reject(TypeError, ([1], np.array(0, np.int32)), dtype="int32")],
    ),
    Case(
        "",
        statistics.reduce_euclidean_norm,
        reduced(lambda values: math.isqrt(sum(value * value for value in values))),
        AXES[1:4],
        note="reduce_euclidean_norm of integers",
        dtypes=INTS,
        gradient=None,
        literal=Literal(([1, 2, 100], np.array(0, np.int32)), np.array(100, np.uint8), "uint8"),
    ),
    Case(
        "",
        statistics.count_nonzero,
        reduced(lambda values: sum(map(bool, values))),
        AXES + EMPTY,
        note="count_nonzero",
        dtypes="int32 bool float32 complex64",
        gradient=0,
        literal=Literal(([[0.0, 2.0], [0.0, 0.0]], np.array(1, np.int32)), np.array([1, 0], np.int64)),
        special=[Literal(([b"", b"a"], np.array(0, np.int32)), np.int64(1), "string")],
    ),
    *[
        Case(
            "",
            lambda x, order=order, axis=axis: linalg_norm.norm(x, order, axis),
            lambda x, order=order, axis=axis: np.linalg.norm(
                x if axis is not None else x.reshape(-1), None if isinstance(order, str) else order, axis
            ),
            [((3, 4),)],
            note=f"norm {order} {axis}".replace("(", "").replace(")", ""),
            dtypes="float32 float64",
            literal=Literal(([[3.0, -4.0], [0.0, 0.0]],), literal),
        )
        for order, axis, literal in [
            ("euclidean", None, 5.0),
            ("euclidean", 1, [5.0, 0.0]),
            ("fro", (0, 1), 5.0),
            (1, 1, [7.0, 0.0]),
            (INF, 1, [4.0, 0.0]),
            (3, 1, [4.4979415, 0.0]),
            (1, (0, 1), 4.0),
            (INF, (0, 1), 7.0),
        ]
    ],
    # ---- clipping
    Case(
        "",
        lambda x: clip.clip_by_value(x, 0, 1),
        each(lambda x: min(max(x, 0), 1)),
        [((),), ((2, 3),), ((0,),)],
        note="clip_by_value",
        dtypes=REALS,
        literal=Literal(([-1.0, 0.0, 0.5, 1.0, 2.0, NAN],), [0.0, 0.0, 0.5, 1.0, 1.0, NAN]),
        slopes=[Literal(([-1.0, 0.0, 0.5, 1.0, 2.0],), [0.0, 1.0, 1.0, 1.0, 0.0])],
        rejects=[Reject(ValueError, (1.0,), build=lambda x: clip.clip_by_value(x, [0.0, 0.0], 1.0))],
    ),
    Case(
        "",
        lambda x: clip.clip_by_norm(x, 1.0),
        lambda x: x / max(1.0, np.sqrt((x * x).sum())),
        [((2, 3),), ((3,),), ((),)],
        note="clip_by_norm",
        domain=(0.7, 2.0),
        literal=Literal(([3.0, 4.0],), [0.6, 0.8]),
        special=[Literal(([0.3, 0.4],), [0.3, 0.4])],
        slopes=[Literal(([0.0, 0.0],), [1.0, 1.0])],
        rejects=[Reject(ValueError, ([[3.0], [4.0]],), build=lambda x: clip.clip_by_norm(x, [1.0, 2.0]))],
    ),
    Case(
        "",
        lambda x: clip.clip_by_average_norm(x, 0.5),
        lambda x: x * 0.5 / max(0.5, np.sqrt((x * x).sum()) / x.size),
        [((2, 3),), ((3,),)],
        note="clip_by_average_norm",
        domain=(2.0, 3.0),
        literal=Literal(([3.0, 4.0],), [0.6, 0.8]),
    ),
    Case(
        "",
        lambda x, y: [*clip.clip_by_global_norm([x, None, y], 1.0)[0][::2], clip.global_norm([x, y])],
        lambda x, y: (
            x / max(1.0, np.sqrt((x * x).sum() + (y * y).sum())),
            y / max(1.0, np.sqrt((x * x).sum() + (y * y).sum())),
            np.sqrt((x * x).sum() + (y * y).sum()),
        ),
        [((2, 3), (3,)), ((), (2,))],
        note="clip_by_global_norm",
        dtypes="float32 float64",
        domain=(0.7, 2.0),
        literal=Literal(([3.0, 0.0], [4.0]), ([0.6, 0.0], [0.8], 5.0)),
        special=[Literal(([INF, 0.0], [4.0]), ([NAN, NAN], [NAN], INF))],
        rejects=[Reject(TypeError, (1.0,), build=lambda x: clip.clip_by_global_norm(x, 1.0))],  # type: ignore[arg-type]
    ),
]
