"""The calls of ZeroMQ's sockets for each message.

The backend's methods are called without Python's layer over them, which looks for options that no one here uses, and makes
enumerations of plain numbers: that takes as long again as to send a frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import zmq
import zmq.backend

Socket = zmq.Socket[bytes]
NOW = int(zmq.NOBLOCK)
MORE = int(zmq.SNDMORE) | NOW
send: Callable[[Socket, Any, int, bool], object] = cast(Any, zmq.backend.Socket).send
"""`send(socket, part, flags, copy)`."""
_get: Callable[[Socket, int], int] = cast(Any, zmq.backend.Socket).get
_EVENTS, _POLLIN = int(zmq.EVENTS), int(zmq.POLLIN)


def fd_of(socket: Socket) -> int:
    """The descriptor that becomes readable when something changes about `socket`."""
    return cast(int, socket.getsockopt(zmq.FD))


def readable(socket: Socket) -> bool:
    """Whether a message waits. Sending and receiving may swallow the signal that a message has come, so this is asked after."""
    return bool(_get(socket, _EVENTS) & _POLLIN)


def rest(socket: Socket) -> None:
    """Throws the rest of a message away."""
    while socket.getsockopt(zmq.RCVMORE):
        socket.recv(zmq.NOBLOCK, copy=False)
