"""The events of one traced step: what ran when."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from actorflow.base.data_frame import data_frame
from actorflow.base.process import forks
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import ROLES
from actorflow.base.reports import markup
from actorflow.engine.runtime.diagnostics.causality import SAME_CLOCK, ClockOffset, in_order
from actorflow.public import public

if TYPE_CHECKING:
    from pandas import DataFrame

    from actorflow.engine.runtime.actors import ExecutorState
    from actorflow.engine.runtime.plan import PlanNode
    from actorflow.engine.runtime.timeline.coverage import Explained
    from actorflow.engine.runtime.timeline.critical import Stretch

_DRAWN = 250
"""The most events that a notebook shows as blocks: those that ran the longest."""
_RUN, _SPAN = 7, 4
"""The lengths of the notes of a kernel's run and of a span."""
_SETTLING = forks.new_lock()


class TraceEvent(NamedTuple):
    """One kernel's run. All times are nanoseconds on the monotonic clock of the process that is given the trace. The
    tasks of its host read the same clock; times of other hosts are brought to it (see `Trace.clock_error`).

    begun, ended: of the kernel. A Recv begins when its task asks for the tensor, and ends when that is there.
    order: counts events.
    thread: whether it ran on the device's thread.
    arrived: when the first of the node's inputs or control edges brought something; 0 for a node that waits for nothing.
    ready: when the last of them did.
    key: of a Send and its Recv the edge that they carry, else empty.
    members: of a region, which runs several nodes of the graph as one node, their names.
    marks: of a Send or a Recv: `lossy` where the tensor went in fewer bits, `scheduled` where the Recv was put off until its
        tensor was wanted soon.
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
    members: tuple[str, ...] = ()
    marks: str = ""

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


class Span(NamedTuple):
    """The work of a task or the client for a step, beside its kernels; times as those of `TraceEvent`.

    name: such as `Session.run`, `prepare` or `serve`.
    category: `client`, `runtime`, `rpc`, or `step` for a step that a task has recorded.
    task: the task, such as `/job:worker/task:0`; empty for the client.
    about: more of it, such as the error with which a recorded step ended.
    """

    name: str
    category: str
    task: str
    begun: int
    ended: int
    about: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A node's place in a predicted schedule; times are nanoseconds from the begin of the step.

    node, device: which node, and where.
    begun, ended: of its kernel.
    """

    node: str
    device: str
    begun: int
    ended: int


