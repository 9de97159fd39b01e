"""The order in which a device's nodes run, chosen so that less memory is in use at once (paper section 4.1).

The ready queue gives nodes out as they come, so what could run early does, and its results wait for their users. This pass tries
other orders on the estimated lifetimes of tensors. The next node is the ready node that frees most beyond what it makes; or
the youngest, so that what was begun is finished first (gradients are applied as soon as they are made). Both orders are also
tried with the nodes that make more than they free as late as possible. The best order is laid down by control edges between
the nodes that make or take large tensors. All others, and those that wait for different things, stay free.

An order is only laid down if it takes less than the runtime's own order. This is checked again with the edges in place.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from actorflow.base.registry import opdef, roles
from actorflow.engine.passes.memory.lifetimes import Feeds, Lifetimes, inside
from actorflow.graph.analysis.ancestry import Waits, waits_and_deaths
from actorflow.graph.analysis.cooperative import yield_interpreter
from actorflow.graph.analysis.frames import PRIMITIVES, ROOT, frames
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId

Preference: TypeAlias = Literal["frees", "young"]
_MOST_CLASSES = 16
"""The most kinds of nodes (by what they wait for) that are searched for a place to put a node behind."""


def order_memory(
    graph: Subgraph, threshold: int, feeds: Feeds = "free", partial: frozenset[TensorId] = frozenset()
) -> Subgraph:
    """The graph with control edges that lower the expected peak of its device's memory, or as it is where none do.

    Args:
        threshold: bytes from which on the device counts a tensor.
        feeds: whether what is fed takes memory of the device.
        partial: feeds that come while the step runs; nothing waits for a feed that it does not need.
    """
    lifetimes = Lifetimes(graph, threshold, feeds)
    if any(lifetimes.extra):
        graph = graph.with_nodes(
            [
                order_members(node, graph, threshold) if node.role is roles.REGION else node
                for node in graph.nodes.values()
            ]
        )
        lifetimes = Lifetimes(graph, threshold, feeds)
    plain = lifetimes.fifo()
    best = best_order(lifetimes, plain)
    if best is plain:
        return graph
    ordered = OrderLine(lifetimes, best, partial).laid_down()
    after = Lifetimes(ordered, threshold, feeds)
    return ordered if after.peak(after.fifo()) < lifetimes.peak(plain) else graph


def order_members(region: Node, graph: Subgraph, threshold: int) -> Node:
    """The region with its members in an order that takes less memory, if such an order is found. It costs nothing."""
    lifetimes = inside(region, graph, threshold)
    plain = list(range(len(lifetimes.nodes)))
    best = best_order(lifetimes, plain)
    if best is plain:
        return region
    names = {node.name: node for node in region.attrs["members"]}
    constants = [node for node in region.attrs["members"] if node.name not in lifetimes.index]
    members = (*constants, *(names[lifetimes.nodes[at].name] for at in best))
    return replace(region, attrs=MappingProxyType({**region.attrs, "members": members, "ordered": True}))


def best_order(lifetimes: Lifetimes, plain: list[int]) -> list[int]:
    """The order with the lowest peak of those that are tried; `plain`, the runtime's own, if none is better."""
    tried: tuple[Preference, ...] = ("frees", "young")
    orders = [plain, *(greedy(lifetimes, preference) for preference in tried)]
    return min([*orders, *(delayed(lifetimes, order) for order in orders)], key=lifetimes.peak)


def delayed(lifetimes: Lifetimes, order: Sequence[int]) -> list[int]:
    """An order in which nodes that make more than they free run as late as they can: before the first that waits for them."""
    _, users = lifetimes.waiting()
    place = {at: i for i, at in enumerate(order)}
    last = {piece: i for i, at in enumerate(order) for piece in (*lifetimes.makes[at], *lifetimes.takes[at])}
    until: dict[int, int] = {}
    for i, at in enumerate(reversed(order), 1 - len(order)):
        freed = {p for p in (*lifetimes.takes[at], *lifetimes.makes[at]) if last[p] == -i and p not in lifetimes.kept}
        adds = sum(lifetimes.size[p] for p in lifetimes.makes[at]) > sum(lifetimes.size[p] for p in freed)
        until[at] = min((until[user] for user in users[at]), default=-i) if adds else -i
    return sorted(order, key=lambda at: (until[at], place[at]))


