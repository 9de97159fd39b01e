"""`serve_metrics`: a port of a task at which Prometheus reads its metrics, without a web server.

It answers `GET /metrics` and nothing else. There is no secret in metrics; a browser that some other page sent here is
refused all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from actorflow.cluster.processes.metrics import CONTENT_TYPE, render
from actorflow.errors import InvalidArgumentError

_MOST_BYTES = 16384
_SECONDS = 5.0
_MOST_AT_ONCE = 16


async def serve_metrics(
    status: Callable[[], Mapping[str, Any]],
    host: str,
    port: int,
    *,
    task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Answers until it is cancelled. It has started when it listens, and tells the port.

    Args:
        status: the state of the task (`Server.status`).
        host: the address to listen on.
        port: the port; 0 takes a free one.

    Raises:
        InvalidArgumentError: the address can't be listened on.
    """
    try:
        listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    except OSError as error:
        raise InvalidArgumentError(
            f"Metrics can't be served on {host}:{port}: {error.strerror}.",
            hint="Give another port with --metrics-port, or 0 for a free one.",
        ) from None
    limit = anyio.CapacityLimiter(_MOST_AT_ONCE)

    async def answer(stream: SocketStream) -> None:
        async with stream, limit:
            with anyio.move_on_after(_SECONDS):
                try:
                    head = await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", _MOST_BYTES)
                    await stream.send(reply(head, status))
                except (anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError):
                    pass  # a peer that goes, or speaks something else

    async with listener:
        task_status.started(listener.extra(SocketAttribute.local_port))
        await listener.serve(answer)


def reply(head: bytes, status: Callable[[], Mapping[str, Any]]) -> bytes:
    """The answer to a request.

    Args:
        head: its first line and headers.
        status: the state of the task.
    """
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    method, _, path = first.partition(" ")
    path = path.partition(" ")[0].partition("?")[0]
    if method not in ("GET", "HEAD"):
        return _answer("405 Method Not Allowed", "text/plain", b"", "allow: GET, HEAD\r\n")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") or "origin" in headers:
        return _answer("403 Forbidden", "text/plain", b"Other sites may not read this.\n")
    if path != "/metrics":
        return _answer("404 Not Found", "text/plain", b"The metrics are at /metrics.\n")
    told = status()
    body = render({told["task"]: told}).encode()
    return _answer("200 OK", CONTENT_TYPE, body, with_body=method == "GET")


def _answer(status: str, kind: str, body: bytes, more: str = "", with_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}connection: close\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")
