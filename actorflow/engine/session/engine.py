"""`Engine`: whoever runs the steps of a session, in this process or behind a target."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

from actorflow.engine.device.base import Device
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.runtime.visible_actors import TaskState
from actorflow.engine.session.members import MembershipChange
from actorflow.engine.session.partial.run import PartialStep
from actorflow.engine.session.planning.planner import SearchReport
from actorflow.engine.session.statistics import EdgeReport, SessionStatistics
from actorflow.graph.node import TensorId

if TYPE_CHECKING:
    from actorflow.engine.passes.options import PlanOptions
    from actorflow.engine.placement.learned_costs import CostModel
    from actorflow.engine.session.waiting.admission import Admission
    from actorflow.graph.graph import Graph


class RemoteEngines(Protocol):
    """The class of engines that ask the master at a target: the entry point `remote` of `actorflow.engines`.

    Clusters lie above sessions, so a session finds it there.
    """

    def __call__(
        self,
        target: str,
        graph: Graph,
        options: PlanOptions,
        admission: Admission,
        *,
        credentials: Any,
        transport: str,
        connect_timeout: float,
        source: str,
    ) -> Engine: ...

    async def reset(
        self, target: str, containers: Sequence[str], credentials: Any = None, timeout: float | None = None
    ) -> None:
        """Drops containers on all tasks of the cluster; all containers where none is named."""


class Run(Protocol):
    """Runs a step of a plan. `begun` is when its time began to run."""

    async def __call__(
        self,
        plan: Any,
        feeds: Mapping[TensorId, Any],
        timeout: float | None = None,
        trace: Trace | None = None,
        begun: float | None = None,
        /,
    ) -> list[Any]: ...


class Engine(Protocol):
    """The interface that a session needs. A plan is the engine's own; the session only keeps it."""

    @property
    def closed(self) -> bool: ...

    @property
    def was_used(self) -> bool:
        """Whether there is anything to close."""

    def open(self) -> None:
        """Binds it to the running loop. Raises FailedPreconditionError after `close`, or if it belongs to another loop."""

    async def plan(self, signature: RunSignature, *, coalesce: bool = True, trial: bool = False) -> Any:
        """The plan for a signature, which is made at its first use; by the placement that is on trial, if `trial` is true."""

    def asked(self, plan: Any) -> tuple[RunSignature, bool] | None:
        """The signature of a plan, and whether it is coalesced; None for a plan that is not in force."""

    run: Run
    """Runs a step of a plan, and gives the values of its fetches. While a placement is on trial, that runs steps in its place."""

    def begin(self, plan: Any, feeds: Mapping[TensorId, Any]) -> StepResult[list[Any]]:
        """`run` without a task, in a callback of the event loop: the values, which are here if the step ends at once."""

    async def start_partial(self, plan: Any, signature: RunSignature) -> PartialStep:
        """Starts a step that is fed and fetched in parts; the plan is that of the signature, which is partial."""

    async def extend(self) -> None:
        """Takes in what was added to the graph."""

    def snapshot(self, *, consistent: bool) -> AbstractAsyncContextManager[None]:
        """A block for the step that saves a checkpoint; see `Session._snapshot`."""

    def devices(self) -> list[Device]:
        """All devices, in the order in which unconstrained nodes prefer them."""

    def placements(self) -> Mapping[str, str]:
        """The devices of the nodes that are placed. It is another object when a node has got a device, or another device."""

    async def explain(self, name: str) -> str:
        """Why a node has its device."""

    async def observed(self) -> list[NodeMeasurement]:
        """The measurements of nodes by runs."""

    async def learn(self, costs: CostModel) -> None:
        """Takes learned costs, by which plans are placed until runs have shown better costs."""

    async def replan(self) -> None:
        """Forgets all plans; later plans are placed by the measurements of runs."""

    async def posed(self) -> SearchProblem | None:
        """The step that runs most and its placement, as a search would get it; None where no node has run or was placed."""

    async def search(self, seconds: float, seed: int, trials: int | None) -> SearchReport:
        """Looks for a better placement. If the search finds it, it goes on trial (see `plan`) until it is settled."""

    async def settle(self, adopt: bool, verdict: str) -> bool:
        """The placement on trial is in force from now on, or forgotten; gives which of them."""

    async def channels(self) -> list[EdgeReport]:
        """The traffic of the edges between tasks."""

    def members(self) -> AsyncIterator[MembershipChange]:
        """The tasks of the cluster, and each change of them."""

    def pending(self) -> str:
        """The things that the steps in flight wait for."""

    async def inquire(self) -> None:
        """Asks other tasks now, so that `pending` knows of theirs."""

    def recent(self, seconds: float | None, step: int | None) -> Trace:
        """The steps of the last seconds, or a single step, as far as they are recorded."""

    def tasks(self) -> list[TaskState]:
        """The nodes that are ready, run or wait."""

    def allow_files(self, folder: str) -> None:
        """Lets ops use a folder, as far as this process may allow it."""

    def statistics(self) -> SessionStatistics: ...

    async def close(self) -> None:
        """Stops the steps in flight, waits for their end, and frees what it holds. A second call does nothing."""

    def abandon(self) -> None:
        """Lets go of what would otherwise outlive a session that no one closed."""
