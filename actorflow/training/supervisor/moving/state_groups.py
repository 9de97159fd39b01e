"""`StateGroup`: variables that share a task because they have to, with all that is kept beside them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from actorflow.base.registry import opdef
from actorflow.cluster.master.node_states import keeps_state
from actorflow.engine.placement.groups import UnionFind, required
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node

_ITERATOR = "IteratorV2"
_UNKNOWN_BYTES = 8
"""A variable with a size that only the run knows counts as a number."""


@dataclass(frozen=True, slots=True)
class StateGroup:
    """Nodes that keep something and share a device.

    Args:
        names: the variables, and nodes with counters of random numbers or a place in a file.
        nbytes: of the variables.
        home: the device on which the group is.
        options: the devices on which it may be.
        fixed: why it stays, if it does: the nodes that keep it, with the reason.
    """

    names: tuple[str, ...]
    nbytes: int
    home: str
    options: tuple[str, ...]
    fixed: str = ""


def keepers(graph: Graph) -> list[str]:
    """The nodes that have a random counter or a place in a file or dataset."""
    return [node.name for node in graph.nodes.values() if keeps_state(node) or node.op == _ITERATOR]


def state_groups(
    graph: Graph, variables: Collection[str], placed: Mapping[str, str], devices: Sequence[DeviceSpec]
) -> list[StateGroup]:
    """The groups of a graph that keep something between steps.

    Args:
        variables: the nodes of the variables.
        placed: the device of each node that has a device.
        devices: those of the session.
    """
    nodes, groups = graph.nodes, UnionFind()
    for name, other, _ in required(nodes, nodes.values()):
        groups.join(name, other)
    moving = {name for name in (*variables, *keepers(graph)) if name in placed}
    fixed = {
        node.name for node in nodes.values() if node.name in placed and node.name not in moving and _is_fixed(node)
    }
    roots = {groups.find(name) for name in moving | fixed}
    members: dict[str, list[Node]] = {}
    for node in nodes.values():
        if (root := groups.find(node.name)) in roots:
            members.setdefault(root, []).append(node)
    return [_group(group, moving, fixed, placed, devices, variables) for group in members.values()]


def _is_fixed(node: Node) -> bool:
    """Whether a node has a table, a queue or another resource whose elements no move takes along."""
    definition = opdef.lookup(node.op)
    return definition.stateful and not node.inputs and any(attr.name == "shared_name" for attr in definition.attrs)


def _group(
    group: Sequence[Node],
    moving: Collection[str],
    fixed: Collection[str],
    placed: Mapping[str, str],
    devices: Sequence[DeviceSpec],
    variables: Collection[str],
) -> StateGroup:
    names = tuple(node.name for node in group if node.name in moving)
    resources = [node for node in group if node.name in fixed]
    home = DeviceSpec.parse(placed[names[0] if names else resources[0].name])
    nbytes = sum(_nbytes(node) for node in group if node.name in variables)
    requests = {DeviceSpec.parse(node.device) for node in group if node.device}
    pinned = next((node for node in group if DeviceSpec.parse(node.device).task is not None), None)
    alike = [device for device in devices if (device.kind, device.index) == (home.kind, home.index)]
    fitting = [device for device in alike if all(request.matches(device) for request in requests)]
    neighbours = [device for device in fitting if device.job == home.job]
    others = neighbours if any(device.task != home.task for device in neighbours) else fitting
    result = StateGroup(names, nbytes, str(home), tuple(map(str, others)))
    if resources:
        reason = f"{resources[0].name} ({resources[0].op}), whose elements belong to its task"
    elif pinned is not None:
        reason = f"{names[0]}, which asks for {pinned.device} by its number"
    else:
        return result
    return replace(result, options=(str(home),), fixed=reason)


def _nbytes(node: Node) -> int:
    shape = node.attrs.get("shape")
    dtype = node.attrs.get("dtype")
    if shape is None or None in tuple(shape) or dtype is None:
        return _UNKNOWN_BYTES
    size: int = math.prod(shape) * (getattr(dtype, "size", None) or _UNKNOWN_BYTES)
    return size
