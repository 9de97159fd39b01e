"""A request whose text is a tensor, as clients of the Open Inference Protocol by gRPC send it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.frontends.generation.http.asked import PARAMETERS, check_fields, rules_of, stops_of
from actorflow.frontends.generation.model import GenerationEngine
from actorflow.frontends.generation.stream import Stream
from actorflow.frontends.serving.plugin import Piece

if TYPE_CHECKING:
    from actorflow.frontends.serving.protocols.kserve import InferenceRequest

TEXT = "text_input"
"""The name of the input."""
_OTHER = frozenset(("timeout", "signature_name", "binary_data_output"))
"""Parameters that every request may have."""


def begin(engine: GenerationEngine, request: InferenceRequest, timeout: float | None) -> Stream:
    """The stream that a request asks for.

    Args:
        engine: the steps of the model.
        request: has the text as its only input, and the rules as parameters.
        timeout: the most seconds for the answer.

    Raises:
        OpError: an input or parameter does not fit, or there is no place.
    """
    check_fields(request.inputs, (TEXT,), "A request for text")
    text = request.inputs[TEXT]
    if text.size != 1 or not isinstance(text.item(), bytes):
        raise InvalidArgumentError(f"The input {TEXT!r} is a tensor of a single text, of the type BYTES.")
    parameters = {
        key: value
        for key, value in request.parameters.items()
        if key not in _OTHER and not key.startswith(("sequence_", "triton_", "priority"))
    }
    check_fields(parameters, PARAMETERS, "The parameters")
    try:
        prompt = text.item().decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"The input {TEXT!r} is no UTF-8 at its byte {error.start}.") from None
    return engine.generate(prompt, rules_of(parameters), stops_of(parameters.get("stop")), timeout)


async def pieces(stream: Stream, is_streamed: bool) -> AsyncGenerator[Piece, None]:
    """The answer: a piece for each token that has text and a last piece, or a single piece.

    Args:
        stream: the stream.
        is_streamed: whether there are several.
    """
    texts = []
    try:
        async for token in stream:
            if not is_streamed:
                texts.append(token.text)
            elif token.text:
                yield _piece(token.text, triton_final_response=False)
        yield _piece(
            "".join(texts),
            triton_final_response=True,
            finish_reason=stream.reason,
            prompt_tokens=stream.prompt_tokens,
            completion_tokens=stream.answer_tokens,
        )
    finally:
        stream.close()


def _piece(text: str, **parameters: Any) -> Piece:
    output = np.empty(1, object)
    output[0] = text.encode()
    return Piece({"text_output": output}, parameters)
