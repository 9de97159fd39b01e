"""Coalescing of loops: a while loop of cheap nodes becomes one node, whose kernel is a tape with jumps.

Inner loops first. A loop keeps its frames where that matters: if a node in it is asynchronous or heavy, writes or reads
a variable's handle, or is on another device. It also keeps them if its nodes cost more than their tasks would.
Two more reasons: its inputs come at different times and something may depend on that, or its primitives are connected in
another way than `while_loop` connects them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from actorflow.base.registry import opdef, roles
from actorflow.engine.passes.coalesce import LARGEST_REGION
from actorflow.engine.placement.cost_model import node_cost
from actorflow.graph.analysis.ancestry import waits_and_deaths
from actorflow.graph.analysis.frames import ROOT, Frames, frames, is_free
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId

Guard: TypeAlias = "frozenset[tuple[TensorId, int]]"
"""The predicates that decide whether a node runs in an iteration, each with the side on which it does."""
_MOST_MEMBERS = 512
_FRAMED = 5_000.0
"""Nanoseconds that a node costs the event loop in each iteration if it has a task or a token."""
_LARGEST_BODY = 4 * LARGEST_REGION


@dataclass(frozen=True, slots=True)
class CoalescedVariable:
    """One variable: the Merge that holds it, and what the body makes of it."""

    merged: TensorId
    updated: TensorId


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The body that a `_Loop` node runs. `members` are in order, those of the condition first (`tested` is their
    number); each has its `guards`, the outer guards first. `chosen` says for a Merge which predicate decides, and its
    inputs for false and true."""

    variables: tuple[CoalescedVariable, ...]
    condition: TensorId
    members: tuple[Node, ...]
    tested: int
    guards: MappingProxyType[str, tuple[tuple[TensorId, int], ...]]
    chosen: MappingProxyType[str, tuple[TensorId, int, int]]
    aliases: MappingProxyType[TensorId, TensorId]
    """Outputs of Switches and of the LoopCond, by what they pass on."""
    cost: float
    """Expected nanoseconds of an iteration."""

    def resolved(self, tensor_id: TensorId) -> TensorId:
        """The tensor that a Switch or the LoopCond passes on; any other as it is."""
        while tensor_id in self.aliases:
            tensor_id = self.aliases[tensor_id]
        return tensor_id


def coalesce_loops(
    graph: Subgraph, mergeable: Callable[[Node], bool], partial: frozenset[TensorId] = frozenset()
) -> Subgraph:
    """Replaces loops by `_Loop` nodes, where that is allowed. `mergeable` and `partial` are those of `coalesce`."""
    kept: set[str] = set()
    while True:
        loops = frames(graph)
        around = set(loops.parent.values())
        leaves = [name for name in loops.parent if name not in around and name not in kept]
        if not leaves:
            return graph
        tokens, deadly = waits_and_deaths(graph, partial, loops)
        for name in leaves:
            replacement = _Loop(graph, loops, name, tokens, deadly).node(mergeable, partial)
            if replacement is None:
                kept.add(name)
            else:
                graph = _replaced(graph, loops, name, *replacement)
                break


