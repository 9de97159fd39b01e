"""The simulated transport: the real protocol over a network that exists in one process, on virtual time (actorflow.testing).

Its manners are those of the ZeroMQ transport: a peer may start later, keys are checked, a silent peer is lost after three
heartbeats, and what a dying process has sent arrives in part.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.engine.transport.base import Channel, Peer, ProcessIdentity, Reach
from actorflow.engine.transport.errors import HandshakeRejected, PeerLost, ProtocolError
from actorflow.engine.transport.factory import KeyPair, TransportFactory
from actorflow.errors import InvalidArgumentError, UnavailableError
from actorflow.testing.host import Host
from actorflow.testing.network import Network
from actorflow.testing.wire import End, Frame, Listener, dial

from .channel import BaseChannel
from .endpoint import BaseEndpoint, ConnectionProgress, not_reached
from .zmq.auth import Keys
from .zmq.greeting import refusal

CONTROL, BULK = 0, 1
_CHUNKS_PER_TURN = 16
_ATTEMPT_SECONDS = 1.0
_SCHEMES = ("sim", "tcp")


class SimulatedKeys(Keys):
    """A pair of names in the place of CURVE keys; `make` draws them from the simulation's seed."""

    @staticmethod
    def make() -> Keys:
        """A new pair."""
        name = machine.fresh_hex(20)
        return Keys(f"public-{name}", f"secret-{name}")


class SimulatedEndpoint(BaseEndpoint):
    """The endpoint of a simulated process.

    Args:
        me: who the process is.
        listen: `sim://host:port` or `tcp://host:port` to be reached at; port 0 takes a free port; None does not listen.
        advertise: what peers are told to connect to, where that is another address.
        keys: this process's keys; where one of two processes has some, the other needs them too.
        allowed: the public keys of those who may connect; the own one may always.
        chunk: the bytes of a chunk that it sends, at most. If tensors are small, small chunks make many frames of them.
        network, host: the network and the name of the machine; without them, those of the process that calls.

    Raises:
        UnavailableError: the address is another machine's, or the port is taken.
    """

    name = "simulated"

    def __init__(
        self,
        me: ProcessIdentity,
        *,
        listen: str | None = "sim://:0",
        advertise: str | None = None,
        keys: KeyPair | None = None,
        allowed: frozenset[str] = frozenset(),
        chunk: int | None = None,
        network: Network | None = None,
        host: str | None = None,
        **options: Any,
    ) -> None:
        here = machine.current()
        if network is None or host is None:
            if not isinstance(here, Host):
                raise ValueError("Outside of a simulated process a SimulatedEndpoint needs its network and host.")
            network, host = network or here.world.network, host or here.name
        self.station = network.stations[host]
        super().__init__(me, **{"clock": self.station.clocks, **options})
        self.keys = keys
        self.allowed = allowed | ({keys.public} if keys is not None else set())
        self.chunk = chunk
        self._port: int | None = None
        self._greeting: dict[SimulatedAcceptedChannel, None] = {}
        if listen is not None:
            try:
                self._listen(listen, advertise)
            except BaseException:
                self.close()
                raise

    def _listen(self, listen: str, advertise: str | None) -> None:
        scheme, name, port = parse_address(listen)
        station = self.station
        if name not in ("", station.name, "127.0.0.1", "localhost", "0.0.0.0", "*"):
            raise UnavailableError(f"Cannot listen on {listen}: this machine is {station.name}.")
        port = port or station.free_port()
        if port in station.listeners:
            raise UnavailableError(f"Cannot listen on {listen}: the port is taken.")
        me = weakref.ref(self)

        def accept(end: End, key: str | None) -> None:
            endpoint = me()
            if endpoint is None or endpoint.closed:
                end.close()
            else:
                endpoint._greeting[SimulatedAcceptedChannel(endpoint, end, key)] = None

        self._port = port
        station.listeners[port] = Listener(station, port, self.heartbeat, self._admit, accept)
        self.address = advertise or f"{scheme}://{station.name}:{port}"

    def _admit(self, key: str | None, expected: str | None) -> str | None:
        if (key is None) != (self.keys is None):
            return refusal(key is not None, "NULL" if self.keys is None else "CURVE")[0]
        if self.keys is not None and expected != self.keys.public:
            return refusal(True, "CURVE")[0]
        if key is not None and key not in self.allowed:
            return "it does not allow this process's key"
        return None

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
        _, name, port = parse_address(address)
        tell = ConnectionProgress(progress)
        why: BaseException | None = None
        expected = (key or self.keys.public) if self.keys is not None else None
        with anyio.move_on_after(timeout):
            tell("resolved")
            while True:
                self.check_open()
                channel = SimulatedConnectedChannel(self, address, name, port, incarnation, expected, tell)
                try:
                    await channel.opened
                    tell("accepted")
                    return channel
                except PeerLost as error:  # it died while it was greeted; its successor may answer
                    why = error
                    await anyio.sleep(0.02 + 0.18 * self.station.random_bytes(1)[0] / 255)
                except BaseException:
                    channel.close("not wanted any more")
                    raise
        raise not_reached(address, timeout, tell.reached) from why

    def greeted(self, channel: SimulatedAcceptedChannel) -> None:
        """A peer's handshake is over, in one way or the other."""
        self._greeting.pop(channel, None)

    def _release(self) -> None:
        for channel in list(self._greeting):
            channel.close("the process ends")
        if self._port is not None:
            self.station.listeners.pop(self._port, None)


