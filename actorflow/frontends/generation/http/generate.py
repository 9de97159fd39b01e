"""`/v2/models/NAME/generate` and `generate_stream`, as the Open Inference Protocol has them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from actorflow.errors import InvalidArgumentError, OpError
from actorflow.frontends.generation.http.asked import PARAMETERS, check_fields, rules_of, stops_of
from actorflow.frontends.generation.http.events import HEADERS, KIND, event
from actorflow.frontends.generation.model import GenerationEngine
from actorflow.frontends.generation.stream import Stream
from actorflow.frontends.http.answers import Answer, Streamed
from actorflow.frontends.serving.protocols.answers import ok


def begin(engine: GenerationEngine, content: dict[str, Any], timeout: float | None) -> Stream:
    """The stream that a request asks for.

    Args:
        engine: the steps of the model.
        content: the body of the request.
        timeout: the most seconds for the answer.

    Raises:
        OpError: a field does not fit, or there is no place.
    """
    check_fields(content, ("id", "text_input", "parameters"))
    text, parameters = content.get("text_input"), content.get("parameters")
    if not isinstance(text, str):
        raise InvalidArgumentError("The field 'text_input' is a text.")
    if parameters is not None and not isinstance(parameters, dict):
        raise InvalidArgumentError("The field 'parameters' is an object.")
    parameters = parameters or {}
    check_fields(parameters, PARAMETERS, "The field 'parameters'")
    return engine.generate(text, rules_of(parameters), stops_of(parameters.get("stop")), timeout)


async def whole(stream: Stream, facts: dict[str, str]) -> Answer:
    """The answer in one piece.

    Args:
        stream: the stream.
        facts: the name and the version of the model, and the id of the request.
    """
    text = "".join([token.text for token in await stream.whole()])
    return ok({**facts, "text_output": text, "details": _details(stream)})


def streamed(stream: Stream, facts: dict[str, str]) -> Streamed:
    """The answer as events: an event for each token that has text. The arguments are those of `whole`."""

    async def parts() -> AsyncGenerator[bytes, None]:
        try:
            async for token in stream:
                if token.text:
                    yield event({**facts, "text_output": token.text})
            yield event({**facts, "text_output": "", "details": _details(stream)})
        except OpError as error:
            yield event({**facts, "error": error.message})
        finally:
            stream.close()

    return Streamed(200, KIND, parts(), HEADERS)


def _details(stream: Stream) -> dict[str, Any]:
    return {
        "finish_reason": stream.reason,
        "prompt_tokens": stream.prompt_tokens,
        "completion_tokens": stream.answer_tokens,
    }
