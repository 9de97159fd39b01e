"""The endpoints of one process: an endpoint for control, and another for tensors on the same host if a transport has
that reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.base.process import machine
from actorflow.base.registry import plugins
from actorflow.cluster.config.credentials import Credentials
from actorflow.engine.transport import installed
from actorflow.engine.transport.base import Channel, Endpoint, ProcessIdentity, Reach
from actorflow.engine.transport.factory import Arena, TransportFactory
from actorflow.errors import FailedPreconditionError, InvalidArgumentError

Open = Callable[[ProcessIdentity, Callable[[Channel], object]], "Endpoints"]


@dataclass(slots=True)
class Endpoints:
    """`control` reaches every peer, `data` (if any) carries all to those on this host. `source` is where devices take memory
    from that `data` can hand over."""

    control: Endpoint
    data: Endpoint | None = None
    source: Arena | None = None
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
            self.source.close()
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
    control_only: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Open:
    """The function that opens the endpoints of a process by `transport`; `listen` is None for a client.

    With `control_only` there is none for tensors. Those of `options` go to the transport of `control` that it knows.

    Raises:
        InvalidArgumentError, PluginError, UnimplementedError: there is no such transport, or it can't work here; see
            `installed.find`. Or there are credentials, and it has no keys.
    """
    control, data = chosen(transport)
    if listen is not None and not listen.startswith(f"{control.scheme}://"):
        raise InvalidArgumentError(
            f"The transport {control.name!r} listens at {control.scheme}://..., but the address of this task is {listen}.",
            hint=f"Write {control.scheme}:// before the addresses in the cluster's specification.",
        )
    insist = data is not None and transport != installed.AUTO
    if not machine.current().is_real and control.reach is not Reach.PROCESS:
        control, data = plugins.load("simulation", "transport"), None
    if control_only:
        data = None
    if credentials is not None and control.make_keys is None and control.reach is not Reach.PROCESS:
        raise InvalidArgumentError(
            f"The transport {control.name!r} has no keys, so it can't prove who is at the other end; but keys are given.",
            hint="Take a transport that has keys, or none: unset ACTORFLOW_KEYS, give no `credentials`.",
        )
    control_options = {name: value for name, value in (options or {}).items() if name in control.options}

    def opened(me: ProcessIdentity, accept: Callable[[Channel], object]) -> Endpoints:
        arguments: dict[str, Any] = {"listen": listen, "accept": accept, "epoch": epoch, **control_options}
        if control.reach is Reach.ANY:
            arguments["advertise"] = advertise
        if control.make_keys is not None:
            arguments |= {"keys": credentials, "allowed": allowed}
        first = control.open(me, **arguments)
        if data is None:
            return Endpoints(first)
        arena = None
        try:
            arguments = {"listen": None if listen is None else "", "accept": accept, "epoch": epoch}
            if data.make_arena is not None:
                arena = arguments["arena"] = None if arena_bytes == 0 else data.make_arena(arena_bytes)
            return Endpoints(first, data.open(me, **arguments), arena, insist)
        except BaseException:
            first.close()
            if arena is not None:
                arena.close()
            raise

    return opened


def chosen(transport: str) -> tuple[TransportFactory, TransportFactory | None]:
    """The transport for control and the transport for tensors beside it, if any. Raises what `installed.find` raises,
    and FailedPreconditionError where nothing is installed that reaches other hosts."""
    named = None if transport == installed.AUTO else installed.find(transport)
    if named is not None and named.reach is not Reach.HOST:
        return named, None
    control = installed.cheapest(Reach.ANY)
    if control is None:
        raise FailedPreconditionError(
            "No transport is installed that reaches other hosts.", hint="Install actorflow again: it brings one."
        )
    if named is None:
        beside = installed.cheapest(Reach.HOST)
        named = beside if beside is not None and beside.cost < control.cost else None
    return control, named
