"""Rows of ops that change shapes, make tensors up, put them together and take them apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ops.table import NUMBERS, Case, Entry, Literal, Reject

from actorflow.errors import InvalidArgumentError
from actorflow.ops import array as af
from actorflow.ops.padding import mirror_pad_grad

ALL = f"{NUMBERS} bool string"
EITHER = (ValueError, InvalidArgumentError)
WORDS = np.array([[b"a", b"bc"], [b"", b"\0d"]], object)


def i32(*values: Any) -> Any:
    return np.array(values, np.int32)


def i64(*values: Any) -> Any:
    return np.array(values, np.int64)


def n32(value: int) -> Any:
    return np.array(value, np.int32)


def n64(value: int) -> Any:
    return np.array(value, np.int64)


def built(shape: Sequence[int], like: Any, element: Callable[..., Any]) -> Any:
    """The array whose element at each index is `element(*index)`."""
    result = np.empty(tuple(shape), np.asarray(like).dtype)
    for index in np.ndindex(*result.shape):
        result[index] = element(*index)
    return result


def moving(ops: str, build: Any, reference: Any, args: Any, literal: Literal, **more: Any) -> Case:
    """A row of an op that moves elements of any type."""
    return Case(ops, build, reference, args, literal, **{"dtypes": ALL, "exact": True, **more})


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
    return built(x.shape, x, lambda *i: x[tuple(n - 1 - k if d in chosen else k for d, (k, n) in enumerate(zip(i, x.shape)))])


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
        [((), i32(1, 1)), ((6,), i32(2, 3)), ((2, 3), i64(-1)), ((2, 3), i32(3, -1, 1)), ((1, 1), i32()), ((0, 3), i32(3, 0))],
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
        [((2, 3), i32(1, 0)), ((2, 3, 4), i64(2, 0, 1)), ((3,), i32(0)), ((), i32()), ((0, 2), i32(1, 0)), ((2, 3), i32(-1, 0))],
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
        [((), i32(2, 3)), ((3,), i64(2, 3)), ((2, 1), i32(4, 2, 3)), ((1,), i32(0)), ((2, 3), i32(2, 3)), ((0, 1), i32(0, 2))],
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


def ranged(start: Any, limit: Any, delta: Any) -> Any:
    values = []
    while (start + len(values) * delta - limit) * delta < 0:
        values.append(start + len(values) * delta)
    return np.array(values)


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
    Case(
        "Range",
        af.range_,
        ranged,
        [
            tuple(np.array(v, kind) for v in values)
            for kind in (np.int32, np.int64, np.float32, np.float64)
            for values in ((0, 5, 1), (3, 10, 4), (5, 0, -2), (2, 2, 1), (-3, 4, 3))
        ],
        Literal((np.float32(0), np.float32(1), np.float32(0.3)), np.float32([0, 0.3, 0.6, 0.9])),
        special=[Literal((n32(5), n32(2), n32(-1)), i32(5, 4, 3)), Literal((np.int8(3), np.int8(9), np.int8(4)), np.int8([3, 7]))],
        rejects=[
            Reject(EITHER, (n32(0), n32(5), n32(0))),
            Reject(EITHER, (n32(0), n32(5), n32(-1))),
            Reject(EITHER, (n32(5), n32(0), n32(1))),
            Reject(EITHER, (i32(0, 1), n32(5), n32(1))),
        ],
        dtypes="float32",
        gradient=0,
    ),
    Case(
        "LinSpace",
        af.linspace,
        lambda start, stop, num: np.array([start + (stop - start) * i / max(num - 1, 1) for i in range(int(num))]),
        [((), (), n32(5)), ((), (), n64(2)), ((), (), n32(1))],
        Literal((2.0, 3.0, n32(5)), [2.0, 2.25, 2.5, 2.75, 3.0]),
        special=[Literal((5.0, 1.0, n32(3)), [5.0, 3.0, 1.0])],
        rejects=[
            Reject(EITHER, (0.0, 1.0, n32(0))),
            Reject(EITHER, ([0.0], 1.0, n32(2))),
            Reject(TypeError, (0, 1, n32(2)), dtype="int32"),
        ],
        gradient=0,
        loose=4,
    ),
    *(
        moving(
            "OneHot",
            lambda i, d, on, off, axis=axis: af.one_hot(i, d, on, off, axis=axis),
            hot(axis),
            [(i32(0, 2, -1, 3), n32(3), (), ()), (i64([0, 1], [2, 0]), n32(3), (), ()), (np.uint8([1]), n32(2), (), ())],
            Literal((i32(0, 2), n32(3), 5.0, -1.0), [[5, -1, -1], [-1, -1, 5]] if axis else [[5, -1], [-1, -1], [-1, 5]]),
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
            parts.append(built([*x.shape[:at], size, *x.shape[at + 1 :]], x, lambda *i, f=first: x[(*i[:at], i[at] + f, *i[at + 1 :])]))
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
            Reject(TypeError, (np.zeros(2, np.float32), np.zeros(2, np.int32)), build=lambda x, y: af.concat([x, y], 0)),
        ],
    )


A, B = [[1.0, 2.0]], [[3.0, 4.0]]
JOINED = [
    concat_row(0, [((2, 3), (1, 3)), ((0, 2), (2, 2), (1, 2)), ((2,), (3,)), ((1, 2),)], Literal((A, B), [[1, 2], [3, 4]])),
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
            note=f"axis {axis}",
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


FRAMES = [((2, 3), i32([1, 0], [1, 2])), ((3,), i64([2, 1])), ((2, 2), i32([0, 0], [0, 0])), ((), np.zeros((0, 2), np.int32))]
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
        special=[Literal((WORDS, i32([0, 0], [1, 0]), np.array(b"z", object)), np.insert(WORDS, 0, b"z", 1))],
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
        lambda x, m: built([n * k for n, k in zip(x.shape, m)], x, lambda *i: x[tuple(k % n for k, n in zip(i, x.shape))]),
        [((2, 3), i32(2, 1)), ((2, 3), i64(1, 3)), ((2, 3), i32(0, 2)), ((3,), i32(4)), ((), i32()), ((0, 2), i32(2, 2))],
        Literal(([[1.0, 2.0]], i32(2, 2)), [[1, 2, 1, 2], [1, 2, 1, 2]]),
        special=[Literal((WORDS[0], i32(2)), np.concatenate([WORDS[0]] * 2))],
        rejects=[Reject(EITHER, (np.zeros((2, 3)), i32(*m))) for m in ((2,), (1, 2, 1), (-1, 1))],
    ),
]

CASES = [*SHAPES, *MADE, *JOINED, *PADDED]
