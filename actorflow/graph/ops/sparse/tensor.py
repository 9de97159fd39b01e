"""Sparse tensors: made, fed, and turned into dense tensors (`tf.sparse`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INDEX, DType, DTypeLike, as_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike, as_shape, is_static, show
from actorflow.errors import InvalidArgumentError
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.array.constant import ones_like, placeholder, placeholder_with_default, zeros_like
from actorflow.graph.ops.array.gather import gather, gather_nd
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, shape
from actorflow.graph.ops.array.unique import setdiff1d
from actorflow.graph.ops.building import composite, known_value, small_constant
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import not_equal, where
from actorflow.graph.ops.shape_rules import from_value, require_rank
from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def sparse_of(value: Any, what: str = "sp_input") -> SparseTensor:
    """`value` as a sparse tensor. Raises TypeError for another value."""
    try:
        return SparseTensor.from_value(value)
    except TypeError:
        raise TypeError(f"{what} must be a SparseTensor, but a {type(value).__name__} was given.") from None


def with_shape(found: SparseTensor, known: Shape) -> SparseTensor:
    """`found`, of which the dense shape is known to be `known`."""
    found._known = known
    return found


def neutral(graph: Any, dtype: DType) -> Tensor:
    """The scalar that stands for elements that are not there: zero, false, the empty string."""
    return small_constant(graph, b"" if dtype.kind == "S" else 0, dtype, "default_value")


@public("af", "af.sparse:placeholder")
def sparse_placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor that has to be fed, with a `SparseTensorValue` or a tuple of three arrays (`tf.sparse_placeholder`).

    A known `shape` need not agree with what is fed; a shape without unknown sizes may be left out of partial
    feeds.

    Example:
        >>> x = af.sparse_placeholder(af.float32)
        >>> total = af.sparse_reduce_sum(x)
        >>> await session.run(total, {x: ([[0, 1], [1, 0]], [7.0, 8.0], [2, 2])})
        15.0
    """
    if is_symbolic(shape):
        sizes_of = convert_to_tensor(shape)
        value, sizes = known_value(sizes_of), sizes_of.static_shape
        count = sizes[0] if sizes else None
        shape = [int(n) for n in value] if value is not None else None if count is None else [None] * count
    static_shape = as_shape(shape)
    rank = None if static_shape is None else len(static_shape)
    label = name or "SparsePlaceholder"
    if static_shape is not None and is_static(static_shape):
        dense_shape = placeholder_with_default(np.array(static_shape, np.int64), [rank], name=f"{label}/shape")
    else:
        dense_shape = placeholder(dt.int64, [rank], name=f"{label}/shape")
    values = placeholder(as_dtype(dtype), [None], name=f"{label}/values")
    indices = placeholder(dt.int64, [None, rank], name=f"{label}/indices")
    return with_shape(SparseTensor(indices, values, dense_shape), static_shape)


# ---- to dense, and back


def _dense(c: Inference) -> Shape:
    require_rank(c, 1, 1)
    if c.shapes[3]:
        raise InvalidArgumentError(f"default_value should be a scalar, but has the shape {show(c.shapes[3])}.")
    return from_value(1)(c)


@op("SparseToDense", shape=_dense, types={"sparse_indices": INDEX, "output_shape": INDEX})
def _sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: TensorLike,
    sparse_values: TensorLike,
    default_value: TensorLike,
    *,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A dense tensor with values at some places. See `sparse_to_dense`."""


@_sparse_to_dense.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.logic import where_v2
    from actorflow.graph.ops.math.reduction import reduce_sum

    indices, full, values, _ = node.inputs
    points = _points(indices)
    at_values = gather_nd(dy, points)
    of_values = reduce_sum(at_values) if values.static_shape == () else at_values
    # A sum over all others, not a difference, in which they would drown.
    taken = _sparse_to_dense(points, full, ones_like(at_values, dt.bool), False, validate_indices=False)
    of_default = reduce_sum(where_v2(taken, zeros_like(dy), dy))
    return [None, None, of_values, of_default]


def _points(indices: Tensor) -> Tensor:
    """Indices of elements as a matrix: a scalar is one point of a vector, a vector several."""
    rank = None if indices.static_shape is None else len(indices.static_shape)
    if rank == 2:
        return indices
    from actorflow.graph.ops.array.constant import fill
    from actorflow.graph.ops.array.shape import rank as rank_of
    from actorflow.graph.ops.array.shape import reshape

    if rank is not None:
        return reshape(indices, [-1, 1])
    full = shape(indices)
    ones = fill(expand_dims(2 - rank_of(indices), 0), 1)
    return reshape(indices, concat([full, ones], 0)[:2])


@public("af")
def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: TensorLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The dense tensor with `sparse_values` at `sparse_indices`, and `default_value` elsewhere (`tf.sparse_to_dense`).

    Example:
        >>> af.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [7, 8], default_value=-1)
        [[-1  7]
         [ 8 -1]]

    Args:
        sparse_indices: int32 or int64, `[n, r]`; a vector for a result that is a vector, a scalar for one element of it.
        output_shape: `[r]`.
        sparse_values: `[n]`, or a scalar for all.
        default_value: the scalar elsewhere; 0 by default.
        validate_indices: says that the indices have to be in order, without repetition.

    Raises:
        InvalidArgumentError: shapes that don't fit, an index outside the result or out of order, in the run.
    """
    with composite(name, "SparseToDense", sparse_indices, output_shape, sparse_values, default_value) as scope:
        values = convert_to_tensor(sparse_values)
        default = convert_to_tensor(default_value, values.dtype)
        return _sparse_to_dense(
            sparse_indices, output_shape, values, default, validate_indices=validate_indices, name=scope
        )


