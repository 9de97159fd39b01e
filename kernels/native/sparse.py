"""Sparse tensors: their elements in order, joined, cut, filled, merged, in dense tensors, summed, times a matrix.

Elements that are not in order where that is needed, and places outside of the tensor, are left to numpy's kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.graph.ops.sparse.shape import resolve_shape

from ..array.shape import axis_in
from ..sparse import math, shape, tensor
from ..strings.objects import as_arrays
from .library import function, put

_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native"}

# ---- moved elements

_ordered, _joined, _sliced, _filled, _reshaped = (
    function(f"cells_{name}") for name in ("ordered", "joined", "sliced", "filled", "reshaped")
)


@kernel("SparseReorder", **_OPTIONS)
def sparse_reorder(xp: Any, indices: Any, values: Any, dense_shape: Any) -> Any:
    ordered = _ordered(indices, values)
    return tensor.sparse_reorder(xp, indices, values, dense_shape) if ordered is None else ordered


@kernel("SparseConcat", **_OPTIONS)
def sparse_concat(xp: Any, inputs: Any, *, concat_dim: int) -> Any:
    count = len(inputs) // 3
    joined = _joined(axis_in(concat_dim, len(inputs[2 * count])), count, *inputs)
    return shape.sparse_concat(xp, inputs, concat_dim=concat_dim) if joined is None else joined


@kernel("SparseSlice", **_OPTIONS)
def sparse_slice(xp: Any, indices: Any, values: Any, dense_shape: Any, start: Any, size: Any) -> Any:
    part = _sliced(indices, values, dense_shape, start, size)
    return shape.sparse_slice(xp, indices, values, dense_shape, start, size) if part is None else part


@kernel("SparseReshape", **_OPTIONS)
def sparse_reshape(xp: Any, indices: Any, dense_shape: Any, new_shape: Any) -> Any:
    target = resolve_shape(dense_shape, new_shape)
    places = _reshaped(indices, dense_shape, target)
    return shape.sparse_reshape(xp, indices, dense_shape, new_shape) if places is None else (places, target)


@kernel("SparseFillEmptyRows", **_OPTIONS)
def sparse_fill_empty_rows(xp: Any, indices: Any, values: Any, dense_shape: Any, default: Any) -> Any:
    filled = _filled(indices, values, dense_shape, np.asarray(as_arrays(default)))
    return shape.sparse_fill_empty_rows(xp, indices, values, dense_shape, default) if filled is None else filled


# ---- dense tensors

_dense, _added, _met, _reduced = (function(f"cells_{name}") for name in ("dense", "added", "met", "reduced"))


@kernel("SparseToDense", **_OPTIONS)
def sparse_to_dense(
    xp: Any, indices: Any, dense_shape: Any, values: Any, default: Any, *, validate_indices: bool, out: Any = None
) -> Any:
    standard = np.asarray(as_arrays(default))
    dense = _dense(indices, dense_shape, values, standard, validate_indices, out)
    if dense is not None:
        return dense
    return tensor.sparse_to_dense(xp, indices, dense_shape, values, default, validate_indices=validate_indices, out=out)


@kernel("SparseTensorDenseAdd", **_OPTIONS)
def sparse_tensor_dense_add(xp: Any, indices: Any, values: Any, dense_shape: Any, b: Any) -> Any:
    added = _added(indices, values, b) if tuple(dense_shape.tolist()) == b.shape else None
    return math.sparse_tensor_dense_add(xp, indices, values, dense_shape, b) if added is None else added


@kernel("SparseDenseCwiseMul", **_OPTIONS)
def sparse_dense_mul(xp: Any, indices: Any, values: Any, dense_shape: Any, dense: Any) -> Any:
    products = _met(indices, values, dense_shape, np.asarray(dense), False)
    return math.sparse_dense_mul(xp, indices, values, dense_shape, dense) if products is None else products


@kernel("SparseDenseCwiseDiv", **_OPTIONS)
def sparse_dense_div(xp: Any, indices: Any, values: Any, dense_shape: Any, dense: Any) -> Any:
    quotients = _met(indices, values, dense_shape, np.asarray(dense), True)
    return math.sparse_dense_div(xp, indices, values, dense_shape, dense) if quotients is None else quotients


@kernel("SparseReduceSum", **_OPTIONS)
def sparse_reduce_sum(xp: Any, indices: Any, values: Any, dense_shape: Any, axes: Any, *, keep_dims: bool) -> Any:
    sums = _reduced(indices, values, dense_shape, np.asarray(axes), keep_dims, False)
    return math.sparse_reduce_sum(xp, indices, values, dense_shape, axes, keep_dims=keep_dims) if sums is None else sums


@kernel("SparseReduceMax", **_OPTIONS)
def sparse_reduce_max(xp: Any, indices: Any, values: Any, dense_shape: Any, axes: Any, *, keep_dims: bool) -> Any:
    most = _reduced(indices, values, dense_shape, np.asarray(axes), keep_dims, True)
    return math.sparse_reduce_max(xp, indices, values, dense_shape, axes, keep_dims=keep_dims) if most is None else most


# ---- two sparse tensors

_ADD, _MAX, _MIN = range(3)
_merged, _sum_grad, _softmax, _product = (
    function(name) for name in ("cells_merged", "cells_sum_grad", "cells_softmax", "sparse_product")
)


def _of_pair(pair: tuple[Any, ...], how: int, least: float) -> Any:
    a_indices, a_values, a_shape, b_indices, b_values, b_shape = pair
    if a_shape.shape != b_shape.shape or (a_shape != b_shape).any():
        return None
    return _merged(a_indices, a_values, b_indices, b_values, a_shape, how, least)


@kernel("SparseAdd", **_OPTIONS)
def sparse_add(
    xp: Any, a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any, thresh: Any
) -> Any:
    pair = (a_indices, a_values, a_shape, b_indices, b_values, b_shape)
    added = _of_pair(pair, _ADD, float(thresh)) if a_values.dtype.kind == "f" else None
    return math.sparse_add(xp, *pair, thresh) if added is None else (*added, a_shape.copy())


@kernel("SparseAddGrad", **_OPTIONS)
def sparse_add_grad(xp: Any, gradient: Any, a_indices: Any, b_indices: Any, sum_indices: Any) -> Any:
    both = _sum_grad(gradient, a_indices, b_indices, sum_indices)
    return math.sparse_add_grad(xp, gradient, a_indices, b_indices, sum_indices) if both is None else both


@kernel("SparseSparseMaximum", **_OPTIONS)
def sparse_maximum(xp: Any, ai: Any, av: Any, ash: Any, bi: Any, bv: Any, bsh: Any) -> Any:
    largest = _of_pair((ai, av, ash, bi, bv, bsh), _MAX, 0.0)
    return math.sparse_maximum(xp, ai, av, ash, bi, bv, bsh) if largest is None else largest


@kernel("SparseSparseMinimum", **_OPTIONS)
def sparse_minimum(xp: Any, ai: Any, av: Any, ash: Any, bi: Any, bv: Any, bsh: Any) -> Any:
    smallest = _of_pair((ai, av, ash, bi, bv, bsh), _MIN, 0.0)
    return math.sparse_minimum(xp, ai, av, ash, bi, bv, bsh) if smallest is None else smallest


@kernel("SparseSoftmax", **_OPTIONS)
def sparse_softmax(xp: Any, indices: Any, values: Any, dense_shape: Any) -> Any:
    softmax = _softmax(indices, values, dense_shape)
    return math.sparse_softmax(xp, indices, values, dense_shape) if softmax is None else softmax


# ---- products


@kernel("SparseTensorDenseMatMul", **_OPTIONS)
def sparse_tensor_dense_matmul(
    xp: Any, indices: Any, values: Any, dense_shape: Any, b: Any, *, adjoint_a: bool, adjoint_b: bool, out: Any = None
) -> Any:
    product = None if adjoint_b else _product(indices, values, dense_shape, b, adjoint_a)
    if product is not None:
        return put(product, out)
    return math.sparse_tensor_dense_matmul(
        xp, indices, values, dense_shape, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b, out=out
    )
