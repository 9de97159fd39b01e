"""What may hold a node up or kill it: the asynchronous nodes, and the sources of dead tokens, among its ancestors."""

from __future__ import annotations

from actorflow.graph.node import Endpoint
from actorflow.passes.pace import paced
from actorflow.passes.subgraph import Subgraph
from actorflow.registry import opdef

Waits = frozenset[str]


def waits(graph: Subgraph, partial: frozenset[Endpoint] = frozenset()) -> dict[str, Waits]:
    """For each node, the ancestors that run asynchronously (Recv, Dequeue) or may give dead tokens (Switch, by port), and
    the feeds in `partial`, which come later than others.

    Nodes with equal sets start and die together, so only such nodes may be merged or ordered among each other.
    """
    empty: Waits = frozenset()
    result: dict[str, Waits] = {}
    joined: dict[tuple[Waits, Waits], Waits] = {}
    for node in paced(graph.nodes.values()):
        mine = empty
        sources: list[Waits] = []
        for endpoint in node.inputs:
            if endpoint in graph.feeds:
                if endpoint in partial:
                    sources.append(frozenset((str(endpoint),)))
                continue
            sources.append(result[endpoint.node])
            if opdef.lookup(graph.nodes[endpoint.node].op).emits_dead:
                sources.append(frozenset((str(endpoint),)))
        sources.extend(result[control] for control in node.controls)
        for other in sources:
            if other is mine or not other:
                continue
            if not mine:
                mine = other
                continue
            pair = (mine, other)
            found = joined.get(pair)
            if found is None:
                found = joined[pair] = mine | other
            mine = found
        definition = opdef.lookup(node.op)
        if definition.asynchronous or definition.fires_dead or definition.emits_dead:
            mine = mine | {node.name}
        result[node.name] = mine
    return result
