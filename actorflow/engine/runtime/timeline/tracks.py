"""`TraceTimeline`: from a trace to processes, lanes, slices, flows and counters."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from actorflow.engine.runtime.timeline.critical import critical_path, last_run

if TYPE_CHECKING:
    from actorflow.engine.runtime.diagnostics.trace import Trace, TraceEvent

Value = int | str | bool
_PATH, _CLIENT, _PREDICTED = "critical path", "client", "predicted"


@dataclass(frozen=True, slots=True)
class TrackSlice:
    """Something that took time, on a lane. Slices of one lane follow each other, or lie within each other.

    begins, ends: the flows that begin or end in it, by number.
    """

    lane: int
    name: str
    category: str
    begun: int
    ended: int
    args: tuple[tuple[str, Value], ...] = ()
    begins: int = 0
    ends: int = 0


@dataclass(frozen=True, slots=True)
class TrackLane:
    """A row of the picture. `kind` says what is on it: `slices`, or a counter's points."""

    number: int
    process: int
    name: str
    kind: Literal["slices", "counter"] = "slices"


@dataclass(frozen=True, slots=True)
class Process:
    """A group of rows: a task, the client, or the critical path."""

    number: int
    name: str
    description: str


@dataclass(slots=True)
class TraceTimeline:
    """A picture of a trace; all times are nanoseconds from its first time."""

    processes: list[Process] = field(default_factory=list)
    lanes: list[TrackLane] = field(default_factory=list)
    slices: list[TrackSlice] = field(default_factory=list)
    points: list[tuple[int, int, int]] = field(default_factory=list)
    """Of counters: lane, time, value."""


def timeline_of(trace: Trace) -> TraceTimeline:
    """The picture of a trace: the critical path, the client, and each task with its devices' lanes, transfers and counters.

    A Recv is drawn as its transfer, from the end of the Send to its own end; nodes that wait are counted and not drawn, since
    they are many at a time.
    """
    times = [e.arrived or e.ready or e.begun for e in trace.events] + [s.begun for s in trace.spans]
    return _Picture(trace, min(times, default=0)).made


