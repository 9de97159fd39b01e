"""Kernels of pools of files: a reader that has to wait for others holds no thread."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.state.resources import one_at_a_time
from actorflow.errors import InvalidArgumentError, OutOfRangeError, with_topic
from actorflow.models.data.sharing.file_pool import FilePool
from actorflow.models.data.stage import EndOfSequence


def _text(value: Any) -> bytes:
    text = np.asarray(value, object)
    if text.ndim:
        raise InvalidArgumentError(f"The name of a reader is a scalar, but it has the shape {text.shape}.")
    name: bytes = text.item()
    return name


@kernel("FilePool")
@one_at_a_time
def file_pool(xp: Any, *, container: str, shared_name: str, ctx: KernelContext) -> FilePool:
    name = shared_name or ctx.node.name
    return ctx.resources.lookup_or_create(container, name, FilePool, lambda: FilePool(name))


@kernel("FilePoolBegin")
def file_pool_begin(xp: Any, pool: FilePool, names: Any, *, epochs: int, lease: float, seed: int) -> None:
    pool.begin(np.asarray(names, object).reshape(-1).tolist(), epochs, lease, seed)


@kernel("FilePoolTake")
async def file_pool_take(xp: Any, pool: FilePool, reader: Any, *, step: StepHandle) -> Any:
    try:
        return await pool.next(_text(reader), step)
    except EndOfSequence:
        raise OutOfRangeError(
            "All files are read.",
            hint=with_topic("All elements were taken: this is how an input ends.", "end-of-input"),
        ) from None


@kernel("FilePoolRenew")
async def file_pool_renew(xp: Any, pool: FilePool, reader: Any) -> Any:
    return np.bool_(pool.renew(_text(reader), asyncio.get_running_loop().time()))
