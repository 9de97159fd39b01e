"""The messages of `inference.GRPCInferenceService`, as KServe and Triton number their fields."""

from __future__ import annotations

from typing import ClassVar

from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field

TENSOR_CONTENTS = 5
"""The number of the typed values in a message of a tensor."""
INPUTS, RAW_INPUTS = 5, 7
"""The numbers of inputs and of their bytes in a `ModelInferRequest`."""


class InferParameter(Message):
    """A parameter of a request, of a tensor or of an answer."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "bool_param": Field(1, "bool", oneof="parameter_choice"),
        "int64_param": Field(2, "int", oneof="parameter_choice"),
        "string_param": Field(3, "string", oneof="parameter_choice"),
        "double_param": Field(4, "double", oneof="parameter_choice"),
        "uint64_param": Field(5, "uint", oneof="parameter_choice"),
    }


_PARAMETERS = Field(4, InferParameter, key="string")


class NamedRequest(Message):
    """A request that names a model and perhaps a version: `ModelReady`, `ModelMetadata`, `ModelConfig`, `ModelStatistics`."""

    FIELDS: ClassVar[dict[str, Field]] = {"name": Field(1, "string"), "version": Field(2, "string")}


class Truth(Message):
    """The answer of `ServerLive`, `ServerReady` and `ModelReady`."""

    FIELDS: ClassVar[dict[str, Field]] = {"value": Field(1, "bool")}


class ServerMetadata(Message):
    """The name, the version and the extensions of a server."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "version": Field(2, "string"),
        "extensions": Field(3, "string", repeated=True),
    }


class TensorMetadata(Message):
    """The name, the type and the sizes of an input or output; -1 is any size."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "datatype": Field(2, "string"),
        "shape": Field(3, "int", repeated=True),
    }


class ModelMetadata(Message):
    """The inputs and outputs of a model."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "versions": Field(2, "string", repeated=True),
        "platform": Field(3, "string"),
        "inputs": Field(4, TensorMetadata, repeated=True),
        "outputs": Field(5, TensorMetadata, repeated=True),
    }


class ConfiguredInput(Message):
    """An input in a configuration."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "data_type": Field(2, "enum"),
        "dims": Field(4, "int", repeated=True),
    }


class ConfiguredOutput(Message):
    """An output in a configuration."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "data_type": Field(2, "enum"),
        "dims": Field(3, "int", repeated=True),
    }


class Configuration(Message):
    """The fields of Triton's `ModelConfig` that a model here has."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "platform": Field(2, "string"),
        "max_batch_size": Field(4, "int"),
        "input": Field(5, ConfiguredInput, repeated=True),
        "output": Field(6, ConfiguredOutput, repeated=True),
        "backend": Field(17, "string"),
    }


class ModelConfig(Message):
    """The answer of `ModelConfig`."""

    FIELDS: ClassVar[dict[str, Field]] = {"config": Field(1, Configuration)}


class Duration(Message):
    """A count and the time of all together, in nanoseconds."""

    FIELDS: ClassVar[dict[str, Field]] = {"count": Field(1, "uint"), "ns": Field(2, "uint")}


class InferStatistics(Message):
    """The answers of a model that succeeded and failed."""

    FIELDS: ClassVar[dict[str, Field]] = {"success": Field(1, Duration), "fail": Field(2, Duration)}


class ModelStatistics(Message):
    """The counts of a model."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "version": Field(2, "string"),
        "inference_count": Field(4, "uint"),
        "execution_count": Field(5, "uint"),
        "inference_stats": Field(6, InferStatistics),
    }


class Statistics(Message):
    """The answer of `ModelStatistics`."""

    FIELDS: ClassVar[dict[str, Field]] = {"model_stats": Field(1, ModelStatistics, repeated=True)}


class RepositoryRequest(Message):
    """A request for the list of all models, or of the ready models."""

    FIELDS: ClassVar[dict[str, Field]] = {"repository_name": Field(1, "string"), "ready": Field(2, "bool")}


class ModelIndex(Message):
    """A version of a model in the list."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "version": Field(2, "string"),
        "state": Field(3, "string"),
        "reason": Field(4, "string"),
    }


class RepositoryIndex(Message):
    """The list of models."""

    FIELDS: ClassVar[dict[str, Field]] = {"models": Field(1, ModelIndex, repeated=True)}


class ControlRequest(Message):
    """A request to load or to unload a model. Its parameters, such as a configuration in place of the model's, stay bytes."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "repository_name": Field(1, "string"),
        "model_name": Field(2, "string"),
        "parameters": Field(3, "bytes", repeated=True),
    }


class Empty(Message):
    """A message without fields."""


class Tensor(Message):
    """An input or output: its description, and its typed values as they are on the wire. Bytes of tensors come elsewhere."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "datatype": Field(2, "string"),
        "shape": Field(3, "int", repeated=True),
        "parameters": _PARAMETERS,
        "contents": Field(TENSOR_CONTENTS, "bytes"),
    }


class RequestedOutput(Message):
    """An output that a request asks for."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "parameters": Field(2, InferParameter, key="string"),
    }


class ModelInferRequest(Message):
    """A request for inference."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "model_name": Field(1, "string"),
        "model_version": Field(2, "string"),
        "id": Field(3, "string"),
        "parameters": _PARAMETERS,
        "inputs": Field(INPUTS, Tensor, repeated=True),
        "outputs": Field(6, RequestedOutput, repeated=True),
        "raw_input_contents": Field(RAW_INPUTS, "bytes", repeated=True),
    }


class ModelInferResponse(Message):
    """An answer to a request for inference."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "model_name": Field(1, "string"),
        "model_version": Field(2, "string"),
        "id": Field(3, "string"),
        "parameters": _PARAMETERS,
        "outputs": Field(5, Tensor, repeated=True),
        "raw_output_contents": Field(6, "bytes", repeated=True),
    }


class ModelStreamInferResponse(Message):
    """An answer on a stream, or the reason why there is none."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "error_message": Field(1, "string"),
        "infer_response": Field(2, ModelInferResponse),
    }
