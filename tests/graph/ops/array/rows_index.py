"""Rows of ops that pick elements by position or by index, and put them back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, WORDS, built, i32, i64, moving, n32, n64
from graph.ops.table import NUMBERS, REALS, Case, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.array.index import getitem, strided_slice_grad

INF, NAN = math.inf, math.nan
ORDERED = f"{REALS} bool string"

# ---- rectangular parts

M = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def sliced(x: Any, begin: Any, size: Any) -> Any:
    shape = [n - int(b) if s == -1 else int(s) for n, b, s in zip(x.shape, begin, size)]
    return built(shape, x, lambda *i: x[tuple(k + int(b) for k, b in zip(i, begin))])


def picked(x: Any, key: tuple[Any, ...]) -> Any:
    """Python's own indexing, one dimension after the other on nested lists of positions."""
    named = sum(k is not None and k is not Ellipsis for k in key)
    full = [slice(None)] * (x.ndim - named)
    at = key.index(Ellipsis) if Ellipsis in key else len(key)
    spread = [*key[:at], *full, *key[at + 1 :]]
    places, shape = [], []
    dimensions = iter(x.shape)
    for entry in spread:
        if entry is None:
            shape.append(1)
            continue
        size = next(dimensions)
        positions = list(range(size))[entry]
        places.append([positions] if isinstance(positions, int) else positions)
        if not isinstance(positions, int):
            shape.append(len(positions))
    values = iter([x[index] for index in itertools.product(*places)])
    return built(shape, x, lambda *_: next(values))


def item(key: Any, shape: tuple[int, ...], literal: Any) -> Case:
    entries = key if isinstance(key, tuple) else (key,)
    return moving(
        "StridedSlice StridedSliceGrad",
        lambda x: getitem(x, key),
        lambda x: picked(x, entries),
        [(shape,)],
        Literal((M,), literal),
        note=str(key).replace("Ellipsis", "...").replace(" ", ""),
    )


def masked(note: str, literal: Any, *bounds: list[int], **masks: int) -> Case:
    return Case(
        "StridedSlice StridedSliceGrad",
        lambda x: af.strided_slice(x, *bounds, **masks),
        None,
        [((2, 3),)],
        Literal((M,), literal),
        note=note,
    )


