"""Sparse tensors reduced over some axes, and the softmax of one (`tf.sparse`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import FLOATING, NUMERIC, REAL
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.ops.array.constant import ones_like, zeros_like
from actorflow.graph.ops.array.gather import gather_nd
from actorflow.graph.ops.array.scatter import scatter_nd
from actorflow.graph.ops.array.shape import reshape, size
from actorflow.graph.ops.building import composite, small_constant
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.math.arithmetic import floormod
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.logic import where_v2
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.ops.sparse.math import paired
from actorflow.graph.ops.sparse.shape import rank_in, rank_of
from actorflow.graph.ops.sparse.tensor import sparse_of, with_shape
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- softmax


@op(
    "SparseSoftmax",
    shape=paired,
    dtypes=FLOATING - {dt.bfloat16},
    types={"sp_indices": dt.int64, "sp_shape": dt.int64},
    work=30,
)
def _sparse_softmax(
    sp_indices: TensorLike, sp_values: TensorLike, sp_shape: TensorLike, *, name: str | None = None
) -> Tensor:
    """The values of a softmax. See `sparse_softmax`."""


@_sparse_softmax.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    indices, _, sizes = node.inputs
    y = node.outputs[0]
    products = SparseTensor(indices, y * dy, sizes)
    sums = sparse_reduce_sum(products, -1)
    return [None, (dy - gather_nd(sums, indices[:, :-1])) * y, None]


@public("af", "af.sparse:softmax")
def sparse_softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """The softmax over the elements that are there along the last dimension (`tf.sparse_softmax`).

    Raises InvalidArgumentError in the run for a rank below 2.

    Example:
        >>> x = af.SparseTensor([[0, 0], [0, 2], [1, 1]], [1.0, 1.0, 8.0], [2, 3])
        >>> af.sparse_softmax(x).values
        [0.5 0.5 1. ]
    """
    source = sparse_of(sp_input)
    values = _sparse_softmax(*source.__tensor_components__(), name=name)
    return with_shape(SparseTensor(source.indices, values, source.dense_shape), source.static_shape)


# ---- reductions


_REDUCED = {"input_indices": dt.int64, "input_shape": dt.int64, "reduction_axes": dt.int32}


def _reduced(c: Inference) -> Shape:
    dims, sizes, axes = rank_in(c, 0, 2), c.value(2), c.value(3)
    require_rank(c, 1, 1)
    keep = c.attrs["keep_dims"]
    if dims is None or axes is None:
        return (None,) * dims if dims is not None and keep else None
    gone = {int(a) % dims if dims else 0 for a in np.atleast_1d(axes)}
    full = (None,) * dims if sizes is None else tuple(int(n) for n in sizes)
    return tuple(1 if i in gone else n for i, n in enumerate(full) if keep or i not in gone)


@op("SparseReduceSum", shape=_reduced, dtypes=NUMERIC, types=_REDUCED, work=10)
def _sparse_reduce_sum(
    input_indices: TensorLike,
    input_values: TensorLike,
    input_shape: TensorLike,
    reduction_axes: TensorLike,
    *,
    keep_dims: bool = False,
    name: str | None = None,
) -> Tensor:
    """A dense sum over some axes. See `sparse_reduce_sum`."""


@_sparse_reduce_sum.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    indices, _, sizes, axes = node.inputs
    dims = size(sizes)
    gone = reshape(floormod(axes, dims), [-1, 1])
    kept = scatter_nd(gone, ones_like(gone[:, 0]), reshape(dims, [1])) < 1
    full = where_v2(kept, sizes, ones_like(sizes))
    places = where_v2(kept, indices, zeros_like(indices))
    return [None, gather_nd(reshape(dy, full), places), None, None]


@op("SparseReduceMax", shape=_reduced, dtypes=REAL, types=_REDUCED, gradient=None, work=10)
def _sparse_reduce_max(
    input_indices: TensorLike,
    input_values: TensorLike,
    input_shape: TensorLike,
    reduction_axes: TensorLike,
    *,
    keep_dims: bool = False,
    name: str | None = None,
) -> Tensor:
    """A dense maximum over some axes. See `sparse_reduce_max`."""


def _still_sparse(c: Inference) -> list[Shape]:
    shape = _reduced(c)
    dims = None if shape is None else len(shape)
    return [(None, dims), (None,), (dims,)]


@op(
    "SparseReduceSumSparse",
    shape=_still_sparse,
    dtypes=NUMERIC,
    types=_REDUCED,
    result=(dt.int64, T, dt.int64),
    gradient=None,
    work=10,
)
def _sparse_reduce_sum_sparse(
    input_indices: TensorLike,
    input_values: TensorLike,
    input_shape: TensorLike,
    reduction_axes: TensorLike,
    *,
    keep_dims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A sparse sum over some axes. See `sparse_reduce_sum_sparse`."""


