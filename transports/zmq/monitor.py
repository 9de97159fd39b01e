"""The events of a socket's connections that libzmq reports: made, authenticated, refused, broken."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable

import zmq

from .sockets import fd_of, readable

_EVENT = struct.Struct("=HI")


class SocketMonitor:
    """Calls `seen(event, value)` on the loop for each event of `socket` that is in `events`."""

    def __init__(self, socket: zmq.Socket[bytes], events: int, seen: Callable[[int, int], object]) -> None:
        self._watched = socket
        self._seen = seen
        self._loop = asyncio.get_running_loop()
        self._socket = socket.get_monitor_socket(events)
        self._fd = fd_of(self._socket)
        self._loop.add_reader(self._fd, self.drain)
        self._loop.call_soon(self.drain)

    def drain(self) -> None:
        """Takes all events that there are."""
        while not self._socket.closed and readable(self._socket):
            event, _ = self._socket.recv_multipart(zmq.NOBLOCK)
            self._seen(*_EVENT.unpack(event))

    def close(self) -> None:
        """Watches no more. To be called before the socket is closed."""
        if not self._socket.closed:
            self._loop.remove_reader(self._fd)
            self._watched.disable_monitor()
            self._socket.close(0)
