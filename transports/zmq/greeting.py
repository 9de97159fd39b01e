"""The listener at an address: the greeting of ZeroMQ's protocol (ZMTP 3) names the security that its sender wants."""

from __future__ import annotations

import anyio
from anyio.abc import SocketStream

SIZE = 64
_SIGNATURE = b"\xff" + bytes(8) + b"\x7f"
_MINE = _SIGNATURE + b"\x03\x00"
"""No more: a peer that reads what it does not like ends the connection before it has said its part."""
_SECONDS = 2.0
_PATIENCE = 0.6
_LINE = b"\r\n\r\n"
"""A program that waits for the end of a line, or of a request, says by its answer what it is."""


async def security_at(host: str, port: int) -> str:
    """The security that the ZeroMQ socket at an address wants: "NULL" or "CURVE"; "" where something else answers.

    libzmq does not say why a peer ended a handshake, so this looks for itself.

    Raises:
        OSError, TimeoutError: nothing answers. An end before the first byte is no answer: a proxy, or the forwarded port of a
            container, ends connections so while the process behind it is not there.
    """
    with anyio.fail_after(_SECONDS):
        async with await anyio.connect_tcp(host, port) as stream:
            await stream.send(_MINE)
            greeting = b""
            with anyio.move_on_after(_PATIENCE) as scope:
                greeting = await _received(stream, SIZE)
            if scope.cancelled_caught:
                await stream.send(_LINE)
            while len(greeting) < SIZE and _SIGNATURE.startswith(greeting[:1]):
                more = await _received(stream, SIZE - len(greeting))
                if not more:
                    break
                greeting += more
    if not greeting:
        raise ConnectionResetError(f"{host}:{port} ended the connection without a word.")
    if greeting[:1] != _SIGNATURE[:1] or (len(greeting) == SIZE and greeting[9] & 1 == 0):
        return ""
    if len(greeting) < SIZE:
        raise ConnectionResetError(f"{host}:{port} ended the connection within its greeting.")
    return greeting[12:32].rstrip(b"\0").decode("ascii", "replace")


async def _received(stream: SocketStream, most: int) -> bytes:
    """The next bytes; none where the connection has ended."""
    try:
        return await stream.receive(most)
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return b""


def refusal(has_keys: bool, security: str) -> tuple[str, str]:
    """Why two can't talk, and what to do: this process has keys or not, and its peer wants that security."""
    if security not in ("NULL", "CURVE"):
        return (
            "something else listens there",
            "Compare the host and the port with those that the task was started with.",
        )
    if security == "CURVE" and not has_keys:
        return (
            "it has keys, and this process has none",
            "Set ACTORFLOW_KEYS to the cluster's key file, or give that as `credentials`.",
        )
    if security == "NULL" and has_keys:
        return (
            "it has no keys, but this process has",
            "Start the task with the keys (--keys), or connect without any: unset ACTORFLOW_KEYS, give no `credentials`.",
        )
    return (
        "its key is another one than this process expects",
        "Both sides need the keys of one cluster: compare ACTORFLOW_KEYS or `credentials` here with the task's --keys.",
    )
