"""A transport of somebody else's: one TCP connection to each peer, by asyncio's streams.

It stands on what actorflow lends to those who make a transport (`actorflow.transports.protocol`, `BaseChannel`, `BaseEndpoint`),
and changes nothing of actorflow. It has no keys, so it listens on loopback addresses only.

On the wire each packet is two lengths, a frame of records, and the body of a chunk, which most packets do not have.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from collections.abc import Callable
from typing import Any

import anyio

from actorflow.engine.transport.base import Channel, ProcessIdentity, Reach
from actorflow.engine.transport.errors import PeerLost, ProtocolError
from actorflow.engine.transport.factory import TransportFactory
from actorflow.engine.transport.heartbeat import PATIENCE
from actorflow.errors import InvalidArgumentError, PermissionDeniedError, UnavailableError
from actorflow.transports.channel import BaseChannel
from actorflow.transports.endpoint import BaseEndpoint
from actorflow.transports.protocol.frames import FRAME_LIMIT
from actorflow.transports.protocol.receiver import CHUNK_LIMIT

_LENGTHS = struct.Struct("<II")
_MOST_QUEUED = 1 << 20
_GREETING_SECONDS = 5.0
_LAST_WORD_SECONDS = 1.0
_RETRY_SECONDS = 0.05


class StreamsEndpoint(BaseEndpoint):
    """The endpoint of a process: a socket that listens, if peers may connect, and the connections.

    Args:
        me: who the process is.
        listen: `streams://host:port`, port 0 for a free one; None does not listen.
        advertise: the address that peers are told, where that is another one.

    Raises:
        PermissionDeniedError: other machines can reach `listen`.
        UnavailableError: the address can't be bound.
    """

    name = "streams"

    def __init__(
        self,
        me: ProcessIdentity,
        *,
        listen: str | None = None,
        advertise: str | None = None,
        **options: Any,
    ) -> None:
        place = None if listen is None else parse_address(listen)
        if place is not None and not is_loopback(place[0]):
            raise PermissionDeniedError(f"{listen} can be reached from other machines, and this transport has no keys.")
        super().__init__(me, **options)
        self._socket: socket.socket | None = None
        self._server: asyncio.Task[asyncio.Server] | None = None
        if place is not None:
            try:
                self._socket = socket.create_server(place, family=_family(place[0]), backlog=128)
            except OSError as error:
                self.close()
                raise UnavailableError(f"Cannot listen on {listen}: {error}.") from error
            port = self._socket.getsockname()[1]
            self.address = advertise or f"streams://{f'[{place[0]}]' if ':' in place[0] else place[0]}:{port}"
            self._server = self.loop.create_task(asyncio.start_server(self._came, sock=self._socket))

    async def connect(
        self,
        address: str,
        incarnation: int | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        progress: Callable[[str], object] | None = None,
    ) -> Channel:
        host, port = parse_address(address)
        self.check_open()
        tell = progress or (lambda word: None)
        why: Exception | None = None
        with anyio.move_on_after(timeout):
            while True:
                self.check_open()
                try:
                    reader, writer = await asyncio.open_connection(host, port, limit=_MOST_QUEUED)
                    for word in ("resolved", "connected", "authenticated"):
                        tell(word)
                    channel = StreamsChannel(self, reader, writer, address, incarnation)
                    channel.core.hello()
                    channel.start()
                    try:
                        await channel.opened
                    except BaseException:
                        channel.close("not wanted any more")
                        raise
                    tell("accepted")
                    return channel
                except (OSError, PeerLost) as error:  # it starts later, perhaps, or again
                    why = error
                await anyio.sleep(_RETRY_SECONDS)
        raise UnavailableError(f"{address} did not accept a channel within {timeout:g} s: {why}.") from why

    def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A peer has connected."""
        if self.closed:
            writer.transport.abort()
            return
        channel = StreamsChannel(self, reader, writer, "", None)
        channel.server = True
        channel.start()
        self.loop.call_later(_GREETING_SECONDS, channel.hurry)

    def beat(self) -> None:
        """Sends a beat to each peer, and gives up those that have been silent for too many."""
        for channel in list(self.channels):
            assert isinstance(channel, StreamsChannel)
            channel.silent_beats += 1
            if channel.silent_beats > PATIENCE:
                channel.lost(PeerLost(f"{channel.who} has been silent for {PATIENCE} beats."))
        super().beat()

    def _release(self) -> None:
        if self._server is not None:
            if self._server.done() and not self._server.cancelled():
                self._server.result().close()
            self._server.cancel()
        if self._socket is not None:
            self._socket.close()