class _Loop:
    """One loop without inner frames, as the pass looks at it."""

    def __init__(self, graph: Subgraph, loops: Frames, frame: str, tokens: dict[str, int], deadly: int) -> None:
        self._graph = graph
        self._frame = frame
        self._tokens = tokens
        self._deadly = deadly
        self._inside = [n for n in graph.nodes.values() if loops.of[n.name] == frame and not is_free(n)]
        self._enters = [n for n in graph.nodes.values() if n.role is roles.ENTER and n.attrs["frame_name"] == frame]
        self._guards: dict[str, Guard] = {}
        self._chosen: dict[str, tuple[TensorId, int, int]] = {}

    def node(
        self, mergeable: Callable[[Node], bool], partial: frozenset[TensorId]
    ) -> tuple[Node, dict[TensorId, TensorId]] | None:
        """The node for the loop, and where its Exits' outputs are found; None if the loop keeps its frames."""
        merges = [n for n in self._inside if n.role is roles.MERGE and self._goes_back(n)]
        conditions = [n for n in self._inside if n.role is roles.LOOP_CONDITION]
        if len(conditions) != 1 or not merges or self._disturbed() or not self._may_wait_together(partial):
            return None
        condition = conditions[0]
        body = (TensorId(condition.name, 0), 1)
        aliases: dict[TensorId, TensorId] = {TensorId(condition.name, 0): condition.inputs[0]}
        members: list[Node] = []
        exits: list[Node] = []
        cost = largest = 0.0
        for node in self._inside:
            if node in merges:
                self._guards[node.name] = frozenset()
                continue
            if not self._guard(node):
                return None
            if node.role is roles.EXIT:
                exits.append(node)
            elif node.role is roles.SWITCH:
                aliases.update({TensorId(node.name, port): node.inputs[0] for port in (0, 1)})
            elif node.role not in (roles.NEXT_ITERATION, roles.LOOP_CONDITION):
                if (body[0], 0) in self._guards[node.name]:
                    return None
                if node.role is not roles.LOOP and node.role is not roles.MERGE:
                    definition = opdef.lookup(node.op)
                    if definition.writes or definition.work is None:
                        return None
                    if not mergeable(node) or any(d.is_ref for d in node.dtypes):
                        return None
                    own = node_cost(node, self._graph)
                    cost, largest = cost + own, max(largest, own)
                members.append(node)
        if cost > self._most_cost(largest) or len(members) > _MOST_MEMBERS:
            return None
        if (variables := self._variables(merges)) is None:
            return None
        tested = [m for m in members if body not in self._guards[m.name]]
        rest = [m for m in members if body in self._guards[m.name]]
        return self._make(
            merges,
            exits,
            LoopBody(
                variables,
                condition.inputs[0],
                (*self._constants(), *tested, *rest),
                len(self._constants()) + len(tested),
                self._ordered_guards(members, body),
                MappingProxyType(self._chosen),
                MappingProxyType(aliases),
                cost,
            ),
        )

    def _most_cost(self, largest: float) -> float:
        """The most that an iteration may cost: as much as a region, or what tasks and tokens of its nodes would cost. A member
        that is for a thread allows no more than a region."""
        if largest > LARGEST_REGION:
            return LARGEST_REGION
        return max(LARGEST_REGION, min(len(self._inside) * _FRAMED, _LARGEST_BODY))

    def _ordered_guards(
        self, members: Sequence[Node], body: tuple[TensorId, int]
    ) -> MappingProxyType[str, tuple[tuple[TensorId, int], ...]]:
        """The guards of each member but `body`, outer guards first."""
        order = {m.name: i for i, m in enumerate(self._inside)}
        return MappingProxyType(
            {
                m.name: tuple(
                    sorted((g for g in self._guards[m.name] if g != body), key=lambda g: order.get(g[0].node, -1))
                )
                for m in members
            }
        )

    def _variables(self, merges: Sequence[Node]) -> tuple[CoalescedVariable, ...] | None:
        """The variables of the loop; None for a Merge of another form."""
        variables = []
        for node in merges:
            enter, following = (self._graph.nodes[e.node] for e in node.inputs)
            is_variable = enter.role is roles.ENTER and not enter.attrs["is_constant"]
            if not is_variable or following.role is not roles.NEXT_ITERATION:
                return None
            variables.append(CoalescedVariable(TensorId(node.name, 0), following.inputs[0]))
        return tuple(variables)

    def _make(
        self, merges: list[Node], exits: list[Node], body: LoopBody
    ) -> tuple[Node, dict[TensorId, TensorId]] | None:
        nodes = self._graph.nodes
        position = {v.merged: i for i, v in enumerate(body.variables)}
        outputs: list[int] = []
        moved: dict[TensorId, TensorId] = {}
        name = f"{self._frame.removesuffix('/frame')}/loop"
        for node in exits:
            source = nodes[node.inputs[0].node]
            if source.role is not roles.SWITCH or node.inputs[0].port != 0 or source.inputs[0] not in position:
                return None
            moved[TensorId(node.name, 0)] = TensorId(name, len(outputs))
            outputs.append(position[source.inputs[0]])
        constants = [n for n in self._enters if n.attrs["is_constant"]]
        first = [nodes[n.inputs[0].node] for n in merges]
        inner = [v.merged for v in body.variables] + [TensorId(n.name, 0) for n in constants]
        starts = {TensorId(n.name, 0) for n in first}
        if any(e in starts for n in self._inside if n not in merges for e in n.inputs):
            return None
        loop_node = Node(
            name=name,
            op="_Loop",
            inputs=tuple(n.inputs[0] for n in (*first, *constants)),
            controls=tuple(dict.fromkeys(c for n in self._enters for c in n.controls)),
            attrs=MappingProxyType(
                {
                    "body": body,
                    "inputs": tuple(inner),
                    "input_types": tuple(self._graph.type_of(n.inputs[0]) for n in (*first, *constants)),
                    "outputs": tuple(outputs),
                    "exits": tuple(moved),
                    "members": body.members,
                }
            ),
            dtypes=tuple(merges[i].dtypes[0] for i in outputs),
            shapes=tuple(merges[i].shapes[0] for i in outputs),
            device=merges[0].device,
            where=merges[0].where,
        )
        return loop_node, moved

    def _goes_back(self, merge: Node) -> bool:
        return any(
            e not in self._graph.feeds and self._graph.nodes[e.node].role is roles.NEXT_ITERATION for e in merge.inputs
        )

    def _disturbed(self) -> bool:
        """Whether something in the loop is fed, fetched or on another device, or a handle enters it."""
        names = {n.name for n in self._inside if n.role is not roles.EXIT}
        if any(e.node in names for e in self._graph.fetches) or any(t in names for t in self._graph.targets):
            return True
        if any(e in self._graph.feeds for n in self._inside for e in n.inputs):
            return True
        if len({n.device for n in (*self._inside, *self._enters)}) > 1:
            return True
        return any(d.is_ref for n in self._enters for d in n.dtypes)

    def _may_wait_together(self, partial: frozenset[TensorId]) -> bool:
        """Whether the whole loop may wait for all its inputs. It may not if some inputs may be dead without the rest. It
        may not either if some come later, and something asynchronous depends on what leaves the loop."""
        tokens = {self._tokens[n.name] for n in self._enters}
        if len(tokens) < 2:
            return True
        deaths = {self._tokens[n.name] & self._deadly for n in self._enters if not self._is_constant(n)}
        if partial or len(deaths) > 1:
            return False
        reached = {n.name for n in self._inside if n.role is roles.EXIT}
        for node in self._graph.nodes.values():
            if node.name not in reached and any(need in reached for need in self._graph.predecessors(node)):
                reached.add(node.name)
                if opdef.lookup(node.op).asynchronous:
                    return False
        return True

    def _is_constant(self, enter: Node) -> bool:
        source = self._graph.nodes.get(enter.inputs[0].node)
        return source is not None and is_free(source) and not enter.controls

    def _guard(self, node: Node) -> bool:
        """Finds out when `node` runs; False where that can't be said in a line."""
        edges = [self._edge(e) for e in node.inputs]
        mine: Guard = frozenset().union(*edges, *(self._guards.get(c, frozenset()) for c in node.controls))
        if node.role is roles.MERGE:
            if len(edges) != 2:
                return False
            left, right = edges[0] - edges[1], edges[1] - edges[0]
            if len(left) != 1 or len(right) != 1:
                return False
            (pred, side), (other, other_side) = next(iter(left)), next(iter(right))
            if pred != other or side == other_side:
                return False
            self._chosen[node.name] = (pred, side, other_side)
            mine = mine - left - right
        self._guards[node.name] = mine
        return True

    def _edge(self, tensor_id: TensorId) -> Guard:
        mine = self._guards.get(tensor_id.node, frozenset())
        source = self._graph.nodes[tensor_id.node]
        return (
            mine | {(source.inputs[1], tensor_id.port)}
            if source.role is roles.SWITCH and tensor_id.node in self._guards
            else mine
        )

    def _constants(self) -> list[Node]:
        nodes = self._graph.nodes
        used = dict.fromkeys(e.node for n in self._inside for e in n.inputs)
        return [nodes[name] for name in used if is_free(nodes[name])]


def _replaced(graph: Subgraph, loops: Frames, frame: str, loop: Node, moved: dict[TensorId, TensorId]) -> Subgraph:
    gone = {n.name for n in graph.nodes.values() if loops.of[n.name] == frame and frame != ROOT and not is_free(n)}
    gone |= {n.name for n in graph.nodes.values() if n.role is roles.ENTER and n.attrs["frame_name"] == frame}
    nodes: dict[str, Node] = {}
    placed = False
    for node in graph.nodes.values():
        if node.name in gone:
            if not placed:
                nodes[loop.name] = loop
                placed = True
            continue
        inputs = tuple(moved.get(e, e) for e in node.inputs)
        controls = tuple(dict.fromkeys(loop.name if c in gone else c for c in node.controls))
        nodes[node.name] = replace(node, inputs=inputs, controls=controls)
    return topological(
        replace(
            graph,
            nodes=nodes,
            fetches=tuple(moved.get(e, e) for e in graph.fetches),
            targets=tuple(dict.fromkeys(loop.name if t in gone else t for t in graph.targets)),
        )
    )
