"""What the passes do about a device's memory: which of them run, and when (paper section 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from actorflow.analysis.subgraph import Subgraph
from actorflow.graph.node import Endpoint, Node
from actorflow.passes.memory.lifetimes import Feeds, Lifetimes
from actorflow.passes.memory.order import best_order, order_memory
from actorflow.passes.memory.swap import swap
from actorflow.placement.cost_model import expected_bytes


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a device, as far as passes know of it.

    threshold: bytes from which on it counts a tensor.
    budget: bytes that all its tensors may take; None where there is no limit.
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
            if node.op == "Const" and self.feeds == "counted":
                brought += self._counted(node.attrs["value"].nbytes)
            for shape, dtype in zip(node.shapes, node.dtypes):
                if dtype.is_ref and dtype.base_dtype.size:
                    state += self._counted(expected_bytes(shape, dtype.base_dtype))
        return max(0, self.budget - max(self.live, state) - brought)

    def _counted(self, nbytes: int) -> int:
        return nbytes if nbytes >= self.threshold else 0


def without_large(graph: Subgraph, memory: Memory, mergeable: Callable[[Node], bool]) -> Callable[[Node], bool]:
    """Which nodes may be merged with others: where memory is short only those that make and take small tensors, since what is
    inside of a region can't be swapped. `graph` is the part before anything is merged."""
    room = memory.room(graph)
    if room is None or not memory.swaps:
        return mergeable
    known = Lifetimes(graph, memory.threshold, memory.feeds)
    if known.total() <= room or known.peak(best_order(known, known.fifo())) <= room:
        return mergeable
    small = {node.name for at, node in enumerate(known.nodes) if known.is_light(at)}
    return lambda node: node.name in small and mergeable(node)


def save_memory(graph: Subgraph, memory: Memory, partial: frozenset[Endpoint] = frozenset()) -> Subgraph:
    """The part of a device in an order that takes less memory, and with tensors swapped to the host, as far as that is called
    for. Where all tensors of the step together take less than half of the room, nothing is."""
    room = memory.room(graph)
    if room is None:
        return order_memory(graph, memory.threshold, memory.feeds, partial) if memory.lower else graph
    known = Lifetimes(graph, memory.threshold, memory.feeds)
    if not memory.lower and known.total() <= room // 2:
        return graph
    ordered = order_memory(graph, memory.threshold, memory.feeds, partial)
    after = Lifetimes(ordered, memory.threshold, memory.feeds)
    if not memory.swaps or after.peak(after.fifo()) <= room:
        return ordered
    return swap(ordered, memory.threshold, room - slack(after, memory), memory.feeds, partial)


def slack(known: Lifetimes, memory: Memory) -> int:
    """What is left free for what is not known: where kernels take memory from the device for themselves, two of the largest
    tensors."""
    return 2 * max(known.size, default=0) if memory.feeds == "counted" else 0
