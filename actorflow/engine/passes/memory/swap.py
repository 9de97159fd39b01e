"""Tensors that leave for the host between two uses: how a step runs in less memory than its tensors take (paper section 4.1).

A forward pass makes what only the backward pass uses again, much later. If the expected peak of a device is above its
limit, this pass puts nodes between such uses:

    h ──► its near uses                      the copy to the host begins as soon as there is an h
    h ──► _SwapOut ──► _SwapIn ──► far uses
             └─► ^release   ^trigger ─┘

The order of the nodes has to be known, or lifetimes would mean nothing, so it is laid down first (`order_memory`). `release` is
the first node that needs the memory of h: it waits for the copy, at whose end no one holds h any more. `trigger` is early
enough before the far use for the copy back to be done in time, and late enough for there to be room. The tensor
to swap is chosen at the highest peak again and again: the tensor that is away longest for its size.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from types import MappingProxyType

from actorflow.base.registry import roles
from actorflow.engine.passes.memory.lifetimes import Feeds, Lifetimes, inside
from actorflow.engine.passes.memory.order import OrderLine, best_order
from actorflow.engine.placement.cost_model import node_cost
from actorflow.graph.analysis.cooperative import yield_interpreter, yielding
from actorflow.graph.analysis.frames import PRIMITIVES
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId

_PER_BYTE = 0.1
"""Nanoseconds for copying a byte to the host or back."""
_AHEAD = 2.0
"""A copy begins this many times its expected duration before its result is used."""
_MOST_SWAPS = 1024


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a tensor is not used. `after` and `before` are the places in the order of the nodes that use it (or make
    it) last before and first behind; `tensor_id` is the only tensor by which its memory is held meanwhile."""

    piece: int
    tensor_id: TensorId
    after: int
    before: int


@dataclass(frozen=True, slots=True)
class Swap:
    """A gap that is spent in host memory. It lasts from the node at the place `release`, which waits for the copy to the
    host, to the node at `trigger`, behind which the copy back begins."""

    gap: Gap
    release: int
    trigger: int


def swap(
    graph: Subgraph,
    threshold: int,
    room: int,
    feeds: Feeds = "free",
    partial: frozenset[TensorId] = frozenset(),
) -> Subgraph:
    """The graph with swaps that bring the expected peak down to `room` bytes, or as near as they can. The graph stays as it is
    if the peak is below already, or nothing can be swapped. `threshold`, `feeds` and `partial` are as in `order_memory`."""
    lifetimes = Lifetimes(graph, threshold, feeds)
    order = best_order(lifetimes, lifetimes.fifo())
    if lifetimes.peak(order) <= room:
        return graph
    search = _SwapSearch(lifetimes, OrderLine(lifetimes, order, partial), order, room)
    swaps = search.run()
    return _rewritten(lifetimes, search.line, order, swaps) if swaps else graph