@op(
    "SparseReduceMaxSparse",
    shape=_still_sparse,
    dtypes=REAL,
    types=_REDUCED,
    result=(dt.int64, T, dt.int64),
    gradient=None,
    work=10,
)
def _sparse_reduce_max_sparse(
    input_indices: TensorLike,
    input_values: TensorLike,
    input_shape: TensorLike,
    reduction_axes: TensorLike,
    *,
    keep_dims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A sparse maximum over some axes. See `sparse_reduce_max_sparse`."""


def _reduce(
    build: Any, sp_input: SparseTensor, axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any, name: str | None
) -> Any:
    source = sparse_of(sp_input)
    with composite(name, build.definition.type, source.values) as scope:
        axes = reduction_axes if axis is None else axis
        if axes is None:
            static_shape = source.static_shape
            axes = range_(rank_of(source)) if static_shape is None else np.arange(len(static_shape), dtype=np.int32)
        elif isinstance(axes, (list, tuple)) and not axes:
            axes = small_constant(source.graph, np.zeros(0), dt.int32, "axes")
        keep = bool(keep_dims) if keepdims is None else bool(keepdims)
        return build(*source.__tensor_components__(), axes, keep_dims=keep, name=scope)


@public("af", "af.sparse:reduce_sum")
def sparse_reduce_sum(
    sp_input: SparseTensor,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The sums of a sparse tensor's elements over `axis`, as a dense tensor (`tf.sparse_reduce_sum`).

    Example:
        >>> x = af.SparseTensor([[0, 0], [0, 2], [1, 1]], [1, 5, -3], [2, 3])
        >>> af.sparse_reduce_sum(x), af.sparse_reduce_sum(x, axis=1)
        (3, [ 6 -3])

    Args:
        sp_input: a sparse tensor of numbers.
        axis: the dimensions to reduce, an int or a list of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_axes, keep_dims: the older names of `axis` and `keepdims`.

    Raises:
        InvalidArgumentError: an axis does not exist, in the run.
    """
    reduced: Tensor = _reduce(_sparse_reduce_sum, sp_input, axis, keepdims, reduction_axes, keep_dims, name)
    return reduced


@public("af", "af.sparse:reduce_max")
def sparse_reduce_max(
    sp_input: SparseTensor,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The largest of the elements that are there over `axis`, as a dense tensor; 0 without elements
    (`tf.sparse_reduce_max`). It has no gradient. Errors are those of `sparse_reduce_sum`.

    Example:
        >>> x = af.SparseTensor([[0, 0], [0, 2], [1, 1]], [1, 5, -3], [2, 3])
        >>> af.sparse_reduce_max(x, axis=1)
        [ 5 -3]

    Args:
        sp_input: a sparse tensor of real numbers.
        axis: the dimensions to reduce, an int or a list of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_axes, keep_dims: the older names of `axis` and `keepdims`.
    """
    reduced: Tensor = _reduce(_sparse_reduce_max, sp_input, axis, keepdims, reduction_axes, keep_dims, name)
    return reduced


@public("af", "af.sparse:reduce_sum_sparse")
def sparse_reduce_sum_sparse(
    sp_input: SparseTensor,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
) -> SparseTensor:
    """`sparse_reduce_sum` as a sparse tensor, without a gradient (`tf.sparse_reduce_sum_sparse`).

    Example:
        >>> x = af.SparseTensor([[0, 0], [0, 2], [1, 1]], [1, 5, -3], [2, 3])
        >>> af.sparse_reduce_sum_sparse(x, axis=0)
        SparseTensor(indices=[[0]
                              [1]
                              [2]], values=[ 1 -3  5], dense_shape=[3])

    Args:
        sp_input: a sparse tensor of numbers.
        axis: the dimensions to reduce, an int or a list of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_axes, keep_dims: the older names of `axis` and `keepdims`.
    """
    return SparseTensor(*_reduce(_sparse_reduce_sum_sparse, sp_input, axis, keepdims, reduction_axes, keep_dims, name))


@public("af", "af.sparse:reduce_max_sparse")
def sparse_reduce_max_sparse(
    sp_input: SparseTensor,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
) -> SparseTensor:
    """`sparse_reduce_max` as a sparse tensor (`tf.sparse_reduce_max_sparse`).

    Example:
        >>> x = af.SparseTensor([[0, 0], [0, 2], [1, 1]], [1, 5, -3], [2, 3])
        >>> af.sparse_reduce_max_sparse(x, axis=1)
        SparseTensor(indices=[[0]
                              [1]], values=[ 5 -3], dense_shape=[2])

    Args:
        sp_input: a sparse tensor of real numbers.
        axis: the dimensions to reduce, an int or a list of them; all by default.
        keepdims: whether a reduced dimension stays, with size 1.
        reduction_axes, keep_dims: the older names of `axis` and `keepdims`.
    """
    return SparseTensor(*_reduce(_sparse_reduce_max_sparse, sp_input, axis, keepdims, reduction_axes, keep_dims, name))
