"""`serve_stream`: requests and answers of one stream, `ModelStreamInfer`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.errors import OpError
from actorflow.frontends.grpc.inference import RpcExchange
from actorflow.frontends.grpc.writes import Writes
from actorflow.frontends.grpc.writing import failed_on_stream, on_stream

_LOG = get_logger("grpc")
_MOST = 64
"""Requests of a stream that are answered at a time; the next is not read before."""


async def serve_stream(context: Any, begin: Callable[[bytes], RpcExchange], writes: Writes) -> None:
    """Answers the requests of a stream beside each other, so that they go through one step together.

    Answers of one message come in the order of their requests. Those of several messages, such as tokens, come as they are made:
    the id of the request tells whose they are. A request that fails has a message with the reason, and the stream goes on.

    Args:
        context: the call.
        begin: takes the message of a request.
        writes: takes the answers.

    Raises:
        AbortedError: an answer was not taken in time. The client learns of it behind the answers that it takes then.
        ConnectionResetError: the client has left.
        UnavailableError: the server ends.
        Exception: whatever gRPC raises if it can't send an answer.
    """
    stream = _Stream(writes)
    room = asyncio.Semaphore(_MOST)
    async with anyio.create_task_group() as group:
        stream.stop = group.cancel_scope.cancel
        before = asyncio.Event()
        before.set()
        while isinstance(data := await context.read(), bytes):
            await room.acquire()
            ended = asyncio.Event()
            group.start_soon(stream.answer, begin(data), before, ended, room)
            before = ended
    if stream.failure is not None:
        raise stream.failure


class _Stream:
    """The answers of a stream.

    Args:
        writes: takes the answers.
    """

    def __init__(self, writes: Writes) -> None:
        self._writes = writes
        self._turn = anyio.Lock()
        self.failure: Exception | None = None
        """Why no client takes the answers any more."""
        self.stop: Callable[[], None] = lambda: None
        """Ends the stream."""

    async def answer(
        self, exchange: RpcExchange, before: asyncio.Event, ended: asyncio.Event, room: asyncio.Semaphore
    ) -> None:
        """Answers a request, after that `before` it was answered."""
        try:
            try:
                async with contextlib.aclosing(exchange.answers(True)) as answers:
                    async for answer in answers:
                        if not exchange.has_pieces:
                            await before.wait()
                        await self._write(on_stream(answer))
            except OpError as error:
                reason = error.message
            except Exception as error:
                _LOG.error("a request on a stream failed", exc_info=error)
                reason = "internal error"
            else:
                return
            if not exchange.has_pieces:
                await before.wait()
            await self._write(failed_on_stream(reason, exchange.identifier))
        finally:
            ended.set()
            room.release()

    async def _write(self, message: bytes) -> None:
        async with self._turn:
            try:
                await self._writes.message(message)
            except Exception as error:
                self.failure = error
                self.stop()
                await anyio.lowlevel.checkpoint()  # ends here