class _SwapSearch:
    """The choice of swaps for one order of the nodes."""

    def __init__(self, lifetimes: Lifetimes, line: OrderLine, order: Sequence[int], room: int) -> None:
        self.known = lifetimes
        self.line = line
        self._order = order
        self._room = room
        self._live = lifetimes.profile(order)
        self._fixed: list[int] = [place for place, at in enumerate(order) if line.can_be_ordered(at)]
        costs = [_cost(lifetimes.nodes[at], lifetimes) for at in order]
        self._ends = list(accumulate(costs))
        self._begins = [end - cost for end, cost in zip(self._ends, costs)]
        self._place = {at: place for place, at in enumerate(order)}
        self._uses: dict[TensorId, list[int]] = {}
        for place, at in enumerate(order):
            for tensor_id in dict.fromkeys(lifetimes.nodes[at].inputs):
                self._uses.setdefault(tensor_id, []).append(place)

    def run(self) -> list[Swap]:
        """The swaps, chosen singly at the highest peak of memory, until all is below the limit or nothing helps."""
        gaps = self._gaps()
        chosen: list[Swap] = []
        given_up: set[int] = set()
        while len(chosen) < _MOST_SWAPS:
            yield_interpreter()
            live = self._live
            crowded = [place for place, nbytes in enumerate(live) if nbytes > self._room]
            peak = max((p for p in crowded if p not in given_up), key=lambda place: (live[place], -place), default=None)
            if peak is None:
                break
            swaps = [self._timed(gap, crowded) for gap in gaps if gap.after < peak < gap.before]
            best = max((candidate for candidate in swaps if candidate is not None), key=self._worth, default=None)
            if best is None:
                given_up.add(peak)
                continue
            gaps.remove(best.gap)
            chosen.append(best)
            for place in range(best.release, best.trigger + 1):
                live[place] -= self.known.size[best.gap.piece]
        return chosen

    def _gaps(self) -> list[Gap]:
        """All times in which the memory of a tensor that can be swapped is held and not used."""
        lifetimes = self.known
        holders: dict[int, list[TensorId]] = {}
        for tensor_id, pieces in lifetimes.held.items():
            for piece in pieces:
                holders.setdefault(piece, []).append(tensor_id)
        births = {piece: self._place[at] for at, pieces in enumerate(lifetimes.makes) for piece in pieces}
        gaps: list[Gap] = []
        for piece, born in yielding(births.items()):
            if piece in lifetimes.kept:
                continue
            tensors = [e for e in holders.get(piece, ()) if e in self._uses]
            places = sorted({born, *(place for e in tensors for place in self._uses[e])})
            for after, before in pairwise(places):
                late = [e for e in tensors if self._made_at(e) <= after and self._uses[e][-1] >= before]
                if before - after > 1 and len(late) == 1 and self._can_swap(late[0], before):
                    gaps.append(Gap(piece, late[0], after, before))
        return gaps

    def _made_at(self, tensor_id: TensorId) -> int:
        return self._place[self.known.index[tensor_id.node]]

    def _can_swap(self, tensor_id: TensorId, before: int) -> bool:
        """Whether a tensor holds one piece of memory alone, is an array, and is made and used outside of loops and branches."""
        dtype, _ = self.known.graph.type_of(tensor_id)
        if dtype.is_ref or dtype.kind not in "biufc" or len(self.known.held[tensor_id]) != 1:
            return False
        nodes = [self.known.index[tensor_id.node], *(self._order[p] for p in self._uses[tensor_id] if p >= before)]
        return all(self.line.in_root[at] and self.known.nodes[at].role not in PRIMITIVES for at in nodes)

    def _timed(self, gap: Gap, crowded: Sequence[int]) -> Swap | None:
        """When the tensor of a gap leaves and comes back so that it is away at all of its places that are crowded; None where no
        nodes are there to wait for."""
        first = crowded[bisect_left(crowded, gap.after + 1)]
        last = crowded[bisect_left(crowded, gap.before) - 1]
        takes = self.known.size[gap.piece] * _PER_BYTE * _AHEAD
        maker = self.known.index[gap.tensor_id.node]
        out = self._ends[self._place[maker]] + takes
        release = self._nearest(
            gap.after + 1, first, bisect_left(self._begins, out), lambda at: self._follows(maker, at)
        )
        late = [self._order[place] for place in self._uses[gap.tensor_id] if place >= gap.before]
        needed = bisect_right(self._ends, self._begins[gap.before] - takes) - 1
        trigger = self._nearest(
            last, gap.before - 1, needed, lambda at: all(self._follows(at, user) for user in late), later_first=False
        )
        return None if release is None or trigger is None else Swap(gap, release, trigger)

    def _follows(self, first: int, second: int) -> bool:
        return self.line.may_follow(first, second)

    def _nearest(
        self, first: int, last: int, target: int, fits: Callable[[int], bool], *, later_first: bool = True
    ) -> int | None:
        """The place nearest to `target`, among those from `first` to `last` whose nodes have a fixed order and fit. Places
        behind `target` come first, then those before; with `later_first` false it is the other way round."""
        fixed = self._fixed
        low, middle, high = (
            bisect_left(fixed, first),
            bisect_left(fixed, target + (not later_first)),
            bisect_right(fixed, last),
        )
        middle = min(max(middle, low), high)
        before, behind = range(middle - 1, low - 1, -1), range(middle, high)
        around = (*behind, *before) if later_first else (*before, *behind)
        return next((fixed[at] for at in around if fits(self._order[fixed[at]])), None)

    def _worth(self, candidate: Swap) -> tuple[bool, float]:
        """A tensor that is away for so long that its copies take no time goes first, then the tensor that is away
        longest for its size."""
        away = self._begins[candidate.gap.before] - self._ends[candidate.gap.after]
        size = self.known.size[candidate.gap.piece]
        return away >= 2 * size * _PER_BYTE, away * size


