"""The values of a checkpoint at one instant, and their way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from actorflow.engine.formats.base import SavedTensor
from actorflow.engine.formats.regions import TensorRegion
from actorflow.engine.runtime.context import KernelContext, NodeContexts
from actorflow.engine.runtime.state.resources import ResourceManager, one_at_a_time
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.engine.runtime.threads import WriteInProgress
from actorflow.errors import FailedPreconditionError

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class SnapshotVariable:
    """A variable of the session: its name in the checkpoint, its state and its device. For a slice, `region` is its part of the
    checkpoint's tensor of that name."""

    key: str
    state: VariableState
    device: str
    region: TensorRegion | None = None


class Snapshot(NamedTuple):
    """The values that were taken, by device, with the global step, and whether the state of nodes and readers is in
    it."""

    groups: Mapping[str, Sequence[SavedTensor]]
    step: int | None
    has_state: bool


def targets(
    ctx: KernelContext, keys: Sequence[str], handles: Sequence[str], slices: Sequence[str]
) -> list[SnapshotVariable]:
    """The variables behind the nodes `handles`, which have run. `slices` is empty where none is a slice."""
    variables = []
    for key, handle, part in zip(keys, handles, slices or [""] * len(keys), strict=True):
        context = ctx.nodes.get(handle)
        if context is None:
            raise FailedPreconditionError(
                f"The variable {handle!r} is none of this task.",
                hint="Let the node of the variable run before, as a control input.",
            )
        attrs = context.node.attrs
        name = attrs["shared_name"] or context.node.name
        state = context.resources.lookup(attrs["container"], name, VariableState)
        variables.append(SnapshotVariable(key, state, context.device.name, TensorRegion.parse(part)))
    return variables


async def at_one_instant(states: Iterable[VariableState], act: Callable[[], R]) -> R:
    """Calls `act` when no kernel on another thread touches any of `states`. Kernels on the event loop run to their ends, so
    none is midway either."""
    act = one_at_a_time(act)
    states = list(states)
    if all(state.writer is None for state in states):
        return act()
    held: list[WriteInProgress] = []
    try:
        for state in sorted(states, key=id):  # all who hold several do so in this order
            while (writer := state.writer) is not None:
                await _end_of(writer)
            held.append(WriteInProgress([state]))
        return act()
    finally:
        for writing in held:
            writing.end()


async def _end_of(writer: WriteInProgress) -> None:
    loop = asyncio.get_running_loop()
    over = loop.create_future()

    def wake() -> None:
        if not over.done():
            over.set_result(None)

    def wake_from_thread() -> None:
        try:
            loop.call_soon_threadsafe(wake)
        except RuntimeError:
            pass  # the loop is closed: no one waits any more

    writer.when_over(wake_from_thread)
    await over


def taken(variables: Sequence[SnapshotVariable], ctx: KernelContext, state: bool) -> dict[str, list[SavedTensor]]:
    """All that a checkpoint keeps, by device. The values are snapshots; nothing is copied.

    Raises:
        FailedPreconditionError: variables have no value; all are named.
    """
    empty = [target.key for target in variables if not target.state.initialized]
    if empty:
        raise FailedPreconditionError(
            f"{len(empty)} variables have no value to be saved: {', '.join(empty)}.",
            hint="Run their initializers first, or leave them out of the saver's var_list.",
        )
    groups: dict[str, list[SavedTensor]] = {}
    for target in variables:
        value = SavedTensor(target.key, "variable", target.state.on_host(), target.region)
        groups.setdefault(target.device, []).append(value)
    if state:
        groups.setdefault(ctx.device.name, []).extend(states_of(ctx.nodes))
    return groups


def states_of(nodes: NodeContexts) -> list[SavedTensor]:
    """The states that nodes and readers of a task keep between runs."""
    kept = {name: values for name, context in list(nodes.items()) if (values := _kept(context.state))}
    left = {name: values for name, values in nodes.restored.items() if name not in kept}
    tensors = [
        SavedTensor(f"{node}:{key}", kind, value)
        for kind, states in (("left node", left), ("node", kept))
        for node, values in states.items()
        for key, value in values.items()
    ]
    places: dict[tuple[str, str, str], tuple[str, bytes]] = {}
    managers = _managers(nodes)
    for manager in managers:
        places.update({key: ("left resource", place) for key, place in manager.resuming.items()})
    for manager in managers:
        places.update(
            {key: ("resource", resource.state()) for key, resource in manager.resumable(nodes.holder).items()}
        )
    for (container, what, name), (kind, place) in places.items():
        value = np.empty((), object)
        value[()] = place
        tensors.append(SavedTensor(f"{container}:{what}:{name}", kind, value))
    return tensors


def _kept(state: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a kernel's state that a checkpoint keeps."""
    return {
        key: value
        for key, value in state.copy().items()  # type: ignore[attr-defined]
        if type(value) is int or isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc"
    }


def _managers(nodes: NodeContexts) -> list[ResourceManager]:
    return list({id(context.resources): context.resources for context in list(nodes.values())}.values())


def put_back(
    nodes: NodeContexts,
    kept: Mapping[str, Mapping[str, Any]],
    places: Mapping[tuple[str, str, str], bytes],
) -> None:
    """Brings nodes and resources back to their saved states. Those that the checkpoint does not know begin again."""
    nodes.restored = {name: dict(values) for name, values in kept.items()}
    for name, context in list(nodes.items()):
        for key in _kept(context.state):
            del context.state[key]
        nodes.resume(name)
    for manager in _managers(nodes):
        manager.resume(places, nodes.holder)
