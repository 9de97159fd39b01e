"""Questions to a cluster about its members: a place for a task that wants to join, and that a task shall leave."""

from __future__ import annotations

import os

from actorflow import __version__
from actorflow.cluster.client.inquiries import ask
from actorflow.cluster.config.credentials import Credentials
from actorflow.cluster.membership.view import View, decode_view, guest
from actorflow.cluster.wire.messages import AskView, Leave, Reserve

_SECONDS = 10.0
"""The coordinator asks all members meanwhile."""
_LEAVE_SECONDS = 60.0


async def reserve(
    target: str,
    credentials: Credentials | str | os.PathLike[str] | None,
    job: str,
    index: int | None,
    address: str,
    release: str = __version__,
) -> tuple[str, View]:
    """The task that a process at `address` may be, and the view with which it starts. `target` is any task of the cluster.

    Raises:
        AlreadyExistsError: the number is taken, or the address.
        ResourceExhaustedError: the job has as many tasks as it may have.
        FailedPreconditionError: the cluster runs another release of actorflow.
        UnavailableError: `target`, the coordinator or a member can't be reached.
        HandshakeRejected: the keys are not those of the cluster.
    """
    task, view = await ask(target, credentials, _SECONDS, Reserve(job, index, address, release))
    return str(task), guest(decode_view(view), str(task), address)


async def leave(
    target: str,
    task: str,
    how: str = "drained",
    credentials: Credentials | str | os.PathLike[str] | None = None,
) -> View:
    """Takes a task out of the cluster, in one of the ways of `LEAVING`; the view after that. Raises what `left` raises, and
    UnavailableError."""
    return decode_view(await ask(target, credentials, _LEAVE_SECONDS, Leave(task, how)))


async def query_view(target: str, credentials: Credentials | str | os.PathLike[str] | None = None) -> View:
    """The view that a task has. Raises UnavailableError, HandshakeRejected."""
    return decode_view(await ask(target, credentials, _SECONDS, AskView(0)))
