"""`recorded_by`: what the tasks of a cluster have recorded of their steps, as one trace by this process's clock."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio
import msgpack

from actorflow.cluster.config.credentials import Target
from actorflow.cluster.wire.links import Links, TaskLink
from actorflow.cluster.wire.messages import Recent
from actorflow.engine.runtime.diagnostics.causality import SAME_CLOCK, ClockOffset
from actorflow.engine.runtime.diagnostics.recorder import take
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.errors import OpError


@dataclass(slots=True)
class Recorded:
    """The steps that tasks have recorded.

    trace: the steps of all of them, one clock's causes first.
    steps: the numbers of the steps.
    dropped: how many steps had to make room.
    failures: why a task has not told.
    """

    trace: Trace = field(default_factory=lambda: Trace(detail="plan"))
    steps: set[int] = field(default_factory=set)
    dropped: int = 0
    failures: dict[str, OpError] = field(default_factory=dict)


async def recorded_by(
    tasks: Mapping[str, Target],
    connect: Callable[[Target], Links],
    ask: Callable[[TaskLink], Awaitable[bytes]],
    timeout: float,
    only: int | None = None,
) -> Recorded:
    """Asks all tasks at the same time.

    Args:
        tasks: the tasks, by their names.
        connect: gives the links over which a task is reached.
        ask: asks over a link, and gives the reply to a Record or Recent.
        timeout: seconds that a task may take to be reached.
        only: the number of the one step that is wanted; all unless given.
    """
    recording = Recorded()

    async def ask_task(name: str, target: Target) -> None:
        links = connect(target)
        try:
            key = None if target.credentials is None else target.credentials.peer_key()
            link = await links.to("", target.address, key=key, timeout=timeout)
            dropped, steps = msgpack.unpackb(await ask(link))
            beats = link.control.statistics()
            ahead = SAME_CLOCK
            if beats.clock_offset is not None and beats.clock_error is not None:
                ahead = ClockOffset(round(beats.clock_offset * 1e9), math.ceil(beats.clock_error * 1e9))
            recording.steps.update(take(recording.trace, steps, name, ahead, only))
            recording.dropped += dropped
        except OpError as error:
            recording.failures[name] = error
        finally:
            with anyio.CancelScope(shield=True):
                await links.aclose()

    async with anyio.create_task_group() as group:
        for name, target in tasks.items():
            group.start_soon(ask_task, name, target)
    recording.trace.keep_causality()
    return recording


def of_the_last(seconds: float, timeout: float) -> Callable[[TaskLink], Awaitable[bytes]]:
    """Asks for the last `seconds`, for `recorded_by`."""

    async def ask(link: TaskLink) -> bytes:
        reply: bytes = await link.call(Recent(seconds), timeout=timeout)
        return reply

    return ask
