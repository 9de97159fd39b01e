"""Placement: a device for each node of the whole graph, once and for good (paper sections 3.2.1 and 4.3).

Here constraints alone decide: what must share a device is joined by union-find, the constraints of a group are merged,
and the first device that meets them and has kernels for all members takes the group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorflow.device.base import Device
from actorflow.device.spec import DeviceSpec
from actorflow.dtypes import DType
from actorflow.errors import InvalidArgumentError, OpError, UnimplementedError
from actorflow.graph.node import Node
from actorflow.passes.pace import paced
from actorflow.registry import kernel, opdef


class UnionFind:
    """Disjoint groups of names, joined in nearly constant time."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def find(self, name: str) -> str:
        """The representative of the group of `name`."""
        parent = self._parent
        root = name
        while (above := parent.get(root, root)) != root:
            root = above
        while (above := parent.get(name, name)) != root:
            parent[name] = root
            name = above
        return root

    def join(self, left: str, right: str) -> None:
        self._parent[self.find(left)] = self.find(right)


def place(
    nodes: Mapping[str, Node],
    devices: Sequence[Device],
    known: Mapping[str, str],
    refused: dict[str, OpError] | None = None,
) -> dict[str, str]:
    """The full device name of each node. Those in `known` stay where they are, and so does what must be with them.

    With `refused`, a node that can't be placed is left out and its error is put there, for a run that needs the node;
    the rest of the graph works all the same.

    Raises:
        InvalidArgumentError: no device meets the constraints of a group; the message lists them with their lines.
        UnimplementedError: no kernel on the only devices that are allowed.
    """
    groups = UnionFind()
    fresh = [node for node in nodes.values() if node.name not in known]
    for node in paced(fresh):
        for other in node.colocate:
            groups.join(node.name, other)
        if node.inputs and (opdef.lookup(node.op).has_ref_input or node.dtypes and node.dtypes[0].is_ref):
            for endpoint in node.inputs:
                source = nodes[endpoint.node]
                if source.dtypes[endpoint.port].is_ref:
                    groups.join(node.name, source.name)
    placed = dict(known)
    decided: dict[str, str] = {}
    apart: dict[str, tuple[str, str]] = {}
    for name, device in known.items():
        if decided.setdefault(root := groups.find(name), device) != device:
            apart[root] = (decided[root], device)
    alone: dict[tuple[str, str, tuple[DType, ...]], str] = {}
    members: dict[str, list[Node]] = {}
    for node in paced(fresh):
        members.setdefault(groups.find(node.name), []).append(node)
    for root, group in paced(members.items()):
        try:
            if root in apart:
                raise _torn(group[0], *apart[root])
            if root in decided:
                device = decided[root]
            elif len(group) == 1:
                types = _types(group[0], nodes)
                key = (group[0].op, group[0].device, types)
                device = alone.get(key) or _choose(group, [types], devices)
                alone[key] = device
            else:
                device = _choose(group, [_types(node, nodes) for node in group], devices)
        except OpError as error:
            if refused is None:
                raise
            able = _able(group, nodes, devices) if isinstance(error, UnimplementedError) else []
            if not able:
                refused.update(dict.fromkeys((node.name for node in group), error))
                continue
            refused.update(dict.fromkeys((node.name for node in group if node not in able), error))
            group = able
            device = _choose(able, [_types(node, nodes) for node in able], devices)
        for node in group:
            conflict = _conflict(node, device) if root in decided else None
            if conflict is None:
                placed[node.name] = device
            elif refused is None:
                raise conflict
            else:
                refused[node.name] = conflict
    return placed


def _types(node: Node, nodes: Mapping[str, Node]) -> tuple[DType, ...]:
    """The element types by which a node's kernel is chosen: its outputs', or its inputs' where it has no output."""
    return node.dtypes or tuple(nodes[e.node].dtypes[e.port] for e in node.inputs)


def _choose(group: Sequence[Node], types: Sequence[Sequence[DType]], devices: Sequence[Device]) -> str:
    constraints = [DeviceSpec.parse(node.device) for node in group]
    fitting = [d for d in devices if all(c.matches(d.spec) for c in constraints)]
    if not fitting:
        raise InvalidArgumentError(
            f"No device fits {'what is asked for' if len(group) == 1 else 'all of a group that must share one'}.",
            node=group[0].name,
            op=group[0].op,
            where=group[0].where,
            details=[
                *(f"{n.name} asks for {n.device}, made at {n.where}" for n in group if n.device),
                "there are: " + ", ".join(d.name for d in devices),
            ],
            hint="Change the af.device(...) scopes, or open the session with more devices: Session(devices={'CPU': 2}).",
        )
    available = [kernel.devices_of(node.op, dtypes) for node, dtypes in zip(group, types)]
    for device in fitting:
        if all(device.type in kinds or kernel.ANY_DEVICE in kinds for kinds in available):
            return device.name
    first = fitting[0].type
    at = next((i for i, kinds in enumerate(available) if kernel.ANY_DEVICE not in kinds and first not in kinds), 0)
    lacking = group[at]
    registered = kernel.devices_of(lacking.op)
    if first in registered or kernel.ANY_DEVICE in registered:  # it takes other types
        try:
            kernel.lookup(lacking.op, first, types[at])
        except UnimplementedError as error:
            raise error.located(node=lacking.name, op=lacking.op, device=fitting[0].name, where=lacking.where) from None
    raise UnimplementedError(
        f"Op {lacking.op} has no kernel for {fitting[0].type}; it has kernels for: {', '.join(registered) or 'no device'}.",
        node=lacking.name,
        op=lacking.op,
        device=fitting[0].name,
        where=lacking.where,
        hint="Place it on such a device with af.device(...), or register a kernel with @kernel(...).",
    )


def _able(group: Sequence[Node], nodes: Mapping[str, Node], devices: Sequence[Device]) -> list[Node]:
    """The members of a group for which the first device that all may share has kernels."""
    constraints = [DeviceSpec.parse(node.device) for node in group]
    first = next((d for d in devices if all(c.matches(d.spec) for c in constraints)), None)
    if first is None:
        return []
    kinds = {node.name: kernel.devices_of(node.op, _types(node, nodes)) for node in group}
    return [node for node in group if first.type in kinds[node.name] or kernel.ANY_DEVICE in kinds[node.name]]


def _torn(node: Node, one: str, other: str) -> OpError:
    return InvalidArgumentError(
        f"It must be with what lives on {one} and with what lives on {other}.",
        node=node.name,
        op=node.op,
        where=node.where,
        details=[f"colocated with {name}" for name in node.colocate],
    )


def _conflict(node: Node, device: str) -> OpError | None:
    """What is wrong where `node` must be with something that is on `device` already."""
    if DeviceSpec.parse(node.device).matches(DeviceSpec.parse(device)):
        return None
    return InvalidArgumentError(
        f"It asks for {node.device}, but must be with a variable that lives on {device} already.",
        node=node.name,
        op=node.op,
        where=node.where,
    )
