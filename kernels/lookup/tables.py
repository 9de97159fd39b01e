"""Kernels of tables: their handles, and what is done with them. They compute on the host."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.records.reading.opening import on_thread
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.diagnostics.waits import at_work
from actorflow.engine.runtime.state.resources import one_at_a_time
from actorflow.errors import InvalidArgumentError

from ..io.files import roots_of, text
from .content import ContentTable, SavedTable
from .text_files import read_pairs


def _opened(
    ctx: KernelContext,
    kind: type[ContentTable],
    container: str,
    shared: str,
    key: DType,
    value: DType,
    shape: Any,
    once: bool,
) -> ContentTable:
    name, sizes = shared or ctx.node.name, tuple(shape)
    table = ctx.resources.lookup_or_create(container, name, kind, lambda: kind(name, key, value, sizes, once=once))
    if not table.fits(key, value, sizes, once):
        raise InvalidArgumentError(
            f"There is a table {name!r} already, from {table.key} to {table.value} of shape {table.shape}; this one is from "
            f"{key} to {value} of shape {sizes}."
        )
    return table


@kernel("HashTableV2")
@one_at_a_time
def hash_table(
    xp: Any, *, key_dtype: DType, value_dtype: DType, container: str, shared_name: str, ctx: KernelContext
) -> ContentTable:
    return _opened(ctx, ContentTable, container, shared_name, key_dtype, value_dtype, (), True)


@kernel("MutableHashTableV2")
@one_at_a_time
def mutable_hash_table(
    xp: Any,
    *,
    key_dtype: DType,
    value_dtype: DType,
    value_shape: Any,
    checkpoint: bool,
    container: str,
    shared_name: str,
    ctx: KernelContext,
) -> ContentTable:
    kind = SavedTable if checkpoint else ContentTable
    return _opened(ctx, kind, container, shared_name, key_dtype, value_dtype, value_shape, False)


@kernel("InitializeTableV2")
def initialize_table(xp: Any, table: Any, keys: Any, values: Any) -> None:
    table.fill(*table.pairs(keys, values))


@kernel("InitializeTableFromTextFileV2")
async def initialize_table_from_text_file(
    xp: Any,
    table: Any,
    filename: Any,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str,
    offset: int,
    ctx: KernelContext,
    step: StepHandle,
) -> None:
    path, columns = text(filename), ((key_index, table.key), (value_index, table.value))
    with step.waits_for(at_work(f"reads the file {path!r}")):
        pairs = await on_thread(read_pairs, path, roots_of(ctx), columns, vocab_size, delimiter, offset)
    table.fill(*pairs)


@kernel("LookupTableFindV2", packed="read")
def find(xp: Any, table: Any, keys: Any, default: Any, *, packs: Collection[int] = ()) -> Any:
    return table.find(keys, default, packs=0 in packs)


@kernel("LookupTableSizeV2")
def size(xp: Any, table: Any) -> Any:
    return np.int64(len(table))


@kernel("LookupTableInsertV2")
def insert(xp: Any, table: Any, keys: Any, values: Any) -> None:
    table.insert(*table.pairs(keys, values))


@kernel("LookupTableImportV2")
def import_all(xp: Any, table: Any, keys: Any, values: Any) -> None:
    pairs = table.pairs(keys, values)
    if table.once:
        table.fill(*pairs)
    else:
        table.insert(*pairs, clear=True)


@kernel("LookupTableRemoveV2")
def remove(xp: Any, table: Any, keys: Any) -> None:
    table.remove(table._keys(keys).reshape(-1).tolist())


@kernel("LookupTableExportV2")
def export(xp: Any, table: Any) -> Any:
    return table.content()
