"""Groups: nodes that share a device because they have to, or because it costs nothing (paper section 4.3).

A node that is colocated, or that refers to a variable or to a queue, has no choice. A node that merely prefers company
(`affinity.py`) is attached if this leaves a choice of devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from actorflow.base.registry import opdef
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.node import Node

Joint = tuple[str, str, str]
"""A node, another, and the words between their names that say why they share a device."""
COLOCATED = "is colocated with"
REFERS = "refers to"


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


def required(nodes: Mapping[str, Node], some: Iterable[Node]) -> Iterator[Joint]:
    """Why nodes of `some` have to share a device with others: they are colocated, or a reference passes between them.

    A variable's handle is a reference, and so is that of a queue or a reader: its state is in the memory of its device.
    """
    takes: dict[str, bool] = {}
    for node in yielding(some):
        for other in node.colocate:
            yield node.name, other, COLOCATED
        if not node.inputs:
            continue
        refers = takes.get(node.op)
        if refers is None:
            refers = takes[node.op] = _takes_references(opdef.lookup(node.op))
        if refers or node.dtypes and (node.dtypes[0].is_ref or node.dtypes[0].kind == "R"):
            for tensor_id in node.inputs:
                source = nodes[tensor_id.node]
                dtype = source.dtypes[tensor_id.port]
                if dtype.is_ref or dtype.kind == "R":
                    yield node.name, source.name, REFERS


def _takes_references(definition: opdef.OpDef) -> bool:
    return any(i.kind == "ref" or any(dtype.kind == "R" for dtype in i.allowed) for i in definition.inputs)


class Choices:
    """For each group the devices that are left to it, in the order of preference."""

    def __init__(self, groups: UnionFind, options: dict[str, Sequence[str]], placed: Mapping[str, str]) -> None:
        self.groups = groups
        self._options = options
        self._known = placed

    def of(self, name: str) -> Sequence[str]:
        """The names of the devices that are left to the group of `name`; none if the node can't be placed at all."""
        options = self._options.get(self.groups.find(name))
        if options is not None:
            return options
        device = self._known.get(name)
        return () if device is None else (device,)

    def follow(self, follower: str, leader: str) -> bool:
        """Puts `follower` into the group of `leader`, unless that would take a device from the leader."""
        there = self.of(leader)
        here = self.of(follower)
        if not there or any(device not in here for device in there):
            return False
        return self._join(follower, leader, there)

    def share(self, left: str, right: str) -> bool:
        """Makes one group of both, unless no device would be left to it."""
        here = self.of(right)
        return self._join(left, right, [device for device in self.of(left) if device in here])

    def _join(self, left: str, right: str, left_over: Sequence[str]) -> bool:
        left_root, other = self.groups.find(left), self.groups.find(right)
        if left_root == other or not left_over:
            return False
        self.groups.join(left_root, other)
        self._options[self.groups.find(left_root)] = left_over
        return True
