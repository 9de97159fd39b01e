"""`AcceptedChannel`: the listening end of a channel over ZeroMQ, which speaks through the ROUTERs of its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import zmq

from actorflow.engine.transport.base import Peer, ProcessIdentity
from actorflow.engine.transport.errors import PeerLost, ProtocolError

from ..protocol.events import ConnectionOpened
from .channel import BULK, CONTROL, SEALED, ZmqChannel, chunk_size
from .sealing import FIRST_KEY
from .sockets import MORE, NOW, send

if TYPE_CHECKING:
    from .endpoint import ZmqEndpoint


class AcceptedChannel(ZmqChannel):
    """The listening end: it speaks through the ROUTERs of the process."""

    def __init__(self, endpoint: ZmqEndpoint, name: bytes, user: str | None) -> None:
        super().__init__(endpoint, "", chunk=chunk_size(endpoint))
        self._name = name
        self._control_name, self._bulk_name, self._sealed_name = (
            name + bytes([lane]) for lane in (CONTROL, BULK, SEALED)
        )
        self.has_sealed_lane = False
        """Whether the peer has greeted there."""
        self.peer = Peer(ProcessIdentity("", "", 0), "", user)

    def greet(self, hello: bytes) -> None:
        """Answers the peer's HELLO."""
        self.handle(self.core.receive(memoryview(hello)))
        if self.core.peer is not None and self.ended is None:
            self.endpoint.accepted(self)

    def _opened(self, event: ConnectionOpened) -> None:
        if self._agree_on_seal(self.core.mine, event.peer, self.endpoint.sealed_port):
            self._is_sealed = None
        super()._opened(event)

    def _take_key(self, generation: int, key: bytes) -> None:
        if self._is_sealed is False or (generation == 0 and self._is_sealed):
            raise ProtocolError(f"Key {generation} has come, but it has no use.")
        if generation == 0:
            self._decided(False)
        elif not key:
            self._sealer.taken(generation)
            if not self._is_sealed:
                self._decided(True)
        else:
            self._opener.take(generation, key)
            if self.has_sealed_lane:
                self.core.hand_key(generation)
            else:
                self.core.hand_key(*self._sealer.offer())

    def lost_lane(self, lane: int) -> None:
        """The connection of a lane is gone. A sealed lane that is not in use yet is the connecting side's affair."""
        if lane != SEALED or self._is_sealed:
            who = self.peer.identity.task or "a peer"
            self._broke(PeerLost(f"The connection to {who} broke: its process has ended or hangs."))
        else:
            self.has_sealed_lane = False

    def greeted(self, part: memoryview) -> bool:
        """Looks at the first part of a connection under the name of this channel's sealed lane: whether it is the peer's."""
        listener = self.endpoint.sealed
        if self._is_sealed is not None or listener is None:
            return False
        try:
            data = self._opener.head(part)
        except ProtocolError:
            return False  # a stranger's: it ends nothing
        if data:
            return False
        try:
            listener.send(self._sealed_name, self._sealer.greeting())
        except zmq.ZMQError:
            return False  # its connection is gone already
        self.has_sealed_lane = True
        self.core.hand_key(FIRST_KEY)
        self.wake()
        return True

    def _transmit(self) -> bool:
        try:
            more = self.push(self._control, self._bulk)
        except zmq.ZMQError as error:
            self.lost(PeerLost(f"{self.peer.identity.task or 'A peer'} cannot be reached any more: {error}."))
            return False
        self.endpoint.sent()
        return more

    def _control(self, frame: bytes) -> None:
        router = self.endpoint.router
        assert router is not None
        send(router, self._control_name, MORE, True)
        send(router, frame, NOW, True)

    def _bulk(self, head: bytes, body: memoryview) -> None:
        if self._is_sealed and self.endpoint.sealed is not None:
            self.endpoint.sealed.send(self._sealed_name, *self._sealed_parts(head, body))
            return
        router = self.endpoint.router
        assert router is not None
        send(router, self._bulk_name, MORE, True)
        send(router, head, MORE, True)
        send(router, body, NOW, self._copies(body))

    def _release(self) -> None:
        self.endpoint.forget(self._name)
