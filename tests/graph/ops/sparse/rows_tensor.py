"""Rows of ops on sparse tensors: to and from dense ones, order, ids, distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from graph.ops.arrays import ALL, EITHER, i32, i64, n32, n64
from graph.ops.strings.rows_elementwise import words
from graph.ops.table import FLOATS, INTS, NUMBERS, Case, Literal, Reject

import actorflow as af
from actorflow import sparse
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.sparse_tensor import SparseTensor

# A matrix of three elements: [[0, 1, 0], [2, 0, 3]] with the values 1, 2, 3.
PLACES, SIZES = i64([0, 1], [1, 0], [1, 2]), i64(2, 3)
VALUES = np.float32([1, 2, 3])
NONE = np.zeros((0, 2), np.int64)


def parts(found: Any) -> Any:
    """The tensors of sparse tensors, in a flat tuple."""
    if isinstance(found, SparseTensor):
        return found.indices, found.values, found.dense_shape
    if isinstance(found, (list, tuple)):
        return tuple(t for one in found for t in (parts(one) if isinstance(one, SparseTensor) else [one]))
    return found


def taking(build: Any) -> Any:
    """`build` of one sparse tensor as a function of its three tensors and the rest."""
    return lambda i, v, s, *rest: parts(build(SparseTensor(i, v, s), *rest))


def dense(places: Any, values: Any, sizes: Any, default: Any = 0) -> Any:
    """The dense array, the elements put in one by one."""
    result = np.full(
        tuple(int(n) for n in sizes), b"" if values.dtype == object and default == 0 else default, values.dtype
    )
    for place, value in zip(places.tolist(), values):
        result[tuple(place)] = value
    return result


def sparse_parts(array: Any, kept: Any = None) -> tuple[Any, Any, Any]:
    """The elements of an array where `kept` says so, in order."""
    places = [i for i in np.ndindex(*array.shape) if (array[i] != 0 if kept is None else kept[i])]
    values = np.empty(len(places), array.dtype)
    for n, place in enumerate(places):
        values[n] = array[place]
    return i64(*places).reshape(len(places), array.ndim), values, i64(*array.shape)


TO_DENSE = [
    Case(
        "SparseToDense",
        af.sparse_to_dense,
        lambda i, s, v, d: dense(i if i.ndim == 2 else i[:, None], v, s, d[()]),
        [
            (PLACES, SIZES, (3,), ()),
            (i32([0, 0], [1, 1]), i32(2, 2), (2,), ()),
            (i64(1, 3), i64(5), (2,), ()),
            (NONE, SIZES, (0,), ()),
        ],
        Literal((PLACES, SIZES, VALUES, np.float32(9)), np.float32([[9, 1, 9], [2, 9, 3]])),
        dtypes=ALL,
        exact=True,
        slopes=[Literal((PLACES, SIZES, [1.0, 2.0, 3.0], 9.0), (None, None, [1, 1, 1], 3))],
        rejects=[
            *(
                Reject(InvalidArgumentError, (i64(*places), SIZES, [1.0, 2.0], 0.0))
                for places in (
                    ([0, 1], [0, 0]),
                    ([0, 1], [0, 1]),
                    ([0, 0], [0, 3]),
                    ([-1, 0], [1, 0]),
                    ([0, 0, 0], [0, 0, 1]),
                )
            ),
            Reject(InvalidArgumentError, (PLACES, SIZES, [1.0, 2.0], 0.0)),
            Reject(EITHER, (PLACES, SIZES, [1.0, 2.0, 3.0], [0.0])),
            Reject(TypeError, (PLACES, SIZES, [1.0, 2.0, 3.0], np.int32([0]))),
        ],
    ),
    Case(
        "SparseToDense",
        lambda i, s, v: af.sparse_to_dense(i, s, v, validate_indices=False),
        lambda i, s, v: dense(i, v, s),
        [(i64([1, 0], [0, 1]), SIZES, (2,))],
        Literal((i64([0, 1], [0, 1]), SIZES, [1.0, 2.0]), [[0, 2, 0], [0, 0, 0]]),
        note="in any order",
        rejects=[Reject(InvalidArgumentError, (i64([0, 3]), SIZES, [1.0]))],
    ),
    Case(
        "SparseToDense",
        lambda i, s, v, d: af.sparse_to_dense(i, s, v, d),
        lambda i, s, v, d: dense(np.atleast_1d(i).reshape(-1, 1), np.full(np.size(i), v), s, d[()]),
        [(n64(3), i64(5), (), ()), (i32(1, 3), i32(5), (), ())],
        Literal((n32(3), i32(5), 1.0, 0.0), [0, 0, 0, 1, 0]),
        note="of a scalar",
    ),
    Case(
        "SparseToDense",
        taking(sparse.to_dense),
        dense,
        [(PLACES, (3,), SIZES), (NONE, (0,), SIZES), (i64([2]), (1,), i64(3))],
        Literal((PLACES, VALUES, SIZES), np.float32([[0, 1, 0], [2, 0, 3]])),
        dtypes=ALL,
        exact=True,
        note="of a sparse tensor",
        rejects=[Reject(TypeError, (PLACES, [1.0] * 3, SIZES), lambda i, v, s: sparse.to_dense(v))],
    ),
    Case(
        "",
        lambda x: parts(sparse.from_dense(x)),
        lambda x: sparse_parts(x, np.vectorize(lambda v: v not in (0, b""), otypes=[bool])(x) if x.size else x),
        [((2, 3),), ((3,),), ((0, 2),)],
        Literal(([[0.0, 1.0], [2.0, 0.0]],), (i64([0, 1], [1, 0]), [1, 2], i64(2, 2))),
        dtypes=f"{NUMBERS} bool string",
        domain=(0, 2),
        exact=True,
        static=False,
        gradient=None,
        note="sparse from_dense",
    ),
    Case(
        "",
        lambda x: parts(sparse.eye(2, 3)) + (x,),
        None,
        [((),)],
        Literal((1.0,), (i64([0, 0], [1, 1]), np.float32([1, 1]), i64(2, 3), 1)),
        gradient=None,
        note="sparse eye",
    ),
]


def ordered(i: Any, v: Any, s: Any) -> Any:
    order = sorted(range(len(i)), key=lambda n: tuple(i[n]))
    return i[order], v[order], s


SHUFFLED = i64([1, 2], [0, 1], [1, 0], [0, 1])
ORDER = [
    Case(
        "SparseReorder",
        taking(af.sparse_reorder),
        ordered,
        [(SHUFFLED, (4,), SIZES), (NONE, (0,), SIZES), (i64([2], [0]), (2,), i64(3)), (PLACES, (3,), SIZES)],
        Literal(
            (i64([1, 0], [0, 1], [1, 0]), [1.0, 2.0, 3.0], i64(2, 2)),
            (i64([0, 1], [1, 0], [1, 0]), [2, 1, 3], i64(2, 2)),
        ),
        dtypes=ALL,
        exact=True,
    ),
]

IDS = i64([0, 0], [1, 0], [1, 1])
MERGED = [
    Case(
        "",
        lambda ids, v, s: parts(
            af.sparse_merge(SparseTensor(IDS, ids, s), SparseTensor(IDS, v, s), 5),
        ),
        None,
        [(i64(3, 1, 2), (3,), i64(2, 2))],
        Literal((i64(3, 2, 1), [1.0, 2.0, 3.0], i64(2, 2)), (i64([0, 3], [1, 1], [1, 2]), [1, 3, 2], i64(2, 5))),
        dtypes=FLOATS,
        static=False,
        note="sparse merge",
        rejects=[
            Reject(TypeError, (i64(3, 2, 1), [1.0] * 3, i64(2, 2)), lambda i, v, s: af.sparse_merge(i, v, 5)),
        ],
    ),
    Case(
        "",
        lambda a, b, v, s: parts(
            af.sparse_merge(
                [SparseTensor(IDS[:2], a, s), SparseTensor(IDS[:2], b, s)], SparseTensor(IDS[:2], v, s), [5, 6]
            )
        ),
        None,
        [(i64(3, 1), i32(1, 2), (2,), i64(2, 1))],
        Literal((i64(3, 1), i64(1, 2), [1.0, 2.0], i64(2, 1)), (i64([0, 3, 1], [1, 1, 2]), [1, 2], i64(2, 5, 6))),
        dtypes=FLOATS,
        static=False,
        note="sparse merge of two",
        rejects=[
            Reject(
                ValueError,
                (i64(3, 1), i64(1, 2), [1.0, 2.0], i64(2, 1)),
                lambda a, b, v, s: af.sparse_merge([SparseTensor(IDS[:2], a, s)], SparseTensor(IDS[:2], v, s), [5, 6]),
            )
        ],
    ),
    Case(
        "",
        lambda ids, s: af.sparse_to_indicator(SparseTensor(IDS, ids, s), 5),
        None,
        [(i64(3, 1, 2), i64(2, 2))],
        Literal((i32(3, 1, 2), i64(2, 2)), np.array([[0, 0, 0, 1, 0], [0, 1, 1, 0, 0]], bool)),
        dtypes="int32",
        static=False,
        note="sparse indicator",
        rejects=[Reject(TypeError, (np.float32([3, 1, 2]), i64(2, 2)))],
    ),
    Case(
        "",
        lambda v, i, m: (lambda x: (x.values, x.indices))(af.sparse_mask(IndexedSlices(v, i), m)),
        lambda v, i, m: (v[~np.isin(i, m)], i[~np.isin(i, m)]),
        [((3, 1), i32(1, 5, 9), i32(5, 7)), ((2,), i64(1, 5), i32(5))],
        Literal(([[1.0], [2.0], [3.0]], i32(1, 5, 9), i32(5, 7)), ([[1], [3]], i32(1, 9))),
        dtypes=FLOATS,
        static=False,
        note="sparse mask",
    ),
]


def distances(hi: Any, hv: Any, hs: Any, ti: Any, tv: Any, ts: Any) -> Any:
    """By recursion."""

    def between(a: list[Any], b: list[Any]) -> int:
        if not a or not b:
            return len(a) + len(b)
        return min(between(a[1:], b) + 1, between(a, b[1:]) + 1, between(a[1:], b[1:]) + (a[0] != b[0]))

    result = np.zeros(np.maximum(hs, ts)[:-1], np.float32)
    for index in np.ndindex(*result.shape):
        rows = [
            [v for place, v in zip(i.tolist(), values.tolist()) if tuple(place[:-1]) == index]
            for i, values in ((hi, hv), (ti, tv))
        ]
        distance = between(*rows)
        result[index] = distance / len(rows[1]) if rows[1] else math.inf if rows[0] else 0
    return result


GUESS = (i64([0, 0, 0], [1, 0, 0]), words(b"a", b"b"), i64(2, 1, 1))
TRUTH = (i64([0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]), words(b"a", b"b", b"c", b"a"), i64(2, 2, 2))


def distance(normalize: bool) -> Any:
    return lambda *a: af.edit_distance(SparseTensor(*a[:3]), SparseTensor(*a[3:]), normalize)


DISTANCE = [
    Case(
        "EditDistance",
        distance(True),
        distances,
        [
            (i64([0, 0], [0, 1], [0, 2], [1, 0]), (4,), i64(2, 3), i64([0, 0], [0, 1], [2, 0]), (3,), i64(3, 2)),
            (i64([0], [1]), (2,), i64(3), i64([0], [1], [2]), (3,), i64(3)),
            (NONE, (0,), SIZES, PLACES, (3,), SIZES),
        ],
        Literal((*GUESS, *TRUTH), np.float32([[math.inf, 1], [0.5, 1]])),
        dtypes=f"{INTS} {FLOATS} string",
        domain=(0, 1),
        exact=True,
        gradient=0,
        special=[
            Literal(
                (i64([0, 0], [0, 1]), i64(1, 2), i64(1, 2), i64([0, 0], [0, 1], [0, 2]), i64(3, 2, 1), i64(1, 3)),
                np.float32([2 / 3]),
            )
        ],
        rejects=[
            Reject(EITHER, (i64([0]), words([b"a"]), i64(1), i64([0, 0]), words([b"a"]), i64(1, 1))),
            Reject(TypeError, (*GUESS, *TRUTH), lambda *a: af.edit_distance(a[1], a[4])),
            Reject(TypeError, (i64([0]), words([b"a"]), i64(1), i64([0]), i64(1), i64(1))),
        ],
    ),
    Case(
        "EditDistance",
        distance(False),
        None,
        [(*GUESS, *TRUTH)],
        Literal((*GUESS, *TRUTH), np.float32([[1, 1], [1, 1]])),
        dtypes="string",
        gradient=0,
        note="not normalized",
    ),
]

CASES: list[Case] = [*TO_DENSE, *ORDER, *MERGED, *DISTANCE]
