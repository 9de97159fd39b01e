"""`Connection`: the requests of one connection, answered in turn, in the order in which they came."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.frontends.http.answers import SMALL, Answer, Body, Streamed
from actorflow.frontends.http.reader import RequestHead, RequestReader
from actorflow.frontends.http.site import PendingAnswer

if TYPE_CHECKING:
    from actorflow.frontends.http.server import HttpServer

_LOG = get_logger("http")
_MOST_WAITING = 8
_MOST_WAITING_BYTES = 1 << 20
"""Requests of a connection that wait behind the answered request, and bytes of their bodies; then it is read no further."""
_PART = 256 << 10
"""Bytes of an answer that are written at a time."""
_LINGERS = 5.0
"""Seconds for a client to read the last answer, and to close."""
_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}


_GOES_ON, _CLOSES, _KEEPS = b"\r\n", b"connection: close\r\n\r\n", b"connection: keep-alive\r\n\r\n"
"""The end of a head: the connection goes on, it closes, and it goes on for a client of HTTP/1.0, which has to be told."""


class _Refusal(NamedTuple):
    """An answer that is known already; the connection ends with it."""

    method: str
    answer: Answer


def _head(
    status: int, kind: bytes, length: bytes, more: Sequence[tuple[bytes, bytes]], ends: bytes, is_chunked: bool = False
) -> bytes:
    """The head of an answer, whose lines about its length and about the end of the connection are `length` and `ends`."""
    line = _LINES.get(status) or b"HTTP/1.1 %d Unknown\r\n" % status
    parts = [b"%bcontent-type: %b\r\n%b" % (line, kind, length)]
    for named in more:
        parts.append(b"%b: %b\r\n" % named)
    if is_chunked:
        parts.append(b"transfer-encoding: chunked\r\n")
    parts.append(ends)
    return b"".join(parts)


def _size(body: Body) -> int:
    return len(body) if isinstance(body, bytes) else sum(map(len, body))


class Connection(asyncio.Protocol):
    """One connection: the requests that have arrived, and the request that is answered.

    Args:
        server: its server.
    """

    transport: asyncio.Transport

    def __init__(self, server: HttpServer) -> None:
        self._server, self._site = server, server.site
        self.reader = RequestReader(server.site, self)
        self._waiting: deque[tuple[RequestHead, Body] | _Refusal] = deque()
        self._waiting_bytes = 0
        self._held = self._held_now = 0
        """Bytes of large bodies that are counted: of all its requests, and of the request that is answered."""
        self._unsent: memoryview | None = None
        """The rest of a large answer."""
        self._request: RequestHead | None = None
        """The request that is answered now."""
        self._pending: PendingAnswer | None = None
        self._task: asyncio.Task[Any] | None = None
        self._endless: anyio.CancelScope | None = None
        """Sends the parts of an answer that has no end of its own."""
        self._rests = self._ends = self._is_in_turn = False
        self._takes_more = asyncio.Event()
        """Set when the client takes parts of an answer again."""
        self.is_full = self.is_paused = False
        """Whether the client takes no answers, and whether no more requests are read from it."""
        self._since = 0.0

    # ---- of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._since = self._server.now()
        self._server.joined(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.reader.end()
        self._server.left(self)
        self._site.give(self._held)
        self._held = self._held_now = 0
        self._unsent = None
        self._server.has_lost.set()
        self._waiting.clear()
        if self._pending is not None:
            self._pending.give_up()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        reader = self.reader
        begun = reader.begun
        reader.feed(data)
        if reader.begun != begun and not self.is_full:
            self._since = self._server.now()

    def pause_writing(self) -> None:
        self.is_full = True
        self._since = self._server.now()

    def resume_writing(self) -> None:
        self.is_full = False
        self._takes_more.set()
        self._since = self._server.now()
        if self._unsent is None or self._sent_all():
            self._next()

    # ---- of the reader

    def take(self, head: RequestHead, body: Body) -> None:
        self._server.idle.pop(self, None)
        if self._request is None and not self._waiting and not self._rests and not self.is_full:
            self._begin(head, body)
            return
        self._waiting.append((head, body))
        self._waiting_bytes += _size(body)
        self._read_or_pause()

    def hold(self, size: int) -> None:
        self._server.idle.pop(self, None)
        self._site.take(size)
        self._held += size

    def refuse(self, method: str, answer: Answer) -> None:
        self._waiting.append(_Refusal(method, answer))
        self._next()

    def expect(self) -> None:
        self._next()

    # ---- answers

    def _next(self) -> None:
        """Answers the next request, when the former request is answered and its answer is on the way."""
        if self._request is not None or self._rests or self.is_full or self._unsent or self.transport.is_closing():
            return
        if not self._waiting:
            if self.reader.expects:
                self.reader.expects = False
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        item = self._waiting.popleft()
        if isinstance(item, _Refusal):
            self._write(item.method, item.answer, _CLOSES)
            return
        self._waiting_bytes -= _size(item[1])
        if self.is_paused:
            self._read_or_pause()
        self._begin(*item)

    def _begin(self, head: RequestHead, body: Body) -> None:
        """Begins to answer a request."""
        if self.transport.is_closing():
            return
        self._request, self._held_now = head, max(0, _size(body) - SMALL)
        if head.shortcut is not None:
            self._is_in_turn = True
            pending = self._site.begin(head.shortcut, body, self._answered)
            self._is_in_turn = False
            if pending is not None:
                if self._request is not None:
                    self._pending = pending
                return
        self._task = self._server.tasks.start(self._respond(head, body))
        if self._task is None:
            self.transport.close()

    def _read_or_pause(self) -> None:
        """Reads on unless much waits."""
        pauses = len(self._waiting) > _MOST_WAITING or self._waiting_bytes > _MOST_WAITING_BYTES
        if pauses != self.is_paused and not self.transport.is_closing():
            self.is_paused = pauses
            (self.transport.pause_reading if pauses else self.transport.resume_reading)()

    async def _respond(self, head: RequestHead, body: Body) -> None:
        answer = await self._site.respond(head.request, body)
        if isinstance(answer, Streamed):
            await self._stream(head, answer)
            return
        self._task = None
        self._answered(answer)

    async def _stream(self, head: RequestHead, answer: Streamed) -> None:
        """Sends an answer in parts as they come. One part waits in memory at most, while the client takes none."""
        is_chunked = head.takes_chunks
        keeps = head.keeps and not self._server.is_ending and is_chunked
        has_parts = head.request.method != "HEAD"
        scope = anyio.CancelScope()
        if answer.is_endless:
            self._endless = scope
        try:
            ends = _GOES_ON if keeps else _CLOSES
            self.transport.write(_head(answer.status, answer.kind, b"", answer.more, ends, is_chunked))
            with scope:
                if has_parts and not (answer.is_endless and self._server.is_ending):
                    await self._send_parts(answer.parts, is_chunked)
        except Exception as error:
            _LOG.error("an answer in parts failed", path=head.request.path[:200], exc_info=error)
            self.transport.abort()
            return
        finally:
            with anyio.CancelScope(shield=True):
                await answer.parts.aclose()
        self._task = self._endless = None
        self._request = None
        self._site.give(self._held_now)
        self._held, self._held_now = self._held - self._held_now, 0
        if is_chunked and has_parts:
            self.transport.write(b"0\r\n\r\n")
        self._since = self._server.now()
        if not keeps or self._server.is_ending:
            self._end()
        self._wait()
        self._next()

    async def _send_parts(self, parts: AsyncGenerator[bytes, None], is_chunked: bool) -> None:
        async for part in parts:
            while self.is_full:
                self._takes_more.clear()
                await self._takes_more.wait()
            if not part:  # an empty chunk would end the answer
                continue
            self._since = self._server.now()
            self.transport.write(b"%x\r\n%b\r\n" % (len(part), part) if is_chunked else part)

    def _answered(self, answer: Answer) -> None:
        """The answer to the request is there."""
        request, self._request = self._request, None
        assert request is not None
        self._site.give(self._held_now)
        self._held, self._held_now = self._held - self._held_now, 0
        at_once, self._pending = self._is_in_turn, None
        self._rests = at_once  # others of the loop have their turn
        keeps = request.keeps and not self._server.is_ending
        ends = (_GOES_ON if request.takes_chunks else _KEEPS) if keeps else _CLOSES
        self._write(request.request.method, answer, ends)
        if at_once:
            self._server.loop.call_soon(self._go_on)
        elif self._waiting or self.reader.expects:
            self._next()

    def _go_on(self) -> None:
        self._rests = False
        if self._server.is_ending and self.is_idle:
            self.transport.close()
        self._next()
        self._wait()

    def _write(self, method: str, answer: Answer, ends: bytes) -> None:
        if self.transport.is_closing():
            return
        keeps = ends is not _CLOSES
        status, kind, body, more = answer
        parts = [_head(status, kind, b"content-length: %d\r\n" % len(body), more, ends)]
        if method == "HEAD":
            body = b""
        self._since = self._server.now()
        if len(body) <= _PART:
            parts.append(body)
            self.transport.write(b"".join(parts))
        else:
            self.transport.write(b"".join(parts))
            self._unsent, self._ends = memoryview(body), not keeps
            self._sent_all()
            return
        if not keeps:
            self._end()
        self._wait()

    def _wait(self) -> None:
        """Counts as idle where nothing is to be done."""
        if self.is_idle and not self.reader.is_ended:
            self._server.idle[self] = None

    def _sent_all(self) -> bool:
        """Sends of a large answer what the client takes now. Whether that is all of it."""
        while self._unsent is not None and not self.is_full and not self.transport.is_closing():
            part, rest = self._unsent[:_PART], self._unsent[_PART:]
            self._unsent = rest or None
            self._since = self._server.now()
            self.transport.write(part)
        if self._unsent is None and self._ends:
            self._end()
        self._wait()
        return self._unsent is None

    def _end(self) -> None:
        """Ends the connection with what is written."""
        self._waiting.clear()
        lingers = self.reader.is_ended and not self._server.is_ending and self.transport.can_write_eof()
        self.reader.end()
        if lingers:  # a client that still sends would not see the answer after a close
            self.transport.write_eof()
            if self.is_paused:
                self.is_paused = False
                self.transport.resume_reading()
        else:
            self.transport.close()

    # ---- the end

    @property
    def is_idle(self) -> bool:
        """Whether no request waits, and none is answered."""
        return self._request is None and not self._rests and not self._waiting and self._unsent is None

    def end_when_idle(self) -> None:
        """Closes the connection unless a request is answered; that request is the last. An endless answer ends now."""
        if self.is_idle:
            self.transport.close()
        elif self._endless is not None:
            if self.is_full:  # its client does not take what is there
                self.transport.abort()
            self._endless.cancel()

    def leave(self) -> None:
        """In a forked child: closes the copy of its socket. The loop and the connection are the parent's, and hear nothing."""
        endpoint = getattr(self.transport.get_extra_info("socket"), "_sock", None)  # asyncio's own has no `close`
        if endpoint is not None:
            endpoint.close()

    def end_when_late(self, now: float) -> None:
        """Closes the connection where nothing has come for long, or an answer is not taken."""
        if self.is_full or self.is_idle and self.transport.get_write_buffer_size():
            limit = self._server.arrival_seconds
        elif not self.is_idle:
            return
        elif self.reader.is_ended:
            limit = _LINGERS
        else:
            limit = self._server.arrival_seconds if self.reader.arrives else self._server.idle_seconds
        if now - self._since > limit:
            self.transport.abort()
