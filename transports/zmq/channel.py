"""The two ends of a channel over ZeroMQ: the listening one speaks through a ROUTER, the connecting one through two DEALERs."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

import zmq

from actorflow.transport.base import Identity, Peer
from actorflow.transport.errors import HandshakeRejected, PeerLost, ProtocolError

from ..channel import BaseChannel
from ..protocol.frames import encode
from ..protocol.handshake import hello_record
from ..protocol.receiver import CHUNK_LIMIT
from .monitor import SocketMonitor
from .sockets import MORE, NOW, Socket, fd_of, readable, rest, send

if TYPE_CHECKING:
    from .endpoint import ZmqEndpoint

CONTROL, BULK = 0, 1
ID_SIZE = 18  # a byte that is not 0, sixteen random ones, the lane
_PER_TURN = 64
_BYTES_PER_TURN = 4 << 20
_CHUNKS_PER_TURN = 16
_COPIED = 64 * 1024
_ENCRYPTED_CHUNK = 128 * 1024
_REFUSALS = 3
_SILENT = 0.8
"""A handshake that fails after so much of its time was not refused: there was no answer."""
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
        self._control_name, self._bulk_name = name + bytes([CONTROL]), name + bytes([BULK])
        self.peer = Peer(Identity("", "", 0), "", user)

    def greet(self, hello: bytes) -> None:
        """Answers the peer's HELLO."""
        self.handle(self.core.receive(memoryview(hello)))
        if self.core.peer is not None and self.ended is None:
            self.endpoint.accepted(self)

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
        self._draining = [False, False]
        name = b"\1" + secrets.token_bytes(ID_SIZE - 2)
        self._sockets = [self._dealer(name, lane) for lane in (CONTROL, BULK)]
        self._monitors = [
            SocketMonitor(socket, _WATCHED, lambda event, value, lane=lane: self._seen(lane, event, value))  # type: ignore[misc]
            for lane, socket in enumerate(self._sockets)
        ]
        self._fds = [fd_of(socket) for socket in self._sockets]
        for lane, (socket, fd) in enumerate(zip(self._sockets, self._fds)):
            self.loop.add_reader(fd, self._drain, lane)
            socket.setsockopt(zmq.IPV6, "[" in target)
            socket.connect(target)
        self.core.hello()

    def _dealer(self, name: bytes, lane: int) -> Socket:
        socket = self.endpoint.socket(zmq.DEALER)
        socket.setsockopt(zmq.ROUTING_ID, name + bytes([lane]))
        socket.setsockopt(zmq.AFFINITY, 1 << lane)
        socket.immediate = True  # nothing is queued for a peer that is not there, or its successor would get it
        keys = self.endpoint.keys
        if keys is not None:
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
            for each in (CONTROL, BULK):  # what came before the end, a last word perhaps
                while self.ended is None and readable(self._sockets[each]):
                    self._drain_some(each)
            self.lost(PeerLost(f"The connection to {self._who()} broke: its process has ended or hangs."))

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
            self._look_again(BULK)
        return more

    def _control(self, frame: bytes) -> None:
        send(self._sockets[CONTROL], frame, NOW, True)

    def _bulk(self, head: bytes, body: memoryview) -> None:
        send(self._sockets[BULK], head, MORE, True)
        send(self._sockets[BULK], body, NOW, self._copies(body))

    def _drain(self, lane: int) -> None:
        self._draining[lane] = False
        is_new = self.core.peer is None
        if self.ended is not None or (is_new and lane == BULK):
            return  # a chunk may overtake the peer's greeting, which comes over another connection
        self._drain_some(lane)
        if is_new and self.core.peer is not None:
            self._look_again(BULK)

    def _drain_some(self, lane: int) -> None:
        socket = self._sockets[lane]
        space = _BYTES_PER_TURN
        for _ in range(_PER_TURN):
            size = self.take(socket)
            space -= size
            if not size or self.ended is not None or not readable(socket):
                return
            if space < 0:
                break
        self._look_again(lane)

    def _look_again(self, lane: int) -> None:
        """Sending and receiving may swallow the signal that something arrived."""
        if not self._draining[lane] and self.ended is None and readable(self._sockets[lane]):
            self._draining[lane] = True
            self.loop.call_soon(self._drain, lane)

    def _release(self) -> None:
        for socket, fd, monitor in zip(self._sockets, self._fds, self._monitors):
            self.loop.remove_reader(fd)
            monitor.close()
            socket.close()


def chunk_size(endpoint: ZmqEndpoint) -> int:
    """The bytes of a chunk. Smaller ones where they are encrypted: one is, while the one before is sent and the one before that
    decrypted."""
    return CHUNK_LIMIT if endpoint.keys is None else _ENCRYPTED_CHUNK
