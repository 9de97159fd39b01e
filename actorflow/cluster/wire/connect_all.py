"""The links from a master to all tasks of its cluster: tasks start in any order, and whoever waits for them says for whom."""

from __future__ import annotations

import asyncio

import anyio

from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes.startup import ConnectProgress, TaskReachability, table
from actorflow.cluster.wire.failures import first_of
from actorflow.cluster.wire.links import VERSION, Link, Links
from actorflow.errors import FailedPreconditionError, OpError, UnavailableError
from actorflow.logs import get_logger
from actorflow.session.waiting.deadline import note
from actorflow.transport.errors import HandshakeRejected

_LOG = get_logger("cluster")
REPORT_SECONDS = 4.0
"""After so long a session that waits for tasks says which are missing."""
_TRY_SECONDS = 5.0
_RETRY_SECONDS = 0.5


async def connect_all(
    cluster: ClusterSpec, me: str, links: Links, timeout: float | None = None
) -> dict[str, Link | None]:
    """The links of task `me` to all tasks, None for itself. Tells after a while which are missing.

    Raises:
        UnavailableError: not all are there after `timeout` seconds; the details are a table of what is known.
        HandshakeRejected, FailedPreconditionError: one refuses, or is another task than it should be.
    """
    found: dict[str, Link | None] = dict.fromkeys(cluster.tasks)
    states = {me: TaskReachability(ConnectProgress.ACCEPTED, VERSION)}

    async def reach(task: str) -> None:
        states[task] = TaskReachability()
        while True:
            try:
                found[task] = await links.to(
                    task,
                    cluster.address_of(task),
                    timeout=_TRY_SECONDS,
                    progress=lambda word: states.__setitem__(task, states[task].told(word)),
                )
                states[task] = TaskReachability(ConnectProgress.ACCEPTED, VERSION)
                return
            except (HandshakeRejected, FailedPreconditionError):
                raise
            except OpError as error:
                states[task] = states[task].failed(error.message)
                await anyio.sleep(_RETRY_SECONDS)

    async def tell() -> None:
        await anyio.sleep(REPORT_SECONDS)
        _LOG.warning("tasks are missing", table="\n" + table(cluster, states))

    try:
        with anyio.fail_after(timeout):
            async with anyio.create_task_group() as telling:
                telling.start_soon(tell)
                async with anyio.create_task_group() as group:
                    for task in cluster.tasks:
                        if task != me:
                            group.start_soon(reach, task)
                telling.cancel_scope.cancel()
    except TimeoutError:
        raise UnavailableError(
            f"Not all tasks of the cluster were there within {timeout:g} s.",
            details=table(cluster, states).splitlines(),
            hint="Start the missing ones; a session waits for its tasks.",
        ) from None
    except asyncio.CancelledError as error:
        note(error, table(cluster, states).splitlines())
        raise
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None
    return found
