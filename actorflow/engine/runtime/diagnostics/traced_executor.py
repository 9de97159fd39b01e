"""`TracedExecutorState`: the executor state of a traced step, which notes when tokens come.

The clock is read as rarely as can be: a node that waits for one token has its first one when it is ready.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any

from actorflow.engine.runtime.actors import ExecutorState
from actorflow.engine.runtime.dispatcher import Dispatcher
from actorflow.engine.runtime.frames import Frame
from actorflow.engine.runtime.plan import MergeEdge, Plan, PlanNode
from actorflow.graph.node import TensorId


class TracedExecutorState(ExecutorState):
    """An executor state that notes the arrival of tokens."""

    __slots__ = ("arrived", "ready")

    def __init__(
        self, step: Any, plan: Plan, dispatcher: Dispatcher, frame: Frame | None = None, number: int = 0
    ) -> None:
        ExecutorState.__init__(self, step, plan, dispatcher, frame, number)
        self.arrived: dict[int, int] = {}
        """When the first of several tokens came to a node, by its index; 0 for a node that waits for none."""
        self.ready: dict[int, int] = {}
        """When the last one did, so that the node could fire."""

    def iteration(self, frame: Frame, number: int) -> ExecutorState:
        return type(self)(self.step, frame.plan, self.dispatcher, frame, number)

    def start(self, feeds: Mapping[TensorId, Any]) -> None:
        for index in self.plan.roots:
            self.arrived[index] = 0
        ExecutorState.start(self, feeds)

    def fire(self, index: int) -> None:
        self.ready[index] = perf_counter_ns()
        ExecutorState.fire(self, index)

    def deliver(self, edges: Sequence[tuple[int, int]], value: Any) -> None:
        pending = self.pending
        for _, consumer in edges:
            if pending[consumer] > 1:
                self.arrived.setdefault(consumer, perf_counter_ns())
        ExecutorState.deliver(self, edges, value)

    def merge(self, edge: MergeEdge, token: Any) -> None:
        self.arrived.setdefault(edge.consumer, perf_counter_ns())
        ExecutorState.merge(self, edge, token)

    def propagate(self, node: PlanNode, result: Any) -> None:
        pending = self.pending
        for consumer in node.controls:
            if pending[consumer] > 1:
                self.arrived.setdefault(consumer, perf_counter_ns())
        ExecutorState.propagate(self, node, result)
