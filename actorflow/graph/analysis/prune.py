"""Reverse reachability: a run executes exactly the ancestors of its fetches and targets (paper sections 2 and 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from actorflow.base.registry import roles
from actorflow.errors import InvalidArgumentError, with_topic
from actorflow.graph.analysis.cooperative import yield_interpreter
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId


def prune(graph: Subgraph) -> Subgraph:
    """The nodes that fetches and targets need, in a topological order. A fed tensor needs nothing; a fed placeholder
    counts as done for control edges too.

    Raises:
        InvalidArgumentError: the nodes form a cycle, which the message lists.
    """
    nodes = graph.nodes
    fed = frozenset(graph.feeds)
    fed_placeholders = {e.node for e in fed if e.node in nodes and nodes[e.node].role is roles.PLACEHOLDER}
    order: dict[str, Node] = {}
    # Depth first without recursion: a name is pushed once to look at what it needs, and once more to be placed after it.
    entered: set[str] = set()
    changed: dict[str, Node] = {}
    stack: list[tuple[str, bool]] = []
    for root in reversed([e.node for e in graph.fetches if e not in fed] + list(graph.targets)):
        stack.append((root, False))
    back_edges: list[str] = []  # from one iteration of a loop to the next
    while stack or back_edges:
        yield_interpreter()
        if not stack:
            stack.append((back_edges.pop(), False))
        name, needs_are_placed = stack.pop()
        if needs_are_placed:
            order[name] = changed.get(name) or nodes[name]
            continue
        if name in order:
            continue
        if name in entered:
            raise _cycle(nodes, name, stack)
        entered.add(name)
        stack.append((name, True))
        node = nodes[name]
        if not fed_placeholders.isdisjoint(node.controls):
            node = replace(node, controls=tuple(c for c in node.controls if c not in fed_placeholders))
            changed[name] = node
        needs = [e.node for e in node.inputs if e not in fed]
        if node.role is roles.MERGE:
            back = [need for need in needs if nodes[need].role is roles.NEXT_ITERATION]
            back_edges.extend(back)
            needs = [need for need in needs if need not in back]
        needs.extend(node.controls)
        for need in reversed(needs):
            if need not in order:
                stack.append((need, False))
    subgraph = graph.with_nodes(order.values())
    return topological(subgraph) if subgraph.entered else subgraph


def _cycle(nodes: Mapping[str, Node], name: str, stack: list[tuple[str, bool]]) -> InvalidArgumentError:
    open_names = [n for n, placed in stack if placed]
    loop = open_names[open_names.index(name) :] if name in open_names else [name]
    lines = [f"{n} ({nodes[n].op}), made at {nodes[n].where}" for n in loop]
    shown = loop if len(loop) <= 8 else [*loop[:6], "...", loop[-1]]
    return InvalidArgumentError(
        f"The graph has a cycle of {len(loop)} nodes, so none of them could ever start: {' <- '.join([*shown, name])}.",
        node=name,
        op=nodes[name].op,
        where=nodes[name].where,
        details=lines,
        hint=with_topic("Remove one of these edges.", "cycle"),
    )


def reachability(nodes: Mapping[str, Node]) -> tuple[list[str], list[list[int]]]:
    """The names in order, and the 0/1 matrix whose entry (i, j) says whether j can be reached from i along edges."""
    names = list(nodes)
    index = {name: i for i, name in enumerate(names)}
    successors: list[list[int]] = [[] for _ in names]
    for node in nodes.values():
        for source in {e.node for e in node.inputs} | set(node.controls):
            successors[index[source]].append(index[node.name])
    matrix = []
    for start in range(len(names)):
        seen: set[int] = set()
        stack = list(successors[start])
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                stack.extend(successors[at])
        matrix.append([int(i in seen) for i in range(len(names))])
    return names, matrix


def needed_by(graph: Subgraph, tensor_id: TensorId) -> set[str]:
    """The names of the nodes that `tensor_id` alone needs."""
    return set(prune(replace(graph, fetches=(tensor_id,), targets=())).nodes)
