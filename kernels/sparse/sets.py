"""Kernels of set operations. They compute on the host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

from ..strings.objects import as_arrays
from .tensor import check_inside

Sets: TypeAlias = "dict[tuple[int, ...], set[Any]]"  # by their places

_OPERATIONS: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _of_dense(values: Any) -> tuple[Sets, tuple[int, ...]]:
    values = as_arrays(values)
    if values.ndim < 2:
        raise InvalidArgumentError(f"Sets lie in tensors of two dimensions or more, but the shape is {values.shape}.")
    outer = values.shape[:-1]
    return {place: set(values[place].tolist()) for place in np.ndindex(outer)}, outer


def _of_sparse(indices: Any, values: Any, shape: Any, validate: bool) -> tuple[Sets, tuple[int, ...]]:
    values = as_arrays(values)
    if indices.ndim != 2 or values.shape != indices.shape[:1] or shape.shape != indices.shape[1:] or len(shape) < 2:
        raise InvalidArgumentError(
            f"Indices of shape {indices.shape}, values of shape {values.shape} and a dense shape of shape {shape.shape} are no "
            "sparse tensor of sets."
        )
    check_inside(indices, shape)
    rows = indices.tolist()
    if validate and any(rows[i] >= rows[i + 1] for i in range(len(rows) - 1)):
        raise InvalidArgumentError("The indices of sets are out of order, or one is there twice.")
    sets: Sets = defaultdict(set)
    for row, value in zip(rows, values.tolist()):
        sets[tuple(row[:-1])].add(value)
    return sets, tuple(shape.tolist()[:-1])


def _result(left: tuple[Sets, Any], other: tuple[Sets, Any], operation: str, dtype: Any) -> Any:
    (a, shape), (b, shape_2) = left, other
    if tuple(shape) != tuple(shape_2):
        raise InvalidArgumentError(f"Sets of the shape {shape} and of the shape {shape_2} are no pairs.")
    function, nothing = _OPERATIONS[operation], set[Any]()
    indices: list[tuple[int, ...]] = []
    values: list[Any] = []
    longest = 0
    for place in sorted(a.keys() | b.keys()):
        members = sorted(function(a.get(place, nothing), b.get(place, nothing)))
        indices += [(*place, number) for number in range(len(members))]
        values += members
        longest = max(longest, len(members))
    values_array = np.empty(len(values), dtype)
    values_array[:] = values
    rank = len(shape) + 1
    return np.array(indices, np.int64).reshape(-1, rank), values_array, np.array([*shape, longest], np.int64)


@kernel("DenseToDenseSetOperation")
def dense_to_dense(xp: Any, a: Any, b: Any, *, set_operation: str) -> Any:
    return _result(_of_dense(a), _of_dense(b), set_operation, as_arrays(a).dtype)


@kernel("DenseToSparseSetOperation")
def dense_to_sparse(
    xp: Any, a: Any, indices: Any, values: Any, shape: Any, *, set_operation: str, validate_indices: bool
) -> Any:
    return _result(
        _of_dense(a), _of_sparse(indices, values, shape, validate_indices), set_operation, as_arrays(a).dtype
    )


@kernel("SparseToSparseSetOperation")
def sparse_to_sparse(
    xp: Any, i: Any, v: Any, s: Any, i2: Any, v2: Any, s2: Any, *, set_operation: str, validate_indices: bool
) -> Any:
    left, other = _of_sparse(i, v, s, validate_indices), _of_sparse(i2, v2, s2, validate_indices)
    return _result(left, other, set_operation, as_arrays(v).dtype)


@kernel("SetSize")
def set_size(xp: Any, indices: Any, values: Any, shape: Any, *, validate_indices: bool) -> Any:
    sets, outer = _of_sparse(indices, values, shape, validate_indices)
    counts = np.zeros(outer, np.int32)
    for place, some in sets.items():
        counts[place] = len(some)
    return counts
