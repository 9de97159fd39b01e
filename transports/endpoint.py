"""The common part of all endpoints: their channels, the epoch, and the beat."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.engine.transport.base import Allocate, Channel, PeerLimits, ProcessIdentity
from actorflow.engine.transport.heartbeat import Heartbeat, Pulse
from actorflow.errors import UnavailableError, with_topic

from .channel import BaseChannel
from .protocol.handshake import CloseReason


def clocks() -> tuple[int, int]:
    """The monotonic and the wall clock, in nanoseconds."""
    return machine.current().clocks()


class BaseEndpoint(ABC):
    """The channels of a process over one transport, its epoch, and the heartbeat that all channels share.

    Its channels beat every `heartbeat_seconds`, and a transport that carries messages between machines loses a peer by them.
    """

    name: str
    """The name of the transport."""
    seals: tuple[str, ...] = ()
    """The ways in which it seals a bulk lane of its own."""
    sealed_port: int = 0
    """The port at which it listens for such a lane; 0 for none."""

    def __init__(
        self,
        me: ProcessIdentity,
        *,
        accept: Callable[[Channel], object] | None = None,
        epoch: int = 0,
        limits: PeerLimits | None = None,
        allocate: Allocate | None = None,
        clock: Callable[[], tuple[int, int]] = clocks,
        heartbeat_seconds: float = 1.0,
    ) -> None:
        self.me = me
        self.accept = accept
        self.epoch = epoch
        self.limits = limits or PeerLimits()
        self.allocate = allocate
        self.clock = clock
        self.address = ""
        self.channels: list[BaseChannel] = []
        self.starting: dict[BaseChannel, None] = {}
        """Channels whose handshake is not done, oldest first."""
        self.closed = False
        self.loop = asyncio.get_running_loop()
        self.heartbeat = Heartbeat(heartbeat_seconds)
        self._pulse = Pulse(self.heartbeat, self.beat)

    def set_epoch(self, epoch: int) -> None:
        """A new epoch for all channels. Raises ValueError for an earlier epoch."""
        if epoch < self.epoch:
            raise ValueError(f"Epoch {epoch} cannot follow epoch {self.epoch}.")
        self.epoch = epoch
        for channel in self.channels:
            channel.set_epoch(epoch)

    def beat(self) -> None:
        """Sends one beat to each peer."""
        for channel in self.channels:
            channel.core.beat()
            channel.wake()

    def accepted(self, channel: BaseChannel) -> None:
        """Gives a channel that a peer has opened to whom it may concern."""
        if self.accept is not None:
            self.accept(channel)
        else:
            channel.close(f"{self.me.task} takes no channels.", CloseReason.REFUSED)

    async def aclose(self) -> None:
        try:
            async with anyio.create_task_group() as group:
                for channel in list(self.channels):
                    group.start_soon(channel.aclose)
        finally:
            self.close()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._pulse.stop()
        for channel in [*self.channels, *self.starting]:
            channel.close("the process ends")
        self._release()

    def check_open(self) -> None:
        """Raises ClosedResourceError when the endpoint is closed."""
        if self.closed:
            raise anyio.ClosedResourceError

    @abstractmethod
    def _release(self) -> None:
        """Lets go of what the endpoint listens with."""

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()


class ConnectionProgress:
    """How far a connection has come, in a word; each new word is told to `listener`."""

    def __init__(self, listener: Callable[[str], object] | None) -> None:
        self.reached = "nothing"
        self._listener = listener

    def __call__(self, what: str) -> None:
        if what != self.reached:
            self.reached = what
            if self._listener is not None:
                self._listener(what)


def not_reached(address: str, seconds: float, reached: str) -> UnavailableError:
    """The error of a connection that came as far as `reached`, a word of progress."""
    if reached == "nothing":
        what = f"{address} can't be reached: within {seconds:g} s no name server has said where its host is"
        hint = "Compare the host's name, and whether this machine reaches its name server."
    elif reached == "resolved":
        what = f"{address} can't be reached: within {seconds:g} s nothing has taken a connection there"
        hint = "Is the process running there, under this address and port? A firewall may drop what is sent."
    else:
        what = f"{address} does not answer: it has not accepted a channel within {seconds:g} s"
        hint = "The process there is starting, stopped or busy, or its machine is. A longer time limit waits longer."
    return UnavailableError(f"{what}; it got as far as: {reached}.", hint=with_topic(hint, "task-not-reached"))
