"""Tensors that are made a second time instead of being kept: how a step runs in less memory on any device (paper section 4.1).

A forward pass makes what only the backward pass uses again, much later. If the expected peak of a device is above its
limit, this pass lets such tensors go behind their near uses, and puts copies of the nodes that make them before the far
uses:

    h0 ──► a ──► h1 ──► b ──► h2 ──► its near uses
    h0 ──► a' ─► h1' ─► b' ─► h2' ─► its far uses

A copy takes what is in memory anyway at its place, and else another copy. So of a chain some tensors have to stay, from which
the others are made: about the square root of its length. How much may be dropped in a row is tried out, on the expected
lifetimes; the cheapest choice that fits is taken, or else the lowest peak.

Only nodes without state are copied, whose results depend on their inputs alone: the bits are those of a step that keeps all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from actorflow.base.registry import opdef, roles
from actorflow.engine.passes.memory.lifetimes import Feeds, Lifetimes
from actorflow.engine.passes.memory.order import OrderLine, best_order, delayed
from actorflow.engine.placement.cost_model import node_cost
from actorflow.graph.analysis.cooperative import yield_interpreter, yielding
from actorflow.graph.analysis.frames import PRIMITIVES, ROOT, frames
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId

COPY = re.compile(r"/again_\d+$")
"""The end of a copy's name."""
_ROUNDS = 3
"""Copies may be made again themselves."""
_LONG = 8
"""A time without use is long from this part of the step on."""
_SHARES = 12
"""The number of sizes that are tried for tensors that are dropped in a row."""
_NONE = -1
"""No piece of memory: something failed."""
_READS = (roles.READ, roles.READ_OR)


def rematerialize(
    graph: Subgraph,
    threshold: int,
    room: int,
    feeds: Feeds = "free",
    partial: frozenset[TensorId] = frozenset(),
) -> Subgraph:
    """The graph in an order, and with copies of nodes, that bring the expected peak down to `room` bytes, or as near as they
    can. The graph stays as it is if the peak is below already, or nothing helps. `threshold`, `feeds` and `partial` are as
    in `order_memory`."""
    for _ in range(_ROUNDS):
        lifetimes = Lifetimes(graph, threshold, feeds)
        plain = lifetimes.fifo()
        order = best_order(lifetimes, plain)
        before = lifetimes.peak(plain)
        if lifetimes.peak(order) <= room:
            break
        choice = _DropSearch(lifetimes, order, room, partial).run()
        if choice is None or choice.peak >= before:
            break
        graph = choice.graph
    return graph


@dataclass(frozen=True, slots=True)
class _Gap:
    """A time in which a piece of memory is not used: `length` places from the place `after` on."""

    piece: int
    after: int
    length: int


@dataclass(frozen=True, slots=True)
class _Choice:
    """A graph with copies, its expected peak in bytes, and the nanoseconds that the copies take."""

    graph: Subgraph
    peak: int
    cost: float


@dataclass(slots=True)
class _NodeCopies:
    """The copies for one choice of what is dropped. `order` are the names of all nodes, in their new order."""

    dropped: dict[int, int]
    made: dict[str, Node] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    inputs: dict[str, tuple[TensorId, ...]] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)


