"""Rows of ops that move elements between space and the batch or the channels, and of patches of images."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, built, i32, i64, moving
from graph.ops.table import NUMBERS, Array, Case, Literal, Reject
from graph.ops.windows import Windows

from actorflow.graph.ops.array import space_batch as af
from actorflow.graph.ops.nn.conv import patches


def shaped(values: Any, *shape: int) -> Any:
    return np.reshape(values, shape).tolist()


def counted(*shape: int) -> Any:
    return shaped(range(1, int(np.prod(shape)) + 1), *shape)


# ---- space and batch


def to_batch(x: Any, block: Any, paddings: Any) -> Any:
    sizes, count = [int(b) for b in block], len(block)
    places = [(s + int(sum(p))) // b for s, b, p in zip(x.shape[1:], sizes, paddings)]

    def element(*index: int) -> Any:
        batch, inside = index[0] % len(x), index[0] // len(x)
        offsets = np.unravel_index(inside, sizes)
        at = [p * b + int(o) - int(w[0]) for p, b, o, w in zip(index[1:], sizes, offsets, paddings)]
        if all(0 <= a < s for a, s in zip(at, x.shape[1:])):
            return x[(batch, *at, *index[1 + count :])]
        return b"" if x.dtype == object else 0

    return built((len(x) * int(np.prod(sizes)), *places, *x.shape[1 + count :]), x, element)


def to_space(x: Any, block: Any, crops: Any) -> Any:
    sizes, count = [int(b) for b in block], len(block)
    batch = len(x) // int(np.prod(sizes))
    space = [s * b - int(sum(c)) for s, b, c in zip(x.shape[1:], sizes, crops)]

    def element(*index: int) -> Any:
        at = [i + int(c[0]) for i, c in zip(index[1:], crops)]
        inside = int(np.ravel_multi_index([a % b for a, b in zip(at, sizes)], sizes))
        return x[(inside * batch + index[0], *(a // b for a, b in zip(at, sizes)), *index[1 + count :])]

    return built((batch, *space, *x.shape[1 + count :]), x, element)


def widths(*pairs: Any) -> Any:
    return np.array(pairs, np.int32)


def refused(build: Any, cases: Any) -> list[Reject]:
    return [Reject(EITHER, (x, block, pairs), build) for x, block, pairs in cases]


BATCH = [
    moving(
        "SpaceToBatchND",
        af.space_to_batch_nd,
        to_batch,
        [
            ((2, 2, 4, 1), i32(2, 2), widths((0, 0), (0, 0))),
            ((1, 3, 2), i64(2), np.array([[1, 2]], np.int64)),
            ((1, 1, 2, 2, 2), i32(1, 2), widths((0, 0), (1, 1))),
            ((0, 2, 1), i32(2), widths((0, 0))),
        ],
        Literal(
            (shaped(range(4), 1, 2, 2, 1), i32(2, 2), widths((0, 0), (0, 2))),
            shaped([0, 0, 1, 0, 2, 0, 3, 0], 4, 1, 2, 1),
        ),
        rejects=refused(
            af.space_to_batch_nd,
            [
                (counted(1, 2, 2, 1), i32(2, 2), widths((0, 1), (0, 2))),
                (counted(1, 2, 2, 1), i32(0, 2), widths((0, 0), (0, 0))),
                (counted(1, 2, 2, 1), i32(2, 2), widths((0, -1), (0, 0))),
                (counted(1, 2, 2, 1), i32(2, 2), widths((0, 0))),
                (counted(2, 2), i32(2, 2), widths((0, 0), (0, 0))),
            ],
        ),
    ),
    moving(
        "BatchToSpaceND",
        af.batch_to_space_nd,
        to_space,
        [
            ((8, 1, 2, 1), i32(2, 2), widths((0, 0), (0, 0))),
            ((4, 3, 2), i64(2), np.array([[1, 2]], np.int64)),
            ((2, 1, 2, 2, 2), i32(1, 2), widths((0, 0), (1, 1))),
            ((0, 2, 1), i32(2), widths((0, 0))),
        ],
        Literal((shaped(range(8), 4, 1, 2, 1), i32(2, 2), widths((0, 1), (1, 0))), shaped([2, 1, 3], 1, 1, 3, 1)),
        rejects=refused(
            af.batch_to_space_nd,
            [
                (counted(3, 1, 2, 1), i32(2, 2), widths((0, 1), (1, 0))),
                (counted(4, 1, 2, 1), i32(2, 2), widths((2, 1), (0, 0))),
                (counted(4, 1, 2, 1), i32(0, 2), widths((0, 0), (0, 0))),
                (counted(4, 1, 2, 1), i32(2, 2), widths((0, 0), (-1, 0))),
            ],
        ),
    ),
    Case(
        "",
        lambda x: [af.space_to_batch(x, [[0, 0], [1, 1]], 2), af.space_to_batch(x, [[0, 0]], block_shape=[2])],
        lambda x: (to_batch(x, (2, 2), ((0, 0), (1, 1))), to_batch(x, (2,), ((0, 0),))),
        [((1, 2, 2, 2),)],
        Literal(
            (counted(1, 2, 2, 1),), (shaped([0, 2, 1, 0, 0, 4, 3, 0], 4, 1, 2, 1), shaped([1, 2, 3, 4], 2, 1, 2, 1))
        ),
        note="space_to_batch",
        rejects=[Reject(ValueError, (counted(1, 2, 2, 1),), lambda x: af.space_to_batch(x, [[0, 0], [0, 0]]))],
    ),
    Case(
        "",
        lambda x: af.batch_to_space(x, [[0, 0], [1, 1]], 2),
        lambda x: to_space(x, (2, 2), ((0, 0), (1, 1))),
        [((4, 1, 2, 2),)],
        Literal((counted(4, 1, 2, 1),), shaped([3, 2, 7, 6], 1, 2, 2, 1)),
        note="batch_to_space",
    ),
    Case(
        "",
        lambda sizes, block: [
            *af.required_space_to_batch_paddings(sizes, block, [[1, 0], [0, 1]]),
            *af.required_space_to_batch_paddings(sizes, block),
        ],
        lambda sizes, block: tuple(
            np.stack([first, last], 1)
            for base in (np.array([[1, 0], [0, 1]]), np.zeros((2, 2), int))
            for rest in [(block - (sizes + base.sum(1)) % block) % block]
            for first, last in ((base[:, 0], base[:, 1] + rest), (0 * rest, rest))
        ),
        [(i32(5, 7), i32(2, 3)), (i32(4, 0), i32(4, 1))],
        Literal(
            (i32(5, 7), i32(2, 3)),
            (widths((1, 0), (0, 2)), widths((0, 0), (0, 1)), widths((0, 1), (0, 2)), widths((0, 1), (0, 2))),
        ),
        dtypes="int32",
        note="required_space_to_batch_paddings",
        rejects=[Reject(ValueError, (i32(5, 7), i32(2, 3, 4)), af.required_space_to_batch_paddings)],
    ),
]

# ---- space and depth


def deeper(x: Any, b: int) -> Any:
    batch, height, width, channels = x.shape

    def element(n: int, i: int, j: int, d: int) -> Any:
        inside, c = divmod(d, channels)
        return x[n, i * b + inside // b, j * b + inside % b, c]

    return built((batch, height // b, width // b, channels * b * b), x, element)


def wider(x: Any, b: int) -> Any:
    batch, height, width, deep = x.shape
    channels = deep // (b * b)

    def element(n: int, i: int, j: int, c: int) -> Any:
        return x[n, i // b, j // b, ((i % b) * b + j % b) * channels + c]

    return built((batch, height * b, width * b, channels), x, element)


def first(function: Any, b: int) -> Any:
    return lambda x: np.moveaxis(function(np.moveaxis(x, 1, -1), b), -1, 1)


SQUARES = [1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16]
DEPTH = [
    moving(
        "SpaceToDepth",
        lambda x: af.space_to_depth(x, 2),
        lambda x: deeper(x, 2),
        [((2, 2, 4, 3),), ((0, 2, 2, 1),)],
        Literal((counted(1, 4, 4, 1),), shaped(SQUARES, 1, 2, 2, 4)),
        rejects=[
            Reject(EITHER, (counted(1, 2, 2, 2),), lambda x: af.space_to_depth(x, 3)),
            Reject(ValueError, (counted(1, 2, 2, 2),), lambda x: af.space_to_depth(x, 1)),
            Reject(ValueError, (counted(1, 2, 2, 2),), lambda x: af.space_to_depth(x, 2, data_format="NWC")),
            Reject(EITHER, (counted(2, 2),)),
        ],
    ),
    moving(
        "SpaceToDepth",
        lambda x: af.space_to_depth(x, 2, data_format="NCHW"),
        first(deeper, 2),
        [((2, 3, 2, 4),)],
        Literal((counted(1, 1, 2, 2),), shaped([1, 2, 3, 4], 1, 4, 1, 1)),
        note="channels first",
    ),
    moving(
        "DepthToSpace",
        lambda x: af.depth_to_space(x, 2),
        lambda x: wider(x, 2),
        [((2, 1, 2, 12),), ((0, 2, 2, 4),)],
        Literal((counted(1, 2, 2, 4),), shaped(SQUARES, 1, 4, 4, 1)),
        rejects=[
            Reject(EITHER, (counted(1, 1, 2, 4),), lambda x: af.depth_to_space(x, 3)),
            Reject(ValueError, (counted(1, 1, 2, 4),), lambda x: af.depth_to_space(x, 1)),
            Reject(EITHER, (counted(2, 2),)),
        ],
    ),
    moving(
        "DepthToSpace",
        lambda x: af.depth_to_space(x, 2, data_format="NCHW"),
        first(wider, 2),
        [((2, 8, 1, 2),)],
        Literal((counted(1, 4, 1, 1),), shaped([1, 2, 3, 4], 1, 1, 2, 2)),
        note="channels first",
    ),
]

# ---- patches


class Patches:
    def __init__(self, window: Any, strides: Any, rates: Any, padding: str) -> None:
        self.of_space, self.padding = (window, strides, rates), padding
        names = ("ksizes", "strides", "rates")
        self.attrs: dict[str, Any] = {n: (1, *s, 1) for n, s in zip(names, self.of_space)} | {"padding": padding}

    def windows(self, shape: Any) -> Windows:
        return Windows(shape[1:3], *self.of_space, self.padding)

    def take(self, x: Any) -> Any:
        windows, (rows, columns), channels = self.windows(x.shape), self.of_space[0], x.shape[3]
        y: Array = np.zeros((len(x), *windows.places, rows * columns * channels), x.dtype)
        for n, (place, pairs) in product(range(len(x)), windows):
            for (row, column), at in pairs:
                for c in range(channels):
                    y[(n, *place, (row * columns + column) * channels + c)] = x[(n, *at, c)]
        return y

    def put(self, sizes: Any, dy: Any) -> Any:
        dx: Array = np.zeros([int(s) for s in sizes], dy.dtype)
        windows, columns, channels = self.windows(dx.shape), self.of_space[0][1], dx.shape[3]
        for n, (place, pairs) in product(range(len(dx)), windows):
            for (row, column), at in pairs:
                for c in range(channels):
                    dx[(n, *at, c)] += dy[(n, *place, (row * columns + column) * channels + c)]
        return dx


STRIDED = Patches((2, 2), (2, 2), (1, 1), "SAME")
SPREAD = Patches((2, 2), (1, 1), (2, 2), "VALID")
IMAGES: Any = [((2, 3, 4, 2),), ((0, 3, 3, 1),)]
PATCHES = [
    Case(
        "ExtractImagePatches",
        lambda x: patches.extract_image_patches(x, **STRIDED.attrs),
        STRIDED.take,
        IMAGES,
        Literal(
            (shaped(range(18), 1, 3, 3, 2),),
            shaped(
                [
                    0,
                    1,
                    2,
                    3,
                    6,
                    7,
                    8,
                    9,
                    4,
                    5,
                    0,
                    0,
                    10,
                    11,
                    0,
                    0,
                    12,
                    13,
                    14,
                    15,
                    0,
                    0,
                    0,
                    0,
                    16,
                    17,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                ],
                1,
                2,
                2,
                8,
            ),
        ),
        dtypes=NUMBERS,
        rejects=[
            *[
                Reject(
                    ValueError,
                    (counted(1, 3, 3, 1),),
                    lambda x, a=a: patches.extract_image_patches(x, **(STRIDED.attrs | a)),
                )
                for a in (
                    {"ksizes": (1, 2, 2, 2)},
                    {"strides": (2, 1, 1, 1)},
                    {"rates": (1, 0, 1, 1)},
                    {"padding": "FULL"},
                    {"padding": None},
                )
            ],
            Reject(EITHER, (counted(1, 1, 1, 1),), lambda x: patches.extract_image_patches(x, **SPREAD.attrs)),
            Reject(EITHER, (counted(2, 2),)),
        ],
    ),
    Case(
        "ExtractImagePatches",
        lambda x: patches.extract_image_patches(
            x, sizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 2, 2, 1], padding="VALID"
        ),
        SPREAD.take,
        IMAGES,
        Literal(
            (shaped(range(16), 1, 4, 4, 1),), shaped([0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15], 1, 2, 2, 4)
        ),
        dtypes="float32 float64 int32",
        note="spread",
    ),
    Case(
        "ExtractImagePatchesGrad",
        lambda sizes, dy: patches.extract_image_patches_grad(sizes, dy, **STRIDED.attrs),
        STRIDED.put,
        [(i32(2, 3, 4, 2), (2, 2, 2, 8)), (i64(0, 3, 3, 1), (0, 2, 2, 4))],
        Literal((i32(1, 2, 2, 1), shaped([1, 2, 3, 4], 1, 1, 1, 4)), shaped([1, 2, 3, 4], 1, 2, 2, 1)),
        dtypes=NUMBERS,
        rejects=[Reject(EITHER, (i32(1, 9, 9, 1), shaped([1, 2, 3, 4], 1, 1, 1, 4)))],
    ),
    Case(
        "",
        lambda x: patches.extract_image_patches(x, (1, 2, 2, 1), (1, 1, 1, 1), (1, 1, 1, 1), "SAME"),
        Patches((2, 2), (1, 1), (1, 1), "SAME").take,
        [((1, 3, 3, 1),)],
        Literal((shaped(range(4), 1, 2, 2, 1),), shaped([0, 1, 2, 3, 1, 0, 3, 0, 2, 3, 0, 0, 3, 0, 0, 0], 1, 2, 2, 4)),
        slopes=[Literal((counted(1, 3, 3, 1),), shaped([1, 2, 2, 2, 4, 4, 2, 4, 4], 1, 3, 3, 1))],
        note="extract_image_patches",
    ),
]

CASES = [*BATCH, *DEPTH, *PATCHES]
