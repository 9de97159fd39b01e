"""Rows of ops that look at the values of elements: order, sets, permutations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, built, i32, i64, moving, n32, n64
from graph.ops.table import REALS, Case, Literal, Reject

import actorflow as af
from actorflow import nn
from actorflow.base.dtypes import DType
from actorflow.errors import InvalidArgumentError

INF, NAN = math.inf, math.nan
ORDERED = f"{REALS} bool string"

M = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

# ---- by value


def largest(k: int) -> Callable[..., Any]:
    def reference(x: Any) -> Any:
        order = built(
            (*x.shape[:-1], k),
            np.int32(0),
            lambda *i: sorted(range(x.shape[-1]), key=lambda n: (-x[(*i[:-1], n)].astype(object), n))[i[-1]],
        )
        return np.take_along_axis(x, order.astype(np.int64), -1), order

    return reference


def among(predictions: Any, targets: Any, k: Any) -> Any:
    def one(row: list[float], target: int) -> bool:
        if not all(map(math.isfinite, row)) or not 0 <= target < len(row):
            return False
        return sum(p > row[target] for p in row) < k

    return np.array([one(row, int(t)) for row, t in zip(predictions.tolist(), targets)])


def distinct(x: Any) -> tuple[Any, Any, Any]:
    values: list[Any] = []
    which = []
    for v in x.tolist():
        if v not in values:
            values.append(v)
        which.append(values.index(v))
    y = np.empty(len(values), x.dtype)
    y[:] = values
    return y, np.array(which, np.int64), np.array([which.count(i) for i in range(len(values))], np.int64)


def missing(x: Any, y: Any) -> tuple[Any, Any]:
    kept = [i for i, v in enumerate(x.tolist()) if v not in y.tolist()]
    return built((len(kept),), x, lambda i: x[kept[i]]), np.array(kept, np.int32)


def repeats(rng: np.random.Generator, dtype: DType) -> Any:
    """A vector of eight, with repetitions."""
    if dtype.kind == "S":
        return np.array([b"a", b"", b"b", b"bc"], object)[rng.integers(0, 4, 8)]
    return np.asarray(rng.integers(0, 2 if dtype.is_bool else 4, 8)).astype(dtype.numpy_dtype)


def reversed_sequences(x: Any, lengths: Any, along: int, batch: int) -> Any:
    def element(*index: int) -> Any:
        end = int(lengths[index[batch]])
        at = index[along]
        return x[(*index[:along], end - 1 - at if at < end else at, *index[along + 1 :])]

    return built(x.shape, x, element)


PREDICTIONS = np.float32([[0.1, 0.3, 0.2], [0.4, 0.4, 0.1], [NAN, 1, 2], [INF, 1, 2]])
CASES = [
    *(
        Case(
            "TopKV2",
            lambda x, k=k: tuple(nn.top_k(x, k)),
            largest(k),
            [((4,),), ((2, 5),), ((2, 2, 4),)],
            Literal(([1.0, 3.0, 3.0, 2.0],), (np.float32([3, 3, 2, 1][:k]), i32(*[1, 2, 3, 0][:k]))),
            dtypes=REALS,
            exact=True,
            domain=(-30, 30),
            note=str(k),
            special=[
                Literal(
                    (np.array([-128, 5, 127, -128], np.int8),),
                    (np.array([127, 5, -128, -128][:k], np.int8), i32(*[2, 1, 0, 3][:k])),
                )
            ],
            rejects=[
                Reject(EITHER, (np.zeros(k - 1),)),
                Reject(EITHER, (1.0,)),
                Reject(TypeError, ([True] * 4,), dtype="bool"),
            ],
        )
        for k in (1, 3, 4)
    ),
    Case(
        "TopKV2",
        lambda x, k: tuple(nn.top_k(x, k)),
        lambda x, k: largest(int(k))(x),
        [((2, 5), n32(2)), ((3,), n32(0))],
        Literal(([[1.0, 2.0], [4.0, 3.0]], n32(1)), ([[2], [4]], i32([1], [0]))),
        note="k as a tensor",
        gradient=None,
        rejects=[Reject(EITHER, ([1.0], n32(-1))), Reject(EITHER, ([1.0], n32(2)))],
    ),
    Case(
        "InTopKV2",
        nn.in_top_k,
        among,
        [((4, 5), i32(0, 1, 4, 3), n32(2)), ((2, 3), i64(2, 2), n64(1)), ((0, 3), np.zeros(0, np.int32), n32(1))],
        Literal((PREDICTIONS, i32(2, 1, 2, 2), n32(2)), np.array([True, True, False, False])),
        dtypes="float32",
        special=[Literal((PREDICTIONS, i32(3, -1, 0, 0), n32(9)), np.array([False] * 4))],
        rejects=[
            Reject(EITHER, (PREDICTIONS, i32(0, 1), n32(1))),
            Reject(EITHER, (np.float32([1, 2]), i32(0), n32(1))),
            Reject(TypeError, (np.zeros((1, 2)), i32(0), n32(1))),
        ],
        gradient=0,
    ),
    Case(
        "Unique",
        lambda x: tuple(af.unique(x, out_idx="int64")),
        lambda x: distinct(x)[:2],
        [(repeats,), ((0,),)],
        Literal((i64(4, 1, 4, 2, 1),), (i64(4, 1, 2), i64(0, 1, 0, 2, 1))),
        dtypes=ORDERED,
        exact=True,
        static=False,
        special=[
            Literal((np.array([b"b", b"a", b"b"], object),), (np.array([b"b", b"a"], object), i64(0, 1, 0))),
            Literal(([NAN, 1.0, NAN],), ([NAN, 1.0, NAN], i64(0, 1, 2))),
        ],
        rejects=[Reject(EITHER, (np.zeros((2, 2)),)), Reject(TypeError, ([1j],), dtype="complex64")],
        gradient=0,
    ),
    Case(
        "UniqueWithCounts",
        lambda x: tuple(af.unique_with_counts(x, out_idx="int64")),
        distinct,
        [(repeats,), ((0,),)],
        Literal((i32(1, 1, 2),), (i32(1, 2), i64(0, 0, 1), i64(2, 1))),
        dtypes=ORDERED,
        exact=True,
        static=False,
        gradient=0,
    ),
    Case(
        "ListDiff",
        lambda x, y: tuple(af.setdiff1d(x, y)),
        missing,
        [(repeats, (2,)), ((3,), (0,)), ((0,), (2,))],
        Literal((i32(1, 2, 3, 2, 5), i32(2, 7)), (i32(1, 3, 5), i32(0, 2, 4))),
        dtypes=ORDERED,
        domain=(0, 4),
        exact=True,
        static=False,
        rejects=[Reject(EITHER, (np.zeros((2, 2)), np.zeros(2))), Reject(TypeError, (i32(1), i64(1)))],
        gradient=0,
    ),
    Case(
        "InvertPermutation",
        af.invert_permutation,
        lambda x: np.array([x.tolist().index(i) for i in range(len(x))]),
        [(i32(2, 0, 1),), (i64(0, 1),), (np.zeros(0, np.int32),)],
        Literal((i32(3, 0, 2, 1),), i32(1, 3, 2, 0)),
        dtypes="int32",
        rejects=[
            *(Reject(InvalidArgumentError, (i32(*x),)) for x in ((0, 0, 1), (0, 3, 1), (-1, 0))),
            Reject(EITHER, (i32([0]),)),
            Reject(TypeError, (np.float32([0]),)),
        ],
    ),
    *(
        moving(
            "ReverseSequence",
            lambda x, lengths, s=along, b=batch: af.reverse_sequence(x, lengths, s, b),
            lambda x, lengths, s=along, b=batch: reversed_sequences(x, lengths, s, b),
            [(shape, i32(3, 0)), (shape, i64(1, 2))],
            literal,
            note=f"{along} by {batch}",
            rejects=[Reject(InvalidArgumentError, (np.zeros((2, 2, 2)), i32(*n))) for n in ((3, 1), (-1, 1))]
            + [Reject(EITHER, (np.zeros((2, 2, 2)), i32(1, 1, 1)))],
        )
        for along, batch, shape, literal in (
            (1, 0, (2, 3, 2), Literal((M, i32(2, 3)), [[2, 1, 3], [6, 5, 4]])),
            (0, 1, (4, 2), Literal(([[1.0, 2.0], [3.0, 4.0]], i32(1, 2)), [[1, 4], [3, 2]])),
        )
    ),
]
