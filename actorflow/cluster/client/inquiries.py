"""`query_status`, `query_pending` and `reset`: one question to a server, over a connection that is made for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.cluster.config.credentials import Credentials, Target, resolve
from actorflow.cluster.config.spec import ClusterSpec, differences
from actorflow.cluster.wire.endpoints import Open, open_endpoints
from actorflow.cluster.wire.links import CONNECT_SECONDS, REPLY_SECONDS, Links
from actorflow.cluster.wire.messages import Pending, ResetAll, Status
from actorflow.engine.transport import installed
from actorflow.engine.transport.base import ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected
from actorflow.errors import OpError

_DIFFERENCE_SECONDS = 2.0
RESET_SECONDS = CONNECT_SECONDS + REPLY_SECONDS + 0.5
"""So long a reset may take: the asked task connects to the others and waits for their replies, and says which fails."""


def connect(target: Target, open: Open | None = None, transport: str = "auto") -> Links:
    """The links of a client, none of them open yet."""
    task = f"/client:{machine.current().process}-{machine.fresh_hex(4)}"
    me = ProcessIdentity("", task, machine.fresh_incarnation())
    opened = open or open_endpoints(installed.for_target(transport, target.address), credentials=target.credentials)
    return Links(me, opened)


async def query_status(
    target: str,
    credentials: Credentials | str | os.PathLike[str] | None = None,
    timeout: float = CONNECT_SECONDS,
    progress: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """The status that the server at `target` reports (`Server.status`); `progress` hears how far the connection is. Raises
    UnavailableError, HandshakeRejected."""
    status: dict[str, Any] = await ask(target, credentials, timeout, Status(), progress=progress)
    return status


async def query_pending(
    target: str, credentials: Credentials | str | os.PathLike[str] | None = None, timeout: float = CONNECT_SECONDS
) -> str:
    """Which nodes wait on the task at `target`. Raises UnavailableError, HandshakeRejected."""
    return str(await ask(target, credentials, timeout, Pending()))


async def differing(error: OpError, cluster: ClusterSpec, me: str, peer: str, target: Target) -> OpError:
    """The error of `peer`, the task at `target` that refuses `me`. It says in what their descriptions of the cluster differ, if
    they do."""
    if not isinstance(error, HandshakeRejected):
        return error
    try:
        theirs: Mapping[str, str] = (await query_status(target, timeout=_DIFFERENCE_SECONDS))["tasks"]
    except OpError:  # it refuses this question as well
        return error
    lines = differences({task: cluster.address_of(task) for task in cluster.tasks}, theirs, me, peer)
    if not lines:
        return error
    return error.located(
        f"{error.message} Their descriptions (cluster.json) differ: {'; '.join(lines)}.",
        hint="Give all tasks the same description of the cluster, and start those again that had another.",
    )


async def reset(
    target: str,
    containers: Sequence[str],
    credentials: Credentials | str | os.PathLike[str] | None = None,
    timeout: float | None = None,
) -> None:
    """Drops containers on all tasks of the cluster; all containers where none is named. Raises UnavailableError,
    DeadlineExceededError where a task does not answer in time, HandshakeRejected."""
    seconds = timeout or RESET_SECONDS
    await ask(target, credentials, seconds, ResetAll(list(containers)), connect_timeout=min(seconds, CONNECT_SECONDS))


async def ask(
    target: str,
    credentials: Any,
    timeout: float,
    request: Any,
    *,
    connect_timeout: float | None = None,
    progress: Callable[[str], object] | None = None,
) -> Any:
    """The answer of the server at `target` to a request. Connecting may take as long, unless `connect_timeout` is given."""
    target_task = resolve(target, credentials)
    links = connect(target_task)
    try:
        keys = target_task.credentials
        key = None if keys is None else keys.peer_key()
        link = await links.to("", target_task.address, key=key, timeout=connect_timeout or timeout, progress=progress)
        return await link.call(request, timeout=timeout)
    finally:
        with anyio.CancelScope(shield=True):
            await links.aclose()
