"""A server by gRPC in this process, and calls of it by grpcio's generic channel."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frontends.serving.served import application, write_line, write_words
from patience import PATIENCE

import actorflow as af
from actorflow.frontends.grpc import messages
from actorflow.frontends.grpc.messages import ModelInferRequest, ModelInferResponse, Tensor

grpc = pytest.importorskip("grpc")
SERVICE = "/inference.GRPCInferenceService/"
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


class Calls:
    """Calls of a server.

    Args:
        channel: a channel to it.
        server: the server.
        app: its application.
    """

    def __init__(self, channel: Any, server: Any, app: Any) -> None:
        self.channel, self.server, self.app = channel, server, app

    def begin(self, method: str, request: Any = b"", timeout: float = PATIENCE, **options: Any) -> Any:
        """A call of a method with one message each way."""
        data = request if isinstance(request, bytes) else request.SerializeToString()
        return self.channel.unary_unary(SERVICE + method)(data, timeout=timeout, **options)

    async def call(self, method: str, request: Any, kind: Any, **options: Any) -> Any:
        """The answer of a method."""
        return kind.FromString(await self.begin(method, request, **options))

    async def infer(self, request: Any, **options: Any) -> Any:
        """The answer of `ModelInfer`."""
        return await self.call("ModelInfer", request, ModelInferResponse, **options)

    async def fails(self, method: str, request: Any, **options: Any) -> tuple[str, str]:
        """The code and the words with which a call is refused."""
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await self.begin(method, request, **options)
        return failure.value.code().name, failure.value.details()

    def stream(self, method: str = "ModelStreamInfer") -> Any:
        """A call of a method that says nothing yet."""
        return self.channel.stream_stream(SERVICE + method)(timeout=PATIENCE)


@contextlib.asynccontextmanager
async def serving(folder: Path, *, server: Any = None, **options: Any) -> AsyncIterator[Calls]:
    """A server of the models `line` and `words`, with arguments of its own beside the application's, and calls of it."""
    write_line(folder / "line" / "1", 2)
    write_words(folder / "words" / "1")
    async with application(folder, **options) as app, af.serving.GrpcServer(app, port=0, **server or {}) as listener:
        most = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        async with grpc.aio.insecure_channel(listener.address.removeprefix("grpc://"), options=most) as channel:
            yield Calls(channel, listener, app)
        assert app.large.held == 0


def rows(values: Any = ROWS, **more: Any) -> ModelInferRequest:
    """A request to `line` with raw bytes."""
    array = np.asarray(values, np.float32)
    tensor = Tensor(name="x", datatype="FP32", shape=list(array.shape))
    return ModelInferRequest(
        **{"model_name": "line", "inputs": [tensor], "raw_input_contents": [array.tobytes()], **more}
    )


def parameter(value: Any) -> messages.InferParameter:
    """A parameter."""
    fields = {bool: "bool_param", int: "int64_param", float: "double_param", str: "string_param"}
    return messages.InferParameter(**{fields[type(value)]: value})


def of_answer(answer: Any, name: str) -> Any:
    """A float32 output of an answer in raw bytes."""
    place = [output.name for output in answer.outputs].index(name)
    return np.frombuffer(answer.raw_output_contents[place], np.float32).reshape(list(answer.outputs[place].shape))
