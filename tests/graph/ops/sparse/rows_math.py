"""Rows of the arithmetic of sparse tensors: products, sums, extremes, softmax, reductions; and embeddings of sparse ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32, i64, n32
from graph.ops.sparse.rows_tensor import NONE, PLACES, SIZES, VALUES, dense, parts, sparse_parts, taking
from graph.ops.table import FLOATS, NUMBERS, REALS, Case, Literal, Reject

from actorflow import nn, sparse
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.sparse.math import _cwise_div
from actorflow.graph.sparse_tensor import SparseTensor

B = np.float32([[1, 2], [3, 4], [5, 6]])
TWICE = i64([0, 1], [1, 0], [1, 0])


def summed(places: Any, values: Any, sizes: Any) -> Any:
    """The dense array; elements at one place are added."""
    result = np.zeros(tuple(sizes), values.dtype)
    for place, value in zip(places.tolist(), values):
        result[tuple(place)] += value
    return result


def product(adjoint_a: bool, adjoint_b: bool) -> Any:
    def reference(i: Any, v: Any, s: Any, b: Any) -> Any:
        a = summed(i, v, s)
        a, b = a.conj().T if adjoint_a else a, b.conj().T if adjoint_b else b
        return np.array([[sum(x * y for x, y in zip(row, column)) for column in b.T] for row in a], a.dtype).reshape(
            len(a), b.shape[1]
        )

    return reference


PRODUCTS = [
    Case(
        "SparseTensorDenseMatMul",
        taking(lambda a, b, left=left, right=right: sparse.matmul(a, b, left, right)),
        product(left, right),
        [
            (PLACES, (3,), SIZES, (4, rows) if right else (rows, 4)),
            (TWICE, (3,), SIZES, (1, rows) if right else (rows, 1)),
            (NONE, (0,), SIZES, (4, rows) if right else (rows, 4)),
        ],
        Literal((PLACES, VALUES, SIZES, (B[:rows].T if right else B[:rows]).copy()), answer),
        dtypes=f"{FLOATS} complex64 complex128 int32",
        loose=4,
        rejects=[
            Reject(EITHER, (PLACES, VALUES, SIZES, np.zeros((5, 5), np.float32))),
            Reject(InvalidArgumentError, (i64([0, 5]), [1.0], SIZES, B[:rows].T.copy() if right else B[:rows])),
            Reject(InvalidArgumentError, (i64([5, 0]), [1.0], SIZES, B[:rows].T.copy() if right else B[:rows])),
            Reject(TypeError, (PLACES, VALUES, SIZES, np.zeros((3, 2)))),
        ],
        note=f"{left} {right}",
    )
    for left, right, rows, answer in (
        (False, False, 3, np.float32([[3, 4], [17, 22]])),
        (True, False, 2, np.float32([[6, 8], [1, 2], [9, 12]])),
        (False, True, 3, np.float32([[3, 4], [17, 22]])),
        (True, True, 2, np.float32([[6, 8], [1, 2], [9, 12]])),
    )
]


def met(function: Any) -> Any:
    def reference(i: Any, v: Any, s: Any, d: Any) -> Any:
        full = np.broadcast_to(d, tuple(s))
        values = [function(value, full[tuple(place)]) for place, value in zip(i.tolist(), v)]
        return i, np.array(values, v.dtype), s

    return reference


DENSE_ENTRIES = [(PLACES, (3,), SIZES, shape) for shape in ((2, 3), (3,), (2, 1), (1, 3), (1,), ())]
CWISE = [
    Case(
        "SparseDenseCwiseMul",
        taking(lambda a, d: a * d),
        met(lambda a, b: a * b),
        [*DENSE_ENTRIES, (NONE, (0,), SIZES, (3,))],
        Literal((PLACES, VALUES, SIZES, np.float32([1, 2, 3])), (PLACES, np.float32([2, 2, 9]), SIZES)),
        special=[Literal((PLACES, VALUES, SIZES, np.float32([[2], [3]])), (PLACES, np.float32([2, 6, 9]), SIZES))],
        dtypes=NUMBERS,
        domain=(-5, 5),
        exact=True,
        rejects=[
            Reject(InvalidArgumentError, (PLACES, VALUES, SIZES, np.zeros((3, 2, 3), np.float32))),
            Reject(InvalidArgumentError, (PLACES, VALUES, SIZES, np.zeros(2, np.float32))),
        ],
    ),
    Case(
        "SparseDenseCwiseDiv",
        taking(lambda a, d: a / d),
        met(lambda a, b: a / b),
        DENSE_ENTRIES,
        Literal((PLACES, VALUES, SIZES, np.float32([[2], [4]])), (PLACES, np.float32([0.5, 0.5, 0.75]), SIZES)),
        special=[Literal((PLACES, i32(4, 5, 7), SIZES, n32(2)), (PLACES, np.array([2, 2.5, 3.5]), SIZES))],
        dtypes=f"{FLOATS} complex64 complex128",
        domain=(0.5, 2),
    ),
    Case(
        "SparseDenseCwiseDiv",
        lambda i, v, s, d: _cwise_div(i, v, s, d),
        lambda i, v, s, d: np.array([int(a / d) for a in v.tolist()], v.dtype),
        [(PLACES, (3,), SIZES, n32(3))],
        Literal((PLACES, i32(4, -5, 7), SIZES, n32(2)), i32(2, -2, 3)),
        dtypes="int32",
        domain=(-100, 100),
        note="of integers",
        rejects=[Reject(InvalidArgumentError, (PLACES, i32(4, 5, 7), SIZES, n32(0)))],
    ),
]

OTHER = i64([0, 1], [0, 2], [1, 0])


def two(build: Any) -> Any:
    return lambda *a: parts(build(SparseTensor(*a[:3]), SparseTensor(*a[3:6]), *a[6:]))


def union(function: Any) -> Any:
    def reference(ai: Any, av: Any, s: Any, bi: Any, bv: Any, _: Any) -> Any:
        there = dense(ai, np.ones(len(ai), bool), s) | dense(bi, np.ones(len(bi), bool), s)
        return sparse_parts(function(summed(ai, av, s), summed(bi, bv, s)), there)

    return reference


PAIRS = [(PLACES, (3,), SIZES, OTHER, (3,), SIZES), (PLACES, (3,), SIZES, NONE, (0,), SIZES)]
A2 = np.float32([5, -6, -2])
LITERAL = (PLACES, VALUES, SIZES, OTHER, A2, SIZES)
BOTH = i64([0, 1], [0, 2], [1, 0], [1, 2])
WRONG_PAIRS = [
    Reject(InvalidArgumentError, (PLACES, VALUES, SIZES, PLACES, VALUES, i64(3, 3))),
    Reject(InvalidArgumentError, (PLACES, VALUES, SIZES, i64([0]), [1.0], i64(3))),
    Reject(TypeError, (PLACES, VALUES, SIZES, PLACES, i32(1, 2, 3), SIZES)),
]
SUMS = [
    Case(
        "SparseAdd SparseAddGrad",
        two(sparse.add),
        union(lambda a, b: a + b),
        PAIRS,
        Literal(LITERAL, (BOTH, np.float32([6, -6, 0, 3]), SIZES)),
        dtypes=NUMBERS,
        exact=True,
        static=False,
        gradient=1,
        rejects=[*WRONG_PAIRS, Reject(ValueError, (PLACES, VALUES, SIZES, PLACES, VALUES, i64(3, 3)))],
    ),
    Case(
        "SparseAdd",
        two(lambda a, b: sparse.add(a, b, 3)),
        None,
        PAIRS,
        Literal(LITERAL, (i64([0, 1], [0, 2], [1, 2]), np.float32([6, -6, 3]), SIZES)),
        static=False,
        gradient=None,
        note="over a threshold",
        slopes=[
            Literal(
                (PLACES, [1.0, 2.0, 3.0], SIZES, OTHER, [5.0, -6.0, -2.0], SIZES),
                (None, [1, 0, 1], None, None, [1, 1, 0], None),
            )
        ],
    ),
    Case(
        "SparseTensorDenseAdd",
        taking(sparse.add),
        lambda i, v, s, b: summed(i, v, s) + b,
        [(PLACES, (3,), SIZES, (2, 3)), (i64([2]), (1,), i64(3), (3,)), (NONE, (0,), SIZES, (2, 3))],
        Literal((PLACES, VALUES, SIZES, np.ones((2, 3), np.float32)), np.float32([[1, 2, 1], [3, 1, 4]])),
        dtypes=NUMBERS,
        exact=True,
        rejects=[
            Reject(InvalidArgumentError, (PLACES, VALUES, SIZES, np.ones(3, np.float32))),
            Reject(TypeError, (PLACES, VALUES, SIZES, [1.0]), lambda i, v, s, b: sparse.add(v, b)),
        ],
    ),
    Case(
        "SparseTensorDenseAdd",
        lambda i, v, s, b: sparse.add(b, SparseTensor(i, v, s)),
        lambda i, v, s, b: summed(i, v, s) + b,
        [(PLACES, (3,), SIZES, (2, 3))],
        Literal((PLACES, VALUES, SIZES, np.ones((2, 3), np.float32)), np.float32([[1, 2, 1], [3, 1, 4]])),
        note="the other way round",
    ),
    *(
        Case(
            op,
            two(build),
            union(function),
            PAIRS,
            Literal(LITERAL, (BOTH, np.float32(answer), SIZES)),
            dtypes=REALS,
            exact=True,
            static=False,
            gradient=0,
            rejects=WRONG_PAIRS,
        )
        for op, build, function, answer in (
            ("SparseSparseMaximum", sparse.maximum, np.maximum, [5, 0, 2, 3]),
            ("SparseSparseMinimum", sparse.minimum, np.minimum, [1, -6, -2, 0]),
        )
    ),
]


def softmax(i: Any, v: Any, s: Any) -> Any:
    rows = [tuple(row) for row in i[:, :-1].tolist()]
    powers = np.exp(v)
    sums = {row: sum(p for r, p in zip(rows, powers) if r == row) for row in rows}
    return i, np.array([p / sums[row] for row, p in zip(rows, powers)]), s


SOFTMAX = [
    Case(
        "SparseSoftmax",
        taking(sparse.softmax),
        softmax,
        [
            (PLACES, (3,), SIZES),
            (NONE, (0,), SIZES),
            (i64([0, 0, 0], [0, 0, 2], [0, 1, 0]), (3,), i64(1, 2, 3)),
        ],
        Literal((PLACES, VALUES, SIZES), (PLACES, np.float32([1, 0.26894143, 0.7310586]), SIZES)),
        dtypes="float16 float32 float64",
        rejects=[
            Reject(InvalidArgumentError, (i64([0]), [1.0], i64(3))),
            Reject(TypeError, (PLACES, i32(1, 2, 3), SIZES)),
        ],
    )
]

# ---- reductions

AXES: list[tuple[Any, bool]] = [(None, False), (0, True), (1, False), ([0, 1], True), (-1, False), ([], False)]


def over(axes: Any, keep: bool, function: Any) -> Any:
    def reference(i: Any, v: Any, s: Any) -> Any:
        rank = len(s)
        gone = {a % rank for a in (range(rank) if axes is None else np.atleast_1d(axes).astype(int).tolist())}
        groups: dict[tuple[int, ...], list[Any]] = {}
        for place, value in zip(i.tolist(), v):
            groups.setdefault(tuple(0 if a in gone else n for a, n in enumerate(place)), []).append(value)
        result = np.zeros([1 if a in gone else n for a, n in enumerate(s)], v.dtype)
        for place_, values in groups.items():
            result[place_] = function(values)
        return result if keep else result.reshape([n for a, n in enumerate(s) if a not in gone])

    return reference


def total(values: list[Any]) -> Any:
    return np.sum(np.array(values), dtype=np.array(values).dtype)


SUMMED = {
    "None False": np.float32(6),
    "0 True": np.float32([[2, 1, 3]]),
    "1 False": np.float32([1, 5]),
    "[0, 1] True": np.float32([[6]]),
    "-1 False": np.float32([1, 5]),
    "[] False": np.float32([[0, 1, 0], [2, 0, 3]]),
}
LARGEST = {**SUMMED, "None False": np.float32(3), "1 False": np.float32([1, 3]), "[0, 1] True": np.float32([[3]])}
LARGEST["-1 False"] = LARGEST["1 False"]
ENTRIES: list[Any] = [
    (PLACES, (3,), SIZES),
    (TWICE, (3,), SIZES),
    (NONE, (0,), SIZES),
    (i64([1, 0], [0, 1]), (2,), i64(3, 2)),
]
REDUCED = [
    Case(
        op,
        taking(lambda a, build=build, axes=axes, keep=keep: build(a, axes, keep)),
        over(axes, keep, function),
        ENTRIES,
        Literal((PLACES, VALUES, SIZES), answers[f"{axes} {keep}"]),
        dtypes=dtypes,
        exact=True,
        gradient=gradient,
        loose=3,
        note=f"{axes} {keep}",
    )
    for op, build, function, answers, dtypes, gradient in (
        ("SparseReduceSum", sparse.reduce_sum, total, SUMMED, NUMBERS, 2),
        ("SparseReduceMax", sparse.reduce_max, max, LARGEST, REALS, 0),
    )
    for axes, keep in AXES
]


def still_sparse(axes: Any, keep: bool, function: Any) -> Any:
    def reference(i: Any, v: Any, s: Any) -> Any:
        there = over(axes, keep, lambda values: True)(i, np.ones(len(v), bool), s)
        return sparse_parts(np.asarray(over(axes, keep, function)(i, v, s)), there)

    return reference


REDUCED += [
    Case(
        op,
        taking(lambda a, build=build, axes=axes, keep=keep: build(a, axes, keep)),
        still_sparse(axes, keep, function),
        ENTRIES,
        Literal((PLACES, VALUES, SIZES), answer),
        dtypes=dtypes,
        exact=True,
        static=False,
        gradient=0,
        loose=3,
        note=f"{axes} {keep}",
    )
    for op, build, function, axes, keep, dtypes, answer in (
        (
            "SparseReduceSumSparse",
            sparse.reduce_sum_sparse,
            total,
            1,
            True,
            NUMBERS,
            (i64([0, 0], [1, 0]), np.float32([1, 5]), i64(2, 1)),
        ),
        (
            "SparseReduceSumSparse",
            sparse.reduce_sum_sparse,
            total,
            None,
            False,
            NUMBERS,
            (np.zeros((1, 0), np.int64), np.float32([6]), np.zeros(0, np.int64)),
        ),
        (
            "SparseReduceMaxSparse",
            sparse.reduce_max_sparse,
            max,
            1,
            False,
            REALS,
            (i64([0], [1]), np.float32([1, 3]), i64(2)),
        ),
    )
]
REDUCED += [
    Case(
        "SparseReduceSum",
        taking(lambda a, axis: sparse.reduce_sum(a, axis)),
        lambda i, v, s, axis: over(int(axis), False, total)(i, v, s),
        [(PLACES, (3,), SIZES, n32(0))],
        Literal((PLACES, VALUES, SIZES, n32(1)), np.float32([1, 5])),
        note="axis as a tensor",
        rejects=[Reject(InvalidArgumentError, (PLACES, VALUES, SIZES, n32(2)))],
    ),
    Case(
        "SparseReduceMax",
        taking(lambda a: sparse.reduce_max(a, 1)),
        over(1, False, max),
        [(PLACES, (3,), i64(3, 3))],
        Literal((PLACES, -VALUES, i64(3, 3)), np.float32([-1, -2, 0])),
        note="of what is there",
        gradient=0,
        rejects=[
            Reject(TypeError, (PLACES, [1j] * 3, SIZES), dtype="complex64"),
            Reject(InvalidArgumentError, (PLACES, [1.0] * 3, i64(2, 2))),
        ],
    ),
]

# ---- embeddings

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)
ID_PLACES, ID_SIZES = i64([0, 0], [0, 1], [2, 0]), i64(4, 2)
IDS = i64(1, 3, 0)
WEIGHTS = np.float32([2, 1, 0.5])


def looked_up(combiner: str, weighted: bool, safe: bool = False) -> Any:
    def reference(table: Any, ids: Any, weights: Any) -> Any:
        result = np.zeros((4 if safe else 3, table.shape[1]), table.dtype)
        for row in range(len(result)):
            found = [
                (table[i], w if weighted else 1.0) for place, i, w in zip(ID_PLACES, ids, weights) if place[0] == row
            ]
            if found:
                sums = {"sum": 1.0, "mean": sum(w for _, w in found), "sqrtn": sum(w * w for _, w in found) ** 0.5}
                result[row] = sum(e * w for e, w in found) / sums[combiner]
        return result

    return reference


def lookup(combiner: str, weighted: bool, **more: Any) -> Any:
    def build(table: Any, ids: Any, weights: Any) -> Any:
        given = SparseTensor(ID_PLACES, weights, ID_SIZES) if weighted else None
        function: Any = nn.safe_embedding_lookup_sparse if more else nn.embedding_lookup_sparse
        options = {k: v for k, v in more.items() if k != "safe"}
        return function(table, SparseTensor(ID_PLACES, ids, ID_SIZES), given, combiner=combiner, **options)

    return build


R5 = float(np.sqrt(np.float32(5)))
LOOKUPS = [
    Case(
        "",
        lookup(combiner, weighted),
        looked_up(combiner, weighted),
        [((4, 3), IDS, (3,)), ((5, 1), i32(2, 2, 4), (3,))],
        Literal((TABLE, IDS, WEIGHTS), np.float32(answer)),
        dtypes="float32 float64",
        domain=((-2, 2), (0, 1), (0.5, 2)),
        static=False,
        gradient=2 if weighted else 1,
        note=f"embedding lookup {combiner} {weighted}",
        rejects=[
            Reject(ValueError, (TABLE, IDS, WEIGHTS), lookup("x", weighted)),
            Reject(TypeError, (TABLE, IDS, WEIGHTS), lambda t, i, w: nn.embedding_lookup_sparse(t, i, None)),
        ],
    )
    for combiner, weighted, answer in (
        ("mean", True, [[5, 6, 7], [0, 0, 0], [0, 1, 2]]),
        ("mean", False, [[6, 7, 8], [0, 0, 0], [0, 1, 2]]),
        ("sqrtn", True, [[15 / R5, 18 / R5, 21 / R5], [0, 0, 0], [0, 1, 2]]),
        ("sqrtn", False, [[8.485281, 9.899495, 11.313708], [0, 0, 0], [0, 1, 2]]),
        ("sum", True, [[15, 18, 21], [0, 0, 0], [0, 0.5, 1]]),
        ("sum", False, [[12, 14, 16], [0, 0, 0], [0, 1, 2]]),
    )
] + [
    Case(
        "",
        lookup("mean", True, safe=True),
        looked_up("mean", True, safe=True),
        [((4, 3), IDS, (3,)), ((5, 1), i32(2, 2, 4), (3,))],
        Literal((TABLE, IDS, WEIGHTS), np.float32([[5, 6, 7], [0, 0, 0], [0, 1, 2], [0, 0, 0]])),
        dtypes="float32 float64",
        domain=((-2, 2), (0, 1), (0.5, 2)),
        static=False,
        gradient=2,
        note="safe embedding lookup",
    ),
    Case(
        "",
        lookup("mean", True, default_id=2),
        None,
        [((4, 3), IDS, (3,))],
        Literal((TABLE, IDS, WEIGHTS), np.float32([[5, 6, 7], [6, 7, 8], [0, 1, 2], [6, 7, 8]])),
        dtypes="float32",
        static=False,
        note="safe embedding lookup with a default",
    ),
    Case(
        "",
        lookup("sum", True, safe=True),
        None,
        [((4, 3), IDS, (3,))],
        Literal(
            (TABLE, i64(1, -3, 0), np.float32([2, 1, -0.5])),
            np.float32([[6, 8, 10], [0, 0, 0], [0, -0.5, -1], [0, 0, 0]]),
        ),
        dtypes="float32",
        static=False,
        note="safe embedding lookup without negative ids",
    ),
    Case(
        "",
        lambda t, i: nn.safe_embedding_lookup_sparse(
            [t], SparseTensor(i64([0, 0, 0], [1, 1, 1]), i, i64(2, 2, 2)), combiner="sum"
        ),
        None,
        [((4, 3), i64(1, 3))],
        Literal((TABLE, i64(1, 3)), np.float32([[[3, 4, 5], [0, 0, 0]], [[0, 0, 0], [9, 10, 11]]])),
        dtypes="float32",
        static=False,
        note="safe embedding lookup of rank 3",
    ),
]

CASES: list[Case] = [*PRODUCTS, *CWISE, *SUMS, *SOFTMAX, *REDUCED, *LOOKUPS]
