"""Several choices of a request, the ends of streams of a server, and models whose answers are no text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from frontends.generation.generating import write_letters, write_recurrent
from frontends.generation.test_generation_http import COMPLETIONS, GENERATE, chunks, post
from frontends.serving.served_http import asked, left, running
from patience import PATIENCE

import actorflow as af
from actorflow.frontends.generation.http import completions
from actorflow.frontends.generation.http.page import PATH as PAGE
from actorflow.frontends.http.answers import Streamed
from actorflow.frontends.serving.versions import VersionPolicy

FIELDS = {"model": "letters", "prompt": "a", "temperature": 0}


async def test_a_choice_that_waits_for_its_place_holds_up_no_other(tmp_path: Path) -> None:
    limits = af.generation.Limits(max_running=2, max_unread=8, unread_seconds=2.0)
    async with af.generation.Model(await write_letters(tmp_path / "letters"), limits=limits) as model:
        body = {**FIELDS, "n": 3, "max_tokens": 100, "stream": True}
        parts = [part async for part in completions.streamed(completions.begin(model.engine, body, None)).parts]
        assert parts.pop() == b"data: [DONE]\n\n"
        choices = [json.loads(part[6:])["choices"][0] for part in parts]
        texts = ["".join([each["text"] for each in choices if each["index"] == index]) for index in range(3)]
        assert texts[0] == texts[1] == texts[2] != ""
        ends = [each["index"] for each in choices if each["finish_reason"] == "length"]
        assert sorted(ends) == [0, 1, 2] and ends[-1] == 2, "the last choice began when another had ended"


async def test_choices_in_one_piece_are_read_together(tmp_path: Path) -> None:
    limits = af.generation.Limits(max_unread=1)
    async with af.generation.Model(await write_letters(tmp_path / "letters"), limits=limits) as model:
        completion = completions.begin(model.engine, {**FIELDS, "n": 3, "max_tokens": 60}, None)
        _, _, data, _ = await completions.whole(completion)
        assert isinstance(data, bytes)
        assert [choice["finish_reason"] for choice in json.loads(data)["choices"]] == ["length"] * 3
        assert model.statistics()["steps"] < 90, "none rests until another is read to its end"


async def test_usage_counts_the_tokens_that_were_taken(tmp_path: Path) -> None:
    async with af.generation.Model(await write_letters(tmp_path / "letters")) as model:
        body = {**FIELDS, "n": 2, "max_tokens": 60, "stop": ["cd"]}
        completion = completions.begin(model.engine, body, None)
        with anyio.fail_after(PATIENCE):
            while model.statistics()["steps"] < 9:  # the model is ahead of the reader
                await anyio.lowlevel.checkpoint()
        _, _, data, _ = await completions.whole(completion)
        assert isinstance(data, bytes)
        answer = json.loads(data)
        assert [choice["text"] for choice in answer["choices"]] == ["b", "b"]
        assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 6, "total_tokens": 8}


class Parts:
    """A plug-in whose answer has empty parts."""

    methods = ()

    async def open(self, *model: Any) -> None:
        return None

    def takes(self, method: str, path: str) -> bool:
        return path == "/parts"

    async def respond(self, *request: Any) -> Streamed:
        async def parts() -> Any:
            for part in (b"", b"one", b"", b"two", b""):
                yield part

        return Streamed(200, b"text/plain", parts())


async def test_empty_parts_do_not_end_an_answer(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        server.server.site.plugins = [Parts()]
        reader, writer = await server.open()
        with anyio.fail_after(PATIENCE):
            writer.write(asked(b"", "/parts", method="GET"))
            await reader.readuntil(b"\r\n\r\n")
            assert [chunk async for chunk in chunks(reader)] == [b"one", b"two"]
        await left(writer)


async def test_a_stream_that_ends_while_the_server_ends_closes_its_connection(tmp_path: Path) -> None:
    await write_letters(tmp_path / "letters" / "1")
    async with running(tmp_path) as server:
        reader, writer = await server.open()
        body = json.dumps({"text_input": "a", "parameters": {"max_tokens": 20, "temperature": 0}}).encode()
        with anyio.fail_after(PATIENCE):
            writer.write(asked(body, GENERATE + "_stream"))
            assert b"connection: close" not in await reader.readuntil(b"\r\n\r\n")
            server.server.is_ending = True
            assert (await reader.read()).endswith(b"0\r\n\r\n"), "nothing but the end of the answer ends the connection"
        await left(writer)


@pytest.mark.parametrize("path", [COMPLETIONS, GENERATE, GENERATE + "_stream"])
async def test_a_model_without_a_tokenizer_is_refused_before_a_step(path: str, tmp_path: Path) -> None:
    await write_recurrent(tmp_path / "letters" / "1")
    async with running(tmp_path) as server:
        body = {**FIELDS, "prompt": [1, 2]} if path == COMPLETIONS else {"text_input": "a"}
        status, answer = await post(server, path, body)
        message = answer["error"]["message"] if path == COMPLETIONS else answer["error"]
        assert status == 400 and "'letters' has no tokenizer, so its answers are no text" in message
        (steps,) = server.server.site.served["letters"].find()[1].parts
        assert steps.steps == 0 and not steps.scheduler.running
        ((_, _, page),) = await server.say(asked(b"", PAGE, method="GET"))
        assert b"<option>letters</option>" not in page


async def test_versions_of_a_model_share_a_series(tmp_path: Path) -> None:
    for version, blocks in (("1", 64), ("2", 30)):
        await write_letters(tmp_path / "letters" / version, blocks=blocks)
    async with running(tmp_path, policy=VersionPolicy(latest=2)) as server:
        ((_, _, data),) = await server.say(asked(b"", "/metrics", method="GET"))
        lines = data.decode().splitlines()
        series = [line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")]
        assert len(series) == len(set(series))
        assert 'actorflow_generation_free_blocks{model="letters"} 94' in lines
