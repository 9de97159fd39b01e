"""What ran when: the events of one traced step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from actorflow.graph.node import Node
from actorflow.passes.coalesce import members_of


@dataclass(frozen=True, slots=True)
class Event:
    """One kernel's run. `begun` and `ended` are nanoseconds on the monotonic clock of the process that is given the trace;
    `order` counts events."""

    node: str
    op: str
    device: str
    begun: int
    ended: int
    order: int
    thread: bool


@dataclass(slots=True)
class Trace:
    """Pass one to `session.run(..., trace=trace)`; afterwards `events` lists the kernels that ran, in order.

    A traced step runs without coalescing, so that each node shows by itself.
    """

    events: list[Event] = field(default_factory=list)

    def add(self, node: Node, device: str, begun: int, ended: int, thread: bool = False) -> None:
        for member in members_of(node):
            self.events.append(Event(member.name, member.op, device, begun, ended, len(self.events), thread))

    def take(self, events: Iterable[Sequence[Any]], ahead: int = 0) -> None:
        """Adds events of another task, as `rows` gives them, whose clock is `ahead` of this process's."""
        for node, op, device, begun, ended, thread in events:
            place = len(self.events)
            self.events.append(Event(node, op, device, begun - ahead, ended - ahead, place, thread))

    def rows(self) -> list[tuple[str, str, str, int, int, bool]]:
        """The events in plain types."""
        return [(e.node, e.op, e.device, e.begun, e.ended, e.thread) for e in self.events]

    def names(self) -> list[str]:
        """The names of the nodes that ran, in order."""
        return [event.node for event in self.events]
