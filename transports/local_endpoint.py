"""Channels inside a process, for peers that happen to share it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from actorflow.base.process import machine
from actorflow.engine.transport.base import Channel, ProcessIdentity, Reach
from actorflow.engine.transport.errors import PeerLost
from actorflow.engine.transport.factory import TransportFactory
from actorflow.errors import AlreadyExistsError, InvalidArgumentError, UnavailableError

from .channel import BaseChannel
from .endpoint import BaseEndpoint
from .protocol.tensors import rounded

_ENDPOINTS: weakref.WeakValueDictionary[str, LocalEndpoint] = weakref.WeakValueDictionary()


class LocalEndpoint(BaseEndpoint):
    """An endpoint for peers on the same event loop, with the manners of the others: handshake, epochs, ends.

    Messages go through the protocol; arrays are handed over by reference. `listen` is its address, any name that no other
    endpoint of the process has.
    """

    name = "local"

    def __init__(self, me: ProcessIdentity, *, listen: str | None = None, **options: Any) -> None:
        super().__init__(me, **options)
        self.address = listen or f"local://{machine.fresh_hex(8)}"
        if self.address in _ENDPOINTS:
            self.close()
            raise AlreadyExistsError(f"Somebody listens at {self.address} already.")
        _ENDPOINTS[self.address] = self

    async def connect(
        self,
        address: str,
        incarnation: int | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        progress: Callable[[str], object] | None = None,
    ) -> Channel:
        if not address.startswith("local://"):
            raise InvalidArgumentError(f"{address!r} is no address; it looks like local://name.")
        self.check_open()
        other = _ENDPOINTS.get(address)
        if other is None or other.closed or other.loop is not self.loop:
            raise UnavailableError(f"Nobody listens at {address} on this event loop.")
        mine = LocalChannel(self, address, incarnation)
        theirs = LocalChannel(other, "", None)
        mine.other, theirs.other = theirs, mine
        theirs.server = True
        for step in ("resolved", "connected", "authenticated"):
            if progress is not None:
                progress(step)
        mine.core.hello()
        mine.wake()
        try:
            await mine.opened
        except BaseException:
            mine.close("not wanted any more")
            raise
        if progress is not None:
            progress("accepted")
        return mine

    def _release(self) -> None:
        if _ENDPOINTS.get(self.address) is self:
            del _ENDPOINTS[self.address]


LOCAL = TransportFactory("local", "local", Reach.PROCESS, LocalEndpoint, cost=0)


class LocalChannel(BaseChannel):
    """One end of a channel inside a process."""

    transport = "local"
    reach = Reach.PROCESS
    other: LocalChannel
    server = False

    def __init__(self, endpoint: LocalEndpoint, address: str, incarnation: int | None) -> None:
        super().__init__(endpoint, address, expects=incarnation)

    def send(self, edge: int, step: int, tag: bytes, token: Any, *, lossy: bool = False) -> None:
        self._check()
        if self.core.inbox.ended(self.core.epoch, step):
            return
        if isinstance(token, np.ndarray):
            if lossy:
                token = rounded(token)
            if token.flags.writeable:
                token = token.view()
                token.flags.writeable = False
        elif lossy and isinstance(token, np.float32):
            token = rounded(token)
        self.core.sender.count(edge, 0)
        self.loop.call_soon(self.other.come, self.core.epoch, edge, step, tag, token)

    def come(self, epoch: int, edge: int, step: int, tag: bytes, token: Any) -> None:
        """A token of the other end has arrived."""
        self.core.take_token(epoch, edge, step, tag, token)
        self.wake()

    def _transmit(self) -> bool:
        while (frame := self.core.outbox.next_control()) is not None:
            self.loop.call_soon(self.other.arrive, frame)
        return False

    def arrive(self, frame: bytes) -> None:
        """A frame of the other end has arrived."""
        if self.ended is not None:
            return
        self.bytes_received += len(frame)
        was = self.core.peer
        self.handle(self.core.receive(memoryview(frame)))
        if self.server and was is None and self.core.peer is not None and self.ended is None:
            self.endpoint.accepted(self)

    def _release(self) -> None:
        self.loop.call_soon(self.other.lost, PeerLost("The other end of the channel is gone."))
