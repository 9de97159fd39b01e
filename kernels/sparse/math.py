"""Kernels of the arithmetic of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel

from ..array.constant import filled
from ..array.gather import accumulate
from ..array.shape import axis_in
from .tensor import check_inside, groups_of


@kernel("SparseTensorDenseMatMul")
def sparse_tensor_dense_matmul(
    xp: Any, indices: Any, values: Any, shape: Any, b: Any, *, adjoint_a: bool, adjoint_b: bool, out: Any = None
) -> Any:
    if len(shape) != 2 or values.shape != indices.shape[:1]:
        raise ValueError(f"A sparse matrix is needed, but its dense shape is {shape.tolist()}.")
    right = xp.conjugate(b).T if adjoint_b else b
    size, (rows, columns), factors = shape.tolist(), indices.T, values
    if adjoint_a:
        size, rows, columns, factors = size[::-1], columns, rows, xp.conjugate(values)
    for what, numbers, place, limit in (("k", columns, 1 - adjoint_a, size[1]), ("m", rows, int(adjoint_a), size[0])):
        outside = (numbers < 0) | (numbers >= limit)
        if outside.any():
            at = int(outside.argmax())
            raise ValueError(f"{what} ({int(numbers[at])}) from index[{at},{place}] out of bounds (>={limit})")
    if size[1] != right.shape[0]:
        raise ValueError(
            f"Dimensions must be equal, but are {size[1]} and {right.shape[0]}: the columns of the first, the rows of the second."
        )
    result = filled(xp.empty((size[0], right.shape[1]), b.dtype) if out is None else out, 0)
    if result.size and len(rows):
        accumulate(xp, xp.add, result, rows, factors[:, None] * right[columns])
    return result


def _met(xp: Any, indices: Any, shape: Any, dense: Any) -> Any:
    """The elements of `dense`, broadcast to `shape`, at `indices`."""
    sizes = tuple(shape.tolist())
    if dense.ndim > len(sizes) or any(n not in (1, m) for n, m in zip(dense.shape[::-1], sizes[::-1])):
        raise ValueError(
            f"A dense tensor of shape {dense.shape} does not broadcast to the sparse one's, {list(sizes)}."
        )
    check_inside(indices, shape)
    columns = indices.T[len(sizes) - dense.ndim :]
    places = tuple(column if n > 1 else column * 0 for column, n in zip(columns, dense.shape))
    return dense[places] if places else dense


@kernel("SparseDenseCwiseMul")
def sparse_dense_mul(xp: Any, indices: Any, values: Any, shape: Any, dense: Any) -> Any:
    return values * _met(xp, indices, shape, dense)


@kernel("SparseDenseCwiseDiv")
def sparse_dense_div(xp: Any, indices: Any, values: Any, shape: Any, dense: Any) -> Any:
    divisors = _met(xp, indices, shape, dense)
    if values.dtype.kind not in "iu":
        return values / divisors
    if (divisors == 0).any():
        raise ValueError("Integer division by zero.")
    # As in C, towards zero.
    quotients = values // divisors
    return (quotients + ((quotients < 0) & (quotients * divisors != values))).astype(values.dtype)


def _check_pair(a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any) -> None:
    if a_shape.shape != b_shape.shape or (a_shape != b_shape).any():
        raise ValueError(f"The dense shapes {a_shape.tolist()} and {b_shape.tolist()} differ.")
    for indices, values, shape in ((a_indices, a_values, a_shape), (b_indices, b_values, b_shape)):
        if len(indices) != len(values):
            raise ValueError(f"There are {len(values)} values for {len(indices)} indices.")
        check_inside(indices, shape)


@kernel("SparseAdd")
def sparse_add(
    xp: Any, a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any, thresh: Any
) -> Any:
    _check_pair(a_indices, a_values, a_shape, b_indices, b_values, b_shape)
    numbers, rows = groups_of(xp, xp.concatenate([a_indices, b_indices]))
    sums = xp.zeros(len(rows), a_values.dtype)
    xp.add.at(sums, numbers, xp.concatenate([a_values, b_values]))
    kept = xp.abs(sums) >= thresh
    return rows[kept], sums[kept], a_shape.copy()


@kernel("SparseAddGrad")
def sparse_add_grad(xp: Any, gradient: Any, a_indices: Any, b_indices: Any, sum_indices: Any) -> Any:
    first = len(a_indices) + len(b_indices)
    numbers, rows = groups_of(xp, xp.concatenate([a_indices, b_indices, sum_indices]))
    spread = xp.zeros(len(rows), gradient.dtype)
    spread[numbers[first:]] = gradient
    return spread[numbers[: len(a_indices)]], spread[numbers[len(a_indices) : first]]


@kernel("SparseTensorDenseAdd")
def sparse_tensor_dense_add(xp: Any, indices: Any, values: Any, shape: Any, b: Any) -> Any:
    if tuple(shape.tolist()) != b.shape:
        raise ValueError(f"A sparse tensor of shape {shape.tolist()} can't be added to a dense one of shape {b.shape}.")
    check_inside(indices, shape, "invalid index: ")
    result = xp.array(b)
    xp.add.at(result, tuple(indices.T), values)
    return result


def _extremes(xp: Any, ufunc: Any, pair: Any) -> Any:
    _check_pair(*pair)
    a_indices, a_values, _, b_indices, b_values, _ = pair
    numbers, rows = groups_of(xp, xp.concatenate([a_indices, b_indices]))
    left, right = xp.zeros(len(rows), a_values.dtype), xp.zeros(len(rows), a_values.dtype)
    left[numbers[: len(a_indices)]] = a_values
    right[numbers[len(a_indices) :]] = b_values
    return rows, ufunc(left, right)


@kernel("SparseSparseMaximum")
def sparse_maximum(xp: Any, ai: Any, av: Any, ash: Any, bi: Any, bv: Any, bsh: Any) -> Any:
    return _extremes(xp, xp.maximum, (ai, av, ash, bi, bv, bsh))


@kernel("SparseSparseMinimum")
def sparse_minimum(xp: Any, ai: Any, av: Any, ash: Any, bi: Any, bv: Any, bsh: Any) -> Any:
    return _extremes(xp, xp.minimum, (ai, av, ash, bi, bv, bsh))


@kernel("SparseSoftmax")
def sparse_softmax(xp: Any, indices: Any, values: Any, shape: Any) -> Any:
    if len(shape) < 2:
        raise ValueError(f"sparse_softmax needs rank 2 or more, but the dense shape is {shape.tolist()}.")
    check_inside(indices, shape)
    numbers, rows = groups_of(xp, indices[:, :-1])
    wide = values.astype(xp.promote_types(values.dtype, xp.float32))
    largest = xp.full(len(rows), -xp.inf, wide.dtype)
    xp.maximum.at(largest, numbers, wide)
    powers = xp.exp(wide - largest[numbers])
    sums = xp.zeros(len(rows), wide.dtype)
    xp.add.at(sums, numbers, powers)
    return (powers / sums[numbers]).astype(values.dtype)


# ---- reductions


def _reduced(
    xp: Any, ufunc: Any, indices: Any, values: Any, shape: Any, axes: Any, keep: bool
) -> tuple[Any, Any, list[int]]:
    """Indices and values of a sparse reduction, and its shape."""
    check_inside(indices, shape)
    rank = len(shape)
    gone = {axis_in(int(a), rank) for a in np.atleast_1d(axes)}
    kept = [i for i in range(rank) if i not in gone]
    numbers, rows = groups_of(xp, indices[:, kept])
    result = xp.zeros(len(rows), values.dtype)
    if len(values):
        # The first of each group begins it, so that no neutral element is needed.
        order = xp.argsort(numbers, kind="stable")
        starts = xp.searchsorted(numbers[order], xp.arange(len(rows)))
        result = ufunc.reduceat(values[order], starts, dtype=values.dtype)
    if not keep:
        return rows, result, [int(shape[i]) for i in kept]
    full = xp.zeros((len(rows), rank), xp.int64)
    full[:, kept] = rows
    return full, result, [1 if i in gone else int(n) for i, n in enumerate(shape)]


def _dense(xp: Any, sparse: tuple[Any, Any, list[int]]) -> Any:
    rows, values, shape = sparse
    result = xp.zeros(tuple(shape), values.dtype)
    if shape:
        result[tuple(rows.T)] = values
    elif len(values):
        result[()] = values[0]
    return result


def _sparse(xp: Any, sparse: tuple[Any, Any, list[int]]) -> Any:
    rows, values, shape = sparse
    return rows, values, xp.array(shape, xp.int64)


@kernel("SparseReduceSum")
def sparse_reduce_sum(xp: Any, indices: Any, values: Any, shape: Any, axes: Any, *, keep_dims: bool) -> Any:
    return _dense(xp, _reduced(xp, xp.add, indices, values, shape, axes, keep_dims))


@kernel("SparseReduceMax")
def sparse_reduce_max(xp: Any, indices: Any, values: Any, shape: Any, axes: Any, *, keep_dims: bool) -> Any:
    return _dense(xp, _reduced(xp, xp.maximum, indices, values, shape, axes, keep_dims))


@kernel("SparseReduceSumSparse")
def sparse_reduce_sum_sparse(xp: Any, indices: Any, values: Any, shape: Any, axes: Any, *, keep_dims: bool) -> Any:
    return _sparse(xp, _reduced(xp, xp.add, indices, values, shape, axes, keep_dims))


@kernel("SparseReduceMaxSparse")
def sparse_reduce_max_sparse(xp: Any, indices: Any, values: Any, shape: Any, axes: Any, *, keep_dims: bool) -> Any:
    return _sparse(xp, _reduced(xp, xp.maximum, indices, values, shape, axes, keep_dims))
