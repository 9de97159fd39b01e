"""`Answer`, `Streamed`: what a site answers; `HttpRequest`: what it is asked; and the bodies of both."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import NamedTuple

from actorflow.errors import InvalidArgumentError

JSON, TEXT = b"application/json", b"text/plain; charset=utf-8"
SMALL = 64 << 10
"""Bytes of a body that is counted nowhere: large bodies keep no small body out."""

SINGLE = frozenset(
    (b"authorization", b"content-encoding", b"content-length", b"expect", b"inference-header-content-length", b"origin")
    + (b"host", b"sec-fetch-site", b"timeout-ms", b"x-request-timeout")
)
"""Headers that a request has once: of two, another program might take the other header."""

JOINED = {b"connection": b", ", b"proxy-connection": b", ", b"transfer-encoding": b", ", b"cookie": b"; "}
"""Headers that are read here and may come several times, with what stands between their values. Of others the last counts."""

Body = bytes | list[bytes]
"""The body of a request, or its parts."""
Answer = tuple[int, bytes, bytes, tuple[tuple[bytes, bytes], ...]]
"""Status, content type, body, further headers."""


class Streamed(NamedTuple):
    """An answer whose body comes in parts. The end of `parts` is the end of the answer; a client that leaves closes them.

    status: the status.
    kind: the content type.
    parts: the parts of the body.
    more: further headers.
    is_endless: whether the parts go on as long as the site does. A server that ends does not wait for them.
    """

    status: int
    kind: bytes
    parts: AsyncGenerator[bytes, None]
    more: tuple[tuple[bytes, bytes], ...] = ()
    is_endless: bool = False


class HttpRequest(NamedTuple):
    """A request without its body.

    method: the method of HTTP.
    path: the path, decoded, without what the site is mounted under.
    headers: the headers; names in lower case.
    query: what follows the path, as it was sent.
    root: what the site is mounted under.
    """

    method: str
    path: str
    headers: Mapping[bytes, bytes]
    query: bytes = b""
    root: str = ""


class TooLargeError(InvalidArgumentError):
    """A body is larger than the site takes."""


def refused(status: int, text: str) -> Answer:
    """The answer to a request that is none of HTTP as it is understood here; `text` says why."""
    return status, JSON, b'{"error":"%s"}' % text.encode(), ()


def add_header(headers: dict[bytes, bytes], name: bytes, value: bytes) -> bool:
    """Adds a header of a request to those before. Whether it is there twice, and may not be.

    Args:
        headers: the headers before.
        name: its name, in lower case.
        value: its value.
    """
    before = headers.get(name)
    between = None if before is None else JOINED.get(name)
    headers[name] = value if before is None or between is None else before + between + value
    return before is not None and name in SINGLE


def too_long(headers: Mapping[bytes, bytes], most: int) -> TooLargeError | None:
    """The error of a body that its header says to have more than `most` bytes; None for others."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and (len(length) > 18 or int(length) > most):
        return TooLargeError(f"The body has {length[:20].decode()} bytes; {most} are the most.")
    return None
