"""Sparse tensors whose elements are put together, picked, moved and reordered (`tf.sparse`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge, normalize_axis, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.scatter import scatter_nd
from actorflow.graph.ops.array.shape import reshape, reverse, shape, size
from actorflow.graph.ops.building import composite, known_value, or_zeros
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.logic import where
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.ops.sparse.tensor import sparse_of, with_shape
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_TRIPLE = {"indices": dt.int64, "dense_shape": dt.int64}


def rank_in(c: Inference, indices: int, dense_shape: int) -> int | None:
    """The rank of a sparse tensor, as far as the inputs of its indices and its shape tell."""
    rows, sizes = require_rank(c, indices, 2), require_rank(c, dense_shape, 1)
    vector = merge(None if rows is None else rows[1:], sizes)
    return None if vector is None else vector[0]


@public("af", "af.sparse:reorder")
def sparse_reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """The same sparse tensor with its elements in row-major order (`tf.sparse_reorder`); equal indices keep theirs.

    Example:
        >>> af.sparse_reorder(af.SparseTensor([[1, 0], [0, 1]], [8, 7], [2, 2]))
        SparseTensor(indices=[[0 1]
                              [1 0]], values=[7 8], dense_shape=[2 2])
    """
    source = sparse_of(sp_input)
    indices, values = _sparse_reorder(source.indices, source.values, source.dense_shape, name=name)
    return with_shape(SparseTensor(indices, values, source.dense_shape), source.static_shape)


def _same_elements(c: Inference) -> list[Shape]:
    count = merge(require_rank(c, 1, 1), None if c.shapes[0] is None else c.shapes[0][:1])
    return [(None if count is None else count[0], rank_in(c, 0, 2)), count or (None,)]


@op("SparseReorder", shape=_same_elements, types=_TRIPLE, result=(dt.int64, T), work=20)
def _sparse_reorder(
    indices: TensorLike, values: TensorLike, dense_shape: TensorLike, *, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Indices and values in order. See `sparse_reorder`."""


@_sparse_reorder.gradient
def _(node: Operation, _: Any, dy: Tensor) -> list[Any]:
    indices, values, dense_shape = node.inputs
    came_from = _sparse_reorder(indices, range_(size(values)), dense_shape)[1]
    return [None, scatter_nd(reshape(came_from, [-1, 1]), dy, shape(values)), None]


# ---- parts


def _sliced(c: Inference) -> list[Shape]:
    dims = rank_in(c, 0, 2)
    for index in (3, 4):
        merge(require_rank(c, index, 1), (dims,))
    return [(None, dims), (None,), (dims,)]


