"""Embeddings: rows of tables by their numbers, and weighted sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import fill, ones_like, zeros_like
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.partition import dynamic_partition, dynamic_stitch
from actorflow.graph.ops.array.shape import expand_dims, rank, reshape, shape, size
from actorflow.graph.ops.array.unique import unique
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math.arithmetic import add_n, div_no_nan, maximum, minimum, realdiv
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.elementwise import sqrt, square
from actorflow.graph.ops.math.logic import greater, greater_equal, where, where_v2
from actorflow.graph.ops.math.reduction import reduce_prod, reduce_sum
from actorflow.graph.ops.math.segment import segment_sum
from actorflow.graph.ops.sparse.segment import sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum
from actorflow.graph.ops.sparse.shape import sparse_fill_empty_rows, sparse_reshape, sparse_retain
from actorflow.graph.ops.sparse.tensor import sparse_of
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.nn")
def embedding_lookup(
    params: Any,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows of a table of embeddings that `ids` name (`tf.nn.embedding_lookup`).

    Example:
        >>> table = af.constant([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0]])
        >>> af.nn.embedding_lookup(table, [2, 1])
        [[ 2. 20.]
         [ 1. 10.]]

    Args:
        params: the table, or a list of tables (or a partitioned variable) among which the rows are divided. Rows are taken
            where a variable is, so that not all of it has to travel.
        ids: int32 or int64, of any shape.
        partition_strategy: how they are divided. "mod": row i is row i // n of table i % n; "div": consecutive rows are
            together, with a row more in the first tables if they don't divide evenly.
        validate_indices: taken, and not used: ids are always checked.
        max_norm: rows with a larger L2 norm are scaled down to it.

    Returns:
        A tensor of the shape of ids, and then that of a row.

    Raises:
        ValueError: an unknown strategy, or no table.
        InvalidArgumentError: an id that is not a row, in the run.
    """
    tables = list(params) if isinstance(params, (list, tuple)) or hasattr(params, "_get_variable_list") else [params]
    if not tables:
        raise ValueError("embedding_lookup needs one table or more.")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"The partition strategy is 'mod' or 'div', not {partition_strategy!r}.")
    with composite(name, "embedding_lookup", *tables, ids) as scope:
        id_tensor = convert_to_tensor(ids, preferred_dtype="int32")
        if len(tables) == 1:
            return identity(_clipped(_rows(tables[0], id_tensor), id_tensor, max_norm), name=scope)
        flat = reshape(id_tensor, [-1])
        table_of, row_of = _division(tables, flat, partition_strategy)
        chosen = dynamic_partition(row_of, cast(table_of, "int32"), len(tables))
        places = dynamic_partition(range_(size(flat)), cast(table_of, "int32"), len(tables))
        rows_out = dynamic_stitch(places, [_rows(t, rows) for t, rows in zip(tables, chosen)])
        row = shape(convert_to_tensor(tables[0]))[1:]
        shaped = reshape(rows_out, concat([shape(id_tensor), row], 0))
        first = convert_to_tensor(tables[0]).static_shape
        if first is not None and id_tensor.static_shape is not None:
            shaped.set_shape((*id_tensor.static_shape, *first[1:]))
        return identity(_clipped(shaped, id_tensor, max_norm), name=scope)


def _rows(table: Any, numbers: Tensor) -> Tensor:
    """Rows of a table; those of a variable are taken on its own device."""
    if not hasattr(table, "handle"):
        return gather(table, numbers)
    with numbers.graph.colocate_with(table):
        return gather(table, numbers)


