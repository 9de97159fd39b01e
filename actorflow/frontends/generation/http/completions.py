"""`/v1/completions`, as OpenAI has it: `openai`'s clients take this server for theirs."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

from actorflow.errors import InvalidArgumentError, OpError
from actorflow.frontends.generation.http.asked import check_fields, flag, prompts_of, rules_of, stops_of
from actorflow.frontends.generation.http.events import DONE, HEADERS, KIND, event
from actorflow.frontends.generation.model import GenerationEngine
from actorflow.frontends.generation.stream import Stream, merged
from actorflow.frontends.http.answers import Answer, Streamed
from actorflow.frontends.serving.protocols.answers import ok, refused
from actorflow.frontends.serving.protocols.writing import dump_json

PATH = "/v1/completions"
_MOST_CHOICES = 16
_ABSENT = frozenset(("best_of", "logprobs", "suffix", "presence_penalty", "frequency_penalty", "logit_bias"))
"""Fields that may be there with a value that asks for nothing."""
_COUNTS = frozenset(("best_of", "logprobs"))
"""Fields of `_ABSENT` for which 0 asks for something."""
_FIELDS = _ABSENT | frozenset(
    ("model", "prompt", "max_tokens", "temperature", "top_p", "top_k", "n", "stream", "stream_options", "stop")
    + ("seed", "echo", "user")
)


@dataclass(frozen=True, slots=True)
class Completion:
    """A request and its streams.

    Args:
        model: the name of the model.
        streams: a stream for each choice.
        prompts: what each choice begins with, where the prompt is asked for too.
        is_streamed: whether the answer comes as events.
        tells_usage: whether the last event says how many tokens there were.
    """

    model: str
    streams: list[Stream]
    prompts: list[str]
    is_streamed: bool
    tells_usage: bool

    def close(self) -> None:
        """Cancels what has not ended."""
        for stream in self.streams:
            stream.close()

    def usage(self) -> dict[str, int]:
        """How many tokens there were."""
        prompt, answer = (sum(getattr(s, name) for s in self.streams) for name in ("prompt_tokens", "answer_tokens"))
        return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def begin(engine: GenerationEngine, content: dict[str, Any], timeout: float | None) -> Completion:
    """The streams that a request asks for: all of them, or none.

    Args:
        engine: the steps of the model.
        content: the body of the request.
        timeout: the most seconds for the answer.

    Raises:
        OpError: a field does not fit, or there is no place.
    """
    check_fields(content, _FIELDS)
    number = content.get("n")
    count = 1 if number is None else number
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_CHOICES:
        raise InvalidArgumentError(f"The field 'n' is a whole number from 1 to {_MOST_CHOICES}.")
    for name in sorted(_ABSENT):
        value = content.get(name)
        is_absent = value is None or value is False
        asks_nothing = is_absent if name in _COUNTS else is_absent or value in (0, {}, "")
        if not asks_nothing and not (name == "best_of" and value == count):
            raise InvalidArgumentError(f"The field {name!r} is not known to models here; leave it out.")
    options = content.get("stream_options") or {}
    if not isinstance(options, dict):
        raise InvalidArgumentError("The field 'stream_options' is an object.")
    rules, stops = rules_of(content), stops_of(content.get("stop"))
    prompts = [prompt for prompt in prompts_of(content.get("prompt"), _MOST_CHOICES // count) for _ in range(count)]
    echoes = flag(content, "echo")
    completion = Completion(content["model"], [], [], flag(content, "stream"), flag(options, "include_usage"))
    try:
        for place, prompt in enumerate(prompts):
            seed = (rules.seed + place % count) % (1 << 62)
            own = rules if place % count == 0 else replace(rules, seed=seed)
            completion.streams.append(engine.generate(prompt, own, stops, timeout))
            completion.prompts.append(_text(engine, prompt) if echoes else "")  # its tokens are checked now
    except BaseException:
        completion.close()
        raise
    return completion


def _text(engine: GenerationEngine, prompt: str | list[int]) -> str:
    if isinstance(prompt, str):
        return prompt
    return "" if engine.tokenizer is None else engine.tokenizer.decode(engine.tokens(prompt))


def _facts(completion: Completion) -> dict[str, Any]:
    identity = f"cmpl-{os.urandom(12).hex()}"
    return {"id": identity, "object": "text_completion", "created": int(time.time()), "model": completion.model}


def _choice(index: int, text: str, reason: str | None) -> dict[str, Any]:
    return {"text": text, "index": index, "logprobs": None, "finish_reason": reason}


async def whole(completion: Completion) -> Answer:
    """The answer in one piece. Raises OpError where a stream fails."""
    texts = [[prompt] for prompt in completion.prompts]
    try:
        async with contextlib.aclosing(merged(completion.streams)) as tokens:
            async for index, token in tokens:
                if token is not None:
                    texts[index].append(token.text)
    finally:
        completion.close()
    choices = [_choice(index, "".join(texts[index]), stream.reason) for index, stream in enumerate(completion.streams)]
    return ok({**_facts(completion), "choices": choices, "usage": completion.usage()})


def streamed(completion: Completion) -> Streamed:
    """The answer as events, in the order in which the tokens of all choices come."""
    return Streamed(200, KIND, _parts(completion), HEADERS)


async def _parts(completion: Completion) -> AsyncGenerator[bytes, None]:
    facts = _facts(completion)
    if completion.tells_usage:
        facts["usage"] = None

    def of(index: int, text: str, reason: str | None) -> bytes:
        return event({**facts, "choices": [_choice(index, text, reason)]})

    try:
        for index, prompt in enumerate(completion.prompts):
            if prompt:
                yield of(index, prompt, None)
        async with contextlib.aclosing(merged(completion.streams)) as tokens:
            async for index, token in tokens:
                if token is None:
                    yield of(index, "", completion.streams[index].reason)
                elif token.text:
                    yield of(index, token.text, None)
        if completion.tells_usage:
            yield event({**facts, "choices": [], "usage": completion.usage()})
        yield DONE
    except OpError as error:
        yield event(_error(error))
    finally:
        completion.close()


def _error(error: OpError) -> dict[str, Any]:
    kind = "invalid_request_error" if error.code in (3, 5, 9, 11) else "server_error"
    return {"error": {"message": error.message, "type": kind, "param": None, "code": None}}


def failure(error: OpError) -> Answer:
    """The answer to a request that was refused or failed, in OpenAI's form."""
    status, kind, _, more = refused(PATH, error)
    return status, kind, dump_json(_error(error)), more
