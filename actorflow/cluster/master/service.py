"""The master service of a task: the sessions of its clients, and what it answers them (paper section 3)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import astuple
from typing import Any

import anyio
import msgpack

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.master.registration import MasterPlan, Tasks
from actorflow.cluster.master.session import MasterSession
from actorflow.cluster.remote_step import begin_step, in_span, serve_partial_step, serve_step
from actorflow.cluster.wire.connect_all import Explanation, connect_all
from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.wire.messages import (
    CloseSession,
    Edges,
    Explain,
    Extend,
    LearnCosts,
    ListDevices,
    Measured,
    MovedState,
    MoveNodes,
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
from actorflow.cluster.wire.rpc import Handler
from actorflow.cluster.wire.signatures import decode_signature
from actorflow.cluster.worker.worker import Worker
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.placement.measuring import NodeMeasurement, decode_observed, encode_observed
from actorflow.engine.placement.search.codec import encode_problem
from actorflow.engine.placement.simulation.link_costs import LinkCosts, links_from_rows
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.transport.base import ProcessIdentity
from actorflow.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)

_LOG = get_logger("cluster")
MOST_SESSIONS = 1024
"""The number of sessions that one connection may have."""
_AGAIN_SECONDS = 0.5
_FLUSH_SECONDS = 1.0


class MasterService:
    """The sessions whose master is the task `me`. A session belongs to the link over which it was opened, and ends with it."""

    def __init__(
        self,
        cluster: ClusterSpec,
        me: ProcessIdentity,
        worker: Worker,
        reach: Callable[[str, str], Awaitable[TaskLink]],
        root: BackgroundTasks,
        explain: Explanation | None = None,
    ) -> None:
        self.sessions: dict[int, tuple[MasterSession, TaskLink]] = {}
        self.only = ""
        """The client that has the cluster for itself; "" for none."""
        self.catch_up: Callable[[Mapping[str, TaskLink | None]], Awaitable[None]] | None = None
        """Takes a newer view of the cluster that one of the links has named."""
        self._cluster = cluster
        self._me = me
        self._worker = worker
        self._root = root
        self._explain = explain
        self._addresses = {name: cluster.address_of(name) for name in cluster.tasks}
        self._tasks = Tasks(self._addresses, me.task, me.incarnation, reach)
        self._homes: dict[tuple[str, str], str] = {}
        """The devices of variables that a supervisor has placed, by container and name."""
        self._numbers = itertools.count((me.incarnation & (1 << 62) - 1) >> 31 << 31)

    async def follow(self, cluster: ClusterSpec) -> None:
        """The cluster has these tasks from now on. New sessions use them; open sessions extend their devices, or plan without the
        tasks that have left. Steps that are under way go on."""
        if cluster == self._cluster:
            return
        self._cluster = cluster
        addresses = {name: cluster.address_of(name) for name in cluster.tasks}
        came = [task for task, address in addresses.items() if self._addresses.get(task) != address]
        self._addresses.clear()
        self._addresses.update(addresses)
        links: dict[str, TaskLink] = {}
        for task in came:
            if self.sessions and task != self._me.task:
                try:
                    links[task] = await self._tasks.link(task)
                except OpError as error:
                    _LOG.warning("a task that has joined is not reached", task=task, error=str(error))
                    self._root.start(self._follow_later(task, addresses[task]))
        for session, _ in list(self.sessions.values()):
            await session.follow(links)

    async def _follow_later(self, task: str, address: str) -> None:
        """Gives the devices of a task that has joined to the sessions as soon as it is reached, if it is still a member."""
        link: TaskLink | None = None
        while link is None:
            await anyio.sleep(_AGAIN_SECONDS)
            if self._addresses.get(task) != address:
                return
            with contextlib.suppress(OpError):
                link = await self._tasks.link(task)
        if self._addresses.get(task) == address:
            for session, _ in list(self.sessions.values()):
                await session.follow({task: link})

    def begin_epoch(self, why: str) -> None:
        """Ends the links of all clients; they connect again. The supervisor of the new epoch says where variables are."""
        self._homes.clear()
        for _, owner in list(self.sessions.values()):
            owner.close(why)

    def handlers(self, link: TaskLink) -> Mapping[str, Handler]:
        """The answers on a link to a client, by method."""
        link.control.on_end(lambda error: self._lost_client(link))

        async def open_session(request: OpenSession) -> list[Any]:
            self._worker.check_open()
            return await self._open_session(request, link)

        async def extend(request: Extend) -> int:
            return self._session(request.session, link).extend(request.since, request.nodes)

        async def prepare(request: Prepare | PrepareTrial) -> list[Any]:
            session = self._session(request.session, link)
            signature = decode_signature(request.signature, session.graph.nodes)
            plan = await session.prepare(signature, request.coalesce, isinstance(request, PrepareTrial))
            return [plan, msgpack.packb(session.newly_placed())]

        def run_plan(request: RunPlan) -> StepResult[Any]:
            return begin_step(link, request, self._begin_plan)

        async def close_session(request: CloseSession) -> None:
            await self._close_session(request, link)

        async def explain(request: Explain) -> str:
            return self._session(request.session, link).explain(request.node)

        async def edges(request: Edges) -> bytes:
            packed: bytes = msgpack.packb(await self._session(request.session, link).edges())
            return packed

        async def measured(request: Measured) -> bytes:
            packed: bytes = msgpack.packb(encode_observed(await self._session(request.session, link).observed()))
            return packed

        async def waits(request: Waits) -> bytes:
            waiting = await self._session(request.session, link).steps.waits(request.lines)
            packed: bytes = msgpack.packb([[report.step, report.idle, report.lines] for report in waiting])
            return packed

        async def replan(request: Replan) -> None:
            await self._session(request.session, link).replan()

        async def move_nodes(request: MoveNodes) -> None:
            await self._session(request.session, link).place_variables(request.devices)

        async def moved_state(request: MovedState) -> None:
            if not all(type(row) is list and [type(part) for part in row] == [str] * 3 for row in request.rows):
                raise InvalidArgumentError("Each row is a container, the name of a variable, and a device.")
            link.check_epoch(request.epoch)
            self._homes.update({(container, name): device for container, name, device in request.rows})
            for session, _ in list(self.sessions.values()):
                await session.find_variables()

        async def list_devices(request: ListDevices) -> list[Any]:
            return self._session(request.session, link).device_rows()

        async def learn_costs(request: LearnCosts) -> None:
            self._session(request.session, link).learn(*_decode_costs(request.costs))

        async def pose_placement(request: PosePlacement) -> bytes:
            problem = await self._session(request.session, link).posed()
            return b"" if problem is None else encode_problem(problem)

        async def search_placement(request: SearchPlacement) -> bytes:
            session = self._session(request.session, link)
            packed: bytes = msgpack.packb(astuple(await session.search(request.seconds, request.seed, request.trials)))
            return packed

        async def settle_placement(request: SettlePlacement) -> bool:
            return await self._session(request.session, link).settle(request.adopt, request.verdict)

        return {
            "open_session": open_session,
            "extend": extend,
            "prepare": prepare,
            "prepare_trial": prepare,
            "run_plan": run_plan,
            "close_session": close_session,
            "explain": explain,
            "edges": edges,
            "measured": measured,
            "waits": waits,
            "replan": replan,
            "list_devices": list_devices,
            "move_nodes": move_nodes,
            "moved_state": moved_state,
            "learn_costs": learn_costs,
            "pose_placement": pose_placement,
            "search_placement": search_placement,
            "settle_placement": settle_placement,
        }

    def _find_plan(self, request: RunPlan, link: TaskLink) -> tuple[MasterSession, MasterPlan]:
        self._worker.check_open()
        if self.only not in ("", link.task):
            raise UnavailableError(
                f"{self._me.task} takes no steps now: the chief's supervisor restores variables.",
                hint="Try again in a moment. If that lasts, the chief is gone; it has to be started again.",
            )
        session = self._session(request.session, link)
        try:
            link.check_epoch(request.epoch)
        except AbortedError:
            self._root.start(self._let_go(link))
            raise
        if not 0 <= request.plan < len(session.plans):
            raise NotFoundError(f"The session has no plan {request.plan}.")
        return session, session.plans[request.plan]

    def _begin_plan(self, request: RunPlan, link: TaskLink) -> StepResult[Any]:
        session, plan = self._find_plan(request, link)
        step = next(self._numbers)
        if plan.partial:
            return serve_partial_step(
                link.tokens, request, lambda caller: session.steps.run_partial(plan, step, caller, request.step)
            )

        def run(values: list[Any], trace: Trace | None) -> StepResult[list[Any]]:
            return session.steps.run(plan, step, values, request.timeout, trace, request.step)

        spanned = in_span(link, request.step, "actorflow.step", self._me.task, run)
        return serve_step(link, request, plan.partitioned.feeds, plan.forms, spanned)

    async def _close_session(self, request: CloseSession, link: TaskLink) -> None:
        session = self._session(request.session, link)
        del self.sessions[request.session]
        closing = self._root.start(session.close())  # which ends, whether or not the client waits for it
        if closing is not None:
            await asyncio.shield(closing)

    async def _let_go(self, link: TaskLink) -> None:
        """Ends the link to a client that has missed the beginning of an epoch; it learns of it when it connects again."""
        with anyio.move_on_after(_FLUSH_SECONDS):
            try:
                await link.flush()
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):  # it is gone, or let go of already
                return
        link.close(f"the cluster is in epoch {link.tokens.epoch}")

    def _session(self, number: int, link: TaskLink) -> MasterSession:
        session, owner = self.sessions.get(number, (None, None))
        if session is None or owner is not link:
            raise FailedPreconditionError(f"{self._me.task} has no session {number} of this client.")
        return session

    async def _open_session(self, request: OpenSession, link: TaskLink) -> list[Any]:
        if sum(owner is link for _, owner in self.sessions.values()) >= MOST_SESSIONS:
            raise ResourceExhaustedError(
                f"{link.task} has {MOST_SESSIONS:,} sessions here; it has to close some first."
            )
        try:
            options = PlanOptions(**request.options)
        except TypeError as error:
            raise InvalidArgumentError(f"The session's options are not known here: {error}") from error
        timeout = math.inf if request.timeout is None else request.timeout
        until = anyio.current_time() + timeout
        while True:
            cluster = self._cluster
            left = max(0.0, until - anyio.current_time())
            links = await connect_all(cluster, self._me.task, self._worker.links, left, self._explain)
            if self.catch_up is not None:
                await self.catch_up(links)
            if cluster == self._cluster:
                break
        session = MasterSession(next(self._numbers), self._tasks, self._worker, self._numbers, self._homes)
        session.open(options, links)
        self.sessions[session.number] = (session, link)
        return [session.number, session.device_rows()]

    def _lost_client(self, link: TaskLink) -> None:
        """A client is gone: its steps are stopped by the end of their calls, its sessions here."""
        for number, (session, owner) in list(self.sessions.items()):
            if owner is link:
                del self.sessions[number]
                self._root.start(session.close())
        self._root.start(self._worker.drop_unclaimed())


def _decode_costs(costs: bytes) -> tuple[list[NodeMeasurement], LinkCosts | None]:
    """Measurements of nodes, and costs of links. Raises InvalidArgumentError."""
    try:
        rows, links = msgpack.unpackb(costs)
        return decode_observed(rows), None if links is None else links_from_rows(links)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise InvalidArgumentError(f"The costs can't be read: {error}") from None
