"""The rendezvous of a step on one of several tasks: some edges end here, others lead over links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from actorflow.cluster.wire.failures import link_is_closed
from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.wire.signatures import Form
from actorflow.cluster.worker.task_partition import TaskPartition
from actorflow.engine.device.sharing import PeerMemory
from actorflow.engine.session.planning.builder import CompiledPlans
from actorflow.engine.transport.base import Callback, Channel
from actorflow.engine.transport.rendezvous import Rendezvous
from actorflow.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class Route:
    """An edge that leads to or from another task."""

    channel: Channel
    edge: int


_CLOSED = (anyio.ClosedResourceError, anyio.EndOfStream)
"""How a channel says that it was closed in good order: no error of the graph, and none that a program should have to know."""


def _unavailable(route: Route, error: BaseException) -> UnavailableError:
    return link_is_closed(route.channel.peer.identity.task, error)


class RemoteRendezvous:
    """Sends and receives by the keys of edges: over `routes` for a key that is named there, else at `local`."""

    def __init__(self, step: int, local: Rendezvous, routes: Mapping[str, Route]) -> None:
        self._step = step
        self._local = local
        self._routes = routes

    @property
    def is_local(self) -> bool:
        return not self._routes

    def peer_memory(self, key: str) -> PeerMemory | None:
        """The memory that devices here and at the other end of an edge share; None if they have no host in common, or
        no process lies between them."""
        route = self._routes.get(key)
        return None if route is None else route.channel.peer_memory

    def send(self, key: str, token: Any, tag: bytes = b"", *, lossy: bool = False) -> None:
        route = self._routes.get(key)
        if route is None:
            self._local.send(key, token, tag, lossy=lossy)
        else:
            try:
                route.channel.send(route.edge, self._step, tag, token, lossy=lossy)
            except _CLOSED as error:
                raise _unavailable(route, error) from error

    async def recv(self, key: str, tag: bytes = b"") -> Any:
        route = self._routes.get(key)
        if route is None:
            return await self._local.recv(key, tag)
        try:
            return await route.channel.recv(route.edge, self._step, tag)
        except _CLOSED as error:
            raise _unavailable(route, error) from error

    def expect(self, key: str, tag: bytes, callback: Callback) -> None:
        route = self._routes.get(key)
        if route is None:
            self._local.expect(key, tag, callback)
            return

        def arrived(token: Any, error: BaseException | None) -> None:
            if isinstance(error, _CLOSED):
                cause, error = error, _unavailable(route, error)
                error.__cause__ = cause
            callback(token, error)

        try:
            route.channel.expect(route.edge, self._step, tag, arrived)
        except _CLOSED as error:
            raise _unavailable(route, error) from error

    def abort(self, error: BaseException) -> None:
        self._local.abort(error)
        self.finish()

    def finish(self) -> None:
        """The step is over here: what it did not take is dropped, and who still waits is woken."""
        for channel in {id(route.channel): route.channel for route in self._routes.values()}.values():
            channel.finish(self._step)


@dataclass(slots=True)
class RunnablePartition:
    """A part as it runs: its plans, the order of its feeds, and the links that its edges take."""

    part: TaskPartition
    compiled: CompiledPlans
    owner: object
    forms: tuple[Form, ...]
    routes: dict[str, Route] | None = None
    """None until the part runs."""
    links: frozenset[TaskLink] = frozenset()
    """Those of the routes. They last longer than the part, so they don't know of it."""

    def standing_routes(self) -> dict[str, Route] | None:
        """The routes, if all links that they need are there."""
        return self.routes if all(link.alive for link in self.links) else None