class _DropSearch:
    """The choice of what is dropped, for one order of the nodes."""

    def __init__(self, lifetimes: Lifetimes, order: Sequence[int], room: int, partial: frozenset[TensorId]) -> None:
        self.known = lifetimes
        self._order = order
        self._room = room
        self._partial = partial
        self._root = {name for name, frame in frames(lifetimes.graph).of.items() if frame == ROOT}
        self._places: list[list[int]] = [[] for _ in lifetimes.size]
        for place, at in enumerate(order):
            for piece in dict.fromkeys((*lifetimes.makes[at], *lifetimes.takes[at])):
                self._places[piece].append(place)
        self._makers = {piece: at for at, pieces in enumerate(lifetimes.makes) for piece in pieces}
        self._writes = self._first_writes()

    def run(self) -> _Choice | None:
        """The cheapest choice that fits; else the choice with the lowest peak; None if nothing can be dropped."""
        live = self.known.profile(self._order)
        crowded = [place for place, nbytes in enumerate(live) if nbytes > self._room]
        gaps = self._gaps(crowded)
        tried: set[tuple[int, ...]] = set()
        choices: list[_Choice] = []
        cheap = [gap for gap in gaps if self._is_cheap(gap.piece)]
        long = [gap for gap in gaps if gap.length > len(self._order) // _LONG]
        for some in (cheap, long, gaps):
            total = sum(self.known.size[gap.piece] for gap in some)
            for share in range(1, _SHARES + 1):
                yield_interpreter()
                dropped = self._dropped(some, total * share // _SHARES)
                if not dropped or tuple(dropped) in tried:
                    continue
                tried.add(tuple(dropped))
                choice = self._with_copies(dropped)
                if choice is not None:
                    choices.append(choice)
            if any(choice.peak <= self._room for choice in choices):
                break
        return min(choices, key=lambda choice: (max(0, choice.peak - self._room), choice.cost), default=None)

    # The tensors that may be dropped

    def _gaps(self, crowded: Sequence[int]) -> list[_Gap]:
        """For each piece of memory that can be made again the longest time in which it lies unused while too much is in memory,
        in the order in which the pieces are made."""
        lifetimes = self.known
        gaps_found: list[tuple[int, _Gap]] = []
        for piece, at in yielding(self._makers.items()):
            if piece in lifetimes.kept or not self._can_be_copied(lifetimes.nodes[at]):
                continue
            gaps = [
                _Gap(piece, after, before - after)
                for after, before in pairwise(self._places[piece])
                if before - after > 1 and bisect_right(crowded, after) != bisect_right(crowded, before - 1)
            ]
            if gaps:
                gaps_found.append((self._places[piece][0], max(gaps, key=lambda gap: gap.length)))
        return [gap for _, gap in sorted(gaps_found, key=lambda pair: pair[0])]

    def _dropped(self, gaps: Sequence[_Gap], most: int) -> dict[int, int]:
        """Of the gaps those that are used: up to `most` bytes in a row, behind which one piece stays. For each piece the place
        behind which it is gone."""
        row = 0
        dropped: dict[int, int] = {}
        for gap in gaps:
            size = self.known.size[gap.piece]
            if row + size > most:
                row = 0
            else:
                row += size
                dropped[gap.piece] = gap.after
        return dropped

    def _can_be_copied(self, node: Node) -> bool:
        if node.role in PRIMITIVES or node.role is roles.REGION or node.name not in self._root:
            return False
        definition = opdef.lookup(node.op)
        if definition.stateful or definition.asynchronous or definition.fires_dead or definition.emits_dead:
            return False
        graph = self.known.graph
        return not any(dtype.is_ref for dtype in node.dtypes) and not any(
            graph.type_of(e)[0].is_ref for e in node.inputs
        )

    def _is_cheap(self, piece: int) -> bool:
        return not callable(opdef.lookup(self.known.nodes[self._makers[piece]].op).work)

    def _first_writes(self) -> dict[str, int]:
        """For each variable, by its handle, the place at which it is written first."""
        places: dict[str, int] = {}
        for place, at in enumerate(self._order):
            node = self.known.nodes[at]
            if opdef.lookup(node.op).writes:
                for handle in node.inputs:
                    if self.known.graph.type_of(handle)[0].is_ref:
                        places.setdefault(handle.node, place)
        return places

    # Copies

    def _with_copies(self, dropped: dict[int, int]) -> _Choice | None:
        lifetimes = self.known
        copies = self._copied(dropped)
        while copies.failed:
            dropped = {piece: after for piece, after in dropped.items() if piece not in copies.failed}
            copies = self._copied(dropped)
        if not copies.made:
            return None
        graph = self._laid_down(copies)
        after = Lifetimes(graph, lifetimes.threshold, self.known.feeds)
        cost = sum(node_cost(node, graph) for node in copies.made.values())
        return _Choice(graph, after.peak(after.fifo()), cost)

    def _copied(self, dropped: dict[int, int]) -> _NodeCopies:
        """The copies without which those far uses that come behind a gap have no input; up to the first that can't be made."""
        lifetimes = self.known
        copies = _NodeCopies(dropped)
        for place, at in enumerate(self._order):
            node = lifetimes.nodes[at]
            inputs: list[TensorId] = []
            for tensor_id in node.inputs:
                gone = {piece for piece in lifetimes.held.get(tensor_id, ()) if dropped.get(piece, place) < place}
                inputs.append(self._again(copies, tensor_id, place) if gone else tensor_id)
                if copies.failed:
                    copies.failed &= dropped.keys()
                    copies.failed |= gone
                    return copies
            if tuple(inputs) != node.inputs:
                copies.inputs[node.name] = tuple(inputs)
            copies.order.append(node.name)
        return copies

    def _is_there(self, copies: _NodeCopies, tensor_id: TensorId, place: int) -> bool:
        """Whether a tensor is in memory at a place without having to stay there for a copy."""
        return all(
            copies.dropped.get(piece, place) >= place and (piece in self.known.kept or self._last(piece) >= place)
            for piece in self.known.held.get(tensor_id, ())
        )

    def _last(self, piece: int) -> int:
        return self._places[piece][-1] if piece in self._makers else len(self._order)

    def _again(self, copies: _NodeCopies, tensor_id: TensorId, place: int) -> TensorId:
        """The tensor that a copy makes in the place of this tensor, by copies that run before the node at `place`."""
        name = copies.names.get(tensor_id.node)
        if name is None:
            name = copies.names[tensor_id.node] = _name(tensor_id.node, self.known.graph)
            node = self.known.graph.nodes[tensor_id.node]
            if not self._can_be_copied(node) or self._is_overwritten(node, place):
                copies.failed.update(self.known.held.get(tensor_id, ()))
                copies.failed.add(_NONE)
                return tensor_id
            inputs = tuple(
                e if self._is_there(copies, e, place) else self._again(copies, e, place) for e in node.inputs
            )
            copies.made[name] = replace(node, name=name, inputs=inputs)
            copies.order.append(name)
        return TensorId(name, tensor_id.port)

    def _is_overwritten(self, node: Node, place: int) -> bool:
        """Whether a node takes a variable's value that has been overwritten: then that would have to stay in memory."""
        return any(self._writes.get(handle, place) < place for handle in self._handles(node))

    def _handles(self, node: Node) -> list[str]:
        nodes = self.known.graph.nodes
        reads = [nodes[e.node] for e in node.inputs if e.node in nodes and nodes[e.node].role in _READS]
        return [read.inputs[0].node for read in reads]

    def _laid_down(self, copies: _NodeCopies) -> Subgraph:
        """The graph with the copies in their order. Nodes that write a variable wait for the copies that take its
        value."""
        graph = self.known.graph
        readers: dict[str, list[str]] = {}
        for node in copies.made.values():
            for handle in self._handles(node):
                readers.setdefault(handle, []).append(node.name)
        nodes: list[Node] = []
        for node in graph.nodes.values():
            controls = node.controls
            if opdef.lookup(node.op).writes:
                controls += tuple(name for e in node.inputs for name in readers.get(e.node, ()))
            nodes.append(
                replace(node, inputs=copies.inputs.get(node.name, node.inputs), controls=tuple(dict.fromkeys(controls)))
            )
        sizes = dict(graph.sizes)
        for origin, name in copies.names.items():
            for port in range(len(graph.nodes[origin].dtypes)):
                if (size := graph.sizes.get(TensorId(origin, port))) is not None:
                    sizes[TensorId(name, port)] = size
        subgraph = topological(replace(graph.with_nodes([*nodes, *copies.made.values()]), sizes=sizes))
        lifetimes = Lifetimes(subgraph, self.known.threshold, self.known.feeds)
        mine = [lifetimes.index[name] for name in copies.order]
        order = min(mine, delayed(lifetimes, mine), key=lifetimes.peak)
        return OrderLine(lifetimes, order, self._partial).laid_down()


def _name(name: str, graph: Subgraph) -> str:
    number = 0
    while (candidate := f"{name}/again_{number}") in graph.nodes:
        number += 1
    return candidate
