"""`Generation`: the plug-in of the server of models that answers requests for text."""

from __future__ import annotations

import re
import time
import urllib.parse
from collections.abc import AsyncGenerator, Collection, Mapping
from typing import TYPE_CHECKING, Any

from actorflow.engine.batching.rows import Batching
from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError, NotFoundError, OpError
from actorflow.exchange.sources.source import Source
from actorflow.frontends.ext.asgi import Receive
from actorflow.frontends.generation.description import METHOD
from actorflow.frontends.generation.http import completions, generate, page, tensors
from actorflow.frontends.generation.http.asked import MOST_BODY
from actorflow.frontends.generation.model import GenerationEngine, generates
from actorflow.frontends.generation.scheduler import Limits
from actorflow.frontends.http.answers import Answer, Streamed
from actorflow.frontends.serving.protocols.bodies import load_json
from actorflow.frontends.serving.protocols.inference import time_limit
from actorflow.frontends.serving.protocols.questions import named
from actorflow.frontends.serving.protocols.routes import PathRoute

if TYPE_CHECKING:
    from actorflow.frontends.serving.application import Application
    from actorflow.frontends.serving.model import Model
    from actorflow.frontends.serving.plugin import Piece
    from actorflow.frontends.serving.protocols.kserve import InferenceRequest
    from actorflow.frontends.serving.versions import Served

_PATH = re.compile(r"^/v2/models/(?P<model>[^/]+)(?:/versions/(?P<version>[^/]+))?/(?P<view>generate(?:_stream)?)/?$")

_ABSENT = ("/v1/chat/completions", "/v1/embeddings", "/v1/responses")
"""Requests of OpenAI's clients that no model here answers: these clients show the sentence of an error of their own form."""


class Generation:
    """Streams of the models that generate."""

    methods: Collection[str] = (METHOD,)

    async def open(self, session: Session, source: Source, batching: Batching) -> GenerationEngine | None:
        """The steps of a model that was loaded; None for a model that does not generate."""
        if not generates(source.signatures):
            return None
        running = batching.max_size
        limits = Limits(running, batching.max_queued, max(running, Limits().max_step_tokens))
        engine = GenerationEngine(session, source.signatures, limits, None)
        await engine.start()
        return engine

    def takes(self, method: str, path: str) -> bool:
        """Whether it answers such requests."""
        if method == "POST":
            return path == completions.PATH or path in _ABSENT or _PATH.match(path) is not None
        return method == "GET" and path == page.PATH

    async def respond(
        self,
        application: Application,
        method: str,
        path: str,
        headers: Mapping[bytes, bytes],
        content: bytes | list[bytes] | Receive,
    ) -> Answer | Streamed:
        """The answer to a request."""
        if method == "GET":
            return page.page([name for name, served in application.served.items() if _writes(served)])
        if path in _ABSENT:
            return completions.failure(
                NotFoundError(f"The server has no {path}: its models continue texts, by POST {completions.PATH}.")
            )
        begun, name, status = time.perf_counter(), "", 499
        target = _PATH.match(path)

        async def work(body: bytes) -> Answer | Streamed:
            nonlocal name
            values = load_json(body)
            seconds = time_limit(headers, application.timeout)
            if target is None:
                name = str(values.get("model"))
                return await _complete(application, values, seconds)
            name = urllib.parse.unquote(target["model"])
            return await _generate(application, target, values, seconds)

        try:
            answer = await application.read(headers, content, MOST_BODY, work)
            status = answer[0]
            return answer
        except OpError as error:
            reply = completions.failure(error) if target is None else application.failure(path, error)
            status = reply[0]
            return reply
        finally:
            if name in application.served:
                application.measures.request(name, "generate", status, time.perf_counter() - begun)

    def pieces(
        self, model: Model, request: InferenceRequest, timeout: float | None, is_streamed: bool
    ) -> AsyncGenerator[Piece, None] | None:
        """The answer to a request in tensors that has a text; None for others."""
        if tensors.TEXT not in request.inputs or not any(isinstance(part, GenerationEngine) for part in model.parts):
            return None
        stream = tensors.begin(_engine("The model", model), request, timeout)
        return tensors.pieces(stream, is_streamed)


async def _complete(application: Application, values: dict[str, Any], seconds: float | None) -> Answer | Streamed:
    if not isinstance(values.get("model"), str):
        raise InvalidArgumentError("The field 'model' is the name of a model.")
    engine = _version(application, values["model"], None)[1]
    completion = completions.begin(engine, values, seconds)
    return completions.streamed(completion) if completion.is_streamed else await completions.whole(completion)


async def _generate(
    application: Application, target: re.Match[str], values: dict[str, Any], seconds: float | None
) -> Answer | Streamed:
    name = urllib.parse.unquote(target["model"])
    version, engine = _version(application, name, PathRoute("kserve", "", name, target["version"]).number)
    stream = generate.begin(engine, values, seconds)
    facts = {"model_name": name, "model_version": str(version)}
    if isinstance(values.get("id"), str):
        facts["id"] = values["id"]
    if target["view"] == "generate_stream":
        return generate.streamed(stream, facts)
    return await generate.whole(stream, facts)


def _version(application: Application, name: str, number: int | None) -> tuple[int, GenerationEngine]:
    """The version and the steps of a model. Raises NotFoundError for a model that is absent, or does not generate, and
    InvalidArgumentError for a model whose answers are no text."""
    version, model = named(application.served, name).find(number)
    return version, _engine(f"The model {name!r}", model)


def _engine(what: str, model: Model) -> GenerationEngine:
    for part in model.parts:
        if isinstance(part, GenerationEngine):
            if part.tokenizer is None:
                raise InvalidArgumentError(
                    f"{what} has no tokenizer, so its answers are no text, which requests to a server are for.",
                    hint="af.generation.save(..., tokenizer=...) writes a model with a tokenizer.",
                )
            return part
    raise NotFoundError(f"{what} does not generate text.")


def _writes(served: Served) -> bool:
    """Whether its newest version generates text."""
    parts = served.find()[1].parts if served.available() else ()
    return any(isinstance(part, GenerationEngine) and part.tokenizer is not None for part in parts)


PLUGIN = Generation()
