"""`SealedListener`: the ROUTER at which sealed bulk lanes arrive, at a port of its own and without CURVE.

Anybody may connect to it. A connection counts once its first part opens with a key that its peer has handed over by the control
lane, under the routing id of that channel. Before that it may cost as little as a connection to the other port.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import zmq

from .channel import COPIED
from .connection_limiter import ConnectionLimiter
from .monitor import SocketMonitor
from .sockets import MORE, NOW, Socket, fd_of, readable, rest, send

if TYPE_CHECKING:
    from .accepted_channel import AcceptedChannel
    from .endpoint import ZmqEndpoint

_PER_TURN = 64
_BYTES_PER_TURN = 4 << 20
_TURNS = 64
_QUEUED = 8
"""Messages that libzmq holds of one connection, whoever made it. Chunks are large, so a lane is not slower for it."""


class SealedListener:
    """Listens at a free port of `host`, a literal address, for the sealed lanes of `endpoint`'s accepted channels."""

    def __init__(self, endpoint: ZmqEndpoint, host: str) -> None:
        self._endpoint = endpoint
        self._fds: dict[int, bytes] = {}
        self._looking = False
        self.dropped = 0
        router: Socket = endpoint.socket(zmq.ROUTER)
        self._router = router
        router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        router.setsockopt(zmq.RCVHWM, _QUEUED)
        router.setsockopt(zmq.IPV6, "[" in host)
        self._monitor = SocketMonitor(router, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED, self._changed)
        router.bind(f"tcp://{host}:*")
        bound: str = router.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")
        self.port = int(bound.rpartition(":")[2])
        self.limiter = ConnectionLimiter(self.port)
        self._fd = fd_of(router)
        endpoint.loop.add_reader(self._fd, self.drain)
        endpoint.loop.call_soon(self.drain)

    def drain(self) -> None:
        """Takes what has arrived, a bounded part in each turn."""
        self._looking = False
        space = _BYTES_PER_TURN
        for _ in range(_PER_TURN):
            if self._router.closed:
                return
            try:
                identity = self._router.recv(NOW)
            except zmq.Again:
                return
            channel = self._endpoint.accepted_channel(identity)
            if channel is None:
                self._refuse(self._router.recv(NOW, copy=False))
            elif channel.has_sealed_lane:
                space -= channel.take_sealed(self._router)
            else:
                self._greeting(channel, identity)
            if space < 0:
                break
        if not self._router.closed and readable(self._router):
            self._again()

    def drain_all(self) -> None:
        """Takes what has arrived, as a peer is about to be buried: more than all lanes hold, unless strangers flood the port."""
        for _ in range(_TURNS):
            if self._router.closed or not readable(self._router):
                return
            self.drain()

    def _greeting(self, channel: AcceptedChannel, identity: bytes) -> None:
        """The first part of a connection, whoever made it."""
        part = self._router.recv(NOW, copy=False)
        if part.more or not channel.greeted(part.buffer):
            self._refuse(part)
            return
        self._monitor.drain()  # which tells of connections that came, and of others with the same descriptor that went
        fd = part.get(zmq.SRCFD)
        if isinstance(fd, int):
            self._fds[fd] = identity
            self.limiter.greeted(fd)

    def _refuse(self, part: zmq.Frame) -> None:
        """A stranger's message, of which `part` is the first after the routing id: it is dropped, and its connection ended."""
        rest(self._router)
        self.dropped += 1
        fd = part.get(zmq.SRCFD)
        if isinstance(fd, int) and fd not in self._fds:
            self._monitor.drain()
            self.limiter.end(fd)

    def send(self, identity: bytes, *parts: bytes | memoryview) -> None:
        """Sends parts to a peer. Raises ZMQError where its connection is gone."""
        send(self._router, identity, MORE, True)
        for part in parts[:-1]:
            send(self._router, part, MORE, True)
        send(self._router, parts[-1], NOW, len(parts[-1]) < COPIED)
        if not self._looking and readable(self._router):
            self._again()

    def _again(self) -> None:
        if not self._looking:
            self._looking = True
            self._endpoint.loop.call_soon(self.drain)

    def _changed(self, event: int, value: int) -> None:
        """A connection was accepted, or is gone; `value` is its descriptor."""
        if event == zmq.EVENT_ACCEPTED:
            self.limiter.came(value)
            return
        self.limiter.left(value)
        if (identity := self._fds.pop(value, None)) is not None:
            self._endpoint.broke(identity)

    def close(self) -> None:
        """Listens no more."""
        if not self._router.closed:
            self.limiter.close()
            self._monitor.close()
            self._endpoint.loop.remove_reader(self._fd)
            self._router.close()
