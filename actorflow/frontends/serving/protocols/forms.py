"""`Form`: requests that differ in their ids and in the bytes of their tensors alone are checked once.

Clients that send tensors as bytes send the same JSON before them each time, perhaps with another `id` as its first key. A body
has nothing but this JSON and the tensors, so the JSON of one request that fits says it of all. A model remembers 128 forms, and a
form keeps no body and no array.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.frontends.serving.model import ModelCall
from actorflow.frontends.serving.protocols import kserve

_MOST = 128
"""Forms of a model."""
_MOST_BYTES = 2 << 10
"""Bytes of the JSON of a form."""
_ID = re.compile(rb'\{\s*"id"\s*:\s*"([ !#-\[\]-~]+)"\s*,')
"""The begin of JSON whose first key is an id that needs no escapes."""


@dataclass(frozen=True, slots=True)
class Form:
    """Requests that were found to fit, by their JSON.

    size: the bytes of their tensors.
    inputs: type, count, place and shape of each tensor, in the order of the signature.
    key, rows, names, wanted: see `ModelCall`.
    order: see `ModelCall`.
    timeout: after how many seconds the answer has no use any more, as the JSON says.
    answers: writes their answers.
    """

    size: int
    inputs: tuple[tuple[Any, int, int, tuple[int, ...]], ...]
    key: tuple[Any, ...]
    rows: int | None
    names: tuple[str, ...]
    wanted: tuple[str, ...]
    order: tuple[int, ...] | None
    timeout: float | None
    answers: kserve.AnswerForm

    def call(self, body: bytes, at: int) -> ModelCall:
        """The call of a request of this form, whose tensors begin `at` a place of its body."""
        arrays = [
            np.frombuffer(body, dtype, count, at + begin).reshape(shape) for dtype, count, begin, shape in self.inputs
        ]
        return ModelCall(self.key, arrays, self.rows, self.names, self.wanted)


def without_id(content: bytes) -> tuple[bytes, str]:
    """The JSON of a request without the id that it begins with, and the id; as it is, and "", if it begins with no id."""
    if not content.startswith(b'{"id"'):
        return content, ""
    match = _ID.match(content)
    if match is None:
        return content, ""
    return b"{" + content[match.end() :], match[1].decode("ascii")


def remember(
    known: dict[bytes, Form],
    content: bytes,
    request: kserve.InferenceRequest,
    call: ModelCall,
    timeout: float | None,
    answers: kserve.AnswerForm,
) -> None:
    """Remembers the form of a request whose tensors are taken just as they lie in its body.

    Args:
        known: the forms of its model by their JSON, without ids.
        content: its JSON.
        request: what that says.
        call: the call that it became.
        timeout: see `Form`.
        answers: see `Form`.
    """
    key, identifier = without_id(content)
    if len(key) > _MOST_BYTES or identifier != request.id or b'"id"' in key or b"\\" in key:
        return
    places, begin = {}, 0
    for array in request.inputs.values():
        if array.flags.writeable:  # it is a copy
            return
        places[id(array)] = array.dtype, array.size, begin, array.shape
        begin += array.nbytes
    if all(id(array) in places for array in call.arrays):
        inputs = tuple([places[id(array)] for array in call.arrays])
        if len(known) >= _MOST:
            known.clear()
        known[key] = Form(begin, inputs, call.key, call.rows, call.names, call.wanted, call.order, timeout, answers)
