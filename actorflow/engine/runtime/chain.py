"""Chains: what a device's thread goes on with after a heavy kernel, without a word to the event loop in between.

A hop to the thread and back costs 30 to 100 µs on an idle machine, and on a busy machine as many waits for a core. So when a
kernel on the thread has ended, the thread itself looks who waits for that result alone. No one but this kernel can fire such a
node, so the thread may run it: the loop learns of all results in the end, in one go.

A chain ends when it has run all that it may, and when the step is stopped. It ends when a node becomes ready that is the
loop's and that somebody else waits for (a Send, or what leads to a Send). It also ends when work of another step waits for
the thread, or work of this step whose rank is as high. It ends before a heavy kernel, too, where a small node that others
wait for became ready with it, which need not wait on the loop. Nodes that are ready then and that are small, such as updates
of variables, the loop fires as always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorflow.engine.runtime.diagnostics.costs import INLINE_LIMIT_NS
from actorflow.engine.runtime.plan import PlanNode
from actorflow.engine.runtime.tokens import DEAD

if TYPE_CHECKING:
    from actorflow.engine.runtime.actors import ExecutorState

LEAST_NS = 20_000.0
"""Cheaper nodes stay on the loop: a thread that runs small Python holds the loop up by itself."""


class Chain:
    """The results of kernels that one thread has run in a row, before the loop knows of them.

    While the thread is at work it only reads the counts and slots of its executor (it takes those of nodes that wait for it
    alone), and the loop knows nothing of the chain. `hand_over` is the loop's.
    """

    __slots__ = ("_brought", "_executor", "_filled", "_ready", "_taken", "open")

    def __init__(self, executor: ExecutorState) -> None:
        self._executor = executor
        self._filled: dict[int, Any] = {}
        self._brought: dict[int, int] = {}
        self._ready: list[PlanNode] = []
        self._taken: set[int] = set()
        self.open = True
        """Whether the thread may go on."""

    def bring(self, node: PlanNode, result: Any) -> None:
        """Notes the result of a node, and who becomes ready by it."""
        outputs = result if len(node.edges) > 1 else (result,)
        for edges, value in zip(node.edges, outputs):
            for slot, consumer in edges:
                self._filled[slot] = value
                self._count(consumer)
        for consumer in node.controls:
            self._count(consumer)

    def _count(self, consumer: int) -> None:
        brought = self._brought[consumer] = self._brought.get(consumer, 0) + 1
        executor = self._executor
        if brought == executor.pending[consumer]:
            node = executor.nodes[consumer]
            if node.may_follow and node.cost.nanoseconds >= LEAST_NS and consumer not in executor.dead:
                self._ready.append(node)
            elif consumer in executor.plan.urgent:
                self.open = False
        elif consumer in executor.plan.urgent:
            self.open = False  # what it waits for beside may come any time, and then it must not wait for the chain

    def next(self, above: float) -> tuple[PlanNode, list[Any]] | None:
        """The node that the thread goes on with, and its inputs, which are no one else's any more. None where the chain ends, or
        knows none with a rank `above` that of what waits for the thread."""
        if not self.open or not self._ready:
            return None
        node = max(self._ready, key=_rank)  # of equal nodes the first
        if node.rank <= above or (node.cost.nanoseconds > INLINE_LIMIT_NS and self._keeps_others_waiting()):
            return None
        self._ready.remove(node)
        executor = self._executor
        slots, filled = executor.slots, self._filled
        inputs = [filled.pop(i) if i in filled else slots[i] for i in range(len(slots))[node.places]]
        if executor.step.stopped:  # and its slots perhaps cleared meanwhile
            return None
        slots[node.places] = node.blank
        self._taken.add(node.index)
        return node, inputs

    def _keeps_others_waiting(self) -> bool:
        """Whether a small node is ready that somebody else waits for."""
        urgent = self._executor.plan.urgent
        return any(n.index in urgent and n.cost.nanoseconds <= INLINE_LIMIT_NS for n in self._ready)

    def hand_over(self) -> None:
        """Gives the executor what the chain has brought, and fires who is ready. On the loop, once."""
        executor = self._executor
        slots, pending = executor.slots, executor.pending
        for slot, value in self._filled.items():
            slots[slot] = value
        self._filled.clear()
        for consumer, brought in self._brought.items():
            if consumer not in self._taken:
                count = pending[consumer] = pending[consumer] - brought
                if not count:
                    executor.fire(consumer)


def _rank(node: PlanNode) -> float:
    return node.rank


def may_lead(executor: ExecutorState, node: PlanNode) -> bool:
    """Whether a chain may begin with a node: it and all that it brings is alive, and of the ordinary kind."""
    return not executor.dead and not node.merges and executor.step.trace is None


def fits(node: PlanNode, result: Any) -> bool:
    """Whether a kernel has given one value for each output, as it should, and none is dead."""
    if len(node.edges) == 1:
        return type(result) is not tuple and result is not DEAD
    if node.edges and (type(result) not in (tuple, list) or len(result) != len(node.edges)):
        return False
    return not node.edges or not any(value is DEAD for value in result)
