"""Bodies of requests as messages of ASGI: their parts, their bounds, and clients that leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.frontends.ext.asgi import ClientDisconnected, Receive, Send
from actorflow.frontends.serving.large import SMALL
from actorflow.frontends.serving.protocols.answers import Streamed
from actorflow.frontends.serving.protocols.bodies import TooLargeError

T = TypeVar("T")
_LOG = get_logger("serving")


def too_long(headers: Mapping[bytes, bytes], most: int) -> TooLargeError | None:
    """The error of a body that its header says to have more than `most` bytes; None for others."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and (len(length) > 18 or int(length) > most):
        return TooLargeError(f"The body has {length[:20].decode()} bytes; {most} are the most.")
    return None


async def body_of(receive: Receive, most: int, take: Callable[[int], None]) -> bytes | list[bytes]:
    """The body of a request, as it was sent: whole if it is small, else its parts.

    Args:
        receive: where its parts come from.
        most: the most bytes.
        take: is called with the bytes of a large body as they come.

    Raises:
        TooLargeError: it is larger than allowed; the rest of it is not read.
        ClientDisconnected: the client has left.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected("The client has gone away before its request was there.")
        part = message.get("body", b"")
        before, size = size, size + len(part)
        if size > most:
            raise TooLargeError(f"The body has more than {most} bytes.")
        if size > SMALL:
            take(size - max(before, SMALL))
        parts.append(part)
        if not message.get("more_body"):
            break
    return parts if size > SMALL and len(parts) > 1 else b"".join(parts)


async def unless_gone(receive: Receive, work: Awaitable[T], tasks: BackgroundTasks) -> T:
    """The result of `work`. It is cancelled when the client goes away.

    Args:
        receive: the messages of the request, whose body was read.
        work: what the client waits for.
        tasks: watch the client.

    Raises:
        ClientDisconnected: the client has left.
    """
    with anyio.CancelScope() as scope:
        watch = tasks.start(_watch(receive, scope))
        try:
            return await work
        finally:
            if watch is not None:
                watch.cancel()
    raise ClientDisconnected("The client has gone away, so its request was given up.")


async def send_streamed(answer: Streamed, receive: Receive, send: Send, tasks: BackgroundTasks) -> None:
    """Sends an answer in parts as they come. When the client goes away, the parts are closed at once.

    Args:
        answer: the answer.
        receive: the messages of the request, whose body was read.
        send: takes the messages of the answer.
        tasks: watch the client.
    """

    async def work() -> None:
        headers = [(b"content-type", answer.kind), *answer.more]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        async for part in answer.parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    try:
        await unless_gone(receive, work(), tasks)
    except ClientDisconnected:
        pass
    finally:
        with anyio.CancelScope(shield=True):
            await answer.parts.aclose()


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except Exception:  # the connection broke
        _LOG.debug("a connection broke while its request was answered", exc_info=True)
    scope.cancel()
