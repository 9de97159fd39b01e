"""Which nodes run before which, whatever the order of the ready queue.

A node is looked at once for each time that a run may execute it. A loop counts as two iterations and the last look at its
condition, as far as its edges let them overlap. A run takes one of two branches, so nodes of both are never in one run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import product
from typing import NamedTuple

from actorflow.base.registry import opdef
from actorflow.graph.analysis.frames import ROOT, frames, is_free
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

_LAST = 2
"""The number of the iteration in which a loop's condition does not hold."""


class Instance(NamedTuple):
    """One execution of a node; `tag` has the numbers of the iterations around it, outer numbers first."""

    node: str
    tag: tuple[int, ...] = ()


class Choice(NamedTuple):
    """The value that a predicate must have for a node to run. The predicate is a tensor in one iteration."""

    pred: TensorId
    tag: tuple[int, ...]
    value: bool

    def other(self) -> Choice:
        return self._replace(value=not self.value)


class _Edge(NamedTuple):
    """An event that an execution waits for. Through a Switch a live token comes under a choice; on an edge that is
    `dead` none comes."""

    source: Instance
    choice: Choice | None = None
    dead: bool = False


@dataclass(slots=True)
class HappensBefore:
    """The order between some executions of nodes, as sets of bits: bit `i` stands for `instances[i]`.

    `before[i]` are those that have ended when `instances[i]` begins, and all come earlier in the list. `never_with[i]` are
    those that no run executes together with it.
    """

    instances: list[Instance] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    never_with: list[int] = field(default_factory=list)


def happens_before(graph: Subgraph, of_interest: Iterable[str], values: Iterable[str] = ()) -> HappensBefore:
    """The order between all executions of some nodes.

    Args:
        graph: what one run executes, in a topological order, with the calls of functions expanded.
        of_interest: the names of the nodes.
        values: those of which only the value matters: where only a branch takes it, such a node counts as part of the
            branch.

    Raises:
        InvalidArgumentError: an edge leads from one loop into another.
    """
    fetched = {tensor_id.node for tensor_id in graph.fetches}
    return _Order(_Unrolled(graph)).between(frozenset(of_interest), frozenset(values) - fetched)


class _Unrolled:
    """All executions of a graph's nodes, and what each waits for: by data edges, and by control edges."""

    def __init__(self, graph: Subgraph) -> None:
        self.nodes = graph.nodes
        self._frames = frames(graph)
        self.needs: dict[Instance, tuple[list[_Edge], list[_Edge]]] = {}
        depths = {frame: len(self._around(frame)) for frame in (ROOT, *self._frames.parent)}
        tags = {depth: list(product(range(_LAST + 1), repeat=depth)) for depth in set(depths.values())}
        for node in graph.nodes.values():
            for tag in tags[depths[self._frames.of[node.name]]]:
                data = [edge for e in node.inputs if (edge := self._edge(node, tag, e)) is not None]
                controls = [edge for c in node.controls if (edge := self._edge(node, tag, TensorId(c, -1))) is not None]
                self.needs[Instance(node.name, tag)] = data, controls
        serial = {n.attrs["frame_name"] for n in graph.nodes.values() if n.op == "Enter" and _is_serial(n)}
        for frame in serial:
            self._one_at_a_time(frame)

    def _around(self, frame: str) -> list[str]:
        """A frame and those around it."""
        enclosing = []
        while frame != ROOT:
            enclosing.append(frame)
            frame = self._frames.parent[frame]
        return enclosing

    def _edge(self, node: Node, tag: tuple[int, ...], tensor_id: TensorId) -> _Edge | None:
        """The edge on which `node` waits in the iteration `tag`; None if there is nothing to wait for."""
        source = self.nodes[tensor_id.node]
        if is_free(source):
            return None
        match source.op:
            case "NextIteration":
                return _Edge(Instance(source.name, (*tag[:-1], tag[-1] - 1))) if tag[-1] else None
            case "Enter":
                return None if node.op == "Merge" and tag[-1] else _Edge(Instance(source.name, tag[:-1]))
            case "Exit":
                return _Edge(Instance(source.name, (*tag, _LAST)))
            case "Switch" if tensor_id.port >= 0:
                pred, at = self._pred(source.inputs[1], tag)
                if self.nodes[pred.node].op == "LoopCond":
                    return _Edge(Instance(source.name, tag), dead=(at[-1] < _LAST) != bool(tensor_id.port))
                return _Edge(Instance(source.name, tag), Choice(pred, at, bool(tensor_id.port)))
        return _Edge(Instance(source.name, tag))

    def _pred(self, tensor_id: TensorId, tag: tuple[int, ...]) -> tuple[TensorId, tuple[int, ...]]:
        """The source of a predicate, and in which iteration."""
        while (node := self.nodes[tensor_id.node]).op in ("Identity", "Switch", "Enter"):
            tensor_id = node.inputs[0]
            if node.op == "Enter":
                tag = tag[:-1]
        return tensor_id, tag

    def _one_at_a_time(self, frame: str) -> None:
        """An iteration of this loop begins after the end of the whole iteration before it."""
        depth = len(self._around(frame))
        inside = {other for other in self._frames.parent if frame in self._around(other)}
        members: dict[tuple[int, ...], list[Instance]] = {}
        for instance in self.needs:
            if self._frames.of.get(instance.node) in inside:
                members.setdefault(instance.tag[:depth], []).append(instance)
        for tag, theirs in members.items():
            if tag[-1]:
                over = Instance(f"{frame} is over", (*tag[:-1], tag[-1] - 1))
                self.needs[over] = [], [_Edge(member) for member in members[over.tag]]
                for instance in theirs:
                    self.needs[instance][1].append(_Edge(over))


