"""`Subject`: the transport that is tried, and pairs of its endpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorflow.engine.transport.base import Channel, Endpoint, PeerLimits, ProcessIdentity, Reach
from actorflow.engine.transport.factory import Arena, KeyPair, TransportFactory
from actorflow.testing.contract import SECONDS, Broken, got

SERVER = ProcessIdentity("cluster", "/job:ps/task:0", 0x51)
CLIENT = ProcessIdentity("cluster", "/job:worker/task:0", 0x52)
SMALL = PeerLimits(data_window=256 << 10, control_window=128 << 10)
"""Windows that large tensors and many messages fill."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A transport in one of the ways in which it is used.

    Args:
        factory: the transport.
        name: what reports call it; its own name unless given.
        keys: the keys of both processes; None for none.
        arena_bytes: the size of each side's arena; 0 for none.
        open: opens endpoints in the place of `factory.open`, with the same arguments.
    """

    factory: TransportFactory
    name: str = ""
    keys: KeyPair | None = None
    arena_bytes: int = 0
    open: Callable[..., Endpoint] | None = None

    @property
    def is_wire(self) -> bool:
        """Whether tokens leave the process."""
        return self.factory.reach is not Reach.PROCESS

    @property
    def is_real(self) -> bool:
        """Whether it has sockets of the operating system."""
        return self.open is None

    def endpoint(self, me: ProcessIdentity, *, listen: bool, **options: Any) -> Endpoint:
        """An endpoint, opened as the core opens it, with an address of its own choice."""
        factory = self.factory
        address = {
            Reach.ANY: f"{factory.scheme}://127.0.0.1:0",
            Reach.HOST: "",
            Reach.PROCESS: f"{factory.scheme}://{me.task}",
        }[factory.reach]
        arguments: dict[str, Any] = {
            "listen": address if listen else None, "accept": lambda channel: channel.close("not wanted"), "epoch": 0,
        }  # fmt: skip
        if factory.reach is Reach.ANY:
            arguments["advertise"] = None
        if factory.make_keys is not None:
            arguments |= {"keys": self.keys, "allowed": frozenset()}
        if factory.make_arena is not None:
            arguments["arena"] = self._arena(factory.make_arena) if self.arena_bytes else None
        return (self.open or factory.open)(me, **(arguments | options))

    def _arena(self, make: Callable[[int | None], Arena]) -> Arena:
        arena = make(self.arena_bytes)
        ARENAS.get().append(arena)
        return arena

    def in_last_arena(self, values: Any) -> Any:
        """A copy of an array in the arena that was made last, which is that of `Pair.here`. None without arenas."""
        if not self.arena_bytes:
            return None
        block = ARENAS.get()[-1].take(values.nbytes)
        if block is None:
            raise Broken(f"an arena of {self.arena_bytes:,} bytes has no room for {values.nbytes:,}")
        view: Any = np.ndarray(values.shape, values.dtype, block)
        view[...] = values
        return view

    def __str__(self) -> str:
        return self.name or self.factory.name


ARENAS: ContextVar[list[Arena]] = ContextVar("arenas")
"""The arenas to be closed after the rule that is tried."""


@dataclass(slots=True)
class Pair:
    """Two endpoints and a channel between them: `client` has connected to `server`."""

    here: Endpoint
    there: Endpoint
    client: Channel = field(init=False)
    server: Channel = field(init=False)
    accepted: asyncio.Queue[Channel] = field(default_factory=asyncio.Queue)


@asynccontextmanager
async def pair(subject: Subject, **options: Any) -> AsyncIterator[Pair]:
    """A connected pair; all is closed at the end. `options` are for both endpoints."""
    accepted: asyncio.Queue[Channel] = asyncio.Queue()
    there = subject.endpoint(SERVER, listen=True, **{"accept": accepted.put_nowait, **options})
    try:
        here = subject.endpoint(CLIENT, listen=False, **options)
        both = Pair(here, there, accepted=accepted)
        try:
            both.client = await got(here.connect(there.address, SERVER.incarnation, timeout=SECONDS))
            both.server = await got(accepted.get())
            yield both
        finally:
            here.close()
    finally:
        there.close()


# ---- what bodies are written with


def bits(token: Any) -> Any:
    """The bytes, dtype and shape that make two tensors bit-equal."""
    array = np.asarray(token)
    if array.dtype == object:
        return array.shape, array.ravel().tolist()
    return array.shape, array.dtype, array.tobytes()


def large(size: int = 3_000_001) -> Any:
    """A tensor of 12 MB, or of `size` numbers, that goes in many pieces."""
    return np.arange(size, dtype=np.int32)
