"""The shared-memory transport.

arena.py      shared arenas: memory that a process allocates in and its peers on the same host read
channel.py    A channel over a unix socket and shared arenas
endpoint.py   the shared-memory transport: a unix socket for records, and arenas that both sides see for tensors
"""

from __future__ import annotations

import sys
from typing import Any

from actorflow.engine.transport.base import Endpoint, ProcessIdentity, Reach
from actorflow.engine.transport.factory import Arena, TransportFactory


def _open(me: ProcessIdentity, *, listen: str | None = None, **options: Any) -> Endpoint:
    return ShmEndpoint(me, listen=listen is not None, **options)


def _make_arena(size: int | None) -> Arena:
    return SharedArena() if size is None else SharedArena(size)


if sys.platform == "linux":
    from .arena import SharedArena
    from .endpoint import ShmEndpoint

SHM = TransportFactory(
    "shm",
    "shm",
    Reach.HOST,
    _open,
    cost=10,
    make_arena=_make_arena,
    unavailable="" if sys.platform == "linux" else "its arenas are sealed memfds, which only Linux has",
)

__all__ = ["SHM"]
