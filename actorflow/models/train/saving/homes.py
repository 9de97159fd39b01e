"""The tasks on which the variables of a session are, for savers: each task takes and restores the values that it has.

A supervisor may move variables after a saver was made.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorflow.engine.session.session import Session
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.variables.variable import Variable


async def tasks_of(session: Session, variables: Sequence[Variable]) -> dict[str, str]:
    """The task of each variable by its node's name, as the session's master knows it now. Without a cluster it is empty."""
    remote = getattr(session._engine, "remote", None)
    if remote is None:
        return {}
    remote.forget_plans()  # the reply to a plan tells the places
    await session.warmup(list(variables))
    return {v.op.name: str(DeviceSpec.parse(session.placement(v.op)).task_of()) for v in variables}
