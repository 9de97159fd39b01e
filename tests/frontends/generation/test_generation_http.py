"""Generation over HTTP: the Open Inference Protocol, OpenAI's completions, the page; refusals, and clients that leave."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from frontends.generation.generating import write_letters
from frontends.serving.served import Client
from frontends.serving.served_http import Running, asked, left, read, running
from patience import PATIENCE

import actorflow as af
from actorflow.frontends.generation.http.page import PATH as PAGE

COMPLETIONS, GENERATE = "/v1/completions", "/v2/models/letters/generate"
GREEDY = {"max_tokens": 4, "temperature": 0}


@contextlib.asynccontextmanager
async def serving(tmp_path: Path) -> AsyncIterator[Running]:
    await write_letters(tmp_path / "letters" / "1")
    async with running(tmp_path) as server:
        yield server


def engine(server: Running) -> Any:
    return server.server.site.served["letters"].find()[1].parts[0]


async def post(server: Running, path: str, body: Any) -> tuple[int, Any]:
    ((status, _, data),) = await server.say(asked(json.dumps(body).encode(), path))
    return status, json.loads(data)


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The chunks of a body."""
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        assert await reader.readline() == b"\r\n"
    assert await reader.readline() == b"\r\n"


async def events(server: Running, path: str, body: Any) -> list[str]:
    """The data of the events of a stream; the connection takes another request behind it."""
    reader, writer = await server.open()
    with anyio.fail_after(PATIENCE):
        writer.write(asked(json.dumps(body).encode(), path))
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert head.startswith("HTTP/1.1 200") and "text/event-stream" in head and "chunked" in head
        data = b"".join([chunk async for chunk in chunks(reader)]).decode()
        writer.write(asked(b"", "/v2/health/live", method="GET"))
        assert (await read(reader))[0] == 200
    await left(writer)
    parts = data.split("\n\n")
    assert parts.pop() == "" and all(part.startswith("data: ") for part in parts)
    return [part[6:] for part in parts]


