"""What ran when: the events of one traced step."""

from __future__ import annotations

from dataclasses import dataclass, field

from actorflow.graph.node import Node
from actorflow.passes.coalesce import members_of


@dataclass(frozen=True, slots=True)
class Event:
    """One kernel's run. `begun` and `ended` are nanoseconds on the process's monotonic clock; `order` counts events."""

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

    def names(self) -> list[str]:
        """The names of the nodes that ran, in order."""
        return [event.node for event in self.events]
