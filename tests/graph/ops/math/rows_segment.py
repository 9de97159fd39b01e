"""Rows of reductions over groups of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, i64
from graph.ops.table import FLOATS, NUMBERS, REALS, Case, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError


def grouped(function: Callable[[list[Any]], Any], count: int | None = None) -> Callable[..., Any]:
    def reference(data: Any, ids: Any) -> Any:
        length = count if count is not None else int(ids[-1]) + 1 if ids.size else 0
        members = [[i for i in np.ndindex(*ids.shape) if ids[i] == s] for s in range(length)]
        result = np.empty((length, *data.shape[ids.ndim :]), object)
        for index in np.ndindex(*result.shape):
            result[index] = function([data[(*i, *index[1:])].item() for i in members[index[0]]])
        return result

    return reference


def mean(values: list[Any]) -> Any:
    total = sum(values) / len(values) if values else 0
    return math.trunc(total) if values and isinstance(values[0], int) else total


def segment_row(name: str, function: Callable[[list[Any]], Any], literal: list[list[float]], **more: Any) -> Case:
    return Case(
        name,
        getattr(af, f"segment_{name[7:].lower()}"),
        grouped(function),
        [
            ((4, 2), i32(0, 0, 2, 2)),
            ((3,), i64(0, 1, 1)),
            ((4,), i32(1, 1, 1, 4)),
            ((0, 2), np.zeros(0, np.int32)),
            ((2, 0), i32(0, 1)),
        ],
        Literal(([[1.0, 2.0], [3.0, 4.0], [5.0, -6.0]], i32(0, 0, 2)), literal),
        **{"dtypes": REALS, **more},
        rejects=[
            Reject(InvalidArgumentError, ([1.0, 2.0], i32(1, 0))),
            Reject(InvalidArgumentError, ([1.0, 2.0], i32(-1, 0))),
            Reject(EITHER, ([1.0, 2.0], i32(0))),
            Reject(EITHER, ([[1.0]], i32([0]))),
            Reject(EITHER, (1.0, i32(0))),
        ],
    )


def unsorted_row(name: str, function: Callable[[list[Any]], Any], literal: list[float], **more: Any) -> Case:
    build = getattr(af, f"unsorted_segment_{name[15:].lower()}")
    return Case(
        name,
        lambda data, ids: build(data, ids, 3),
        grouped(function, 3),
        [((5, 2), i32(2, 0, -1, 0, 1)), ((2, 3, 2), i64([0, 1, 2], [1, 0, 0])), ((4,), i32(0, 1, 2, 2))],
        Literal(([1.0, 2.0, 4.0, 8.0], i32(2, 0, -1, 2)), literal),
        **{"dtypes": NUMBERS, **more},
        rejects=[
            Reject(InvalidArgumentError, ([1.0, 2.0], i32(0, 3))),
            Reject(EITHER, ([1.0, 2.0], i32(0, 1, 2))),
            Reject(ValueError, ([1.0], i32(0)), build=lambda d, i: build(d, i, -1)),
        ],
    )


CASES = [
    segment_row("SegmentSum", sum, [[4, 6], [0, 0], [5, -6]], dtypes=NUMBERS),
    segment_row("SegmentMean", mean, [[2, 3], [0, 0], [5, -6]], dtypes=f"int32 int64 {FLOATS}"),
    segment_row("SegmentProd", math.prod, [[3, 8], [1, 1], [5, -6]], domain=(0.5, 2)),
    segment_row("SegmentMax", lambda v: max(v, default=0), [[3, 4], [0, 0], [5, -6]]),
    segment_row("SegmentMin", lambda v: min(v, default=0), [[1, 2], [0, 0], [5, -6]]),
    unsorted_row("UnsortedSegmentSum", sum, [2, 0, 9]),
    unsorted_row("UnsortedSegmentMax", max, [2, -3.4028235e38, 8], dtypes=REALS),
    unsorted_row("UnsortedSegmentMin", min, [2, 3.4028235e38, 1], dtypes=REALS),
    Case(
        "UnsortedSegmentSum RealDiv",
        lambda data, ids: af.unsorted_segment_mean(data, ids, 3),
        grouped(lambda values: sum(values) / len(values) if values else 0, 3),
        [((5, 2), i32(2, 0, -1, 0, 2))],
        Literal(([1.0, 2.0, 4.0, 8.0], i32(2, 0, -1, 2)), [2, 0, 4.5]),
        special=[
            Literal(([127, -3, 4, 120], i32(2, 0, -1, 2)), np.array([-3, 0, 123.5], np.float32), "int8"),
            Literal(([2**31 - 1, 7, 4, 2**31 - 2], i32(2, 0, -1, 2)), np.array([7, 0, 2**31 - 1.5]), "int32"),
        ],
        dtypes=NUMBERS,
        note="mean",
    ),
]
