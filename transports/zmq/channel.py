"""The two ends of a channel over ZeroMQ: the listening one speaks through a ROUTER, the connecting one through two DEALERs.

Where both sides have keys and can seal, large tensors take a third connection, the sealed lane. CURVE hands over its keys, so it
needs none of CURVE's own encryption, which takes several times as long. Until the lane is there, or will not be, they wait.
"""

from __future__ import annotations

import asyncio
import secrets
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import zmq

from actorflow.logs import get_logger
from actorflow.transport.base import Identity, Peer
from actorflow.transport.errors import HandshakeRejected, PeerLost, ProtocolError

from ..channel import BaseChannel
from ..protocol.events import ConnectionOpened, KeyReceived
from ..protocol.frames import encode
from ..protocol.handshake import Hello, hello_record
from ..protocol.receiver import CHUNK_LIMIT
from .monitor import SocketMonitor
from .sealing import FIRST_KEY, Opener, Sealer
from .sockets import MORE, NOW, Socket, fd_of, readable, rest, send

if TYPE_CHECKING:
    from .endpoint import ZmqEndpoint

CONTROL, BULK, SEALED = 0, 1, 2
ID_SIZE = 18  # a byte that is not 0, sixteen random ones, the lane
_PER_TURN = 64
_BYTES_PER_TURN = 4 << 20
_CHUNKS_PER_TURN = 16
_COPIED = 64 * 1024
_ENCRYPTED_CHUNK = 128 * 1024
_SEALED_CHUNK = 256 * 1024
_SEALED_SECONDS = 0.8
"""A sealed lane that is not there by then will not be. It is less than a channel takes to close, so nothing is left behind."""
_REFUSALS = 3
_SILENT = 0.8
"""A handshake that fails after so much of its time was not refused: there was no answer."""
_LOG = get_logger("transports")
_WATCHED = (
    zmq.EVENT_CONNECTED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
)


class UnexplainedRejection(HandshakeRejected):
    """The peer ended the handshake and did not say why."""


