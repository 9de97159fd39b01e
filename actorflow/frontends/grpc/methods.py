"""The methods that need no step: status, metadata, configuration, statistics, the repository."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from actorflow.base.records.messages.message import Message
from actorflow.frontends.grpc import messages
from actorflow.frontends.grpc.reading import version_of
from actorflow.frontends.serving.application import Application
from actorflow.frontends.serving.model import Model
from actorflow.frontends.serving.protocols import kserve
from actorflow.frontends.serving.protocols.questions import answers, index, is_ready, named, statistics

Method = Callable[[Application, bytes], Awaitable[Message]]
_TYPES = [
    "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "STRING",
    "BF16",
]  # fmt: skip
"""The types of `model_config.proto`, which numbers them from 1."""


async def _server_live(application: Application, data: bytes) -> Message:
    return messages.Truth(value=True)


async def _server_ready(application: Application, data: bytes) -> Message:
    return messages.Truth(value=is_ready(application.served))


async def _model_ready(application: Application, data: bytes) -> Message:
    request = messages.NamedRequest.FromString(data)
    served = named(application.served, request.name)
    return messages.Truth(value=answers(served, version_of(request.name, request.version)))


async def _server_metadata(application: Application, data: bytes) -> Message:
    return messages.ServerMetadata(**kserve.server_metadata())


async def _model_metadata(application: Application, data: bytes) -> Message:
    name, _, model = _model(application, data)
    content = kserve.model_metadata(name, application.served[name].available(), model.default)
    return messages.ModelMetadata(**_with_messages(content, messages.TensorMetadata, "inputs", "outputs"))


async def _model_config(application: Application, data: bytes) -> Message:
    name, _, model = _model(application, data)
    content = kserve.configuration(name, model.default, application.most_rows)
    for port in (*content["input"], *content["output"]):
        kind = port["data_type"].removeprefix("TYPE_")
        port["data_type"] = _TYPES.index(kind) + 1 if kind in _TYPES else 0
    content["input"] = [messages.ConfiguredInput(**port) for port in content["input"]]
    content["output"] = [messages.ConfiguredOutput(**port) for port in content["output"]]
    return messages.ModelConfig(config=messages.Configuration(**content))


async def _model_statistics(application: Application, data: bytes) -> Message:
    request = messages.NamedRequest.FromString(data)
    names = [request.name] if request.name else list(application.served)
    entries = []
    for name in names:
        version, _ = named(application.served, name).find(version_of(name, request.version if request.name else ""))
        content = statistics(name, version, application.measures)
        times = {key: messages.Duration(**value) for key, value in content["inference_stats"].items()}
        entries.append(messages.ModelStatistics(**{**content, "inference_stats": messages.InferStatistics(**times)}))
    return messages.Statistics(model_stats=entries)


async def _repository_index(application: Application, data: bytes) -> Message:
    request = messages.RepositoryRequest.FromString(data)
    entries = [each for each in index(application.served) if each["state"] == "READY" or not request.ready]
    return messages.RepositoryIndex(models=[messages.ModelIndex(**entry) for entry in entries])


async def _load(application: Application, data: bytes) -> Message:
    await application.control(messages.ControlRequest.FromString(data).model_name, True)
    return messages.Empty()


async def _unload(application: Application, data: bytes) -> Message:
    await application.control(messages.ControlRequest.FromString(data).model_name, False)
    return messages.Empty()


def _model(application: Application, data: bytes) -> tuple[str, int, Model]:
    request = messages.NamedRequest.FromString(data)
    version, model = named(application.served, request.name).find(version_of(request.name, request.version))
    return request.name, version, model


def _with_messages(content: Mapping[str, Any], kind: type[Message], *keys: str) -> dict[str, Any]:
    return {**content, **{key: [kind(**entry) for entry in content[key]] for key in keys}}


METHODS: Mapping[str, Method] = {
    "ServerLive": _server_live,
    "ServerReady": _server_ready,
    "ModelReady": _model_ready,
    "ServerMetadata": _server_metadata,
    "ModelMetadata": _model_metadata,
    "ModelConfig": _model_config,
    "ModelStatistics": _model_statistics,
    "RepositoryIndex": _repository_index,
    "RepositoryModelLoad": _load,
    "RepositoryModelUnload": _unload,
}
"""By name."""