def _cost(node: Node, lifetimes: Lifetimes) -> float:
    """The expected nanoseconds of a node, or of a region's members."""
    if node.role is not roles.REGION:
        return node_cost(node, lifetimes.graph)
    inner = inside(node, lifetimes.graph, lifetimes.threshold)
    return sum(node_cost(member, inner.graph) for member in inner.nodes)


def _rewritten(lifetimes: Lifetimes, line: OrderLine, order: Sequence[int], swaps: Sequence[Swap]) -> Subgraph:
    """The graph with the order laid down, and the nodes of the swaps."""
    graph = line.laid_down()
    names = [lifetimes.nodes[at].name for at in order]
    controls: dict[str, list[str]] = {}
    inputs: dict[str, dict[TensorId, TensorId]] = {}
    copies: list[Node] = []
    released: dict[int, list[str]] = {}
    by_tensor: dict[TensorId, list[Swap]] = {}
    for exchange in swaps:
        by_tensor.setdefault(exchange.gap.tensor_id, []).append(exchange)
        released.setdefault(exchange.release, []).append(_out(exchange.gap.tensor_id))
        controls.setdefault(names[exchange.release], []).append(_out(exchange.gap.tensor_id))
    fixed = [place for place, at in enumerate(order) if line.can_be_ordered(at)]
    for tensor_id, some in by_tensor.items():
        maker = graph.nodes[tensor_id.node]
        dtype, shape = graph.type_of(tensor_id)
        out = Node(
            name=_out(tensor_id),
            op="_SwapOut",
            inputs=(tensor_id,),
            attrs=MappingProxyType({}),
            dtypes=(dtype,),
            shapes=(shape,),
            device=maker.device,
            where=maker.where,
        )
        copies.append(out)
        some.sort(key=lambda candidate: candidate.gap.before)
        for number, exchange in enumerate(some):
            # The next node may be the node that waits for others' memory: so this copy, which runs beside it, waits as well.
            following = bisect_left(fixed, exchange.trigger + 1)
            others = released.get(fixed[following], []) if following < len(fixed) else []
            back = replace(
                out,
                name=f"{tensor_id.node}/_{tensor_id.port}/swapped_in_{number}",
                op="_SwapIn",
                inputs=(TensorId(out.name, 0),),
                controls=(names[exchange.trigger], *(other for other in others if other != out.name)),
            )
            copies.append(back)
            until = some[number + 1].gap.before if number + 1 < len(some) else len(order)
            for place in range(exchange.gap.before, until):
                if tensor_id in lifetimes.nodes[order[place]].inputs:
                    inputs.setdefault(names[place], {})[tensor_id] = TensorId(back.name, 0)
    nodes = [
        replace(
            node,
            inputs=tuple(inputs.get(node.name, {}).get(e, e) for e in node.inputs),
            controls=tuple(dict.fromkeys((*node.controls, *controls.get(node.name, ())))),
        )
        for node in yielding(graph.nodes.values())
    ]
    sizes = {TensorId(node.name, 0): graph.size_of(node.inputs[0]) for node in copies if node.role is roles.SWAP_OUT}
    sizes |= {TensorId(node.name, 0): sizes[node.inputs[0]] for node in copies if node.role is roles.SWAP_IN}
    return topological(replace(graph.with_nodes([*nodes, *copies]), sizes={**graph.sizes, **sizes}))


def _out(tensor_id: TensorId) -> str:
    return f"{tensor_id.node}/_{tensor_id.port}/swapped_out"
