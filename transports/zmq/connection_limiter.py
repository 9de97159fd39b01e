"""`ConnectionLimiter`: what a connection may cost before it has said who it is.

libzmq gives a connection five seconds to prove its key, and takes a whole frame, of whatever the socket allows, before it looks
at what is in it. It bounds neither how many of them there are nor what they send meanwhile. Genuine peers greet at once, in
less than a kilobyte or two.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from dataclasses import dataclass

MOST = 256
"""The most connections that may be strangers at the same time; the oldest strangers have to go then."""
MOST_BYTES = 16 << 10
"""So much may one send before its greeting is there. A CURVE handshake takes 500 bytes, a greeting at most 8 KiB."""
MOST_SECONDS = 10.0
_SWEEP_SECONDS = 0.02
_RECEIVED = struct.Struct("=128xQ")
"""The field of the system's `struct tcp_info` that has the bytes that have come."""


@dataclass(slots=True)
class _Stranger:
    inode: int
    sweeps: int = 0
    """How many it has seen. The clock would go on while a kernel keeps the event loop from reading a greeting."""


class ConnectionLimiter:
    """Knows the strangers among the connections to `port`, and ends those that go too far.

    A descriptor that libzmq has named may be another file by now: it is touched only while it is the same socket.
    """

    def __init__(self, port: int) -> None:
        self.ended = 0
        self._port = port
        self._loop = asyncio.get_running_loop()
        self._strangers: dict[int, _Stranger] = {}
        self._early: dict[int, int] = {}
        """Descriptors and inodes of those that have greeted before libzmq told of their coming."""
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._strangers)

    def came(self, fd: int) -> None:
        """libzmq has accepted a connection."""
        try:
            inode = os.fstat(fd).st_ino
        except OSError:  # it is gone already
            return
        if self._early.pop(fd, None) == inode:
            return
        self._strangers[fd] = _Stranger(inode)
        if len(self._strangers) > MOST:
            self._end(next(iter(self._strangers)))
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(_SWEEP_SECONDS, self._sweep)

    def greeted(self, fd: int) -> None:
        """It has said who it is. libzmq hands a connection to another thread before it says that it has accepted it, so the
        greeting may be here first."""
        if self._strangers.pop(fd, None) is None:
            try:
                self._early[fd] = os.fstat(fd).st_ino
            except OSError:  # it is gone already
                pass

    def end(self, fd: int) -> None:
        """It has said what no peer would say: if it is still a stranger, it is ended."""
        if fd in self._strangers:
            self._end(fd)

    def left(self, fd: int) -> None:
        """It is gone."""
        self._strangers.pop(fd, None)
        self._early.pop(fd, None)

    def close(self) -> None:
        """Watches no more."""
        self._strangers.clear()
        self._early.clear()
        if self._sweeping is not None:
            self._sweeping.cancel()

    def _sweep(self) -> None:
        for fd, stranger in list(self._strangers.items()):
            stranger.sweeps += 1
            if stranger.sweeps * _SWEEP_SECONDS > MOST_SECONDS or self._received(fd) > MOST_BYTES:
                self._end(fd)
        self._sweeping = self._loop.call_later(_SWEEP_SECONDS, self._sweep) if self._strangers else None

    def _received(self, fd: int) -> int:
        """How many bytes have come; 0 where the system does not tell."""
        connection = self._opened(fd)
        if connection is None:
            return 0
        with connection:
            try:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size)
            except (OSError, AttributeError):
                return 0
        received: int = _RECEIVED.unpack(info)[0] if len(info) == _RECEIVED.size else 0
        return received

    def _end(self, fd: int) -> None:
        connection = self._opened(fd)
        del self._strangers[fd]
        if connection is None:
            return
        with connection:
            self.ended += 1
            try:
                connection.shutdown(socket.SHUT_RDWR)  # libzmq, whose it is, closes it then
            except OSError:
                pass  # the peer was faster

    def _opened(self, fd: int) -> socket.socket | None:
        """The stranger's socket under a descriptor of our own; None if the former descriptor is something else by now."""
        try:
            copy = os.dup(fd)
        except OSError:
            return None
        try:
            same = os.fstat(copy).st_ino == self._strangers[fd].inode
            connection = socket.socket(fileno=copy) if same else None
        except OSError:
            connection = None
        if connection is None:
            os.close(copy)
            return None
        try:
            if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.getsockname()[1] == self._port:
                return connection
        except OSError:
            pass  # it has been shut down meanwhile
        connection.close()
        return None
