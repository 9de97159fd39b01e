"""`RemoteSession`: a session at a master, over a connection that is made again when it is lost."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import anyio
import msgpack

from actorflow.base.process import forks
from actorflow.cluster.client.inquiries import connect
from actorflow.cluster.config.credentials import Credentials, resolve
from actorflow.cluster.master.graph_partitioner import RemoteDevice
from actorflow.cluster.master.node_states import NodeStates, behind, keeps_state
from actorflow.cluster.processes import startup
from actorflow.cluster.wire.endpoints import Open
from actorflow.cluster.wire.links import Links, TaskLink
from actorflow.cluster.wire.messages import (
    CloseSession,
    Extend,
    ListDevices,
    MoveNodes,
    OpenSession,
    Prepare,
    PrepareTrial,
    Request,
)
from actorflow.cluster.wire.signatures import encode_signature
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.runtime.event_loops.running import running_loop
from actorflow.engine.session.waiting.deadline import note
from actorflow.errors import FailedPreconditionError, OpError, with_topic
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph

_MASTER = "the master"
_CLOSE_SECONDS = 1.0
_LEAST_SECONDS = 1.0
"""The master has so long for the other tasks, however late it was reached itself."""


@dataclass(frozen=True, slots=True)
class RemotePlan:
    """A plan that the master has made: its number there, the signature that it is for, over which connection, and after how
    many times that all plans were forgotten."""

    number: int
    signature: RunSignature
    coalesce: bool
    connection: TaskLink
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


class RemoteSession:
    """A client's share of its master: a copy of the graph, and plans. It connects when it is first used.

    Args:
        target: the master's address.
        graph: whose nodes go to the master.
        options: of the session there.
        credentials: keys, or the file that holds them.
        transport: its name, or "auto".
        connect_timeout: seconds to reach the master and, by it, the other tasks.
        endpoints: opens the client's endpoints, for tests.
        source: the environment's variable that gave the target, if one did.
    """

    def __init__(
        self,
        target: str,
        graph: Graph,
        options: PlanOptions,
        credentials: Credentials | str | os.PathLike[str] | None,
        transport: str,
        connect_timeout: float,
        endpoints: Open | None,
        source: str,
    ) -> None:
        with _naming(source):
            self.target = resolve(target, credentials)
        self.transport = transport
        self.closed = False
        self.link: TaskLink | None = None
        """The connection; after a loss the last connection."""
        self.number = 0
        """The session's, at the master."""
        self.plans = 0
        """How many the master has made."""
        self.placements: Mapping[str, str] = {}
        self.moved: dict[str, str] | None = None
        """The devices of nodes that have moved, which another session at the master is told as well. None: the master decides
        where variables are."""
        self.devices: list[RemoteDevice] = []
        self.links: Links | None = None
        self._process = 0
        self._graph = graph
        self._options = options
        self._timeout = connect_timeout
        self._open_endpoints = endpoints
        self._source = source
        self._sent = 0
        self._lock = anyio.Lock()
        self._known: dict[Any, RemotePlan] = {}
        self._states = NodeStates(lambda place: any(map(keeps_state, graph.nodes.values())))
        self._generation = 0

    def open(self) -> None:
        """Raises FailedPreconditionError after `close`."""
        if self.closed:
            raise FailedPreconditionError(
                "The session is closed.",
                hint=with_topic(
                    "Open another one: async with af.Session(target, graph=graph) as session: ...", "session-is-closed"
                ),
            )
        running_loop()
        if self.links is None:
            self.links = connect(self.target, self._open_endpoints, self.transport)
            self._process = os.getpid()
        elif self._process != os.getpid():
            raise forks.refusal("The session", self._process)

    async def connected(self) -> TaskLink:
        """The link to the master, with a session there. Raises UnavailableError, HandshakeRejected."""
        self.open()
        if self.link is not None and self.link.alive:
            return self.link
        try:
            async with self._lock:
                if self.link is None or not self.link.alive:
                    await self._connect()
                assert self.link is not None
                return self.link
        except asyncio.CancelledError as error:
            note(error, [f"The run waited for a session at {self.target.address}."])
            raise

    async def _connect(self) -> None:
        assert self.links is not None
        keys = self.target.credentials
        key = None if keys is None else keys.peer_key()
        until = anyio.current_time() + self._timeout
        with _naming(self._source):
            with startup.logging_wait(self.target.address, self._timeout) as progress:
                link = await self.links.to("", self.target.address, key=key, timeout=self._timeout, progress=progress)
            left = max(_LEAST_SECONDS, until - anyio.current_time())
            self.number, devices = await link.call(OpenSession(asdict(self._options), left))
            self._sent = 0
            if self.moved:
                self._sent = await link.call(Extend(self.number, 0, self._graph.to_bytes(since=0)))
            if self.moved is not None:
                await link.call(MoveNodes(self.number, self.moved))
        self._take_devices(devices)
        self._known.clear()
        self.placements = {}
        self._states.met(_MASTER, link)
        self.link = link

    def _take_devices(self, rows: list[list[str]]) -> None:
        self.devices = [RemoteDevice(name, kind, DeviceSpec.parse(name)) for name, kind in rows]

    async def refresh_devices(self) -> None:
        """Asks which devices the session has: tasks may have joined and left."""
        self._take_devices(await self.ask(ListDevices))

    async def ask(self, request: Callable[[int], Request]) -> Any:
        """Asks the master, and gives its reply. `request` makes the request from the session's number."""
        link = await self.connected()
        return await link.call(request(self.number))

    async def extend(self) -> None:
        """Sends the nodes that the master does not have yet."""
        link = await self.connected()
        async with self._lock:
            if self._sent < len(self._graph):
                nodes = self._graph.to_bytes(since=self._sent)
                self._sent = await link.call(Extend(self.number, self._sent, nodes))

    # ---- plans

    def is_current(self, plan: RemotePlan) -> bool:
        """Whether the plan is in force, over the connection that there is."""
        return plan.connection is self.link and plan.generation == self._generation

    async def plan(self, signature: RunSignature, *, coalesce: bool = True, trial: bool = False) -> RemotePlan:
        """The master's plan for `signature`. The new nodes of the graph go there first."""
        link = await self.connected()
        key = (signature.key, coalesce, trial)
        plan = self._known.get(key)
        if plan is not None:
            return plan
        generation = self._generation
        self._states.check(_MASTER, behind(self._graph.nodes, signature.wanted))
        await self.extend()
        with _naming(self._source):
            request = (PrepareTrial if trial else Prepare)(self.number, encode_signature(signature), coalesce)
            number, placed = await link.call(request)
        self.placements = {**self.placements, **msgpack.unpackb(placed)}
        self.plans += 1
        new_plan = self._known[key] = RemotePlan(number, signature, coalesce, link, generation)
        return new_plan

    def forget_plans(self) -> None:
        """No plan of before is in force any more."""
        self._known.clear()
        self._generation += 1

    def forget_trials(self) -> None:
        """The plans of a placement on trial are not in force any more."""
        for key in [key for key in self._known if key[2]]:
            del self._known[key]

    # ---- the end

    async def close(self) -> None:
        """Closes the master's session, and the links."""
        link = self.link
        if link is not None and link.alive:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                try:
                    await link.call(CloseSession(self.number))
                except OpError:
                    pass  # the master is gone, and the session with it
        if self.links is not None:
            with anyio.CancelScope(shield=True):
                await self.links.aclose()

    def abandon(self) -> None:
        """Lets sockets go at once."""
        self.closed = True
        if self.links is not None:
            self.links.close()
