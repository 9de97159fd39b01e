"""Requests that no usual client sends: each has a single meaning, is refused, or is what ASGI's server makes of it."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

import anyio
import pytest
from channels import until
from frontends.http.sites import Echo, left, serving
from patience import PATIENCE

from actorflow.frontends.ext.asgi import Receive
from actorflow.frontends.http.answers import Answer, Body, HttpRequest, Streamed

GET, POST = b"GET /a HTTP/1.1\r\nHost: a\r\n", b"POST /a HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
OLD = b" HTTP/1.0\r\nHost: a\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
ONCE, TWICE = ["GET |/a? ", "GET |/last? "], ["POST |/a? hi", "GET |/last? "]

ANSWERED: dict[str, tuple[bytes, list[str]]] = {
    "HEAD": (b"HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n", ["", "GET |/last? "]),
    "HEAD of an answer in parts": (b"HEAD /parts HTTP/1.1\r\nHost: a\r\n\r\n", ["", "GET |/last? "]),
    "HEAD of an answer without an end": (b"HEAD /endless HTTP/1.1\r\nHost: a\r\n\r\n", ["", "GET |/last? "]),
    "a client that asks first": (POST + b"Expect: 100-Continue\r\nContent-Length: 2\r\n\r\nhi", ["", *TWICE]),
    "another expectation": (POST + b"Expect: 200-ok\r\nContent-Length: 2\r\n\r\nhi", TWICE),
    "extensions of chunks": (CHUNKED + b"2;a=b\r\nhi\r\n0;x\r\n\r\n", TWICE),
    "a trailer": (CHUNKED + b"2\r\nhi\r\n0\r\nA: b\r\n\r\n", TWICE),
    "a client's trailer with a host": (CHUNKED + b"2\r\nhi\r\n0\r\nA: b\r\nHost: evil\r\n\r\n", TWICE),
    "chunks in upper case": (POST + b"Transfer-Encoding: CHUNKED\r\n\r\n2\r\nhi\r\n0\r\n\r\n", TWICE),
    "empty lines before a request": (b"\r\n\r\n" + GET + b"\r\n", ONCE),
    "a fragment": (b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", ONCE),
    "a fragment behind a query": (b"GET /a?b#c HTTP/1.1\r\nHost: a\r\n\r\n", ["GET |/a?b ", "GET |/last? "]),
    "a host in the address": (b"GET http://b/a HTTP/1.1\r\nHost: a\r\n\r\n", ONCE),
    "an encoded path": (b"GET /%C3%BC%2F HTTP/1.1\r\nHost: a\r\n\r\n", ["GET |/ü/? ", "GET |/last? "]),
}
REFUSED: dict[str, tuple[bytes, int]] = {
    "a length and chunks": (POST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "chunks and a length": (POST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400),
    "two lengths": (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", 400),
    "a list of lengths": (POST + b"Content-Length: 2, 2\r\n\r\nhi", 400),
    "a length with a sign": (POST + b"Content-Length: +2\r\n\r\nhi", 400),
    "a length of no number": (POST + b"Content-Length: 0x2\r\n\r\nhi", 400),
    "a space behind a name": (POST + b"Content-Length : 2\r\n\r\nhi", 400),
    "a body behind its length": (POST + b"Content-Length: 2000\r\n\r\n", 413),
    "a large body of a client that asks first": (POST + b"Expect: 100-continue\r\nContent-Length: 2000\r\n\r\n", 413),
    "an unknown transfer encoding": (POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    "chunks in chunks": (POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    "chunks of HTTP/1.0": (
        b"POST /a" + OLD + b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "a chunk without a size": (CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n", 400),
    "a chunk of no size": (CHUNKED + b"-2\r\nhi\r\n0\r\n\r\n", 400),
    "a chunk that is longer": (CHUNKED + b"2\r\nhiho\r\n0\r\n\r\n", 400),
    "a chunk of many bytes": (CHUNKED + b"FFFFFFFF\r\n" + b"x" * 2000, 413),
    "a trailer with a length": (CHUNKED + b"2\r\nhi\r\n0\r\nContent-Length: 5\r\n\r\n", 400),
    "lines of LF": (b"GET /a HTTP/1.1\nHost: a\n\n", 400),
    "a header of two lines": (GET + b"X: a\r\n b\r\n\r\n", 400),
    "NUL in a header": (GET + b"X: a\0b\r\n\r\n", 400),
    "no colon": (GET + b"X\r\n\r\n", 400),
    "two hosts": (GET + b"Host: b\r\n\r\n", 400),
    "two hosts and another protocol": (GET + b"Host: b\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n", 400),
    "an address without a host": (b"GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "an address with half a host": (b"GET http://[b/a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "an address with a name of a user": (b"GET http://a@b/a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "an address of another scheme": (b"GET ftp://b/a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    "a head of one header many times": (GET + b"X: y\r\n" * 20_000 + b"\r\n", 431),
    "a head of many headers": (GET + b"".join([b"X%d: y\r\n" % number for number in range(20_000)]) + b"\r\n", 431),
    "a preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "a greeting of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), 400),
}


def parsed(data: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    """Answers, as a client reads them that has asked with HEAD where a path says so."""
    answers: list[tuple[int, dict[str, str], bytes]] = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        size = int(headers.get("content-length", "0"))
        body = b"" if data.startswith(b"HTTP/1.1") else data[:size]
        answers.append((int(first.split()[1]), headers, body))
        data = data[len(body) :]
    return answers


@pytest.mark.parametrize("name", ANSWERED)
@pytest.mark.parametrize("cut", [None, 1, 7])
async def test_it_is_answered_and_so_is_the_next(name: str, cut: int | None) -> None:
    request, bodies = ANSWERED[name]
    request += LAST
    parts = [request] if cut is None else [request[at : at + cut] for at in range(0, len(request), cut)]
    async with serving() as at:
        answers = parsed(await at.say(*parts))
        assert [body.decode() for _, _, body in answers] == bodies
        assert {status for status, _, _ in answers} <= {100, 200} and not at.site.streams


@pytest.mark.parametrize("name", REFUSED)
async def test_it_is_refused_and_nothing_behind_it_is_read(name: str) -> None:
    request, status = REFUSED[name]
    async with serving() as at:
        for parts in ([request + LAST], [GET + b"\r\n", request + LAST]):
            answers = parsed(await at.say(*parts))
            assert [code for code, _, _ in answers] == [200] * (len(parts) - 1) + [status], f"{len(parts)} parts"
            assert answers[-1][1]["connection"] == "close"
        assert at.site.asked == ["/a"]


@pytest.mark.parametrize("path", ["/a", "/parts"])
@pytest.mark.parametrize("keeps", [True, False])
async def test_a_client_of_http_1_0_is_told_whether_the_connection_goes_on(path: str, keeps: bool) -> None:
    head = b"GET %b HTTP/1.0\r\nHost: a\r\n" % path.encode() + b"Connection: keep-alive\r\n" * keeps + b"\r\n"
    async with serving() as at:
        data = await at.say(head, LAST)
    goes_on = keeps and path == "/a"
    assert (b"connection: keep-alive" in data) == goes_on and data.count(b"HTTP/1.1 200") == 1 + goes_on
    assert b"transfer-encoding" not in data


UPGRADE = b"Connection: upgrade\r\nUpgrade: h2c\r\n"
LAST_ONES: dict[str, bytes] = {
    "one header": b"Connection: close\r\n",
    "upper case": b"Connection: CLOSE\r\n",
    "behind another option": b"Connection: x, close\r\n",
    "before another option": b"Connection: close ,\tx\r\n",
    "beside keep-alive": b"Connection: close, keep-alive\r\n",
    "behind keep-alive": b"Connection: keep-alive, close\r\n",
    "two headers": b"Connection: close\r\nConnection: x\r\n",
    "two headers, the other first": b"Connection: keep-alive\r\nConnection: close\r\n",
    "two headers, keep-alive behind": b"Connection: close\r\nConnection: keep-alive\r\n",
    "an offer of another protocol": b"Connection: close, upgrade\r\nUpgrade: h2c\r\n",
    "before an offer of another protocol": b"Connection: close\r\n" + UPGRADE,
    "behind an offer of another protocol": UPGRADE + b"Connection: close\r\n",
    "around an offer of another protocol": b"Connection: close\r\n" + UPGRADE + b"Connection: x\r\n",
}
NOT_LAST: dict[str, bytes] = {
    "keep-alive": b"Connection: keep-alive\r\n",
    "an option that begins so": b"Connection: keep-alive, closed\r\n",
    "an option that ends so": b"Connection: not-close, keep-alive\r\n",
    "another header": b"Connection: keep-alive\r\nX: close\r\n",
    "an offer of another protocol": b"Connection: keep-alive\r\n" + UPGRADE,
}


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("name", LAST_ONES)
async def test_a_request_is_the_last_if_any_option_says_so(name: str, version: bytes) -> None:
    head = b"GET /a HTTP/" + version + b"\r\nHost: a\r\n" + LAST_ONES[name] + b"\r\n"
    async with serving() as at:
        for parts in ([head + GET + b"\r\n" + LAST], [head, LAST]):
            answers = parsed(await at.say(*parts))
            assert [(code, headers["connection"]) for code, headers, _ in answers] == [(200, "close")]


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("name", NOT_LAST)
async def test_a_request_is_not_the_last_for_what_only_looks_like_that(name: str, version: bytes) -> None:
    head = b"GET /a HTTP/" + version + b"\r\nHost: a\r\n" + NOT_LAST[name] + b"\r\n"
    async with serving() as at:
        assert [body for _, _, body in parsed(await at.say(head + LAST))] == [text.encode() for text in ONCE]


class Seen(Echo):
    """Keeps the headers that it gets."""

    async def respond(self, request: HttpRequest, body: Body | Receive) -> Answer | Streamed:
        self.headers = dict(request.headers)
        return await super().respond(request, body)


SEVERAL = {
    "connection": (b"x", b"close", b"x, close"),
    "cookie": (b"a=1", b"b=2", b"a=1; b=2"),
    "accept-encoding": (b"gzip", b"br", b"br"),
}


@pytest.mark.parametrize("name", SEVERAL)
async def test_a_header_that_may_come_twice_counts_with_both_values(name: str) -> None:
    first, second, whole = SEVERAL[name]
    site = Seen()
    lines = b"".join(b"%b: %b\r\n" % (name.title().encode(), value) for value in (first, second))
    async with serving(site) as at:
        for more in (b"", UPGRADE):
            whole_now = whole + b", upgrade" if more and name == "connection" else whole
            await at.say(GET + lines + more + (b"" if name == "connection" else b"Connection: close\r\n") + b"\r\n")
            assert site.headers[name.encode()] == whole_now

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        pass

    headers = [(b"host", b"a"), (name.encode(), first), (name.encode(), second)]
    async with site:
        await site({"type": "http", "method": "GET", "path": "/", "headers": headers}, receive, send)
    assert site.headers[name.encode()] == whole


async def test_a_client_of_http_1_0_is_not_told_to_go_on() -> None:
    async with serving() as at:
        data = await at.say(b"POST /a" + OLD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
    assert data.startswith(b"HTTP/1.1 200") and data.endswith(b"hi")


@pytest.mark.parametrize("request_", [GET + b"X", POST + b"Content-Length: 20\r\n\r\nhi", CHUNKED + b"5\r\nhi"])
async def test_a_request_that_ends_too_soon_is_not_answered(request_: bytes) -> None:
    async with serving() as at:
        assert await at.say(request_, ends=True) == b"" and not at.site.asked


async def test_a_client_that_leaves_an_answer_in_parts_ends_it() -> None:
    async with serving() as at:
        reader, writer = await at.open()
        writer.write(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
        with anyio.fail_after(PATIENCE):
            await reader.readuntil(b"part 2\n")
        await left(writer)
        await until(lambda: not at.site.streams and not at.server.connections)


async def test_connections_at_the_limit_are_served_whichever_are_open() -> None:
    async with serving(most_connections=4) as at:
        streams = []
        for _ in range(3):
            reader, writer = await at.open()
            writer.write(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
            with anyio.fail_after(PATIENCE):
                await reader.readuntil(b"part 2\n")
            streams.append(writer)
        for _ in range(8):  # each takes the place of that before, which says nothing
            _, writer = await at.open()
            streams.append(writer)
            await until(lambda: len(at.server.connections) == 4)
        assert parsed(await at.say(LAST))[0][2] == b"GET |/last? " and at.site.streams == 3
        for writer in streams:
            await left(writer)
        await until(lambda: not at.server.connections)


# ---- the same site behind uvicorn


@contextlib.asynccontextmanager
async def mounted(site: Echo) -> Any:
    """The port of a site that uvicorn serves."""
    import socket

    uvicorn = pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(site, http="httptools", lifespan="off", log_config=None))
        server.capture_signals = contextlib.nullcontext
        task = asyncio.create_task(server.serve([listening]))
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await task


@pytest.mark.parametrize("name", [name for name in ANSWERED if not name.startswith("a client")])
async def test_uvicorn_makes_the_same_of_it(name: str) -> None:
    # It tells clients to go on when the body is read, and has trailers among the headers.
    site = Echo()
    async with mounted(site) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ANSWERED[name][0] + LAST)
        with anyio.fail_after(PATIENCE):
            data = await reader.read()
        await left(writer)
    assert [body.decode() for _, _, body in parsed(data)] == ANSWERED[name][1] and not site.streams


@pytest.mark.parametrize("name", ["host", "authorization", "origin", "content-encoding"])
async def test_a_header_is_there_once_behind_a_server_of_asgi_too(name: str) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    double = [(name.encode(), value) for value in (b"a", b"b")]
    headers = [*double, *([] if name == "host" else [(b"host", b"a")])]
    async with Echo() as site:
        await site({"type": "http", "method": "GET", "path": "/", "headers": headers}, receive, send)
    assert sent[0]["status"] == 400 and re.search(name.encode(), sent[1]["body"]) and not site.asked