class StreamsChannel(BaseChannel):
    """One end of a connection."""

    transport = "streams"
    reach = Reach.ANY
    server = False
    silent_beats = 0

    def __init__(
        self,
        endpoint: StreamsEndpoint,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: str,
        incarnation: int | None,
    ) -> None:
        super().__init__(endpoint, address, expects=incarnation)
        self._reading: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None
        self._in, self._out = reader, writer
        writer.transport.set_write_buffer_limits(high=_MOST_QUEUED)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def who(self) -> str:
        """The peer, for people."""
        return self.peer.identity.task or self.peer.address or "a peer"

    def start(self) -> None:
        """Reads and writes from now on."""
        self._reading = self.loop.create_task(self.read())
        self.wake()

    def hurry(self) -> None:
        """Ends a connection that has not said who it is."""
        if self.core.peer is None:
            self.close("no HELLO in time")

    # ---- out

    def _transmit(self) -> bool:
        while (frame := self.core.outbox.next_control()) is not None:
            self._out.writelines((_LENGTHS.pack(len(frame), 0), frame))
        while self._out.transport.get_write_buffer_size() < _MOST_QUEUED:
            chunk = self.core.outbox.next_bulk()
            if chunk is None:
                return False
            head, body = chunk
            self._out.write(_LENGTHS.pack(len(head), len(body)) + head)
            self._out.write(body)
        if self._draining is None and self.ended is None:
            self._draining = self.loop.create_task(self._drain())
        return False

    async def _drain(self) -> None:
        """Goes on when the connection has taken what it was given."""
        try:
            await self._out.drain()
        except OSError:  # reading tells how it ended
            return
        finally:
            self._draining = None
        self.wake()

    # ---- in

    async def read(self) -> None:
        """Takes packets until the end of the connection."""
        why = "its process has ended"
        try:
            while self.ended is None:
                size, body_size = _LENGTHS.unpack(await self._in.readexactly(_LENGTHS.size))
                if not 0 < size <= FRAME_LIMIT or body_size > CHUNK_LIMIT:
                    self.lost(ProtocolError(f"A packet announces {size:,} and {body_size:,} bytes: no peer does that."))
                    return
                packet = await self._in.readexactly(size + body_size)
                self.silent_beats = 0
                self.bytes_received += len(packet)
                if self.ended is None:
                    self._packet(memoryview(packet)[:size], memoryview(packet)[size:])
        except asyncio.IncompleteReadError:
            pass
        except OSError as error:
            why = str(error)
        self.lost(PeerLost(f"The connection to {self.who} broke: {why}."))

    def _packet(self, frame: memoryview, body: memoryview) -> None:
        if not body:
            was = self.core.peer
            self.handle(self.core.receive(frame))
            if self.server and was is None and self.core.peer is not None and self.ended is None:
                self.endpoint.accepted(self)
            return
        view, events = self.core.receive_chunk(frame)
        if events or not view:
            self.handle(events)
        elif len(view) != len(body):
            self.lost(ProtocolError(f"A chunk has {len(body):,} bytes, but its head said {len(view):,}."))
        else:
            view[:] = body
            del view
            self.handle(self.core.chunk_received())

    # ---- the end

    def _release(self) -> None:
        """Ends `read`, and closes the connection once the last word has left, or soon anyway."""
        self._out.close()
        self._in.feed_eof()
        self.loop.call_later(_LAST_WORD_SECONDS, self._out.transport.abort)


STREAMS = TransportFactory("streams", "streams", Reach.ANY, StreamsEndpoint, options=frozenset({"heartbeat_seconds"}))


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `streams://host:port`. Raises InvalidArgumentError."""
    scheme, _, rest = address.partition("://")
    host, colon, port = rest.rpartition(":")
    if scheme != "streams" or not host or not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidArgumentError(f"{address!r} is no address; it looks like streams://host:port.")
    return host.strip("[]"), int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
