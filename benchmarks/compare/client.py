"""Clients over kept connections, as quick as Python allows: a callback for each answer, no task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeAlias

Answered: TypeAlias = Callable[["Connection", int, float], None]
"""Is called with the status of an answer, 0 for a connection that was lost, and the seconds that it took."""


class Connection(asyncio.Protocol):
    """A connection that asks one request at a time."""

    def __init__(self, request: bytes, answered: Answered) -> None:
        self._request, self._answered = request, answered
        self._received = b""
        self._begun = 0.0
        self.is_waiting = False
        self.is_open = False
        self.body = b""
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.is_open = True

    def ask(self) -> None:
        """Sends the request."""
        self.is_waiting = True
        self._begun = time.monotonic()
        self._transport.write(self._request)

    def close(self) -> None:
        """Leaves, whatever the server does."""
        self.is_waiting = self.is_open = False
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        lower = head.lower()
        if b"content-length:" in lower:
            size = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(body) < size:
                return
        elif not body.endswith(b"0\r\n\r\n"):  # chunks
            return
        self._received = b""
        if self.is_waiting:
            self.is_waiting = False
            self.body = body
            self._answered(self, int(head[9:12]), time.monotonic() - self._begun)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self.is_waiting:
            self.is_waiting = False
            self._answered(self, 0, time.monotonic() - self._begun)


async def connected(port: int, request: bytes, answered: Answered) -> Connection:
    """A new connection. Raises OSError if there is none."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(request, answered), "127.0.0.1", port)
    return connection