@op(
    "SparseSlice",
    shape=_sliced,
    types={**_TRIPLE, "start": dt.int64, "size": dt.int64},
    result=(dt.int64, T, dt.int64),
)
def _sparse_slice(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    start: TensorLike,
    size: TensorLike,
    *,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements in a box. See `sparse_slice`."""


@_sparse_slice.gradient
def _(node: Operation, _: Any, dy: Tensor, __: Any) -> list[Any]:
    from actorflow.graph.ops.math.logic import greater_equal, less, logical_and
    from actorflow.graph.ops.math.reduction import reduce_all

    indices, values, _shape, start, _size = node.inputs
    inside = logical_and(greater_equal(indices, start), less(indices, start + node.outputs[2]))
    kept = where(reduce_all(inside, 1))
    return [None, scatter_nd(kept, dy, shape(values, out_type=dt.int64)), None, None, None]


@public("af", "af.sparse:slice")
def sparse_slice(sp_input: SparseTensor, start: TensorLike, size: TensorLike, name: str | None = None) -> SparseTensor:
    """The box that begins at `start` and has `size`, or what the tensor has of it (`tf.sparse_slice`).

    Example:
        >>> x = af.SparseTensor([[0, 1], [1, 2]], [7, 8], [2, 3])
        >>> af.sparse_slice(x, [0, 1], [2, 2])
        SparseTensor(indices=[[0 0]
                              [1 1]], values=[7 8], dense_shape=[2 2])

    Args:
        sp_input: a sparse tensor.
        start: a vector of integers, the first index in each dimension.
        size: a vector of integers, how many elements in each dimension.

    Raises:
        InvalidArgumentError: a negative size, or another rank, in the run.
    """
    source = sparse_of(sp_input)
    with composite(name, "SparseSlice", source.values) as scope:
        first, sizes = convert_to_tensor(start, dt.int64), convert_to_tensor(size, dt.int64)
        outputs = _sparse_slice(source.indices, source.values, source.dense_shape, first, sizes, name=scope)
        return SparseTensor(*outputs)


@public("af", "af.sparse:retain")
def sparse_retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """The elements for which the bool vector `to_retain` is true (`tf.sparse_retain`).

    Raises ValueError if its length is known not to be the number of elements; InvalidArgumentError in the run if it
    keeps an element that is not there.

    Example:
        >>> af.sparse_retain(af.SparseTensor([[0], [2]], [7, 8], [3]), [False, True])
        SparseTensor(indices=[[2]], values=[8], dense_shape=[3])
    """
    source = sparse_of(sp_input)
    with composite(None, "SparseRetain", source.values, to_retain):
        kept = convert_to_tensor(to_retain, dt.bool)
        if not compatible(kept.static_shape, source.values.static_shape):
            raise ValueError(
                f"sparse_retain: {show(kept.static_shape)} truth values for {show(source.values.static_shape)} elements."
            )
        rows = reshape(where(kept), [-1])
        retained = SparseTensor(gather(source.indices, rows), gather(source.values, rows), source.dense_shape)
        return with_shape(retained, source.static_shape)


# ---- shapes


def _reshaped(c: Inference) -> list[Shape]:
    require_rank(c, 1, 1)
    rows, target = require_rank(c, 0, 2), require_rank(c, 2, 1)
    before, after = c.value(1), c.value(2)
    if before is not None and after is not None:
        resolve_shape(before, after)
    return [(None if rows is None else rows[0], None if target is None else target[0]), target or (None,)]


def resolve_shape(before: Any, after: Any) -> Any:
    """The shape `after`, in which one size may be -1, for a tensor of the shape `before`. Raises ValueError where the numbers
    of elements differ."""
    total = int(np.prod(before, dtype=np.int64))
    sizes = np.array(after, np.int64)
    free = np.flatnonzero(sizes == -1)
    if len(free) > 1 or (sizes < -1).any():
        raise ValueError(
            f"At most one dimension can be inferred: only one output dimension may be -1, and no other negative: {sizes}"
        )
    if len(free):
        others = int(np.prod(sizes[sizes != -1], dtype=np.int64))
        if others == 0:
            raise ValueError(f"The -1 of {sizes.tolist()} can't be inferred, because another size is 0.")
        sizes[free] = total // others
    if int(np.prod(sizes, dtype=np.int64)) != total:
        raise ValueError(
            f"Cannot reshape: Input to reshape is a tensor with {total} dense values, but the requested shape "
            f"{'requires a multiple of' if len(free) else 'has'} {others if len(free) else int(np.prod(sizes, dtype=np.int64))}."
        )
    return sizes


@op(
    "SparseReshape",
    shape=_reshaped,
    types={"input_indices": dt.int64, "input_shape": dt.int64, "new_shape": dt.int64},
    result=(dt.int64, dt.int64),
    gradient=None,
)
def _sparse_reshape(
    input_indices: TensorLike, input_shape: TensorLike, new_shape: TensorLike, *, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Indices and shape of the same elements under another shape. See `sparse_reshape`."""


@public("af", "af.sparse:reshape")
def sparse_reshape(sp_input: SparseTensor, shape: TensorLike, name: str | None = None) -> SparseTensor:
    """The same elements in row-major order under another dense shape, in which one size may be -1 (`tf.sparse_reshape`).

    Raises ValueError, or InvalidArgumentError in the run, where the numbers of elements differ.

    Example:
        >>> af.sparse_reshape(af.SparseTensor([[0, 1], [1, 2]], [7, 8], [2, 3]), [3, -1])
        SparseTensor(indices=[[0 1]
                              [2 1]], values=[7 8], dense_shape=[3 2])
    """
    source = sparse_of(sp_input)
    with composite(name, "SparseReshape", source.values) as scope:
        target = _as_int64(shape)
        indices, dense_shape = _sparse_reshape(source.indices, source.dense_shape, target, name=scope)
        reshaped = SparseTensor(indices, source.values, dense_shape)
        before, after = known_value(source.dense_shape), known_value(target)
        if before is not None and after is not None:
            return with_shape(reshaped, tuple(int(n) for n in resolve_shape(before, after)))
        return reshaped


def _as_int64(value: TensorLike) -> Tensor:
    from actorflow.graph.ops.math.cast import cast

    tensor = convert_to_tensor(value, preferred_dtype=dt.int64)
    return tensor if tensor.dtype is dt.int64 else cast(tensor, dt.int64)


@public("af", "af.sparse:reset_shape")
def sparse_reset_shape(sp_input: SparseTensor, new_shape: TensorLike | None = None) -> SparseTensor:
    """The same elements in the dense shape `new_shape`, by default the smallest that holds them (`tf.sparse_reset_shape`).

    Raises ValueError, or InvalidArgumentError in the run, where the new shape has another rank or a smaller size.

    Example:
        >>> x = af.SparseTensor([[0, 1]], [7], [10, 10])
        >>> af.sparse_reset_shape(x).dense_shape
        [1 2]
    """
    from actorflow.graph.ops.array.constant import zeros
    from actorflow.graph.ops.flow.control import Assert, with_dependencies
    from actorflow.graph.ops.math.arithmetic import maximum
    from actorflow.graph.ops.math.logic import equal, less_equal
    from actorflow.graph.ops.math.reduction import reduce_all, reduce_max

    source = sparse_of(sp_input)
    with composite(None, "SparseResetShape", source.values):
        if new_shape is None:
            # If there is no element, the least of all numbers becomes 0 as 1 is added to what is no less than -1.
            none = zeros([1, 1], dt.int64) - 1
            padded = concat([none * reshape(_ones(source.dense_shape), [1, -1]), source.indices], 0)
            return SparseTensor(source.indices, source.values, maximum(reduce_max(padded, 0) + 1, 0))
        target = _as_int64(new_shape)
        if not compatible(target.static_shape, source.dense_shape.static_shape):
            raise ValueError(f"A new shape of rank {show(target.static_shape)} is not one for {source!r}.")
        before, after = source.static_shape, known_value(target)
        if before is not None and after is not None and any(a is not None and a > b for a, b in zip(before, after)):
            raise ValueError(f"The new shape {after.tolist()} should have dimension sizes of at least {show(before)}.")
        same_rank = Assert(
            equal(size(target), size(source.dense_shape)),
            ["x == y did not hold element-wise: the new shape has another rank."],
        )
        with target.graph.control_dependencies([same_rank]):
            fits = Assert(
                reduce_all(less_equal(source.dense_shape, target)),
                ["x <= y did not hold element-wise: the new shape has a smaller size.", target],
            )
        enlarged = SparseTensor(source.indices, source.values, with_dependencies([fits], target))
        return with_shape(enlarged, None if after is None else tuple(int(n) for n in after))


def _ones(like: Tensor) -> Tensor:
    from actorflow.graph.ops.array.constant import ones_like

    return ones_like(like)


@public("af", "af.sparse:transpose")
def sparse_transpose(sp_input: SparseTensor, perm: TensorLike | None = None, name: str | None = None) -> SparseTensor:
    """Dimension i of the result is dimension perm[i]; without `perm` they are reversed (`tf.sparse_transpose`).

    Example:
        >>> af.sparse_transpose(af.SparseTensor([[0, 1], [1, 2]], [7, 8], [2, 3]))
        SparseTensor(indices=[[1 0]
                              [2 1]], values=[7 8], dense_shape=[3 2])
    """
    source = sparse_of(sp_input)
    with composite(name, "SparseTranspose", source.values) as scope:
        order = reverse(range_(rank_of(source)), [0]) if perm is None else convert_to_tensor(perm)
        indices, sizes = gather(source.indices, order, axis=1), gather(source.dense_shape, order)
        moved = sparse_reorder(SparseTensor(indices, source.values, sizes), name=scope)
        static_shape, at = source.static_shape, known_value(order)
        if static_shape is not None and (at is not None or perm is None):
            axes = [int(a) for a in at] if at is not None else list(range(len(static_shape)))[::-1]
            return with_shape(moved, tuple(static_shape[a] for a in axes))
        return moved


def rank_of(source: SparseTensor) -> Tensor:
    """The number of dimensions of a sparse tensor."""
    return size(source.dense_shape)


@public("af.sparse:expand_dims")
def sparse_expand_dims(sp_input: SparseTensor, axis: int | None = None, name: str | None = None) -> SparseTensor:
    """The same sparse tensor with a dimension of 1 before `axis`, by default the last (`tf.sparse.expand_dims`).

    Example:
        >>> af.sparse.expand_dims(af.SparseTensor([[2]], [7], [3]), 0)
        SparseTensor(indices=[[0 2]], values=[7], dense_shape=[1 3])
    """
    source = sparse_of(sp_input)
    static_shape = source.static_shape
    if static_shape is None:
        raise ValueError("sparse_expand_dims needs a known rank.")
    at = normalize_axis(-1 if axis is None else axis, len(static_shape) + 1)
    with composite(name, "expand_dims", source.values):
        zero = source.indices[:, :1] * 0 if static_shape else range_(size(source.values))[:, None] * 0
        column = reshape(_as_int64(zero), [-1, 1])
        indices = concat([source.indices[:, :at], column, source.indices[:, at:]], 1)
        sizes = concat([source.dense_shape[:at], np.ones(1, np.int64), source.dense_shape[at:]], 0)
        return with_shape(SparseTensor(indices, source.values, sizes), (*static_shape[:at], 1, *static_shape[at:]))


# ---- rows


def _filled(c: Inference) -> list[Shape]:
    require_rank(c, 1, 1)
    require_rank(c, 3, 0)
    constant = c.value(2)
    rows = None if constant is None or not constant.size else int(constant[0])
    elements = None if c.shapes[1] is None else c.shapes[1][0]
    return [(None, rank_in(c, 0, 2)), (None,), (rows,), (elements,)]


@op("SparseFillEmptyRows", shape=_filled, types=_TRIPLE, result=(dt.int64, T, dt.bool, dt.int64), work=10)
def _sparse_fill_empty_rows(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    default_value: TensorLike,
    *,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Indices and values with none of the rows empty; which were; where each element went. See `sparse_fill_empty_rows`."""


@_sparse_fill_empty_rows.gradient
def _(node: Operation, _: Any, dy: Tensor | None, *__: Any) -> list[Any]:
    from actorflow.graph.ops.array.constant import ones_like, zeros_like
    from actorflow.graph.ops.math.logic import where_v2
    from actorflow.graph.ops.math.reduction import reduce_sum

    (gradient,) = or_zeros([dy], [node.outputs[1]])
    places = node.outputs[3]
    hits = scatter_nd(reshape(places, [-1, 1]), ones_like(places, dt.int32), shape(gradient, out_type=dt.int64))
    added = where_v2(hits > 0, zeros_like(gradient), gradient)
    return [None, gather(gradient, places), None, reduce_sum(added)]


@public("af", "af.sparse:fill_empty_rows")
def sparse_fill_empty_rows(
    sp_input: SparseTensor, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """The sparse tensor with `default_value` at the beginning of each empty row, and which rows were empty, a bool vector
    (`tf.sparse_fill_empty_rows`).

    Raises InvalidArgumentError in the run for an index outside the tensor.

    Example:
        >>> x = af.SparseTensor([[0, 0], [2, 1]], [7, 8], [3, 2])
        >>> filled, empty = af.sparse_fill_empty_rows(x, -1)
        >>> af.sparse_tensor_to_dense(filled), empty
        ([[ 7  0]
          [-1  0]
          [ 0  8]], [False  True False])
    """
    source = sparse_of(sp_input)
    with composite(name, "SparseFillEmptyRows", source.values) as scope:
        default = convert_to_tensor(default_value, source.dtype)
        indices, values, empty, _ = _sparse_fill_empty_rows(
            source.indices, source.values, source.dense_shape, default, name=scope
        )
        return with_shape(SparseTensor(indices, values, source.dense_shape), source.static_shape), empty