def _division(tables: Sequence[Any], ids: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """For each id the table in which its row is, and the number of the row there."""
    count = len(tables)
    if strategy == "mod":
        return ids % count, ids // count
    total = add_n([cast(shape(convert_to_tensor(t))[0], ids.dtype) for t in tables])
    each, more = total // count, total % count
    table = maximum(ids // (each + 1), (ids - more) // maximum(each, 1))
    first = table < more
    return table, where(first, ids % (each + 1), (ids - more) % maximum(each, 1))


def _clipped(rows: Tensor, ids: Tensor, max_norm: float | None) -> Tensor:
    if max_norm is None:
        return rows
    axes: Any = range_(rank(ids), rank(rows))
    norm = sqrt(reduce_sum(square(rows), axes, keepdims=True))
    return rows * minimum(max_norm / maximum(norm, 1e-30), 1.0)


# ---- Rows of a table of embeddings for sparse ids, combined for each example (`tf.nn.embedding_lookup_sparse`).


_UNWEIGHTED = {"mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n, "sum": sparse_segment_sum}


def _check_combiner(combiner: str) -> None:
    if combiner not in _UNWEIGHTED:
        raise ValueError(f"The combiner is one of 'mean', 'sqrtn' and 'sum', not {combiner!r}.")


@public("af.nn")
def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """For each row of `sp_ids`, the combined embeddings of its ids (`tf.nn.embedding_lookup_sparse`).

    Example:
        >>> table = af.constant([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0]])
        >>> ids = af.SparseTensor([[0, 0], [0, 1], [1, 0]], af.constant([1, 2, 2]), [2, 2])
        >>> af.nn.embedding_lookup_sparse(table, ids, None, combiner="sum")
        [[ 3. 30.]
         [ 2. 20.]]

    Args:
        params, partition_strategy, max_norm: as in `embedding_lookup`.
        sp_ids: int32 or int64, `[batch, ids]`, its elements in order.
        sp_weights: one weight for each id, at the same places; None for 1.
        combiner: "sum" adds the embeddings times their weights; "mean", which None means too, divides the sum by that of
            the weights, and "sqrtn" by the root of the sum of their squares.

    Returns:
        `[batch, embedding]`, up to the last row that has an id; rows without an id are zero.

    Raises:
        TypeError: ids or weights that are not sparse.
        ValueError: another combiner.
    """
    how = "mean" if combiner is None else combiner
    _check_combiner(how)
    ids = sparse_of(sp_ids, "sp_ids")
    weights = None if sp_weights is None else sparse_of(sp_weights, "sp_weights")
    with composite(name, "embedding_lookup_sparse", ids.values) as scope:
        rows = cast(ids.indices[:, 0], dt.int32)
        # An id that comes often is looked up once.
        distinct, which = unique(ids.values)
        table = embedding_lookup(params, distinct, partition_strategy, max_norm=max_norm)
        if weights is None:
            return _UNWEIGHTED[how](table, which, rows, name=scope)
        embedded = gather(table, which)
        factors = cast(weights.values, embedded.dtype)
        column = reshape(factors, concat([shape(factors), fill(expand_dims(rank(embedded) - 1, 0), 1)], 0))
        if how == "sum":
            return segment_sum(embedded * column, rows, name=scope)
        total = segment_sum(embedded * column, rows)
        if how == "mean":
            return div_no_nan(total, segment_sum(column, rows), name=scope)
        squares = segment_sum(square(column), rows)
        # Rows without an id are divided by 1: at 0 the root has no derivative.
        return realdiv(total, sqrt(where_v2(squares > 0, squares, ones_like(squares))), name=scope)


@public("af.nn")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """`embedding_lookup_sparse` that leaves out negative ids and gives a row for each example
    (`tf.nn.safe_embedding_lookup_sparse`).

    Example:
        >>> table = af.constant([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0]])
        >>> ids = af.SparseTensor([[0, 0], [2, 0]], af.constant([1, -1]), [3, 1])
        >>> af.nn.safe_embedding_lookup_sparse([table], ids, default_id=2)
        [[ 1. 10.]
         [ 2. 20.]
         [ 2. 20.]]

    Args:
        embedding_weights: the table, or a list of tables among which the rows are divided, as in `embedding_lookup`.
        sparse_ids: int32 or int64, of rank 2 or more: the ids of each example along the last dimension.
        sparse_weights: one weight for each id, at the same places; None for 1. Ids whose weight is not positive are
            left out, unless the combiner is "sum".
        combiner: "sum", "mean" or "sqrtn", as in `embedding_lookup_sparse`.
        default_id: the id whose embedding an example without an id gets; None gives zeros.
        partition_strategy: "div" or "mod", as in `embedding_lookup`.
        max_norm: rows with a larger L2 norm are scaled down to it.

    Returns:
        A tensor of the shape of all but the last dimension of `sparse_ids`, and then that of an embedding.

    Raises:
        TypeError: ids or weights that are not sparse.
        ValueError: another combiner.
    """
    _check_combiner(combiner)
    sparse = sparse_of(sparse_ids, "sparse_ids")
    weights = None if sparse_weights is None else sparse_of(sparse_weights, "sparse_weights")
    with composite(name, "embedding_lookup", sparse.values) as scope:
        outer = sparse.dense_shape[:-1]
        ids = sparse_reshape(sparse, concat([expand_dims(reduce_prod(outer), 0), sparse.dense_shape[-1:]], 0))
        if weights is not None:
            weights = SparseTensor(ids.indices, weights.values, ids.dense_shape)
        ids, weights = _retained(ids, weights, greater_equal(ids.values, zeros_like(ids.values)))
        if weights is not None and combiner != "sum":
            ids, weights = _retained(ids, weights, greater(weights.values, zeros_like(weights.values)))
        ids, empty = sparse_fill_empty_rows(ids, 0 if default_id is None else default_id)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1)
        embedded = embedding_lookup_sparse(
            embedding_weights, ids, weights, partition_strategy, None, combiner, max_norm
        )
        if default_id is None:
            embedded = where_v2(expand_dims(empty, 1), zeros_like(embedded), embedded)
        width = shape(embedded, out_type=dt.int64)[1:]
        result = reshape(embedded, concat([outer, width], 0), name=scope)
        static_shape, row = sparse.static_shape, embedded.static_shape
        if static_shape is not None and row is not None:
            result.set_shape((*static_shape[:-1], *row[1:]))
        return result


def _retained(ids: SparseTensor, weights: SparseTensor | None, kept: Any) -> tuple[SparseTensor, SparseTensor | None]:
    """Ids and weights where `kept` is true."""
    chosen = convert_to_tensor(kept)
    return sparse_retain(ids, chosen), None if weights is None else sparse_retain(weights, chosen)
