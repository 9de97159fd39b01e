"""The engine of a session in this process: its own devices, plans, and steps."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from actorflow.base.registry import plugins
from actorflow.engine.device.base import Device
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.runtime.diagnostics.node_measurements import node_measurements
from actorflow.engine.runtime.diagnostics.post_mortem import PostMortem
from actorflow.engine.runtime.diagnostics.recorder import FOLDER, Recorder, Recording, rows, take
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.runtime.state.resources import ResourceManager
from actorflow.engine.session.devices import open_devices, shared_resources
from actorflow.engine.session.engine import Run
from actorflow.engine.session.members import MembershipChange
from actorflow.engine.session.partial.run import LocalPartialStep, PartialStep
from actorflow.engine.session.planning.builder import CompiledPlans, PlanBuilder
from actorflow.engine.session.planning.planner import Divided, Planner, SearchReport
from actorflow.engine.session.settings import SessionLimits
from actorflow.engine.session.statistics import EdgeReport, SessionStatistics
from actorflow.engine.session.step_runner import StepRunner
from actorflow.engine.session.waiting.admission import Admission
from actorflow.engine.session.waiting.deadlock import DeadlockDetector, WaitingStep, warn
from actorflow.engine.session.waiting.diagnosis import ResourceUsers
from actorflow.errors import FailedPreconditionError
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId

if TYPE_CHECKING:
    from actorflow.engine.placement.learned_costs import CostModel


class LocalEngine:
    """Plans and runs on devices of its own. Named containers are shared with the other sessions of the process."""

    def __init__(
        self,
        graph: Graph,
        options: PlanOptions,
        admission: Admission,
        devices: Mapping[str, int] | Sequence[Device] | None,
        limits: SessionLimits,
        recording: Recording | None = None,
    ) -> None:
        self._devices = open_devices(devices, limits.memory_budget)
        self.resources = {d.name: ResourceManager(shared_resources(d.name)) for d in self._devices}
        for resources in self.resources.values():
            resources.file_roots = (
                None if limits.file_roots is None else [os.fspath(root) for root in limits.file_roots]
            )
        self.builder = PlanBuilder(self._devices, self.resources)
        self.planner = Planner(graph, self._devices, self.builder, options, self._compiled)
        self.steps = StepRunner(admission, plugins.load("rendezvous", "local")())
        self.steps.threads = limits.threads
        self.steps.users = ResourceUsers(graph.nodes)
        self.steps.deadlock = DeadlockDetector(self._stands_still, ends_circles=True)
        if recording is None and os.environ.get(FOLDER):
            recording = Recording()
        if recording is not None:
            folder = recording.destination
            written = None if folder is None else PostMortem(folder, "", recording.seconds)
            self.steps.record_by(Recorder(recording, written))
        self.admission = admission
        self._root: BackgroundTasks | None = None
        """Of the steps of partial runs."""
        self.plan = self.planner.plan
        self.asked = self.planner.asked
        self.run: Run = self.steps.run
        self.open = self.steps.open
        self.pending = self.steps.pending
        self.tasks = self.steps.tasks

    def _stands_still(self, step: WaitingStep) -> None:
        warn(step)
        if self.steps.recorder is not None:
            self.steps.recorder.stalled(step.step, step.lines, self.steps.running.values())

    def recent(self, seconds: float | None, step: int | None) -> Trace:
        recorder = self.steps.recorder
        if recorder is None:
            raise FailedPreconditionError(
                "The session does not record its steps.", hint="Open it with Session(recording=af.Recording())."
            )
        trace = Trace(detail="plan")
        take(trace, rows(recorder.last(seconds, self.steps.running.values())), "", only=step)
        return trace

    async def inquire(self) -> None:
        """Does nothing: the devices are here."""

    @property
    def closed(self) -> bool:
        return self.steps.closed

    @property
    def was_used(self) -> bool:
        return self.steps.was_used

    def _compiled(self, divided: Divided) -> CompiledPlans:
        if not self.planner.made:
            self.builder.warm(self.planner.graph.nodes, divided.options)
        return self.builder.compile(divided.parts, divided.places, divided.options, divided.signature.deferred_feeds)

    def begin(self, plan: CompiledPlans, feeds: Mapping[TensorId, Any]) -> StepResult[list[Any]]:
        if self.run != self.steps.run:  # a placement is on trial
            return StepResult.later(lambda: self.run(plan, feeds))
        return self.steps.run_now(plan, feeds)

    async def start_partial(self, plan: CompiledPlans, signature: RunSignature) -> PartialStep:
        if self._root is None:
            self._root = BackgroundTasks()
        return LocalPartialStep(self.steps, plan, signature, self._root)

    async def extend(self) -> None:
        """Nothing is to be done: plans are made from the graph itself."""

    @asynccontextmanager
    async def snapshot(self, *, consistent: bool) -> AsyncIterator[None]:
        if not consistent:
            yield
            return
        listeners = self.builder.contexts.after_snapshot
        async with self.admission.alone() as together:
            listeners.append(together)
            try:
                yield
            finally:
                listeners.remove(together)

    def devices(self) -> list[Device]:
        return list(self._devices)

    def placements(self) -> Mapping[str, str]:
        return self.planner.placer.placed

    async def explain(self, name: str) -> str:
        return self.planner.placer.explain(name)

    async def observed(self) -> list[NodeMeasurement]:
        return [
            measurement
            for compiled in self.planner.plans()
            for plan in compiled.plans
            for measurement in node_measurements(plan)
        ]

    async def learn(self, costs: CostModel) -> None:
        self.planner.learn(costs.predicted(self.planner.graph, self._devices[0].type), costs.links)

    async def replan(self) -> None:
        self.planner.forget(await self.observed())

    async def posed(self) -> SearchProblem | None:
        return await self.planner.posed(await self.observed())

    async def search(self, seconds: float, seed: int, trials: int | None) -> SearchReport:
        return await self.planner.search(await self.observed(), seconds, seed, trials)

    async def settle(self, adopt: bool, verdict: str) -> bool:
        return self.planner.settle(adopt, verdict)

    async def channels(self) -> list[EdgeReport]:
        return []

    def members(self) -> AsyncIterator[MembershipChange]:
        """Raises FailedPreconditionError: there is no cluster."""
        raise FailedPreconditionError(
            "The session is of this process, and has no cluster whose tasks could change.",
            hint="async with af.LocalCluster(...) as cluster, af.Session(cluster.target) as session: ...",
        )

    def statistics(self) -> SessionStatistics:
        frozen = sum(plan.freezing is not None and plan.freezing.is_frozen for plan in self.planner.plans())
        return self.steps.counted(self.planner.made, self._devices, frozen)

    async def close(self) -> None:
        if self.steps.closed:
            return
        try:
            await self.steps.close()
            if self._root is not None:
                await self._root.close()
        finally:
            if self.steps.closed:
                self.builder.contexts.holder.gone = True
                for resources in self.resources.values():
                    resources.reset()
                for device in self._devices:
                    device.close()

    def allow_files(self, folder: str) -> None:
        """Has nothing to do: the session's own `file_roots` say what its ops may use."""

    def abandon(self) -> None:
        for device in self._devices:
            device.close()
