"""The ZeroMQ transport: a ROUTER for each process that listens, and DEALERs to each peer, for control and for bulk.

The sockets are plain sockets, driven by the event loop's reader callbacks: three times the messages per second of
`zmq.asyncio`, and no future that a cancellation could lose a message with. Windows bound what libzmq holds, so it has no
high-water marks. Its heartbeats, on its own thread, and the sockets' monitors tell that a peer is gone.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import zmq
from anyio.lowlevel import checkpoint

from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.transport.base import Channel, ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected, PeerLost
from actorflow.engine.transport.factory import KeyPair
from actorflow.errors import InvalidArgumentError, UnavailableError, with_topic

from ..endpoint import BaseEndpoint, ConnectionProgress, not_reached
from ..protocol.frames import HEADER
from ..protocol.receiver import CHUNK_LIMIT
from .accepted_channel import AcceptedChannel
from .auth import ZapAuthenticator, check_bind
from .channel import BULK, CONTROL, ID_SIZE, SEALED
from .connected_channel import ConnectedChannel, UnexplainedRejection
from .connection_limiter import ConnectionLimiter
from .greeting import refusal, security_at
from .monitor import SocketMonitor
from .sealed_listener import SealedListener
from .sealing import SEAL, seals_of
from .sockets import NOW, Socket, fd_of, readable, rest

_PER_TURN = 64
_BYTES_PER_TURN = 4 << 20
_LINGER = 50
_GREETING_SECONDS = 0.7
"""After so long without a greeting the endpoint looks who is there: of a program that is none of ours libzmq tells nothing."""
_PENDING = 1024
_HELLO_SIZE = 8192
_MOST_SOCKETS = 16384


class _AnotherProgram(HandshakeRejected):
    """Another program listens there, which one look shows: it speaks another language."""


class ZmqEndpoint(BaseEndpoint):
    """The ZeroMQ endpoint of a process.

    Args:
        me: who the process is.
        listen: `tcp://host:port` to be reached at; port 0 takes a free port; None does not listen.
        advertise: what peers are told to connect to, where that is another address.
        keys: this process's CURVE keys. Without keys only loopback addresses can be bound.
        allowed: the public keys of those who may connect; the own one may always.
        seal: how large tensors travel if keys are given, and both sides have the extra `seal`: "encrypted" by AES-GCM;
            "authenticated", so that all can read them and each change is noticed, for networks that are trusted; or by "curve",
            as everything else does. Unless given, the environment's `ACTORFLOW_SEAL` says it, or else it is "encrypted".

    Raises:
        ValueError: `seal` is none of these.
        PermissionDeniedError: `listen` can be reached from elsewhere, and there are no keys.
        UnavailableError: the address can't be bound.
    """

    name = "zmq"
    handshake_seconds = 5.0
    """A handshake that takes longer is tried again."""

    def __init__(
        self,
        me: ProcessIdentity,
        *,
        listen: str | None = None,
        advertise: str | None = None,
        keys: KeyPair | None = None,
        allowed: frozenset[str] = frozenset(),
        seal: str | None = None,
        **options: Any,
    ) -> None:
        if listen is not None:
            check_bind(parse_address(listen)[0], keys)
        choice = os.environ.get(SEAL) or "encrypted" if seal is None else seal
        seals = seals_of(choice)
        super().__init__(me, **options)
        self.keys = keys
        self.seals = () if keys is None else seals
        self.unsealed: dict[tuple[str, int], float] = {}
        """Addresses and incarnations of peers whose port for sealed lanes was not reached, and the loop's time at which it may be
        tried again."""
        self.sealed: SealedListener | None = None
        self.dropped = 0
        self.context: zmq.Context[Socket] = zmq.Context(io_threads=2)
        self.context.max_sockets = _MOST_SOCKETS
        self._gate: ZapAuthenticator | None = None
        self.router: Socket | None = None
        self._router_fd = -1
        self._monitor: SocketMonitor | None = None
        self.limiter = ConnectionLimiter(0)
        self._accepted: dict[bytes, AcceptedChannel] = {}
        self._fds: dict[int, bytes] = {}
        self._pending: dict[bytes, dict[int, tuple[bytes, str | None]]] = {}
        self._broken: list[bytes] = []
        self._draining = self._looking = False
        if listen is not None:
            try:
                self._listen(listen)
                if self.seals:
                    self.sealed = SealedListener(self, _literal(parse_address(listen)[0]))
                    self.sealed_port = self.sealed.port
            except zmq.ZMQError as error:
                self.close()
                raise UnavailableError(f"Cannot listen on {listen}: {error}.") from error
            assert self.router is not None
            bound: str = self.router.last_endpoint.decode().rstrip("\0")
            self.address = advertise or bound
            self.limiter = ConnectionLimiter(parse_address(bound)[1])
            if keys is not None:
                self._gate = ZapAuthenticator(self.context, allowed | {keys.public})

    # ---- to a peer

    async def connect(
        self,
        address: str,
        incarnation: int | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        progress: Callable[[str], object] | None = None,
    ) -> Channel:
        self.check_open()
        host, port = parse_address(address)
        tell = ConnectionProgress(progress)
        why: BaseException | None = None
        refused: HandshakeRejected | None = None
        refusals = 0
        with anyio.move_on_after(timeout):
            target = f"tcp://{await _resolve(host, port)}"
            tell("resolved")
            while True:
                self.check_open()
                channel = ConnectedChannel(self, address, target, incarnation, key, tell)
                try:
                    with self._asking_who_is_there(channel, host, port):
                        await channel.opened
                    await checkpoint()
                    tell("accepted")
                    return channel
                except UnexplainedRejection as error:
                    channel.close("not wanted any more")
                    why = error
                    refused = await self._explained(address, host, port)
                    if isinstance(refused, _AnotherProgram):
                        break
                    refusals = 0 if refused is None else refusals + 1
                    if refusals == 2:  # once, the listener may have been ending
                        break
                    await anyio.sleep(random.uniform(0.02, 0.2))
                except PeerLost as error:  # it died while it was greeted; its successor may answer
                    why = error
                    await anyio.sleep(random.uniform(0.02, 0.2))
                except BaseException:
                    channel.close("not wanted any more")
                    raise
        raise refused or not_reached(address, timeout, tell.reached) from why

    @contextmanager
    def _asking_who_is_there(self, channel: ConnectedChannel, host: str, port: int) -> Iterator[None]:
        """While a channel is being opened: looks who is there when no greeting comes, and ends the channel where that is
        another program."""
        looks = BackgroundTasks()

        async def look() -> None:
            refused = await self._explained(channel.peer.address, host, port)
            if isinstance(refused, _AnotherProgram):
                channel.lost(refused)

        timer = self.loop.call_later(_GREETING_SECONDS, lambda: looks.start(look()))
        try:
            yield
        finally:
            timer.cancel()
            looks.abort()

    async def _explained(self, address: str, host: str, port: int) -> HandshakeRejected | None:
        """A peer has ended a handshake: the error that says why, or None if nothing answers there now."""
        try:
            mechanism = await security_at(host, port)
        except OSError:  # a TimeoutError is one too
            return None
        if mechanism == "NULL" and self.keys is None:
            return None  # the two could talk: it was ending, perhaps
        why, hint = refusal(self.keys is not None, mechanism)
        kind = HandshakeRejected if mechanism else _AnotherProgram
        return kind(f"{address} refuses the connection: {why}.", hint=with_topic(hint, "keys-or-address"))

    def socket(self, kind: int) -> Socket:
        """A socket with the options that all have."""
        socket = self.context.socket(kind)
        socket.linger = _LINGER
        socket.sndhwm = socket.rcvhwm = 0
        socket.setsockopt(zmq.MAXMSGSIZE, CHUNK_LIMIT + HEADER.size)
        socket.setsockopt(zmq.HEARTBEAT_IVL, round(1000 * self.heartbeat.seconds))
        socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, round(1000 * self.heartbeat.silence_seconds))
        socket.setsockopt(zmq.HEARTBEAT_TTL, round(1000 * self.heartbeat.silence_seconds))
        socket.setsockopt(zmq.HANDSHAKE_IVL, round(1000 * self.handshake_seconds))
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        return socket

    # ---- from peers

    def _listen(self, address: str) -> None:
        router = self.router = self.socket(zmq.ROUTER)
        router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        if self.keys is not None:
            router.curve_server = True
            router.curve_publickey = self.keys.public.encode()
            router.curve_secretkey = self.keys.secret.encode()
        self._monitor = SocketMonitor(router, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED, self._changed)
        host, port = parse_address(address)
        router.setsockopt(zmq.IPV6, ":" in host)
        router.bind(f"tcp://{_literal(host)}:{port or '*'}")
        self._router_fd = fd_of(router)
        self.loop.add_reader(self._router_fd, self.drain)
        self.loop.call_soon(self.drain)

    def drain(self) -> None:
        """Takes what has arrived, a bounded part in each turn. The descriptor only tells of changes, so it goes to the end."""
        router = self.router
        self._looking = False
        if router is None or router.closed:
            return
        broken = len(self._broken)
        space = _BYTES_PER_TURN
        self._draining = True
        try:
            for _ in range(_PER_TURN):
                try:
                    identity = router.recv(NOW)
                except zmq.Again:
                    break
                channel = self._accepted.get(identity[:-1])
                if channel is not None:
                    space -= channel.take(router)
                else:
                    self._stranger(router, identity)
                if router.closed:
                    return
                if not readable(router):
                    break
                if space < 0:
                    self.again()
                    return
            else:
                self.again()
                return
        finally:
            self._draining = False
        self._bury(broken)

    def sent(self) -> None:
        """Something went out through the ROUTER, which may have swallowed the signal that something arrived."""
        router = self.router
        if not self._draining and router is not None and not router.closed and readable(router):
            self.again()

    def again(self) -> None:
        """Looks at the ROUTER in the next turn."""
        if not self._looking:
            self._looking = True
            self.loop.call_soon(self.drain)

    def _stranger(self, router: Socket, identity: bytes) -> None:
        """The first frame of a lane. When both lanes of a peer have spoken, it has a channel."""
        assert self._monitor is not None
        self._monitor.drain()  # which tells of connections that came, and of others with the same descriptor that went
        if not router.getsockopt(zmq.RCVMORE):
            return
        frame = router.recv(zmq.NOBLOCK, copy=False)
        if frame.more or len(frame) > _HELLO_SIZE or len(identity) != ID_SIZE or identity[-1] > BULK:
            rest(router)
            self.dropped += 1
            return
        name, lane = identity[:-1], identity[-1]
        user = frame.get("User-Id") if self.keys is not None else None
        fd = frame.get(zmq.SRCFD)
        if isinstance(fd, int):
            self._fds[fd] = identity
            self.limiter.greeted(fd)
        lanes = self._pending.setdefault(name, {})
        lanes[lane] = (frame.bytes, str(user) if user is not None else None)
        if len(self._pending) > _PENDING:
            del self._pending[next(iter(self._pending))]
        if len(lanes) == 2:
            del self._pending[name]
            if lanes[CONTROL][1] == lanes[BULK][1]:
                self._accept(name, lanes[CONTROL][0], lanes[CONTROL][1])

    def _accept(self, name: bytes, hello: bytes, user: str | None) -> None:
        channel = AcceptedChannel(self, name, user)
        self._accepted[name] = channel
        channel.greet(hello)

    def _changed(self, event: int, value: int) -> None:
        """A connection was accepted, or is gone; `value` is its descriptor."""
        if event == zmq.EVENT_ACCEPTED:
            self.limiter.came(value)
            return
        self.limiter.left(value)
        identity = self._fds.pop(value, None)
        if identity is None:
            return
        self._pending.pop(identity[:-1], None)
        self.broke(identity)

    def accepted_channel(self, identity: bytes) -> AcceptedChannel | None:
        """The channel whose sealed lane has this routing id."""
        return self._accepted.get(identity[:-1]) if len(identity) == ID_SIZE and identity[-1] == SEALED else None

    def broke(self, identity: bytes) -> None:
        """The connection of a lane is gone."""
        self._broken.append(identity)
        self.again()

    def _bury(self, count: int) -> None:
        """Ends the channels whose connections broke; what they sent before has been read."""
        if count and self.sealed is not None:
            self.sealed.drain_all()
        broken, self._broken = self._broken[:count], self._broken[count:]
        for identity in broken:
            channel = self._accepted.get(identity[:-1])
            if channel is not None:
                channel.lost_lane(identity[-1])

    def forget(self, name: bytes) -> None:
        """A channel that a peer had opened is over."""
        self._accepted.pop(name, None)

    def _release(self) -> None:
        for channel in list(self._accepted.values()):
            channel.close("the process ends")
        if self._gate is not None:
            self._gate.close()
        self.limiter.close()
        if self.sealed is not None:
            self.sealed.close()
        if self.router is not None:
            if self._monitor is not None:
                self._monitor.close()
            if self._router_fd >= 0:
                self.loop.remove_reader(self._router_fd)
            self.router.close()
        self.context.destroy(_LINGER)


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `tcp://host:port`. Raises InvalidArgumentError."""
    scheme, _, rest = address.partition("://")
    host, colon, port = rest.rpartition(":")
    if scheme != "tcp" or not host or not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidArgumentError(f"{address!r} is no address; it looks like tcp://host:port.")
    return host.strip("[]"), int(port)


def _literal(host: str) -> str:
    return f"[{host}]" if ":" in host else "127.0.0.1" if host == "localhost" else host


async def _resolve(host: str, port: int) -> str:
    if host.replace(".", "").isdecimal() or ":" in host or host == "localhost":  # no thread is needed
        return f"{_literal(host)}:{port}"
    try:
        addresses = await anyio.getaddrinfo(host, port, type=1)
    except OSError as error:
        raise UnavailableError(f"The host {host!r} is unknown: {error}.") from error
    return f"{_literal(str(addresses[0][4][0]))}:{port}"
