"""The official client of OpenAI, blocking and on asyncio, against `/v1/completions`; and what odd clients may ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from frontends.generation.test_generation_http import COMPLETIONS, engine, post, serving
from frontends.serving.served_http import Running, asked
from patience import PATIENCE

Ask = Callable[..., Any]
USUAL = {"model": "letters", "prompt": "a", "max_tokens": 4, "temperature": 0}

ODD: dict[str, tuple[dict[str, Any], list[str] | str]] = {
    "two choices": ({"n": 2}, ["bcde", "bcde"]),
    "best of as many": ({"n": 2, "best_of": 2}, ["bcde", "bcde"]),
    "best of one, n null": ({"n": None, "best_of": 1}, ["bcde"]),
    "best of none": ({"best_of": 0}, "'best_of' is not known"),
    "best of more": ({"best_of": 3}, "'best_of' is not known"),
    "no choices": ({"n": 0}, "'n' is a whole number from 1 to 16"),
    "a stop": ({"stop": "d"}, ["bc"]),
    "several stops": ({"stop": ["x", "cd", "e"]}, ["b"]),
    "no stops": ({"stop": []}, ["bcde"]),
    "an empty stop": ({"stop": [""]}, "A stop is a text of 1 to 256 letters"),
    "17 stops": ({"stop": ["x"] * 17}, "17 stops; 16 are the most"),
    "logprobs": ({"logprobs": 5}, "'logprobs' is not known"),
    "logprobs of chosen tokens": ({"logprobs": 0}, "'logprobs' is not known"),
    "no logprobs": ({"logprobs": None}, ["bcde"]),
    "no tokens": ({"max_tokens": 0}, [""]),
    "no tokens, echo": ({"max_tokens": 0, "echo": True}, ["a"]),
    "fewer than no tokens": ({"max_tokens": -1}, "max_tokens is a whole number from 0 on"),
    "tokens by default": ({"max_tokens": None}, ["bcdefghijklmnopq"]),
    "letters of several bytes": ({"prompt": "é漢🎉", "echo": True}, ["é漢🎉\ufffd\ufffd\ufffd\ufffd"]),
    "tokens as a prompt": ({"prompt": [97, 98]}, ["cdef"]),
    "several prompts": ({"prompt": ["a", "f"]}, ["bcde", "ghij"]),
    "an empty prompt": ({"prompt": ""}, "A prompt has one token at least"),
    "no prompt": ({"prompt": None}, "'prompt' is a text"),
    "penalties of nothing": ({"presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}}, ["bcde"]),
    "a penalty": ({"presence_penalty": 0.5}, "'presence_penalty' is not known"),
    "a bias": ({"logit_bias": {"98": -100}}, "'logit_bias' is not known"),
    "a suffix": ({"suffix": "z"}, "'suffix' is not known"),
    "a seed below zero": ({"seed": -5, "user": "me"}, ["bcde"]),
    "no nucleus": ({"top_p": 0}, "top_p is a number in (0, 1]"),
    "a cold temperature": ({"temperature": -1}, "temperature is a number from 0 on"),
    "another model": ({"model": "gpt-4"}, "The models here: letters"),
    "too long": ({"prompt": "a" * 500}, "the context of the model has 400"),
    "a field of others": ({"min_p": 0.1}, "has no field 'min_p'"),
}


@pytest.mark.parametrize("streams", [False, True])
async def test_each_odd_request_has_its_answer(streams: bool, tmp_path: Path) -> None:
    """The same in one piece and as a stream; the blocks are free behind each."""
    async with serving(tmp_path) as server:
        for name, (fields, expected) in ODD.items():
            status, answer = await _texts(server, {**USUAL, **fields, "stream": streams})
            if isinstance(expected, str):
                assert status in (400, 404) and expected in answer["error"]["message"], (name, answer)
                assert answer["error"]["type"] == "invalid_request_error", name
            else:
                assert (status, answer) == (200, expected), name
            assert engine(server).scheduler.blocks.free == 64, name


async def _texts(server: Running, body: dict[str, Any]) -> tuple[int, Any]:
    """The status, and the texts of the choices or the error."""
    if not body["stream"]:
        status, answer = await post(server, COMPLETIONS, body)
        return status, [choice["text"] for choice in answer["choices"]] if status == 200 else answer
    head = b"Connection: close"
    reader, writer = await server.open()
    with anyio.fail_after(PATIENCE):
        request = asked(json.dumps(body).encode(), COMPLETIONS, head.decode()).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
        writer.write(request)  # HTTP/1.0 has no chunks: the end of the connection ends the answer
        top, _, data = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    status = int(top.split()[1])
    if status != 200:
        return status, json.loads(data)
    texts: dict[int, str] = {}
    events = [event.removeprefix("data: ") for event in data.decode().split("\n\n") if event]
    assert events.pop() == "[DONE]"
    for event in events:
        for choice in json.loads(event)["choices"]:
            texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
    return status, [texts[index] for index in sorted(texts)]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings", "/v1/responses"])
async def test_requests_that_no_model_answers_say_what_does(path: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        status, answer = await post(server, path, {"model": "letters"})
        assert status == 404 and "by POST /v1/completions" in answer["error"]["message"]


async def test_no_tokens_are_no_step_and_count_the_prompt(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        before = engine(server).steps
        status, answer = await post(server, COMPLETIONS, {**USUAL, "prompt": "abc", "max_tokens": 0})
        assert status == 200 and answer["choices"][0]["finish_reason"] == "length"
        assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3}
        assert engine(server).steps == before


@pytest.mark.extras("openai")
@pytest.mark.allow_leaks("fds", "threads")
async def test_the_blocking_client(tmp_path: Path) -> None:
    openai: Any = pytest.importorskip("openai")
    async with serving(tmp_path) as server:
        steps = engine(server)

        def ask() -> None:
            address = f"http://127.0.0.1:{server.port}/v1"
            with openai.OpenAI(base_url=address, api_key="none", max_retries=0, timeout=PATIENCE) as client:
                create = client.completions.create
                models = {model.id: model for model in client.models.list()}
                assert set(models) == {"letters", "line"} and models["letters"].created > 1_600_000_000
                whole = create(**USUAL, n=2, echo=True, stop=["e"], user="me", seed=3)
                assert [(c.text, c.finish_reason, c.logprobs) for c in whole.choices] == [("abcd", "stop", None)] * 2
                assert whole.object == "text_completion" and whole.usage.prompt_tokens == 2
                parts = list(create(**USUAL, stream=True, stream_options={"include_usage": True}))
                assert "".join(c.text for part in parts for c in part.choices) == "bcde"
                assert [part.usage.total_tokens for part in parts if part.usage] == [5]
                with pytest.raises(openai.BadRequestError, match="'logprobs' is not known"):
                    create(**USUAL, logprobs=1)
                with pytest.raises(openai.NotFoundError, match="The models here: letters"):
                    create(**{**USUAL, "model": "gpt-4"})
                with pytest.raises(openai.NotFoundError, match="by POST /v1/completions"):
                    client.chat.completions.create(model="letters", messages=[{"role": "user", "content": "a"}])
                stream = create(**{**USUAL, "max_tokens": 399}, stream=True)
                assert next(stream).choices[0].text == "b"
                stream.close()

        await to_thread.run_sync(ask)
        await _at_rest(steps)


@pytest.mark.extras("openai")
@pytest.mark.allow_leaks("fds", "threads")
async def test_the_client_of_asyncio_that_leaves(tmp_path: Path) -> None:
    openai: Any = pytest.importorskip("openai")
    async with serving(tmp_path) as server:
        steps = engine(server)
        address = f"http://127.0.0.1:{server.port}/v1"
        async with openai.AsyncOpenAI(base_url=address, api_key="none", max_retries=0, timeout=PATIENCE) as client:
            create = client.completions.create
            answers = await asyncio.gather(*[create(**USUAL) for _ in range(40)])
            assert {answer.choices[0].text for answer in answers} == {"bcde"}
            async with await create(**{**USUAL, "max_tokens": 399}, stream=True) as stream:
                assert (await anext(aiter(stream))).choices[0].text == "b"
            await _at_rest(steps)
            before = steps.steps
            asking = asyncio.create_task(create(**{**USUAL, "max_tokens": 399}))
            with anyio.fail_after(PATIENCE):
                while steps.steps == before:
                    await anyio.lowlevel.checkpoint()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await _at_rest(steps)


async def _at_rest(steps: Any) -> None:
    """Waits until the server has seen that its client left."""
    with anyio.fail_after(PATIENCE):
        while steps.scheduler.running or steps.scheduler.queue:
            await anyio.lowlevel.checkpoint()
    assert steps.scheduler.blocks.free == 64
