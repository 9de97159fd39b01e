"""`written`: an answer as its message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.records import wire
from actorflow.frontends.grpc.messages import ModelInferResponse, ModelStreamInferResponse, Tensor
from actorflow.frontends.grpc.reading import InferRequest, parameters_of
from actorflow.frontends.grpc.tensors import has_list, to_contents
from actorflow.frontends.serving.protocols.kserve import to_bytes


def written(
    request: InferRequest,
    version: int,
    outputs: Sequence[tuple[str, str, Any]],
    parameters: Mapping[str, Any] | None = None,
) -> bytes:
    """An answer: raw bytes for a request of raw bytes, and where an output has no typed list.

    Args:
        request: the request.
        version: the version of the model.
        outputs: the name, the type and the array of each output.
        parameters: those of the answer.
    """
    arrays = [(name, kind, np.asarray(array)) for name, kind, array in outputs]
    is_raw = request.is_raw or not all(has_list(kind) for _, kind, _ in arrays)
    tensors = [
        Tensor(
            name=name,
            datatype=kind,
            shape=list(array.shape),
            contents=None if is_raw else to_contents(array, kind),
        )
        for name, kind, array in arrays
    ]
    head = ModelInferResponse(
        model_name=request.model,
        model_version=str(version),
        id=request.content.id,
        parameters=parameters_of(parameters or {}),
        outputs=tensors,
    )
    number = ModelInferResponse.FIELDS["raw_output_contents"].number
    raw = [wire.write_field(number, to_bytes(array, kind)) for _, kind, array in arrays] if is_raw else []
    return b"".join([head.SerializeToString(), *raw])


def on_stream(answer: bytes) -> bytes:
    """An answer as a message of a stream."""
    return wire.write_field(ModelStreamInferResponse.FIELDS["infer_response"].number, answer)


def failed_on_stream(message: str, identifier: str) -> bytes:
    """The reason why a request on a stream has no answer, with the id of the request."""
    return ModelStreamInferResponse(error_message=message, infer_response={"id": identifier}).SerializeToString()
