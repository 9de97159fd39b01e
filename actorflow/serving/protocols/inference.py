"""`Inference`: what a request asks a model, and how its outputs become the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from actorflow.errors import InvalidArgumentError
from actorflow.serving.model import Call, Model
from actorflow.serving.protocols import kserve, rest
from actorflow.serving.protocols.answers import JSON, Answer, ok
from actorflow.serving.protocols.bodies import load_json
from actorflow.serving.protocols.routes import Route
from actorflow.serving.versions import Served

_BYTES = b"application/octet-stream"


class Inference(NamedTuple):
    """A request that a step answers.

    model: answers.
    call: its inputs.
    timeout: after how many seconds the answer has no use any more; None for never.
    answer: makes the answer from the call's outputs. Raises OpError where they have no such form.
    """

    model: Model
    call: Call
    timeout: float | None
    answer: Callable[[Sequence[Any]], Answer]


def inference(
    route: Route, served: Served, headers: Mapping[bytes, bytes], body: bytes, timeout: float | None
) -> Inference:
    """The call of a model that a request asks for.

    Args:
        route: the path, one of inference.
        served: the model that it names.
        headers: the headers; names in lower case.
        body: the body, without compression.
        timeout: the most seconds for an answer; None for any number. A request may ask for less.

    Raises:
        OpError: the request does not fit, or there is no such version, signature or output.
    """
    version, model = served.find(route.number, route.label)
    limit = _limit(headers, timeout)
    if route.protocol == "kserve":
        return _of_kserve(served.name, version, model, headers, body, limit)
    content = load_json(body)
    signature = model.signature(rest.signature_name(content))
    if route.view == ":predict":
        inputs, by_rows = rest.predict_inputs(content, signature)
        call = model.call(signature, inputs)
        return Inference(model, call, limit, lambda found: ok(rest.predict_answer(call.named(found), by_rows)))
    method = route.view[1:]
    call = model.call(signature, rest.examples(content, signature, method))
    rows = len(content["examples"])
    return Inference(model, call, limit, lambda found: ok(rest.results(call.named(found), method, rows)))


def _of_kserve(
    name: str, version: int, model: Model, headers: Mapping[bytes, bytes], body: bytes, limit: float | None
) -> Inference:
    length = headers.get(b"inference-header-content-length")
    request = kserve.read(body, None if length is None else length.decode("latin-1"))
    asked = request.parameters.get("signature_name", "")
    signature = model.signature(asked) if asked and isinstance(asked, str) else model.default
    micros = request.parameters.get("timeout")
    if micros is not None and (type(micros) is not int or micros < 0):
        raise InvalidArgumentError("The parameter 'timeout' has to be a number of microseconds.")
    if micros:
        seconds = min(micros, 10**18) / 1e6  # what is longer has no float
        limit = seconds if limit is None else min(seconds, limit)
    call = model.call(signature, request.inputs, request.outputs)

    def answer(found: Sequence[Any]) -> Answer:
        data, head = kserve.answer(request, name, version, signature, call.named(found))
        if head is None:
            return 200, JSON, data, ()
        return 200, _BYTES, data, ((b"inference-header-content-length", b"%d" % head),)

    return Inference(model, call, limit, answer)


def _limit(headers: Mapping[bytes, bytes], timeout: float | None) -> float | None:
    """How many seconds a request has: those of its header `timeout-ms` or `x-request-timeout`, within the server's."""
    for key, scale in ((b"x-request-timeout", 1.0), (b"timeout-ms", 1e-3)):
        given = headers.get(key)
        if given is not None:
            try:
                seconds = float(given) * scale
            except ValueError:
                seconds = math.nan
            if not 0 < seconds < math.inf:
                raise InvalidArgumentError(f"The header {key.decode()} has to be a positive number.")
            return seconds if timeout is None else min(seconds, timeout)
    return timeout
