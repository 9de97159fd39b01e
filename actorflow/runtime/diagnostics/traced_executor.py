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


class _Notes:
    """A recorder of the times at which tokens come to the nodes of an executor."""

    __slots__ = ()

    arrived: dict[int, int]
    """When the first token came to each node, by index."""
    ready: dict[int, int]
    """When the last one did, so that the node could fire."""

    def __init__(
        self, step: Any, plan: Plan, dispatcher: Dispatcher, loop: Frame | None = None, number: int = 0
    ) -> None:
        super().__init__(step, plan, dispatcher, loop, number)  # type: ignore[call-arg]
        self.arrived = {}  # type: ignore[misc]
        self.ready = {}  # type: ignore[misc]

    def iteration(self, loop: Frame, number: int) -> ExecutorState:
        me: Any = self
        made: ExecutorState = type(me)(me.step, loop.plan, me.dispatcher, loop, number)
        return made

    def fire(self, index: int) -> None:
        self.ready[index] = perf_counter_ns()
        super().fire(index)  # type: ignore[misc]

    def deliver(self, edges: Sequence[tuple[int, int]], value: Any) -> None:
        now = perf_counter_ns()
        for _, consumer in edges:
            self.arrived.setdefault(consumer, now)
        super().deliver(edges, value)  # type: ignore[misc]

    def merge(self, edge: MergeEdge, token: Any) -> None:
        self.arrived.setdefault(edge.consumer, perf_counter_ns())
        super().merge(edge, token)  # type: ignore[misc]

    def propagate(self, node: PlanNode, result: Any) -> None:
        now = perf_counter_ns()
        for consumer in node.controls:
            self.arrived.setdefault(consumer, now)
        super().propagate(node, result)  # type: ignore[misc]


class TracedExecutorState(_Notes, ExecutorState):
    """That of the plan which untraced steps run."""

    __slots__ = ("arrived", "ready")


class TracedActorExecutorState(_Notes, ActorExecutorState):
    """That of a plan each of whose nodes is a task that can be seen."""

    __slots__ = ("arrived", "ready")
