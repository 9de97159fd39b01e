"""Rows of gathering from each entry of leading dimensions by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, built, i32, i64, moving, n32
from graph.ops.table import Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError

X = [[3.0, 1.0, 2.0], [0.0, 5.0, -1.0]]
PICKS = i32([2, 0], [1, 1])
BOX = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def gathered(axis: int, batch: int) -> Callable[[Any, Any], Any]:
    def reference(x: Any, indices: Any) -> Any:
        shape = (*x.shape[:axis], *indices.shape[batch:], *x.shape[axis + 1 :])
        width = indices.ndim - batch

        def element(*i: int) -> Any:
            place = indices[(*i[:batch], *i[axis : axis + width])]
            return x[(*i[:axis], place, *i[axis + width :])]

        return built(shape, x, element)

    return reference


def points(x: Any, indices: Any) -> Any:
    depth = indices.shape[-1]
    shape = (*indices.shape[:-1], *x.shape[1 + depth :])
    outer = indices.ndim - 1
    return built(shape, x, lambda *i: x[(i[0], *indices[i[:outer]].tolist(), *i[outer:])])


CASES = [
    moving(
        "GatherV2 UnsortedSegmentSum",
        lambda x, i: af.gather(x, i, batch_dims=1),
        gathered(1, 1),
        [
            ((2, 3), PICKS),
            ((2, 3, 2), i64([2], [0])),
            ((2, 3), i32(1, 2)),
            ((2, 4), np.zeros((2, 0), np.int32)),
            ((0, 3), np.zeros((0, 2), np.int32)),
        ],
        Literal((X, PICKS), [[2, 3], [5, 5]]),
        note="in batches",
        rejects=[
            Reject(InvalidArgumentError, (X, i32([3], [0]))),
            Reject(InvalidArgumentError, (X, i32([-1], [0]))),
            Reject(EITHER, (X, i32([0]))),
            Reject(EITHER, (X, n32(0))),
            Reject(EITHER, (X, PICKS), build=lambda x, i: af.gather(x, i, axis=0, batch_dims=1)),
            Reject(EITHER, (X, PICKS), build=lambda x, i: af.gather(x, i, axis=1, batch_dims=3)),
            Reject(EITHER, (X, PICKS), build=lambda x, i: af.gather(x, i, axis=1, batch_dims=-3)),
        ],
    ),
    moving(
        "GatherV2 UnsortedSegmentSum",
        lambda x, i: af.gather(x, i, axis=2, batch_dims=1),
        gathered(2, 1),
        [((2, 3, 4), PICKS), ((2, 2, 3, 2), i32([[2, 1], [0, 0]], [[1, 1], [2, 2]]))],
        Literal((BOX, PICKS), np.float32([[[2, 0], [6, 4], [10, 8]], [[13, 13], [17, 17], [21, 21]]])),
        note="in batches along a later axis",
    ),
    moving(
        "GatherV2",
        lambda x, i: af.gather(x, i, axis=-1, batch_dims=-1),
        gathered(2, 1),
        [((2, 3, 4), PICKS)],
        Literal((BOX, PICKS), np.float32([[[2, 0], [6, 4], [10, 8]], [[13, 13], [17, 17], [21, 21]]])),
        note="in batches from the end",
        gradient=None,
    ),
    moving(
        "",
        lambda x: af.batch_gather(x, PICKS),
        lambda x: gathered(1, 1)(x, PICKS),
        [((2, 3),), ((2, 3, 2),)],
        Literal((X,), [[2, 3], [5, 5]]),
        note="batch gather",
        rejects=[
            Reject(ValueError, (X,), build=lambda x: af.batch_gather(x, 0)),
            Reject(ValueError, (X,), build=lambda x: af.batch_gather(x, af.placeholder(af.int32))),
        ],
    ),
    moving(
        "",
        lambda x: af.gather_nd(x, [[[2, 1]], [[0, 3]]], batch_dims=1),
        lambda x: points(x, i32([[2, 1]], [[0, 3]])),
        [((2, 3, 4),), ((2, 3, 4, 2),)],
        Literal((BOX,), np.float32([[9], [15]])),
        note="gather_nd in batches",
        rejects=[
            Reject(ValueError, (BOX,), build=lambda x: af.gather_nd(x, [[0]], batch_dims=2)),
            Reject(ValueError, (BOX,), build=lambda x: af.gather_nd(x, af.placeholder(af.int32), batch_dims=1)),
            Reject(InvalidArgumentError, (BOX,), build=lambda x: af.gather_nd(x, [[3], [0]], batch_dims=1)),
        ],
    ),
    moving(
        "",
        lambda x: af.gather_nd(x, np.int64([[2], [0]]), batch_dims=-1),
        lambda x: points(x, i64([2], [0])),
        [((2, 3, 4),), ((2, 3),)],
        Literal((BOX,), np.float32([[8, 9, 10, 11], [12, 13, 14, 15]])),
        note="gather_nd in batches from the end",
    ),
]
