"""The page at `/`, the OpenAPI description, and the lines of `actorflow serve`: models, signatures, and requests that work."""

from __future__ import annotations

import html
import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest
from frontends.serving.served import application, write_line, write_words

from actorflow.frontends.http.answers import HttpRequest
from actorflow.frontends.serving.application import Application
from actorflow.frontends.serving.protocols.pages import lines

SAVED = Path(__file__).parents[2] / "exchange" / "saved_model" / "saved_models_tf215.zip"
NAMES = ("half_plus_two", "line", "wide", "words")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    with zipfile.ZipFile(SAVED) as archive:
        archive.extractall(folder)
    write_line(folder / "line", 2)
    write_line(folder / "wide", 2, width=500)
    write_words(folder / "words")
    return {name: str(folder / name) for name in NAMES}


async def get(app: Application, path: str, **headers: str) -> tuple[int, str]:
    sent = {name.encode(): value.encode() for name, value in headers.items()}
    status, _, body, _ = await app.respond(HttpRequest("GET", path, sent), b"")
    return status, body.decode()


async def ask(app: Application, command: str) -> int:
    """The status of the request of a command of curl."""
    words = shlex.split(command)
    path = words[-1].partition("//")[2].partition("/")[2]
    status, *_ = await app.respond(HttpRequest("POST", f"/{path}", {}), words[words.index("-d") + 1].encode())
    return status


@pytest.mark.parametrize("path", ["/", "/docs"])
async def test_the_page_has_models_signatures_and_requests_that_work(models: dict[str, str], path: str) -> None:
    async with application(models) as app:
        status, text = await get(app, path, host="127.0.0.1:8501")
        assert status == 200
        for name in NAMES:
            assert f"<h2>{name}</h2>" in text
        assert "<th>input<td>x<td>float32<td>(?, 3)" in text
        commands = [html.unescape(command) for command in re.findall("<pre>(.*?)</pre>", text)]
        assert len(commands) >= 3 and all("http://127.0.0.1:8501/v1/models/" in command for command in commands)
        assert [await ask(app, command) for command in commands] == [200] * len(commands)


async def test_the_description_has_a_request_for_each_model(models: dict[str, str]) -> None:
    async with application(models) as app:
        status, text = await get(app, "/openapi.json")
        description = json.loads(text)
        assert status == 200 and description["openapi"].startswith("3.")
        for path, operations in description["paths"].items():
            if "get" in operations:
                assert (await get(app, path))[0] == 200, path
            example = operations.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json", {})
            if "example" in example:
                assert (await app.respond(HttpRequest("POST", path, {}), json.dumps(example["example"]).encode()))[
                    0
                ] == 200, path
        assert {f"/v1/models/{name}:predict" for name in NAMES} <= description["paths"].keys()


async def test_the_page_shows_names_as_text_and_no_token(tmp_path: Path) -> None:
    write_line(tmp_path / "model", 1)
    async with application({"<b>&'": str(tmp_path / "model")}, token="s" * 20) as app:
        assert (await get(app, "/"))[0] == 401
        status, text = await get(app, "/", host="<script>", authorization="Bearer " + "s" * 20)
        assert status == 200 and "<b>" not in text and "<script>" not in text and "ssss" not in text
        assert "Authorization: Bearer $TOKEN" in html.unescape(text)


async def test_serve_prints_what_it_has_loaded(models: dict[str, str]) -> None:
    async with application({"line": models["line"]}) as app:
        *said, command = lines(app.served, "http://127.0.0.1:8501", False)
        assert said == ["  line, version 1: serving_default(x: float32(?, 3) -> total: float32(?,), y: float32(?, 3))"]
        assert await ask(app, command) == 200
    async with application({"wide": models["wide"]}) as app:
        assert len(lines(app.served, "http://h", False)) == 1, "an example of 500 numbers is no line of a shell"


async def test_an_unknown_model_is_answered_with_those_that_there_are(models: dict[str, str]) -> None:
    async with application(models) as app:
        status, _, body, _ = await app.respond(
            HttpRequest("POST", "/v1/models/lime:predict", {}), b'{"instances": [1]}'
        )
        assert status == 404 and "The models here: half_plus_two, line, wide, words" in json.loads(body)["error"]
