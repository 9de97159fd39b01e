"""`InferenceCall`: what a request asks a model, and how its outputs become the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from actorflow.errors import InvalidArgumentError
from actorflow.exchange.sources.signature import Signature
from actorflow.frontends.http.answers import JSON, Answer
from actorflow.frontends.serving.model import Model, ModelCall
from actorflow.frontends.serving.protocols import forms, kserve, rest
from actorflow.frontends.serving.protocols.answers import ok
from actorflow.frontends.serving.protocols.pieces import USUAL, Work, load
from actorflow.frontends.serving.protocols.routes import PathRoute
from actorflow.frontends.serving.versions import Served

_BYTES = b"application/octet-stream"


@dataclass(frozen=True, slots=True)
class InferenceHead:
    """The path and headers of a request for inference, in the form in which each request needs them.

    path, route: the path, and the thing that it asks for.
    seconds: after how many seconds the answer has no use any more; None for never.
    json_length: the header that says how much of the body is JSON, where tensors follow.
    json_size: that as a number, if it is a number.
    encoding: the compression of the body; empty for none.
    error: why no request with these headers is answered.
    """

    path: str
    route: PathRoute
    seconds: float | None
    json_length: str | None
    json_size: int | None
    encoding: str
    error: InvalidArgumentError | None

    @staticmethod
    def of(path: str, route: PathRoute, headers: Mapping[bytes, bytes], most_seconds: float | None) -> InferenceHead:
        """The head of a request.

        Args:
            path: the path, decoded.
            route: the thing that it asks for.
            headers: the headers; names in lower case.
            most_seconds: the most time for an answer; None for any. A request may ask for less.
        """
        error: InvalidArgumentError | None = None
        seconds = most_seconds
        try:
            seconds = time_limit(headers, most_seconds)
        except InvalidArgumentError as refusal:
            error = refusal
        header = headers.get(b"inference-header-content-length")
        length = None if header is None else header.decode("latin-1")
        size = None if length is None else kserve.json_size(length)
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").lower()
        return InferenceHead(path, route, seconds, length, size, encoding, error)


class InferenceCall(NamedTuple):
    """A request that a step answers.

    model: answers.
    call: its inputs.
    timeout: after how many seconds the answer has no use any more; None for never.
    answer: makes the answer from the call's outputs. Raises OpError if they have no such form.
    """

    model: Model
    call: ModelCall
    timeout: float | None
    answer: Callable[[Sequence[Any]], Answer]


def inference(head: InferenceHead, served: Served, body: bytes, work: Work = USUAL) -> InferenceCall:
    """The call of a model that a request asks for.

    Args:
        head: its path and headers.
        served: the model that it names.
        body: its body, without compression.
        work: the bounds of the work for it.

    Raises:
        OpError: the request does not fit, or there is no such version, signature or output.
    """
    route = head.route
    version, model = served.find(route.number, route.label)
    if head.error is not None:
        raise head.error.with_traceback(None)
    if route.protocol == "kserve":
        return _of_kserve(head, served.name, version, model, body, work)
    content, limit = load(body, work), head.seconds
    signature = model.signature(rest.signature_name(content))
    if route.view == ":predict":
        inputs, by_rows = rest.predict_inputs(content, signature)
        call = model.call(signature, inputs)
        return InferenceCall(model, call, limit, lambda target: ok(rest.predict_answer(call.named(target), by_rows)))
    method = route.view[1:]
    call = model.call(signature, rest.examples(content, signature, method))
    rows = len(content["examples"])
    return InferenceCall(model, call, limit, lambda target: ok(rest.results(call.named(target), method, rows)))


def _of_kserve(head: InferenceHead, name: str, version: int, model: Model, body: bytes, work: Work) -> InferenceCall:
    size = head.json_size
    if size is not None:
        content, identifier = forms.without_id(body[:size])
        form = model.forms.get(content)
        if form is not None and len(body) == size + form.size:
            timeout = least(head.seconds, form.timeout)
            return InferenceCall(
                model, form.call(body, size), timeout, partial(_answer, form.answers, form.order, identifier)
            )
    content, at = kserve.split(body, head.json_length)
    request = kserve.read(content, body, at, work)
    signature, call, timeout = kserve_call(model, request)
    answers = kserve.AnswerForm.of(request, name, version, signature, call.wanted)
    order = call.order
    if head.json_length is not None:
        forms.remember(model.forms, content, request, call, timeout, answers)
    return InferenceCall(model, call, least(head.seconds, timeout), partial(_answer, answers, order, request.id))


def kserve_call(model: Model, request: kserve.InferenceRequest) -> tuple[Signature, ModelCall, float | None]:
    """The signature that a request of the Open Inference Protocol names, the call of it, and the seconds that it leaves.

    Args:
        model: answers.
        request: the request.

    Raises:
        OpError: the request does not fit, or there is no such signature or output.
    """
    choice = request.parameters.get("signature_name", "")
    signature = model.signature(choice) if choice and isinstance(choice, str) else model.default
    micros = request.parameters.get("timeout")
    if micros is not None and (type(micros) is not int or micros < 0):
        raise InvalidArgumentError("The parameter 'timeout' has to be a number of microseconds.")
    timeout = min(micros, 10**18) / 1e6 if micros else None  # what is longer has no float
    return signature, model.call(signature, request.inputs, request.outputs), timeout


def _answer(form: kserve.AnswerForm, order: Sequence[int] | None, identifier: str, outputs: Sequence[Any]) -> Answer:
    """The answer from the outputs of a step, which are in the order `order`, if given."""
    data, size = form.body(outputs if order is None else [outputs[place] for place in order], identifier)
    if size is None:
        return 200, JSON, data, ()
    return 200, _BYTES, data, ((b"inference-header-content-length", b"%d" % size),)


def least(left: float | None, other: float | None) -> float | None:
    """The shorter of two limits."""
    return other if left is None else left if other is None else min(left, other)


def time_limit(headers: Mapping[bytes, bytes], timeout: float | None) -> float | None:
    """How many seconds a request has: those of its header `timeout-ms` or `x-request-timeout`, within the server's."""
    for key, scale in ((b"x-request-timeout", 1.0), (b"timeout-ms", 1e-3)):
        text = headers.get(key)
        if text is not None:
            try:
                seconds = float(text) * scale
            except ValueError:
                seconds = math.nan
            if not 0 < seconds < math.inf:
                raise InvalidArgumentError(f"The header {key.decode()} has to be a positive number.")
            return seconds if timeout is None else min(seconds, timeout)
    return timeout
