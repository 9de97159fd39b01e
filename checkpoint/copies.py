"""Kernels of the copies that tasks keep of variables: taken at one instant, kept by the number of a step, given and adopted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgpack
import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.engine.formats.base import SavedTensor
from actorflow.engine.runtime.context import KernelContext
from actorflow.engine.runtime.state.kept_copies import NAME, CopiesPart, KeptCopies
from actorflow.errors import FailedPreconditionError

from .snapshot import at_one_instant, put_back, states_of, targets


@kernel("TakeCopies")
async def take_copies(
    xp: Any, *, handles: Sequence[str], dtypes: Sequence[Any], state: bool, away: Sequence[str], ctx: KernelContext
) -> Any:
    variables = targets(ctx, handles, handles, ())
    if empty := [target.key for target in variables if not target.state.initialized]:
        raise FailedPreconditionError(
            f"{len(empty)} variables have no value to be copied: {', '.join(empty)}.",
            hint="Run their initializers first.",
        )

    def take() -> Any:
        values = [target.state.on_host() for target in variables]
        return _outputs(values, encode_states(states_of(ctx.nodes), away) if state else b"")

    return await at_one_instant((target.state for target in variables), take)


@kernel("KeepCopies")
def keep_copies(
    xp: Any,
    stamps: Any,
    state: Any,
    values: Sequence[Any],
    *,
    owner: str,
    part: str,
    keys: Sequence[str],
    own: bool,
    ctx: KernelContext,
) -> None:
    stamp, complete = (int(number) for number in stamps)
    kept = values if own else [_copied(value, ctx) for value in values]
    content = CopiesPart(dict(zip(keys, kept, strict=True)), bytes(np.asarray(state, object).item()))
    _copies(ctx).keep(owner, stamp, complete, part, content)


@kernel("GiveCopies")
def give_copies(
    xp: Any,
    stamp: Any,
    *,
    owner: str,
    part: str,
    keys: Sequence[str],
    dtypes: Sequence[Any],
    ctx: KernelContext,
) -> Any:
    content = _copies(ctx).give(owner, int(stamp), part)
    return _outputs([content.values[key] for key in keys], content.state)


@kernel("AdoptCopies")
async def adopt_copies(xp: Any, values: Sequence[Any], *, handles: Sequence[str], ctx: KernelContext) -> None:
    variables = targets(ctx, handles, handles, ())
    encoded = [content for state in values[len(handles) :] if (content := np.asarray(state, object).item())]
    buffers = []
    for target, value in zip(variables, values):
        buffer = target.state.buffer(np.shape(value))
        np.copyto(buffer, value)
        buffers.append(buffer)

    def put() -> None:
        for target, buffer in zip(variables, buffers):
            target.state.adopt(buffer)
        if encoded:
            put_back(ctx.nodes, *decode_states(encoded))

    await at_one_instant((target.state for target in variables), put)


def _copies(ctx: KernelContext) -> KeptCopies:
    return ctx.resources.lookup_or_create("", NAME, KeptCopies, KeptCopies)


def _outputs(values: Sequence[Any], state: bytes) -> Any:
    """The outputs of a kernel: the values and the state as a text, or the text alone without values."""
    text = np.empty((), object)
    text[()] = state
    return (*values, text) if values else text


def _copied(value: Any, ctx: KernelContext) -> Any:
    """A copy in memory of the device: the value itself may be in memory that its sender uses again."""
    array = np.asarray(value)
    if array.dtype.hasobject:
        return array.copy()
    copy = ctx.device.allocator.allocate(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy


def encode_states(states: Sequence[SavedTensor], away: Collection[str] = ()) -> bytes:
    """The state of nodes and readers, as bytes. That of the nodes `away` yields to what their present tasks have."""
    rows = []
    for tensor in states:
        node = tensor.name.split(":", 2)[2] if tensor.kind.endswith("resource") else tensor.name.rpartition(":")[0]
        kind = f"left {tensor.kind}" if node in away and not tensor.kind.startswith("left ") else tensor.kind
        value = np.asarray(tensor.value)
        content = value.item() if value.dtype.hasobject else value.tobytes()
        rows.append([kind, tensor.name, value.dtype.str, value.shape, content])
    packed: bytes = msgpack.packb(rows)
    return packed


def decode_states(
    encoded: Sequence[bytes],
) -> tuple[dict[str, dict[str, Any]], dict[tuple[str, str, str], bytes]]:
    """The state of nodes and readers of several tasks, as `put_back` takes it. State that a task only knows from a restore
    yields to that of the task that has the node."""
    nodes: dict[str, dict[str, Any]] = {}
    resources: dict[tuple[str, str, str], bytes] = {}
    rows = [row for content in encoded for row in msgpack.unpackb(content)]
    for kind, name, dtype, shape, content in sorted(rows, key=lambda row: not row[0].startswith("left ")):
        if kind.endswith("node"):
            value = np.frombuffer(content, dtype).reshape(shape).copy()
            whole = value.ndim == 0 and value.dtype.kind == "i"
            node, _, key = name.rpartition(":")
            nodes.setdefault(node, {})[key] = value.item() if whole else value
        else:
            container, what, resource = name.split(":", 2)
            resources[container, what, resource] = content
    return nodes, resources
