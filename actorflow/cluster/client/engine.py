"""The engine of `Session(target)`: the master's session from afar (paper section 3)."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import anyio
import msgpack

from actorflow.cluster.client.in_flight import InFlightSteps, WaitReports
from actorflow.cluster.client.inquiries import connect
from actorflow.cluster.config.credentials import Credentials, resolve
from actorflow.cluster.master.graph_partitioner import RemoteDevice
from actorflow.cluster.master.node_states import NodeStates, behind, keeps_state
from actorflow.cluster.partial_run import RemotePartialStep
from actorflow.cluster.processes import startup
from actorflow.cluster.remote_step import call_step
from actorflow.cluster.wire.endpoints import Open
from actorflow.cluster.wire.links import CONNECT_SECONDS, Link, Links
from actorflow.cluster.wire.messages import (
    CloseSession,
    Edges,
    Explain,
    Extend,
    LearnCosts,
    Measured,
    OpenSession,
    PosePlacement,
    Prepare,
    PrepareTrial,
    Replan,
    RunPlan,
    SearchPlacement,
    SettlePlacement,
    Waits,
)
from actorflow.cluster.wire.signatures import encode_inline, encode_signature
from actorflow.errors import DeadlineExceededError, FailedPreconditionError, OpError, UnimplementedError, with_topic
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.logs import get_logger
from actorflow.passes.compile import Options, Signature
from actorflow.placement.measuring import NodeMeasurement, decode_observed, encode_observed
from actorflow.placement.search.codec import decode_problem
from actorflow.placement.search.problem import SearchProblem
from actorflow.placement.simulation.link_costs import links_to_rows
from actorflow.runtime.actors import TaskState
from actorflow.runtime.diagnostics.trace import Trace
from actorflow.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.runtime.event_loops.running import running_loop
from actorflow.session.engine import Run
from actorflow.session.partial_run import PartialStep
from actorflow.session.planning.planner import SearchReport
from actorflow.session.statistics import EdgeReport, SessionStatistics, StepCounts
from actorflow.session.step_runner import DeferredCall, Outcome
from actorflow.session.waiting.admission import Admission
from actorflow.session.waiting.deadline import deadline, note, noted
from actorflow.session.waiting.deadlock import DeadlockDetector, WaitingStep

if TYPE_CHECKING:
    from actorflow.placement.learned_costs import CostModel

_LOG = get_logger("cluster")
_MASTER = "the master"
_CLOSE_SECONDS = 1.0
_QUIET_SECONDS = 10.0
_SHORTEST_QUIET = 0.25
_QUIET_STEPS = 2
_REMEMBERED_STEPS = 32
_WAITS_SECONDS = 2.0
_SLACK = 0.04
"""How many seconds more than its time a step may take before the client does not wait for the master's report any more."""


@dataclass(frozen=True, slots=True)
class RemotePlan:
    """A plan that the master has made: its number there, the signature that it is for, over which connection, and after how
    many times that all plans were forgotten."""

    number: int
    signature: Signature
    coalesce: bool
    connection: Link
    generation: int


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """Errors in the block say which of the environment's variables gave the target, if one did."""
    try:
        yield
    except OpError as error:
        if source:
            error.add_note(f"The environment's {source} gave this session its target.")
        raise


