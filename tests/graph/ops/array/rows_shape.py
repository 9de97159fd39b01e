"""Rows of ops that change shapes or make tensors up."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import ALL, EITHER, WORDS, built, i32, i64, moving, n32, n64
from graph.ops.table import NUMBERS, Case, Literal, Reject

import actorflow as af

# ---- shapes


def question(name: str, build: Any, answer: Callable[[tuple[int, ...]], Any], literal: Any) -> Case:
    return moving(
        name,
        build,
        lambda x: np.array(answer(x.shape)),
        [((),), ((0, 3),), ((2, 1, 3),)],
        Literal(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],), literal),
        special=[Literal((WORDS,), np.asarray(answer((2, 2)), np.asarray(literal).dtype))],
        gradient=0,
    )


def reshaped(x: Any, shape: Any) -> Any:
    elements = iter(x.ravel().tolist())
    known = math.prod(int(s) for s in shape if s != -1)
    return built([x.size // known if s == -1 else s for s in shape], x, lambda *_: next(elements))


def transposed(x: Any, perm: Any) -> Any:
    axes = [int(p) % x.ndim for p in perm]
    return built([x.shape[a] for a in axes], x, lambda *i: x[tuple(i[axes.index(d)] for d in range(x.ndim))])


def broadcast(x: Any, shape: Any) -> Any:
    def source(*index: int) -> Any:
        own = index[len(index) - x.ndim :]
        return x[tuple(0 if size == 1 else i for size, i in zip(x.shape, own))]

    return built(shape, x, source)


def mirrored(x: Any, axes: Any) -> Any:
    chosen = {int(a) % x.ndim for a in axes}
    return built(
        x.shape, x, lambda *i: x[tuple(n - 1 - k if d in chosen else k for d, (k, n) in enumerate(zip(i, x.shape)))]
    )


def read_int(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


SHAPES = [
    question("Shape", lambda x: af.shape(x), lambda s: s, i32(2, 3)),
    question("Size", lambda x: af.size(x, out_type="int64"), math.prod, n64(6)),
    question("Rank", lambda x: af.rank(x), len, n32(2)),
    moving(
        "Reshape",
        af.reshape,
        reshaped,
        [
            ((), i32(1, 1)),
            ((6,), i32(2, 3)),
            ((2, 3), i64(-1)),
            ((2, 3), i32(3, -1, 1)),
            ((1, 1), i32()),
            ((0, 3), i32(3, 0)),
        ],
        Literal(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], i32(3, -1)), [[1, 2], [3, 4], [5, 6]]),
        special=[
            Literal((WORDS, i32(4)), WORDS.reshape(4)),
            Literal((np.zeros((0, 3), np.float32), i32(0, -1)), np.zeros((0, 3), np.float32)),
            Literal((np.zeros((0, 3), np.float32), i32(-1, 4)), np.zeros((0, 4), np.float32)),
        ],
        rejects=[
            Reject(EITHER, (np.zeros((2, 3)), i32(4, 2))),
            Reject(EITHER, (np.zeros((2, 3)), i32(4, -1))),
            Reject(EITHER, (np.zeros((2, 3)), i32(-1, -1))),
            Reject(EITHER, (np.zeros((2, 3)), i32(-2, 3))),
            Reject(EITHER, (np.zeros((2, 3)), i32(0, -1))),
            Reject(EITHER, (np.zeros((2, 3)), n32(6))),
            Reject(TypeError, (np.zeros((2, 3)), np.float32([6]))),
        ],
    ),
    moving(
        "ExpandDims",
        af.expand_dims,
        lambda x, axis: reshaped(x, [*x.shape[: axis % (x.ndim + 1)], 1, *x.shape[axis % (x.ndim + 1) :]]),
        [((), n32(0)), ((2, 3), n32(-1)), ((2, 3), n64(1)), ((0,), n32(0))],
        Literal(([[1.0, 2.0]], n32(1)), [[[1, 2]]]),
        special=[Literal((WORDS, n32(2)), WORDS.reshape(2, 2, 1))],
        rejects=[Reject(EITHER, ([1.0], n32(2))), Reject(EITHER, ([1.0], n32(-3))), Reject(EITHER, ([1.0], i32(0, 0)))],
    ),
    moving(
        "Squeeze",
        lambda x: af.squeeze(x, [0, -2]),
        lambda x: reshaped(x, [x.shape[1], x.shape[3]]),
        [((1, 2, 1, 3),), ((1, 1, 1, 1),), ((1, 0, 1, 2),)],
        Literal(([[[[1.0]], [[2.0]]]],), [[1], [2]]),
        rejects=[Reject(EITHER, (np.zeros((2, 1, 1, 1)),)), Reject(EITHER, (np.zeros((1,)),))],
    ),
    moving(
        "Squeeze",
        lambda x: af.squeeze(x),
        lambda x: reshaped(x, [s for s in x.shape if s != 1]),
        [((),), ((1, 2, 1, 3),), ((1, 1),)],
        Literal(([[[1.0], [2.0]]],), [1, 2]),
        note="all",
        special=[Literal((WORDS[:1, :1],), WORDS[0, 0])],
    ),
    moving(
        "Transpose",
        af.transpose,
        transposed,
        [
            ((2, 3), i32(1, 0)),
            ((2, 3, 4), i64(2, 0, 1)),
            ((3,), i32(0)),
            ((), i32()),
            ((0, 2), i32(1, 0)),
            ((2, 3), i32(-1, 0)),
        ],
        Literal(([[1.0, 2.0, 3.0]], i32(1, 0)), [[1], [2], [3]]),
        rejects=[Reject(EITHER, ([[1.0]], i32(*p))) for p in ((0, 0), (0,), (0, 1, 2), (0, 2))],
    ),
    moving(
        "Transpose",
        lambda x: af.transpose(x),
        lambda x: transposed(x, range(x.ndim)[::-1]),
        [((2, 3, 4),), ((),)],
        Literal(([[1.0, 2.0, 3.0]],), [[1], [2], [3]]),
        note="reversed",
    ),
    moving(
        "Transpose",
        lambda x: af.transpose(x, [1, 0], conjugate=True),
        lambda x: transposed(np.conj(x), [1, 0]),
        [((2, 3),)],
        Literal(([[1 + 2j, 3j]],), [[1 - 2j], [-3j]]),
        note="conjugate",
        dtypes="complex64 complex128",
    ),
    moving(
        "BroadcastTo",
        af.broadcast_to,
        broadcast,
        [
            ((), i32(2, 3)),
            ((3,), i64(2, 3)),
            ((2, 1), i32(4, 2, 3)),
            ((1,), i32(0)),
            ((2, 3), i32(2, 3)),
            ((0, 1), i32(0, 2)),
        ],
        Literal(([[1.0], [2.0]], i32(2, 3)), [[1, 1, 1], [2, 2, 2]]),
        rejects=[Reject(EITHER, (np.zeros((2, 3)), i32(*s))) for s in ((3,), (2, 2), (4, 3), (2, -1))],
    ),
    moving(
        "ReverseV2",
        af.reverse,
        mirrored,
        [((4,), i32(0)), ((2, 3), i64(-1)), ((2, 3), i32(1, 0)), ((2, 3), i32()), ((0, 2), i32(0))],
        Literal(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], i32(1)), [[3, 2, 1], [6, 5, 4]]),
        rejects=[Reject(EITHER, (np.zeros((2, 3)), i32(*a))) for a in ((0, 0), (0, -2), (2,), (-3,))],
    ),
    Case(
        "Bitcast",
        lambda x: af.bitcast(x, "int16"),
        lambda x: np.array([[read_int(v.tobytes()[k : k + 2]) for k in range(0, x.itemsize, 2)] for v in x]),
        [((3,),)],
        Literal((np.float32([1.5, -2.0]),), np.int16([[0, 16320], [0, -16384]])),
        dtypes="int32 float32 float64",
        exact=True,
        special=[
            Literal((np.uint8([[1, 2], [255, 255]]),), np.int16([513, -1])),
            Literal((np.uint16([65535, 1]),), np.int16([-1, 1])),
            Literal((np.float32(1.5),), np.int16([0, 16320])),
        ],
        rejects=[Reject(EITHER, (np.uint8([1, 2, 3]),)), Reject(TypeError, (np.array([b"ab"], object),))],
        gradient=0,
    ),
]

# ---- made up

COLD = Literal((i32(0, 2, -1),), np.float32([[1, 0, 0], [0, 0, 1], [0, 0, 0]]))


def hot(axis: int) -> Callable[..., Any]:
    def reference(indices: Any, depth: Any, on: Any, off: Any) -> Any:
        at = axis % (indices.ndim + 1)
        shape = (*indices.shape[:at], int(depth), *indices.shape[at:])
        return built(shape, on, lambda *i: (on if indices[(*i[:at], *i[at + 1 :])] == i[at] else off).item())

    return reference


def numbers(name: str, number: int) -> Case:
    build = getattr(af, f"{name}_like")
    return moving(
        f"{name.title()}Like",
        lambda x: build(x, optimize=False),
        lambda x: np.full(x.shape, number, x.dtype) if x.dtype != object else np.full(x.shape, b"", object),
        [((),), ((0, 3),), ((2, 3),)],
        Literal(([[1.0, math.nan]],), [[number, number]]),
        special=[Literal(([True, False],), [bool(number)] * 2, dtype="bool")],
        dtypes=ALL if number == 0 else f"{NUMBERS} bool",
        gradient=None,
    )


MADE = [
    moving(
        "Fill",
        af.fill,
        lambda dims, value: built(dims, value, lambda *_: value.item()),
        [(i32(2, 3), ()), (i64(0, 2), ()), (i32(), ())],
        Literal((i32(2, 2), 3.5), [[3.5, 3.5], [3.5, 3.5]]),
        special=[Literal((i32(2), np.array(b"ab", object)), np.array([b"ab", b"ab"], object))],
        rejects=[Reject(EITHER, (i32(-1), 1.0)), Reject(EITHER, (n32(2), 1.0)), Reject(EITHER, (i32(2), [1.0]))],
    ),
    numbers("zeros", 0),
    numbers("ones", 1),
    *(
        moving(
            "OneHot",
            lambda i, d, on, off, axis=axis: af.one_hot(i, d, on, off, axis=axis),
            hot(axis),
            [
                (i32(0, 2, -1, 3), n32(3), (), ()),
                (i64([0, 1], [2, 0]), n32(3), (), ()),
                (np.uint8([1]), n32(2), (), ()),
            ],
            Literal(
                (i32(0, 2), n32(3), 5.0, -1.0), [[5, -1, -1], [-1, -1, 5]] if axis else [[5, -1], [-1, -1], [-1, 5]]
            ),
            note=f"axis {axis}",
            gradient=None,
        )
        for axis in (-1, 0, 1)
    ),
    Case(
        "OneHot",
        lambda i: af.one_hot(i, 3),
        lambda i: np.array([[float(v == k) for k in range(3)] for v in i]),
        [(i32(0, 2, -1, 3),)],
        COLD,
        dtypes="float32",
        note="defaults",
        gradient=0,
        rejects=[
            Reject(ValueError, (i32(0),), build=lambda i: af.one_hot(i, -1)),
            Reject(EITHER, (i32(0),), build=lambda i: af.one_hot(i, 2, axis=2)),
            Reject(TypeError, (i32(0),), build=lambda i: af.one_hot(i, 2, on_value=1.0, off_value=0)),
            Reject(TypeError, ([0.5],)),
        ],
    ),
    Case(
        "",
        lambda n: af.sequence_mask(n, 3, af.int32),
        lambda n: np.array([[int(at < length) for at in range(3)] for length in n]),
        [(np.array([0, 5, 2], np.uint8),), (np.array([1, 3], np.uint64),), (i64(1, -1),)],
        Literal((np.array([1, 3], np.uint16),), np.int32([[1, 0, 0], [1, 1, 1]])),
        dtypes="int32",
        note="sequence_mask",
        gradient=None,
    ),
    moving(
        "PlaceholderWithDefault",
        lambda x: af.placeholder_with_default(x, [None, 2]),
        lambda x: built(x.shape, x, lambda *i: x[i]),
        [((3, 2),)],
        Literal(([[1.0, 2.0]],), [[1, 2]]),
        rejects=[Reject(ValueError, ([[1.0, 2.0, 3.0]],))],
        static=False,
    ),
]

CASES = [*SHAPES, *MADE]
