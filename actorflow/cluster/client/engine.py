"""The engine of `Session(target)`: the master's session from afar (paper section 3)."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import anyio
import msgpack

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.client import inquiries, own_servers
from actorflow.cluster.client.in_flight import InFlightSteps, WaitReports
from actorflow.cluster.client.remote_session import RemotePlan, RemoteSession
from actorflow.cluster.config.credentials import Credentials
from actorflow.cluster.membership.view import View, decode_view, differ
from actorflow.cluster.partial_run import RemotePartialStep
from actorflow.cluster.remote_step import call_step
from actorflow.cluster.wire.endpoints import Open
from actorflow.cluster.wire.links import CONNECT_SECONDS, TaskLink
from actorflow.cluster.wire.messages import (
    AskView,
    ChiefFailed,
    Edges,
    Explain,
    LearnCosts,
    Measured,
    MoveNodes,
    PosePlacement,
    Replan,
    RunPlan,
    SearchPlacement,
    SettlePlacement,
    Status,
    Waits,
)
from actorflow.cluster.wire.signatures import encode_inline
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.placement.measuring import NodeMeasurement, decode_observed, encode_observed
from actorflow.engine.placement.search.codec import decode_problem
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.link_costs import links_to_rows
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.runtime.visible_actors import TaskState
from actorflow.engine.session.engine import Run
from actorflow.engine.session.members import MembershipChange
from actorflow.engine.session.partial.run import PartialStep
from actorflow.engine.session.planning.planner import SearchReport
from actorflow.engine.session.statistics import EdgeReport, SessionStatistics, StepCounts
from actorflow.engine.session.waiting.admission import Admission
from actorflow.engine.session.waiting.deadline import deadline, noted
from actorflow.engine.session.waiting.deadlock import DeadlockDetector, WaitingStep
from actorflow.errors import DeadlineExceededError, OpError, UnimplementedError
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId

if TYPE_CHECKING:
    from actorflow.engine.placement.learned_costs import CostModel

_LOG = get_logger("cluster")
_QUIET_SECONDS = 10.0
_SHORTEST_QUIET = 0.25
_QUIET_STEPS = 2
_REMEMBERED_STEPS = 32
_WAITS_SECONDS = 2.0
_SLACK = 0.04
"""How many seconds more than its time a step may take before the client does not wait for the master's report any more."""


