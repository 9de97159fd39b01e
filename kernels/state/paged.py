"""The kernel of attention over pages, in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import InvalidArgumentError

from ..nn import activation as nn


def attend(
    keys: Any,
    values: Any,
    query: Any,
    key: Any,
    value: Any,
    tables: Any,
    owners: Any,
    places: Any,
    block_size: int,
    scale: float,
) -> Any:
    """The attention of each query, after its key and value are in the pools."""
    slots = _slots(keys, query, key, value, tables, owners, places, block_size)
    keys[slots], values[slots] = key, value
    shared = query.shape[1] // max(1, keys.shape[1])
    out = np.empty_like(query)
    inner = np.arange(block_size)
    for token, (owner, place) in enumerate(zip(owners, places)):
        blocks = tables[owner, : place // block_size + 1]
        seen = (blocks[:, None] * block_size + inner).reshape(-1)[: place + 1]
        k, v = (np.repeat(pool[seen], shared, axis=1) for pool in (keys, values))
        scores = np.einsum("hd,thd->ht", query[token], k) * query.dtype.type(scale)
        out[token] = np.einsum("ht,thd->hd", nn.softmax(np, scores, axis=-1), v)
    return out


def _slots(keys: Any, query: Any, key: Any, value: Any, tables: Any, owners: Any, places: Any, block_size: int) -> Any:
    """The slot of each token.

    Raises:
        InvalidArgumentError: shapes do not fit, or a sequence, place or block is outside.
    """
    tokens = len(owners)
    rows = (tokens, *keys.shape[1:])
    heads = query.shape[1] if query.ndim == 3 else 0
    if key.shape != rows or value.shape != rows or query.shape != (tokens, heads, rows[-1]) or heads % rows[1]:
        raise InvalidArgumentError(
            f"Queries {query.shape}, keys {key.shape} and values {value.shape} of {tokens} tokens do not fit pools of "
            f"shape {keys.shape}."
        )
    if tokens == 0:
        return np.zeros(0, np.int64)
    if len(places) != tokens or owners.min() < 0 or owners.max() >= len(tables):
        raise InvalidArgumentError(f"Owners of tokens are rows of {len(tables)} tables, but are {owners.tolist()[:8]}.")
    if places.min() < 0 or places.max() >= tables.shape[1] * block_size:
        most = tables.shape[1] * block_size
        raise InvalidArgumentError(f"Places of tokens are in [0, {most}), but the largest is {places.max()}.")
    for owner, place in zip(owners, places):
        blocks = tables[owner, : place // block_size + 1]
        if blocks.min() < 0 or blocks.max() >= len(keys) // block_size:
            raise InvalidArgumentError(
                f"Blocks of a pool are in [0, {len(keys) // block_size}), but a table has {blocks.tolist()[:8]}."
            )
    return tables[owners, places // block_size].astype(np.int64) * block_size + places % block_size


@kernel("PagedAttention")
def paged_attention(
    xp: Any,
    keys: VariableState,
    values: VariableState,
    query: Any,
    key: Any,
    value: Any,
    tables: Any,
    owners: Any,
    places: Any,
    *,
    block_size: int,
    scale: float,
) -> Any:
    pools = keys.writable(), values.writable()
    return attend(*pools, query, key, value, tables, owners, places, block_size, scale)
