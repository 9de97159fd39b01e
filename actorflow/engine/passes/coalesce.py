"""Coalescing: convex runs of cheap nodes become one node, whose kernel is a tape (`actorflow.engine.runtime.tape`).

A node's task costs a microsecond, a small addition a tenth of that; so, as XLA clusters operations, this pass merges
what is cheap. Members of a region start and die together (`ancestry`), and run on one device and in one thread. They
cost at most half a millisecond in all, so a region never holds the event loop for long.

Regions are found by colouring. A node's colour is the largest of its predecessors', plus one wherever an edge crosses
from one kind of node to another. Colours never fall along a path, so a path that leaves a colour does not return to it:
a set of nodes of one kind and colour is convex. So is a set of nodes that wait for nothing outside of it.

Costly nodes that a compiler makes one loop of (`actorflow.engine.runtime.codegen.jit`) are merged among themselves: what they
cost together is mostly memory, which the loop goes through once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.registry import opdef, roles
from actorflow.engine.placement.cost_model import node_cost
from actorflow.graph.analysis.ancestry import waits
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import PRIMITIVES, frames, is_free
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId

LAUNCH = 2_000.0
"""The cost of a kernel that is only launched: so a region launches some 250."""
LARGEST_MEMBER = 150_000.0
LARGEST_REGION = 500_000.0
SMALL_ROOT = 2_000.0
"""Nodes that wait for nothing and cost no more are done with others of their kind as the step begins: a task of their own
would cost more than they do."""
MOST_INSTRUCTIONS = 512
"""Instructions of a region's tape, about: a version for new shapes is built within a run, and its building should be short."""


Loopable = Callable[[Node, Sequence[DType]], bool]


def launch_cost(node: Node, graph: Subgraph) -> float:
    """The cost of a node of a device whose kernels are only launched, whatever it computes."""
    return LAUNCH


def never(node: Node, dtypes: Sequence[DType]) -> bool:
    return False


def coalesce(
    graph: Subgraph,
    mergeable: Callable[[Node], bool],
    partial: frozenset[TensorId] = frozenset(),
    loopable: Loopable = never,
    cost: Callable[[Node, Subgraph], float] = node_cost,
) -> Subgraph:
    """Replaces each region of two or more nodes by one `_Region` node.

    `mergeable` says of a node whether its kernel can be called from straight-line code: it is synchronous and needs
    nothing of the step. `partial` are feeds that come while the step runs. `loopable` says of a node and its inputs' types
    whether it may be part of a compiled loop. `cost` is what a node costs the event loop, in nanoseconds.
    """
    regions = _regions(graph, mergeable, partial, loopable, cost)
    if not regions:
        return graph
    region_of = {member.name: name for name, members in regions.items() for member in members}
    used = _used_outside(graph, region_of)
    merged = {name: _make(name, members, graph, used) for name, members in yielding(regions.items())}
    moved = {
        e: TensorId(node.name, i) for node in yielding(merged.values()) for i, e in enumerate(node.attrs["outputs"])
    }
    nodes: dict[str, Node] = {}
    for node in yielding(graph.nodes.values()):
        name = region_of.get(node.name)
        if name is None:
            nodes[node.name] = _rewired(node, moved, region_of)
        elif name not in nodes:
            nodes[name] = _rewired(merged[name], moved, region_of)
    return topological(
        replace(
            graph,
            nodes=nodes,
            fetches=tuple(moved.get(e, e) for e in graph.fetches),
            targets=tuple(dict.fromkeys(region_of.get(t, t) for t in graph.targets)),
        )
    )


