"""Kernels of Save and Restore. Values are taken and put back on the event loop; files are written and read on a thread."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.process import machine
from actorflow.base.records.roots import check
from actorflow.base.registry.kernel import kernel
from actorflow.engine.formats import installed
from actorflow.engine.formats.base import ReadRequest, SavedTensor
from actorflow.engine.formats.compare import RestoreRequest, compare
from actorflow.engine.formats.regions import TensorRegion
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.diagnostics.waits import at_work
from actorflow.errors import (
    CancelledError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    PermissionDeniedError,
)

from . import copies as copies  # more kernels
from .snapshot import Snapshot, SnapshotVariable, at_one_instant, put_back, taken, targets
from .stores.store import locate, read_all

R = TypeVar("R")
_TAKEN = "taken"
_MAX_NONCE = 1 << 10


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
        if any(_is_below(prefix, root.rstrip("/")) for root in roots):
            return prefix
        raise PermissionDeniedError(
            f"Nodes of this process may touch files below some folders only, but not {prefix!r}.",
            hint="Allow the URL of a folder as one of them.",
        )
    return check(prefix, roots)


def _is_below(url: str, root: str) -> bool:
    """Whether a URL leads to what is below the folder `root`, another URL. They are compared as texts, so a URL that goes up,
    or leads through another URL (`a::b`, as `fsspec` chains URLs), is not."""
    rest = url.removeprefix(f"{root}/")
    plain = unquote(rest)  # a store may read %2e%2e as ..
    return "://" in root and rest != url and ".." not in plain.split("/") and "::" not in plain


async def _on_thread(step: StepHandle, what: str, work: Callable[[Callable[[], None]], R]) -> R:
    """Calls `work(check)` on a thread and waits for its end, also when the step is stopped; `check` raises then. `what` says what
    it does."""
    stopped, breathe = threading.Event(), machine.breather()

    def still_wanted() -> None:
        breathe()
        if stopped.is_set():
            raise CancelledError("The step was stopped while a checkpoint was written or read.")

    forget = step.on_cancel(stopped.set, at_work(what))
    try:
        return await machine.on_thread(work, still_wanted)
    finally:
        forget()


@kernel("TakeVariables")
async def take_variables(
    xp: Any,
    *,
    keys: Sequence[str],
    handles: Sequence[str],
    step_key: str,
    state: bool,
    slices: Sequence[str] = (),
    ctx: KernelContext,
) -> None:
    variables = targets(ctx, keys, handles, slices)
    ctx.state.pop(_TAKEN, None)
    groups = await at_one_instant((t.state for t in variables), lambda: taken(variables, ctx, state))
    steps = [int(tensor.value) for group in groups.values() for tensor in group if tensor.name == step_key]
    ctx.state[_TAKEN] = Snapshot(groups, steps[0] if steps else None, state)
    for tell in list(ctx.nodes.after_snapshot):
        tell()


@kernel("SaveVariables")
async def save_variables(
    xp: Any, prefix: Any, *, taken: str, format: str, ctx: KernelContext, step: StepHandle
) -> bytes:
    context = ctx.nodes.get(taken)
    snapshot: Snapshot | None = None if context is None else context.state.pop(_TAKEN, None)
    where = _allowed(_text(prefix), ctx)
    if snapshot is None:
        raise FailedPreconditionError(
            f"The node {taken!r} has taken no values since the last save, so there is nothing to be written.",
            hint="Run it before, in the same session; Saver.save does so.",
        )
    written = installed.find(format)

    def write(still_wanted: Callable[[], None]) -> bytes:
        part = written.write(
            where, snapshot.groups, global_step=snapshot.step, state=snapshot.has_state, check=still_wanted
        )
        try:
            still_wanted()
        except CancelledError:
            written.discard(where, part)
            raise
        return part

    # Training goes on meanwhile, and is not to wait for a processor.
    return await _on_thread(
        step, f"writes its part of {where!r}", lambda still_wanted: machine.in_background(lambda: write(still_wanted))
    )


@kernel("CommitCheckpoint")
async def commit_checkpoint(
    xp: Any, prefix: Any, parts: Sequence[Any], *, format: str, ctx: KernelContext, step: StepHandle
) -> bytes:
    where = _allowed(_text(prefix), ctx)
    written = [np.asarray(part, object).item() for part in parts]
    committed = installed.find(format)

    def commit(still_wanted: Callable[[], None]) -> None:
        committed.commit(where, written, still_wanted)
        installed.remove_others(where, format)

    await _on_thread(step, f"writes the manifest of {where!r}", commit)
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
    slices: Sequence[str] = (),
    ctx: KernelContext,
    step: StepHandle,
) -> None:
    where = _allowed(_text(prefix), ctx)
    variables = targets(ctx, keys, handles, slices)
    requests = [
        RestoreRequest(
            t.key, t.state.dtype, t.state.shape if t.region is None else t.region.whole, t.region is not None
        )
        for t in variables
    ]

    def read(still_wanted: Callable[[], None]) -> tuple[list[Any], Any]:
        reader = installed.of(where).open(where)
        compare(reader.prefix, reader.variables(), requests, reshape=reshape).refuse()
        buffers: list[Any] = []

        def part_of(target: SnapshotVariable) -> ReadRequest:
            def buffer(stored: Any, shape: tuple[int, ...]) -> Any:
                own: Any = target.state.shape if reshape and target.state.shape is not None else shape
                buffers.append(target.state.buffer(own))
                return buffers[-1].reshape(shape)

            return ReadRequest(target.key, target.region, buffer)

        states = reader.states() if state and reader.has_state else None
        reader.load([part_of(target) for target in variables], still_wanted)
        return buffers, states

    values, states = await _on_thread(step, f"reads the checkpoint {where!r}", read)

    def put() -> None:
        for target, value in zip(variables, values):
            target.state.adopt(value)
        if states is not None:
            put_back(ctx.nodes, *states)

    await at_one_instant((t.state for t in variables), put)


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
    regions = [TensorRegion.parse(spec) for spec in _texts(shape_and_slices)]
    if not len(names) == len(regions) == len(tensors):
        raise InvalidArgumentError(
            f"{len(tensors)} tensors can't be saved under {len(names)} names with {len(regions)} slices."
        )
    for name, region, tensor in zip(names, regions, tensors):
        if region is not None and region.shape != np.shape(tensor):
            raise InvalidArgumentError(f"A tensor of shape {np.shape(tensor)} can't be the part {region} of {name!r}.")

    def write(still_wanted: Callable[[], None]) -> None:
        written = installed.find(installed.BUNDLE)
        group = [SavedTensor(key, "variable", value, region) for key, value, region in zip(names, tensors, regions)]
        part = written.write(where, {ctx.device.name: group}, global_step=None, state=False, check=still_wanted)
        written.commit(where, [part], still_wanted)

    await _on_thread(step, f"writes the checkpoint {where!r}", write)


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
    regions = [TensorRegion.parse(spec) for spec in _texts(shape_and_slices)]
    if not len(names) == len(regions) == len(dtypes):
        raise InvalidArgumentError(
            f"{len(dtypes)} tensors can't be restored from {len(names)} names with {len(regions)} slices."
        )

    def read(still_wanted: Callable[[], None]) -> list[Any]:
        reader = installed.of(where).open(where)
        requests = [
            RestoreRequest(name, dtype, None if region is None else region.whole, region is not None)
            for name, dtype, region in zip(names, dtypes, regions)
        ]
        compare(reader.prefix, reader.variables(), requests).refuse()
        return reader.load([ReadRequest(name, region) for name, region in zip(names, regions)], still_wanted)

    values = [
        value if value.ndim else value[()] for value in await _on_thread(step, f"reads the checkpoint {where!r}", read)
    ]
    return values[0] if len(values) == 1 else tuple(values)


@kernel("ReadNonce")
async def read_nonce(xp: Any, path: Any, *, ctx: KernelContext, step: StepHandle) -> bytes:
    def read(still_wanted: Callable[[], None]) -> dict[str, str | None]:
        still_wanted()
        try:
            content = read_all(*locate(_allowed(_text(path), ctx)), _MAX_NONCE)
            return {"value": content.decode("ascii", "replace"), "kind": "", "message": ""}
        except OpError as error:
            return {"value": None, "kind": type(error).__name__, "message": error.message}

    return json.dumps({"host": machine.host(), **await _on_thread(step, f"reads {_text(path)!r}", read)}).encode()
