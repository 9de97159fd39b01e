"""Bodies and answers as messages of ASGI: their parts, their bounds, and clients that leave."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.frontends.ext.asgi import ClientDisconnected, Receive, Send
from actorflow.frontends.http.answers import SMALL, Answer, Body, Streamed, TooLargeError

T = TypeVar("T")
_LOG = get_logger("http")
_PART = 256 << 10
"""Bytes of an answer that are sent at a time."""


async def body_of(receive: Receive, most: int, take: Callable[[int], None]) -> Body:
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


async def unless_gone(receive: Receive, work: Awaitable[T], tasks: BackgroundTasks | None) -> T:
    """The result of `work`. It is cancelled when the client goes away.

    Args:
        receive: the messages of the request, whose body was read.
        work: what the client waits for.
        tasks: watch the client; None for a site that has ended.

    Raises:
        ClientDisconnected: the client has left.
    """
    with anyio.CancelScope() as scope:
        watch = None if tasks is None else tasks.start(_watch(receive, scope))
        try:
            return await work
        finally:
            if watch is not None:
                watch.cancel()
    raise ClientDisconnected("The client has gone away, so its request was given up.")


async def send_answer(
    answer: Answer | Streamed, method: str, receive: Receive, send: Send, tasks: BackgroundTasks | None
) -> None:
    """Sends an answer.

    Args:
        answer: the answer.
        method: the method of the request. An answer to HEAD has no body.
        receive: the messages of the request, whose body was read.
        send: takes the messages of the answer.
        tasks: watch the client.
    """
    if isinstance(answer, Streamed):
        if method == "HEAD":
            await answer.parts.aclose()
            answer = answer._replace(parts=_nothing())
        await _send_streamed(answer, receive, send, tasks)
        return
    status, kind, body, more = answer
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if method == "HEAD" else body
    for at in range(0, len(body) - _PART, _PART):
        await send({"type": "http.response.body", "body": body[at : at + _PART], "more_body": True})
    await send({"type": "http.response.body", "body": body[-(len(body) % _PART or _PART) :]})


async def _nothing() -> AsyncGenerator[bytes, None]:
    """The parts of an answer to HEAD."""
    parts: tuple[bytes, ...] = ()
    for part in parts:
        yield part


async def _send_streamed(answer: Streamed, receive: Receive, send: Send, tasks: BackgroundTasks | None) -> None:
    """Sends an answer in parts as they come. When the client goes away, the parts are closed at once."""

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
