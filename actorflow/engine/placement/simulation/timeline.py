"""`StepTimeline`: a simulated step, node by node, and the states from which it can be simulated again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class SimulationSnapshot(Protocol):
    """The state of a simulation before the events of `time`, in the form of the simulator that has made it."""

    @property
    def time(self) -> float: ...


@dataclass(frozen=True, slots=True)
class StepTimeline:
    """A simulated step. Times are in seconds from its begin.

    seconds: from its begin to its end.
    at: the device of each group.
    begun, ended, ready: of each node; `ready` is when all that it waits for is there.
    cause: the node whose output came last; -1 for none.
    before: the node for which it waited in the queue then; -1 for none.
    last: the node that ended the step; -1 for none.
    """

    seconds: float
    at: Sequence[int]
    begun: Sequence[float]
    ended: Sequence[float]
    ready: Sequence[float]
    cause: Sequence[int]
    before: Sequence[int]
    last: int
    snapshots: Sequence[SimulationSnapshot] = ()

    def critical(self) -> list[int]:
        """The nodes that the step's length consists of, from the last to the first: each waited for the next one's output, or
        until that one left the queue."""
        begun, ready, cause, before = self.begun, self.ready, self.cause, self.before
        path: list[int] = []
        node = self.last
        for _ in begun:
            if node < 0:
                break
            path.append(node)
            node = before[node] if begun[node] > ready[node] and before[node] >= 0 else cause[node]
        return path
