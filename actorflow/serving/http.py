"""`run`: HTTP/1.1 for an `Application`, as `actorflow serve` speaks it.

The parser is llhttp, by the package `httptools`. There are no messages between the server and the application, and the body is
there in full before the application is asked. A request for inference costs no task: its answer is written when the step of its
batch ends (`Exchange`). Requests that a client sends behind each other on one connection are answered in order.

A client sends the same head with each request, as a rule. Bytes that begin with the head of the request before, at the place
where a request begins, need not be parsed again: the parser would find what it has found then.
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
from typing import Any, NamedTuple

import anyio

from actorflow.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.serving.application import Application
from actorflow.serving.exchange import Exchange
from actorflow.serving.protocols.answers import JSON, Answer
from actorflow.serving.protocols.routes import Route, route

_MOST_HEAD = 64 << 10
_LONG_HEAD = f"The head of a request has more than {_MOST_HEAD} bytes."
_MOST_KNOWN = 4 << 10
"""Bytes of a head that is remembered."""
_MOST_WAITING = 8
_MOST_WAITING_BYTES = 1 << 20
"""Requests of a connection that wait behind the one that is answered, and bytes of their bodies; then it is read no further."""
_LOOKS = 5.0
_HANDSHAKE = 10.0
_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}


class _Request(NamedTuple):
    method: str
    path: str
    headers: dict[bytes, bytes]
    body: bytes
    keeps: bool
    asked: Route | None
    """The thing that it asks for, where that is inference."""


class _Refusal(NamedTuple):
    """An answer that is known already; the connection ends with it."""

    method: str
    answer: Answer


class Server:
    """The connections of an application.

    Args:
        application: what answers; its models are loaded.
        idle_seconds: after how long a connection without a request is closed.
        arrival_seconds: how long a request may take to arrive, and an answer to be taken.
        most_connections: how many there may be; one more is closed at once.
    """

    def __init__(
        self,
        application: Application,
        *,
        idle_seconds: float = 75.0,
        arrival_seconds: float = 60.0,
        most_connections: int = 4096,
    ) -> None:
        self.application = application
        self.idle_seconds, self.arrival_seconds = idle_seconds, arrival_seconds
        self.most_connections = most_connections
        httptools: Any = importlib.import_module("httptools")
        self.parser, self.upgrade = httptools.HttpRequestParser, httptools.HttpParserUpgrade
        self.loop = asyncio.get_running_loop()
        self.now = self.loop.time
        self.connections: set[_Connection] = set()
        self.tasks = BackgroundTasks()
        self.handshakes: set[asyncio.Task[Any]] = set()
        """Clients that have not shaken hands for TLS: a loop's server would not know them, nor close them at the end."""
        self.is_ending = False
        self.has_lost = asyncio.Event()
        """Set when a connection has ended."""

    async def serve(self, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None, end: asyncio.Event) -> None:
        """Answers on sockets that listen, until `end` is set; then it ends what it has begun, for ten seconds at most."""
        loop = asyncio.get_running_loop()
        listeners: list[Any] = []
        try:
            for one in sockets:
                if tls is None:
                    listeners.append(await loop.create_server(lambda: _Connection(self), sock=one))
                else:
                    listeners.append(self.tasks.start(self._accept(one, tls)))
            while not end.is_set():
                with anyio.move_on_after(_LOOKS):
                    await end.wait()
                self._sweep(loop.time())
        finally:
            for listener in listeners:
                (listener.cancel if tls else listener.close)()
            for handshake in self.handshakes:
                handshake.cancel()
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

    async def _accept(self, listening: socket.socket, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        with listening:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(listening)
                except OSError:  # the client has left, or there are no more files for now
                    await anyio.sleep(0.1)
                    continue
                if len(self.connections) + len(self.handshakes) >= self.most_connections:
                    accepted.close()
                elif (task := self.tasks.start(self._shake_hands(accepted, tls))) is not None:
                    self.handshakes.add(task)
                    task.add_done_callback(self.handshakes.discard)

    async def _shake_hands(self, accepted: socket.socket, tls: ssl.SSLContext) -> None:
        with contextlib.suppress(OSError):  # a client that speaks no TLS, or says nothing
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: _Connection(self), accepted, ssl=tls, ssl_handshake_timeout=_HANDSHAKE
            )

    def _sweep(self, now: float) -> None:
        for connection in list(self.connections):
            connection.end_when_late(now)


