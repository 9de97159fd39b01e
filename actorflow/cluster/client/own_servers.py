"""The servers of this process: its own sessions may let them use folders, and wait longer for their peers.

A program that is a task has its server beside its session, as TensorFlow's programs do. The files of its checkpoints are
allowed to the server, and so to all clients that have the server's key. No other file is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from actorflow.cluster.server import Server

_servers: WeakValueDictionary[str, Server] = WeakValueDictionary()


def began(server: Server) -> None:
    """The server listens from now on."""
    _servers[server.address] = server


def ended(server: Server) -> None:
    """The server listens no more."""
    _servers.pop(server.address, None)


def serves_here(address: str) -> bool:
    """Whether a server of this process listens there."""
    return address in _servers


def allow_files(address: str, folder: str) -> None:
    """Lets ops use a folder, or the files whose paths begin with the text before a `*`, if the server at `address` is
    in this process. May be called from any thread."""
    server = _servers.get(address)
    if server is not None:
        server.allow_files(folder)
