"""`serve_metrics`: a port of a task at which Prometheus reads its metrics, without a web server.

It answers `GET /metrics` and nothing else. There is no secret in metrics; the page of another site gets none all the same,
neither by a request of its own nor by a name that it lets resolve to this machine. A connection that says nothing makes room
for a new connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream

from actorflow.base.origins import LOOPBACK, bracketed, host_and_port, is_loopback, is_number, is_of_other_site
from actorflow.cluster.processes.metrics import CONTENT_TYPE, render
from actorflow.errors import InvalidArgumentError

_MOST_BYTES = 16384
_SECONDS = 5.0
_MOST_CONNECTIONS = 64
_SINGLE = ("origin", "sec-fetch-site")


async def serve_metrics(
    status: Callable[[], Mapping[str, Any]],
    host: str,
    port: int,
    names: Iterable[str] = (),
    *,
    task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Answers until it is cancelled. It has started when it listens, and tells the port.

    Args:
        status: the state of the task (`Server.status`).
        host: the address to listen on.
        port: the port; 0 takes a free port.
        names: names under which other machines reach the task, beside `host` and all numbers of IP.

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
    hosts = Hosts(host, names)
    waiting: dict[anyio.CancelScope, None] = {}

    async def answer(stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(_SECONDS) as scope:
                waiting[scope] = None
                if len(waiting) > _MOST_CONNECTIONS:
                    oldest = next(iter(waiting))
                    del waiting[oldest]
                    oldest.cancel()
                try:
                    head = await BufferedByteReceiveStream(stream).receive_until(b"\r\n\r\n", _MOST_BYTES)
                    await stream.send(reply(head, status, hosts))
                except (anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError):
                    pass  # a peer that goes, or speaks something else
                finally:
                    waiting.pop(scope, None)

    async with listener:
        task_status.started(listener.extra(SocketAttribute.local_port))
        await listener.serve(answer)


class Hosts:
    """The names that a request may give as its Host.

    Args:
        host: the address that is listened on. Only names of this machine are taken if it reaches this machine alone.
        names: names under which other machines reach it.
    """

    def __init__(self, host: str = "127.0.0.1", names: Iterable[str] = ()) -> None:
        self._is_local = is_loopback(host)
        others = () if self._is_local else names
        self.names = frozenset(name.lower() for name in (*LOOPBACK, bracketed(host), *others))

    def __contains__(self, host: str) -> bool:
        name = host_and_port(host)[0]
        return name in self.names or not self._is_local and is_number(name)


def reply(head: bytes, status: Callable[[], Mapping[str, Any]], hosts: Hosts) -> bytes:
    """The answer to a request.

    Args:
        head: its first line and headers.
        status: the state of the task.
        hosts: the names that it may give as its Host.
    """
    first, *rest = head.decode("latin-1").split("\r\n")
    lines = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in rest)]
    headers = dict(lines)
    method, _, path = first.partition(" ")
    path, _, version = path.partition(" ")
    path = path.partition("?")[0]
    named = [value for name, value in lines if name == "host"]
    if method not in ("GET", "HEAD"):
        return _answer("405 Method Not Allowed", "text/plain", b"", "allow: GET, HEAD\r\n")
    if len(named) != 1 and (named or version != "HTTP/1.0"):
        return _answer("400 Bad Request", "text/plain", b"A request has one header Host.\n")
    if len(headers) < len(lines) and any(sum(name == each for each, _ in lines) > 1 for name in _SINGLE):
        return _answer("400 Bad Request", "text/plain", b"A request has one header Origin, and one Sec-Fetch-Site.\n")
    if named and named[0] not in hosts:
        names = ", ".join(sorted(hosts.names))
        text = f"This task is not {named[0][:100]!r}. Ask for it by one of its names: {names}.\n"
        return _answer("421 Misdirected Request", "text/plain", text.encode())
    if is_of_other_site("".join(named), headers.get("origin"), headers.get("sec-fetch-site")):
        return _answer("403 Forbidden", "text/plain", b"Other sites may not read this.\n")
    if path != "/metrics":
        return _answer("404 Not Found", "text/plain", b"The metrics are at /metrics.\n")
    state = status()
    body = render({state["task"]: state}).encode()
    return _answer("200 OK", CONTENT_TYPE, body, with_body=method == "GET")


def _answer(status: str, kind: str, body: bytes, more: str = "", with_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}connection: close\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")