def _regions(
    graph: Subgraph,
    mergeable: Callable[[Node], bool],
    partial: frozenset[TensorId],
    loopable: Loopable,
    cost: Callable[[Node, Subgraph], float],
) -> dict[str, list[Node]]:
    """The members of each region, in topological order."""
    where = frames(graph)
    tokens = waits(graph, partial, where)
    costs = {name: cost(node, graph) for name, node in yielding(graph.nodes.items())}
    kinds: dict[str, Any] = {}
    colours: dict[str, int] = {}
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    for node in yielding(graph.nodes.values()):
        costly = costs[node.name] > LARGEST_MEMBER
        merges = mergeable(node) and not is_free(node) and node.role not in PRIMITIVES
        if costly and merges:  # a coalesced loop has no kernel that could be asked
            merges = loopable(node, [graph.type_of(e)[0] for e in node.inputs])
        kind = kinds[node.name] = (tokens[node.name], where.of[node.name], costly) if merges else None
        needs = graph.predecessors(node)
        colour = 0
        for need in needs:
            crossing = kind is None or kinds[need] != kind
            colour = max(colour, colours[need] + crossing)
        colours[node.name] = colour
        leader[node.name] = node.name
    _sink_roots(graph, kinds, colours)
    for node in yielding(graph.nodes.values()):
        if kinds[node.name] is not None:
            for need in graph.predecessors(node):
                if colours[need] == colours[node.name] and kinds[need] == kinds[node.name]:
                    leader[find(node.name)] = find(need)
    components: dict[str, list[Node]] = {}
    for node in yielding(graph.nodes.values()):
        if kinds[node.name] is not None:
            components.setdefault(find(node.name), []).append(node)
    regions: dict[str, list[Node]] = {}
    for members in yielding(_with_joined_roots(components, graph, kinds, costs)):
        costly = costs[members[0].name] > LARGEST_MEMBER
        for part in _bounded(members, {} if costly else costs):
            if len(part) > 1:
                regions[f"{part[0].name}/region_of_{len(part)}"] = part
    return regions


def _sink_roots(graph: Subgraph, kinds: dict[str, Any], colours: dict[str, int]) -> None:
    """Moves what could run at the very start, such as reads of variables, to the colour of its first user. The node then
    is in that user's region, and a snapshot is not held from the beginning of the step."""
    earliest: dict[str, int] = {}
    for node in yielding(reversed(list(graph.nodes.values()))):
        name = node.name
        if colours[name] == 0 and kinds[name] is not None:
            colours[name] = earliest.get(name, 0)
        for need in graph.predecessors(node):
            crossing = kinds[name] is None or kinds[need] != kinds[name]
            colour = max(colours[name] - crossing, 0)
            earliest[need] = min(earliest.get(need, colour), colour)


def _with_joined_roots(
    components: dict[str, list[Node]], graph: Subgraph, kinds: dict[str, Any], costs: dict[str, float]
) -> list[list[Node]]:
    """The components; small components that wait for nothing, such as reads of weights that costly nodes use, are joined. A
    path that leaves them can't come back. A single node stays a node: reports of what waits name a queue's or a mutex's
    users."""
    groups: list[list[Node]] = []
    joined: dict[Any, list[Node]] = {}
    for name, members in yielding(components.items()):
        small = len(members) > 1 and sum(costs[m.name] for m in members) <= SMALL_ROOT
        if not small or _waits_for_others(members, graph):
            groups.append(members)
        elif kinds[name] in joined:
            joined[kinds[name]].extend(members)
        else:
            joined[kinds[name]] = members
            groups.append(members)
    return groups


def _waits_for_others(members: list[Node], graph: Subgraph) -> bool:
    """Whether members need what is fed, or what other nodes compute."""
    own = {m.name for m in members}
    return any(
        e in graph.feeds or (e.node not in own and not is_free(graph.nodes[e.node])) for m in members for e in m.inputs
    ) or any(control not in own for m in members for control in m.controls)


