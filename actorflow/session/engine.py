"""`Engine`: whoever runs the steps of a session, in this process or behind a target."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from actorflow.device.base import Device, DeviceStatistics
from actorflow.graph.node import TensorId
from actorflow.passes.compile import Signature
from actorflow.placement.measuring import NodeMeasurement
from actorflow.public import public
from actorflow.runtime.actors import TaskState
from actorflow.runtime.diagnostics.trace import Trace
from actorflow.session.partial_run import PartialStep


@public("af")
@dataclass(frozen=True, slots=True)
class SessionStatistics:
    """Counters since the session was made, and its state now.

    A session on a cluster does not know the counts that only the tasks have: `nodes` and `abandoned` are None there, and
    `devices` is empty.

    Args:
        steps: the number of steps that were started.
        failed: the number of steps that failed.
        cancelled: the number of steps that were cancelled.
        abandoned: the number of steps that left a kernel behind that would not stop.
        inflight: the number of steps that run now.
        queued: the number of steps that wait for their turn now.
        waiting: the number of steps that only wait in asynchronous kernels now.
        plans: the number of plans that were made.
        nodes: the number of executed nodes of the user's graph, members of regions included.
        devices: the statistics of each device, by its name.
    """

    steps: int
    failed: int
    cancelled: int
    abandoned: int | None
    inflight: int
    queued: int
    waiting: int
    plans: int
    nodes: int | None
    devices: dict[str, DeviceStatistics]


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """What an edge between two tasks has carried so far; `bytes` are those on the wire, none for a handle. `waits` are tokens
    that the destination wanted before they came, and `wait_seconds` how long it waited for them in all."""

    tensor: str
    source: str
    destination: str
    transport: str
    tokens: int
    bytes: int
    waits: int
    wait_seconds: float


class Engine(Protocol):
    """What a session needs. A plan is the engine's own; the session only keeps it."""

    @property
    def closed(self) -> bool: ...

    @property
    def was_used(self) -> bool:
        """Whether there is anything to close."""

    def open(self) -> None:
        """Binds it to the running loop. Raises FailedPreconditionError where it is closed, or belongs to another loop."""

    async def plan(self, signature: Signature, *, coalesce: bool = True) -> Any:
        """The plan for a signature, made where there is none."""

    async def run(
        self,
        plan: Any,
        feeds: Mapping[TensorId, Any],
        timeout: float | None = None,
        trace: Trace | None = None,
        begun: float | None = None,
    ) -> list[Any]:
        """Runs a step, and gives the values of its fetches. `begun` is when its time began to run."""

    async def start_partial(self, plan: Any, signature: Signature) -> PartialStep:
        """Starts a step that is fed and fetched in parts; the plan is that of the signature, a partial one."""

    async def extend(self) -> None:
        """Takes in what was added to the graph."""

    def snapshot(self, *, consistent: bool) -> AbstractAsyncContextManager[None]:
        """A block for the step that saves a checkpoint; see `Session._snapshot`."""

    def devices(self) -> list[Device]:
        """All devices, in the order in which unconstrained nodes prefer them."""

    def placement(self, name: str) -> str | None:
        """The device of a node; None where it has none yet."""

    async def explain(self, name: str) -> str:
        """Why a node is where it is."""

    async def observed(self) -> list[NodeMeasurement]:
        """What runs have shown of nodes."""

    async def replan(self) -> None:
        """Forgets all plans; the next ones are placed by what runs have shown."""

    async def channels(self) -> list[EdgeReport]:
        """What the edges between tasks have carried."""

    def pending(self) -> str:
        """What the steps in flight wait for."""

    def tasks(self) -> list[TaskState]:
        """The nodes that are ready, run or wait."""

    def statistics(self) -> SessionStatistics: ...

    async def close(self) -> None:
        """Stops the steps in flight, waits for their end, and frees what it holds. A second call does nothing."""

    def abandon(self) -> None:
        """Lets go of what would otherwise outlive a session that no one closed."""
