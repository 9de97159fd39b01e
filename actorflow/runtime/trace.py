"""What ran when: the events of one traced step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from actorflow.passes.coalesce import members_of

if TYPE_CHECKING:
    from actorflow.runtime.part import Part
    from actorflow.runtime.plan import PlanNode


@dataclass(frozen=True, slots=True)
class Event:
    """One kernel's run. All times are nanoseconds on the monotonic clock of the process that is given the trace; those of
    other tasks are brought to it by the clocks in their links' beats.

    begun, ended: of the kernel. A Recv begins when its task asks for the tensor, and ends when that is there.
    order: counts events.
    thread: whether it ran on the device's thread.
    arrived: when the first of the node's inputs or control edges brought something; 0 where it waits for none.
    ready: when the last of them did.
    key: of a Send and its Recv the edge that they carry, else empty.
    """

    node: str
    op: str
    device: str
    begun: int
    ended: int
    order: int
    thread: bool
    arrived: int = 0
    ready: int = 0
    key: str = ""

    @property
    def waiting(self) -> int:
        """How long the node had some inputs and lacked others."""
        return self.ready - self.arrived if self.arrived else 0

    @property
    def queued(self) -> int:
        """How long it was ready, and something else ran."""
        return self.begun - self.ready

    @property
    def running(self) -> int:
        """How long its kernel took."""
        return self.ended - self.begun


@dataclass(frozen=True, slots=True)
class Transfer:
    """A token on its way from one device to another: from the end of its Send to that of its Recv."""

    tensor: str
    source: str
    destination: str
    sent: int
    received: int


@dataclass(slots=True)
class Trace:
    """Pass one to `session.run(..., trace=trace)`; afterwards `events` lists the kernels that ran, in order.

    A traced step runs without coalescing, so that each node shows by itself.
    """

    events: list[Event] = field(default_factory=list)

    def add(self, part: Part, node: PlanNode, begun: int, ended: int, thread: bool = False) -> None:
        """Takes the run of a node; `part` is a `TracedPart`."""
        device, key = part.plan.device.name, node.node.attrs.get("key", "")
        arrived, ready = part.arrived.get(node.index, 0), part.ready[node.index]  # type: ignore[attr-defined]
        if node.node.op not in ("_Send", "_Recv"):
            key = ""
        for member in members_of(node.node):
            place = len(self.events)
            self.events.append(Event(member.name, member.op, device, begun, ended, place, thread, arrived, ready, key))

    def take(self, events: Iterable[Sequence[Any]], ahead: int = 0) -> None:
        """Adds events of another task, as `rows` gives them, whose clock is `ahead` of this process's."""
        for node, op, device, begun, ended, thread, arrived, ready, key in events:
            first = arrived - ahead if arrived else 0
            place = len(self.events)
            self.events.append(
                Event(node, op, device, begun - ahead, ended - ahead, place, thread, first, ready - ahead, key)
            )

    def rows(self) -> list[tuple[str, str, str, int, int, bool, int, int, str]]:
        """The events in plain types."""
        return [(e.node, e.op, e.device, e.begun, e.ended, e.thread, e.arrived, e.ready, e.key) for e in self.events]

    def names(self) -> list[str]:
        """The names of the nodes that ran, in order."""
        return [event.node for event in self.events]

    def transfers(self) -> list[Transfer]:
        """What went from one device to another, in the order in which it was sent. In loops the n-th token of an edge that was
        sent is the n-th that came."""
        sends: defaultdict[str, list[Event]] = defaultdict(list)
        recvs: defaultdict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            if event.key:
                (sends if event.op == "_Send" else recvs)[event.key].append(event)
        found = []
        for key, sent in sends.items():
            source, destination, tensor = key.split(";", 2)
            pairs = zip(sorted(sent, key=lambda e: e.ended), sorted(recvs[key], key=lambda e: e.ended))
            found += [Transfer(tensor, source, destination, s.ended, r.ended) for s, r in pairs]
        return sorted(found, key=lambda transfer: transfer.sent)
