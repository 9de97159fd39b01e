"""`Subgraph`: what passes read and write, the nodes that one signature of a run needs."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from actorflow.base.dtypes import DType
from actorflow.base.registry import roles
from actorflow.base.shapes import Shape
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.node import Node, TensorId

Uses: TypeAlias = "Counter[str | TensorId]"
"""How many inputs, control edges, fetches and targets name each node, and how many inputs and fetches each tensor."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes by name in a topological order. `feeds` come from outside, each of a type and a static shape, and cut the
    graph; `fetches` and `targets` go out."""

    nodes: Mapping[str, Node]
    feeds: Mapping[TensorId, tuple[DType, Shape]] = field(default_factory=dict)
    fetches: tuple[TensorId, ...] = ()
    targets: tuple[str, ...] = ()
    entered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each Exit the Enters of its loop: what leaves a loop depends on all that enters it, over the edges that lead back."""
    sizes: Mapping[TensorId, Shape] = field(default_factory=dict)
    """The shapes that tensors are expected to have if their static shapes leave something open. No code relies on them."""
    ranks: Mapping[str, float] = field(default_factory=dict)
    """For each node the seconds of the longest way to the end of the step, where runs have measured costs; else nothing."""

    def with_nodes(self, nodes: Iterable[Node]) -> Subgraph:
        return replace(self, nodes={node.name: node for node in nodes})

    def type_of(self, tensor_id: TensorId) -> tuple[DType, Shape]:
        """The element type and static shape of a tensor that is fed or made here."""
        fed = self.feeds.get(tensor_id)
        if fed is not None:
            return fed
        node = self.nodes[tensor_id.node]
        return node.dtypes[tensor_id.port], node.shapes[tensor_id.port]

    def size_of(self, tensor_id: TensorId) -> Shape:
        """The shape that a tensor is expected to have: its static shape if nothing better is known."""
        size = self.sizes.get(tensor_id)
        return self.type_of(tensor_id)[1] if size is None else size

    def predecessors(self, node: Node) -> list[str]:
        """The names of the nodes for which `node` waits; what is fed waits for none, a loop's Merge not for the iteration
        before, and an Exit for all that enters the loop."""
        needs = [e.node for e in node.inputs if e not in self.feeds]
        if node.role is roles.MERGE:
            needs = [need for need in needs if self.nodes[need].role is not roles.NEXT_ITERATION]
        elif node.role is roles.EXIT:
            needs.extend(name for name in self.entered.get(node.name, ()) if name in self.nodes)
        return needs + list(node.controls)

    def __str__(self) -> str:
        """One line a node: the canonical form that tests compare."""
        return "\n".join(map(str, self.nodes.values()))


def topological(graph: Subgraph) -> Subgraph:
    """The same nodes, each after all that it waits for; apart from that, in their present order."""
    nodes = graph.nodes
    waiting: dict[str, int] = {}
    successors: dict[str, list[str]] = {}
    for node in yielding(nodes.values()):
        needs = graph.predecessors(node)
        waiting[node.name] = len(needs)
        for need in needs:
            successors.setdefault(need, []).append(node.name)
    position = {name: i for i, name in enumerate(nodes)}
    names = list(nodes)
    ready = [position[name] for name, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        name = names[heapq.heappop(ready)]
        order.append(nodes[name])
        for successor in successors.get(name, ()):
            waiting[successor] -= 1
            if waiting[successor] == 0:
                heapq.heappush(ready, position[successor])
    assert len(order) == len(nodes), "a pass made a cycle"
    return graph.with_nodes(order)


def uses_of(graph: Subgraph) -> Uses:
    """The uses of each node and of each tensor."""
    uses: Uses = Counter(graph.fetches)
    uses.update(tensor_id.node for tensor_id in graph.fetches)
    count = uses.get  # an update of a Counter costs more than the counting where inputs are few
    for node in yielding(graph.nodes.values()):
        for tensor_id in node.inputs:
            uses[tensor_id] = count(tensor_id, 0) + 1
            uses[tensor_id.node] = count(tensor_id.node, 0) + 1
        for control in node.controls:
            uses[control] = count(control, 0) + 1
    uses.update(graph.targets)
    return uses
