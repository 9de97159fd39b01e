"""`query_status`, `query_pending` and `reset`: one question to a server, over a connection that is made for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import anyio

from actorflow import machine
from actorflow.cluster.config.credentials import Credentials, Target, resolve
from actorflow.cluster.wire.endpoints import Open, open_endpoints
from actorflow.cluster.wire.links import CONNECT_SECONDS, Links
from actorflow.cluster.wire.messages import Pending, ResetAll, Status
from actorflow.transport import installed
from actorflow.transport.base import Identity


def connect(target: Target, open: Open | None = None, transport: str = "auto") -> Links:
    """The links of a client, none of them open yet."""
    task = f"/client:{machine.current().process}-{machine.fresh_hex(4)}"
    me = Identity("", task, machine.fresh_incarnation())
    opened = open or open_endpoints(installed.for_target(transport, target.address), credentials=target.credentials)
    return Links(me, opened)


async def query_status(
    target: str, credentials: Credentials | str | os.PathLike[str] | None = None, timeout: float = 5.0
) -> dict[str, Any]:
    """The status that the server at `target` reports (`Server.status`). Raises UnavailableError, HandshakeRejected."""
    found: dict[str, Any] = await _ask(target, credentials, timeout, Status())
    return found


async def query_pending(
    target: str, credentials: Credentials | str | os.PathLike[str] | None = None, timeout: float = 5.0
) -> str:
    """Which nodes wait on the task at `target`. Raises UnavailableError, HandshakeRejected."""
    return str(await _ask(target, credentials, timeout, Pending()))


async def reset(
    target: str, containers: Sequence[str], credentials: Credentials | str | os.PathLike[str] | None = None
) -> None:
    """Drops containers on all tasks of the cluster; all containers where none is named."""
    await _ask(target, credentials, CONNECT_SECONDS, ResetAll(list(containers)))


async def _ask(target: str, credentials: Any, timeout: float, request: Any) -> Any:
    found = resolve(target, credentials)
    links = connect(found)
    try:
        keys = found.credentials
        link = await links.to("", found.address, key=None if keys is None else keys.peer_key(), timeout=timeout)
        return await link.call(request, timeout=timeout)
    finally:
        with anyio.CancelScope(shield=True):
            await links.aclose()
