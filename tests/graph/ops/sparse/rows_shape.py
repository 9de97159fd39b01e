"""Rows of ops that put sparse tensors together, take parts of them, and change their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import ALL, EITHER, i32, i64
from graph.ops.sparse.rows_tensor import NONE, PLACES, SIZES, VALUES, dense, ordered, parts, sparse_parts, taking
from graph.ops.table import FLOATS, Case, Literal, Reject

from actorflow import sparse
from actorflow.errors import InvalidArgumentError
from actorflow.graph.sparse_tensor import SparseTensor

A2 = np.float32([5, -6, -2])
OTHER = i64([0, 1], [0, 2], [1, 0])


def there(places: Any, sizes: Any) -> Any:
    return dense(places, np.ones(len(places), bool), sizes)


def of_dense(function: Any) -> Any:
    """The sparse tensor that `function` makes of the dense one; and of its mask, which says what is stored."""

    def reference(i: Any, v: Any, s: Any, *rest: Any) -> Any:
        return sparse_parts(function(dense(i, v, s), *rest), function(there(i, s), *rest))

    return reference


def joined(axis: int) -> Any:
    def reference(ai: Any, av: Any, a: Any, bi: Any, bv: Any, b: Any) -> Any:
        both = [
            np.concatenate(pair, axis) for pair in ((dense(ai, av, a), dense(bi, bv, b)), (there(ai, a), there(bi, b)))
        ]
        return sparse_parts(*both)

    return reference


def concat(axis: int, **more: Any) -> Any:
    return lambda *a: parts(sparse.concat(axis, [SparseTensor(*a[:3]), SparseTensor(*a[3:])], **more))


PAIR = (PLACES, VALUES, SIZES, OTHER, A2, SIZES)
WIDER = (PLACES, VALUES, SIZES, PLACES, VALUES, i64(2, 4))
JOINED = [
    *(
        Case(
            "SparseConcat",
            concat(axis),
            joined(axis),
            [(PLACES, (3,), SIZES, OTHER, (3,), SIZES), (PLACES, (3,), SIZES, NONE, (0,), SIZES)],
            Literal(PAIR, answer),
            dtypes=ALL,
            exact=True,
            gradient=0,
            note=f"along {axis}",
            rejects=[
                Reject(InvalidArgumentError, WIDER if axis == 0 else (*WIDER[:5], i64(3, 4))),
                Reject(TypeError, (*PAIR[:4], i32(1, 2, 3), SIZES)),
                Reject(EITHER, PAIR, concat(2)),
                Reject(ValueError, PAIR, lambda *a: sparse.concat(0, []).values),
                Reject(TypeError, PAIR, lambda *a: sparse.concat(0, [a[1], a[4]]).values),
            ],
        )
        for axis, answer in (
            (
                0,
                (
                    i64([0, 1], [1, 0], [1, 2], [2, 1], [2, 2], [3, 0]),
                    np.float32([1, 2, 3, 5, -6, -2]),
                    i64(4, 3),
                ),
            ),
            (
                1,
                (
                    i64([0, 1], [0, 4], [0, 5], [1, 0], [1, 2], [1, 3]),
                    np.float32([1, 5, -6, 2, 3, -2]),
                    i64(2, 6),
                ),
            ),
            (
                -1,
                (
                    i64([0, 1], [0, 4], [0, 5], [1, 0], [1, 2], [1, 3]),
                    np.float32([1, 5, -6, 2, 3, -2]),
                    i64(2, 6),
                ),
            ),
        )
    ),
    *(
        Case(
            "SparseConcat",
            concat(axis, expand_nonconcat_dim=True),
            None,
            [(PLACES, (3,), SIZES, OTHER, (3,), SIZES)],
            Literal(WIDER if axis == 0 else PAIR, answer),
            gradient=0,
            note=f"expanding {axis}",
        )
        for axis, answer in (
            (
                0,
                (
                    i64([0, 1], [1, 0], [1, 2], [2, 1], [3, 0], [3, 2]),
                    np.float32([1, 2, 3, 1, 2, 3]),
                    i64(4, 4),
                ),
            ),
            (
                -1,
                (
                    i64([0, 1], [0, 4], [0, 5], [1, 0], [1, 2], [1, 3]),
                    np.float32([1, 5, -6, 2, 3, -2]),
                    i64(2, 6),
                ),
            ),
        )
    ),
    Case(
        "",
        taking(lambda a: sparse.concat(0, [a])),
        lambda *a: a,
        [(PLACES, (3,), SIZES)],
        Literal((PLACES, VALUES, SIZES), (PLACES, VALUES, SIZES)),
        note="sparse concat of one",
    ),
]


def apart(count: int, axis: int) -> Any:
    def reference(i: Any, v: Any, s: Any) -> Any:
        halves = [np.array_split(x, count, axis) for x in (dense(i, v, s), there(i, s))]
        return [t for pair in zip(*halves) for t in sparse_parts(*pair)]

    return reference


def split(count: int, axis: int) -> Any:
    return taking(lambda a: sparse.split(sp_input=a, num_split=count, axis=axis))


SPLIT = [
    Case(
        "SparseSplit",
        split(count, axis),
        apart(count, axis),
        [(PLACES, (3,), SIZES), (NONE, (0,), SIZES)],
        Literal((PLACES, VALUES, SIZES), answer),
        dtypes=ALL,
        exact=True,
        static=False,
        gradient=0,
        note=f"{count} along {axis}",
        rejects=[
            Reject(InvalidArgumentError, (PLACES, VALUES, SIZES), split(4, 1)),
            Reject(InvalidArgumentError, (PLACES, VALUES, SIZES), split(2, 2)),
            Reject(ValueError, (PLACES, VALUES, SIZES), split(0, 0)),
        ],
    )
    for count, axis, answer in (
        (2, 1, (i64([0, 1], [1, 0]), np.float32([1, 2]), i64(2, 2), i64([1, 0]), np.float32([3]), i64(2, 1))),
        (2, 0, (i64([0, 1]), np.float32([1]), i64(1, 3), i64([0, 0], [0, 2]), np.float32([2, 3]), i64(1, 3))),
        (2, -1, (i64([0, 1], [1, 0]), np.float32([1, 2]), i64(2, 2), i64([1, 0]), np.float32([3]), i64(2, 1))),
        (1, 0, (PLACES, VALUES, SIZES)),
    )
]


def box(x: Any, start: Any, size: Any) -> Any:
    return x[tuple(slice(a, a + n) for a, n in zip(start.tolist(), size.tolist()))]


PICKED = [
    Case(
        "SparseSlice",
        taking(sparse.slice),
        of_dense(box),
        [
            (PLACES, (3,), SIZES, i64(*start), i64(*size))
            for start, size in (((1, 0), (1, 2)), ((0, 1), (9, 9)), ((5, 1), (1, 1)), ((0, 0), (2, 0)))
        ],
        Literal((PLACES, VALUES, SIZES, i64(1, 0), i64(1, 2)), (i64([0, 0]), np.float32([2]), i64(1, 2))),
        special=[
            Literal(
                (PLACES, VALUES, SIZES, i64(0, 1), i64(9, 9)),
                (i64([0, 0], [1, 1]), np.float32([1, 3]), i64(2, 2)),
            ),
            Literal((PLACES, VALUES, SIZES, i64(5, 1), i64(1, 1)), (NONE, np.zeros(0, np.float32), i64(0, 1))),
        ],
        dtypes=ALL,
        exact=True,
        static=False,
        rejects=[
            Reject(InvalidArgumentError, (PLACES, VALUES, SIZES, i64(0, 0), i64(-1, 2))),
            Reject(EITHER, (PLACES, VALUES, SIZES, i64(0), i64(1))),
        ],
    ),
    Case(
        "",
        taking(sparse.retain),
        lambda i, v, s, kept: (i[kept], v[kept], s),
        [(PLACES, (3,), SIZES, np.array(kept)) for kept in ([True, False, True], [False] * 3)],
        Literal(
            (PLACES, VALUES, SIZES, np.array([True, False, True])), (i64([0, 1], [1, 2]), np.float32([1, 3]), SIZES)
        ),
        dtypes=ALL,
        exact=True,
        static=False,
        note="sparse retain",
        rejects=[
            Reject(ValueError, (PLACES, VALUES, SIZES, np.array([True, False]))),
            Reject(InvalidArgumentError, (PLACES, VALUES, SIZES, np.array([True] * 4))),
        ],
    ),
]

ROWS = (i64([0, 1], [3, 0], [3, 2]), VALUES, i64(5, 3))


def filled(i: Any, v: Any, s: Any, d: Any) -> Any:
    rows: list[tuple[list[int], Any]] = []
    for row in range(int(s[0])):
        mine = [(place, value) for place, value in zip(i.tolist(), v) if place[0] == row]
        rows += mine or [([row] + [0] * (len(s) - 1), d[()])]
    values = np.empty(len(rows), v.dtype)
    for n, (_, value) in enumerate(rows):
        values[n] = value
    empty = np.array([row not in i[:, 0] for row in range(int(s[0]))], bool)
    return i64(*(place for place, _ in rows)).reshape(len(rows), len(s)), values, s, empty


FILLED = [
    Case(
        "SparseFillEmptyRows",
        taking(sparse.fill_empty_rows),
        filled,
        [
            (ROWS[0], (3,), ROWS[2], ()),
            (i64([3, 1], [0, 0], [3, 0]), (3,), ROWS[2], ()),
            (NONE, (0,), SIZES, ()),
            (NONE, (0,), i64(0, 3), ()),
            (PLACES, (3,), SIZES, ()),
        ],
        Literal(
            (*ROWS, np.float32(9)),
            (
                i64([0, 1], [1, 0], [2, 0], [3, 0], [3, 2], [4, 0]),
                np.float32([1, 9, 9, 2, 3, 9]),
                ROWS[2],
                np.array([False, True, True, False, True]),
            ),
        ),
        dtypes=ALL,
        exact=True,
        static=False,
        rejects=[
            Reject(InvalidArgumentError, (i64([7, 0]), [1.0], i64(5, 3), 9.0)),
            Reject(EITHER, (*ROWS, np.float32([9]))),
            Reject(TypeError, (*ROWS, np.int32(9))),
        ],
    )
]

SHAPED = [
    Case(
        "SparseReshape",
        taking(lambda a, shape=shape: sparse.reshape(a, shape)),
        of_dense(lambda x, shape=shape: x.reshape(shape)),
        [(PLACES, (3,), SIZES), (NONE, (0,), SIZES)],
        Literal((PLACES, VALUES, SIZES), (places, VALUES, i64(*sizes))),
        dtypes=ALL,
        exact=True,
        note=str(shape),
        rejects=[
            Reject(ValueError, (PLACES, VALUES, SIZES), taking(lambda a, wrong=wrong: sparse.reshape(a, wrong)))
            for wrong in ([4, -1], [7], [-1, -1], [-2, -3])
        ],
    )
    for shape, places, sizes in (
        ([3, 2], i64([0, 1], [1, 1], [2, 1]), (3, 2)),
        ([-1], i64([1], [3], [5]), (6,)),
        ([2, -1, 1], i64([0, 1, 0], [1, 0, 0], [1, 2, 0]), (2, 3, 1)),
    )
] + [
    Case(
        "SparseReshape",
        taking(sparse.reshape),
        of_dense(lambda x, shape: x.reshape(shape.tolist())),
        [(PLACES, (3,), SIZES, i64(3, 2)), (PLACES, (3,), SIZES, i32(-1))],
        Literal((PLACES, VALUES, SIZES, i64(-1)), (i64([1], [3], [5]), VALUES, i64(6))),
        note="to a tensor",
        rejects=[Reject(EITHER, (PLACES, VALUES, SIZES, i64(*wrong))) for wrong in ((4, -1), (7,), (-1, -1), (-2, -3))]
        + [Reject(EITHER, (NONE, np.zeros(0, np.float32), i64(0, 3), i64(0, -1)))],
    ),
    Case(
        "",
        taking(sparse.reset_shape),
        lambda i, v, s: (i, v, i.max(axis=0, initial=-1) + 1),
        [(PLACES, (3,), i64(9, 9)), (NONE, (0,), SIZES)],
        Literal((PLACES, VALUES, i64(7, 3)), (PLACES, VALUES, SIZES)),
        special=[Literal((NONE, np.zeros(0, np.float32), i64(4, 3)), (NONE, np.zeros(0, np.float32), i64(0, 0)))],
        dtypes=FLOATS,
        note="sparse reset_shape to the least",
    ),
    Case(
        "",
        taking(sparse.reset_shape),
        lambda i, v, s, wanted: (i, v, wanted),
        [(PLACES, (3,), SIZES, i64(2, 5)), (PLACES, (3,), SIZES, i32(2, 3))],
        Literal((PLACES, VALUES, SIZES, i64(2, 5)), (PLACES, VALUES, i64(2, 5))),
        dtypes=FLOATS,
        note="sparse reset_shape",
        rejects=[
            Reject(EITHER, (PLACES, VALUES, SIZES, i64(2, 2))),
            Reject(EITHER, (PLACES, VALUES, SIZES, i64(2))),
        ],
    ),
    Case(
        "",
        taking(sparse.transpose),
        lambda i, v, s: ordered(i[:, ::-1], v, s[::-1]),
        [(PLACES, (3,), SIZES), (i64([0, 1, 2]), (1,), i64(1, 2, 3))],
        Literal((PLACES, VALUES, SIZES), (i64([0, 1], [1, 0], [2, 1]), np.float32([2, 1, 3]), i64(3, 2))),
        dtypes=ALL,
        exact=True,
        note="sparse transpose",
    ),
    Case(
        "",
        taking(sparse.transpose),
        lambda i, v, s, perm: ordered(i[:, perm], v, s[perm]),
        [(i64([0, 1, 2], [0, 0, 0]), (2,), i64(1, 2, 3), i32(1, 2, 0))],
        Literal((PLACES, VALUES, SIZES, i32(0, 1)), (PLACES, VALUES, SIZES)),
        note="sparse transpose by a permutation",
    ),
    *(
        Case(
            "",
            taking(lambda a, axis=axis: sparse.expand_dims(known(a), axis)),
            of_dense(lambda x, axis=axis: np.expand_dims(x, -1 if axis is None else axis)),
            [(PLACES, (3,), SIZES), (NONE, (0,), SIZES)],
            Literal((PLACES, VALUES, SIZES), (places, VALUES, sizes)),
            note=f"sparse expand_dims {axis}",
        )
        for axis, places, sizes in (
            (1, i64([0, 0, 1], [1, 0, 0], [1, 0, 2]), i64(2, 1, 3)),
            (None, i64([0, 1, 0], [1, 0, 0], [1, 2, 0]), i64(2, 3, 1)),
            (0, i64([0, 0, 1], [0, 1, 0], [0, 1, 2]), i64(1, 2, 3)),
        )
    ),
]


def known(a: SparseTensor) -> SparseTensor:
    """`a`, of which the rank is known then."""
    a.dense_shape.set_shape([2])
    return a


CASES: list[Case] = [*JOINED, *SPLIT, *PICKED, *FILLED, *SHAPED]
