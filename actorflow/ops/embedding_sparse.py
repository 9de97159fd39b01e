"""Rows of a table of embeddings for sparse ids, combined for each example (`tf.nn.embedding_lookup_sparse`)."""

from __future__ import annotations

from typing import Any

from actorflow import dtypes as dt
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor
from actorflow.ops.arithmetic import div_no_nan, realdiv
from actorflow.ops.building import composite
from actorflow.ops.cast import cast
from actorflow.ops.embedding import embedding_lookup
from actorflow.ops.filling import fill, ones_like, zeros_like
from actorflow.ops.gathering import gather
from actorflow.ops.joining import concat
from actorflow.ops.logic import greater, greater_equal, where_v2
from actorflow.ops.ordering import unique
from actorflow.ops.reduction import reduce_prod
from actorflow.ops.segment import segment_sum
from actorflow.ops.shaping import expand_dims, rank, reshape, shape
from actorflow.ops.sparse import sparse_of
from actorflow.ops.sparse_segment import sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum
from actorflow.ops.sparse_shape import sparse_fill_empty_rows, sparse_reshape, sparse_retain
from actorflow.ops.unary import sqrt, square
from actorflow.public import public

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

    Args:
        params, partition_strategy, max_norm: as in `embedding_lookup`.
        sp_ids: int32 or int64, `[batch, ids]`, its elements in order.
        sp_weights: one weight for each id, at the same places; None for 1.
        combiner: "sum" adds the embeddings times their weights; "mean", which None means too, divides the sum by that of
            the weights, and "sqrtn" by the root of the sum of their squares.

    Returns:
        `[batch, embedding]`, up to the last row that has an id; rows without one are zero.

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
        found = gather(table, which)
        factors = cast(weights.values, found.dtype)
        column = reshape(factors, concat([shape(factors), fill(expand_dims(rank(found) - 1, 0), 1)], 0))
        if how == "sum":
            return segment_sum(found * column, rows, name=scope)
        total = segment_sum(found * column, rows)
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

    Ids whose weight is not positive are left out, too, unless the combiner is "sum". An example without an id gets the
    embedding of `default_id`, or zeros where that is None. `sparse_ids` has rank 2 or more; the result has the shape of
    all but its last dimension, and then that of an embedding.
    """
    _check_combiner(combiner)
    given = sparse_of(sparse_ids, "sparse_ids")
    weights = None if sparse_weights is None else sparse_of(sparse_weights, "sparse_weights")
    with composite(name, "embedding_lookup", given.values) as scope:
        outer = given.dense_shape[:-1]
        ids = sparse_reshape(given, concat([expand_dims(reduce_prod(outer), 0), given.dense_shape[-1:]], 0))
        if weights is not None:
            weights = SparseTensor(ids.indices, weights.values, ids.dense_shape)
        ids, weights = _retained(ids, weights, greater_equal(ids.values, zeros_like(ids.values)))
        if weights is not None and combiner != "sum":
            ids, weights = _retained(ids, weights, greater(weights.values, zeros_like(weights.values)))
        ids, empty = sparse_fill_empty_rows(ids, 0 if default_id is None else default_id)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1)
        found = embedding_lookup_sparse(embedding_weights, ids, weights, partition_strategy, None, combiner, max_norm)
        if default_id is None:
            found = where_v2(expand_dims(empty, 1), zeros_like(found), found)
        width = shape(found, out_type=dt.int64)[1:]
        result = reshape(found, concat([outer, width], 0), name=scope)
        known, row = given.static_shape, found.static_shape
        if known is not None and row is not None:
            result.set_shape((*known[:-1], *row[1:]))
        return result


def _retained(ids: SparseTensor, weights: SparseTensor | None, kept: Any) -> tuple[SparseTensor, SparseTensor | None]:
    """Ids and weights where `kept` is true."""
    chosen = convert_to_tensor(kept)
    return sparse_retain(ids, chosen), None if weights is None else sparse_retain(weights, chosen)
