"""The endpoints of one process: one for control, and one for tensors on the same host where there is shared memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from actorflow import machine
from actorflow.cluster.config.credentials import Credentials
from actorflow.device.base import BlockSource
from actorflow.errors import InvalidArgumentError
from actorflow.registry import plugins
from actorflow.transport.base import Channel, Endpoint, Identity

TRANSPORTS = ("auto", "zmq", "shm", "local")
"""`auto` takes shared memory where both ends are on one host and ZeroMQ elsewhere; `shm` insists on it."""

Open = Callable[[Identity, Callable[[Channel], object]], "Endpoints"]


@dataclass(slots=True)
class Endpoints:
    """`control` reaches every peer, `data` (if any) carries all to those on this host. `source` is where devices take memory
    from that `data` can hand over."""

    control: Endpoint
    data: Endpoint | None = None
    source: BlockSource | None = None
    insist: bool = False
    """Whether a peer that `data` does not reach is an error."""

    def set_epoch(self, epoch: int) -> None:
        self.control.set_epoch(epoch)
        if self.data is not None:
            self.data.set_epoch(epoch)

    async def aclose(self) -> None:
        """Closes all channels in good order, and the endpoints."""
        try:
            if self.data is not None:  # whose end ends the links in good order; the other way they would break
                await self.data.aclose()
            await self.control.aclose()
        finally:
            self.close()

    def close(self) -> None:
        """Closes all at once."""
        self.control.close()
        if self.data is not None:
            self.data.close()
        if self.source is not None:
            self.source.close()  # type: ignore[attr-defined]
        self.data = self.source = None


def open_endpoints(
    transport: str,
    *,
    listen: str | None = None,
    advertise: str | None = None,
    credentials: Credentials | None = None,
    allowed: frozenset[str] = frozenset(),
    arena_bytes: int | None = None,
    epoch: int = 0,
    options: dict[str, Any] | None = None,
) -> Open:
    """What opens the endpoints of a process by `transport`; `listen` is None for a client.

    Raises:
        InvalidArgumentError: there is no such transport.
    """
    if transport not in TRANSPORTS:
        raise InvalidArgumentError(f"transport={transport!r}: it is one of {', '.join(TRANSPORTS)}.")
    common = {"epoch": epoch, **(options or {})}

    def local(me: Identity, accept: Callable[[Channel], object]) -> Endpoints:
        return Endpoints(plugins.load("transports", "local_endpoint")(me, listen=listen, accept=accept, **common))

    def remote(me: Identity, accept: Callable[[Channel], object]) -> Endpoints:
        keys = None if credentials is None else credentials.key_pair()
        control = plugins.load("transports", "zmq")(
            me, listen=listen, advertise=advertise, keys=keys, allowed=allowed, accept=accept, **common
        )
        if transport == "zmq" or (transport == "auto" and sys.platform != "linux"):
            return Endpoints(control)
        try:
            kind = plugins.load("transports", "shm")
            arena = kind.Arena() if arena_bytes is None else kind.Arena(arena_bytes) if arena_bytes else None
            data = kind(me, listen=listen is not None, arena=arena, accept=accept, **common)
        except BaseException:
            control.close()
            raise
        return Endpoints(control, data, arena, transport == "shm")

    def simulated(me: Identity, accept: Callable[[Channel], object]) -> Endpoints:
        kind = plugins.load("transports", "simulated")
        keys = None if credentials is None else credentials.key_pair()
        return Endpoints(
            kind(me, listen=listen, advertise=advertise, keys=keys, allowed=allowed, accept=accept, **common)
        )

    if transport != "local" and not machine.current().is_real:
        return simulated
    return local if transport == "local" else remote