def greedy(lifetimes: Lifetimes, preference: Preference) -> list[int]:
    """An order made one node at a time. A node that takes no memory, or may wait for something else, goes first. Nodes
    that free at least what they make come next; then the node that adds least, or that became ready last."""
    counts, users = lifetimes.waiting()
    left = lifetimes.users.copy()
    readied = [0] * len(counts)
    done = [False] * len(counts)
    takers: list[list[int]] = [[] for _ in lifetimes.size]
    for at, pieces in enumerate(lifetimes.takes):
        for piece in pieces:
            takers[piece].append(at)
    heap: list[tuple[int, int, int, int]] = []
    turn = 0

    def push(at: int) -> None:
        if lifetimes.is_light(at) or opdef.lookup(lifetimes.nodes[at].op).asynchronous:
            heapq.heappush(heap, (0, 0, readied[at], at))
            return
        freed = sum(lifetimes.size[p] for p in lifetimes.takes[at] if left[p] == 1 and p not in lifetimes.kept)
        freed += sum(lifetimes.size[p] for p in lifetimes.makes[at] if not left[p] and p not in lifetimes.kept)
        added = sum(lifetimes.size[p] for p in lifetimes.makes[at]) - freed
        by = added if preference == "frees" or added <= 0 else 0
        heapq.heappush(heap, (1 if added <= 0 else 2, by, -readied[at], at))

    for at, count in enumerate(counts):
        if not count:
            push(at)
    order: list[int] = []
    while heap:
        yield_interpreter()
        at = heapq.heappop(heap)[3]
        if done[at]:
            continue
        done[at] = True
        order.append(at)
        turn += 1
        for piece in lifetimes.takes[at]:
            left[piece] -= 1
            if left[piece] == 1:  # the last node that takes it frees it: that node is worth more now
                for user in takers[piece]:
                    if not done[user] and not counts[user]:
                        push(user)
        for user in users[at]:
            counts[user] -= 1
            if not counts[user]:
                readied[user] = turn
                push(user)
    return order


class OrderLine:
    """The nodes whose order can be laid down, by control edges from each to the next.

    These are nodes outside of loops that touch counted memory. A node is only put behind a node that can neither hold it up nor
    kill it: both wait for the same things, or the first node for fewer, none of which gives dead tokens.
    """

    def __init__(self, lifetimes: Lifetimes, order: Sequence[int], partial: frozenset[TensorId]) -> None:
        self.known = lifetimes
        self.order = order
        of = frames(lifetimes.graph)
        tokens, self._deadly = waits_and_deaths(lifetimes.graph, partial, of)
        self._tokens: list[Waits] = [tokens[node.name] for node in lifetimes.nodes]
        self.in_root = [of.of[node.name] == ROOT for node in lifetimes.nodes]

    def can_be_ordered(self, at: int) -> bool:
        """Whether a node may get and give control edges."""
        node = self.known.nodes[at]
        if node.role in PRIMITIVES or node.role is roles.SEND or not self.in_root[at] or self.known.is_light(at):
            return False
        return not opdef.lookup(node.op).asynchronous

    def may_follow(self, first: int, second: int) -> bool:
        """Whether the second node may wait for the first."""
        before, after = self._tokens[first], self._tokens[second]
        return before == after or not (before & self._deadly or before & ~after)

    def edges(self) -> dict[str, str]:
        """For each node, by name, the node that it is put behind."""
        nodes, graph = self.known.nodes, self.known.graph
        edges: dict[str, str] = {}
        last: dict[Waits, tuple[int, int]] = {}
        for place, at in enumerate(self.order):
            if not self.can_be_ordered(at):
                continue
            recent = sorted(last.values(), reverse=True)[:_MOST_CLASSES]
            before = next((earlier for _, earlier in recent if self.may_follow(earlier, at)), None)
            if before is not None and nodes[before].name not in graph.predecessors(nodes[at]):
                edges[nodes[at].name] = nodes[before].name
            last[self._tokens[at]] = (place, at)
        return edges

    def laid_down(self) -> Subgraph:
        """The graph with the edges."""
        edges = self.edges()
        graph = self.known.graph
        nodes = [
            replace(node, controls=(*node.controls, edges[node.name])) if node.name in edges else node
            for node in graph.nodes.values()
        ]
        return topological(graph.with_nodes(nodes))
