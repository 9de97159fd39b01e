"""What ran when: the events of one traced step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from actorflow.passes.coalesce import members_of
from actorflow.public import public
from actorflow.runtime.diagnostics.causality import SAME_CLOCK, ClockOffset, in_order

if TYPE_CHECKING:
    from actorflow.runtime.executor import ExecutorState
    from actorflow.runtime.plan import PlanNode


@dataclass(frozen=True, slots=True)
class Event:
    """One kernel's run. All times are nanoseconds on the monotonic clock of the process that is given the trace; the
    tasks of its host read the same clock, and those of other hosts are brought to it (see `Trace.clock_error`).

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


@public("af")
@dataclass(slots=True)
class Trace:
    """Pass one to `session.run(..., trace=trace)`; afterwards `events` lists the kernels that ran, in order.

    A traced step runs without coalescing, so that each node shows by itself.

    clock_error: by how many nanoseconds the times of other tasks may be wrong. It is 0 where all tasks are on the caller's host.
        Between hosts it is half of the fastest round trip of the links' last beats, and what the clocks may have run apart
        since, 200 ppm. Whatever it is, no token comes before it was sent: times that say otherwise are put off, which
        leaves them within the bound.
    """

    events: list[Event] = field(default_factory=list)
    clock_error: int = 0

    def add(self, executor: ExecutorState, node: PlanNode, begun: int, ended: int, thread: bool = False) -> None:
        """Takes the run of a node.

        Args:
            executor: the `TracedExecutorState` that ran it.
            node: the node.
            begun, ended: when its kernel began and ended, in nanoseconds of the monotonic clock.
            thread: whether the kernel ran on a thread.
        """
        device, key = executor.plan.device.name, node.node.attrs.get("key", "")
        arrived, ready = executor.arrived.get(node.index, 0), executor.ready[node.index]  # type: ignore[attr-defined]
        if node.node.op not in ("_Send", "_Recv"):
            key = ""
        for member in members_of(node.node):
            place = len(self.events)
            self.events.append(Event(member.name, member.op, device, begun, ended, place, thread, arrived, ready, key))

    def take(self, events: Iterable[Sequence[Any]], ahead: ClockOffset = SAME_CLOCK) -> None:
        """Adds events of another task, as `rows` gives them, whose clock is `ahead` of this process's."""
        self.clock_error = max(self.clock_error, ahead.error)
        by = ahead.offset
        for node, op, device, begun, ended, thread, arrived, ready, key in events:
            first = arrived - by if arrived else 0
            place = len(self.events)
            self.events.append(Event(node, op, device, begun - by, ended - by, place, thread, first, ready - by, key))

    def keep_causality(self) -> None:
        """Puts off what came by an estimated clock before it was sent. Nothing is changed where all read one clock."""
        if not self.clock_error:
            return
        pairs = [(_task(s.device), s.ended, _task(r.device), r.ended) for _, s, r in self._crossings()]
        clocks = in_order({_task(event.device) for event in self.events}, pairs)
        for place, event in enumerate(self.events):
            at = clocks[_task(event.device)]
            self.events[place] = replace(
                event,
                begun=at(event.begun),
                ended=at(event.ended),
                arrived=event.arrived and at(event.arrived),
                ready=at(event.ready),
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
        found = []
        for key, send, recv in self._crossings():
            source, destination, tensor = key.split(";", 2)
            found.append(Transfer(tensor, source, destination, send.ended, recv.ended))
        return sorted(found, key=lambda transfer: transfer.sent)

    def _crossings(self) -> list[tuple[str, Event, Event]]:
        """The key, Send and Recv of each token that went from one device to another."""
        sends: defaultdict[str, list[Event]] = defaultdict(list)
        recvs: defaultdict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            if event.key:
                (sends if event.op == "_Send" else recvs)[event.key].append(event)
        return [
            (key, send, recv)
            for key, sent in sends.items()
            for send, recv in zip(sorted(sent, key=lambda e: e.ended), sorted(recvs[key], key=lambda e: e.ended))
        ]


def _task(device: str) -> str:
    """The task of a device, whose devices share a clock."""
    return device.rpartition("/device:")[0]
