"""Rows of ops that put tensors together, take them apart, and pad them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, WORDS, built, i32, i64, moving, n32, n64
from graph.ops.table import NUMBERS, Case, Entry, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.array.join import concat_offset, shape_n_op
from actorflow.graph.ops.array.pad_tile import mirror_pad_grad

# ---- joined and parted


def joined(axis: int) -> Callable[..., Any]:
    """Concatenation by going through all parts for each element."""

    def reference(*parts: Any) -> Any:
        at = axis % parts[0].ndim

        def element(*index: int) -> Any:
            place = index[at]
            for part in parts:
                if place < part.shape[at]:
                    return part[(*index[:at], place, *index[at + 1 :])]
                place -= part.shape[at]

        shape = list(parts[0].shape)
        shape[at] = sum(p.shape[at] for p in parts)
        return built(shape, parts[0], element)

    return reference


def parted(axis: int, sizes: Sequence[int]) -> Callable[..., Any]:
    def reference(x: Any) -> Any:
        at, parts, first = axis % x.ndim, [], 0
        for size in sizes:
            parts.append(
                built(
                    [*x.shape[:at], size, *x.shape[at + 1 :]],
                    x,
                    lambda *i, f=first: x[(*i[:at], i[at] + f, *i[at + 1 :])],
                )
            )
            first += size
        return tuple(parts)

    return reference


def layered(axis: int) -> Callable[..., Any]:
    def reference(*parts: Any) -> Any:
        at = axis % (parts[0].ndim + 1)
        shape = (*parts[0].shape[:at], len(parts), *parts[0].shape[at:])
        return built(shape, parts[0], lambda *i: parts[i[at]][(*i[:at], *i[at + 1 :])])

    return reference


def sheets(axis: int) -> Callable[..., Any]:
    def reference(x: Any) -> Any:
        at = axis % x.ndim
        shape = (*x.shape[:at], *x.shape[at + 1 :])
        return tuple(built(shape, x, lambda *i, k=k: x[(*i[:at], k, *i[at:])]) for k in range(x.shape[at]))

    return reference


def concat_row(axis: int, args: Sequence[Sequence[Entry]], literal: Literal) -> Case:
    return moving(
        "ConcatV2",
        lambda *parts: af.concat(list(parts), axis),
        joined(axis),
        args,
        literal,
        note=f"axis {axis}",
        rejects=[
            Reject(EITHER, (np.zeros((2, 3)), np.zeros((3, 2)))),
            Reject(EITHER, (np.zeros((2, 3)), np.zeros((2, 3, 1)))),
            Reject(EITHER, (np.zeros(()), np.zeros(()))),
            Reject(EITHER, (np.zeros(2), np.zeros(2)), build=lambda x, y: af.concat([x, y], 1)),
            Reject(
                TypeError, (np.zeros(2, np.float32), np.zeros(2, np.int32)), build=lambda x, y: af.concat([x, y], 0)
            ),
        ],
    )


A, B = [[1.0, 2.0]], [[3.0, 4.0]]
JOINED = [
    concat_row(
        0, [((2, 3), (1, 3)), ((0, 2), (2, 2), (1, 2)), ((2,), (3,)), ((1, 2),)], Literal((A, B), [[1, 2], [3, 4]])
    ),
    concat_row(-1, [((2, 3), (2, 1)), ((2, 3, 1), (2, 3, 0), (2, 3, 2))], Literal((A, B), [[1, 2, 3, 4]])),
    moving(
        "ConcatV2",
        lambda x, y, axis: af.concat([x, y, x], axis),
        lambda x, y, axis: joined(int(axis))(x, y, x),
        [((2, 3), (2, 3), n32(1)), ((2, 3), (2, 3), n64(-2))],
        Literal((A, B, n32(0)), [[1, 2], [3, 4], [1, 2]]),
        note="one part twice",
    ),
    *(
        moving(
            "Split",
            lambda x, n=n, axis=axis: af.split(x, n, axis),
            parted(axis, sizes),
            [(shape,)],
            literal,
            note=f"{n} along {axis}",
            rejects=[Reject(EITHER, (np.zeros((3, 7)),)), Reject(EITHER, (np.zeros(()),))] if n > 1 else (),
        )
        for n, axis, shape, sizes, literal in (
            (2, 0, (4, 3), (2, 2), Literal(([1.0, 2.0],), ([1], [2]))),
            (3, -1, (2, 6), (2, 2, 2), Literal(([[1.0, 2.0, 3.0]],), ([[1]], [[2]], [[3]]))),
            (1, 0, (2, 2), (2,), Literal(([1.0],), ([1],))),
        )
    ),
    *(
        moving(
            "SplitV",
            lambda x, sizes=sizes, axis=axis: af.split(x, sizes, axis),
            parted(axis, [s if s >= 0 else 3 for s in sizes]),
            [(shape,)],
            literal,
            note=f"{sizes}",
            rejects=[Reject(EITHER, (np.zeros(2),)), Reject(EITHER, (np.zeros(()),))],
        )
        for sizes, axis, shape, literal in (
            ([1, 3], 0, (4, 2), Literal(([1.0, 2.0, 3.0, 4.0],), ([1], [2, 3, 4]))),
            ([2, -1, 1], -1, (2, 6), Literal(([[1.0, 2.0, 3.0]],), ([[1, 2]], np.zeros((1, 0), np.float32), [[3]]))),
            ([0, 4], 0, (4,), Literal(([1.0, 2.0, 3.0, 4.0],), ([], [1, 2, 3, 4]))),
        )
    ),
    *(
        moving(
            "Pack",
            lambda *parts, axis=axis: af.stack(list(parts), axis),
            layered(axis),
            [((2, 3), (2, 3)), ((0,), (0,), (0,)), *([((), (), ())] if axis in (0, -1) else [])],
            Literal(([1.0, 2.0], [3.0, 4.0]), [[1, 2], [3, 4]] if axis == 0 else [[1, 3], [2, 4]]),
            note=f"axis {axis}",
            rejects=[
                Reject(EITHER, ([1.0], [1.0, 2.0])),
                Reject(EITHER, ([1.0], [2.0]), build=lambda x, y: af.stack([x, y], 2)),
                Reject(TypeError, (np.float32([1]), i32(1))),
            ],
        )
        for axis in (0, 1, -1)
    ),
    *(
        moving(
            "Unpack",
            lambda x, axis=axis: af.unstack(x, 3, axis),
            sheets(axis),
            [(shape,)],
            Literal(([1.0, 2.0, 3.0],), (1, 2, 3)),
            note=f"axis {axis} of {len(shape)}",
            rejects=[Reject(EITHER, (np.zeros((2, 2)),)), Reject(EITHER, (np.zeros(()),))],
        )
        for axis, shape in ((0, (3, 2)), (-1, (2, 3)), (0, (3,)))
    ),
]

# ---- padded


def padded(place: Callable[[int, int], int | None]) -> Callable[..., Any]:
    """Padding where `place` says from which index of a dimension of that size an index before or after it comes."""

    def reference(x: Any, paddings: Any, *value: Any) -> Any:
        def element(*index: int) -> Any:
            places = [place(k - int(before), n) for k, (before, _), n in zip(index, paddings, x.shape)]
            outside = value[0].item() if value else b"" if x.dtype == object else 0
            return outside if None in places else x[tuple(places)]

        return built([int(a) + n + int(b) for n, (a, b) in zip(x.shape, paddings)], x, element)

    return reference


def inside(index: int, size: int) -> int | None:
    return index if 0 <= index < size else None


def reflected(index: int, size: int) -> int:
    return -index if index < 0 else 2 * size - 2 - index if index >= size else index


def symmetric(index: int, size: int) -> int:
    return -1 - index if index < 0 else 2 * size - 1 - index if index >= size else index


def unpadded(place: Callable[[int, int], int | None]) -> Callable[..., Any]:
    """Each element added to where it came from."""

    def reference(y: Any, paddings: Any) -> Any:
        shape = [n - int(a) - int(b) for n, (a, b) in zip(y.shape, paddings)]
        result = np.zeros(shape, y.dtype)
        for index in np.ndindex(*y.shape):
            result[tuple(place(k - int(a), n) for k, (a, _), n in zip(index, paddings, shape))] += y[index]
        return result

    return reference


FRAMES = [
    ((2, 3), i32([1, 0], [1, 2])),
    ((3,), i64([2, 1])),
    ((2, 2), i32([0, 0], [0, 0])),
    ((), np.zeros((0, 2), np.int32)),
]
BAD_FRAMES = [Reject(EITHER, (np.zeros((2, 3)), i32(*p))) for p in (([-1, 0], [0, 0]), ([1, 1],), ([1], [1]))]
PADDED = [
    moving(
        "Pad",
        lambda x, p: af.pad(x, p),
        padded(inside),
        [*FRAMES, ((0, 2), i32([1, 1], [0, 1]))],
        Literal(([[1.0, 2.0]], i32([1, 0], [0, 1])), [[0, 0, 0], [1, 2, 0]]),
        rejects=BAD_FRAMES,
    ),
    moving(
        "PadV2",
        lambda x, p, c: af.pad(x, p, constant_values=c),
        padded(inside),
        [(shape, p, ()) for shape, p in FRAMES],
        Literal(([[1.0, 2.0]], i32([1, 0], [0, 1]), 7.0), [[7, 7, 7], [1, 2, 7]]),
        special=[
            Literal((WORDS, i32([0, 0], [1, 0]), np.array(b"z", object)), np.insert(WORDS, 0, b"z", 1)),
            Literal(
                (np.array(b"a", object), np.zeros((0, 2), np.int32), np.array(b"z", object)), np.array(b"a", object)
            ),
        ],
    ),
    *(
        moving(
            "MirrorPad MirrorPadGrad",
            lambda x, p, mode=mode: af.pad(x, p, mode),
            padded(place),
            [*FRAMES, ((4,), i32([3, 3]))],
            literal,
            note=mode,
            rejects=[*BAD_FRAMES, Reject(EITHER, ([1.0, 2.0], i32([0, 3])))],
        )
        for mode, place, literal in (
            ("REFLECT", reflected, Literal(([1.0, 2.0, 3.0], i32([2, 1])), [3, 2, 1, 2, 3, 2])),
            ("SYMMETRIC", symmetric, Literal(([1.0, 2.0, 3.0], i32([2, 1])), [2, 1, 1, 2, 3, 3])),
        )
    ),
    *(
        Case(
            "MirrorPadGrad",
            lambda y, p, mode=mode: mirror_pad_grad(y, p, mode=mode),
            unpadded(place),
            [((4, 5), i32([1, 0], [1, 1])), ((6,), i64([1, 2]))],
            literal,
            note=mode,
            dtypes=NUMBERS,
        )
        for mode, place, literal in (
            ("REFLECT", reflected, Literal(([1.0, 2.0, 3.0, 4.0, 5.0], i32([1, 1])), [2, 9, 4])),
            ("SYMMETRIC", symmetric, Literal(([1.0, 2.0, 3.0, 4.0, 5.0], i32([1, 1])), [3, 3, 9])),
        )
    ),
    moving(
        "Tile",
        af.tile,
        lambda x, m: built(
            [n * k for n, k in zip(x.shape, m)], x, lambda *i: x[tuple(k % n for k, n in zip(i, x.shape))]
        ),
        [
            ((2, 3), i32(2, 1)),
            ((2, 3), i64(1, 3)),
            ((2, 3), i32(0, 2)),
            ((3,), i32(4)),
            ((), i32()),
            ((0, 2), i32(2, 2)),
        ],
        Literal(([[1.0, 2.0]], i32(2, 2)), [[1, 2, 1, 2], [1, 2, 1, 2]]),
        special=[Literal((WORDS[0], i32(2)), np.concatenate([WORDS[0]] * 2))],
        rejects=[Reject(EITHER, (np.zeros((2, 3)), i32(*m))) for m in ((2,), (1, 2, 1), (-1, 1))],
    ),
]

SHAPES = [
    Case(
        "ShapeN",
        lambda x, y: shape_n_op([x, y]),
        lambda x, y: (np.array(x.shape, np.int32), np.array(y.shape, np.int32)),
        [((2, 3), ()), ((0,), (1, 2))],
        dtypes="float32 int64",
        literal=Literal(([[1.0, 2.0]], [3.0]), (i32(1, 2), i32(1))),
        gradient=0,
    ),
    Case(
        "ConcatOffset",
        lambda x, y, z: concat_offset(1, [x, y, z]),
        None,
        [(i32(2, 2), i32(2, 3), i32(2, 1))],
        dtypes="int32",
        literal=Literal((i32(2, 2), i32(2, 3), i32(2, 1)), (i32(0, 0), i32(0, 2), i32(0, 5))),
        rejects=[Reject(InvalidArgumentError, (i32(2, 2), i32(3, 3), i32(2, 1)), match="can't be joined along 1")],
        gradient=0,
    ),
]

CASES = [*JOINED, *PADDED, *SHAPES]
