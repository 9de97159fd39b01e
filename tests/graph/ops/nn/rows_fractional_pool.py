"""Rows of the gradients of pools whose windows have random sizes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from graph.ops.arrays import i64
from graph.ops.table import Case, Literal, Reject

from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.nn.pooling import fractional as ops

X = np.array([[5, 0, 3, 3, 7], [3, 5, 2, 4, 7], [6, 8, 8, 1, 6], [7, 7, 8, 1, 5], [8, 4, 3, 0, 3]], np.float32).reshape(
    1, 5, 5, 1
)
BORDERS = i64(0, 2, 3, 5)
DY = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3, 1)


def windows(borders: Any, overlapping: bool) -> Any:
    """For each window its rows (or columns)."""
    return [range(a, min(b + overlapping, borders[-1])) for a, b in itertools.pairwise(borders.tolist())]


def maxima(overlapping: bool) -> Any:
    spans = windows(BORDERS, overlapping)
    return np.array([[X[0, r[0] : r[-1] + 1, c[0] : c[-1] + 1].max() for c in spans] for r in spans]).reshape(
        1, 3, 3, 1
    )


def of_mean(overlapping: bool) -> Any:
    def reference(shape: Any, dy: Any, rows: Any, columns: Any) -> Any:
        made = np.zeros(shape, dy.dtype)
        for (i, r), (j, c) in itertools.product(
            enumerate(windows(rows, overlapping)), enumerate(windows(columns, overlapping))
        ):
            for y, x in itertools.product(r, c):
                made[:, y, x] += dy[:, i, j] / (len(r) * len(c))
        return made

    return reference


MAXIMUM = {
    False: [[1, 0, 2, 0, 3], [0] * 5, [0, 4, 5, 0, 6], [0, 0, 8, 0, 9], [7, 0, 0, 0, 0]],
    True: [[0, 0, 0, 0, 3], [0] * 5, [0, 5, 7, 0, 6], [0, 0, 15, 0, 9], [0] * 5],
}
MEAN = {
    False: [[0.25, 0.25, 1, 0.75, 0.75]] * 2 + [[2, 2, 5, 3, 3]] + [[1.75, 1.75, 4, 2.25, 2.25]] * 2,
    True: [
        *[[1 / 9, 1 / 9, 4 / 9, 5 / 6, 0.5]] * 2,
        [7 / 9, 7 / 9, 85 / 36, 43 / 12, 2],
        [11 / 6, 11 / 6, 61 / 12, 7, 3.75],
        [7 / 6, 7 / 6, 19 / 6, 4.25, 2.25],
    ],
}


def image(rows: Any) -> Any:
    return np.array(rows, np.float32).reshape(1, 5, 5, 1)


CASES = [
    row
    for overlapping in (False, True)
    for row in (
        Case(
            "FractionalMaxPoolGrad",
            lambda x, y, dy, r, c, o=overlapping: ops.fractional_max_pool_grad(x, y, dy, r, c, overlapping=o),
            None,
            [(X, maxima(overlapping), DY, BORDERS, BORDERS)],
            Literal((X, maxima(overlapping), DY, BORDERS, BORDERS), image(MAXIMUM[overlapping])),
            dtypes="float32 float64 int32 int64",
            gradient=0,
            note="overlapping" if overlapping else "",
            rejects=[Reject(InvalidArgumentError, (X, DY, DY[:, :2], BORDERS, BORDERS))],
        ),
        Case(
            "FractionalAvgPoolGrad",
            lambda s, dy, r, c, o=overlapping: ops.fractional_avg_pool_grad(s, dy, r, c, overlapping=o),
            of_mean(overlapping),
            [(i64(2, 5, 7, 3), (2, 3, 2, 3), BORDERS, i64(0, 3, 7))],
            Literal((i64(1, 5, 5, 1), DY, BORDERS, BORDERS), image(MEAN[overlapping])),
            dtypes="float32 float64",
            gradient=None,
            note="overlapping" if overlapping else "",
            rejects=[Reject(InvalidArgumentError, (i64(1, 5, 5, 1), DY[:, :2], BORDERS, BORDERS))],
        ),
    )
]
