"""The passes that save a device's memory: which of them run, and when (paper section 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from actorflow.base.registry import roles
from actorflow.engine.passes.memory.lifetimes import Feeds, Lifetimes
from actorflow.engine.passes.memory.order import order_memory
from actorflow.engine.passes.memory.rematerialize import COPY, rematerialize
from actorflow.engine.passes.memory.swap import swap
from actorflow.engine.placement.cost_model import expected_bytes
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

_MOST_SHOWN = 5
Accepts: TypeAlias = Callable[[Node], bool]


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a device, as far as passes know of it.

    threshold: bytes from which on it counts a tensor.
    budget: bytes that all its tensors may take; None without a limit.
    live: bytes that they take now.
    feeds: whether what is fed is brought into it.
    lower: whether its peak is to fall wherever it can, rather than where the budget is short only.
    swaps: whether tensors may wait in the host's memory.
    """

    threshold: int
    budget: int | None
    live: int = 0
    feeds: Feeds = "free"
    lower: bool = False
    swaps: bool = False

    def room(self, graph: Subgraph) -> int | None:
        """The bytes that are left for a step beside the variables, be they there already or not. Constants that have to be
        brought there will stay."""
        if self.budget is None:
            return None
        state = brought = 0
        for node in graph.nodes.values():
            if node.role is roles.CONSTANT and self.feeds == "counted":
                brought += self._counted(node.attrs["value"].nbytes)
            for shape, dtype in zip(node.shapes, node.dtypes):
                if dtype.is_ref and dtype.base_dtype.size:
                    state += self._counted(expected_bytes(shape, dtype.base_dtype))
        return max(0, self.budget - max(self.live, state) - brought)

    def _counted(self, nbytes: int) -> int:
        return nbytes if nbytes >= self.threshold else 0


def fit(
    graph: Subgraph, memory: Memory, merge: Callable[[Subgraph, Accepts], Subgraph], partial: frozenset[TensorId]
) -> Subgraph:
    """The part of a device with small nodes merged, in less memory as far as that is called for.

    The cheap means come first: another order; on a device with memory of its own, tensors that wait in the host's; at last
    tensors that are made again. If the memory is short, nodes that make or take large tensors are not merged with others.
    A tensor inside a region can't be swapped or made again, nor can its node change places with nodes outside.

    Args:
        merge: merges those nodes of a part that a function accepts.
        partial: feeds that come while the step runs.
    """
    merged = merge(graph, lambda node: True)
    room = memory.room(graph)
    if room is None:
        return order_memory(merged, memory.threshold, memory.feeds, partial) if memory.lower else merged
    lean = save_memory(merged, memory, partial)
    if expected_peak(lean, memory) <= room:
        return lean
    lifetimes = Lifetimes(graph, memory.threshold, memory.feeds)
    small = {node.name for at, node in enumerate(lifetimes.nodes) if lifetimes.is_light(at)}
    tried = [lean, save_memory(merge(graph, lambda node: node.name in small), memory, partial)]
    if expected_peak(tried[-1], memory) > room:
        again = rematerialize(graph, memory.threshold, room - slack(lifetimes, memory), memory.feeds, partial)
        if again is not graph:
            tried.append(save_memory(merge(again, lambda node: node.name in small), memory, partial))
    return min(reversed(tried), key=lambda node: expected_peak(node, memory))


def save_memory(graph: Subgraph, memory: Memory, partial: frozenset[TensorId] = frozenset()) -> Subgraph:
    """The part of a device in an order that takes less memory, and with tensors swapped to the host, as far as that is called
    for. If all tensors of the step together take less than half of the room, nothing is done."""
    room = memory.room(graph)
    assert room is not None, "only a budget can be too small"
    lifetimes = Lifetimes(graph, memory.threshold, memory.feeds)
    if not memory.lower and lifetimes.total() <= room // 2:
        return graph
    ordered = order_memory(graph, memory.threshold, memory.feeds, partial)
    after = Lifetimes(ordered, memory.threshold, memory.feeds)
    if not memory.swaps or after.peak(after.fifo()) <= room:
        return ordered
    return swap(ordered, memory.threshold, room - slack(after, memory), memory.feeds, partial)


def expected_peak(graph: Subgraph, memory: Memory) -> int:
    """The most bytes that a part takes beside its variables, in the order in which the runtime runs it."""
    lifetimes = Lifetimes(graph, memory.threshold, memory.feeds)
    return lifetimes.peak(lifetimes.fifo())


def explained(graph: Subgraph, part: Subgraph, memory: Memory) -> list[str]:
    """Lines for an error about the memory of a device: what its plan takes there, which tensors these are, and what was tried.

    Args:
        graph: the part as it runs.
        part: the same before anything was merged.
        memory: that of the device.
    """
    lifetimes = Lifetimes(graph, memory.threshold, memory.feeds)
    order = lifetimes.fifo()
    profile = lifetimes.profile(order)
    peak = max(profile, default=0)
    lines = [f"its plan needs {peak:,} bytes beside the variables, in the best order that was found"]
    if (room := memory.room(part)) is not None:
        lines[0] += f"; the budget leaves {room:,}"
        ops = [node.op for node in graph.nodes.values()]
        again = sum(name not in part.nodes and COPY.search(name) is not None for name in graph.nodes)
        waits = f"{ops.count('_SwapIn')} tensors wait in host memory"
        if not memory.swaps:
            waits = "no swapping, since this device has no memory of its own"
        lines.append(
            f"tried: the order of the nodes; {waits}; {again} nodes run again instead of keeping their results"
        )
    if profile:
        place = profile.index(peak)
        at = order[place]
        last = {piece: i for i, user in enumerate(order) for piece in (*lifetimes.makes[user], *lifetimes.takes[user])}
        first = {piece: i for i, user in enumerate(order) for piece in reversed(lifetimes.makes[user])}
        held = [p for p in first if first[p] <= place and (last[p] >= place or p in lifetimes.kept)]
        held.sort(key=lambda piece: -lifetimes.size[piece])
        lines.append(f"the most is in memory while {lifetimes.nodes[at].name} runs:")
        for piece in held[:_MOST_SHOWN]:
            maker = lifetimes.nodes[order[first[piece]]]
            made_at = f", made at {maker.where}" if maker.where is not None else ""
            lines.append(f"  {lifetimes.size[piece]:,} bytes of {maker.name}{made_at}")
        if len(held) > _MOST_SHOWN:
            lines.append(
                f"  {sum(lifetimes.size[p] for p in held[_MOST_SHOWN:]):,} bytes of {len(held) - _MOST_SHOWN} more"
            )
    return lines


def slack(lifetimes: Lifetimes, memory: Memory) -> int:
    """The memory that is left free for unknown needs: where kernels take memory from the device for themselves, two of the
    largest tensors."""
    return 2 * max(lifetimes.size, default=0) if memory.feeds == "counted" else 0