@public("af", "af.sparse:to_dense")
def sparse_tensor_to_dense(
    sp_input: SparseTensor,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The dense tensor that a sparse one stands for (`tf.sparse_tensor_to_dense`).

    Example:
        >>> af.sparse_tensor_to_dense(af.SparseTensor([[0, 1]], [7], [2, 2]), default_value=-1)
        [[-1  7]
         [-1 -1]]

    Args:
        sp_input: a sparse tensor of any type.
        default_value: the scalar for places without an element; zero by default, "" of strings.
        validate_indices: says that the indices have to be in order, without repetition.

    Raises:
        InvalidArgumentError: an index is outside, or out of order, in the run.
    """
    source = sparse_of(sp_input)
    default = neutral(source.graph, source.dtype) if default_value is None else default_value
    dense = sparse_to_dense(
        source.indices, source.dense_shape, source.values, default, validate_indices, name or "SparseTensorToDense"
    )
    return dense


@public("af.sparse:from_dense")
def sparse_from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """The sparse tensor of the elements of `tensor` that are not zero (`tf.sparse.from_dense`).

    Example:
        >>> af.sparse.from_dense([[0, 7], [8, 0]])
        SparseTensor(indices=[[0 1]
                              [1 0]], values=[7 8], dense_shape=[2 2])
    """
    with composite(name, "dense_to_sparse", tensor):
        source = convert_to_tensor(tensor)
        indices = where(not_equal(source, neutral(source.graph, source.dtype)))
        sparse = SparseTensor(indices, gather_nd(source, indices), shape(source, out_type=dt.int64))
        return with_shape(sparse, source.static_shape)


@public("af.sparse:eye")
def sparse_eye(
    num_rows: int, num_columns: int | None = None, dtype: DTypeLike = dt.float32, name: str | None = None
) -> SparseTensor:
    """A sparse matrix with 1 on its diagonal (`tf.sparse.eye`).

    Example:
        >>> af.sparse.eye(2)
        SparseTensor(indices=[[0 0]
                              [1 1]], values=[1. 1.], dense_shape=[2 2])

    Args:
        num_rows, num_columns: ints; there are as many columns as rows by default.
        dtype: the element type, float32 by default.
    """
    columns = num_rows if num_columns is None else num_columns
    diagonal = np.arange(min(num_rows, columns))
    with composite(name, "eye"):
        ones = np.ones(len(diagonal), as_dtype(dtype).numpy_dtype)
        return SparseTensor(np.stack([diagonal, diagonal], 1), ones, np.array([num_rows, columns], np.int64))


# ---- ids


@public("af", "af.sparse:merge")
def sparse_merge(
    sp_ids: SparseTensor | Sequence[SparseTensor],
    sp_values: SparseTensor,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Ids and values of the same places as one sparse tensor, in which the ids are the last index (`tf.sparse_merge`).

    Example:
        >>> ids = af.SparseTensor([[0, 0], [1, 0]], af.constant([2, 0], af.int64), [2, 1])
        >>> values = af.SparseTensor([[0, 0], [1, 0]], [0.5, 0.25], [2, 1])
        >>> af.sparse_tensor_to_dense(af.sparse_merge(ids, values, vocab_size=3))
        [[0.   0.   0.5 ]
         [0.25 0.   0.  ]]

    Args:
        sp_ids: int32 or int64; several for as many last indices.
        sp_values: a sparse tensor of any type, with an element at each place of the ids.
        vocab_size: above all ids; a list of such sizes for several `sp_ids`.
        already_sorted: says that the result needs no reordering.

    Raises:
        TypeError, ValueError: something is not a sparse tensor; another number of vocabularies.
    """
    from actorflow.graph.ops.sparse.shape import sparse_reorder

    parts: Any = sp_ids
    sizes: Any = vocab_size
    if isinstance(sp_ids, (SparseTensor, SparseTensorValue)) or not isinstance(sp_ids, (list, tuple)):
        parts, sizes = [sp_ids], [vocab_size]
    ids = [sparse_of(part, "sp_ids") for part in parts]
    values = sparse_of(sp_values, "sp_values")
    if not ids or len(ids) != len(sizes):
        raise ValueError(f"sparse_merge: {len(ids)} tensors of ids need as many vocabularies, not {len(sizes)}.")
    with composite(name, "SparseMerge", ids[0].values, values.values):
        last = [expand_dims(cast(part.values, dt.int64), 1) for part in ids]
        indices = concat([ids[0].indices[:, :-1], *last], 1)
        above = [expand_dims(cast(convert_to_tensor(size), dt.int64), 0) for size in sizes]
        merged = SparseTensor(indices, values.values, concat([ids[0].dense_shape[:-1], *above], 0))
        return merged if already_sorted else sparse_reorder(merged)


@public("af", "af.sparse:to_indicator")
def sparse_to_indicator(sp_input: SparseTensor, vocab_size: TensorLike, name: str | None = None) -> Tensor:
    """The dense bool tensor that is true at `[..., id]` for each id in the rows of `sp_input` (`tf.sparse_to_indicator`).

    Raises TypeError where the ids are not int32 or int64.

    Example:
        >>> ids = af.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, 0, 1], [2, 2])
        >>> af.sparse_to_indicator(ids, vocab_size=3)
        [[ True False  True]
         [False  True False]]
    """
    ids = sparse_of(sp_input)
    if ids.dtype not in INDEX:
        raise TypeError(f"sparse_to_indicator takes ids of type int32 or int64, not {ids.dtype}.")
    with composite(name, "SparseToIndicator", ids.values) as scope:
        ones = SparseTensor(ids.indices, ones_like(ids.values, dt.bool), ids.dense_shape)
        merged = sparse_merge(ids, ones, vocab_size)
        return sparse_tensor_to_dense(merged, False, validate_indices=False, name=scope)


@public("af", "af.sparse:mask")
def sparse_mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """The slices of `a` whose indices are not among `mask_indices` (`tf.sparse_mask`).

    Example:
        >>> rows = af.IndexedSlices(af.constant([[1], [2], [3]]), af.constant([10, 20, 30]))
        >>> left = af.sparse_mask(rows, [20])
        >>> left.indices, left.values
        ([10 30], [[1]
                   [3]])
    """
    with composite(name, "sparse_mask", a.values, mask_indices):
        masked = cast(convert_to_tensor(mask_indices), a.indices.dtype)
        left, places = setdiff1d(a.indices, masked)
        return IndexedSlices(gather(a.values, places), left, a.dense_shape)


# ---- distance


def _distance_shape(c: Inference) -> Shape:
    hypothesis, truth = c.value(2), c.value(5)
    for index, rank in ((0, 2), (1, 1), (2, 1), (3, 2), (4, 1), (5, 1)):
        require_rank(c, index, rank)
    if hypothesis is None or truth is None:
        return None
    if len(hypothesis) != len(truth):
        raise ValueError(f"edit_distance: the ranks differ, {len(hypothesis)} and {len(truth)}.")
    return tuple(int(size) for size in np.maximum(hypothesis, truth)[:-1])


@op(
    "EditDistance",
    shape=_distance_shape,
    types={name: dt.int64 for name in ("hypothesis_indices", "hypothesis_shape", "truth_indices", "truth_shape")},
    result=dt.float32,
    gradient=None,
    work=50,
)
def _edit_distance(
    hypothesis_indices: TensorLike,
    hypothesis_values: TensorLike,
    hypothesis_shape: TensorLike,
    truth_indices: TensorLike,
    truth_values: TensorLike,
    truth_shape: TensorLike,
    *,
    normalize: bool = True,
    name: str | None = None,
) -> Tensor:
    """The edit distances of sequences. See `edit_distance`."""


@public("af")
def edit_distance(
    hypothesis: SparseTensor, truth: SparseTensor, normalize: bool = True, name: str | None = None
) -> Tensor:
    """Levenshtein's distance of the sequences along the last dimension, float32 (`tf.edit_distance`).

    Example:
        >>> def word(letters):
        ...     return af.SparseTensor([[0, i] for i in range(len(letters))], list(letters), [1, len(letters)])
        >>> af.edit_distance(word("kitten"), word("sitting"), normalize=False)
        [3.]

    Args:
        hypothesis, truth: sparse tensors of one type and rank; their last dimension holds the sequences.
        normalize: divides by the length of the truth: infinite where that is empty and the hypothesis is not.

    Returns:
        A dense tensor without the last dimension.

    Raises:
        TypeError: something is not a sparse tensor, or the two have different types.
        ValueError: their ranks differ.
    """
    first, second = sparse_of(hypothesis, "Hypothesis"), sparse_of(truth, "Truth")
    return _edit_distance(
        first.indices,
        first.values,
        first.dense_shape,
        second.indices,
        second.values,
        second.dense_shape,
        normalize=normalize,
        name=name or "edit_distance",
    )
