"""`written_before`: the variables whose writes an operation is behind."""

from __future__ import annotations

import itertools
import weakref

from actorflow.base.registry import opdef
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node, TensorId
from actorflow.graph.tensor import Operation

PASSING = {"Enter", "Identity", "Switch"}
"""The ops that hand a variable's handle on as it is."""
_NONE: frozenset[TensorId] = frozenset()


def written_before(operation: Operation) -> frozenset[TensorId]:
    """The handles of the variables that an operation or its ancestors write."""
    graph = operation.graph
    if graph not in _graphs:
        _graphs[graph] = _Writes()
    writes = _graphs[graph]
    writes.follow(graph)
    return writes.handles.get(operation.name, _NONE)


class _Writes:
    """The writes of a graph. It looks at each node once, as the graph grows: a program with many branches asks for each."""

    def __init__(self) -> None:
        self.handles: dict[str, frozenset[TensorId]] = {}
        """For each node that is behind a write, the handles of the variables."""
        self._count = 0
        self._ends: list[Node] = []
        """The ends of iterations that are behind a write."""

    def follow(self, graph: Graph) -> None:
        for node in itertools.islice(graph.nodes.values(), self._count, None):
            if self._add(graph, node) and node.op == "NextIteration":
                self._ends.append(node)
        self._count = len(graph)
        while any(not self._is_at_head(graph, end) for end in self._ends):
            for node in graph.nodes.values():
                self._add(graph, node)

    def _add(self, graph: Graph, node: Node) -> frozenset[TensorId]:
        handles = self.handles.get(node.name, _NONE)
        for name in (*(tensor_id.node for tensor_id in node.inputs), *node.controls):
            before = self.handles.get(name)
            if before is not None:
                handles |= before
        if opdef.lookup(node.op).writes:
            handles |= {_handle(graph.get_operation_by_name(node.name))}
        if handles:
            self.handles[node.name] = handles
        return handles

    def _is_at_head(self, graph: Graph, end: Node) -> bool:
        """Whether the head of a loop is known to be behind the writes of an iteration."""
        heads = graph.get_operation_by_name(end.name).outputs[0].consumers()
        return all(self.handles[end.name] <= self.handles.get(head.name, _NONE) for head in heads)


def _handle(write: Operation) -> TensorId:
    handle = write.inputs[0]
    while handle.op.type in PASSING:
        handle = handle.op.inputs[0]
    return handle.tensor_id


_graphs: weakref.WeakKeyDictionary[Graph, _Writes] = weakref.WeakKeyDictionary()
