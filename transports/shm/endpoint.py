"""The shared-memory transport: a unix socket for records, and arenas that both sides see for tensors.

A tensor that was allocated in the arena is sent as a handle, whatever its size; others are copied in, or go over the
socket where the arena is full. The end of the socket is the death of the peer. Its name is abstract: it needs no file, ends
with its process, and is unknown in other network name spaces.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from typing import Any

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.engine.transport.base import Channel, ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected
from actorflow.errors import InvalidArgumentError, UnavailableError

from ..endpoint import BaseEndpoint
from .arena import SharedArena
from .channel import ShmChannel, user_of

_LOG = get_logger("transports")
_PER_TURN = 64
_PAUSE_SECONDS = 0.5
_GREETING_SECONDS = 5.0


class ShmEndpoint(BaseEndpoint):
    """The shared-memory endpoint of a process.

    Args:
        me: who the process is.
        listen: whether peers may connect.
        arena: where this process's tensors are put for its peers; the devices' allocators may take theirs from it too.
            Without one every tensor goes over the socket.
    """

    name = "shm"

    def __init__(
        self, me: ProcessIdentity, *, listen: bool = True, arena: SharedArena | None = None, **options: Any
    ) -> None:
        super().__init__(me, **options)
        self.arena = arena
        self.parting: set[ShmChannel] = set()
        self.abandoned: list[Any] = []
        """Memory that peers may still look at, and whose release will not be heard."""
        self._greeting: set[ShmChannel] = set()
        self._listener: socket.socket | None = None
        if listen:
            name = f"actorflow-{secrets.token_hex(16)}"
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
            try:
                listener.bind(f"\0{name}")
                listener.listen(128)
            except OSError:
                listener.close()
                self.close()
                raise
            self._listener = listener
            self.address = f"shm://{name}"
            self.loop.add_reader(listener.fileno(), self._arrived)

    async def connect(
        self,
        address: str,
        incarnation: int | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        progress: Callable[[str], object] | None = None,
    ) -> Channel:
        if not address.startswith("shm://"):
            raise InvalidArgumentError(f"{address!r} is no address; it looks like shm://name.")
        self.check_open()
        tell = progress or (lambda what: None)
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        try:
            with anyio.move_on_after(timeout):
                while True:
                    try:
                        wire.connect(f"\0{address.removeprefix('shm://')}")
                        break
                    except BlockingIOError:  # more come than it takes
                        await anyio.sleep(0.01)
                    except OSError as error:
                        raise UnavailableError(
                            f"Nobody listens at {address} on this host and in this network name space: {error}."
                        ) from error
                tell("connected")
                uid = user_of(wire)[1]
                if uid != os.geteuid():
                    raise HandshakeRejected(
                        f"The process at {address} belongs to user {uid}, this one to {os.geteuid()}."
                    )
                tell("authenticated")
                channel = ShmChannel(self, wire, address, incarnation)
                channel.core.hello()
                channel.announce()
                channel.wake()
                try:
                    await channel.opened
                except BaseException:
                    channel.close("not wanted any more")
                    raise
                tell("accepted")
                return channel
        except BaseException:
            wire.close()
            raise
        wire.close()
        raise UnavailableError(f"{address} did not accept a channel within {timeout:g} s.")

    def _arrived(self) -> None:
        assert self._listener is not None
        for _ in range(_PER_TURN):
            try:
                wire, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:  # too many files are open: at once it would fail again, in each turn of the loop
                self.loop.remove_reader(self._listener.fileno())
                self.loop.call_later(_PAUSE_SECONDS, self._listen_again)
                _LOG.warning("cannot accept a connection", error=str(error))
                return
            wire.setblocking(False)
            pid, uid = user_of(wire)
            if uid != os.geteuid():
                wire.close()
                _LOG.warning("refused a process of another user", pid=pid, uid=uid)
                continue
            channel = ShmChannel(self, wire, "", None, server=True)
            self._greeting.add(channel)
            self.loop.call_later(_GREETING_SECONDS, channel.hurry)

    def _listen_again(self) -> None:
        if self._listener is not None:
            self.loop.add_reader(self._listener.fileno(), self._arrived)

    def greeted(self, channel: ShmChannel) -> None:
        """A peer's handshake is over, in one way or the other."""
        self._greeting.discard(channel)

    def _release(self) -> None:
        for channel in list(self._greeting):
            channel.close("the process ends")
        for channel in list(self.parting):
            channel.part_now()
        if self._listener is not None:
            self.loop.remove_reader(self._listener.fileno())
            self._listener.close()
            self._listener = None
