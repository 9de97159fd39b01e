"""`run`: HTTP/1.1 for an `Application`, as `actorflow serve` speaks it.

The parser is llhttp, by the package `httptools`. A request costs a task and no more: there are no messages between the server and
the application, and the body is there in full before the application is asked. Requests that a client sends behind each other on
one connection are answered in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import signal
import socket
import ssl
import urllib.parse
from collections import deque
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import anyio

from actorflow.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.serving.application import Answer, Application

_MOST_HEAD = 64 << 10
_LONG_HEAD = f"The head of a request has more than {_MOST_HEAD} bytes."
_MOST_WAITING = 8
"""Requests of a connection that wait behind the one that is answered; then it is read no further."""
_LOOKS = 5.0
_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}


class Server:
    """The connections of an application.

    Args:
        application: what answers; its models are loaded.
        idle_seconds: after how long a connection without a request is closed.
        arrival_seconds: how long a request may take to arrive.
    """

    def __init__(self, application: Application, *, idle_seconds: float = 75.0, arrival_seconds: float = 60.0) -> None:
        self.application = application
        self.idle_seconds, self.arrival_seconds = idle_seconds, arrival_seconds
        self.parser: Any = importlib.import_module("httptools").HttpRequestParser
        self.connections: set[_Connection] = set()
        self.tasks = BackgroundTasks()
        self.is_ending = False
        self.has_lost = asyncio.Event()
        """Set when a connection has ended."""

    async def serve(self, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None, end: asyncio.Event) -> None:
        """Answers on sockets that listen, until `end` is set; then it ends what it has begun, for ten seconds at most."""
        loop = asyncio.get_running_loop()
        listeners = [await loop.create_server(lambda: _Connection(self), sock=one, ssl=tls) for one in sockets]
        try:
            while not end.is_set():
                with anyio.move_on_after(_LOOKS):
                    await end.wait()
                self._sweep(loop.time())
        finally:
            for listener in listeners:
                listener.close()
            self.is_ending = True
            for connection in list(self.connections):
                connection.end_when_idle()
            with anyio.CancelScope(shield=True):
                with anyio.move_on_after(10):
                    while self.connections:
                        self.has_lost.clear()
                        await self.has_lost.wait()
                for connection in list(self.connections):
                    connection.transport.abort()
                await self.tasks.close()

    def _sweep(self, now: float) -> None:
        for connection in list(self.connections):
            connection.end_when_late(now)


class _Connection(asyncio.Protocol):
    """One connection: the requests that have arrived, and the one that is answered."""

    transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        self._server, self._application = server, server.application
        self._parser = server.parser(self)
        self._waiting: deque[Any] = deque()
        self._task: asyncio.Task[Any] | None = None
        self._is_ended = self._is_full = False
        self._since, self._head_bytes = 0.0, 0
        self._start()

    def _start(self) -> None:
        """Begins a request."""
        self._url, self._headers, self._parts, self._size = b"", {}, [], 0  # type: ignore[var-annotated]
        self._in_body = False

    # ---- of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._since = self._server.tasks._loop.time()
        self._server.connections.add(self)
        if self._server.is_ending:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_ended = True
        self._server.connections.discard(self)
        self._server.has_lost.set()
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._is_ended:
            return
        if not self._in_body:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except Exception:  # no HTTP, or what follows an upgrade, which is refused already
            self._refuse(400, "This is no request of HTTP/1.1 that is known here.")
            return
        if not self._in_body and self._head_bytes > _MOST_HEAD:
            self._refuse(431, _LONG_HEAD)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._next()

    # ---- of the parser

    def on_message_begin(self) -> None:
        self._since = self._server.tasks._loop.time()
        self._start()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._in_body, self._head_bytes = True, 0
        if self._is_ended:
            return
        headers = self._headers
        method = self._parser.get_method().decode("latin-1")
        path = self._url.partition(b"?")[0].decode("latin-1")
        if not path.startswith("/"):
            path = urllib.parse.urlsplit(path).path or "/"
        self._request = method, urllib.parse.unquote(path) if "%" in path else path
        refusal = self._application.refusal(method, self._request[1], headers)
        if self._parser.should_upgrade():
            self._refuse(400, "No other protocol than HTTP/1.1 is known here.")
        elif sum(map(len, headers)) + sum(map(len, headers.values())) + len(self._url) > _MOST_HEAD:
            self._refuse(431, _LONG_HEAD)
        elif refusal is not None:  # before the body is read
            self._give_up(refusal)
        elif headers.get(b"expect", b"").lower() == b"100-continue" and self._task is None:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self._application.max_body and not self._is_ended:
            self._give_up(self._application.too_large(self._request[1]))
        elif not self._is_ended:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        if self._is_ended:
            return
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._waiting.append((*self._request, self._headers, body, self._parser.should_keep_alive()))
        self._parts = []
        if len(self._waiting) > _MOST_WAITING:
            self.transport.pause_reading()
        self._next()

    # ---- answers

    def _next(self) -> None:
        """Answers the next request, when the one before it is answered and its answer is on the way."""
        if self._task is not None or self._is_full or not self._waiting or self.transport.is_closing():
            return
        item = self._waiting.popleft()
        if len(self._waiting) == _MOST_WAITING:
            self.transport.resume_reading()
        if len(item) == 4:  # an answer, after which the connection ends
            self._write("GET", item, False)
            return
        self._task = self._server.tasks.start(self._respond(*item))
        if self._task is None:
            self.transport.close()

    async def _respond(self, method: str, path: str, headers: dict[bytes, bytes], body: bytes, keeps: bool) -> None:
        try:
            answer = await self._application.respond(method, path, headers, body)
        finally:
            self._task = None
        self._since = self._server.tasks._loop.time()
        self._write(method, answer, keeps and not self._server.is_ending)
        self._next()

    def _write(self, method: str, answer: Answer, keeps: bool) -> None:
        if self.transport.is_closing():
            return
        status, kind, body, more = answer
        line = _LINES.get(status) or b"HTTP/1.1 %d Unknown\r\n" % status
        parts = [line, b"content-type: ", kind, b"\r\ncontent-length: %d\r\n" % len(body)]
        for name, value in more:
            parts += [name, b": ", value, b"\r\n"]
        parts.append(b"\r\n" if keeps else b"connection: close\r\n\r\n")
        if method != "HEAD":
            parts.append(body)
        self.transport.write(b"".join(parts))
        if not keeps and not self._is_ended:
            self._is_ended = True
            self.transport.close()
        elif (
            not keeps and self.transport.can_write_eof()
        ):  # a client that still sends would not see the answer after a close
            self.transport.write_eof()
        elif not keeps:
            self.transport.close()

    def _give_up(self, answer: Answer) -> None:
        """Answers, after what came before, and reads no more."""
        self._is_ended = True
        self._parts = []
        self._waiting.append(answer)
        self._next()

    def _refuse(self, status: int, text: str) -> None:
        if not self._is_ended:
            self._give_up((status, b"application/json", b'{"error":"%s"}' % text.encode(), ()))

    # ---- the end

    @property
    def _is_idle(self) -> bool:
        return self._task is None and not self._waiting

    def end_when_idle(self) -> None:
        """Closes the connection unless a request is answered; that one is the last."""
        if self._is_idle:
            self.transport.close()

    def end_when_late(self, now: float) -> None:
        """Closes the connection where nothing has come for long."""
        arrives = self._in_body or self._head_bytes > 0
        limit = _LOOKS if self._is_ended else self._server.arrival_seconds if arrives else self._server.idle_seconds
        if self._is_idle and now - self._since > limit:
            self.transport.abort()


def run(application: Application, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None = None) -> None:
    """Loads the models of an application, and answers until SIGINT or SIGTERM.

    Args:
        application: the application.
        sockets: sockets that listen. Clients that come while models are loaded wait.
        tls: certificate and key; HTTP without encryption unless given.
    """

    async def serve() -> None:
        end, loading, loop = asyncio.Event(), anyio.CancelScope(), asyncio.get_running_loop()

        def stop() -> None:
            end.set()
            loading.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        with loading:
            await application.__aenter__()
        if not loading.cancelled_caught:
            try:
                await Server(application).serve(sockets, tls, end)
            finally:
                await application.__aexit__(None, None, None)

    factory = None
    with contextlib.suppress(ImportError):
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve())
