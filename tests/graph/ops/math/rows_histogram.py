"""Rows of counts and histograms, of orders of elements, and of cumulated exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, i64, n32
from graph.ops.math.rows_elementwise import INF, NAN
from graph.ops.table import INTS, REALS, Case, Literal, Reject

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.math import cumulative as scan
from actorflow.graph.ops.math import histogram as counting
from actorflow.graph.ops.math import statistics

COUNTED = "int32 int64 float32 float64"


def counts_in_bins(values: Any, ends: Any, nbins: Any) -> Any:
    counts = [0] * int(nbins)
    for value in np.ravel(values).tolist():
        place = int((value - ends[0]) // ((ends[1] - ends[0]) / int(nbins)))
        counts[min(max(place, 0), int(nbins) - 1)] += 1
    return np.array(counts)


def confusion(labels: Any, predictions: Any) -> Any:
    side = int(max(labels.max(), predictions.max())) + 1
    return np.array([[((labels == i) & (predictions == j)).sum() for j in range(side)] for i in range(side)])


def cumulated(x: Any, **switches: bool) -> Any:
    """By exponentials, along axis 1."""
    order = x[:, ::-1] if switches.get("reverse") else x
    sums = np.cumsum(np.exp(order), 1)
    if switches.get("exclusive"):
        sums = sums - np.exp(order)
    with np.errstate(divide="ignore"):
        result = np.where(sums < 1e-9, -np.inf, np.log(sums))
    return result[:, ::-1] if switches.get("reverse") else result


CASES = [
    # ---- counts
    Case(
        "Bincount",
        lambda weights, arr, size: counting.bincount_op(arr, size, weights),
        lambda weights, arr, size: np.array(
            [sum(w for a, w in zip(arr.flat, weights.flat) if a == i) for i in range(int(size))]
        ),
        [((4,), i32(1, 1, 3, 0), n32(4)), ((2, 2), np.array([[1, 5], [3, 1]], np.int32), n32(4))],
        dtypes=COUNTED,
        gradient=0,
        literal=Literal(([0.5, 1.0, 2.0, 3.0], i32(1, 1, 3, 0), n32(4)), [3.0, 1.5, 0.0, 2.0]),
        special=[Literal(([], i32(1, 1, 3, 0), n32(2)), [1.0, 2.0])],
        rejects=[
            Reject(EITHER, ([1.0], i32(1), n32(-1))),
            Reject(InvalidArgumentError, ([1.0], i32(-1), n32(2))),
            Reject(InvalidArgumentError, ([0.5], i32(1, 1), n32(2))),
            Reject(TypeError, ([0.5], i32(1), n32(2)), dtype="float16"),
        ],
    ),
    Case(
        "",
        lambda arr: [
            counting.bincount(arr),
            counting.bincount(arr, minlength=6),
            counting.bincount(arr, maxlength=2, dtype="float32"),
            counting.bincount(arr, weights=[0.5, 1.0, 2.0, 3.0]),
        ],
        None,
        [(i32(1, 1, 3, 0),)],
        note="bincount",
        dtypes="int32",
        static=False,
        gradient=0,
        literal=Literal(
            (i32(1, 1, 3, 0),),
            (
                i32(1, 2, 0, 1),
                i32(1, 2, 0, 1, 0, 0),
                np.array([1, 2], np.float32),
                np.array([3.0, 1.5, 0.0, 2.0], np.float32),
            ),
        ),
    ),
    Case(
        "",
        counting.bincount,
        lambda x: np.zeros(0),
        [((0,),)],
        note="bincount of nothing",
        dtypes="int32",
        static=False,
        gradient=0,
        literal=Literal((np.zeros((2, 0), np.int32),), np.zeros(0, np.int32)),
        rejects=[Reject(InvalidArgumentError, ([1, -1],))],
    ),
    Case(
        "HistogramFixedWidth",
        lambda values, ends, nbins: counting.histogram_fixed_width(values, ends, nbins),
        counts_in_bins,
        [((20,), lambda rng, dtype: np.array([-2, 2], dtype.numpy_dtype), n32(4))],
        dtypes=COUNTED,
        gradient=0,
        literal=Literal(([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0], n32(5)), i32(2, 1, 1, 0, 2)),
        special=[
            Literal(([-1, 0, 1, 2, 5, 15], [0, 5], n32(5)), i32(2, 1, 1, 0, 2), "int64"),
            Literal(([INF, -INF, 1.0], [0.0, 5.0], n32(5)), i32(1, 1, 0, 0, 1)),
        ],
        rejects=[
            Reject(InvalidArgumentError, ([-1.0, 0.0], [5.0, 5.0], n32(5))),
            Reject(InvalidArgumentError, ([NAN], [0.0, 5.0], n32(5))),
            Reject(EITHER, ([1.0], [0.0, 5.0], n32(0))),
            Reject(EITHER, ([1.0], [0.0, 5.0, 6.0], n32(5))),
        ],
    ),
    Case(
        "",
        lambda values: counting.histogram_fixed_width(values, [0.0, 5.0], 5, dtype="int64"),
        None,
        [((3,),)],
        note="histogram_fixed_width as int64",
        dtypes="float32",
        gradient=0,
        literal=Literal(([-1.0, 0.0, 1.5],), i64(2, 1, 0, 0, 0)),
    ),
    Case(
        "",
        lambda values, ends: counting.histogram_fixed_width_bins(values, ends, 5),
        None,
        [((2, 3), lambda rng, dtype: np.array([0, 5], dtype.numpy_dtype))],
        note="histogram_fixed_width_bins",
        dtypes=COUNTED,
        gradient=None,
        literal=Literal(([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], [0.0, 5.0]), i32(0, 0, 1, 2, 4, 4)),
    ),
    Case(
        "",
        counting.confusion_matrix,
        confusion,
        [((6,), (6,))],
        note="confusion_matrix",
        dtypes=INTS,
        domain=(0.0, 3.0),
        static=False,
        gradient=0,
        literal=Literal(
            ([1, 2, 4], [2, 2, 4]),
            np.array([[0] * 5, [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0] * 5, [0, 0, 0, 0, 1]], np.int32),
            "int32",
        ),
        rejects=[Reject(InvalidArgumentError, ([1, -2], [2, 2]), dtype="int32")],
    ),
    Case(
        "",
        lambda labels, predictions: [
            counting.confusion_matrix(labels, predictions, 3, "float32", weights=[1.0, 2.0, 0.5]),
            counting.confusion_matrix([1, 0, 1], [[0], [0], [1]]),
        ],
        None,
        [(i32(1, 0, 1), i32(0, 0, 1))],
        note="confusion_matrix with weights",
        dtypes="int32",
        static=False,
        gradient=0,
        literal=Literal(
            (i32(1, 0, 1), i32(0, 0, 1)),
            (
                np.array([[2.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0]], np.float32),
                np.array([[1, 0], [1, 1]], np.int32),
            ),
        ),
        rejects=[Reject(InvalidArgumentError, ([1, 3, 0], [2, 2, 0]))],
    ),
    # ---- orders of elements, and sums of exponentials
    *[
        Case(
            "",
            build,
            lambda x, compare=compare: all(compare(a, b) for a, b in zip(x.flat, list(x.flat)[1:])),
            [((),), ((0,),), ((2,),), ((2, 2),)],
            note=build.__name__,
            dtypes=REALS,
            gradient=0,
            literal=Literal(([1.0, 1.0, 2.0],), tied),
            special=[Literal(([2.0, 1.0],), False), Literal(([[1.0, 2.0], [3.0, 4.0]],), True), Literal((1.0,), True)],
        )
        for build, compare, tied in [
            (statistics.is_non_decreasing, lambda a, b: a <= b, True),
            (statistics.is_strictly_increasing, lambda a, b: a < b, False),
        ]
    ],
    *[
        Case(
            "CumulativeLogsumexp",
            lambda x, axis, switches=switches: scan.cumulative_logsumexp(x, axis, **switches),
            lambda x, axis, switches=switches: cumulated(x, **switches),
            [((2, 4), n32(1)), ((2, 3), n32(-1)), ((0, 3), n32(1))],
            note=" ".join(switches),
            gradient=None if switches.get("exclusive") else 2,  # no differences of -inf
            loose=2,
            literal=literal,
            special=special,
            slopes=slopes,
            rejects=[Reject(EITHER, ([1.0, 2.0], n32(3)))],
        )
        for switches, literal, special, slopes in [
            (
                {},
                Literal(([1.0, 2.0, -INF, 0.5], n32(0)), [1.0, 2.3132617, 2.3132617, 2.4643688]),
                [Literal(([-INF, -INF, 1000.0], n32(0)), [-INF, -INF, 1000.0])],
                [Literal(([1.0, 2.0, -INF, 0.5], n32(0)), ([1.7691067, 2.0906489, 0.0, 0.14024438], None))],
            ),
            (
                {"exclusive": True},
                Literal(([1.0, 2.0, 0.5], n32(0)), [-INF, 1.0, 2.3132617]),
                [],
                [Literal(([1.0, 2.0, 0.5], n32(0)), ([1.2689414, 0.73105854, 0.0], None))],
            ),
            ({"reverse": True}, Literal(([[1.0, 2.0, 0.5]], n32(1)), [[2.4643688, 2.2014134, 0.5]]), [], []),
        ]
    ],
]
