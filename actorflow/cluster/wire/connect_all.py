"""The links from a master to all tasks of its cluster: tasks start in any order, and whoever waits for them says for whom.

A task that is absent may come yet, and is waited for. A task that is there and refuses, or is not the task that it
should be, never will be right: that is an error at once.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes.startup import ConnectProgress, TaskReachability, missing, table
from actorflow.cluster.wire.failures import first_of
from actorflow.cluster.wire.links import CONNECT_SECONDS, VERSION, Links, TaskLink
from actorflow.engine.session.waiting.deadline import note
from actorflow.engine.transport.errors import HandshakeRejected
from actorflow.errors import FailedPreconditionError, OpError, UnavailableError

_LOG = get_logger("cluster")
REPORT_SECONDS = 4.0
"""After so long a session that waits for tasks says which are missing."""
_TRY_SECONDS = 5.0
_RETRY_SECONDS = 0.5
_OTHERS_SECONDS = 0.5
"""After a refusal the other tasks are waited for so long, so that the error tells of all that are wrong."""
_MOST_NAMED = 4

Explanation = Callable[[OpError, str, str], Awaitable[OpError]]
"""The error of a task at an address that refuses, with more words on why."""


async def connect_all(
    cluster: ClusterSpec,
    me: str,
    links: Links,
    timeout: float = CONNECT_SECONDS,
    explain: Explanation | None = None,
) -> dict[str, TaskLink | None]:
    """The links of task `me` to all tasks, None for itself. Tells after a while which are missing.

    Args:
        timeout: for how many seconds absent tasks are waited for. A host's name that is unknown is waited for only where
            that is longer than a session waits: a scheduler may be about to make it known.
        explain: looks why a task refuses.

    Raises:
        UnavailableError: not all are there in time; the details are a table of what is known.
        HandshakeRejected, FailedPreconditionError: one refuses, or is another task than it should be.
    """
    opened: dict[str, TaskLink | None] = dict.fromkeys(cluster.tasks)
    states = {me: TaskReachability(ConnectProgress.ACCEPTED, VERSION)}
    refusals: dict[str, OpError] = {}

    async def reach(task: str) -> None:
        states[task] = TaskReachability()
        address = cluster.address_of(task)
        while True:
            try:
                opened[task] = await links.to(
                    task,
                    address,
                    timeout=_TRY_SECONDS,
                    progress=lambda word: states.__setitem__(task, states[task].told(word)),
                )
                states[task] = TaskReachability(ConnectProgress.ACCEPTED, VERSION)
                return
            except OpError as error:
                states[task] = states[task].failed(error.message)
                is_final = isinstance(error, (HandshakeRejected, FailedPreconditionError))
                if is_final:
                    refusals[task] = error  # an explanation may come too late
                if is_final and explain is not None:
                    error = await explain(error, task, address)
                if is_final or (_is_unknown_host(error) and timeout <= CONNECT_SECONDS):
                    refusals[task] = error
                    scope.deadline = min(scope.deadline, anyio.current_time() + _OTHERS_SECONDS)
                    return
                await anyio.sleep(_RETRY_SECONDS)

    async def tell() -> None:
        await anyio.sleep(REPORT_SECONDS)
        _LOG.warning("tasks are missing", table="\n" + table(cluster, states))

    try:
        with anyio.move_on_after(timeout) as scope:
            async with anyio.create_task_group() as telling:
                telling.start_soon(tell)
                async with anyio.create_task_group() as group:
                    for task in cluster.tasks:
                        if task != me:
                            group.start_soon(reach, task)
                telling.cancel_scope.cancel()
    except asyncio.CancelledError as error:
        note(error, table(cluster, states).splitlines())
        raise
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None
    details = table(cluster, states).splitlines()
    for task, refusal in sorted(refusals.items(), key=lambda item: _is_unknown_host(item[1])):
        message = refusal.message if task in refusal.message else f"{task} is not reached: {refusal.message}"
        raise type(refusal)(message, details=[*refusal.details, *details], hint=refusal.hint)
    if scope.cancelled_caught:
        raise _absence(cluster, missing(cluster, states), timeout, details)
    return opened


def _absence(cluster: ClusterSpec, absent: Sequence[str], timeout: float, details: Sequence[str]) -> UnavailableError:
    """The error of tasks that did not answer in time."""
    named = ", ".join(f"{task} at {cluster.address_of(task)}" for task in absent[:_MOST_NAMED])
    more = f" and {len(absent) - _MOST_NAMED} more tasks" if len(absent) > _MOST_NAMED else ""
    return UnavailableError(
        f"{named}{more} did not answer within {timeout:.3g} s.",
        details=details,
        hint="Start what is missing, or compare its address with the cluster's specification. "
        "Session(..., connect_timeout=60) waits longer for tasks that are about to start.",
    )


def _is_unknown_host(error: OpError) -> bool:
    cause = error.__cause__
    return isinstance(cause, socket.gaierror) and cause.errno in (socket.EAI_NONAME, socket.EAI_NODATA)
