"""Rows of copies of a tensor with some of its elements or slices changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import ALL, EITHER, WORDS, i32, i64
from graph.ops.table import NUMBERS, REALS, Case, Literal, Reject

import actorflow as af
from actorflow.errors import InvalidArgumentError

NAN = math.nan
T = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
POINTS, ADDED = i32([0], [2], [0]), [[10.0, 20.0], [30.0, 40.0], [1.0, 1.0]]


def changed(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def reference(tensor: Any, indices: Any, updates: Any) -> Any:
        result = np.array(tensor)
        for index in np.ndindex(*indices.shape[:-1]):
            point = tuple(indices[index].tolist())
            for rest in np.ndindex(*tensor.shape[len(point) :]):
                with np.errstate(over="ignore"):  # integers wrap
                    result[(*point, *rest)] = combine(result[(*point, *rest)], updates[(*index, *rest)])
        return result

    return reference


def scatter_row(
    op: str, build: Any, combine: Callable[[Any, Any], Any], literal: Any, dtypes: str, **more: Any
) -> Case:
    rejects = more.pop("rejects", [])
    return Case(
        op,
        build,
        changed(combine),
        [
            ((3, 2), i32([2], [0]), (2, 2)),
            ((2, 3, 2), i64([[0, 1], [1, 2]], [[1, 0], [0, 0]]), (2, 2, 2)),
            ((4,), i32([1]), (1,)),
            ((3, 2), np.zeros((0, 1), np.int32), (0, 2)),
            ((0, 2), np.zeros((0, 1), np.int32), (0, 2)),
        ],
        Literal((T, POINTS, ADDED), literal),
        dtypes=dtypes,
        exact=True,
        rejects=[
            Reject(InvalidArgumentError, (T, i32([3]), [[1.0, 1.0]])),
            Reject(InvalidArgumentError, (T, i32([-1]), [[1.0, 1.0]])),
            Reject(EITHER, (T, i32([1]), [1.0, 1.0])),
            Reject(EITHER, (T, i32([1, 1, 1]), [1.0])),
            Reject(EITHER, (1.0, i32([0]), [1.0])),
            Reject(EITHER, (T, np.array(0, np.int32), [1.0, 2.0])),
            Reject(TypeError, (T, np.float32([[0]]), [[1.0, 1.0]])),
            Reject(TypeError, (T, i32([0]), np.array([[1, 1]]))),
            *rejects,
        ],
        **more,
    )


TRUTHS = np.array([True, False])
CASES = [
    scatter_row(
        "TensorScatterUpdate",
        af.tensor_scatter_update,
        lambda old, new: new,
        [[1, 1], [3, 4], [30, 40]],
        ALL,
        special=[
            Literal((WORDS[0], i32([1]), np.array([b"z"], object)), np.array([b"a", b"z"], object)),
            Literal((TRUTHS, i32([1]), np.array([True])), np.array([True, True])),
        ],
    ),
    scatter_row(
        "TensorScatterAdd",
        af.tensor_scatter_nd_add,
        lambda old, new: old + new,
        [[12, 23], [3, 4], [35, 46]],
        NUMBERS,
        rejects=[Reject(TypeError, (TRUTHS, i32([1]), np.array([True])))],
    ),
    scatter_row(
        "TensorScatterSub",
        af.tensor_scatter_nd_sub,
        lambda old, new: old - new,
        [[-10, -19], [3, 4], [-25, -34]],
        NUMBERS,
        rejects=[Reject(TypeError, (WORDS, i32([0, 0]), np.array([b"z"], object)))],
    ),
    scatter_row(
        "TensorScatterMin",
        af.tensor_scatter_nd_min,
        min,
        [[1, 1], [3, 4], [5, 6]],
        REALS,
        special=[Literal(([1.0, NAN, 2.0], i32([0], [1], [2]), [NAN, 3.0, NAN]), [1, NAN, 2])],
        slopes=[
            Literal(([3.0, 1.0, 2.0], i32([0], [1], [0]), [3.0, 2.0, 3.0]), ([1 / 3, 1, 1], None, [1 / 3, 0, 1 / 3]))
        ],
        rejects=[Reject(TypeError, (np.array([1j]), i32([0]), np.array([1j])))],
    ),
    scatter_row(
        "TensorScatterMax",
        af.tensor_scatter_nd_max,
        max,
        [[10, 20], [3, 4], [30, 40]],
        REALS,
        special=[Literal(([1.0, NAN, 2.0], i32([0], [1], [2]), [NAN, 3.0, NAN]), [1, NAN, 2])],
        rejects=[Reject(TypeError, (TRUTHS, i32([0]), np.array([True])))],
    ),
    Case(
        "ScatterNd",
        af.scatter_nd,
        lambda indices, updates, shape: np.array([updates[0], b"", updates[1]], object),
        [(i32([0], [2]), (2,), i32(3))],
        Literal((i32([0], [0]), np.array([b"a", b"b"], object), i32(2)), np.array([b"ab", b""], object)),
        special=[Literal((i32([0], [0]), np.array([True, True]), i32(2)), np.array([True, False]))],
        dtypes="string",
        exact=True,
        note="of strings and truth values",
    ),
]
