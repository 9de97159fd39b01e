"""`TracedExecutorState`: the executor state of a traced step, which notes when tokens come."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from actorflow.runtime.actors import ActorExecutorState
from actorflow.runtime.dispatcher import Dispatcher
from actorflow.runtime.executor import ExecutorState
from actorflow.runtime.frames import Frame
from actorflow.runtime.plan import MergeEdge, Plan, PlanNode


class TracedExecutorState(ActorExecutorState):
    """arrived: when the first token came to each node, by index. ready: when the last one did, so that the node could fire."""

    __slots__ = ("arrived", "ready")

    def __init__(
        self, step: Any, plan: Plan, dispatcher: Dispatcher, loop: Frame | None = None, number: int = 0
    ) -> None:
        super().__init__(step, plan, dispatcher, loop, number)
        self.arrived: dict[int, int] = {}
        self.ready: dict[int, int] = {}

    def iteration(self, loop: Frame, number: int) -> ExecutorState:
        return TracedExecutorState(self.step, loop.plan, self.dispatcher, loop, number)

    def fire(self, index: int) -> None:
        self.ready[index] = perf_counter_ns()
        super().fire(index)

    def deliver(self, edges: Sequence[tuple[int, int]], value: Any) -> None:
        now = perf_counter_ns()
        for _, consumer in edges:
            self.arrived.setdefault(consumer, now)
        super().deliver(edges, value)

    def merge(self, edge: MergeEdge, token: Any) -> None:
        self.arrived.setdefault(edge.consumer, perf_counter_ns())
        super().merge(edge, token)

    def propagate(self, node: PlanNode, result: Any) -> None:
        now = perf_counter_ns()
        for consumer in node.controls:
            self.arrived.setdefault(consumer, now)
        super().propagate(node, result)
