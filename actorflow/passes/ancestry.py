"""What may hold a node up or kill it: the asynchronous nodes, and the sources of dead tokens, among its ancestors."""

from __future__ import annotations

from typing import TypeAlias

from actorflow.graph.node import Endpoint
from actorflow.passes.pace import paced
from actorflow.passes.subgraph import Subgraph
from actorflow.registry import opdef

Waits: TypeAlias = int
"""A set of sources, a bit for each: there may be thousands, in the sets of as many nodes."""


def waits(graph: Subgraph, partial: frozenset[Endpoint] = frozenset()) -> dict[str, Waits]:
    """For each node, the ancestors that run asynchronously (Recv, Dequeue) or may give dead tokens (Switch, by port), and
    the feeds in `partial`, which come later than others.

    Nodes with equal sets start and die together, so only such nodes may be merged or ordered among each other.
    """
    result: dict[str, Waits] = {}
    number: dict[str, int] = {}
    shared: dict[Waits, Waits] = {}

    def only(source: str) -> Waits:
        return 1 << number.setdefault(source, len(number))

    for node in paced(graph.nodes.values()):
        mine = 0
        for endpoint in node.inputs:
            if endpoint in graph.feeds:
                if endpoint in partial:
                    mine |= only(str(endpoint))
                continue
            mine |= result[endpoint.node]
            if opdef.lookup(graph.nodes[endpoint.node].op).emits_dead:
                mine |= only(str(endpoint))
        for control in node.controls:
            mine |= result[control]
        definition = opdef.lookup(node.op)
        if definition.asynchronous or definition.fires_dead or definition.emits_dead:
            mine |= only(node.name)
        result[node.name] = shared.setdefault(mine, mine)
    return result
