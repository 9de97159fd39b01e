"""Updates after reads: a variable is written when the users of its snapshot are done, so that the write goes in place.

Any order is right without this, since a write never changes a snapshot. But a write while a snapshot is in use has to
leave the buffer to it and fill a new buffer. The added edges only ever order nodes that were unordered.
"""

from __future__ import annotations

from dataclasses import replace

from actorflow.base.registry import opdef, roles
from actorflow.graph.analysis.ancestry import waits
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import TensorId

_READS = (roles.READ, roles.READ_OR)
_EFFORT = 200_000  # steps of the search after which the rest is left as it is


def order_writes(graph: Subgraph, partial: frozenset[TensorId] = frozenset()) -> Subgraph:
    """Adds control edges from the users of a variable's reads to its writes, where that makes no cycle. `partial` are
    feeds that come while the step runs: no write waits for a feed that it does not need."""
    reads: dict[str, list[str]] = {}
    writes: dict[str, list[str]] = {}
    successors: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for node in yielding(graph.nodes.values()):
        for need in graph.predecessors(node):
            successors[need].append(node.name)
        definition = opdef.lookup(node.op)
        if definition.writes:
            for tensor_id in node.inputs:
                if tensor_id not in graph.feeds and graph.nodes[tensor_id.node].dtypes[tensor_id.port].is_ref:
                    writes.setdefault(tensor_id.node, []).append(node.name)
        elif node.role in _READS:
            reads.setdefault(node.inputs[0].node, []).append(node.name)
    if not any(handle in reads for handle in writes):
        return graph
    tokens = waits(graph, partial)
    added: dict[str, list[str]] = {}
    effort = 0
    for handle, writers in writes.items():
        users = [u for r in reads.get(handle, ()) for u in _users(graph, r, successors)]
        for writer in writers:
            after = _descendants(writer, successors)
            effort += len(after)
            if effort > _EFFORT:
                break
            for user in dict.fromkeys(users):
                if user not in after and tokens[user] == tokens[writer]:
                    added.setdefault(writer, []).append(user)
                    successors[user].append(writer)
    if not added:
        return graph
    nodes = [
        replace(node, controls=tuple(dict.fromkeys((*node.controls, *added[node.name]))))
        if node.name in added
        else node
        for node in graph.nodes.values()
    ]
    return topological(graph.with_nodes(nodes))


def _users(graph: Subgraph, read: str, successors: dict[str, list[str]]) -> list[str]:
    """The nodes that compute from a read, looking through those that only give another view of it."""
    users: list[str] = []
    stack = [read]
    while stack:
        for name in successors[stack.pop()]:
            if opdef.lookup(graph.nodes[name].op).view:
                stack.append(name)
            else:
                users.append(name)
    return users


def _descendants(name: str, successors: dict[str, list[str]]) -> set[str]:
    """`name` and all that comes after it."""
    seen = {name}
    stack = [name]
    while stack:
        for successor in successors[stack.pop()]:
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return seen