class RemoteEngine(StepCounts):
    """Runs a session's steps by the master at `target`. It connects when it is first used, and again when it has lost it:
    variables live on the tasks and outlive the connection. See `RemoteSession` for the arguments."""

    reset = staticmethod(inquiries.reset)

    def __init__(
        self,
        target: str,
        graph: Graph,
        options: PlanOptions,
        admission: Admission,
        *,
        credentials: Credentials | str | os.PathLike[str] | None = None,
        transport: str = "auto",
        connect_timeout: float = CONNECT_SECONDS,
        endpoints: Open | None = None,
        source: str = "",
    ) -> None:
        super().__init__(admission)
        self.remote = RemoteSession(target, graph, options, credentials, transport, connect_timeout, endpoints, source)
        self.target = self.remote.target
        self.transport = transport
        self._graph = graph
        self._numbers = itertools.count(1)
        self._durations: deque[float] = deque(maxlen=_REMEMBERED_STEPS)
        """How many seconds the last steps took."""
        self.in_flight = InFlightSteps(admission, self._waiting)
        self._reports = WaitReports(self.in_flight, self._told, graph.nodes)
        self._root: BackgroundTasks | None = None
        """Of the requests of partial runs."""
        self._partial: list[RemotePartialStep] = []
        self._deadlock = DeadlockDetector()
        self.run: Run = self._step

    @property
    def closed(self) -> bool:
        return self.remote.closed

    @property
    def was_used(self) -> bool:
        return self.remote.links is not None

    @property
    def name(self) -> str:
        """By which the tasks know this client."""
        self.open()
        assert self.remote.links is not None
        return self.remote.links.me.task

    def open(self) -> None:
        """Raises FailedPreconditionError after `close`."""
        self.remote.open()

    async def connected(self) -> TaskLink:
        """The link to the master, with a session there. Raises UnavailableError, HandshakeRejected."""
        return await self.remote.connected()

    def asked(self, plan: RemotePlan) -> tuple[RunSignature, bool] | None:
        """The signature of a plan, and whether the plan is coalesced; None for a plan that is not in force."""
        return (plan.signature, plan.coalesce) if self.remote.is_current(plan) else None

    async def plan(self, signature: RunSignature, *, coalesce: bool = True, trial: bool = False) -> RemotePlan:
        """The master's plan for `signature`. The new nodes of the graph go there first."""
        return await self.remote.plan(signature, coalesce=coalesce, trial=trial)

    async def extend(self) -> None:
        """Sends the nodes that the master does not have yet."""
        await self.remote.extend()

    def begin(self, plan: RemotePlan, feeds: Mapping[TensorId, Any]) -> StepResult[list[Any]]:
        return StepResult.later(lambda: self.run(plan, feeds))

    async def _step(
        self,
        plan: RemotePlan,
        feeds: Mapping[TensorId, Any],
        timeout: float | None = None,
        trace: Trace | None = None,
        begun: float | None = None,
    ) -> list[Any]:
        """One step, from afar."""
        if timeout is None:
            return await self._run(plan, feeds, None, trace, None)
        if begun is None:
            begun = asyncio.get_running_loop().time()
        with deadline(timeout, begun, "before the step was done") as scope:
            return await self._run(plan, feeds, timeout, trace, scope)

    async def _run(
        self,
        plan: RemotePlan,
        feeds: Mapping[TensorId, Any],
        timeout: float | None,
        trace: Trace | None,
        scope: anyio.CancelScope | None,
    ) -> list[Any]:
        """`run`; the scope ends with its time. The master keeps the time once it has the request, and says what had not
        finished; the scope notices only if the master can't."""
        if not self.admission.enter_nowait():
            await self.admission.enter()
        step = next(self._numbers)
        entry = self.in_flight.begin(step, plan.signature)
        try:
            self.count += 1
            begun = 0 if trace is None else perf_counter_ns()
            clock = asyncio.get_running_loop().time
            start = entry.since
            link = plan.connection
            if not link.alive or not self.remote.is_current(plan):
                plan = await self.plan(plan.signature, coalesce=plan.coalesce)
                link = plan.connection
                start = clock()
            left = None
            if scope is not None:
                left = max(0.0, scope.deadline - start)
                scope.deadline += _SLACK
            values = [feeds[tensor_id] for tensor_id in plan.signature.feeds]
            request = RunPlan(
                self.remote.number, plan.number, step, left, trace is not None, link.tokens.epoch, encode_inline(values)
            )
            results = await call_step(link, request, values, len(plan.signature.fetches), trace, entry, begun)
            self._durations.append(clock() - start)
            return [value[()] if getattr(value, "ndim", None) == 0 else value for value in results]
        except Exception as error:
            self.failed += 1
            if error is entry.refused:
                raise entry.refused.located(details=noted(error)) from None
            if isinstance(error, DeadlineExceededError) and error.message.startswith(f"Step {step} was not done after"):
                text = f"Step {step} was not done after {timeout:g} s."  # the tasks know what was left of that
                raise DeadlineExceededError(text, details=error.details, hint=error.hint) from None
            raise
        except BaseException:
            if scope is not None and scope.cancel_called:
                self.failed += 1
            else:
                self.cancelled += 1
            raise
        finally:
            self.in_flight.end(entry)
            self.admission.leave()

    async def _waiting(self) -> list[int]:
        """The numbers of the steps that only wait, wherever their nodes are."""
        link = self.remote.link
        if link is None:
            return []
        rows = msgpack.unpackb(await link.call(Waits(self.remote.number, False)))
        return [step for step, idle, _ in rows if idle is not None]

    async def start_partial(self, plan: RemotePlan, signature: RunSignature) -> PartialStep:
        """One step in parts, whose request is open until it has ended."""
        if self._root is None:
            self._root = BackgroundTasks()
        self.count += 1
        link = plan.connection
        request = RunPlan(self.remote.number, plan.number, next(self._numbers), None, False, link.tokens.epoch, [])
        step = RemotePartialStep(link, request, signature, self.in_flight, self._root)
        self._partial = [*(other for other in self._partial if not other.finished), step]
        return step

    # ---- what a session asks besides

    def devices(self) -> list[Any]:
        return list(self.remote.devices)

    def placements(self) -> Mapping[str, str]:
        return self.remote.placements

    async def explain(self, name: str) -> str:
        """Explains the place of a node."""
        await self.extend()
        return str(await self.remote.ask(lambda session: Explain(session, name)))

    async def observed(self) -> list[NodeMeasurement]:
        """The measurements that runs have made of nodes, on all tasks."""
        return decode_observed(msgpack.unpackb(await self.remote.ask(Measured)))

    async def learn(self, costs: CostModel) -> None:
        """Brings the master learned costs of the graph's nodes and of links."""
        await self.extend()
        rows = encode_observed(costs.predicted(self._graph, self.remote.devices[0].type))
        links = None if costs.links is None else links_to_rows(costs.links)
        packed = msgpack.packb([rows, links])
        await self.remote.ask(lambda session: LearnCosts(session, packed))

    async def replan(self) -> None:
        """Forgets all plans."""
        await self.remote.ask(Replan)
        self.remote.forget_plans()

    def place_variables(self, devices: Mapping[str, str]) -> None:
        """Gives nodes these devices from the next connection on. From then on variables are where this session puts them,
        whatever a supervisor has told the master before."""
        self.remote.moved = {**(self.remote.moved or {}), **devices}

    async def move(self, devices: Mapping[str, str]) -> None:
        """Gives nodes other devices; values don't move by that."""
        self.place_variables(devices)
        await self.extend()
        await self.remote.ask(lambda session: MoveNodes(session, dict(devices)))
        # a plan that was made before keeps its number, and no reply to it will tell the new places
        self.remote.placements = {**self.remote.placements, **devices}

    async def posed(self) -> SearchProblem | None:
        """The step that runs most and its placement, as the master sees them."""
        packed = await self.remote.ask(PosePlacement)
        return decode_problem(packed) if packed else None

    async def search(self, seconds: float, seed: int, trials: int | None) -> SearchReport:
        """Lets the master look for a better placement."""
        packed = await self.remote.ask(lambda session: SearchPlacement(session, seconds, seed, trials))
        return SearchReport(*msgpack.unpackb(packed))

    async def settle(self, adopt: bool, verdict: str) -> bool:
        """The placement on trial is in force from now on, or forgotten; gives which of them."""
        adopted: bool = await self.remote.ask(lambda session: SettlePlacement(session, adopt, verdict))
        self.remote.forget_trials()
        if adopted:
            self.remote.forget_plans()
        return adopted

    async def channels(self) -> list[EdgeReport]:
        """The traffic of the edges between tasks."""
        return [EdgeReport(*row) for row in msgpack.unpackb(await self.remote.ask(Edges))]

    @property
    def patience(self) -> float:
        """For how many seconds `snapshot` waits for steps that are in flight."""
        longest = max(self._durations, default=_QUIET_SECONDS)
        return min(_QUIET_SECONDS, max(_SHORTEST_QUIET, _QUIET_STEPS * longest))

    @property
    def is_quiet(self) -> bool:
        """Whether the caller is in a consistent block of `snapshot` and no step is under way: none that waits for a queue, and
        no partial run between its parts."""
        is_busy = self.admission.inflight or any(not step.finished for step in self._partial)
        return self.admission.is_alone and not is_busy and next(iter(self.in_flight), None) is None

    @asynccontextmanager
    async def snapshot(self, *, consistent: bool) -> AsyncIterator[None]:
        """With `consistent`, the steps that this session has in flight end before, and no other begins until the block has
        ended; those of other clients go on. Steps are not waited for that take twice as long as any of the last steps did, or ten
        seconds: they wait for a queue, perhaps, that only others fill."""
        async with AsyncExitStack() as stack:
            if consistent:
                with anyio.move_on_after(self.patience) as scope:
                    await stack.enter_async_context(self.admission.alone())
                if scope.cancelled_caught:
                    _LOG.info("a checkpoint is made while steps run", steps=self.admission.inflight)
            yield

    def allow_files(self, folder: str) -> None:
        """Lets the target use a folder, if it is a server of this process; others were started with theirs."""
        own_servers.allow_files(self.target.address, folder)

    async def members(self) -> AsyncIterator[MembershipChange]:
        """The tasks of the cluster, and then each change of them, as the master hears of it."""
        former: View | None = None
        while True:
            link = await self.connected()
            view = decode_view(await link.call(AskView(0 if former is None else former.epoch + 1)))
            await self.remote.refresh_devices()
            came, went = (tuple(view.members), ()) if former is None else differ(former, view)
            former = view
            yield MembershipChange(view.epoch, view.members, came, went)

    def statistics(self) -> SessionStatistics:
        return replace(
            self.counted(self.remote.plans), abandoned=None, frozen=None, nodes=None
        )  # only the tasks know these

    def tasks(self) -> list[TaskState]:
        """Raises UnimplementedError: they are not in this process."""
        raise UnimplementedError(
            "The nodes of a cluster's steps are tasks of other processes.",
            hint="session.pending() tells what waits; run(..., trace=af.Trace()) what ran when.",
        )

    def recent(self, seconds: float | None, step: int | None) -> Trace:
        """Raises UnimplementedError: the tasks record."""
        raise UnimplementedError(
            "The tasks of a cluster record its steps, and not this session.",
            hint=f"actorflow trace {self.target.address} --last 10s writes what they have recorded.",
        )

    def pending(self) -> str:
        return self._reports.pending()

    async def inquire(self) -> None:
        await self._reports.inquire()

    async def tell_chief_failure(self, reason: str) -> None:
        """Lets all tasks know why this client, the chief of a training, gives up; "" says that it is ready. Raises what
        `Rpc.call` raises."""
        await (await self.connected()).call(ChiefFailed(reason, True))

    async def chief_failure(self) -> str:
        """The reason why the chief gave up, as the master heard it; empty if there is none. Raises what `Rpc.call` raises."""
        return str((await (await self.connected()).call(Status())).get("chief_failure", ""))

    async def _told(self) -> dict[int, Sequence[str]]:
        flying = {entry.step for entry in self.in_flight}
        link = self.remote.link
        if link is None or not link.alive:
            return {step: [f"the link to {self.target.address} is broken"] for step in flying}
        try:
            rows = msgpack.unpackb(await link.call(Waits(self.remote.number, True), timeout=_WAITS_SECONDS))
        except OpError as error:
            return {step: [f"{self.target.address} does not tell: {error.message}"] for step in flying}
        seen = [WaitingStep(step, idle, lines) for step, idle, lines in rows if step in flying]
        self._deadlock.look(seen, self.count)
        return {report.step: report.lines for report in seen}

    async def close(self) -> None:
        """Closes the master's session. Its steps are stopped."""
        if self.closed:
            return
        self.remote.closed = True
        await self._reports.close()
        await self.in_flight.close()
        if self._root is not None:
            await self._root.close()
        await self.remote.close()

    def abandon(self) -> None:
        """Lets sockets go at once."""
        self.remote.abandon()
