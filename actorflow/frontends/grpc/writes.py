"""`Writes`: the messages that leave. Their time is bounded, and a client that has left is no failure of the server."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from actorflow.errors import AbortedError


class Writes:
    """Writes the messages of a call, in bounded time.

    gRPC sends one message of a call at a time, and a message that it has begun can't be taken back. So a message that its client
    does not take stays under way; the status of the call is sent behind it. A server can't reset a call: it keeps its place until
    its client takes the message, leaves, or is no longer there.

    Args:
        context: the call.
        taken_seconds: how long a message may wait for its client to take it.
    """

    def __init__(self, context: Any, taken_seconds: float) -> None:
        self._context, self._taken_seconds = context, taken_seconds
        self._gone: type[Exception] = importlib.import_module("grpc.aio").InternalError
        self._stuck: asyncio.Future[None] | None = None

    async def message(self, data: bytes) -> None:
        """Writes a message.

        Args:
            data: the message.

        Raises:
            AbortedError: the client did not take it in time.
            ConnectionResetError: the client has left.
        """
        write: asyncio.Future[None] = asyncio.ensure_future(self._context.write(data))
        try:
            await asyncio.wait({write}, timeout=self._taken_seconds)
        except asyncio.CancelledError:
            write.cancel()
            raise
        if not write.done():
            self._stuck = write
            raise AbortedError(f"An answer was not taken within {self._taken_seconds:g} seconds.")
        try:
            write.result()
        except self._gone:
            raise ConnectionResetError("The client has left.") from None

    async def end(self, code: Any, text: str, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        """Ends the call with an error, behind all messages.

        Args:
            code: the status.
            text: the reason.
            metadata: further words to the client.
        """
        if self._stuck is not None:
            await asyncio.wait({self._stuck})
            self._stuck.exception()
        try:
            await self._context.abort(code, text, metadata)
        except self._gone:  # the client has left
            return
