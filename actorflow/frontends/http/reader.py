"""`RequestReader`: the bytes of a connection become requests. It does no I/O.

The parser is llhttp, by the package `httptools`. A client sends the same head with each request, as a rule. Bytes that begin with
the head of the request before, at the place where a request begins, need not be parsed again: the parser would find what it has
found then.
"""

from __future__ import annotations

import importlib
import urllib.parse
from typing import Any, NamedTuple, Protocol

from actorflow.errors import Overloaded
from actorflow.frontends.http.answers import SMALL, Answer, Body, HttpRequest, TooLargeError, add_header, refused
from actorflow.frontends.http.site import Site

_MOST_HEAD = 64 << 10
_LONG_HEAD = f"The head of a request has more than {_MOST_HEAD} bytes."
_FREE_CHUNKS, _LEAST_CHUNK = 1 << 15, 64
"""Parts of a body that may be small, and the bytes that all of them have in the mean beyond that number."""
_MOST_KNOWN = 4 << 10
"""Bytes of a head that is remembered."""


class RequestHead(NamedTuple):
    """All of a request but its body.

    request: its method, path, headers and query.
    keeps: whether the connection goes on after the answer.
    shortcut: its meaning, if the site answers it without a task.
    takes_chunks: whether its client knows a body that comes in chunks.
    """

    request: HttpRequest
    keeps: bool
    shortcut: Any
    takes_chunks: bool = True


class RequestListener(Protocol):
    """The connection that a reader reads for."""

    def take(self, head: RequestHead, body: Body) -> None:
        """A request is there: its body, or the parts of a large body."""

    def hold(self, size: int) -> None:
        """Bytes of a large body are there, or gone. Raises Overloaded for too many bytes."""

    def refuse(self, method: str, answer: Answer) -> None:
        """A request is refused, and nothing behind it will be read."""

    def expect(self) -> None:
        """A client asks whether it may send the body of a request."""