class _Picture:
    def __init__(self, trace: Trace, zero: int) -> None:
        self.made = TraceTimeline()
        self._zero = zero
        self._predicted = {prediction.node: prediction.ended - prediction.begun for prediction in trace.predicted}
        self._numbers: dict[str, int] = {}
        bound = (
            f"its times may be wrong by {trace.clock_error} ns" if trace.clock_error else "one clock with the client"
        )
        path = critical_path(trace)
        if path:
            lane = self._lane(_PATH, _PATH, "what the last run waited for")
            for part in path:
                self._add(lane, f"{part.kind}: {part.name}", part.kind, part.begun, part.ended, {"device": part.device})
        self._spans(trace)
        tasks: defaultdict[str, list[TraceEvent]] = defaultdict(list)
        for event in trace.events:
            tasks[_short(event.device.rpartition("/device:")[0])].append(event)
        crossings = trace._crossings()
        carried = {id(recv) for _, _, recv in crossings}
        flows = {id(send): number for number, (_, send, _) in enumerate(crossings, 1)}
        for task, events in sorted(tasks.items()):
            self._task(task, events, carried, flows, bound)
        self._transfers(crossings, bound)
        self._schedule(trace)

    def _schedule(self, trace: Trace) -> None:
        """The predicted schedule, from the begin of the last run."""
        run = last_run(trace)
        begin = self._zero if run is None else run.begun
        for device in sorted({span.device for span in trace.predicted}):
            mine = [span for span in trace.predicted if span.device == device and span.ended > span.begun]
            for row in _rows(mine, nested=False):
                lane = self._lane(_PREDICTED, _short(device), "what placement expects", again=True)
                for prediction in row:
                    self._add(lane, prediction.node, "predicted", begin + prediction.begun, begin + prediction.ended)

    def _spans(self, trace: Trace) -> None:
        by_task: defaultdict[str, list[Any]] = defaultdict(list)
        for span in trace.spans:
            by_task[_short(span.task)].append(span)
        for task, spans in sorted(by_task.items()):
            process = task or _CLIENT
            for number, row in enumerate(_rows(spans, nested=True)):
                lane = self._lane(
                    process, "calls" if not number else f"calls {number + 1}", "what it did beside kernels"
                )
                for span in row:
                    about = {"about": span.about} if span.about else {}
                    self._add(lane, span.name, span.category, span.begun, span.ended, about)

    def _task(self, task: str, events: list[TraceEvent], carried: set[int], flows: dict[int, int], bound: str) -> None:
        by_lane: defaultdict[str, list[TraceEvent]] = defaultdict(list)
        for event in events:
            if id(event) not in carried:
                device = event.device.rpartition("/device:")[2]
                by_lane[f"{device} {'thread' if event.thread else 'event loop'}"].append(event)
        for name, own_events in sorted(by_lane.items()):
            for number, row in enumerate(_rows(own_events, nested=False)):
                lane = self._lane(task, name if not number else f"{name}, at the same time {number}", bound)
                for event in row:
                    self._event(lane, event, flows.get(id(event), 0))
        by_device: defaultdict[str, list[TraceEvent]] = defaultdict(list)
        for event in events:
            by_device[event.device.rpartition("/device:")[2]].append(event)
        for device, own_events in sorted(by_device.items()):
            self._counter(task, f"{device} nodes ready", [(e.ready, e.begun) for e in own_events if e.ready], bound)
            waiting = [(e.arrived, e.ready) for e in own_events if e.arrived]
            self._counter(task, f"{device} nodes waiting", waiting, bound)

    def _event(self, lane: int, event: TraceEvent, flow: int) -> None:
        args: dict[str, Value] = {"op": event.op, "order": event.order}
        args |= {"waiting_ns": event.waiting, "queued_ns": event.queued if event.ready else 0}
        if event.members:
            args |= {"nodes": len(event.members), "members": " ".join(event.members[:50])}
        if self._predicted:
            args["predicted_ns"] = sum(self._predicted.get(name, 0) for name in event.members or (event.node,))
        if event.key:
            args["edge"] = event.key
        self._add(lane, event.node, "run", event.begun, event.ended, args, begins=flow)

    def _transfers(self, crossings: Sequence[tuple[str, TraceEvent, TraceEvent]], bound: str) -> None:
        moved = [_Moved(number, *crossing) for number, crossing in enumerate(crossings, 1)]
        by_task: defaultdict[str, list[_Moved]] = defaultdict(list)
        for transfer in moved:
            by_task[_short(transfer.recv.device.rpartition("/device:")[0])].append(transfer)
        for task, transfers in sorted(by_task.items()):
            for row in _rows(transfers, nested=False):
                lane = self._lane(task, "transfers", bound, again=True)
                for transfer in row:
                    source, destination, tensor = transfer.key.split(";", 2)
                    waited: dict[str, Value] = {"asked_before_ns": max(0, transfer.begun - transfer.recv.begun)}
                    args: dict[str, Value] = {"from": source, "to": destination, "node": transfer.recv.node, **waited}
                    if transfer.recv.marks:
                        args["marks"] = transfer.recv.marks
                    self._add(lane, tensor, "transfer", transfer.begun, transfer.ended, args, ends=transfer.flow)

    def _counter(self, task: str, name: str, stretches: Iterable[tuple[int, int]], bound: str) -> None:
        """How many of the stretches go on, at each time at which that changes."""
        changes: defaultdict[int, int] = defaultdict(int)
        for begun, ended in stretches:
            if ended > begun:
                changes[begun] += 1
                changes[ended] -= 1
        if not changes:
            return
        lane, value = self._lane(task, name, bound, kind="counter"), 0
        for time, change in sorted(changes.items()):
            if change:
                value += change
                self.made.points.append((lane, time - self._zero, value))

    def _lane(
        self,
        process: str,
        name: str,
        description: str,
        kind: Literal["slices", "counter"] = "slices",
        again: bool = False,
    ) -> int:
        """The lane of a name, a new lane unless the name has a lane; always a new lane with `again`."""
        key = f"{process}\n{name}"
        if again or key not in self._numbers:
            if process not in self._numbers:
                self._numbers[process] = len(self.made.processes) + 1
                self.made.processes.append(Process(self._numbers[process], _shown(process), description))
            self._numbers[key] = len(self.made.lanes) + 1
            self.made.lanes.append(TrackLane(self._numbers[key], self._numbers[process], name, kind))
        return self._numbers[key]

    def _add(
        self,
        lane: int,
        name: str,
        category: str,
        begun: int,
        ended: int,
        args: Mapping[str, Value] | None = None,
        begins: int = 0,
        ends: int = 0,
    ) -> None:
        first, last = begun - self._zero, max(ended, begun + 1) - self._zero
        self.made.slices.append(
            TrackSlice(lane, name, category, first, last, tuple((args or {}).items()), begins, ends)
        )


@dataclass(frozen=True, slots=True)
class _Moved:
    """A token on its way."""

    flow: int
    key: str
    send: TraceEvent
    recv: TraceEvent

    @property
    def begun(self) -> int:
        return self.send.ended

    @property
    def ended(self) -> int:
        return max(self.recv.ended, self.begun + 1)


def _rows(spans: Iterable[Any], nested: bool) -> list[list[Any]]:
    """Things with a begin and an end in as few rows as keep them apart; with `nested`, one may lie within another."""
    rows: list[list[Any]] = []
    open_: list[list[int]] = []
    free: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda o: (o.begun, -o.ended)):
        last = max(span.ended, span.begun + 1)
        if nested:
            for row, ends in zip(rows, open_):
                while ends and ends[-1] <= span.begun:
                    ends.pop()
                if not ends or last <= ends[-1]:
                    row.append(span)
                    ends.append(last)
                    break
            else:
                rows.append([span])
                open_.append([last])
        elif free and free[0][0] <= span.begun:
            _, place = heapq.heapreplace(free, (last, free[0][1]))
            rows[place].append(span)
        else:
            heapq.heappush(free, (last, len(rows)))
            rows.append([span])
    return rows


def _short(task: str) -> str:
    return task.replace("/replica:0", "")


def _shown(process: str) -> str:
    """`worker 0` for `/job:worker/task:0`: viewers cut names at their last slash."""
    if process.startswith("/job:"):
        job, _, task = process.removeprefix("/job:").partition("/task:")
        return f"{job} {task}".rstrip()
    return process.lstrip("/").replace("/", " ")
