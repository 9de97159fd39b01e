"""Feasible devices: those that meet what all nodes of a group ask for and have kernels for them (paper section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from actorflow.base.dtypes import DType
from actorflow.base.registry import kernel, opdef
from actorflow.errors import InvalidArgumentError, OpError, UnimplementedError, with_topic
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node


class Candidate(Protocol):
    """The facts that placement needs of a device, be it a device of this process or a record of another task's.

    It may say more: `budget`, the bytes that its tensors may take; `speed`, relative to a current core; `host`, anything that
    is equal for the tasks of one host; `cores`, how many its tasks share. And `asynchronous` is true if kernels are only
    launched, as on a GPU; each kernel, however short, then takes the device's own time and no core.
    """

    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> DeviceSpec: ...
    @property
    def type(self) -> str: ...


class Feasible(NamedTuple):
    """The devices for a group, best first. `relaxed` says what was asked for in vain; it is empty where all was met."""

    devices: tuple[str, ...]
    relaxed: str = ""


def types_of(node: Node, nodes: Mapping[str, Node]) -> tuple[DType, ...]:
    """The element types by which a node's kernel is chosen: its outputs', or its inputs' if it has no output."""
    return node.dtypes or tuple(nodes[e.node].dtypes[e.port] for e in node.inputs)


def feasible(
    group: Sequence[Node], types: Sequence[Sequence[DType]], devices: Sequence[Candidate], soft: bool = False
) -> Feasible:
    """The devices that may take a group, in their order.

    With `soft`, a constraint that nothing meets falls back to a device of the same task, then to any (TensorFlow's
    `allow_soft_placement`). State, and what reaches out of the process, is offered the devices of one task only: it is for
    the user to say which process keeps it.

    Raises:
        InvalidArgumentError: no device meets the constraints of a group; the message lists them with their lines.
        UnimplementedError: no kernel on the only devices that are allowed.
    """
    constraints = [DeviceSpec.parse(node.device) for node in group if node.device]
    available = [kernel.devices_of(node.op, dtypes) for node, dtypes in zip(group, types)]
    rungs = [constraints]
    if soft and constraints:
        rungs += [[DeviceSpec(c.job, c.replica, c.task) for c in constraints], []]
    for constraint_set in rungs:
        matching = [
            device
            for device in devices
            if all(c.matches(device.spec) for c in constraint_set)
            and all(kernel.includes(kinds, device.type) for kinds in available)
        ]
        if matching:
            break
    else:
        raise _refusal(group, types, constraints, devices)
    if len(matching) > 1 and any(is_bound(node) for node in group):
        first = matching[0].spec
        matching = [
            d for d in matching if (d.spec.job, d.spec.replica, d.spec.task) == (first.job, first.replica, first.task)
        ]
    text = (
        "" if constraint_set is constraints else ", ".join(dict.fromkeys(node.device for node in group if node.device))
    )
    return Feasible(tuple(device.name for device in matching), text)


def is_bound(node: Node) -> bool:
    """Whether a node keeps state or reaches out of its process. Random numbers don't: each node has its own counter."""
    definition = opdef.lookup(node.op)
    if not definition.stateful or node.op in ("NoOp", "ControlTrigger"):
        return False
    return any(d.kind == "R" for d in node.dtypes) or all(a.name != "seed" for a in definition.attrs)


def has_state(node: Node) -> bool:
    """Whether something is lost where a node goes to another device: what it keeps between runs, or its place in a row of random
    numbers."""
    if node.op in ("NoOp", "ControlTrigger"):
        return False
    return opdef.lookup(node.op).stateful or any(d.is_ref or d.kind == "R" for d in node.dtypes)


def able(group: Sequence[Node], nodes: Mapping[str, Node], devices: Sequence[Candidate]) -> list[Node]:
    """The members of a group for which the first device that all may share has kernels."""
    constraints = [DeviceSpec.parse(node.device) for node in group]
    first = next((d for d in devices if all(c.matches(d.spec) for c in constraints)), None)
    if first is None:
        return []
    kinds = {node.name: kernel.devices_of(node.op, types_of(node, nodes)) for node in group}
    return [node for node in group if kernel.includes(kinds[node.name], first.type)]


def _names(kinds: Sequence[str]) -> str:
    return ", ".join(kind for kind in kinds if not kind.startswith("-")) or "no device"


def _ways_to_more(devices: Sequence[Candidate], constraints: Sequence[DeviceSpec]) -> str:
    """How a program comes to more devices: a session of its own process opens them, those of a cluster are its tasks'."""
    if all(device.spec.job == "localhost" for device in devices):
        own = devices[0].spec
        if not all(DeviceSpec(a.job, a.replica, a.task).matches(own) for a in constraints):
            return "connect the session to the cluster that has the task: Session(target)"
        return "open the session with more devices: Session(devices={'CPU': 2})"
    return "start the cluster with the jobs, tasks and devices that they name"


def _refusal(
    group: Sequence[Node],
    types: Sequence[Sequence[DType]],
    constraints: Sequence[DeviceSpec],
    devices: Sequence[Candidate],
) -> OpError:
    """Why no device can take a group."""
    fitting = [d for d in devices if all(c.matches(d.spec) for c in constraints)]
    if not fitting:
        return InvalidArgumentError(
            f"No device fits {'what is asked for' if len(group) == 1 else 'all of a group that must share one'}.",
            node=group[0].name,
            op=group[0].op,
            where=group[0].where,
            details=[
                *(f"{n.name} asks for {n.device}, made at {n.where}" for n in group if n.device),
                "there are: " + ", ".join(d.name for d in devices),
            ],
            hint=with_topic(
                f"Change the af.device(...) scopes, or {_ways_to_more(devices, constraints)}.", "no-device-fits"
            ),
        )
    available = [kernel.devices_of(node.op, dtypes) for node, dtypes in zip(group, types)]
    first = fitting[0].type
    at = next((i for i, kinds in enumerate(available) if not kernel.includes(kinds, first)), 0)
    lacking = group[at]
    registered = kernel.devices_of(lacking.op)
    if kernel.includes(registered, first):  # it takes other types
        try:
            kernel.lookup(lacking.op, first, types[at])
        except UnimplementedError as error:
            return error.located(node=lacking.name, op=lacking.op, device=fitting[0].name, where=lacking.where)
    return UnimplementedError(
        f"Op {lacking.op} has no kernel for {fitting[0].type}; it has kernels for: {_names(registered)}.",
        node=lacking.name,
        op=lacking.op,
        device=fitting[0].name,
        where=lacking.where,
        hint=with_topic(
            "Place it on such a device with af.device(...), or register a kernel with @kernel(...).", "no-kernel"
        ),
    )
