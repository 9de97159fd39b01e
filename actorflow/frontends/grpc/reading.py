"""`InferRequest`: a request for inference, out of its message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.base.records import wire
from actorflow.base.records.wire import BYTES
from actorflow.errors import InvalidArgumentError
from actorflow.frontends.grpc.messages import (
    INPUTS,
    RAW_INPUTS,
    TENSOR_CONTENTS,
    InferParameter,
    ModelInferRequest,
    Tensor,
)
from actorflow.frontends.grpc.tensors import of_contents
from actorflow.frontends.http.answers import SMALL, TooLargeError
from actorflow.frontends.serving.protocols import kserve
from actorflow.frontends.serving.protocols.pieces import Work
from actorflow.frontends.serving.protocols.routes import PathRoute

_ENTRY = 32
"""Bytes that an entry of a list counts for, beside its own: each becomes an object."""


@dataclass(frozen=True, slots=True)
class InferRequest:
    """A request for inference.

    model: the name of the model.
    version: the number of the version; None for the latest.
    content: its inputs as arrays, the outputs that it asks for, its id and its parameters.
    is_raw: whether its tensors came as raw bytes; those of the answer go in the same way.
    """

    model: str
    version: int | None
    content: kserve.InferenceRequest
    is_raw: bool


def version_of(name: str, version: str) -> int | None:
    """The number of a version in a message; None where none is named. Raises InvalidArgumentError for other text."""
    return PathRoute("kserve", "", name, version or None).number


def value_of(parameter: InferParameter) -> Any:
    """The value of a parameter; None where none is set."""
    choice = parameter.WhichOneof("parameter_choice")
    return None if choice is None else getattr(parameter, choice)


def parameters_of(values: Mapping[str, Any]) -> dict[str, InferParameter]:
    """Values as parameters.

    Args:
        values: truth values, integers, floats or texts by name.
    """
    fields = {bool: "bool_param", int: "int64_param", float: "double_param"}
    return {key: InferParameter(**{fields.get(type(value), "string_param"): value}) for key, value in values.items()}


def check_size(data: bytes) -> None:
    """Raises TooLargeError for a message with large fields beside its tensors: such fields would become many objects.

    Args:
        data: a `ModelInferRequest`.
    """
    rest = 0
    for number, kind, value in wire.fields(memoryview(data)):
        rest += _ENTRY
        if kind != BYTES or number == RAW_INPUTS:
            pass
        elif number == INPUTS:
            for inner, inner_kind, part in wire.fields(value):
                rest += _ENTRY
                rest += len(part) if inner_kind == BYTES and inner != TENSOR_CONTENTS else 0
        else:
            rest += len(value)
        if rest > SMALL:
            raise TooLargeError(f"The request has more than {SMALL} bytes beside the values of its tensors.")


def read(data: bytes, work: Work) -> InferRequest:
    """The request that a message is.

    Args:
        data: a `ModelInferRequest`.
        work: the bounds of the work for it.

    Raises:
        InvalidArgumentError: it has another form; the message names the field.
        TooLargeError: more of it is large than its tensors.
    """
    check_size(data)
    message = ModelInferRequest.FromString(data)
    inputs: dict[str, Any] = {}
    raw = iter(message.raw_input_contents)
    is_raw = len(message.raw_input_contents) > 0
    for index, tensor in enumerate(message.inputs):
        work.check()
        if tensor.name in inputs:
            raise InvalidArgumentError(f"The input {tensor.name!r} is there twice.")
        inputs[tensor.name] = _array(index, tensor, next(raw, None), is_raw, work)
    if (more := sum(1 for _ in raw)) > 0:
        raise InvalidArgumentError(f"raw_input_contents has {more} entries that belong to no input.")
    outputs = tuple([output.name for output in message.outputs])
    parameters = {key: value_of(parameter) for key, parameter in message.parameters.items()}
    content = kserve.InferenceRequest(inputs, outputs, frozenset(), is_raw, message.id, parameters)
    return InferRequest(message.model_name, version_of(message.model_name, message.model_version), content, is_raw)


def _array(index: int, tensor: Tensor, raw: bytes | None, is_raw: bool, work: Work) -> Any:
    entry = {"name": tensor.name, "datatype": tensor.datatype, "shape": list(tensor.shape)}
    port = kserve.input_of(index, entry)
    what = f"The input {tensor.name!r}"
    if not is_raw:
        return of_contents(what, port.kind, port.shape, port.count, tensor.contents, work)
    if tensor.contents:
        raise InvalidArgumentError(
            f"{what} has typed contents, but the request has raw_input_contents: use either for all."
        )
    if raw is None:
        raise InvalidArgumentError(f"{what} has no entry in raw_input_contents.")
    return kserve.of_bytes(what, port.kind, port.shape, port.count, memoryview(raw), work)
