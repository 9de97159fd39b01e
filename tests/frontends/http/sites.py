"""A site of a few answers, its server, and connections to it: what the layer of HTTP does for each site, without a model."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import anyio
import pytest
from patience import PATIENCE

from actorflow.frontends.ext.asgi import Receive
from actorflow.frontends.http.answers import TEXT, Answer, Body, HttpRequest, Streamed
from actorflow.frontends.http.messages import body_of
from actorflow.frontends.http.site import Site

pytest.importorskip("httptools")
import anyio.lowlevel

from actorflow.frontends.http.server import HttpServer

MOST = 1000
"""Bytes of a body that the site takes."""


class Echo(Site):
    """Answers with what it was asked. `/parts` comes in three parts, `/endless` in parts until its client or its server ends;
    `/hangs` is never answered."""

    def __init__(self) -> None:
        self.streams = 0
        """How many answers come in parts now."""
        self.asked: list[str] = []
        """The paths that were asked for."""
        self.part = b"part"

    async def respond(self, request: HttpRequest, body: Body | Receive) -> Answer | Streamed:
        """The method, the path and the body."""
        self.asked.append(request.path)
        if not isinstance(body, (bytes, list)):
            try:
                body = await body_of(body, MOST, lambda size: None)
            except Exception as error:
                return self.failure(request.path, error)
        whole = body if isinstance(body, bytes) else b"".join(body)
        if request.path == "/hangs":
            await anyio.sleep_forever()
        if request.path in ("/parts", "/endless"):
            return Streamed(200, TEXT, self._parts(request.path == "/endless"), is_endless=request.path == "/endless")
        text = f"{request.method} {request.root}|{request.path}?{request.query.decode()} ".encode()
        return 200, TEXT, text + whole, ()

    def most_body(self, path: str) -> int:
        """The most bytes of a body."""
        return MOST

    async def _parts(self, is_endless: bool) -> AsyncGenerator[bytes, None]:
        self.streams += 1
        try:
            for number in range(3):
                yield b"%b %d\n" % (self.part, number)
                await anyio.lowlevel.checkpoint()
            while is_endless:
                yield self.part
                await anyio.sleep(0.005)
        finally:
            self.streams -= 1


class Served:
    """A site on a port of this machine."""

    def __init__(self, site: Any, server: HttpServer, port: int, end: asyncio.Event) -> None:
        self.site, self.server, self.port, self.end = site, server, port, end

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new connection."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, *parts: bytes, ends: bool = False) -> bytes:
        """All that comes for bytes on a new connection, until its end. With `ends` the client ends its side behind them."""
        reader, writer = await self.open()
        try:
            with anyio.fail_after(PATIENCE):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    await anyio.lowlevel.checkpoint()
                if ends:
                    writer.write_eof()
                return await reader.read()
        finally:
            await left(writer)


async def left(writer: asyncio.StreamWriter) -> None:
    """Ends a connection."""
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@contextlib.asynccontextmanager
async def serving(site: Any = None, **options: Any) -> AsyncIterator[Served]:
    """A site on a port, until the end of the block."""
    from actorflow.frontends.http.server import listening

    site, end = site or Echo(), asyncio.Event()
    listener = listening("127.0.0.1", 0)
    async with site, anyio.create_task_group() as group:
        server = HttpServer(site, **options)
        group.start_soon(server.serve, [listener], None, end)
        try:
            yield Served(site, server, listener.getsockname()[1], end)
        finally:
            end.set()
    assert not server.connections and not server.tasks.is_busy
