"""Frames: which loop each node runs in, decided by the graph alone (paper section 4.4).

An Enter runs outside of the frame that it leads into, an Exit inside of the frame that it leads out of. Apart from
these, edges stay in one frame. The edge from a NextIteration to its Merge leads from one iteration to the next; without
it the graph has no cycle, and passes that want an order leave it out (`Subgraph.predecessors`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from actorflow.base.registry import roles
from actorflow.errors import InvalidArgumentError
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node

PRIMITIVES = (roles.SWITCH, roles.MERGE, roles.ENTER, roles.EXIT, roles.NEXT_ITERATION, roles.LOOP_CONDITION)
"""The roles of nodes that move tokens and compute nothing."""
_LOOP = (roles.ENTER, roles.EXIT, roles.NEXT_ITERATION)
ROOT = ""
"""The frame of what is in no loop."""


@dataclass(frozen=True, slots=True)
class Frames:
    """`of` gives the frame in which each node runs, `parent` the frame around each frame."""

    of: Mapping[str, str]
    parent: Mapping[str, str]

    def output(self, node: Node) -> str:
        """The frame in which a node's outputs are used."""
        if node.role is roles.ENTER:
            return str(node.attrs["frame_name"])
        return self.parent[self.of[node.name]] if node.role is roles.EXIT else self.of[node.name]


def is_free(node: Node) -> bool:
    """Whether a node is a constant that waits for nothing: it is there in every frame and iteration."""
    return node.role is roles.CONSTANT and not node.controls


def with_loops(graph: Subgraph) -> Subgraph:
    """The graph in an order in which what leaves a loop comes after all that enters it."""
    loops = frames(graph)
    if not loops.parent:
        return graph
    enters: dict[str, list[str]] = {}
    for node in graph.nodes.values():
        if node.role is roles.ENTER:
            enters.setdefault(node.attrs["frame_name"], []).append(node.name)
    exits = {n.name: tuple(enters[loops.of[n.name]]) for n in graph.nodes.values() if n.role is roles.EXIT}
    return topological(replace(graph, entered=exits))


def frames(graph: Subgraph) -> Frames:
    """The frames of a graph whose nodes are in topological order.

    Raises:
        InvalidArgumentError: a node has inputs of several frames, an Exit is in none, or two loops have one name.
    """
    of: dict[str, str] = {}
    parent: dict[str, str] = {}
    loops = Frames(of, parent)
    if not any(node.role in _LOOP for node in graph.nodes.values()):
        return Frames(dict.fromkeys(graph.nodes, ROOT), {})
    for node in yielding(graph.nodes.values()):
        frame_nodes: dict[str, str] = {}
        for name in graph.predecessors(node):
            source = graph.nodes[name]
            if not is_free(source):
                frame_nodes.setdefault(loops.output(source), name)
        if len(frame_nodes) > 1:
            raise InvalidArgumentError(
                "The node has inputs from different frames: its inputs are of different loops.",
                node=node.name,
                op=node.op,
                where=node.where,
                details=[
                    f"{name} is in {f'the loop {frame}' if frame else 'no loop'}" for frame, name in frame_nodes.items()
                ],
                hint="Values get into a loop by Enter and out of it by Exit; af.while_loop makes both.",
            )
        of[node.name] = next(iter(frame_nodes), ROOT)
        if node.role is roles.ENTER:
            inner = node.attrs["frame_name"]
            if parent.setdefault(inner, of[node.name]) != of[node.name]:
                raise InvalidArgumentError(
                    f"The loop {inner} is entered from two places.", node=node.name, op=node.op, where=node.where
                )
        elif node.role in (roles.EXIT, roles.NEXT_ITERATION) and of[node.name] == ROOT:
            raise InvalidArgumentError(f"{node.op} is in no loop.", node=node.name, op=node.op, where=node.where)
    return loops
