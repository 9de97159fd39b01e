"""`RpcExchange`: a request for inference, from its message to its answers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.errors import OpError
from actorflow.exchange.sources.signature import Port
from actorflow.frontends.grpc.reading import InferRequest, read
from actorflow.frontends.grpc.writing import written
from actorflow.frontends.http.answers import SMALL
from actorflow.frontends.serving.application import Application
from actorflow.frontends.serving.model import Model
from actorflow.frontends.serving.plugin import Piece
from actorflow.frontends.serving.protocols.answers import status_of
from actorflow.frontends.serving.protocols.inference import kserve_call, least
from actorflow.frontends.serving.protocols.kserve import datatype
from actorflow.frontends.serving.protocols.pieces import USUAL
from actorflow.frontends.serving.protocols.questions import named
from actorflow.frontends.serving.protocols.writing import is_large


class RpcExchange:
    """A request for inference, from its message to its answers.

    Args:
        application: answers.
        data: the message, a `ModelInferRequest`.
        seconds: after how many seconds the answer has no use any more; None for never.
    """

    def __init__(self, application: Application, data: bytes, seconds: float | None) -> None:
        self._application, self._data, self._seconds = application, data, seconds
        self._begun = time.perf_counter()
        self._held = 0
        self._name = ""
        self.identifier = ""
        """The id of the request, when it was read."""
        self.has_pieces = False
        """Whether its answers are parts of a stream of its own, when it was read."""

    async def answers(self, is_streamed: bool) -> AsyncGenerator[bytes, None]:
        """Its answers as messages, `ModelInferResponse`: several at most where the answer is streamed.

        Args:
            is_streamed: whether the client takes several.

        Raises:
            OpError: it does not fit, or the model fails.
        """
        status = 499
        try:
            async with contextlib.aclosing(self._answers(is_streamed)) as messages:
                async for message in messages:
                    yield message
            status = 200
        except OpError as error:
            status = status_of(error)
            raise
        except Exception:
            status = 500
            raise
        finally:
            self._application.large.give(self._held)
            if self._name in self._application.served:
                seconds = time.perf_counter() - self._begun
                self._application.measures.request(self._name, "grpc", status, seconds)

    def _take(self, size: int) -> None:
        self._application.large.take(size)
        self._held += size

    def _left(self, seconds: float | None) -> float | None:
        return None if seconds is None else self._begun + seconds - time.perf_counter()

    async def _answers(self, is_streamed: bool) -> AsyncGenerator[bytes, None]:
        request = await self._read()
        self._name, self.identifier = request.model, request.content.id
        version, model = named(self._application.served, request.model).find(request.version)
        for plugin in self._application.plugins:
            pieces = plugin.pieces(model, request.content, self._left(self._seconds), is_streamed)
            if pieces is not None:
                self.has_pieces = True
                async with contextlib.aclosing(pieces):
                    async for piece in pieces:
                        yield _of_piece(request, version, piece)
                return
        yield await self._infer(request, version, model)

    async def _read(self) -> InferRequest:
        data = self._data
        if len(data) <= SMALL:
            return read(data, USUAL)
        self._take(len(data) - SMALL)
        deadline = None if self._seconds is None else self._begun + self._seconds
        request = await self._application.large.run(partial(read, data), deadline)
        self._take(sum([array.nbytes for array in request.content.inputs.values()]))
        return request

    async def _infer(self, request: InferRequest, version: int, model: Model) -> bytes:
        signature, call, limit = kserve_call(model, request.content)
        values = call.named(await model.run(call, self._left(least(self._seconds, limit))))
        outputs = [(name, datatype(signature.outputs[name]), values[name]) for name in call.wanted]
        if is_large(list(values.values())):
            return await self._application.large.run(lambda work: written(request, version, outputs))
        return written(request, version, outputs)


def _of_piece(request: InferRequest, version: int, piece: Piece) -> bytes:
    outputs: Sequence[tuple[str, str, Any]] = [
        (name, _kind(np.asarray(array)), array) for name, array in piece.outputs.items()
    ]
    return written(request, version, outputs, piece.parameters)


def _kind(array: Any) -> str:
    return datatype(Port("", dtypes.as_dtype(array.dtype), None))
