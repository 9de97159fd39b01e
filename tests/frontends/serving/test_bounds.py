"""One client can't stop the others: bounds on bodies, on all of them together, on connections; and requests that are refused."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import struct
import time
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from frontends.serving.served import Client, application, write_line, write_words
from patience import PATIENCE

import actorflow as af

pytest.importorskip("httptools")
from frontends.serving.served_http import ASK, CHUNKED, PREDICT, asked, left, read, running

from actorflow.frontends.http.answers import SMALL, Body
from actorflow.frontends.http.reader import RequestHead, RequestReader

TEXTS = "/v1/models/words:predict"
LARGE = json.dumps({"instances": np.ones((20_000, 3)).tolist()}).encode()


@pytest.fixture
async def client(tmp_path: Path) -> Any:
    write_line(tmp_path / "line" / "1", 2)
    write_words(tmp_path / "words" / "1")
    async with application(tmp_path, max_elements=200_000) as app:
        yield Client(app)


# ---- large bodies


async def test_large_bodies_have_the_answers_of_small_ones(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).random((20_000, 3)).astype(np.float32)
    entry = {"name": "x", "shape": list(rows.shape), "datatype": "FP32"}
    plain = {"inputs": [{**entry, "data": rows.tolist()}], "outputs": [{"name": "total"}]}
    async with running(tmp_path) as at:
        bodies = [
            asked(json.dumps({"instances": rows.tolist()}).encode()),
            asked(gzip.compress(json.dumps({"inputs": rows.tolist()}).encode()), PREDICT, "Content-Encoding: gzip"),
            asked(json.dumps(plain).encode(), "/v2/models/line/infer"),
        ]
        replies = await at.say(b"".join([*bodies, asked()]), 4)
        assert [status for status, _, _ in replies] == [200] * 4
        by_rows, by_columns, tensors = (json.loads(body) for _, _, body in replies[:3])
        for totals in (
            [row["total"] for row in by_rows["predictions"]],
            by_columns["outputs"]["total"],
            tensors["outputs"][0]["data"],
        ):
            np.testing.assert_allclose(totals, 2 * rows.sum(1), rtol=1e-6)
        assert not at.server.site.large.held


async def test_a_large_answer_to_a_small_request_is_whole(tmp_path: Path) -> None:
    import actorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        count = tf.placeholder(tf.int32, [], name="count")
        tf.saved_model.simple_save(session, str(tmp_path / "range" / "1"), {"count": count}, {"y": tf.range(count)})
    async with running(tmp_path) as at:
        replies = await at.say(asked(b'{"inputs":300000}', "/v1/models/range:predict") + asked(), 2)
        assert json.loads(replies[0][2]) == {"outputs": list(range(300_000))} and replies[1][0] == 200


BODIES: dict[str, tuple[str, bytes, int]] = {
    "empty lists": (PREDICT, b'{"instances":[%b]}' % (b"[]," * 90_000 + b"[]"), 400),
    "more elements than there may be": (PREDICT, b'{"instances":[%b1]}' % (b"1," * 300_000), 413),
    "more texts than there may be": (TEXTS, b'{"instances":[%b""]}' % (b'"",' * 300_000), 413),
    "texts for numbers": (PREDICT, b'{"instances":[%b"a"]}' % (b'"a",' * 40_000), 400),
    "numbers for texts": (TEXTS, b'{"instances":[%b1]}' % (b"1," * 90_000), 400),
    "rows of different sizes": (PREDICT, b'{"instances":[%b[1]]}' % (b"[1,2,3]," * 20_000), 400),
    "a null": (PREDICT, b'{"instances":[%b[1,null,3]]}' % (b"[1,2,3]," * 20_000), 400),
    "a row of another form": (PREDICT, b'{"instances":[%b{"x":[1,2,3]}]}' % (b"[1,2,3]," * 20_000), 400),
    "digits": (PREDICT, b'{"instances":[%b]}' % (b"1" * 200_000), 400),
    "nested": (PREDICT, b"[" * 200_000, 400),
}


@pytest.mark.parametrize("name", BODIES)
async def test_large_bodies_that_do_not_fit_are_refused(client: Client, name: str) -> None:
    path, body, status = BODIES[name]
    assert (await client.call("POST", path, body))[0] == status
    assert (await client.call("POST", PREDICT, ASK))[0] == 200


async def test_many_bytes_elements_are_refused_before_they_are_read(client: Client) -> None:
    raw = struct.pack("<I", 0) * 300_000
    entry = {"name": "text", "shape": [300_000], "datatype": "BYTES", "parameters": {"binary_data_size": len(raw)}}
    head = json.dumps({"inputs": [entry]}).encode()
    sizes = {"inference-header-content-length": str(len(head))}
    assert (await client.call("POST", "/v2/models/words/infer", head + raw, sizes))[0] == 413


@pytest.mark.parametrize("body", [LARGE, gzip.compress(LARGE)], ids=["plain", "packed"])
async def test_the_deadline_covers_the_reading_of_a_body(client: Client, body: bytes) -> None:
    headers = {"x-request-timeout": "0.000001", "content-encoding": "gzip" if body != LARGE else "identity"}
    assert (await client.call("POST", PREDICT, body, headers))[0] == 504


async def test_others_are_answered_while_a_large_body_is_read(tmp_path: Path) -> None:
    body = b'{"instances":[%b[1,2,3]]}' % (b"[1,2,3]," * 600_000)
    async with running(tmp_path) as at:
        answered = asyncio.Event()
        waits: list[float] = []

        async def large() -> None:
            assert (await at.say(asked(body)))[0][0] == 200
            answered.set()

        async with anyio.create_task_group() as group:
            group.start_soon(large)
            reader, writer = await at.open()
            while not answered.is_set():
                begun = time.perf_counter()
                writer.write(asked())
                assert (await read(reader))[0] == 200
                waits.append(time.perf_counter() - begun)
            await left(writer)
        assert len(waits) > 20, "the others waited for the large body"


# ---- all bodies together


async def test_all_bodies_together_are_bounded_and_small_ones_pass(tmp_path: Path) -> None:
    async with running(tmp_path, max_bodies=1 << 20) as at:
        held = at.server.site.large
        _, first = await at.open()
        first.write(asked(b" " * (1 << 20))[:-200_000])
        await first.drain()
        with anyio.fail_after(PATIENCE):
            while held.held < 500_000:  # noqa: ASYNC110
                await anyio.sleep(0.005)
        status, headers, _ = (await at.say(asked(b" " * 900_000)))[0]
        assert status == 429 and int(headers["retry-after"]) >= 1
        assert (await at.say(asked()))[0][0] == 200
        await left(first)
        with anyio.fail_after(PATIENCE):
            while held.held:  # noqa: ASYNC110
                await anyio.sleep(0.005)
        assert (await at.say(asked(LARGE)))[0][0] == 200
        assert not held.held


async def test_an_application_of_asgi_bounds_them_too(tmp_path: Path) -> None:
    write_line(tmp_path / "line" / "1", 2)
    async with application(tmp_path, max_bodies=200_000) as app:
        client = Client(app)
        assert (await client.call("POST", PREDICT, LARGE))[0] == 429
        assert (await client.call("POST", PREDICT, ASK))[0] == 200
        assert not app.large.held


SIZES = [0, 1, SMALL - 1, SMALL, SMALL + 1, 3 * SMALL]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", ["a length", "chunks"])
async def test_equal_requests_of_one_connection_are_counted_alike(tmp_path: Path, form: str, size: int) -> None:
    body = b" " * size
    chunked = CHUNKED + (b"%x\r\n%b\r\n" % (size, body) if size else b"") + b"0\r\n\r\n"
    request = asked(body) if form == "a length" else chunked

    class Counts:
        """Sums the bytes that are counted for each request of a reader."""

        def __init__(self) -> None:
            self.held = 0
            self.requests: list[tuple[int, int]] = []

        def take(self, head: RequestHead, body: Body) -> None:
            whole = body if isinstance(body, bytes) else b"".join(body)
            self.requests.append((self.held, len(whole)))
            self.held = 0

        def hold(self, size: int) -> None:
            self.held += size

        def refuse(self, method: str, answer: Any) -> None:
            raise AssertionError(answer)

        def expect(self) -> None:
            raise AssertionError("no request was expected")

    async with application(tmp_path) as app:
        counts = Counts()
        reader = RequestReader(app, counts)
        for _ in range(4):
            reader.feed(request)
        assert counts.requests == [(max(0, size - SMALL), size)] * 4


@pytest.mark.parametrize("size", SIZES)
async def test_no_bytes_are_given_back_that_were_not_counted(tmp_path: Path, size: int) -> None:
    async with running(tmp_path) as at:
        reader, writer = await at.open()
        try:
            for _ in range(4):
                writer.write(asked(b" " * size))
                with anyio.fail_after(PATIENCE):
                    assert (await read(reader))[0] == 400
                assert at.server.site.large.held == 0
        finally:
            await left(writer)


# ---- heads

HEADS: dict[str, tuple[bytes, int]] = {
    "HTTP/1.0 without Host": (b"GET /v2/health/ready HTTP/1.0\r\n\r\n", 200),
    "HTTP/1.0 of another host": (b"GET /v2/health/ready HTTP/1.0\r\nHost: evil.com\r\n\r\n", 403),
    "HTTP/1.1 without Host": (b"GET /v2/health/ready HTTP/1.1\r\n\r\n", 400),
    "HTTP/2.0": (b"GET /v2/health/ready HTTP/2.0\r\nHost: localhost\r\n\r\n", 400),
    "an absolute form of another host": (b"GET http://evil.com/v2 HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
    "an absolute form": (b"GET http://localhost:1/v2 HTTP/1.1\r\nHost: evil.com\r\n\r\n", 200),
    "two Authorization": (
        b"GET /v2 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        400,
    ),
    "another transfer encoding": (CHUNKED.replace(b"chunked", b"gzip, chunked") + b"0\r\n\r\n", 501),
    "two transfer encodings": (
        CHUNKED.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: gzip\r\n\r\n").replace(b": chunked\r\n", b": gzip\r\n")
        + b"0\r\n\r\n",
        501,
    ),
    "trailers in one read": (CHUNKED + b"0\r\n" + b"a: %b\r\n" % (b"b" * 1000) * 100 + b"\r\n", 431),
    "chunks of a byte": (CHUNKED + b"1\r\n \r\n" * 40_000 + b"0\r\n\r\n", 400),
}


@pytest.mark.parametrize("name", HEADS)
async def test_heads(tmp_path: Path, name: str) -> None:
    request, status = HEADS[name]
    async with running(tmp_path, hosts=("localhost", "127.0.0.1")) as at:
        found = (await at.say(request))[0][0]
        assert found == status or {found, status} <= {400, 501, 505}
        assert (await at.say(asked()))[0][0] == 200


# ---- values

TENSORS: dict[str, tuple[Any, str]] = {
    "a list of types": ({"datatype": ["FP32"]}, "datatype"),
    "an object": ({"datatype": {}}, "datatype"),
    "a number": ({"datatype": 1}, "datatype"),
    "nothing": ({"datatype": None}, "datatype"),
    "an unknown one": ({"datatype": "FP31"}, "datatype"),
    "an object as shape": ({"shape": {}}, "shape"),
    "a text as size": ({"shape": ["1"]}, "shape"),
    "an object as data": ({"data": {}}, "data"),
    "a null as data": ({"data": [None]}, "null"),
    "a list as parameters": ({"parameters": [1]}, "parameters"),
    "an object as name": ({"name": {}}, "name"),
}


@pytest.mark.parametrize("name", TENSORS)
async def test_fields_of_other_types_are_refused(client: Client, name: str) -> None:
    change, field = TENSORS[name]
    entry = {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3], **change}
    status, answer = await client.post("/v2/models/line/infer", {"inputs": [entry]})
    assert status == 400 and field in answer["error"]


async def test_bytes_that_are_no_text_have_no_json(client: Client) -> None:
    raw = struct.pack("<I", 1) + b"\xff"
    entry = {"name": "text", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": len(raw)}}
    for wanted, status in (("same", 400), ("size", 200)):
        head = json.dumps({"inputs": [entry], "outputs": [{"name": wanted}]}).encode()
        sizes = {"inference-header-content-length": str(len(head))}
        found, _, body = await client.call("POST", "/v2/models/words/infer", head + raw, sizes)
        assert found == status and (found == 200 or b"binary_data" in body)


async def test_a_scalar_output_has_no_rows(tmp_path: Path) -> None:
    import actorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        outputs = {"y": x, "mean": tf.reduce_mean(x)}
        tf.saved_model.simple_save(session, str(tmp_path / "mean" / "1"), {"x": x}, outputs)
    async with application(tmp_path) as app:
        status, answer = await Client(app).post("/v1/models/mean:predict", {"instances": [1.0]})
        assert status == 400 and "'mean' has no rows" in answer["error"]


async def test_base64_of_many_pieces(client: Client) -> None:
    import base64

    data = np.random.default_rng(0).bytes(500_000)
    content = {"instances": [{"b64": base64.b64encode(data).decode()}]}
    status, answer = await client.post(TEXTS, content)
    assert status == 200 and base64.b64decode(answer["predictions"][0]["raw_bytes"]["b64"]) == data
    for damage in ("=" * 4, "!!!!"):
        text = base64.b64encode(data).decode()
        wrong = text[: 256 << 10] + damage + text[256 << 10 :]
        assert (await client.post(TEXTS, {"instances": [{"b64": wrong}]}))[0] == 400


async def test_versions_that_have_gone_are_forgotten(tmp_path: Path) -> None:
    from shutil import copytree, rmtree

    write_line(tmp_path / "line" / "1", 2)
    async with application(tmp_path) as app:
        for number in range(2, 40):
            copytree(tmp_path / "line" / str(number - 1), tmp_path / "line" / str(number))
            rmtree(tmp_path / "line" / str(number - 1))
            await app.refresh()
        with contextlib.suppress(af.errors.OpError):
            await app.served["line"].find()[1].drain()
        _, answer = await Client(app).get("/v1/models/line")
        states = answer["model_version_status"]
        assert len(states) <= 20 and states[0] == {**states[0], "version": "39", "state": "AVAILABLE"}


async def test_the_models_are_listed(client: Client) -> None:
    status, answer = await client.get("/v1/models")
    assert status == 200 and sorted(model["name"] for model in answer["models"]) == ["line", "words"]
