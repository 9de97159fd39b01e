"""The table that says which tasks of a cluster are missing, and how far each was reached.

Nothing is worse at a cluster's start than a wait without a word. A process that waits for tasks notes down the state of
each, and shows this table within five seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.spec import ClusterSpec

_LOG = get_logger("cluster")
_TELL_SECONDS = 3.0
"""After so long without an answer the log says how far the connection is."""


class ConnectProgress(IntEnum):
    """How far the way to a task has been gone, in the words of `Endpoint.connect(progress=...)`."""

    NOTHING = 0
    RESOLVED = 1
    CONNECTED = 2
    AUTHENTICATED = 3
    ACCEPTED = 4


_LIKELY = {
    ConnectProgress.NOTHING: "its host's name is unknown here",
    ConnectProgress.RESOLVED: "nothing listens there, or a firewall drops what is sent",
    ConnectProgress.CONNECTED: "it listens, but did not greet: other keys, another program, or it hangs",
    ConnectProgress.AUTHENTICATED: "the keys are right, but it did not accept: see its log",
    ConnectProgress.ACCEPTED: "",
}


@dataclass(frozen=True, slots=True)
class TaskReachability:
    """The knowledge of a task: how far it was reached, its version once that is known, and the last thing that failed."""

    reached: ConnectProgress = ConnectProgress.NOTHING
    version: str | None = None
    error: str | None = None

    def told(self, progress: str) -> TaskReachability:
        """The state after a word of progress: a step of `ConnectProgress`, or "version ..."; other words change nothing."""
        if progress.startswith("version "):
            return replace(self, version=progress.removeprefix("version "))
        step = ConnectProgress.__members__.get(progress.upper())
        return self if step is None else replace(self, reached=max(self.reached, step))

    def failed(self, error: BaseException | str) -> TaskReachability:
        """The state after something failed."""
        return replace(self, error=str(error))


def describe(task: str, address: str, state: TaskReachability) -> str:
    """A sentence on a task that is being connected to."""
    reached = state.reached.name.lower()
    why = state.error or _LIKELY[state.reached] or "its answer to the first request has not come"
    who = f"{task} at {address}" if task else address
    return f"The run waited for a connection to {who}, which got as far as: {reached} ({why})."


@contextmanager
def logging_wait(address: str, gives_up_after: float) -> Iterator[Callable[[str], None]]:
    """Has the log say what a connection to a target waits for that takes long. Gives what has to be told of its progress."""
    state = TaskReachability()

    def progress(word: str) -> None:
        nonlocal state
        state = state.told(word)

    def tell() -> None:
        waited = describe("", address, state)
        _LOG.warning("the target does not answer yet", waited_for=waited, gives_up_after=gives_up_after)

    timer = asyncio.get_running_loop().call_later(_TELL_SECONDS, tell)
    try:
        yield progress
    finally:
        timer.cancel()


def missing(cluster: ClusterSpec, states: Mapping[str, TaskReachability]) -> list[str]:
    """The names of the tasks that have not been accepted."""
    return [
        task for task in cluster.tasks if states.get(task, TaskReachability()).reached is not ConnectProgress.ACCEPTED
    ]


def table(cluster: ClusterSpec, states: Mapping[str, TaskReachability], *, most: int = 18) -> str:
    """A line for each task, those that are missing first; beyond `most` lines the rest is counted.

    `states` has what is known by the tasks' names; of a task that it leaves out nothing is known. The default fits the
    `details` of an error.
    """
    absent = missing(cluster, states)
    order = absent + [task for task in cluster.tasks if task not in set(absent)]
    rows: list[tuple[str, ...]] = [
        ("task", "address", "resolved", "connected", "authenticated", "accepted", "version", "what is known")
    ]
    for task in order[:most]:
        state = states.get(task, TaskReachability())
        marks = ("yes" if state.reached >= step else "no" if step == state.reached + 1 else "-" for step in _STEPS)
        why = " ".join((state.error or "").split()) or ("" if task not in absent else _LIKELY[state.reached])
        rows.append((task, cluster.address_of(task).rpartition("://")[2], *marks, state.version or "", why))
    lines = [f"{len(order) - len(absent)} of {len(order)} tasks are there.", *columns(rows)]
    if len(order) > most:
        left = [task for task in order[most:] if task in set(absent)]
        lines.append(f"... and {len(order) - most} tasks more, {len(left)} of them missing")
    return "\n".join(lines)


_STEPS = (ConnectProgress.RESOLVED, ConnectProgress.CONNECTED, ConnectProgress.AUTHENTICATED, ConnectProgress.ACCEPTED)


def columns(rows: Iterable[tuple[str, ...]], widest: int = 160) -> list[str]:
    """Rows of equal length as lines of aligned columns; a cell beyond `widest` characters is cut."""
    cut = [[cell if len(cell) <= widest else cell[: widest - 4] + " ..." for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cut) for at in range(len(cut[0]))] if cut else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cut]