def _bounded(members: list[Node], costs: dict[str, float]) -> list[list[Node]]:
    """Cuts a region into pieces within the limits: a cut along a topological order keeps the pieces convex."""
    pieces: list[list[Node]] = [[]]
    total = 0.0
    lines = 0
    for node in members:
        cost = costs.get(node.name, 0.0)
        long = 1 if all(shape == () for shape in node.shapes) else 3  # a buffer before, a release after
        if pieces[-1] and (total + cost > LARGEST_REGION or lines + long > MOST_INSTRUCTIONS):
            pieces.append([])
            total = 0.0
            lines = 0
        pieces[-1].append(node)
        total += cost
        lines += long
    return pieces


def _used_outside(graph: Subgraph, region_of: dict[str, str]) -> set[TensorId]:
    used = set(graph.fetches)
    for node in yielding(graph.nodes.values()):
        mine = region_of.get(node.name)
        used.update(e for e in node.inputs if mine is None or region_of.get(e.node) != mine)
    return used


def _make(name: str, members: list[Node], graph: Subgraph, used: set[TensorId]) -> Node:
    inside = {m.name for m in members}
    constants: dict[str, Node] = {}
    inputs: dict[TensorId, None] = {}
    controls: dict[str, None] = {}
    outputs: list[TensorId] = []
    for member in members:
        for tensor_id in member.inputs:
            if tensor_id in graph.feeds:
                inputs[tensor_id] = None
            elif tensor_id.node not in inside:
                source = graph.nodes[tensor_id.node]
                if is_free(source):
                    constants[source.name] = source
                else:
                    inputs[tensor_id] = None
        controls.update(dict.fromkeys(c for c in member.controls if c not in inside))
        ports = (TensorId(member.name, port) for port in range(len(member.dtypes)))
        outputs.extend(e for e in ports if e in used and e not in graph.feeds)
    types = [graph.type_of(e) for e in outputs]
    return Node(
        name=name,
        op="_Region",
        inputs=tuple(inputs),
        controls=tuple(controls),
        attrs=MappingProxyType(
            {"members": (*constants.values(), *members), "inputs": tuple(inputs), "outputs": tuple(outputs)}
        ),
        dtypes=tuple(dtype for dtype, _ in types),
        shapes=tuple(shape for _, shape in types),
        device=members[0].device,
        where=members[0].where,
    )


def _rewired(node: Node, moved: dict[TensorId, TensorId], region_of: dict[str, str]) -> Node:
    """`node` with its edges from members led to their regions."""
    inputs = tuple(moved.get(e, e) for e in node.inputs)
    controls = tuple(dict.fromkeys(region_of.get(c, c) for c in node.controls))
    if inputs == node.inputs and controls == node.controls:
        return node
    return replace(node, inputs=inputs, controls=controls)


def members_of(node: Node) -> tuple[Node, ...]:
    """The nodes of the user's graph that `node` stands for: itself, or the members of a region (its constants too)."""
    if node.role is roles.LOOP:
        return tuple(inner for member in node.attrs["members"] for inner in members_of(member))
    return tuple(node.attrs["members"]) if node.role is roles.REGION else (node,)


def writes_last(members: Sequence[Node]) -> tuple[Node, ...]:
    """A topological order that leaves updates of variables to the end, when most reads are used up: that of a
    region's lines."""
    names = {m.name: m for m in members}
    waiting: dict[str, int] = {}
    successors: dict[str, list[str]] = {}
    for member in members:
        needs = [n for n in (*(e.node for e in member.inputs), *member.controls) if n in names]
        waiting[member.name] = len(needs)
        for need in needs:
            successors.setdefault(need, []).append(member.name)
    writers = {m.name for m in members if opdef.lookup(m.op).writes}
    order: list[Node] = []
    ready: deque[str] = deque()
    postponed: deque[str] = deque()

    def queue(name: str) -> None:
        (postponed if name in writers else ready).append(name)

    for member in members:
        if waiting[member.name] == 0:
            queue(member.name)
    while ready or postponed:
        name = ready.popleft() if ready else postponed.popleft()
        order.append(names[name])
        for successor in successors.get(name, ()):
            waiting[successor] -= 1
            if waiting[successor] == 0:
                queue(successor)
    return tuple(order)