async def test_the_open_inference_protocol(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        status, answer = await post(server, GENERATE, {"id": "7", "text_input": "a", "parameters": GREEDY})
        details = {"finish_reason": "length", "prompt_tokens": 1, "completion_tokens": 4}
        facts = {"model_name": "letters", "model_version": "1", "id": "7"}
        assert (status, answer) == (200, {**facts, "text_output": "bcde", "details": details})
        stops = {**GREEDY, "max_tokens": 9, "stop": ["de"]}
        path = "/v2/models/letters/versions/1/generate_stream"
        *parts, last = map(json.loads, await events(server, path, {"text_input": "a", "parameters": stops}))
        assert "".join(part["text_output"] for part in parts) == "bc" and last["details"]["finish_reason"] == "stop"


async def test_completions(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        body = {"model": "letters", "prompt": ["a", [107]], "n": 2, "echo": True, **GREEDY}
        status, answer = await post(server, COMPLETIONS, body)
        assert status == 200 and answer["object"] == "text_completion" and answer["id"].startswith("cmpl-")
        texts = [(choice["index"], choice["text"], choice["finish_reason"]) for choice in answer["choices"]]
        assert texts == [(0, "abcde", "length"), (1, "abcde", "length"), (2, "klmno", "length"), (3, "klmno", "length")]
        assert answer["usage"] == {"prompt_tokens": 4, "completion_tokens": 16, "total_tokens": 20}
        streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
        *parts, usage, done = await events(server, COMPLETIONS, streamed)
        assert done == "[DONE]" and json.loads(usage)["usage"]["total_tokens"] == 20
        whole = ["", "", "", ""]
        for part in map(json.loads, parts):
            (choice,) = part["choices"]
            whole[choice["index"]] += choice["text"]
        assert whole == ["abcde", "abcde", "klmno", "klmno"]


async def test_a_seed_repeats_an_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        body = {"model": "letters", "prompt": "a", "max_tokens": 6, "temperature": 100.0, "seed": 11, "logprobs": None}
        first, second, other = [
            (await post(server, COMPLETIONS, {**body, **more}))[1]["choices"][0]["text"]
            for more in ({}, {}, {"seed": 12})
        ]
        assert first == second != other


REFUSED: dict[str, tuple[str, Any, int, str]] = {
    "no model": (COMPLETIONS, {"prompt": "a"}, 400, "'model' is the name of a model"),
    "another model": (COMPLETIONS, {"model": "x", "prompt": "a"}, 404, "The models here: letters, line"),
    "no text": (COMPLETIONS, {"model": "line", "prompt": "a"}, 404, "'line' does not generate text"),
    "an unknown field": (COMPLETIONS, {"model": "letters", "promt": "a"}, 400, "has no field 'promt'"),
    "a prompt of a number": (COMPLETIONS, {"model": "letters", "prompt": 3}, 400, "'prompt' is a text"),
    "many prompts": (COMPLETIONS, {"model": "letters", "prompt": ["a"] * 17}, 400, "17 prompts; 16 are the most"),
    "logprobs": (COMPLETIONS, {"model": "letters", "prompt": "a", "logprobs": 3}, 400, "'logprobs' is not known"),
    "a text as a number": (COMPLETIONS, {"model": "letters", "prompt": "a", "max_tokens": "9"}, 400, "'max_tokens'"),
    "a long prompt": (COMPLETIONS, {"model": "letters", "prompt": "a" * 500}, 400, "500 tokens, and 16 are asked for"),
    "a list": (COMPLETIONS, [1], 400, "has to be an object"),
    "no text_input": (GENERATE, {"parameters": {}}, 400, "'text_input' is a text"),
    "parameters": (GENERATE, {"text_input": "a", "parameters": {"top": 1}}, 400, "'parameters' has no field 'top'"),
    "stop": (GENERATE, {"text_input": "a", "parameters": {"stop": 5}}, 400, "'stop' is a text, or a list"),
    "stream": (COMPLETIONS, {"model": "letters", "prompt": "a", "stream": 1}, 400, "'stream' is true or false"),
    "another version": ("/v2/models/letters/versions/9/generate", {"text_input": "a"}, 404, "Specific(letters, 9)"),
    "a token outside": (COMPLETIONS, {"model": "letters", "prompt": [-1], "echo": True}, 400, "Tokens are in [0, 256)"),
    "a huge temperature": (
        COMPLETIONS,
        {"model": "letters", "prompt": "a", "temperature": 10**400},
        400,
        "temperature",
    ),
    "a huge top_p": (COMPLETIONS, {"model": "letters", "prompt": "a", "top_p": 10**400}, 400, "The top_p is a number"),
    "no float32": (GENERATE, {"text_input": "a", "parameters": {"temperature": 1e39}}, 400, "temperature is a number"),
    "a large body": (GENERATE, {"text_input": "a" * (1 << 20)}, 413, "are the most"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_refusals_name_the_field(name: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        path, body, status, text = REFUSED[name]
        for streams in ("", "_stream") if path == GENERATE else ("",):
            answered, error = await post(server, path + streams, body)
            message = error["error"]["message"] if path == COMPLETIONS else error["error"]
            assert (answered, text in message) == (status, True), error


async def test_no_other_protocol_sees_the_caches(tmp_path: Path) -> None:
    """A request for inference could write into the blocks of others."""
    async with serving(tmp_path) as server:
        signature = {"signature_name": "generation_step", "inputs": {"tokens": [1]}}
        for path, body in (
            ("/v1/models/letters:predict", signature),
            ("/v2/models/letters/infer", {"inputs": []}),
        ):
            status, answer = await post(server, path, body)
            assert (
                status == 404
                and "generation_step' not found" in answer["error"]
                or "serving_default" in answer["error"]
            )


async def test_too_many_requests_are_refused_with_429(tmp_path: Path) -> None:
    await write_letters(tmp_path / "letters" / "1", blocks=25)  # for one request at a time
    batching = af.Batching(max_queued=1)
    async with running(tmp_path, batching=batching) as server:
        streams = [engine(server).generate("a", af.generation.Rules(380, 0.0)) for _ in range(2)]
        await anext(streams[0])
        body = json.dumps({"model": "letters", "prompt": "a"}).encode()
        ((status, headers, data),) = await server.say(asked(body, COMPLETIONS))
        assert status == 429 and headers["retry-after"] == "1", data
        assert "1 requests wait" in json.loads(data)["error"]["message"]
        for stream in streams:
            stream.close()
        assert (await post(server, COMPLETIONS, {"model": "letters", "prompt": "a", **GREEDY}))[0] == 200


@pytest.mark.parametrize("path", [COMPLETIONS, GENERATE, GENERATE + "_stream"])
async def test_clients_that_leave_free_their_blocks_at_once(path: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        steps = engine(server)
        is_open = path == COMPLETIONS
        rules = {"max_tokens": 399, "temperature": 0.0}
        fields = {"model": "letters", "prompt": "a", "stream": True, **rules}
        body = json.dumps(fields if is_open else {"text_input": "a", "parameters": rules}).encode()
        with anyio.fail_after(PATIENCE):
            connections = [await server.open() for _ in range(60)]
            for _, writer in connections:
                writer.write(asked(body, path))
            while not steps.steps:
                await anyio.lowlevel.checkpoint()
            for _, writer in connections:
                writer.transport.abort()
            while server.server.connections:
                server.server.has_lost.clear()
                await server.server.has_lost.wait()
            for _ in range(3):  # the tasks of their requests see that they are cancelled
                await anyio.lowlevel.checkpoint()
            assert steps.scheduler.blocks.free == 64
            assert not steps.scheduler.running and not steps.scheduler.queue
            before = steps.steps
            stream = steps.generate("a", af.generation.Rules(2, 0.0))
            await stream.whole()
            assert steps.steps <= before + 3, "no step was run for those who have left"


async def test_a_client_that_does_not_read_is_bounded(tmp_path: Path) -> None:
    """Its kernel's buffers fill, then the transport's, then its request rests; the parts that wait are bounded."""
    async with serving(tmp_path) as server:
        steps = engine(server)
        sent = 0

        async def parts() -> AsyncIterator[bytes]:
            nonlocal sent
            with contextlib.suppress(GeneratorExit):
                while True:
                    sent += 1
                    yield b"x" * (1 << 16)

        from actorflow.frontends.http.answers import Streamed

        class Endless:
            methods = ()

            async def open(self, *model: Any) -> None:
                return None

            def takes(self, method: str, path: str) -> bool:
                return path == "/endless"

            async def respond(self, *request: Any) -> Any:
                return Streamed(200, b"text/plain", parts())

        server.server.site.plugins = [Endless(), *server.server.site.plugins]
        _, writer = await server.open()
        writer.write(asked(b"", "/endless", method="GET"))
        with anyio.fail_after(PATIENCE):
            while not any(connection.is_full for connection in server.server.connections):
                await anyio.lowlevel.checkpoint()
            before = sent
            stream = steps.generate("a", af.generation.Rules(20, 0.0))
            await stream.whole()
            assert sent <= before + 1
            writer.transport.abort()
            while server.server.connections:
                server.server.has_lost.clear()
                await server.server.has_lost.wait()


async def test_old_clients_get_a_stream_without_chunks(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        body = json.dumps({"text_input": "a", "parameters": GREEDY}).encode()
        head = f"POST {GENERATE}_stream HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        reader, writer = await server.open()
        with anyio.fail_after(PATIENCE):
            writer.write(head + body)
            data = await reader.read()
        await left(writer)
        assert b"transfer-encoding" not in data and b"connection: close" in data and data.count(b"data: ") == 5


async def test_as_an_application(tmp_path: Path) -> None:
    """The same under other servers, by ASGI."""
    await write_letters(tmp_path / "letters" / "1")
    async with af.serving.app(tmp_path, poll_seconds=0) as models:
        client = Client(models)
        body = {"model": "letters", "prompt": "a", "stream": True, **GREEDY}
        status, headers, data = await client.call("POST", COMPLETIONS, body)
        assert status == 200 and headers["content-type"].startswith("text/event-stream")
        assert data.decode().count("data: ") == 6 and data.endswith(b"data: [DONE]\n\n")
        status, answer = await client.post(GENERATE, {"text_input": "a", "parameters": GREEDY})
        assert (status, answer["text_output"]) == (200, "bcde")
        status, _, page = await client.call("GET", PAGE)
        assert status == 200 and b"<option>letters</option>" in page
        status, _, data = await client.call("GET", "/metrics")
        assert 'actorflow_generation_free_blocks{model="letters"} 64' in data.decode()


async def test_an_application_whose_client_leaves(tmp_path: Path) -> None:
    await write_letters(tmp_path / "letters" / "1")
    async with af.serving.app(tmp_path, poll_seconds=0) as models:
        body = {"model": "letters", "prompt": "a", "stream": True, "max_tokens": 399, "temperature": 0}
        gone = asyncio.Event()
        steps = models.served["letters"].find()[1].parts[0]
        async with anyio.create_task_group() as group:

            async def leave() -> None:
                while steps.steps < 3:
                    await anyio.lowlevel.checkpoint()
                gone.set()

            group.start_soon(leave)
            await Client(models).call("POST", COMPLETIONS, body, gone=gone)
        assert steps.scheduler.blocks.free == 64 and steps.steps < 399