class RequestReader:
    """Reads requests.

    Args:
        site: says which requests are refused by their heads, and how large bodies may be.
        listener: is told of what is found, in order.
    """

    def __init__(self, site: Site, listener: RequestListener) -> None:
        httptools: Any = importlib.import_module("httptools")
        self._new_parser, self._upgrade = httptools.HttpRequestParser, httptools.HttpParserUpgrade
        self._site, self._listener = site, listener
        self._parser = self._new_parser(self)
        self.is_ended = False
        """Whether nothing is read any more."""
        self.arrives = False
        """Whether a request has begun to arrive, and is not there in full."""
        self.expects = False
        """Whether the client waits to be told to send the body."""
        self.begun = 0
        """How many requests were parsed."""
        self.known: tuple[bytes, int, RequestHead] | None = None
        """The head of a request before, the size of that with its body, and what it says."""
        self.head_bytes = 0
        """How many bytes have come since the last byte of a body."""
        self.in_body = False
        self._last: tuple[RequestHead, bytes] | None = None
        self._start()

    def _start(self) -> None:
        """Begins a request."""
        self._url, self._headers, self._parts, self._size = b"", {}, [], 0  # type: ignore[var-annotated]
        self._method, self._path, self._query, self._hosts = "GET", "/", b"", 0
        self._double, self._chunks, self._trailers, self._held = "", 0, 0, 0
        self._head_size = 0
        self.in_body = self.expects = False

    def feed(self, data: bytes) -> None:
        """Takes bytes as they came."""
        if self.is_ended:
            return
        form = self.known
        if form is not None and not self.arrives and len(data) == form[1] and data.startswith(form[0]):
            self._listener.take(form[2], data[len(form[0]) :])
            return
        fresh, before = not self.arrives, self.begun
        self._parse(data)
        last, self._last = self._last, None
        if fresh and not self.arrives and last is not None and self.begun == before + 1:
            self._remember(data, *last)

    def _remember(self, data: bytes, head: RequestHead, body: bytes) -> None:
        """Remembers the head of a request that came in these bytes, if it alone says where the body ends.

        The bytes of a large body are counted as the parser finds them, so the head of such a body is not remembered.
        """
        at, headers = len(data) - len(body), head.request.headers
        if (
            at <= _MOST_KNOWN
            and len(body) <= SMALL
            and head.keeps
            and b"content-length" in headers
            and headers.keys().isdisjoint((b"transfer-encoding", b"expect", b"upgrade"))
            and data.find(b"\r\n\r\n") + 4 == at
        ):
            self.known = data[:at], len(data), head

    def _parse(self, data: bytes) -> None:
        self.head_bytes += len(data)
        while data:
            try:
                self._parser.feed_data(data)
                break
            except self._upgrade as stop:
                if self.is_ended:
                    return
                data = self._head_again() + data[stop.args[0] :]
            except Exception:
                self._refuse(400, "This is no request of HTTP/1.1 that is known here.")
                return
        if self.head_bytes > _MOST_HEAD:  # of trailers too
            self._refuse(431, _LONG_HEAD)

    def _head_again(self) -> bytes:
        """The head of a request without its offer of another protocol, with which the parser would skip the body."""
        version = self._parser.get_http_version().encode()
        head = b"%s %s HTTP/%s\r\n" % (self._method.encode(), self._url, version)
        kept = [b"%s: %s\r\n" % pair for pair in self._headers.items() if pair[0] != b"upgrade"]
        self._parser = self._new_parser(self)
        return b"".join((head, *kept, b"\r\n"))

    # ---- of the parser

    def on_message_begin(self) -> None:
        self.arrives = True
        self.begun += 1
        self._start()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.in_body:  # a trailer may not change what has been checked
            self._trailers += len(name) + len(value)
            if self._trailers > _MOST_HEAD:
                self._refuse(431, _LONG_HEAD)
            return
        name = name.lower()
        self._head_size += len(name) + len(value) + len(": \r\n")
        self._hosts += name == b"host"
        if add_header(self._headers, name, value):
            self._double = name.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.in_body, self.head_bytes = True, 0
        if self.is_ended:
            return
        headers = self._headers
        self._method = self._parser.get_method().decode("latin-1")
        target, _, self._query = self._url.partition(b"#")[0].partition(b"?")
        path = self._path_of(target.decode("latin-1"))
        self._path = urllib.parse.unquote(path) if "%" in path else path
        version = self._parser.get_http_version()
        if self._method == "CONNECT":
            self._refuse(400, "No other protocol than HTTP/1.1 is known here.")
        elif self._head_size + len(self._url) > _MOST_HEAD:
            self._refuse(431, _LONG_HEAD)
        elif version not in ("1.0", "1.1"):
            self._refuse(505, "HTTP/1.1 and HTTP/1.0 are known here.")
        elif not path:
            self._refuse(400, "What a request asks for is a path, or an address with a host.")
        elif version == "1.0" and b"transfer-encoding" in headers:
            self._refuse(400, "HTTP/1.0 knows no transfer encodings.")
        elif headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
            self._refuse(501, "Of transfer encodings chunked alone is known here.")
        elif self._hosts != 1 and (self._hosts or version != "1.0"):
            self._refuse(400, f"A request has one header Host, not {self._hosts}.")
        elif self._double:
            self._refuse(400, f"A request has a single header {self._double}.")
        elif self._parser.should_upgrade():
            return  # it comes again without
        elif (refusal := self._site.refusal(self._asked())) is not None:
            self._give_up(refusal)  # before the body is read
        elif version != "1.0" and headers.get(b"expect", b"").lower() == b"100-continue":
            self.expects = True
            self._listener.expect()

    def _path_of(self, target: str) -> str:
        """The path of what a request asks for; "" for what is no path. A host in it counts, whatever the header says."""
        if target.startswith("/") or target == "*":
            return target
        try:
            whole = urllib.parse.urlsplit(target)
        except ValueError:
            return ""
        if whole.scheme not in ("http", "https") or not whole.netloc or "@" in whole.netloc:
            return ""
        self._headers[b"host"] = whole.netloc.encode("latin-1")
        return whole.path or "/"

    def on_body(self, body: bytes) -> None:
        self.head_bytes, self.expects = 0, False
        if self.is_ended:
            return
        before = self._size
        self._size += len(body)
        self._chunks += 1
        if self._size > (most := self._site.most_body(self._path)):
            error = TooLargeError(f"The body has more than {most} bytes.")
            self._give_up(self._site.failure(self._path, error))
        elif self._chunks > _FREE_CHUNKS + self._size // _LEAST_CHUNK:
            self._refuse(400, f"The body comes in more than {_FREE_CHUNKS} chunks, which have few bytes each.")
        else:
            if self._size > SMALL:
                more = self._size - max(before, SMALL)
                try:
                    self._listener.hold(more)
                    self._held += more
                except Overloaded as overload:
                    self._give_up(self._site.failure(self._path, overload))
                    return
            self._parts.append(body)

    def on_message_complete(self) -> None:
        if self.is_ended or self._parser.should_upgrade():
            return
        self.in_body = self.arrives = self.expects = False
        self.head_bytes = 0
        parts, self._parts, self._held = self._parts, [], 0
        body = parts if self._size > SMALL and len(parts) > 1 else b"".join(parts)
        keeps = self._parser.should_keep_alive() and not self._closes()
        self.is_ended = not keeps  # what comes behind it is not read
        request = self._asked()
        head = RequestHead(request, keeps, self._site.shortcut(request), self._parser.get_http_version() != "1.0")
        self._last = (head, body) if isinstance(body, bytes) else None
        self._listener.take(head, body)

    def _closes(self) -> bool:
        """Whether the client says that its request is the last. That counts, whatever else it says."""
        options = self._headers.get(b"connection", b"").lower()
        return b"close" in options and b"close" in (option.strip(b" \t") for option in options.split(b","))

    def _asked(self) -> HttpRequest:
        return HttpRequest(self._method, self._path, self._headers, self._query)

    # ---- the end

    def end(self) -> None:
        """Reads no more."""
        self.is_ended, self.expects = True, False

    def _give_up(self, answer: Answer) -> None:
        """Reads no more; the answer follows those to the requests before."""
        self.end()
        self._parts = []
        if self._held:
            self._listener.hold(-self._held)
        self._listener.refuse(self._method, answer)

    def _refuse(self, status: int, text: str) -> None:
        if not self.is_ended:
            self._give_up(refused(status, text))
