"""`ZmqChannel`: the common part of a channel's two ends over ZeroMQ: what goes over which lane, and what arrives there.

Large tensors take a third connection, the sealed lane, if both sides have keys and can seal. CURVE hands over its keys, so it
needs none of CURVE's own encryption, which takes several times as long. Until the lane is there, or will not be, they wait.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import zmq

from actorflow.engine.transport.errors import PeerLost, ProtocolError

from ..channel import BaseChannel
from ..protocol.events import KeyReceived
from ..protocol.handshake import PeerFacts
from ..protocol.receiver import CHUNK_LIMIT
from .sealing import TAG_SIZE, Opener, Sealer
from .sockets import NOW, Socket, rest

if TYPE_CHECKING:
    from .endpoint import ZmqEndpoint

CONTROL, BULK, SEALED = 0, 1, 2
ID_SIZE = 18  # a byte that is not 0, sixteen random bytes, the lane
_CHUNKS_PER_TURN = 16
COPIED = 64 * 1024
_ENCRYPTED_CHUNK = 128 * 1024
_SEALED_CHUNK = 256 * 1024


class ZmqChannel(BaseChannel):
    """The common part of both ends."""

    transport = "zmq"
    endpoint: ZmqEndpoint
    _sealer: Sealer
    _opener: Opener
    _is_sealed: bool | None = False
    """Whether chunks take the sealed lane; None while that is not known."""

    def _agree_on_seal(self, mine: PeerFacts, peer: PeerFacts, port: int) -> bool:
        """Makes the ends of a sealed lane, to the listening side's port, if both sides can have such a lane: whether they can.
        Each side offers one cipher, so both come to the same answer."""
        common = [seal for seal in mine.seals if seal in peer.seals]
        if common and port:
            self._sealer, self._opener = Sealer(common[0]), Opener(common[0])
        return bool(common and port)

    def _keyed(self, event: KeyReceived) -> None:
        try:
            self._take_key(event.generation, event.key)
        except ProtocolError as error:
            self._seal_broke(error)

    @abstractmethod
    def _take_key(self, generation: int, key: bytes) -> None:
        """See `KeyReceived`. Raises ProtocolError."""

    def _seal_broke(self, error: ProtocolError) -> None:
        task = self.peer.identity.task or "a peer"
        self.handle(self.core.refuse(ProtocolError(f"The sealed lane from {task} broke: {error.message}")))

    def _decided(self, sealed: bool) -> None:
        """It is known which way chunks take."""
        self._is_sealed = sealed
        if sealed and self.core.peer is not None:
            most = self.core.peer.data_window // 2
            self.core.outbox.chunk, self.core.outbox.whole = min(_SEALED_CHUNK, most), min(CHUNK_LIMIT, most)
        self.wake()

    def _sealed_parts(self, head: bytes, body: memoryview) -> tuple[bytes, memoryview]:
        """A chunk as it goes over the sealed lane."""
        parts = self._sealer.head(head), self._sealer.body(body)
        if self._sealer.is_due:
            self.core.hand_key(*self._sealer.offer())
            self.wake()
        return parts

    def take_sealed(self, socket: Socket) -> int:
        """Receives the rest of a chunk of the sealed lane. The result is its size; 0 for no chunk."""
        try:
            first = socket.recv(NOW, copy=False)
        except zmq.Again:
            return 0
        size = len(first)
        try:
            if not first.more:
                raise ProtocolError("A chunk came without its body.")
            head = self._opener.head(first.buffer)
            body = socket.recv(NOW, copy=False)
            size += len(body)
            if body.more:
                raise ProtocolError("A chunk came in more parts than its head and its body.")
            self.bytes_received += len(head) + max(len(body) - TAG_SIZE, 0)
            view, events = self.core.receive_chunk(memoryview(head), lends=True)
            if self.core.receiver.borrows:
                self.handle(self.core.chunk_received(self._opener.body(body.buffer)))
            elif events or not len(view):
                self._opener.body(body.buffer)  # thrown away, and counted: the next part has the next number
                self.handle(events)
            else:
                self._opener.body_into(body.buffer, view)
                self.handle(self.core.chunk_received())
        except ProtocolError as error:
            rest(socket)
            self._seal_broke(error)
        return size

    def take(self, socket: Socket) -> int:
        """Receives the rest of a message whose turn it is. The result is its size; 0 for no message."""
        try:
            first = socket.recv(NOW, copy=False)
        except zmq.Again:
            return 0
        size = len(first)
        self.bytes_received += size
        if not first.more:
            self.handle(self.core.receive(first.buffer))
            return size
        view, events = self.core.receive_chunk(first.buffer, lends=True)
        if self.core.receiver.borrows:
            body = socket.recv(NOW, copy=False)
            if body.more:
                rest(socket)
                self.handle(self.core.refuse(ProtocolError("A chunk came in more parts than its head and its body.")))
                return size
            self.bytes_received += len(body)
            self.handle(self.core.chunk_received(body.buffer))
            return len(body)
        if events or not len(view):
            rest(socket)
            self.handle(events)
            return size
        received = socket.recv_into(view, flags=NOW)
        self.bytes_received += received
        if received != len(view) or socket.getsockopt(zmq.RCVMORE):
            rest(socket)
            error = ProtocolError(f"A chunk has {received:,} bytes, but its head said {len(view):,}.")
            self.handle(self.core.refuse(error))
            return received
        del view
        self.handle(self.core.chunk_received())
        return received

    def _broke(self, error: PeerLost) -> None:
        """A connection of the channel is gone. The peer hears of it by another connection, if that is still there."""
        self.core.last_word("a connection between the two broke")
        self._transmit()
        self.lost(error)

    def _copies(self, body: memoryview) -> bool:
        """Whether ZeroMQ copies the body of a chunk at once. If it does not, it says when it is done with it, which
        wakes a thread of the interpreter; and to encrypt is to copy anyway."""
        return self.endpoint.keys is not None or len(body) < COPIED

    def push(self, control: Callable[[bytes], None], bulk: Callable[[bytes, memoryview], None]) -> bool:
        """Sends what is ready, a bounded number of chunks. True if more is ready."""
        while (frame := self.core.outbox.next_control()) is not None:
            control(frame)
        if self._is_sealed is None:
            return False
        for _ in range(_CHUNKS_PER_TURN):
            chunk = self.core.outbox.next_bulk()
            if chunk is None:
                return False
            bulk(*chunk)
        return True


def chunk_size(endpoint: ZmqEndpoint) -> int:
    """The bytes of a chunk. Encrypted chunks are smaller: a chunk is encrypted while the chunk before is sent and the chunk
    before that decrypted."""
    return CHUNK_LIMIT if endpoint.keys is None else _ENCRYPTED_CHUNK