SIMULATED = TransportFactory(
    "simulated",
    "sim",
    Reach.ANY,
    SimulatedEndpoint,
    make_keys=SimulatedKeys.make,
    options=frozenset({"heartbeat_seconds"}),
)


class SimulatedChannel(BaseChannel):
    """The common part of both ends."""

    transport = "simulated"
    endpoint: SimulatedEndpoint
    _end: End | None = None

    def __init__(self, endpoint: SimulatedEndpoint, address: str, *, expects: int | None = None) -> None:
        super().__init__(endpoint, address, expects=expects, chunk=endpoint.chunk)

    def _use(self, end: End) -> None:
        self._end = end
        end.take, end.broke = self._take_frame, self._broke

    def _transmit(self) -> bool:
        end = self._end
        if end is None:
            return False
        while (frame := self.core.outbox.next_control()) is not None:
            end.send(CONTROL, (frame,))
        for _ in range(_CHUNKS_PER_TURN):
            chunk = self.core.outbox.next_bulk()
            if chunk is None:
                return False
            end.send(BULK, chunk)
        return True

    def _take_frame(self, lane: int, frame: Frame) -> None:
        if self.ended is not None:
            return
        self.bytes_received += sum(map(len, frame))
        if lane == CONTROL:
            self.handle(self.core.receive(memoryview(frame[0])))
            return
        view, events = self.core.receive_chunk(memoryview(frame[0]))
        if events or not len(view):
            self.handle(events)
        elif len(view) != len(frame[1]):
            self.lost(ProtocolError(f"A chunk has {len(frame[1]):,} bytes, but its head said {len(view):,}."))
        else:
            view[:] = frame[1]
            del view
            self.handle(self.core.chunk_received())

    def _broke(self) -> None:
        who = self.peer.identity.task or self.peer.address or "a peer"
        self.lost(PeerLost(f"The connection to {who} broke: its process has ended or hangs."))

    def _release(self) -> None:
        if self._end is not None:
            self._end.close()


class SimulatedAcceptedChannel(SimulatedChannel):
    """The listening end."""

    def __init__(self, endpoint: SimulatedEndpoint, end: End, key: str | None) -> None:
        super().__init__(endpoint, "")
        self.peer = Peer(ProcessIdentity("", "", 0), "", key)
        self._use(end)

    def _take_frame(self, lane: int, frame: Frame) -> None:
        was = self.core.peer
        super()._take_frame(lane, frame)
        if was is None and self.core.peer is not None and self.ended is None:
            self.endpoint.greeted(self)
            self.endpoint.accepted(self)

    def _release(self) -> None:
        self.endpoint.greeted(self)
        super()._release()


class SimulatedConnectedChannel(SimulatedChannel):
    """The connecting end."""

    def __init__(
        self,
        endpoint: SimulatedEndpoint,
        address: str,
        name: str,
        port: int,
        incarnation: int | None,
        expected: str | None,
        tell: Callable[[str], None],
    ) -> None:
        super().__init__(endpoint, address, expects=incarnation)
        self.peer = Peer(ProcessIdentity("", "", 0), address, expected)
        self._tell = tell
        own = endpoint.keys.public if endpoint.keys is not None else None
        self._impatience = self.loop.call_later(_ATTEMPT_SECONDS, self._nobody, "does not answer")
        self._give_up = dial(endpoint.station, name, port, endpoint.heartbeat, own, expected, self._answered)

    def _answered(self, answer: End | str | None) -> None:
        self._impatience.cancel()
        if answer is None:
            self._nobody("refuses connections")
        elif isinstance(answer, str):
            self.lost(HandshakeRejected(f"{self.peer.address} refuses the connection: {answer}."))
        else:
            self._tell("connected")
            self._tell("authenticated")
            self._use(answer)
            self.core.hello()
            self.wake()

    def _nobody(self, why: str) -> None:
        self.lost(PeerLost(f"{self.peer.address} {why}."))

    def _release(self) -> None:
        self._impatience.cancel()
        if self._end is None:
            self._give_up()
        super()._release()


def parse_address(address: str) -> tuple[str, str, int]:
    """Scheme, machine and port of `sim://host:port`, `tcp://host:port`. Raises InvalidArgumentError."""
    scheme, _, rest = address.partition("://")
    host, colon, port = rest.rpartition(":")
    if scheme not in _SCHEMES or not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidArgumentError(f"{address!r} is no address; it looks like sim://host:port.")
    return scheme, host, int(port)