PARTS = [
    moving(
        "Slice",
        af.slice_,
        sliced,
        [
            ((3, 4), i32(1, 0), i32(2, 3)),
            ((3, 4), i64(0, 2), i64(-1, -1)),
            ((3,), i32(3), i32(0)),
            ((), i32(), i32()),
            ((2, 0), i32(1, 0), i32(1, 0)),
        ],
        Literal((M, i32(0, 1), i32(2, -1)), [[2, 3], [5, 6]]),
        special=[Literal((WORDS, i32(1, 1), i32(1, 1)), WORDS[1:, 1:])],
        rejects=[
            *(
                Reject(EITHER, (M, i32(*b), i32(*s)))
                for b, s in (((0, 2), (2, 5)), ((-1, 0), (1, 1)), ((0, 0), (-2, 1)), ((3, 0), (0, 1)), ((0,), (1,)))
            ),
            Reject(EITHER, (M, i32(0, 0), i32(1))),
            Reject(TypeError, (M, np.float32([0, 0]), i32(1, 1))),
        ],
    ),
    item(0, (3, 4), [1, 2, 3]),
    item(-1, (3, 4), [4, 5, 6]),
    item((1, 2), (3, 4), 6),
    item(..., (3, 4), M),
    item((..., 1), (2, 3, 4), [2, 5]),
    item((0, ..., 1), (2, 3, 4), 2),
    item((None, 1), (3, 4), [[4, 5, 6]]),
    item((slice(None), None), (3, 4), [[[1, 2, 3]], [[4, 5, 6]]]),
    item((..., None), (3, 4), [[[1], [2], [3]], [[4], [5], [6]]]),
    item(slice(1, None), (3, 4), [[4, 5, 6]]),
    item((slice(None), slice(None, None, -1)), (3, 4), [[3, 2, 1], [6, 5, 4]]),
    item((slice(None), slice(-2, 0, -1)), (3, 4), [[2], [5]]),
    item((slice(None, None, 2), slice(1, 10)), (3, 4), [[2, 3]]),
    item((slice(None), slice(-10, 2)), (3, 4), [[1, 2], [4, 5]]),
    item((slice(2, 1), 0), (3, 4), []),
    item((slice(None), slice(5, -10, -2)), (3, 5), [[3, 1], [6, 4]]),
    masked("open bounds", [[6, 5, 4]], [1, 1], [1, 1], [1, -1], begin_mask=2, end_mask=3),
    masked("new before shrink", [M], [0, 0], [1, 2], new_axis_mask=1, shrink_axis_mask=1),
    masked("shrink ignores end", 6, [1, -1], [0, 0], shrink_axis_mask=3),
    Case(
        "StridedSlice StridedSliceGrad",
        lambda x, i, j: x[i, j:],
        lambda x, i, j: picked(x, (int(i), slice(int(j), None))),
        [((3, 4), n32(1), n32(-2)), ((3, 4), n64(-1), n64(1))],
        Literal((M, n32(1), n32(2)), [6]),
        note="tensors as bounds",
        static=False,
        rejects=[
            Reject((InvalidArgumentError,), (M, n32(2), n32(0))),
            Reject((InvalidArgumentError,), (M, n32(-3), n32(0))),
            Reject((TypeError,), (M, np.array(1.0), n32(0))),
            Reject((TypeError,), (M, i32(0, 1), n32(0))),
            Reject((ValueError,), (M,), build=lambda x: x[2]),
            Reject((ValueError,), (M,), build=lambda x: x[0, 1, 2]),
            Reject((ValueError,), (M,), build=lambda x: x[..., ...]),
            Reject((ValueError,), (M,), build=lambda x: x[::0]),
            Reject((TypeError,), (M,), build=lambda x: x[1.5]),
            Reject((TypeError,), (M,), build=lambda x: x["a"]),
            Reject((TypeError,), (M,), build=lambda x: x[[0.5]]),
            Reject(EITHER, (M,), build=lambda x: af.strided_slice(x, [0], [1], [-1], shrink_axis_mask=1)),
            Reject(ValueError, (M,), build=lambda x: af.strided_slice(x, [0, 0], [1], [1])),
        ],
    ),
    Case(
        "StridedSliceGrad StridedSlice",
        lambda dy: strided_slice_grad([2, 4], [0, 3], [2, 0], [1, -2], dy),
        lambda dy: np.array([[0, row[1], 0, row[0]] for row in dy.tolist()]),
        [((2, 2),)],
        Literal(([[1.0, 2.0], [3.0, 4.0]],), [[0, 2, 0, 1], [0, 4, 0, 3]]),
        dtypes=NUMBERS,
        rejects=[Reject(InvalidArgumentError, ([[1.0, 2.0, 3.0]],))],
    ),
]

# ---- by index


def gathered(axis: int) -> Callable[..., Any]:
    def reference(x: Any, indices: Any) -> Any:
        at = axis % x.ndim
        shape = (*x.shape[:at], *indices.shape, *x.shape[at + 1 :])
        end = at + indices.ndim
        return built(shape, x, lambda *i: x[(*i[:at], indices[i[at:end]], *i[end:])])

    return reference


def gather_row(ops: str, axis: int, literal: Any, **more: Any) -> Case:
    return moving(
        ops,
        lambda x, i: af.gather(x, i, axis=axis),
        gathered(axis),
        [
            ((3, 4), i32(0, 2, 2)),
            ((2, 3, 2), i64([1, 0], [0, 1])),
            ((3, 4), n32(1)),
            ((2, 2), np.zeros((0,), np.int32)),
            *([((3,), n32(2)), ((0, 3), np.zeros((0, 2), np.int32))] if axis == 0 else []),
        ],
        Literal((M, i32(1, 0)), literal),
        note=f"axis {axis}",
        rejects=[
            Reject(InvalidArgumentError, (M, i32(0, 3))),
            Reject(InvalidArgumentError, (M, i32(-1))),
            Reject(InvalidArgumentError, (M, n64(5))),
            Reject(EITHER, (1.0, i32(0))),
            Reject(TypeError, (M, np.float32([0]))),
        ],
        **more,
    )


