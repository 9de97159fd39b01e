"""The race lint: reads and writes of one variable that nothing orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from actorflow.graph.node import Node, Where
from actorflow.registry import opdef

_COMMUTING = (
    frozenset(("AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "ScatterAdd", "ScatterSub")),
    frozenset(("AssignMul", "AssignMulVariableOp", "AssignDiv", "AssignDivVariableOp")),
)


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses of one variable, at least one of them a write, that may happen in either order.

    Where an access is the read that all uses of a variable share, `users` has the first node that uses it, by its name.
    """

    variable: str
    first: Node
    second: Node
    users: Mapping[str, Node] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """`read/write` or `write/write`."""
        both = opdef.lookup(self.first.op).writes and opdef.lookup(self.second.op).writes
        return "write/write" if both else "read/write"

    @property
    def lines(self) -> tuple[Where | None, Where | None]:
        """The lines of the program that make the accesses; of a shared read, where it is used."""
        return self._place(self.first).where, self._place(self.second).where

    def __str__(self) -> str:
        return (
            f"{self.kind} race on variable {self.variable}: {self._say(self.first)} and {self._say(self.second)} are not "
            f"ordered; add af.control_dependencies between them if the order matters."
        )

    def _place(self, access: Node) -> Node:
        return self.users.get(access.name, access)

    def _say(self, access: Node) -> str:
        user = self.users.get(access.name)
        if user is None:
            return f"{access.name} ({access.op}) at {access.where}"
        return f"{access.name} ({access.op}), used by {user.name} ({user.op}) at {user.where},"


def find_races(nodes: Mapping[str, Node]) -> list[Race]:
    """All pairs of unordered accesses, in the order of the graph. Updates that commute (`+=` with `+=`) are no race, and
    a read that nothing uses is none either.

    An initialiser, which is an Assign that a program runs once by itself, is left out: nodes that a variable's own
    `Assign` named in the collection of initialisers would race with never run in one step with it.
    """
    accesses: dict[str, list[Node]] = {}
    users: dict[str, Node] = {}
    for node in nodes.values():
        for endpoint in node.inputs:
            users.setdefault(endpoint.node, node)
    for node in nodes.values():
        definition = opdef.lookup(node.op)
        if not definition.has_ref_input or node.op == "IsVariableInitialized":
            continue
        if node.op == "ReadVariableOp" and node.name not in users:
            continue
        for endpoint in node.inputs:
            source = nodes[endpoint.node]
            if source.dtypes[endpoint.port].is_ref and not _initialises(node, source):
                accesses.setdefault(source.name, []).append(node)
    races: list[Race] = []
    ancestors: dict[str, frozenset[str]] = {}
    for variable, found in accesses.items():
        for i, first in enumerate(found):
            for second in found[i + 1 :]:
                if _harmless(first, second):
                    continue
                above_first = ancestors.setdefault(first.name, _ancestors(first, nodes))
                above_second = ancestors.setdefault(second.name, _ancestors(second, nodes))
                if first.name not in above_second and second.name not in above_first:
                    shared = {n.name: users[n.name] for n in (first, second) if n.name == f"{variable}/read"}
                    races.append(Race(variable, first, second, shared))
    return races


def _initialises(node: Node, handle: Node) -> bool:
    """Whether `node` is the Assign that `Variable` made together with its handle."""
    return node.op in ("Assign", "AssignVariableOp") and node.name == f"{handle.name}/Assign"


def _harmless(first: Node, second: Node) -> bool:
    writes = [opdef.lookup(n.op).writes for n in (first, second)]
    if not any(writes):
        return True
    return any(first.op in group and second.op in group for group in _COMMUTING)


def _ancestors(node: Node, nodes: Mapping[str, Node]) -> frozenset[str]:
    seen: set[str] = set()
    stack = [e.node for e in node.inputs] + list(node.controls)
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            above = nodes[name]
            stack.extend(e.node for e in above.inputs)
            stack.extend(above.controls)
    return frozenset(seen)
