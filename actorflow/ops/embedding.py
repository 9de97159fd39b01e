"""Embeddings: rows of tables by their numbers, and weighted sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.arithmetic import add_n, maximum, minimum
from actorflow.ops.building import composite
from actorflow.ops.cast import cast
from actorflow.ops.control import identity
from actorflow.ops.filling import range_
from actorflow.ops.gathering import gather
from actorflow.ops.joining import concat
from actorflow.ops.logic import where
from actorflow.ops.partitioning import dynamic_partition, dynamic_stitch
from actorflow.ops.reduction import reduce_sum
from actorflow.ops.shaping import rank, reshape, shape, size
from actorflow.ops.unary import sqrt, square
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

    Args:
        params: the table, or a list of tables (or a partitioned variable) among which the rows are divided. Rows are taken
            where a variable is, so that not all of it has to travel.
        ids: int32 or int64, of any shape.
        partition_strategy: how they are divided. "mod": row i is row i // n of table i % n; "div": consecutive rows are
            together, the first tables having one more where they don't divide evenly.
        max_norm: rows with a larger L2 norm are scaled down to it.

    Returns:
        A tensor of the shape of ids, and then that of a row.

    Raises:
        ValueError: an unknown strategy, or no table.
        InvalidArgumentError: an id that is no row, in the run.
    """
    tables = list(params) if isinstance(params, (list, tuple)) or hasattr(params, "_get_variable_list") else [params]
    if not tables:
        raise ValueError("embedding_lookup needs one table or more.")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"The partition strategy is 'mod' or 'div', not {partition_strategy!r}.")
    with composite(name, "embedding_lookup", *tables, ids) as scope:
        wanted = convert_to_tensor(ids, preferred_dtype="int32")
        if len(tables) == 1:
            return identity(_clipped(_rows(tables[0], wanted), wanted, max_norm), name=scope)
        flat = reshape(wanted, [-1])
        table_of, row_of = _division(tables, flat, partition_strategy)
        chosen = dynamic_partition(row_of, cast(table_of, "int32"), len(tables))
        places = dynamic_partition(range_(size(flat)), cast(table_of, "int32"), len(tables))
        found = dynamic_stitch(places, [_rows(t, rows) for t, rows in zip(tables, chosen)])
        row = shape(convert_to_tensor(tables[0]))[1:]
        shaped = reshape(found, concat([shape(wanted), row], 0))
        first = convert_to_tensor(tables[0]).static_shape
        if first is not None and wanted.static_shape is not None:
            shaped.set_shape((*wanted.static_shape, *first[1:]))
        return identity(_clipped(shaped, wanted, max_norm), name=scope)


def _rows(table: Any, numbers: Tensor) -> Tensor:
    """Rows of a table, taken on its own device where it is a variable."""
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
