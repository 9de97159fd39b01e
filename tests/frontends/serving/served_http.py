"""The server of `actorflow serve` in this process, and connections to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from frontends.serving.served import application, write_line
from patience import PATIENCE

pytest.importorskip("httptools")
from actorflow.frontends.http.server import HttpServer

ASK = json.dumps({"instances": [[1.0, 2.0, 3.0]]}).encode()
PREDICT = "/v1/models/line:predict"
CHUNKED = f"POST {PREDICT} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


class Running:
    """A server, and connections to it."""

    def __init__(self, server: HttpServer, port: int, tls: Any = None) -> None:
        self.server, self.port, self.tls = server, port, tls

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls)

    async def say(self, data: bytes, answers: int = 1) -> list[tuple[int, dict[str, str], bytes]]:
        """The answers to bytes on a new connection."""
        reader, writer = await self.open()
        try:
            writer.write(data)
            with anyio.fail_after(PATIENCE):
                return [await read(reader) for _ in range(answers)]
        finally:
            await left(writer)


async def read(reader: asyncio.StreamReader, head_only: bool = False) -> tuple[int, dict[str, str], bytes]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, await reader.readexactly(0 if head_only else int(headers["content-length"]))


async def left(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()


def asked(body: bytes = ASK, path: str = PREDICT, *more: str, method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def running(folder: Path, tls: Any = None, **options: Any) -> AsyncIterator[Running]:
    write_line(folder / "line" / "1", 2)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(100)
    end = asyncio.Event()
    async with application(folder, **options) as app, anyio.create_task_group() as group:
        server = HttpServer(app)
        group.start_soon(server.serve, [listening], tls, end)
        try:
            yield Running(server, listening.getsockname()[1])
        finally:
            end.set()
    assert not server.connections and not server.tasks.is_busy
