"""Rows of sorted orders, and of searches in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, n32
from graph.ops.table import REALS, Case, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError

INF, NAN = math.inf, math.nan
M = [[3.0, 1.0, 2.0], [0.0, 5.0, -1.0]]
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64"


def ordered(axis: int, falling: bool, indices: bool) -> Callable[[Any], Any]:
    """Python's own stable sort of each line along an axis."""

    def line(values: Any) -> list[Any]:
        listed = values.tolist()
        order = sorted(range(len(listed)), key=lambda i: (-listed[i] if falling else listed[i], i))
        return order if indices else [listed[i] for i in order]

    def reference(x: Any) -> Any:
        moved = np.moveaxis(x, axis, -1)
        lines = [line(v) for v in moved.reshape(-1, moved.shape[-1])] if moved.size else []
        return np.moveaxis(np.array(lines, np.int32 if indices else x.dtype).reshape(moved.shape), -1, axis)

    return reference


def sort_row(axis: int, direction: str, literal: Any, **more: Any) -> Case:
    return Case(
        "",
        lambda x: af.sort(x, axis, direction),
        ordered(axis, direction == "DESCENDING", False),
        [((4, 3),), ((2, 3, 4),), *([((5,),), ((0,),), ((2, 0),)] if axis == -1 else [])],
        Literal((M,), literal),
        dtypes=REALS,
        domain=(-60.0, 60.0),
        note=f"sort {direction.lower()} {axis}",
        **more,
    )


def argsort_row(axis: int, direction: str, literal: Any, **more: Any) -> Case:
    return Case(
        "",
        lambda x: af.argsort(x, axis, direction),
        ordered(axis, direction == "DESCENDING", True),
        [((4, 3),), ((2, 3, 4),)],
        Literal((M,), literal),
        dtypes=INTEGERS,
        domain=(0.0, 3.0),
        gradient=0,
        note=f"argsort {direction.lower()} {axis}",
        **more,
    )


def found(side: str) -> Callable[[Any, Any], Any]:
    def reference(rows: Any, values: Any) -> Any:
        result = np.empty(values.shape, np.int32)
        for index in np.ndindex(*values.shape):
            row, v = rows[index[:-1]].tolist(), values[index].item()
            result[index] = sum(e < v if side == "left" else e <= v for e in row)
        return result

    return reference


def rising(*shape: int) -> Callable[[np.random.Generator, Any], Any]:
    def draw(rng: np.random.Generator, dtype: Any) -> Any:
        return np.sort(rng.integers(0, 6, shape), axis=-1).astype(dtype.numpy_dtype)

    return draw


def search_row(op: str, side: str, literal: Any, special: Any, nans: Any) -> Case:
    return Case(
        op,
        lambda rows, values: af.searchsorted(rows, values, side),
        found(side),
        [
            (rising(6), rising(4)),
            (rising(2, 5), rising(2, 3)),
            (rising(2, 2, 3), rising(2, 2, 1)),
            (rising(0), rising(2)),
            (rising(3, 4), rising(3, 0)),
        ],
        Literal(([1.0, 3.0, 3.0, 5.0], [3.0, 0.0, 9.0]), literal),
        special=[
            Literal((np.array([[1, 3, 5], [2, 4, 6]]), np.array([[3, 6], [3, 6]])), special),
            Literal(([1.0, 3.0, 3.0, 5.0], [NAN, INF, -INF]), nans),
        ],
        dtypes=REALS,
        exact=True,
        gradient=0,
        rejects=[
            Reject(ValueError, (1.0, [1.0])),
            Reject(ValueError, ([1.0], 1.0)),
            Reject(EITHER, ([[1.0], [2.0]], [[1.0]])),
            Reject(InvalidArgumentError, ([1.0], [[1.0], [2.0]])),
            Reject(TypeError, ([1.0], np.array([1]))),
            Reject(TypeError, (np.array(["a"], object), np.array(["b"], object))),
            Reject(TypeError, ([1.0], [1.0]), build=lambda r, v: af.searchsorted(r, v, out_type=af.float32)),
            Reject(ValueError, ([1.0], [1.0]), build=lambda r, v: af.searchsorted(r, v, "middle")),
        ],
    )


CASES = [
    sort_row(
        -1,
        "ASCENDING",
        [[1, 2, 3], [-1, 0, 5]],
        special=[
            Literal((np.array([200, 3, 0, 255], np.uint8),), np.array([0, 3, 200, 255], np.uint8)),
            Literal((np.array([-(2**63), 3, 0, 2**63 - 1]),), np.array([-(2**63), 0, 3, 2**63 - 1])),
            Literal(([INF, 1.0, -INF],), [-INF, 1, INF]),
        ],
        rejects=[
            Reject((ValueError,), (1.0,)),
            Reject((ValueError,), (M,), build=lambda x: af.sort(x, 2)),
            Reject(InvalidArgumentError, (M,), build=lambda x: af.sort(x, -3)),
            Reject(ValueError, (M,), build=lambda x: af.sort(x, direction="UP")),
            Reject(TypeError, (np.array([True]),)),
            Reject(TypeError, (np.array(["a"], object),)),
            Reject(TypeError, (np.array([1j]),)),
        ],
    ),
    sort_row(0, "DESCENDING", [[3, 5, 2], [0, 1, -1]]),
    sort_row(1, "ASCENDING", [[1, 2, 3], [-1, 0, 5]]),
    Case(
        "",
        lambda x, axis: af.sort(x, axis),
        lambda x, axis: ordered(int(axis), False, False)(x),
        [((4, 3), n32(0)), ((2, 3, 4), n32(-2)), ((2, 3), n32(1))],
        Literal((M, n32(0)), [[0, 1, -1], [3, 5, 2]]),
        note="sort with an axis as a tensor",
    ),
    argsort_row(
        -1,
        "ASCENDING",
        [[1, 2, 0], [2, 0, 1]],
        special=[
            Literal((np.array([-128, 127, 0, -1], np.int8),), [0, 3, 2, 1]),
            Literal((np.array([1.0, 0.0, 1.0, 0.0]),), [1, 3, 0, 2]),
        ],
    ),
    argsort_row(
        0,
        "DESCENDING",
        [[0, 1, 0], [1, 0, 1]],
        rejects=[Reject(ValueError, (M,), build=lambda x: af.argsort(x, direction="down"))],
    ),
    search_row("LowerBound", "left", [1, 0, 4], [[1, 3], [1, 2]], [0, 4, 0]),
    search_row("UpperBound", "right", [3, 0, 4], [[2, 3], [1, 3]], [4, 4, 0]),
]