def _is_serial(enter: Node) -> bool:
    return bool(enter.attrs["parallel_iterations"] == 1)


class _Order:
    """The order of all executions, and the choices under which each happens: None if it never happens."""

    def __init__(self, unrolled: _Unrolled) -> None:
        self._nodes, self._needs = unrolled.nodes, unrolled.needs
        sources = {i: [edge.source for edge in (*data, *controls)] for i, (data, controls) in self._needs.items()}
        self._order = list(TopologicalSorter(sources).static_order())
        self._choices: dict[Instance, frozenset[Choice] | None] = {}
        for instance in self._order:
            self._choices[instance] = self._under(instance)

    def _is_merge(self, instance: Instance) -> bool:
        node = self._nodes.get(instance.node)
        return node is not None and node.op == "Merge"

    def _under(self, instance: Instance) -> frozenset[Choice] | None:
        """The condition of an execution whose sources are known."""
        node = self._nodes.get(instance.node)
        if node is None or node.op != "Merge" and opdef.lookup(node.op).fires_dead:
            return frozenset()
        data, controls = self._needs[instance]
        choices: frozenset[Choice] = frozenset()
        if node.op == "Merge":
            alive = [some for edge in data if (some := self._along(edge)) is not None]
            if not alive:
                return None
            choices, data = frozenset.intersection(*alive), []
        for edge in (*data, *controls):
            some = self._along(edge)
            if some is None:
                return None
            if not some <= choices:
                choices = choices | some
        return None if any(choice.other() in choices for choice in choices) else choices

    def _along(self, edge: _Edge) -> frozenset[Choice] | None:
        """The condition of a live token on an edge."""
        choices = self._choices[edge.source]
        if choices is None or edge.dead or edge.choice is None:
            return None if edge.dead else choices
        return choices | {edge.choice}

    def _used_under(self, values: frozenset[str]) -> dict[Instance, frozenset[Choice]]:
        """For the executions of `values`, and of what passes them on, what has to hold for something to take the value."""
        takers: dict[Instance, list[tuple[Instance, _Edge]]] = {}
        used: dict[Instance, frozenset[Choice]] = {}
        for instance in reversed(self._order):
            own = self._choices[instance]
            if own is None:
                continue
            node = self._nodes.get(instance.node)
            if node is not None and (node.name in values or node.op in ("Switch", "Identity")):
                ways = [
                    used.get(taker, choices) | ({edge.choice} if edge.choice is not None else frozenset())
                    for taker, edge in takers.get(instance, ())
                    if (choices := self._choices[taker]) is not None and not edge.dead
                ]
                used[instance] = own | frozenset.intersection(*ways) if ways else own
            for edge in self._needs[instance][0]:
                takers.setdefault(edge.source, []).append((instance, edge))
        return used

    def between(self, of_interest: frozenset[str], values: frozenset[str]) -> HappensBefore:
        """The order between the executions of some nodes. An execution of `values` counts only if something takes its value."""
        order = HappensBefore()
        bits: dict[Instance, int] = {}
        taking: dict[Choice, int] = {}
        under: dict[Instance, frozenset[Choice] | None] = dict(self._choices)
        if values:
            used = self._used_under(values)
            under.update((i, assumed) for i, assumed in used.items() if i.node in values)
        for instance in self._order:
            choices = under[instance]
            if instance.node in of_interest and choices is not None:
                bits[instance] = bit = 1 << len(order.instances)
                order.instances.append(instance)
                for choice in choices:
                    taking[choice] = taking.get(choice, 0) | bit

        def never_with(choices: frozenset[Choice]) -> int:
            bits_of_others = 0
            for choice in choices:
                bits_of_others |= taking.get(choice.other(), 0)
            return bits_of_others

        ended: dict[Instance, int] = {}
        for instance in self._order:
            data, controls = self._needs[instance]
            before = 0
            if self._is_merge(instance):
                # one live token is enough: before it is what is before each, or not in a run where that one comes
                ways = [ended[e.source] | never_with(some) for e in data if (some := self._along(e)) is not None]
                before = ways[0] if ways else 0
                for way in ways:
                    before &= way
                data = []
            for edge in (*data, *controls):
                before |= ended[edge.source]
            bit = bits.get(instance, 0)
            ended[instance] = before | bit
            if bit:
                order.before.append(before)
                order.never_with.append(never_with(under[instance] or frozenset()))
        return order