class _ZmqChannel(BaseChannel):
    """The common part of both ends."""

    transport = "zmq"
    endpoint: ZmqEndpoint
    _sealer: Sealer
    _opener: Opener
    _is_sealed: bool | None = False
    """Whether chunks take the sealed lane; None while that is not known."""

    def _may_seal(self, mine: Hello, peer: Hello, port: int) -> bool:
        """Whether both could have a sealed lane, to the port of the listening one. Both sides come to the same answer."""
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
        self.lost(ProtocolError(f"The sealed lane from {self.peer.identity.task or 'a peer'} broke: {error.message}"))

    def _decided(self, sealed: bool) -> None:
        """It is known which way chunks take."""
        self._is_sealed = sealed
        if sealed and self.core.peer is not None:
            self.core.outbox.chunk = min(_SEALED_CHUNK, self.core.peer.data_window // 2)
        self.wake()

    def _sealed_parts(self, head: bytes, body: memoryview) -> tuple[bytes, bytes]:
        """A chunk as it goes over the sealed lane."""
        parts = self._sealer.head(head), self._sealer.body(body)
        if self._sealer.is_due:
            self.core.hand_key(*self._sealer.offer())
            self.wake()
        return parts

    def take_sealed(self, socket: Socket) -> int:
        """Receives the rest of a chunk of the sealed lane. The result is its size; 0 where there was none."""
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
            self.bytes_received += size
            view, events = self.core.receive_chunk(memoryview(head), lends=True)
            if self.core.receiver.borrows:
                self.handle(self.core.chunk_received(memoryview(self._opener.body(body.buffer))))
            elif events or not len(view):
                self.handle(events)
            else:
                self._opener.body_into(body.buffer, view)
                self.handle(self.core.chunk_received())
        except ProtocolError as error:
            rest(socket)
            self._seal_broke(error)
        return size

    def take(self, socket: Socket) -> int:
        """Receives the rest of a message whose turn it is. The result is its size; 0 where there was none."""
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
                self.lost(ProtocolError("A chunk came in more parts than its head and its body."))
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
            self.lost(ProtocolError(f"A chunk has {received:,} bytes, but its head said {len(view):,}."))
            return received
        del view
        self.handle(self.core.chunk_received())
        return received

    def _copies(self, body: memoryview) -> bool:
        """Whether ZeroMQ copies the body of a chunk at once. If it does not, it says when it is done with it, which
        wakes a thread of the interpreter; and to encrypt is to copy anyway."""
        return self.endpoint.keys is not None or len(body) < _COPIED

    def push(self, control: Callable[[bytes], None], bulk: Callable[[bytes, memoryview], None]) -> bool:
        """Sends what is ready, a bounded number of chunks. True where there is more."""
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


class AcceptedChannel(_ZmqChannel):
    """The listening end: it speaks through the process's ROUTER."""

    def __init__(self, endpoint: ZmqEndpoint, name: bytes, user: str | None) -> None:
        super().__init__(endpoint, "", chunk=chunk_size(endpoint))
        self._name = name
        self._control_name, self._bulk_name, self._sealed_name = (
            name + bytes([lane]) for lane in (CONTROL, BULK, SEALED)
        )
        self.has_sealed_lane = False
        """Whether the peer has greeted there."""
        self.peer = Peer(Identity("", "", 0), "", user)

    def greet(self, hello: bytes) -> None:
        """Answers the peer's HELLO."""
        self.handle(self.core.receive(memoryview(hello)))
        if self.core.peer is not None and self.ended is None:
            self.endpoint.accepted(self)

    def _opened(self, event: ConnectionOpened) -> None:
        if self._may_seal(self.core.mine, event.peer, self.endpoint.sealed_port):
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
        self.has_sealed_lane = True
        listener.send(self._sealed_name, self._sealer.greeting())
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


class ConnectedChannel(_ZmqChannel):
    """The connecting end: two DEALERs, each with a monitor."""

    def __init__(
        self,
        endpoint: ZmqEndpoint,
        address: str,
        target: str,
        incarnation: int | None,
        key: str | None,
        tell: Callable[[str], None],
    ) -> None:
        super().__init__(endpoint, address, expects=incarnation, chunk=chunk_size(endpoint))
        self.peer = Peer(Identity("", "", 0), address, (key or endpoint.keys.public) if endpoint.keys else None)
        self._tell = tell
        self._refusals = 0
        self._connected = [0.0, 0.0]
        self._ready = [False, False]
        self._draining = [False, False, False]
        self._target = target
        self._name = b"\1" + secrets.token_bytes(ID_SIZE - 2)
        self._sockets: list[Socket] = []
        self._monitors: list[SocketMonitor] = []
        self._fds: list[int] = []
        self._answered = False
        """Whether the sealed lane leads to the peer."""
        self._giving_up: asyncio.TimerHandle | None = None
        self._open_lane(CONTROL, target, self._seen)
        self._open_lane(BULK, target, self._seen)
        self.core.hello()

    def _open_lane(self, lane: int, target: str, seen: Callable[[int, int, int], None]) -> None:
        """Opens the next lane; `seen(lane, event, value)` hears of its connection."""
        socket = self._dealer(lane)
        self._sockets.append(socket)
        self._monitors.append(SocketMonitor(socket, _WATCHED, lambda event, value: seen(lane, event, value)))
        self._fds.append(fd_of(socket))
        self.loop.add_reader(self._fds[lane], self._drain, lane)
        socket.setsockopt(zmq.IPV6, "[" in target)
        socket.connect(target)

    def _dealer(self, lane: int) -> Socket:
        socket = self.endpoint.socket(zmq.DEALER)
        socket.setsockopt(zmq.ROUTING_ID, self._name + bytes([lane]))
        socket.setsockopt(zmq.AFFINITY, 1 << min(lane, BULK))
        socket.immediate = True  # nothing is queued for a peer that is not there, or its successor would get it
        keys = self.endpoint.keys
        if keys is not None and lane != SEALED:
            assert self.peer.key is not None
            socket.curve_serverkey = self.peer.key.encode()
            socket.curve_publickey = keys.public.encode()
            socket.curve_secretkey = keys.secret.encode()
        return socket

    def _seen(self, lane: int, event: int, value: int) -> None:
        if self.ended is not None:
            return
        if event == zmq.EVENT_CONNECTED:
            self._connected[lane] = self.loop.time()
            self._tell("connected")
        elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self._ready[lane] = True
            if lane == BULK:
                send(self._sockets[BULK], encode(hello_record(self.core.mine)), NOW, True)
                self._look_again(BULK)  # only who has found a new connection empty is told of its first message
            if all(self._ready):
                self._tell("authenticated")
            self.wake()
        elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            self._rejected("it does not allow this process's key")
        elif event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
            self._unlike()
        elif event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            if self.loop.time() - self._connected[lane] >= _SILENT * self.endpoint.handshake_seconds:
                self._refusals = 0  # it was silent: it is starting, stopped, or busy
                return
            self._refusals += 1
            if self._refusals >= _REFUSALS:
                self._unlike()
        elif event == zmq.EVENT_DISCONNECTED and self._ready[lane]:
            self._broke()

    def _broke(self) -> None:
        """A connection is gone. What came before its end, a last word perhaps, still counts."""
        for lane, socket in enumerate(self._sockets):
            while self.ended is None and readable(socket):
                self._drain_some(lane)
        self.lost(PeerLost(f"The connection to {self._who()} broke: its process has ended or hangs."))

    # ---- the sealed lane

    def _opened(self, event: ConnectionOpened) -> None:
        if self._may_seal(self.core.mine, event.peer, event.peer.sealed_port):
            if self.peer.address in self.endpoint.unsealed:
                self.core.hand_key(0)
            else:
                self._is_sealed = None
                self._giving_up = self.loop.call_later(_SEALED_SECONDS, self._give_up)
                self.core.hand_key(*self._sealer.offer())
        super()._opened(event)

    def _take_key(self, generation: int, key: bytes) -> None:
        if self._is_sealed is False:
            if generation != FIRST_KEY:  # that one may have been under way as this side gave up
                raise ProtocolError(f"Key {generation} has come, but it has no use.")
        elif not key:
            self._sealer.taken(generation)
            self._look_whether_sealed()
        else:
            self._opener.take(generation, key)
            if self._answered:
                self.core.hand_key(generation)
            elif self.core.peer is not None:
                host = self._target.rpartition(":")[0]
                self._open_lane(SEALED, f"{host}:{self.core.peer.sealed_port}", self._seen_sealed)

    def _seen_sealed(self, lane: int, event: int, value: int) -> None:
        if self.ended is not None or len(self._sockets) <= SEALED:
            return
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED and not self._answered:
            send(self._sockets[SEALED], self._sealer.greeting(), NOW, True)
            self._look_again(SEALED)
        elif event == zmq.EVENT_DISCONNECTED and self._answered:
            self._broke()

    def _take_answer(self) -> None:
        """The peer's greeting on the sealed lane."""
        socket = self._sockets[SEALED]
        try:
            part = socket.recv(NOW, copy=False)
            if part.more or self._opener.head(part.buffer):
                raise ProtocolError("Its first part is no greeting.")
        except zmq.Again:
            return
        except ProtocolError as error:
            rest(socket)
            self._seal_broke(error)
            return
        self._answered = True
        self.core.hand_key(FIRST_KEY)
        self.wake()
        self._look_whether_sealed()

    def _look_whether_sealed(self) -> None:
        if self._is_sealed is None and self._answered and self._sealer.ready:
            if self._giving_up is not None:
                self._giving_up.cancel()
            self._decided(True)

    def _give_up(self) -> None:
        """The sealed lane does not come: a firewall may be between."""
        if self._is_sealed is not None or self._answered or self.ended is not None or self.core.peer is None:
            return
        _LOG.warning("sealed_lane_not_reached", peer=self._who(), port=self.core.peer.sealed_port)
        self.endpoint.unsealed.add(self.peer.address)
        self._close_lanes(SEALED)
        self.core.hand_key(0)
        self._decided(False)

    # ---- sending and receiving

    def _unlike(self) -> None:
        """The peer ended the handshake: the two have different keys, or it is something else."""
        self.lost(UnexplainedRejection(f"{self.peer.address} refuses the connection."))

    def _rejected(self, why: str) -> None:
        self.lost(HandshakeRejected(f"{self.peer.address} refuses the connection: {why}."))

    def _who(self) -> str:
        return self.peer.identity.task or self.peer.address

    def _transmit(self) -> bool:
        if not self._ready[CONTROL]:
            return False
        chunks = self.core.outbox.bulk_sent
        try:
            more = self.push(self._control, self._bulk)
        except zmq.ZMQError:
            return False  # not connected any more: the monitor says so soon
        self._look_again(CONTROL)
        if self.core.outbox.bulk_sent != chunks:
            self._look_again(SEALED if self._is_sealed else BULK)
        return more

    def _control(self, frame: bytes) -> None:
        send(self._sockets[CONTROL], frame, NOW, True)

    def _bulk(self, head: bytes, body: memoryview) -> None:
        if self._is_sealed:
            sealed_head, sealed_body = self._sealed_parts(head, body)
            send(self._sockets[SEALED], sealed_head, MORE, True)
            send(self._sockets[SEALED], sealed_body, NOW, False)
            return
        send(self._sockets[BULK], head, MORE, True)
        send(self._sockets[BULK], body, NOW, self._copies(body))

    def _drain(self, lane: int) -> None:
        self._draining[lane] = False
        is_new = self.core.peer is None
        if self.ended is not None or lane >= len(self._sockets) or (is_new and lane == BULK):
            return  # a chunk may overtake the peer's greeting, which comes over another connection
        self._drain_some(lane)
        if is_new and self.core.peer is not None:
            self._look_again(BULK)

    def _drain_some(self, lane: int) -> None:
        socket = self._sockets[lane]
        space = _BYTES_PER_TURN
        for _ in range(_PER_TURN):
            if lane == SEALED and not self._answered:
                self._take_answer()
                self._look_again(lane)
                return
            size = self.take(socket) if lane != SEALED else self.take_sealed(socket)
            space -= size
            if not size or self.ended is not None or not readable(socket):
                return
            if space < 0:
                break
        self._look_again(lane)

    def _look_again(self, lane: int) -> None:
        """Sending and receiving may swallow the signal that something arrived."""
        if not self._draining[lane] and self.ended is None and lane < len(self._sockets) and readable(self._sockets[lane]):
            self._draining[lane] = True
            self.loop.call_soon(self._drain, lane)

    def _release(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
        self._close_lanes(CONTROL)

    def _close_lanes(self, first: int) -> None:
        while len(self._sockets) > first:
            self.loop.remove_reader(self._fds.pop())
            self._monitors.pop().close()
            self._sockets.pop().close()


def chunk_size(endpoint: ZmqEndpoint) -> int:
    """The bytes of a chunk. Smaller ones where they are encrypted: one is, while the one before is sent and the one before that
    decrypted."""
    return CHUNK_LIMIT if endpoint.keys is None else _ENCRYPTED_CHUNK
