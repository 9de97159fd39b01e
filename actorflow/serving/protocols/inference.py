"""`Inference`: what a request asks a model, and how its outputs become the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.serving.model import Call, Model
from actorflow.serving.protocols import kserve, rest
from actorflow.serving.protocols.answers import JSON, Answer, ok
from actorflow.serving.protocols.bodies import load_json
from actorflow.serving.protocols.routes import Route
from actorflow.serving.versions import Served

_BYTES = b"application/octet-stream"
_MOST_REMEMBERED = 2 << 10
"""Bytes of the JSON of requests whose form is remembered: clients that send tensors as bytes send the same JSON before them."""
_MOST_FORMS = 128


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
    head, at = kserve.split(body, None if length is None else length.decode("latin-1"))
    known = model.forms.get(head) if length is not None else None
    if known is not None and known.fits(body):
        arrays = [
            np.frombuffer(body, dtype, count, at + begin).reshape(shape) for dtype, count, begin, shape in known.inputs
        ]
        call = known.call._replace(arrays=arrays)
        return Inference(model, call, _least(limit, known.timeout), known.answer)
    request = kserve.read(head, body, at)
    asked = request.parameters.get("signature_name", "")
    signature = model.signature(asked) if asked and isinstance(asked, str) else model.default
    micros = request.parameters.get("timeout")
    if micros is not None and (type(micros) is not int or micros < 0):
        raise InvalidArgumentError("The parameter 'timeout' has to be a number of microseconds.")
    timeout = min(micros, 10**18) / 1e6 if micros else None  # what is longer has no float
    call = model.call(signature, request.inputs, request.outputs)
    named, heads = call._replace(arrays=[]).named, dict[Any, bytes]()  # the answer may be remembered, the arrays not
    inputs, request = request.inputs, replace(request, inputs={})

    def answer(found: Sequence[Any]) -> Answer:
        data, size = kserve.answer(request, name, version, signature, named(found), heads)
        if size is None:
            return 200, JSON, data, ()
        return 200, _BYTES, data, ((b"inference-header-content-length", b"%d" % size),)

    if length is not None and len(head) <= _MOST_REMEMBERED and not request.id:
        _remember(model, head, len(body), inputs, call, timeout, answer)
    return Inference(model, call, _least(limit, timeout), answer)


class _Known(NamedTuple):
    """Requests of one form: the same JSON, with the bytes of tensors behind it. They were found to fit.

    size: how long their bodies are.
    inputs: type, count, place and shape of each tensor, in the order of the signature.
    call: the call of one of them, without its arrays.
    timeout, answer: see `Inference`.
    """

    size: int
    inputs: list[tuple[Any, int, int, tuple[int, ...]]]
    call: Call
    timeout: float | None
    answer: Callable[[Sequence[Any]], Answer]

    def fits(self, body: bytes) -> bool:
        """Whether a body has this form, where its JSON has."""
        return len(body) == self.size


def _remember(
    model: Model,
    head: bytes,
    size: int,
    inputs: Mapping[str, Any],
    call: Call,
    timeout: float | None,
    answer: Callable[[Sequence[Any]], Answer],
) -> None:
    """Remembers the form of a request whose tensors are taken just as they lie in its body."""
    places, begin = {}, 0
    for array in inputs.values():
        if array.flags.writeable:  # it is a copy
            return
        places[id(array)] = array.dtype, array.size, begin, array.shape
        begin += array.nbytes
    if all(id(array) in places for array in call.arrays):
        known = _Known(size, [places[id(array)] for array in call.arrays], call._replace(arrays=[]), timeout, answer)
        if len(model.forms) >= _MOST_FORMS:
            model.forms.clear()
        model.forms[head] = known


def _least(one: float | None, other: float | None) -> float | None:
    """The shorter of two limits."""
    return other if one is None else one if other is None else min(one, other)


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
