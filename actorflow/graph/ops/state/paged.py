"""Attention over keys and values that are kept in pages, as generation needs it (Kwon et al. 2023, PagedAttention)."""

from __future__ import annotations

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, show
from actorflow.graph.ops.declare import RefLike, T, op
from actorflow.graph.tensor import Tensor, TensorLike

_INDICES = {"tables": int32, "owners": int32, "places": int32}


def _attended(c: Inference) -> Shape:
    keys, values, query, key, value, tables, owners, places = c.shapes
    ranks = {"query": (query, 3), "tables": (tables, 2), "owners": (owners, 1), "places": (places, 1)}
    for name, (shape, rank) in ranks.items():
        if shape is not None and len(shape) != rank:
            raise ValueError(f"PagedAttention takes {name!r} with {rank} dimensions, but its shape is {show(shape)}.")
    if not compatible(keys, values) or not compatible(key, value):
        raise ValueError(
            f"Keys and values have the same shapes, but the pools have {show(keys)} and {show(values)}, "
            f"and the new rows {show(key)} and {show(value)}."
        )
    if keys is not None and key is not None and not compatible(keys[1:], key[1:]):
        raise ValueError(f"A pool of shape {show(keys)} has no place for rows of shape {show(key)}.")
    return query


@op(
    "PagedAttention",
    shape=_attended,
    dtypes=frozenset((dt.float32, dt.float64)),
    types=_INDICES,
    result=T,
    gradient=None,
    stateful=True,
    writes=True,
)
def paged_attention(
    keys: RefLike,
    values: RefLike,
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    tables: TensorLike,
    owners: TensorLike,
    places: TensorLike,
    *,
    block_size: int,
    scale: float,
    name: str | None = None,
) -> Tensor:
    """Writes the key and value of each token to its place in two pools. The result is the attention of each query to the tokens
    of its sequence up to itself.

    The pools are variables [slots, heads, size]; a block is `block_size` slots that lie together. `tables` [sequences, blocks]
    names the blocks of each sequence in their order. Tokens [tokens] are of the sequences `owners`, at the `places` that count
    from 0. `query` is [tokens, query heads, size]; several of its heads may share a head of the pools. Raises
    InvalidArgumentError in the run where a place or a block is outside.
    """