@public("af")
class Trace:
    """Pass a trace to `session.run(..., trace=trace)`; afterwards `events` lists the kernels that ran, in order.

    A trace that is passed to several runs has the events of all of them.

    A run notes plain tuples. They become events and spans when those are asked for.

    Example:
        >>> trace = af.Trace()
        >>> x = af.placeholder(af.float32, name="x")
        >>> y = af.square(x, name="y")
        >>> await session.run(y, {x: 3.0}, trace=trace)
        9.0
        >>> [event.node for event in trace.events]
        ['y']
        >>> trace.save("step.pftrace")  # for https://ui.perfetto.dev; print(trace.summary()) says it in short

    Args:
        events: the kernels that ran, in order.
        clock_error: by how many nanoseconds the times of other tasks may be wrong. It is 0 where all tasks are on the caller's
            host. Between hosts it is half of the fastest round trip of the links' last beats, and what the clocks may have run
            apart since, 200 ppm. In any case, no token comes before it was sent: times that say otherwise are put off,
            which leaves them within the bound.
        detail: `node` runs the step without coalescing, so that each node shows by itself. `plan` runs the plan that untraced
            steps run; a region shows as one event, with its nodes in `members`.
        spans: what the client and the tasks did for the steps beside their kernels.
        predicted: the schedule that placement expects of the step, where `Session.predict` has put it.
    """

    __slots__ = ("_events", "_last", "_notes", "_spans", "clock_error", "detail", "predicted")
    follows_tokens = True
    """Whether it notes when tokens come, which takes a `TracedExecutorState`."""

    def __init__(
        self,
        events: Iterable[TraceEvent] = (),
        clock_error: int = 0,
        detail: Literal["node", "plan"] = "node",
        spans: Iterable[Span] = (),
        predicted: Iterable[Prediction] = (),
    ) -> None:
        if detail != "plan" and detail != "node":
            raise ValueError(f"The detail of a trace is 'node' or 'plan', not {detail!r}.")
        self._events = [*events]
        self._spans = [*spans]
        self.clock_error = clock_error
        self.detail: Literal["node", "plan"] = detail
        self.predicted = [*predicted]
        self._last = 0
        """When the last event or span of those that were added ended."""
        self._notes: deque[tuple[Any, ...]] = deque()
        """The notes that are no events and spans yet; a note that is neither by its length is the end of what began
        when the note before it ended."""

    @property
    def events(self) -> list[TraceEvent]:
        """The kernels that ran, in order."""
        if self._notes:
            self._settle()
        return self._events

    @property
    def spans(self) -> list[Span]:
        """The work of the client and the tasks for the steps, beside their kernels."""
        if self._notes:
            self._settle()
        return self._spans

    @property
    def size(self) -> int:
        """How many events there are. It makes none."""
        notes = self._notes.copy()  # another thread may settle it
        return len(self._events) + sum([len(note) == _RUN for note in notes])

    def __repr__(self) -> str:
        return f"Trace({len(self.events)} events, {len(self.spans)} spans, detail={self.detail!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return self._facts() == other._facts()

    __hash__ = None  # type: ignore[assignment]

    def _facts(self) -> tuple[Any, ...]:
        return self.events, self.clock_error, self.detail, self.spans, self.predicted

    def add(self, executor: ExecutorState, node: PlanNode, begun: int, ended: int, thread: bool = False) -> None:
        """Takes the run of a node.

        Args:
            executor: the `TracedExecutorState` that ran it.
            node: the node.
            begun, ended: when its kernel began and ended, in nanoseconds of the monotonic clock.
            thread: whether the kernel ran on a thread.
        """
        index = node.index
        ready = executor.ready[index]  # type: ignore[attr-defined]
        arrived = executor.arrived.get(index, ready)  # type: ignore[attr-defined]
        self._notes.append((node.label, executor.plan.device.name, begun, ended, thread, arrived, ready))

    def add_failed(self, executor: ExecutorState, node: PlanNode) -> None:
        """Takes a node whose kernel has just raised, from when it was ready.

        Args:
            executor, node: as for `add`.
        """
        ready = executor.ready.get(node.index)  # type: ignore[attr-defined]
        if ready is not None:
            self.add(executor, node, ready, perf_counter_ns())

    def span(self, name: str, category: str, begun: int, ended: int) -> None:
        """Takes what this process did for the step beside its kernels.

        Args:
            name, category: see `Span`.
            begun, ended: when it began and ended, in nanoseconds of the monotonic clock.
        """
        self._notes.append((name, category, begun, ended))

    def rest(self, name: str, category: str) -> int:
        """Takes what this process has done since the last event or span ended, and gives the time.

        Args:
            name, category: see `Span`.
        """
        now = perf_counter_ns()
        self._notes.append((name, category, now))
        return now

    def _settle(self) -> None:
        """Makes events and spans of the notes. A post-mortem does so on a thread, while the step goes on."""
        with _SETTLING:
            notes, events, spans, last = self._notes, self._events, self._spans, self._last
            while notes:
                note = notes.popleft()
                if len(note) == _RUN:
                    (name, op, key, members, marks), device, begun, ended, thread, arrived, ready = note
                    place = len(events)
                    events.append(
                        TraceEvent(name, op, device, begun, ended, place, thread, arrived, ready, key, members, marks)
                    )
                elif len(note) == _SPAN:
                    name, category, begun, ended = note
                    spans.append(Span(name, category, "", begun, ended))
                else:
                    name, category, ended = note
                    if last:
                        spans.append(Span(name, category, "", min(last, ended), ended))
                last = max(last, ended)
            self._last = last

    def explained(self) -> Explained:
        """How much of the last run's time the trace accounts for, by kinds of work, and where the rest is.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> y = af.square(x, name="y")
            >>> trace = af.Trace()
            >>> _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> explained = trace.explained()
            >>> 0.0 < explained.share <= 1.0
            True
        """
        from actorflow.engine.runtime.timeline.coverage import explained

        return explained(self)

    def take(
        self,
        events: Iterable[Sequence[Any]],
        ahead: ClockOffset = SAME_CLOCK,
        spans: Iterable[Sequence[Any]] = (),
        task: str = "",
    ) -> None:
        """Adds what another task has noted, as `rows` gives it.

        Args:
            events: its events.
            ahead: how far its clock is ahead of this process's.
            spans: its spans.
            task: the task, for spans that name none.
        """
        self.clock_error = max(self.clock_error, ahead.error)
        by = ahead.offset
        mine, around = self.events, self.spans
        for node, op, device, begun, ended, thread, arrived, ready, key, marks, *members in events:
            first, place = arrived - by if arrived else 0, len(mine)
            times = begun - by, ended - by, place, thread, first, ready - by
            mine.append(TraceEvent(node, op, device, *times, key, tuple(members), marks))
        for name, category, of, begun, ended, about in spans:
            around.append(Span(name, category, of or task, begun - by, ended - by, about))
            self._last = max(self._last, ended - by)

    def keep_causality(self) -> None:
        """Puts off what came by an estimated clock before it was sent. Nothing is changed where all read one clock."""
        if not self.clock_error:
            return
        pairs = [(task_of(s.device), s.ended, task_of(r.device), r.ended) for _, s, r in self._crossings()]
        clocks = in_order({task_of(event.device) for event in self.events}, pairs)
        for place, event in enumerate(self.events):
            at = clocks[task_of(event.device)]
            self.events[place] = event._replace(
                begun=at(event.begun),
                ended=at(event.ended),
                arrived=event.arrived and at(event.arrived),
                ready=at(event.ready),
            )
        for place, span in enumerate(self.spans):
            if span.task in clocks:
                at = clocks[span.task]
                self.spans[place] = span._replace(begun=at(span.begun), ended=at(span.ended))

    def rows(self) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """The events and the spans in plain types.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> y = af.square(x, name="y")
            >>> trace = af.Trace()
            >>> _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> events, spans = trace.rows()
            >>> events[0][:2]
            ('y', 'Square')
        """
        events = [
            (e.node, e.op, e.device, e.begun, e.ended, e.thread, e.arrived, e.ready, e.key, e.marks, *e.members)
            for e in self.events
        ]
        return events, [(s.name, s.category, s.task, s.begun, s.ended, s.about) for s in self.spans]

    def names(self) -> list[str]:
        """The names of the nodes that ran, in order; those of a region in sequence.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> y = af.square(x, name="y")
            >>> trace = af.Trace()
            >>> _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> trace.names()
            ['y']
        """
        return [name for event in self.events for name in event.members or (event.node,)]

    def transfers(self) -> list[Transfer]:
        """The transfers from one device to another, in the order in which they were sent. In loops the n-th token of an
        edge that was sent is the n-th that came.

        Example:
            >>> with af.device("/cpu:0"):
            ...     x = af.placeholder(af.float32, name="x")
            ...     double = x * 2.0
            >>> with af.device("/cpu:1"):
            ...     y = af.square(double, name="y")
            >>> async with af.Session(devices={"CPU": 2}) as session:
            ...     trace = af.Trace()
            ...     _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> [transfer.tensor for transfer in trace.transfers()]
            ['mul:0']
        """
        transfers = []
        for key, send, recv in self._crossings():
            source, destination, tensor = key.split(";", 2)
            transfers.append(Transfer(tensor, source, destination, send.ended, recv.ended))
        return sorted(transfers, key=lambda transfer: transfer.sent)

    def critical_path(self) -> list[Stretch]:
        """The stretches of the last run's longest wait, from its begin to its end without a gap: what ran, was queued or was on
        its way.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> y = af.square(x, name="y")
            >>> trace = af.Trace()
            >>> _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> [stretch.name for stretch in trace.critical_path() if stretch.kind == "run"]
            ['y']
        """
        from actorflow.engine.runtime.timeline.critical import critical_path

        return critical_path(self)

    def summary(self) -> str:
        """The trace in some lines: how long the run took, what for, and which nodes took the most.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> y = af.square(x, name="y")
            >>> trace = af.Trace()
            >>> _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> trace.summary().splitlines()[1]
            'critical path:'
        """
        from actorflow.engine.runtime.timeline.summary import summary

        return summary(self)

    def to_perfetto(self) -> bytes:
        """The timeline as Perfetto reads it (https://ui.perfetto.dev): devices, transfers, counters and the critical path.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> y = af.square(x, name="y")
            >>> trace = af.Trace()
            >>> _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> len(trace.to_perfetto()) > 100
            True
        """
        from actorflow.engine.runtime.timeline.perfetto import to_perfetto
        from actorflow.engine.runtime.timeline.tracks import timeline_of

        return to_perfetto(timeline_of(self))

    def to_chrome(self) -> str:
        """The timeline as JSON for Chrome's `chrome://tracing` and other viewers; its times are microseconds.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> y = af.square(x, name="y")
            >>> trace = af.Trace()
            >>> _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> import json
            >>> len(json.loads(trace.to_chrome())["traceEvents"]) > 2
            True
        """
        from actorflow.engine.runtime.timeline.chrome import to_chrome
        from actorflow.engine.runtime.timeline.tracks import timeline_of

        return to_chrome(timeline_of(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the timeline to a file: as JSON where its name ends in `.json`, else as Perfetto's protobuf (`.pftrace`).

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> y = af.square(x, name="y")
            >>> trace = af.Trace()
            >>> _ = await session.run(y, {x: 3.0}, trace=trace)
            >>> trace.save("step.pftrace")
            >>> trace.save("step.json")
        """
        data = self.to_chrome().encode() if os.fspath(path).endswith(".json") else self.to_perfetto()
        with open(path, "wb") as file:
            file.write(data)

    def to_pandas(self) -> DataFrame:
        """The events as a table of pandas: a row for each kernel that ran. Times are nanoseconds, counted from the first event.

            frame = trace.to_pandas()
            frame.groupby("op")["running"].sum().nlargest(10)

        Raises:
            UnimplementedError: pandas is not installed.
        """
        first = min((event.arrived or event.ready for event in self.events), default=0)
        columns: dict[str, list[Any]] = {
            name: [getattr(event, name) for event in self.events]
            for name in ("node", "op", "device", "waiting", "queued", "running", "thread")
        }
        columns |= {
            name: [getattr(event, name) - first for event in self.events] for name in ("ready", "begun", "ended")
        }
        return data_frame(columns)

    def _repr_html_(self) -> str:
        """For notebooks: the summary, and a line of time for each device."""
        if not self.events:
            return markup.card("Trace", {"events": 0})
        first, last = min(e.begun for e in self.events), max(e.ended for e in self.events)
        whole = max(1, last - first)
        by_device: defaultdict[str, list[TraceEvent]] = defaultdict(list)
        for event in sorted(self.events, key=lambda event: -event.running)[:_DRAWN]:
            by_device[event.device].append(event)
        lanes = ""
        for device, events in sorted(by_device.items()):
            blocks = [((e.begun - first) / whole, (e.ended - first) / whole, f"{e.node} ({e.op})") for e in events]
            lanes += f"<div>{escape(device)}</div>{markup.bar(blocks, '#3a8f6e')}"
        facts = {"events": f"{len(self.events):,}", "devices": len(by_device)}
        return markup.card("Trace", facts, lanes, markup.fold("summary", markup.text(self.summary()), opened=True))

    def _crossings(self) -> list[tuple[str, TraceEvent, TraceEvent]]:
        """The key, Send and Recv of each token that went from one device to another."""
        sends: defaultdict[str, list[TraceEvent]] = defaultdict(list)
        recvs: defaultdict[str, list[TraceEvent]] = defaultdict(list)
        for event in self.events:
            if event.key:
                (sends if ROLES[event.op] is roles.SEND else recvs)[event.key].append(event)
        return [
            (key, send, recv)
            for key, sent in sends.items()
            for send, recv in zip(sorted(sent, key=lambda e: e.ended), sorted(recvs[key], key=lambda e: e.ended))
        ]


def task_of(device: str) -> str:
    """The task of a device, whose devices share a clock."""
    return device.rpartition("/device:")[0]
