"""Rows of ops that look at the values of elements: order, sets, permutations; and of reductions over groups of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from ops.arrays import EITHER, built, i32, i64, moving, n32, n64
from ops.table import FLOATS, NUMBERS, REALS, Case, Literal, Reject

import actorflow as af
from actorflow import nn
from actorflow.dtypes import DType
from actorflow.errors import InvalidArgumentError
from actorflow.ops.flow.numerics import add_check_numerics_ops, verify_tensor_all_finite
from actorflow.ops.math.elementwise import log

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


def banded(x: Any, lower: Any, upper: Any) -> Any:
    def element(*index: int) -> Any:
        below = index[-2] - index[-1]
        return x[index] if (lower < 0 or below <= lower) and (upper < 0 or -below <= upper) else 0

    return built(x.shape, x, element)


def all_checked(x: Any) -> Any:
    """A square after checks of all tensors, of which the logarithm of -1 is none."""
    log(x, name="bad_log")
    with x.graph.control_dependencies([add_check_numerics_ops()]):
        return x * x


PREDICTIONS = np.float32([[0.1, 0.3, 0.2], [0.4, 0.4, 0.1], [NAN, 1, 2], [INF, 1, 2]])
VALUES = [
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
    moving(
        "MatrixBandPart",
        af.matrix_band_part,
        banded,
        [((3, 4), n64(lower), n32(upper)) for lower, upper in ((0, 0), (1, -1), (-1, 2), (3, 4))]
        + [((2, 3, 3), n32(1), n32(0))],
        Literal((np.ones((3, 3), np.float32), n64(0), n64(1)), np.float32([[1, 1, 0], [0, 1, 1], [0, 0, 1]])),
        dtypes=f"{NUMBERS} bool",
        rejects=[
            Reject(InvalidArgumentError, (np.zeros((2, 3)), n32(3), n32(0))),
            Reject(InvalidArgumentError, (np.zeros((2, 3)), n32(0), n32(4))),
            Reject(EITHER, (np.zeros(3), n32(0), n32(0))),
        ],
    ),
    Case(
        "CheckNumerics",
        lambda x: verify_tensor_all_finite(x, "bad"),
        lambda x: x,
        [((2, 3),)],
        Literal(([1.0, -2.0],), [1, -2]),
        note="all finite",
        rejects=[
            Reject(InvalidArgumentError, ([1.0, NAN],), match="bad : Tensor had NaN values"),
            Reject(ValueError, ([1.0],), build=lambda x: verify_tensor_all_finite(x)),
        ],
    ),
    Case(
        "CheckNumerics",
        lambda x: af.check_numerics(x, "bad"),
        lambda x: x,
        [((),), ((2, 3),)],
        Literal(([1.0, -2.0],), [1, -2]),
        rejects=[
            Reject(InvalidArgumentError, ([1.0, NAN],), match="bad : Tensor had NaN values"),
            Reject(InvalidArgumentError, ([INF, NAN],), match="bad : Tensor had Inf and NaN values"),
            Reject(InvalidArgumentError, (-INF,), match="bad : Tensor had Inf values"),
            Reject(TypeError, (i32(1),)),
            Reject(InvalidArgumentError, ([1.0, -1.0],), build=all_checked, match="bad_log:0 : Tensor had NaN values"),
        ],
    ),
]

# ---- by group


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


GROUPS = [
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
        grouped(mean, 3),
        [((5, 2), i32(2, 0, -1, 0, 2))],
        Literal(([1.0, 2.0, 4.0, 8.0], i32(2, 0, -1, 2)), [2, 0, 4.5]),
        note="mean",
    ),
]

CASES = [*VALUES, *GROUPS]
