"""The server of `actorflow serve` over real sockets: requests behind each other, in pieces, too large, given up, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any, cast

import anyio.lowlevel
import pytest
from patience import PATIENCE

pytest.importorskip("httptools")
from frontends.serving.served_http import ASK, CHUNKED, PREDICT, asked, left, read, running

from actorflow.engine.runtime.event_loops.step_result import StepResult


async def test_requests_behind_each_other_are_answered_in_order(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        bodies = [json.dumps({"instances": [[float(n), 0, 0]]}).encode() for n in range(30)]
        found = await at.say(b"".join(map(asked, bodies)), 30)
        assert [json.loads(body)["predictions"][0]["total"] for _, _, body in found] == [2.0 * n for n in range(30)]


async def test_a_request_may_come_byte_by_byte_or_in_chunks(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        for byte in asked():
            writer.write(bytes([byte]))
            await writer.drain()
        assert (await read(reader))[0] == 200
        writer.write(CHUNKED + b"5\r\n" + ASK[:5] + b"\r\n%x\r\n" % len(ASK[5:]) + ASK[5:] + b"\r\n0\r\n\r\n")
        assert (await read(reader))[0] == 200
        writer.write(asked(b"", "/health", method="HEAD"))
        assert (await read(reader, head_only=True))[:1] == (200,)
        writer.write(asked(b"", "http://127.0.0.1/v1/models/li%6ee?x=1", method="GET"))
        assert (await read(reader))[0] == 200
        await left(writer)


async def test_requests_are_the_same_however_their_bytes_are_cut(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        for number in range(150):
            body = json.dumps({"instances": [[float(10 + number % 90), rng.choice([1, 22, 333]), 0]]}).encode()
            kind = rng.randrange(8)
            if kind == 0:
                request = CHUNKED + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
            elif kind == 1:
                body = b'{"instances": [[0, 0, 0]]}'
                request = asked(b"", "/health", method="GET") + asked(body)
            elif kind == 2:
                request = asked(body, PREDICT, f"X-Number: {number}")
            else:
                request = asked(body)
            cuts = sorted(rng.sample(range(len(request)), rng.choice([0, 0, 1, 3])))
            for begin, end in itertools.pairwise([0, *cuts, len(request)]):
                writer.write(request[begin:end])
                await writer.drain()
                await anyio.lowlevel.checkpoint()
            if kind == 1:
                assert json.loads((await read(reader))[2]) == {"live": True}
            status, _, found = await read(reader)
            assert status == 200 and json.loads(found)["predictions"][0]["total"] == 2 * sum(
                json.loads(body)["instances"][0]
            )
        await left(writer)


async def test_a_head_that_is_known_is_not_parsed_again_and_binds_to_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        bodies = [b'{"instances": [[%d, 0, 0]]}' % number for number in (1, 2, 3)]
        for number, body in enumerate(bodies, 1):
            writer.write(asked(body))
            assert json.loads((await read(reader))[2])["predictions"][0]["total"] == 2 * number
        (connection,) = at.server.connections
        assert connection.reader.begun == 1 and connection.reader.known is not None
        longer = asked(b'{"instances": [[1, 0, 0]]}' + b" " * 8)
        writer.write(asked(bodies[0]) + longer)  # the known one, and another behind it
        assert [(await read(reader))[0] for _ in range(2)] == [200, 200]
        writer.write(asked(bodies[0], PREDICT, "Origin: http://attacker.example"))
        assert (await read(reader))[0] == 403
        await left(writer)


async def test_bad_requests_behind_each_other_leave_others_their_turn(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        other_reader, other = await at.open()
        writer.write(asked(b"{}") * 300)
        assert (await read(reader))[0] == 400
        other.write(asked())
        assert (await read(other_reader))[0] == 200
        assert [(await read(reader))[0] for _ in range(299)] == [400] * 299
        await left(writer)
        await left(other)


async def test_a_client_that_asks_first_is_told_to_go_on(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        request = asked(ASK, PREDICT, "Expect: 100-continue")
        writer.write(request[: -len(ASK)])
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(ASK)
        assert (await read(reader))[0] == 200
        await left(writer)


async def test_a_connection_ends_where_the_client_says_so(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        writer.write(asked(ASK, PREDICT, "Connection: close"))
        status, headers, _ = await read(reader)
        assert status == 200 and headers["connection"] == "close" and await reader.read() == b""
        await left(writer)


@pytest.mark.parametrize(
    ("data", "status", "error"),
    [
        (b"nonsense\r\n\r\n", 400, "no request of HTTP/1.1"),
        (b"CONNECT there:443 HTTP/1.1\r\nHost: there\r\n\r\n", 400, "No other protocol"),
        (b"GET /health HTTP/1.1\r\n\r\n", 400, "one header Host, not 0"),
        (b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "one header Host, not 2"),
        (asked(b"", "/health").replace(b"Length: 0", b"Length: 5"), 413, "5 bytes; 0 are the most"),
        (b"POST /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na", 413, "more than 0 bytes"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", 431, "more than 65536 bytes"),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "no request of HTTP/1.1"),
        (asked(b"", PREDICT).replace(b"Length: 0", b"Length: 2000"), 413, "2000 bytes; 1000 are the most"),
        (
            CHUNKED + b"7d0\r\n" + b" " * 2000,
            413,
            "more than 1000 bytes",
        ),
        (asked(ASK, PREDICT, "Origin: http://attacker.example"), 403, "Other sites may not use this server"),
    ],
)
async def test_a_request_that_is_refused_is_answered_and_read_no_further(
    tmp_path: Path, data: bytes, status: int, error: str
) -> None:
    async with running(tmp_path, max_body=1000) as at:
        reader, writer = await at.open()
        writer.write(data)
        found = await read(reader)
        assert found[0] == status and error in json.loads(found[2])["error"]
        assert found[1]["connection"] == "close" and await reader.read() == b""
        await left(writer)


async def test_trailers_are_counted_and_change_no_header(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        body = CHUNKED + b"%x\r\n" % len(ASK) + ASK + b"\r\n0\r\n"
        writer.write(body + b"Content-Encoding: gzip\r\nHost: other\r\n\r\n")
        assert (await read(reader))[0] == 200
        writer.write(body)
        with contextlib.suppress(ConnectionError):
            for _ in range(200):
                writer.write(b"x: " + b"a" * 10_000 + b"\r\n")
                await writer.drain()
        assert (await read(reader))[0] == 431
        await left(writer)


async def test_a_body_may_come_in_many_small_chunks(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        writer.write(CHUNKED)
        for _ in range(3):  # more bytes around the body's than a head may have
            writer.write(b"1\r\n \r\n" * 8000)
            await writer.drain()
        writer.write(b"%x\r\n" % len(ASK) + ASK + b"\r\n0\r\n\r\n")
        assert (await read(reader))[0] == 200
        await left(writer)


async def test_a_client_that_takes_no_answers_is_closed(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        _, writer = await at.open()
        cast(Any, writer.transport).pause_reading()
        while not any(connection.is_full for connection in at.server.connections):
            writer.write(asked(b"", "/metrics", method="GET") * 100)
            await anyio.lowlevel.checkpoint()
        at.server._sweep(asyncio.get_running_loop().time() + 65)
        with anyio.fail_after(PATIENCE):
            while at.server.connections:
                await anyio.lowlevel.checkpoint()
        writer.transport.abort()


async def test_bodies_that_wait_are_bounded(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        _, model = at.server.site.served["line"].find()
        gate, begun = anyio.Event(), anyio.Event()
        assert model._batcher is not None
        model._batcher._run = held(gate, begun, model._batcher._run)
        reader, writer = await at.open()
        writer.write(asked())
        await begun.wait()
        large = b" " * (2 << 20) + ASK
        for _ in range(4):
            writer.write(asked(large))
        (connection,) = at.server.connections
        with anyio.fail_after(PATIENCE):
            while not connection.is_paused:
                await anyio.lowlevel.checkpoint()
        assert len(connection._waiting) == 1
        gate.set()
        assert [(await read(reader))[0] for _ in range(5)] == [200] * 5
        await left(writer)


async def test_for_one_connection_more_than_there_may_be_the_longest_idle_one_is_closed(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        at.server.most_connections = 3
        silent, silent_writer = await at.open()
        begun, begun_writer = await at.open()
        begun_writer.write(asked()[:20])
        busy, busy_writer = await at.open()
        writers = [silent_writer, begun_writer, busy_writer]
        for closed in (silent, begun):  # in the order in which they came, also while a head arrives
            reader, writer = await at.open()
            writers.append(writer)
            writer.write(asked())
            assert (await read(reader))[0] == 200
            with contextlib.suppress(ConnectionResetError):
                assert await closed.read() == b""
        busy_writer.write(asked())
        assert (await read(busy))[0] == 200
        assert len(at.server.connections) == 3
        for writer in writers:
            await left(writer)


async def test_an_offer_of_another_protocol_is_not_taken(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        offer = "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"
        request = asked(ASK, PREDICT, *offer)
        assert [status for status, _, _ in await at.say(request + request + asked(), 3)] == [200, 200, 200]
        chunks = CHUNKED.replace(b"\r\n\r\n", "\r\n".join(("", *offer, "", "")).encode())
        assert (await at.say(chunks + b"%x\r\n" % len(ASK) + ASK + b"\r\n0\r\n\r\n"))[0][0] == 200


async def test_nothing_is_answered_behind_the_last_request(tmp_path: Path) -> None:
    failed: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        writer.write(asked(ASK, PREDICT, "Connection: close") + asked())
        assert (await read(reader))[0] == 200 and await reader.read() == b""
        await left(writer)
    assert not failed


async def test_a_refused_head_has_no_body(tmp_path: Path) -> None:
    async with running(tmp_path, token="0123456789abcdef") as at:
        reader, writer = await at.open()
        writer.write(asked(b"", "/v1/models/line", method="HEAD"))
        assert (await read(reader, head_only=True))[0] == 401 and await reader.read() == b""
        await left(writer)


async def test_a_client_that_asks_first_behind_another_request_is_told_after_its_answer(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        writer.write(asked() + asked(ASK, PREDICT, "Expect: 100-continue")[: -len(ASK)])
        with anyio.fail_after(PATIENCE):
            assert (await read(reader))[0] == 200
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(ASK)
            assert (await read(reader))[0] == 200
        await left(writer)


async def test_an_answer_to_a_late_refusal_may_be_read(tmp_path: Path) -> None:
    async with running(tmp_path, max_body=1000) as at:
        reader, writer = await at.open()
        writer.write(CHUNKED)
        while not any(connection.reader.in_body for connection in at.server.connections):
            await anyio.lowlevel.checkpoint()
        (connection,) = at.server.connections
        connection._since -= 50.0  # the request has been on its way for long
        writer.write(b"7d0\r\n" + b" " * 2000)
        while not connection.reader.is_ended:
            await anyio.lowlevel.checkpoint()
        at.server._sweep(asyncio.get_running_loop().time())
        assert not connection.transport.is_closing()
        assert (await read(reader))[0] == 413
        await left(writer)


async def test_a_client_that_leaves_gives_its_request_up(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        _, model = at.server.site.served["line"].find()
        gate, begun = anyio.Event(), anyio.Event()
        batcher = model._batcher
        assert batcher is not None
        run, batcher._run = batcher._run, held(gate, begun, batcher._run)
        _, writer = await at.open()
        writer.write(asked())
        await begun.wait()
        await left(writer)
        with anyio.fail_after(PATIENCE):
            await batcher.drain()
        assert not gate.is_set()
        batcher._run = run
        assert (await at.say(asked()))[0][0] == 200


def held(gate: anyio.Event, begun: anyio.Event, run: Any) -> Any:
    async def later(*arguments: Any) -> Any:
        begun.set()
        await gate.wait()
        return await run(*arguments)

    return lambda *arguments: StepResult.later(lambda: later(*arguments))


async def test_the_end_waits_for_what_is_answered_and_for_no_idle_connection(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        _, model = at.server.site.served["line"].find()
        gate, begun = anyio.Event(), anyio.Event()
        assert model._batcher is not None
        model._batcher._run = held(gate, begun, model._batcher._run)
        idle, idle_writer = await at.open()
        reader, writer = await at.open()
        writer.write(asked())
        await begun.wait()
        at.server.is_ending = True
        for connection in list(at.server.connections):
            connection.end_when_idle()
        assert await idle.read() == b""
        gate.set()
        status, headers, _ = await read(reader)
        assert status == 200 and headers["connection"] == "close"
        await left(idle_writer)
        await left(writer)


async def test_connections_on_which_nothing_comes_are_closed(tmp_path: Path) -> None:
    async with running(tmp_path) as at:
        quiet, quiet_writer = await at.open()
        slow, slow_writer = await at.open()
        slow_writer.write(asked()[:20])
        while sum(connection.reader.head_bytes > 0 for connection in at.server.connections) != 1:
            await anyio.lowlevel.checkpoint()
        now = asyncio.get_running_loop().time()
        at.server._sweep(now + 65)
        with contextlib.suppress(ConnectionResetError):
            assert await slow.read() == b""
        assert len(at.server.connections) == 1
        at.server._sweep(now + 80)
        with contextlib.suppress(ConnectionResetError):
            assert await quiet.read() == b""
        await left(quiet_writer)
        await left(slow_writer)


async def test_a_server_with_tls(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    names = {"-keyout": tmp_path / "key.pem", "-out": tmp_path / "cert.pem"}
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    extra = ["-addext", "subjectAltName=IP:127.0.0.1", *(str(part) for pair in names.items() for part in pair)]
    await anyio.to_thread.run_sync(
        lambda: subprocess.run([openssl, "req", *made, *extra], check=True, capture_output=True)
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    async with running(tmp_path / "models", tls, token="0123456789abcdef") as at:
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await at.say(asked())
        at.tls = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        assert (await at.say(asked()))[0][0] == 401
        assert (await at.say(asked(ASK, PREDICT, "Authorization: Bearer 0123456789abcdef")))[0][0] == 200
        at.tls = None
        silent, silent_writer = await at.open()
        while not at.server.handshakes:
            await anyio.lowlevel.checkpoint()
    with anyio.fail_after(PATIENCE), contextlib.suppress(ConnectionResetError):
        assert await silent.read() == b""
    await left(silent_writer)
