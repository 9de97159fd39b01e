"""Rows of ops that move elements about, or hand them on: roll, repeat, unravel_index, ensure_shape and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, WORDS, built, i32, i64, moving, n32, n64
from graph.ops.table import Case, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.graph.tensor import Tensor

X = [[3.0, 1.0, 2.0], [0.0, 5.0, -1.0]]


def rolled(x: Any, shift: Any, axis: Any) -> Any:
    by = [0] * x.ndim
    for s, a in zip(np.atleast_1d(shift).tolist(), np.atleast_1d(axis).tolist()):
        by[a] += s
    return built(x.shape, x, lambda *i: x[tuple((k - s) % n for k, s, n in zip(i, by, x.shape))])


def repeated(times: list[int], axis: int) -> Callable[[Any], Any]:
    places = [i for i, t in enumerate(times) for _ in range(t)]

    def reference(x: Any) -> Any:
        shape = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
        return built(shape, x, lambda *i: x[(*i[:axis], places[i[axis]], *i[axis + 1 :])])

    return reference


def unraveled(indices: Any, dims: Any) -> Any:
    def point(index: int) -> list[int]:
        found = []
        for size in reversed(dims.tolist()):
            index, rest = divmod(index, size)
            found.append(rest)
        return found[::-1]

    points = np.array([point(int(i)) for i in indices.reshape(-1)], dims.dtype).reshape(-1, len(dims))
    return points[0] if indices.ndim == 0 else points.T


def broadcast_lengths(left: Any, right: Any) -> Any:
    longest = max(len(left), len(right))
    padded = [[1] * (longest - len(v)) + v.tolist() for v in (left, right)]
    return np.array([b if a == 1 else a for a, b in zip(*padded)], left.dtype)


def copied(x: Any) -> Any:
    return np.array(x)


def two(x: Tensor, y: Tensor) -> list[Tensor]:
    return af.identity_n([x, y])


ROLLED = [
    moving(
        "Roll",
        af.roll,
        rolled,
        [
            ((5,), n32(2), n32(0)),
            ((2, 3), i32(1, -2), i32(0, 1)),
            ((2, 3), i64(2, -3), i64(1, 1)),
            ((2, 3, 2), n64(-7), n32(-2)),
            ((0,), n32(1), n32(0)),
            ((2, 2), np.zeros(0, np.int32), np.zeros(0, np.int32)),
        ],
        Literal((X, i32(1, -2), i32(0, 1)), [[-1, 0, 5], [2, 3, 1]]),
        special=[Literal((X, i32(2, -3), i32(1, 1)), [[1, 2, 3], [5, -1, 0]])],
        slopes=[Literal(([1.0, 2.0], n32(1), n32(0)), ([1, 1], None, None))],
        rejects=[
            Reject(EITHER, (1.0, n32(1), n32(0))),
            Reject(EITHER, (X, n32(1), n32(2))),
            Reject(EITHER, (X, i32(1, 2), n32(0))),
            Reject(EITHER, (X, i32([1]), i32([0]))),
            Reject(TypeError, (X, np.float32(1), n32(0))),
        ],
    ),
    Case(
        "UnravelIndex",
        af.unravel_index,
        unraveled,
        [
            (n32(7), i32(3, 3)),
            (i32(2, 5, 7), i32(3, 3)),
            (i64(0, 59), i64(3, 4, 5)),
            (np.zeros(0, np.int32), i32(2, 2)),
        ],
        Literal((i32(2, 5, 7), i32(3, 3)), i32([0, 1, 2], [2, 2, 1])),
        special=[Literal((n32(7), i32(3, 3)), i32(2, 1))],
        dtypes="int32",
        gradient=None,
        rejects=[
            Reject(InvalidArgumentError, (i32(9), i32(3, 3))),
            Reject(InvalidArgumentError, (i32(-1), i32(3, 3))),
            Reject(InvalidArgumentError, (i32(0), i32(3, 0))),
            Reject(EITHER, (i32(5), n32(6))),
            Reject(EITHER, (i32([5]), i32(6))),
            Reject(TypeError, (i32(5), i64(6))),
            Reject(TypeError, (np.float32([5]), i32(6))),
        ],
    ),
    Case(
        "BroadcastArgs",
        af.broadcast_dynamic_shape,
        broadcast_lengths,
        [
            (i32(2, 1), i32(3, 1, 5)),
            (i64(2, 1), i64(2, 3)),
            (np.zeros(0, np.int32), i32(4)),
            (i32(0, 3), i32(1, 3)),
        ],
        Literal((i32(2, 1), i32(3, 1, 5)), i32(3, 2, 5)),
        dtypes="int32",
        gradient=None,
        rejects=[
            Reject(EITHER, (i32(2, 4), i32(2, 3))),
            Reject(EITHER, (i32([2, 1]), i32(2, 3))),
            Reject(TypeError, (i32(2, 1), i64(2, 3))),
        ],
    ),
]

REPEATED = [
    moving(
        "",
        lambda x: af.repeat(x, [1, 0, 2], axis=1),
        repeated([1, 0, 2], 1),
        [((2, 3),), ((2, 3, 2),)],
        Literal((X,), [[3, 2, 2], [0, -1, -1]]),
        note="repeat by a vector",
        rejects=[
            Reject(EITHER, (X,), build=lambda x: af.repeat(x, [1, 2], axis=1)),
            Reject(ValueError, (X,), build=lambda x: af.repeat(x, [[1, 2]], axis=0)),
            Reject((ValueError,), (X,), build=lambda x: af.repeat(x, 2, axis=2)),
            Reject(TypeError, (X,), build=lambda x: af.repeat(x, 1.5, axis=0)),
        ],
    ),
    moving(
        "",
        lambda x: af.repeat(x, 2, axis=-1),
        lambda x: repeated([2] * x.shape[-1], x.ndim - 1)(x),
        [((2, 3),), ((3,),), ((2, 0),)],
        Literal((X,), [[3, 3, 1, 1, 2, 2], [0, 0, 5, 5, -1, -1]]),
        note="repeat by a number",
    ),
    moving(
        "",
        lambda x: af.repeat(x, [-3, 1], axis=0),
        repeated([0, 1], 0),
        [((2,),), ((2, 2),)],
        Literal(([1.0, 2.0],), [2]),
        note="repeat less than never",
    ),
    moving(
        "",
        lambda x: af.repeat(x, 2),
        lambda x: repeated([2] * x.size, 0)(x.reshape(-1)),
        [((2, 2),), ((),), ((0, 2),)],
        Literal((X,), [3, 3, 1, 1, 2, 2, 0, 0, 5, 5, -1, -1]),
        note="repeat all",
    ),
]

HANDED_ON = [
    moving(
        "EnsureShape",
        lambda x: af.ensure_shape(x, [None, 2]),
        copied,
        [((3, 2),), ((0, 2),)],
        Literal(([[1.0, 2.0]],), [[1, 2]]),
        special=[Literal((WORDS,), WORDS)],
        rejects=[
            Reject(EITHER, ([1.0, 2.0],)),
            Reject(EITHER, ([[1.0], [2.0]],)),
            Reject(ValueError, ([[1.0, 2.0]],), build=lambda x: af.ensure_shape(x, [-1, 2])),
        ],
    ),
    moving(
        "IdentityN",
        two,
        lambda x, y: (copied(x), copied(y)),
        [((3, 2), ()), ((0,), (2,))],
        Literal(([1.0], 2.0), ([1], 2)),
        special=[Literal((WORDS, [1.0]), (WORDS, [1]))],
        slopes=[Literal(([1.0], [2.0]), ([1], [1]))],
        rejects=[Reject(ValueError, ([1.0],), build=lambda x: af.identity_n([]))],
    ),
    Case(
        "IdentityN",
        lambda x, y: af.identity_n([x, y])[0],
        lambda x, y: copied(x),
        [((2,), (3,))],
        Literal(([1.0], 2.0), [1]),
        slopes=[Literal(([1.0], [2.0]), ([1], [0]))],
        note="of which one is used",
    ),
    moving(
        "GuaranteeConst",
        af.guarantee_const,
        copied,
        [((3, 2),), ((),)],
        Literal(([1.0],), [1]),
        gradient=0,
    ),
    moving(
        "",
        lambda x, y: af.parallel_stack([af.ensure_shape(x, [2]), af.ensure_shape(y, [2])]),
        lambda x, y: built((2, 2), x, lambda k, i: (x, y)[k][i]),
        [((2,), (2,))],
        Literal(([1.0, 2.0], [3.0, 4.0]), [[1, 2], [3, 4]]),
        note="parallel stack",
        rejects=[
            Reject(ValueError, ([1.0, 2.0], [3.0]), build=lambda x, y: af.parallel_stack([x, y])),
            Reject(ValueError, ([1.0],), build=lambda x: af.parallel_stack([x, af.placeholder(af.float32)])),
        ],
    ),
    moving(
        "",
        lambda first, second: af.parallel_dynamic_stitch([[0, 2], [1]], [first, second]),
        lambda first, second: built((3, *first.shape[1:]), first, lambda k, *i: (first[0], second[0], first[1])[k][i]),
        [((2, 3), (1, 3))],
        Literal(([1.0, 2.0], [3.0]), [1, 3, 2]),
        note="parallel stitch",
    ),
]

CASES = [*ROLLED, *REPEATED, *HANDED_ON]
