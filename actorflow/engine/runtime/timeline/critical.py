"""`critical_path`: what a step waited for, from its end back to its begin."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from actorflow.engine.runtime.diagnostics.trace import Span, Trace, TraceEvent

Kind: TypeAlias = Literal["run", "queue", "dispatch", "transfer", "client"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the critical path; times as those of `TraceEvent`.

    kind: `run`: a kernel ran. `queue`: a node was ready, and something else ran. `dispatch`: between a node's end and the
        next one's readiness. `transfer`: a token was on its way. `client`: before the first node and after the last.
    name: the node; of a transfer the tensor; of the client what it did.
    device: the place; of a transfer, the destination.
    """

    kind: Kind
    name: str
    device: str
    begun: int
    ended: int

    @property
    def nanoseconds(self) -> int:
        """How long it took."""
        return self.ended - self.begun


def critical_path(trace: Trace) -> list[Stretch]:
    """The stretches from the begin of the last run to its end, each of which begins at the end of the stretch before.

    From the last node that ended, the path goes back to what brought the node's last token: the event on its device that
    ended last before, or for a Recv the Send. A trace without spans of a client begins with its first event.
    """
    run = last_run(trace)
    events = [e for e in trace.events if run is None or run.begun <= e.begun and e.ended <= run.ended]
    if not events:
        return [] if run is None else [Stretch("client", run.name, "", run.begun, run.ended)]
    begin = run.begun if run is not None else min(e.arrived or e.ready or e.begun for e in events)
    walk = _PathWalk(events, trace)
    at: TraceEvent | None = max(events, key=lambda e: (e.ended, e.order))
    assert at is not None
    end = at.ended
    path = [Stretch("client", "collect", "", end, run.ended)] if run is not None else []
    while at is not None and end > begin:
        end, at = walk.back(path, at, end, begin)
    if end > begin:
        path.append(Stretch("client", "begin" if run is not None else "wait", "", begin, end))
    return [part for part in reversed(path) if part.nanoseconds > 0]


def last_run(trace: Trace) -> Span | None:
    """The span of the last run; of recorded steps the last traced step, on all its tasks."""
    runs = [span for span in trace.spans if span.name == "Session.run"]
    if not runs:
        steps = [span for span in trace.spans if span.category == "step"]
        ends = sorted(event.ended for event in trace.events)
        runs = [span for span in steps if bisect_left(ends, span.begun) < bisect_right(ends, span.ended)]
    if not runs:
        return None
    last = max(runs, key=lambda span: span.ended)
    parts = [span for span in runs if last.category == "step" and span.name == last.name] or [last]
    return last._replace(begun=min(part.begun for part in parts), ended=max(part.ended for part in parts))


class _PathWalk:
    def __init__(self, events: list[TraceEvent], trace: Trace) -> None:
        self._sends = {id(recv): send for _, send, recv in trace._crossings()}
        self._by_device: defaultdict[str, list[TraceEvent]] = defaultdict(list)
        for event in sorted(events, key=lambda e: e.ended):
            self._by_device[event.device].append(event)
        self._ends = {device: [e.ended for e in row] for device, row in self._by_device.items()}
        self._seen: set[int] = set()

    def back(self, path: list[Stretch], event: TraceEvent, end: int, begin: int) -> tuple[int, TraceEvent | None]:
        """Adds what led to `event`, which the path leaves at `end`; gives where the path goes on, and with which event."""
        self._seen.add(id(event))
        send = self._sends.get(id(event))
        if send is not None and id(send) not in self._seen and send.ended <= end:
            sent = max(begin, min(send.ended, end))
            path.append(Stretch("transfer", event.key.split(";", 2)[-1], event.device, sent, end))
            return sent, send
        begun = max(begin, min(event.begun, end))
        path.append(Stretch("run", event.node, event.device, begun, end))
        ready = max(begin, min(event.ready or begun, begun))
        path.append(Stretch("queue", event.node, event.device, ready, begun))
        before = self._before(event, ready) if event.arrived else None
        if before is None:
            return ready, None
        done = max(begin, before.ended)
        path.append(Stretch("dispatch", event.node, event.device, done, ready))
        return done, before

    def _before(self, event: TraceEvent, time: int) -> TraceEvent | None:
        """The event of the same device that ended last, at `time` or before."""
        row, ends = self._by_device[event.device], self._ends[event.device]
        at = bisect_right(ends, time) - 1
        while at >= 0 and id(row[at]) in self._seen:
            at -= 1
        return row[at] if at >= 0 else None