class _Connection(asyncio.Protocol):
    """One connection: the requests that have arrived, and the one that is answered."""

    transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        self._server, self._application = server, server.application
        self._parser = server.parser(self)
        self._waiting: deque[_Request | _Refusal] = deque()
        self._waiting_bytes = 0
        self._request: _Request | None = None
        """The one that is answered now."""
        self._exchange: Exchange | None = None
        self._task: asyncio.Task[Any] | None = None
        self._rests = False
        self._begun = 0
        self._known: tuple[bytes, int, _Request] | None = None
        """The head of a request before, the size of that with its body, and what it says."""
        self._is_ended = self._is_full = self._is_paused = self._arrives = False
        self._since, self._head_bytes = 0.0, 0
        self._last: _Request | None = None
        self._start()

    def _start(self) -> None:
        """Begins a request."""
        self._url, self._headers, self._parts, self._size = b"", {}, [], 0  # type: ignore[var-annotated]
        self._method, self._path, self._hosts = "GET", "/", 0
        self._in_body = self._expects = False

    # ---- of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._since = self._server.now()
        self._server.connections.add(self)
        if self._server.is_ending:
            self.transport.close()
        elif len(self._server.connections) > self._server.most_connections:
            self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_ended = True
        self._server.connections.discard(self)
        self._server.has_lost.set()
        self._waiting.clear()
        if self._exchange is not None:
            self._exchange.give_up()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        if self._is_ended:
            return
        if self._known is not None and not self._arrives:
            head, size, request = self._known
            if len(data) == size and data.startswith(head):
                body = data[len(head) :]
                self._take(_Request(request.method, request.path, request.headers, body, True, request.asked))
                return
        fresh, before = not self._arrives, self._begun
        self._parse(data)
        last, self._last = self._last, None
        if fresh and not self._arrives and last is not None and self._begun == before + 1:
            self._remember(data, last)

    def _remember(self, data: bytes, request: _Request) -> None:
        """Remembers the head of a request that came in these bytes, where it alone says where the body ends."""
        at, headers = len(data) - len(request.body), request.headers
        if (
            at <= _MOST_KNOWN
            and request.keeps
            and b"content-length" in headers
            and headers.keys().isdisjoint((b"transfer-encoding", b"expect", b"upgrade"))
            and data.find(b"\r\n\r\n") + 4 == at
        ):
            self._known = data[:at], len(data), request._replace(body=b"")

    def _parse(self, data: bytes) -> None:
        self._head_bytes += len(data)
        while data:
            try:
                self._parser.feed_data(data)
                break
            except self._server.upgrade as stop:
                if self._is_ended:
                    return
                data = self._head_again() + data[stop.args[0] :]
            except Exception:
                self._refuse(400, "This is no request of HTTP/1.1 that is known here.")
                return
        if self._head_bytes > _MOST_HEAD:  # of trailers too
            self._refuse(431, _LONG_HEAD)

    def _head_again(self) -> bytes:
        """The head of a request without its offer of another protocol, with which the parser would skip the body."""
        version = self._parser.get_http_version().encode()
        head = b"%s %s HTTP/%s\r\n" % (self._method.encode(), self._url, version)
        kept = [b"%s: %s\r\n" % pair for pair in self._headers.items() if pair[0] != b"upgrade"]
        self._parser = self._server.parser(self)
        return b"".join((head, *kept, b"\r\n"))

    def pause_writing(self) -> None:
        self._is_full = True
        self._since = self._server.now()

    def resume_writing(self) -> None:
        self._is_full = False
        self._since = self._server.now()
        self._next()

    # ---- of the parser

    def on_message_begin(self) -> None:
        self._arrives = True
        self._begun += 1
        if not self._is_full:
            self._since = self._server.now()
        self._start()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # a trailer may not change what has been checked
            name = name.lower()
            self._hosts += name == b"host"
            self._headers[name] = value

    def on_headers_complete(self) -> None:
        self._in_body, self._head_bytes = True, 0
        if self._is_ended:
            return
        headers = self._headers
        self._method = self._parser.get_method().decode("latin-1")
        path = self._url.partition(b"?")[0].decode("latin-1")
        if not path.startswith("/"):
            path = urllib.parse.urlsplit(path).path or "/"
        self._path = urllib.parse.unquote(path) if "%" in path else path
        if self._method == "CONNECT":
            self._refuse(400, "No other protocol than HTTP/1.1 is known here.")
        elif sum(map(len, headers)) + sum(map(len, headers.values())) + len(self._url) > _MOST_HEAD:
            self._refuse(431, _LONG_HEAD)
        elif self._hosts != 1 and (self._hosts or self._parser.get_http_version() != "1.0"):
            self._refuse(400, f"A request has one header Host, not {self._hosts}.")
        elif self._parser.should_upgrade():
            return  # it comes again without
        elif (refusal := self._application.refusal(self._method, self._path, headers)) is not None:
            self._give_up(refusal)  # before the body is read
        elif headers.get(b"expect", b"").lower() == b"100-continue":
            self._expects = True
            self._next()

    def on_body(self, body: bytes) -> None:
        self._head_bytes, self._expects = 0, False
        self._size += len(body)
        if self._size > self._application.most_body(self._path) and not self._is_ended:
            self._give_up(self._application.too_large(self._path))
        elif not self._is_ended:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        if self._is_ended or self._parser.should_upgrade():
            return
        self._in_body = self._arrives = self._expects = False
        self._head_bytes = 0
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        keeps = self._parser.should_keep_alive()
        self._is_ended = not keeps  # what comes behind it is not read
        asked = route(self._path) if self._method == "POST" else None
        if asked is not None and not asked.is_inference:
            asked = None
        self._last = _Request(self._method, self._path, self._headers, body, keeps, asked)
        self._take(self._last)

    def _take(self, request: _Request) -> None:
        self._waiting.append(request)
        self._waiting_bytes += len(request.body)
        self._next()
        self._read_or_pause()

    # ---- answers

    def _next(self) -> None:
        """Answers the next request, when the one before it is answered and its answer is on the way."""
        if self._request is not None or self._rests or self._is_full or self.transport.is_closing():
            return
        if not self._waiting:
            if self._expects:
                self._expects = False
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        item = self._waiting.popleft()
        if isinstance(item, _Refusal):
            self._write(item.method, item.answer, False)
            return
        self._waiting_bytes -= len(item.body)
        if self._is_paused:
            self._read_or_pause()
        self._request = item
        if item.asked is not None:
            exchange = self._application.begin(item.asked, item.path, item.headers, item.body, self._answered)
            if self._request is item:
                self._exchange = exchange
            return
        self._task = self._server.tasks.start(self._respond(item))
        if self._task is None:
            self.transport.close()

    def _read_or_pause(self) -> None:
        """Reads on unless much waits."""
        pauses = len(self._waiting) > _MOST_WAITING or self._waiting_bytes > _MOST_WAITING_BYTES
        if pauses != self._is_paused and not self.transport.is_closing():
            self._is_paused = pauses
            (self.transport.pause_reading if pauses else self.transport.resume_reading)()

    async def _respond(self, request: _Request) -> None:
        answer = await self._application.respond(*request[:4])
        self._task = None
        self._answered(answer)

    def _answered(self, answer: Answer) -> None:
        """The answer to the request is there."""
        request, self._request = self._request, None
        assert request is not None
        at_once, self._exchange = self._exchange is None and request.asked is not None, None
        self._rests = at_once  # others of the loop have their turn
        self._write(request.method, answer, request.keeps and not self._server.is_ending)
        if at_once:
            self._server.loop.call_soon(self._go_on)
        else:
            self._next()

    def _go_on(self) -> None:
        self._rests = False
        if self._server.is_ending and self._is_idle:
            self.transport.close()
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
        self._since = self._server.now()
        self.transport.write(b"".join(parts))
        if not keeps:
            self._end()

    def _end(self) -> None:
        """Ends the connection with what is written."""
        self._waiting.clear()
        lingers = self._is_ended and not self._server.is_ending and self.transport.can_write_eof()
        self._is_ended, self._expects = True, False
        if lingers:  # a client that still sends would not see the answer after a close
            self.transport.write_eof()
            if self._is_paused:
                self._is_paused = False
                self.transport.resume_reading()
        else:
            self.transport.close()

    def _give_up(self, answer: Answer) -> None:
        """Answers, after what came before, and reads no more."""
        self._is_ended = True
        self._parts, self._expects = [], False
        self._waiting.append(_Refusal(self._method, answer))
        self._next()

    def _refuse(self, status: int, text: str) -> None:
        if not self._is_ended:
            self._give_up((status, JSON, b'{"error":"%s"}' % text.encode(), ()))

    # ---- the end

    @property
    def _is_idle(self) -> bool:
        return self._request is None and not self._rests and not self._waiting

    def end_when_idle(self) -> None:
        """Closes the connection unless a request is answered; that one is the last."""
        if self._is_idle:
            self.transport.close()

    def end_when_late(self, now: float) -> None:
        """Closes the connection where nothing has come for long, or an answer is not taken."""
        if self._is_full or self._is_idle and self.transport.get_write_buffer_size():
            limit = self._server.arrival_seconds
        elif not self._is_idle:
            return
        elif self._is_ended:
            limit = _LOOKS
        else:
            limit = self._server.arrival_seconds if self._arrives else self._server.idle_seconds
        if now - self._since > limit:
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