def at_points(x: Any, indices: Any) -> Any:
    return built(
        (*indices.shape[:-1], *x.shape[indices.shape[-1] :]),
        x,
        lambda *i: x[(*indices[i[: indices.ndim - 1]], *i[indices.ndim - 1 :])],
    )


def scattered(indices: Any, updates: Any, shape: Any) -> Any:
    result = np.zeros([int(s) for s in shape], updates.dtype)
    for index in np.ndindex(*updates.shape):
        result[(*indices[index[: indices.ndim - 1]], *index[indices.ndim - 1 :])] += updates[index]
    return result


def divided(data: Any, partitions: Any) -> Any:
    where = list(np.ndindex(*partitions.shape))
    rows = [[data[i] for i in where if partitions[i] == p] for p in range(3)]
    return tuple(
        built((len(r), *data.shape[partitions.ndim :]), data, lambda k, *i, r=r: r[k][i] if i else r[k]) for r in rows
    )


def stitched(first: Any, second: Any) -> Any:
    rows = {0: first[0], 3: first[1], 1: second[0, 0], 2: second[0, 1]} | {0: second[1, 0], 4: second[1, 1]}
    return built((5, *first.shape[1:]), first, lambda k, *i: rows[k][i] if i else rows[k])


PICKED = [
    gather_row("Gather UnsortedSegmentSum", 0, [[4, 5, 6], [1, 2, 3]]),
    gather_row("GatherV2 UnsortedSegmentSum", 1, [[2, 1], [5, 4]]),
    gather_row("GatherV2", -1, [[2, 1], [5, 4]]),
    moving(
        "GatherV2",
        lambda x, i, axis: af.gather(x, i, axis=axis),
        lambda x, i, axis: gathered(int(axis))(x, i),
        [((3, 4), i32(0, 2), n32(1)), ((3, 4), i32(0, 2), n64(-2))],
        Literal((M, i32(2), n32(1)), [[3], [6]]),
        note="axis as a tensor",
        rejects=[Reject(EITHER, (M, i32(0), n32(2)))],
    ),
    moving(
        "GatherNd",
        af.gather_nd,
        at_points,
        [
            ((3, 4), i32([0, 1], [2, 3], [0, 1])),
            ((3, 4), i64([1], [1])),
            ((2, 3, 2), i32([[1, 2]], [[0, 0]])),
            ((2, 2), np.zeros((2, 0), np.int32)),
            ((2, 2), np.zeros((0, 2), np.int32)),
            ((3,), i32(1)),
        ],
        Literal((M, i32([1, 2], [0, 0])), [6, 1]),
        rejects=[
            Reject(InvalidArgumentError, (M, i32([0, 3]))),
            Reject(InvalidArgumentError, (M, i32([-1, 0]))),
            Reject(EITHER, (M, i32([0, 0, 0]))),
            Reject(EITHER, (M, n32(0))),
        ],
    ),
    Case(
        "ScatterNd",
        af.scatter_nd,
        scattered,
        [
            (i32([0], [3], [0]), (3,), i32(4)),
            (i64([0, 1], [1, 1]), (2, 2), i64(2, 2, 2)),
            (i32([1]), (1, 3), i32(2, 3)),
            (np.zeros((0, 1), np.int32), (0,), i32(2)),
        ],
        Literal((i32([0], [2], [0]), [1.0, 2.0, 3.0], i32(4)), [4, 0, 2, 0]),
        dtypes=NUMBERS,
        rejects=[
            Reject(InvalidArgumentError, (i32([4]), [1.0], i32(4))),
            Reject(InvalidArgumentError, (i32([-1]), [1.0], i32(4))),
            Reject(EITHER, (i32([0]), [1.0, 2.0], i32(4))),
            Reject(EITHER, (i32([0, 1]), [1.0], i32(4))),
            Reject(EITHER, (i32([0]), [1.0], i32(-1))),
        ],
    ),
    moving(
        "Gather Where",
        lambda x: af.boolean_mask(x, [[True, False, True], [False, False, True]]),
        lambda x: built((3, *x.shape[2:]), x, lambda k, *i: x[(*((0, 0), (0, 2), (1, 2))[k], *i)]),
        [((2, 3),), ((2, 3, 2),)],
        Literal((M,), [1, 3, 6]),
        note="boolean mask",
        static=False,
        rejects=[
            Reject(ValueError, (M,), build=lambda x: af.boolean_mask(x, True)),
            Reject(ValueError, (M,), build=lambda x: af.boolean_mask(x, [True, False, True])),
            Reject(ValueError, (M,), build=lambda x: x[True]),
        ],
    ),
    moving(
        "GatherV2 Where",
        lambda x: af.boolean_mask(x, [True, False, True], axis=1),
        lambda x: built((x.shape[0], 2, *x.shape[2:]), x, lambda n, k, *i: x[(n, 2 * k, *i)]),
        [((2, 3),), ((2, 3, 2),)],
        Literal((M,), [[1, 3], [4, 6]]),
        note="boolean mask of columns",
        static=False,
    ),
    moving(
        "DynamicPartition DynamicStitch",
        lambda data, partitions: af.dynamic_partition(data, partitions, 3),
        divided,
        [
            ((4, 2), i32(2, 0, 2, 0)),
            ((2, 2, 3), i32([0, 1], [2, 0])),
            ((3,), i32(1, 1, 1)),
            ((0, 2), np.zeros(0, np.int32)),
        ],
        Literal(([1.0, 2.0, 3.0], i32(2, 0, 2)), ([2], [], [1, 3])),
        static=False,
        rejects=[
            Reject(InvalidArgumentError, ([1.0, 2.0], i32(0, 3))),
            Reject(InvalidArgumentError, ([1.0, 2.0], i32(0, -1))),
            Reject(EITHER, ([1.0, 2.0], i32(0, 1, 2))),
            Reject(ValueError, ([1.0], i32(0)), build=lambda d, p: af.dynamic_partition(d, p, 0)),
        ],
    ),
    moving(
        "DynamicStitch",
        lambda first, second: af.dynamic_stitch([[0, 3], [[1, 2], [0, 4]]], [first, second]),
        stitched,
        [((2, 3), (2, 2, 3)), ((2,), (2, 2))],
        Literal(([1.0, 2.0], [[3.0, 4.0], [5.0, 6.0]]), [5, 3, 4, 2, 6]),
        # The gradient of a row that a later one replaced is TensorFlow's: that of the row in its place.
        gradient=None,
        rejects=[
            Reject(
                InvalidArgumentError, ([1.0, 2.0], [1.0]), build=lambda x, y: af.dynamic_stitch([[0, -1], [1]], [x, y])
            ),
            Reject(EITHER, ([1.0, 2.0], [[1.0]]), build=lambda x, y: af.dynamic_stitch([[0, 1], [2]], [x, y])),
            Reject(EITHER, ([1.0, 2.0], [1.0]), build=lambda x, y: af.dynamic_stitch([[0], [1]], [x, y])),
            Reject(ValueError, ([1.0], [1.0]), build=lambda x, y: af.dynamic_stitch([[0]], [x, y])),
        ],
    ),
    Case(
        "DynamicStitch",
        lambda first, second: af.dynamic_stitch([[0, 2], [1]], [first, second]),
        lambda first, second: np.array([first[0], second[0], first[1]]),
        [((2, 3), (1, 3))],
        Literal(([1.0, 2.0], [3.0]), [1, 3, 2]),
        note="distinct",
    ),
]

CASES = [*PARTS, *PICKED]
