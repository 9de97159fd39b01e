"""Kernels of Save and Restore. Values are taken and put back on the event loop; files are written and read on a thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import numpy as np

from actorflow.dtypes import DType
from actorflow.errors import CancelledError, InvalidArgumentError, PermissionDeniedError, UnimplementedError
from actorflow.records.roots import check
from actorflow.registry.kernel import kernel
from actorflow.runtime.context import KernelContext, StepHandle

from .compare import Wanted, compare
from .layout import piece
from .manifest import Entry, decode, encode, merged
from .reading import Reader
from .snapshot import at_one_instant, pieces, put_back, taken, targets
from .store import Store, locate
from .writing import commit, write_shards

R = TypeVar("R")


def _text(value: Any) -> str:
    return os.fsdecode(np.asarray(value, object).item())


def _texts(value: Any) -> list[str]:
    return [os.fsdecode(item) for item in np.asarray(value, object).reshape(-1)]


def _allowed(prefix: str, ctx: KernelContext) -> str:
    """`prefix`, if nodes may touch files there. Raises PermissionDeniedError where not."""
    roots = ctx.resources.file_roots
    if roots is None:
        return prefix
    if "://" in prefix:
        raise PermissionDeniedError(
            f"Nodes of this process may touch files below some folders only, but not {prefix!r}."
        )
    return check(prefix, roots)


async def _on_thread(step: StepHandle, work: Callable[[Callable[[], None]], R]) -> R:
    """Calls `work(check)` on a thread and waits for its end, also when the step is stopped; `check` raises then."""
    stopped = threading.Event()

    def still_wanted() -> None:
        if stopped.is_set():
            raise CancelledError("The step was stopped while a checkpoint was written or read.")

    forget = step.on_cancel(stopped.set)
    try:
        return await anyio.to_thread.run_sync(work, still_wanted)
    finally:
        forget()


@kernel("SaveVariables")
async def save_variables(
    xp: Any,
    prefix: Any,
    *,
    keys: Sequence[str],
    handles: Sequence[str],
    step_key: str,
    state: bool,
    ctx: KernelContext,
    step: StepHandle,
) -> bytes:
    where = _allowed(_text(prefix), ctx)
    found = targets(ctx, keys, handles)
    groups = await at_one_instant((t.state for t in found), lambda: taken(found, ctx, state))
    for tell in list(ctx.nodes.after_snapshot):
        tell()
    values = [value for group in groups.values() for name, _, value in group if name == step_key]

    def write(still_wanted: Callable[[], None]) -> bytes:
        store, name = locate(where)
        number = int(values[0]) if values else None
        made = write_shards(store, name, pieces(groups), global_step=number, state=state, check=still_wanted)
        return encode(made)

    return await _on_thread(step, write)


@kernel("CommitCheckpoint")
async def commit_checkpoint(
    xp: Any, prefix: Any, parts: Sequence[Any], *, ctx: KernelContext, step: StepHandle
) -> bytes:
    where = _allowed(_text(prefix), ctx)
    written = [np.asarray(part, object).item() for part in parts]

    def write(still_wanted: Callable[[], None]) -> None:
        manifest = merged([decode(part, "a part of a save") for part in written])
        still_wanted()
        commit(*locate(where), manifest)

    await _on_thread(step, write)
    return os.fsencode(where)


@kernel("RestoreVariables")
async def restore_variables(
    xp: Any,
    prefix: Any,
    *,
    keys: Sequence[str],
    handles: Sequence[str],
    state: bool,
    reshape: bool,
    ctx: KernelContext,
    step: StepHandle,
) -> None:
    where = _allowed(_text(prefix), ctx)
    found = targets(ctx, keys, handles)
    wanted = [Wanted(t.key, t.state.dtype, t.state.shape) for t in found]

    def read(still_wanted: Callable[[], None]) -> tuple[list[Any], Any]:
        reader = Reader(where)
        compare(reader.prefix, reader.manifest.variables(), wanted, reshape=reshape).refuse()
        buffers = {}
        for target, entry in zip(found, reader.entries(keys)):
            shape: Any = target.state.shape if reshape and target.state.shape is not None else entry.shape
            buffers[entry.name] = target.state.buffer(shape)

        def buffer_of(entry: Entry) -> Any:
            return buffers[entry.name].reshape(entry.shape)

        states = reader.states() if state and reader.manifest.state else None
        reader.read(reader.entries(keys), buffer_of, still_wanted)
        return [buffers[key] for key in keys], states

    values, states = await _on_thread(step, read)

    def put() -> None:
        for target, value in zip(found, values):
            target.state.adopt(value)
        if states is not None:
            put_back(ctx.nodes, *states)

    await at_one_instant((t.state for t in found), put)


def _no_slices(slices: Any) -> None:
    if any(_texts(slices)):
        raise UnimplementedError("Slices of variables are not saved or restored; give empty shape_and_slices.")


@kernel("SaveV2")
async def save_v2(
    xp: Any,
    prefix: Any,
    tensor_names: Any,
    shape_and_slices: Any,
    tensors: Sequence[Any],
    *,
    ctx: KernelContext,
    step: StepHandle,
) -> None:
    where, names = _allowed(_text(prefix), ctx), _texts(tensor_names)
    _no_slices(shape_and_slices)
    if len(names) != len(tensors):
        raise InvalidArgumentError(f"{len(tensors)} tensors can't be saved under {len(names)} names.")

    def write(still_wanted: Callable[[], None]) -> None:
        store: Store
        store, name = locate(where)
        group = [piece(key, "variable", value) for key, value in zip(names, tensors)]
        commit(store, name, write_shards(store, name, {ctx.device.name: group}, check=still_wanted))

    await _on_thread(step, write)


@kernel("RestoreV2")
async def restore_v2(
    xp: Any,
    prefix: Any,
    tensor_names: Any,
    shape_and_slices: Any,
    *,
    dtypes: Sequence[DType],
    ctx: KernelContext,
    step: StepHandle,
) -> Any:
    where, names = _allowed(_text(prefix), ctx), _texts(tensor_names)
    _no_slices(shape_and_slices)
    if len(names) != len(dtypes):
        raise InvalidArgumentError(f"{len(dtypes)} tensors can't be restored from {len(names)} names.")

    def read(still_wanted: Callable[[], None]) -> list[Any]:
        reader = Reader(where)
        wanted = [Wanted(name, dtype, None) for name, dtype in zip(names, dtypes)]
        compare(reader.prefix, reader.manifest.variables(), wanted).refuse()
        return reader.read(reader.entries(names), check=still_wanted)

    values = [value if value.ndim else value[()] for value in await _on_thread(step, read)]
    return values[0] if len(values) == 1 else tuple(values)
