"""The ancestors that may hold a node up or kill it: the asynchronous nodes, and the sources of dead tokens."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from actorflow.base.registry import opdef, roles
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import ROOT, Frames, frames
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

Waits: TypeAlias = int
"""A set of sources, a bit for each: there may be thousands, in the sets of as many nodes."""


def waits(graph: Subgraph, partial: frozenset[TensorId] = frozenset(), loops: Frames | None = None) -> dict[str, Waits]:
    """For each node, what it waits for beside the work of others. These are asynchronous nodes (Recv, Dequeue), the
    feeds in `partial`, which come later than other feeds, each side of a Switch's predicate, and the iterations of
    loops.

    Nodes of one frame with equal sets start and die together, so only such nodes may be merged or ordered among each
    other. A branch whose Merge joins both sides of one predicate is behind it: what follows waits for the predicate only.
    """
    return _AncestorWalk(graph, partial, frames(graph) if loops is None else loops).run()


def waits_and_deaths(graph: Subgraph, partial: frozenset[TensorId], loops: Frames) -> tuple[dict[str, Waits], Waits]:
    """`waits`, and which of the sources may give dead tokens."""
    walk = _AncestorWalk(graph, partial, loops)
    return walk.run(), walk.deadly


class _AncestorWalk:
    def __init__(self, graph: Subgraph, partial: frozenset[TensorId], loops: Frames) -> None:
        self._graph = graph
        self._partial = partial
        self._frames = loops
        self._found: dict[str, Waits] = {}
        self._sources: list[Hashable] = []
        self._number: dict[Hashable, int] = {}
        self.deadly: Waits = 0
        self._entered: dict[str, Waits] = {}
        """The nodes that the Enters of each loop wait for."""
        self._asynchronous = asynchronous_frames(graph, loops)

    def run(self) -> dict[str, Waits]:
        shared: dict[Waits, Waits] = {}
        for node in yielding(self._graph.nodes.values()):
            mine = self._of(node)
            self._found[node.name] = shared.setdefault(mine, mine)
        return self._found

    def _only(self, source: Hashable) -> Waits:
        number = self._number.get(source)
        if number is None:
            number = self._number[source] = len(self._sources)
            self._sources.append(source)
        return 1 << number

    def _of(self, node: Node) -> Waits:
        edges = [self._edge(e) for e in node.inputs if not self._leads_back(node, e)]
        mine = 0
        for waited in edges:
            mine |= waited
        for control in node.controls:
            mine |= self._found[control]
        frame = self._frames.of[node.name]
        if node.role is roles.ENTER:
            inner = node.attrs["frame_name"]
            self._entered[inner] = self._entered.get(inner, 0) | mine
        elif node.role is roles.EXIT:
            mine = self._entered[frame]
            if frame in self._asynchronous:
                mine |= self._only(node.name)
        elif node.role is roles.MERGE:
            if len(edges) == len(node.inputs):
                return self._merged(node, edges, mine)
            mine |= self._only(node.name if frame in self._asynchronous else f"iterations of {frame}")
        elif node.role is not roles.SWITCH:
            definition = opdef.lookup(node.op)
            if definition.asynchronous or definition.fires_dead or definition.emits_dead:
                mine |= self._only(node.name)
            if definition.emits_dead:
                self.deadly |= self._only(node.name)
        return mine

    def _edge(self, tensor_id: TensorId) -> Waits:
        if tensor_id in self._graph.feeds:
            return self._only(str(tensor_id)) if tensor_id in self._partial else 0
        source = self._graph.nodes[tensor_id.node]
        mine = self._found[tensor_id.node]
        if source.role is roles.SWITCH:
            return mine | self._deadly((source.inputs[1], tensor_id.port))
        if source.role not in (roles.MERGE, roles.EXIT) and opdef.lookup(source.op).emits_dead:
            return mine | self._deadly(str(tensor_id))
        return mine

    def _deadly(self, source: Hashable) -> Waits:
        mine = self._only(source)
        self.deadly |= mine
        return mine

    def _merged(self, node: Node, edges: list[Waits], mine: Waits) -> Waits:
        """The waits of a Merge of branches: those of both sides apart from their predicate."""
        if len(edges) == 2:
            left, right = edges[0] & ~edges[1], edges[1] & ~edges[0]
            if left.bit_count() == right.bit_count() == 1:
                source, other = self._sources[left.bit_length() - 1], self._sources[right.bit_length() - 1]
                if isinstance(source, tuple) and isinstance(other, tuple) and (source[0], 1 - source[1]) == other:
                    return mine & ~left & ~right
        return mine | self._deadly(node.name)

    def _leads_back(self, node: Node, tensor_id: TensorId) -> bool:
        if node.role is not roles.MERGE or tensor_id in self._graph.feeds:
            return False
        return self._graph.nodes[tensor_id.node].role is roles.NEXT_ITERATION


def asynchronous_frames(graph: Subgraph, loops: Frames) -> set[str]:
    """The loops in which, or in whose inner loops, a node runs asynchronously: their variables may go on separately."""
    names: set[str] = set()
    if loops.parent:
        for node in graph.nodes.values():
            frame = loops.of[node.name]
            if frame != ROOT and frame not in names and opdef.lookup(node.op).asynchronous:
                while frame != ROOT:
                    names.add(frame)
                    frame = loops.parent[frame]
    return names