class RemoteEngine(StepCounts):
    """Runs a session's steps by the master at `target`. It connects when it is first used, and again when it has lost it:
    variables live on the tasks and outlive the connection."""

    def __init__(
        self,
        target: str,
        graph: Graph,
        options: Options,
        admission: Admission,
        *,
        credentials: Credentials | str | os.PathLike[str] | None = None,
        transport: str = "auto",
        connect_timeout: float = CONNECT_SECONDS,
        endpoints: Open | None = None,
        source: str = "",
    ) -> None:
        with _naming(source):
            self.target = resolve(target, credentials)
        self._source = source
        self.closed = False
        super().__init__(admission)
        self.plans = 0
        self._graph = graph
        self._options = options
        self.transport = transport
        self._timeout = connect_timeout
        self._open_endpoints = endpoints
        self._links: Links | None = None
        self._link: Link | None = None
        self._session = 0
        self._sent = 0
        self._devices: list[RemoteDevice] = []
        self._placements: dict[str, str] = {}
        self._lock = anyio.Lock()
        self._numbers = itertools.count(1)
        self._known: dict[Any, RemotePlan] = {}
        self._states = NodeStates(lambda place: any(map(keeps_state, self._graph.nodes.values())))
        self._generation = 0
        self._durations: deque[float] = deque(maxlen=_REMEMBERED_STEPS)
        """How many seconds the last steps took."""
        self.in_flight = InFlightSteps(admission, self._waiting)
        self._reports = WaitReports(self.in_flight, self._told, graph.nodes)
        self._root: BackgroundTasks | None = None
        """Of the requests of partial runs."""
        self._deadlock = DeadlockDetector()
        self.run: Run = self._step

    @property
    def was_used(self) -> bool:
        return self._links is not None

    @property
    def name(self) -> str:
        """By which the tasks know this client."""
        self.open()
        assert self._links is not None
        return self._links.me.task

    def open(self) -> None:
        """Raises FailedPreconditionError where it is closed."""
        if self.closed:
            raise FailedPreconditionError(
                "The session is closed.",
                hint=with_topic(
                    "Open another one: async with af.Session(target, graph=graph) as session: ...", "session-is-closed"
                ),
            )
        running_loop()
        if self._links is None:
            self._links = connect(self.target, self._open_endpoints, self.transport)

    async def connected(self) -> Link:
        """The link to the master, with a session there. Raises UnavailableError, HandshakeRejected."""
        self.open()
        if self._link is not None and self._link.alive:
            return self._link
        try:
            async with self._lock:
                if self._link is None or not self._link.alive:
                    await self._connect()
                assert self._link is not None
                return self._link
        except asyncio.CancelledError as error:
            note(error, [f"The run waited for a session at {self.target.address}."])
            raise

    async def _connect(self) -> None:
        assert self._links is not None
        keys = self.target.credentials
        key = None if keys is None else keys.peer_key()
        with _naming(self._source):
            with startup.logging_wait(self.target.address, self._timeout) as progress:
                link = await self._links.to("", self.target.address, key=key, timeout=self._timeout, progress=progress)
            self._session, devices = await link.call(OpenSession(asdict(self._options), self._timeout))
        self._devices = [RemoteDevice(name, kind, DeviceSpec.parse(name)) for name, kind in devices]
        self._sent = 0
        self._known.clear()
        self._placements = {}
        self._states.met(_MASTER, link)
        self._link = link

    def asked(self, plan: RemotePlan) -> tuple[Signature, bool] | None:
        """The signature of a plan, and whether it is coalesced; None where it is no plan in force."""
        current = plan.connection is self._link and plan.generation == self._generation
        return (plan.signature, plan.coalesce) if current else None

    async def plan(self, signature: Signature, *, coalesce: bool = True, trial: bool = False) -> RemotePlan:
        """The master's plan for `signature`. The new nodes of the graph go there first."""
        link = await self.connected()
        key = (signature.key, coalesce, trial)
        found = self._known.get(key)
        if found is not None:
            return found
        generation = self._generation
        self._states.check(_MASTER, behind(self._graph.nodes, signature.wanted))
        await self.extend()
        with _naming(self._source):
            request = (PrepareTrial if trial else Prepare)(self._session, encode_signature(signature), coalesce)
            number, placed = await link.call(request)
        self._placements = self._placements | msgpack.unpackb(placed)
        self.plans += 1
        made = self._known[key] = RemotePlan(number, signature, coalesce, link, generation)
        return made

    async def extend(self) -> None:
        """Sends the nodes that the master does not have yet."""
        link = await self.connected()
        async with self._lock:
            if self._sent < len(self._graph):
                nodes = self._graph.to_bytes(since=self._sent)
                self._sent = await link.call(Extend(self._session, self._sent, nodes))

    def begin(self, plan: RemotePlan, feeds: Mapping[TensorId, Any]) -> Outcome:
        return DeferredCall(lambda: self.run(plan, feeds))

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
        """`run`; the scope ends with its time. From when it has the request the master keeps the time and says what had not
        finished; the scope then only notices where it can't."""
        if not self.admission.enter_nowait():
            await self.admission.enter()
        step = next(self._numbers)
        entry = self.in_flight.begin(step, plan.signature)
        try:
            self.count += 1
            asked = 0 if trace is None else perf_counter_ns()
            clock = asyncio.get_running_loop().time
            start = entry.since
            link = plan.connection
            if not link.alive or link is not self._link or plan.generation != self._generation:
                plan = await self.plan(plan.signature, coalesce=plan.coalesce)
                link = plan.connection
                start = clock()
            left = None
            if scope is not None:
                left = max(0.0, scope.deadline - start)
                scope.deadline += _SLACK
            values = [feeds[tensor_id] for tensor_id in plan.signature.feeds]
            request = RunPlan(
                self._session, plan.number, step, left, trace is not None, link.tokens.epoch, encode_inline(values)
            )
            results = await call_step(link, request, values, len(plan.signature.fetches), trace, entry, asked)
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
        link = self._link
        if link is None:
            return []
        rows = msgpack.unpackb(await link.call(Waits(self._session, False)))
        return [step for step, idle, _ in rows if idle is not None]

    async def start_partial(self, plan: RemotePlan, signature: Signature) -> PartialStep:
        """One step in parts, whose request is open until it has ended."""
        if self._root is None:
            self._root = BackgroundTasks()
        self.count += 1
        link = plan.connection
        request = RunPlan(self._session, plan.number, next(self._numbers), None, False, link.tokens.epoch, [])
        return RemotePartialStep(link, request, signature, self.in_flight, self._root)

    # ---- what a session asks besides

    def devices(self) -> list[Any]:
        return list(self._devices)

    def placements(self) -> Mapping[str, str]:
        return self._placements

    async def explain(self, name: str) -> str:
        """Why a node is where it is."""
        await self.extend()
        return str(await (await self.connected()).call(Explain(self._session, name)))

    async def observed(self) -> list[NodeMeasurement]:
        """The measurements that runs have made of nodes, on all tasks."""
        return decode_observed(msgpack.unpackb(await (await self.connected()).call(Measured(self._session))))

    async def learn(self, costs: CostModel) -> None:
        """Brings the master learned costs of the graph's nodes and of links."""
        link = await self.connected()
        await self.extend()
        rows = encode_observed(costs.predicted(self._graph, self._devices[0].type))
        links = None if costs.links is None else links_to_rows(costs.links)
        await link.call(LearnCosts(self._session, msgpack.packb([rows, links])))

    async def replan(self) -> None:
        """Forgets all plans."""
        await (await self.connected()).call(Replan(self._session))
        self._known.clear()
        self._generation += 1

    async def posed(self) -> SearchProblem | None:
        """The step that runs most and its placement, as the master sees them."""
        packed = await (await self.connected()).call(PosePlacement(self._session))
        return decode_problem(packed) if packed else None

    async def search(self, seconds: float, seed: int, trials: int | None) -> SearchReport:
        """Lets the master look for a better placement."""
        link = await self.connected()
        return SearchReport(*msgpack.unpackb(await link.call(SearchPlacement(self._session, seconds, seed, trials))))

    async def settle(self, adopt: bool, verdict: str) -> bool:
        """The placement on trial is in force from now on, or forgotten; gives which of them."""
        adopted: bool = await (await self.connected()).call(SettlePlacement(self._session, adopt, verdict))
        for key in [key for key in self._known if key[2]]:
            del self._known[key]
        if adopted:
            self._known.clear()
            self._generation += 1
        return adopted

    async def channels(self) -> list[EdgeReport]:
        """The traffic of the edges between tasks."""
        found = msgpack.unpackb(await (await self.connected()).call(Edges(self._session)))
        return [EdgeReport(*row) for row in found]

    @asynccontextmanager
    async def snapshot(self, *, consistent: bool) -> AsyncIterator[None]:
        """With `consistent`, the steps that this session has in flight end before, and no other begins until the block has
        ended; those of other clients go on. Steps are not waited for that take twice as long as any of the last steps did, or ten
        seconds: they wait for a queue, perhaps, that only others fill."""
        async with AsyncExitStack() as stack:
            if consistent:
                longest = max(self._durations, default=_QUIET_SECONDS)
                patience = min(_QUIET_SECONDS, max(_SHORTEST_QUIET, _QUIET_STEPS * longest))
                with anyio.move_on_after(patience) as scope:
                    await stack.enter_async_context(self.admission.alone())
                if scope.cancelled_caught:
                    _LOG.info("a checkpoint is made while steps run", steps=self.admission.inflight)
            yield

    def statistics(self) -> SessionStatistics:
        return replace(self.counted(self.plans), abandoned=None, nodes=None)  # only the tasks know these

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

    async def _told(self) -> dict[int, Sequence[str]]:
        flying = {entry.step for entry in self.in_flight}
        link = self._link
        if link is None or not link.alive:
            return {step: [f"the link to {self.target.address} is broken"] for step in flying}
        try:
            rows = msgpack.unpackb(await link.call(Waits(self._session, True), timeout=_WAITS_SECONDS))
        except OpError as error:
            return {step: [f"{self.target.address} does not tell: {error.message}"] for step in flying}
        seen = [WaitingStep(step, idle, lines) for step, idle, lines in rows if step in flying]
        self._deadlock.look(seen)
        return {one.step: one.lines for one in seen}

    async def close(self) -> None:
        """Closes the master's session. Its steps are stopped."""
        if self.closed:
            return
        self.closed = True
        await self._reports.close()
        await self.in_flight.close()
        if self._root is not None:
            await self._root.close()
        link = self._link
        if link is not None and link.alive:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                try:
                    await link.call(CloseSession(self._session))
                except OpError:
                    pass  # the master is gone, and the session with it
        if self._links is not None:
            with anyio.CancelScope(shield=True):
                await self._links.aclose()

    def abandon(self) -> None:
        """Lets sockets go at once."""
        self.closed = True
        if self._links is not None:
            self._links.close()
