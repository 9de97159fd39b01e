"""`Writes`: the messages that leave. Their time is bounded, and a client that has left is no failure of the server."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import AbortedError, UnavailableError


class Writes:
    """Writes the messages of a call, in bounded time.

    gRPC sends one message of a call at a time, and a message that it has begun can't be taken back. So a message that its client
    does not take stays under way; the status of the call is sent behind it. A server can't reset a call: it keeps its place until
    its client takes the message, leaves, or is no longer there.

    Args:
        context: the call.
        tasks: writes what a client does not take at once.
        taken_seconds: how long a message may wait for its client to take it.
    """

    def __init__(self, context: Any, tasks: BackgroundTasks, taken_seconds: float) -> None:
        self._context, self._tasks, self._taken_seconds = context, tasks, taken_seconds
        self._gone: type[Exception] = importlib.import_module("grpc.aio").InternalError
        self._stuck: asyncio.Task[Exception | None] | None = None

    async def message(self, data: bytes) -> None:
        """Writes a message.

        Args:
            data: the message.

        Raises:
            AbortedError: the client did not take it in time.
            ConnectionResetError: the client has left.
            UnavailableError: the server ends.
            Exception: whatever gRPC raises if it can't send the message.
        """
        task = self._tasks.start(self._write(data))
        if task is None:
            raise UnavailableError("The server ends.")
        try:
            await asyncio.wait({task}, timeout=self._taken_seconds)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            self._stuck = task
            raise AbortedError(f"An answer was not taken within {self._taken_seconds:g} seconds.")
        if task.cancelled():
            raise UnavailableError("The server ends.")
        failure = task.result()
        if failure is not None:
            raise failure

    async def _write(self, data: bytes) -> Exception | None:
        """The error of a write, if there is any. It is not raised, because no task awaits a write that is stuck."""
        try:
            await self._context.write(data)
        except self._gone:
            return ConnectionResetError("The client has left.")
        except Exception as error:
            return error
        return None

    async def end(self, code: Any, text: str, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        """Ends the call with an error, behind all messages.

        Args:
            code: the status.
            text: the reason.
            metadata: further words to the client.
        """
        if self._stuck is not None:
            await asyncio.wait({self._stuck})
        try:
            await self._context.abort(code, text, metadata)
        except self._gone:  # the client has left
            return
