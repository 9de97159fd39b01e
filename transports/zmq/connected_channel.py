"""`ConnectedChannel`: the connecting end of a channel over ZeroMQ, a DEALER with a monitor for each lane."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import zmq

from actorflow.base.reports.logs import get_logger
from actorflow.engine.transport.base import Peer, ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected, PeerLost, ProtocolError

from ..protocol.events import ConnectionOpened
from ..protocol.frames import encode
from ..protocol.handshake import hello_record
from .channel import BULK, CONTROL, COPIED, ID_SIZE, SEALED, ZmqChannel, chunk_size
from .monitor import SocketMonitor
from .sealing import FIRST_KEY
from .sockets import MORE, NOW, Socket, fd_of, readable, rest, send

if TYPE_CHECKING:
    from .endpoint import ZmqEndpoint

_PER_TURN = 64
_BYTES_PER_TURN = 4 << 20
_SEALED_SECONDS = 0.8
"""A sealed lane that is not there by then will not be. It is less than a channel takes to close, so nothing is left behind."""
_LATE_SECONDS = 0.2
_AGAIN_SECONDS = 60.0
"""After this time a sealed lane that was not reached is tried again, with a new channel."""
_REFUSALS = 2
"""After this number of refused handshakes, that of each lane, the endpoint looks who is there."""
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


class ConnectedChannel(ZmqChannel):
    """The connecting end: a DEALER for each lane, with a monitor."""

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
        self.peer = Peer(ProcessIdentity("", "", 0), address, (key or endpoint.keys.public) if endpoint.keys else None)
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
        self._was_late = False
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
                self._greet(BULK, encode(hello_record(self.core.mine)))
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
            self._lost_lane()

    def _greet(self, lane: int, first: bytes) -> None:
        """The first message of a connection that was made. It may be gone by now: then the monitor's next event says so."""
        with suppress(zmq.Again):
            send(self._sockets[lane], first, NOW, True)
        self._look_again(lane)  # only who has found a new connection empty is told of its first message

    def _lost_lane(self) -> None:
        """A connection is gone. The messages before its end, a last word perhaps, still count."""
        for lane, socket in enumerate(self._sockets):
            while self.ended is None and readable(socket):
                self._drain_some(lane)
        self._broke(PeerLost(f"The connection to {self._who()} broke: its process has ended or hangs."))

    # ---- the sealed lane

    def _opened(self, event: ConnectionOpened) -> None:
        if self._agree_on_seal(self.core.mine, event.peer, event.peer.sealed_port):
            not_before = self.endpoint.unsealed.get((self.peer.address, event.peer.identity.incarnation), 0.0)
            if self.loop.time() < not_before:
                self.core.hand_key(0)
            else:
                self._is_sealed = None
                self._wait_for_answer()
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

    def _wait_for_answer(self) -> None:
        due = self.loop.time() + _SEALED_SECONDS

        def expired() -> None:
            if self.loop.time() - due > _LATE_SECONDS and not self._was_late:
                self._was_late = True  # this process stood still: the answer may be here, and is yet to be read
                self._wait_for_answer()
            else:
                self._give_up()

        self._giving_up = self.loop.call_at(due, expired)

    def _seen_sealed(self, lane: int, event: int, value: int) -> None:
        if self.ended is not None or len(self._sockets) <= SEALED:
            return
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED and not self._answered:
            self._greet(SEALED, self._sealer.greeting())
        elif event == zmq.EVENT_DISCONNECTED:
            while not self._answered and self._is_sealed is None and readable(self._sockets[SEALED]):
                self._take_answer()
            if self._answered:
                self._lost_lane()
            else:
                self._give_up()

    def _take_answer(self) -> None:
        """The peer's greeting on the sealed lane."""
        socket = self._sockets[SEALED]
        try:
            part = socket.recv(NOW, copy=False)
            if part.more or self._opener.head(part.buffer):
                raise ProtocolError("Its first part is no greeting.")
        except zmq.Again:
            return
        except ProtocolError:  # something else listens there: a port that leads elsewhere, perhaps
            rest(socket)
            self._give_up()
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
        if self._giving_up is not None:
            self._giving_up.cancel()
        key = self.peer.address, self.core.peer.identity.incarnation
        self.endpoint.unsealed[key] = self.loop.time() + _AGAIN_SECONDS
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
            send(self._sockets[SEALED], sealed_body, NOW, len(sealed_body) < COPIED)
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
        if (
            not self._draining[lane]
            and self.ended is None
            and lane < len(self._sockets)
            and readable(self._sockets[lane])
        ):
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
