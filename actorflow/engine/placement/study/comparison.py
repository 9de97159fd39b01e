"""`StepComparison`: a predicted step beside a measured step, and what each node adds to the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.timeline import StepTimeline


class MeasuredEvent(Protocol):
    """The run of a kernel, as a trace has it (`actorflow.engine.runtime.diagnostics.trace.TraceEvent`). Times are nanoseconds."""

    @property
    def node(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def begun(self) -> int: ...
    @property
    def ended(self) -> int: ...
    @property
    def thread(self) -> bool: ...
    @property
    def members(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class NodeDifference:
    """One node on the measured way to the end of the step, in seconds.

    node, device: the node, and the device of its run.
    took, predicted: how long its kernel ran, and how long it was expected to.
    waited: how much longer than predicted it took from the end of the node before it on this way to its begin: a transfer, a
        queue, or the event loop.
    """

    node: str
    device: str
    took: float
    predicted: float
    waited: float

    @property
    def added(self) -> float:
        """Its part of the difference of the step."""
        return self.took - self.predicted + self.waited


@dataclass(frozen=True, slots=True)
class StepComparison:
    """A predicted step beside a measured step. The `added` of all `nodes` and the `rest` are the whole difference.

    predicted, measured: the seconds of the step.
    nodes: those on the measured way to the end, the first one first.
    rest: what the begin of the step and the return of its results add.
    """

    predicted: float
    measured: float
    nodes: Sequence[NodeDifference]
    rest: float

    @property
    def off(self) -> float:
        """The difference by the measured time."""
        return abs(self.measured - self.predicted) / self.measured

    def __str__(self) -> str:
        texts = [
            f"predicted {_ms(self.predicted)}, measured {_ms(self.measured)}: {self.off:.1%} off. On the way to the end:",
            *(
                f"  {node.node} on {node.device}: took {_ms(node.took)}, predicted {_ms(node.predicted)}; "
                f"waited {_signed(node.waited)}; adds {_signed(node.added)}"
                for node in self.nodes
            ),
            f"  the begin of the step and the return of its results: {_signed(self.rest)}",
        ]
        return "\n".join(texts)


class MeasuredSpan(Protocol):
    """The work of a task or the client for a step, as a trace has it. Times are nanoseconds."""

    @property
    def name(self) -> str: ...
    @property
    def begun(self) -> int: ...
    @property
    def ended(self) -> int: ...


class MeasuredStep(Protocol):
    """A trace of one step (`af.Trace`)."""

    @property
    def events(self) -> Sequence[MeasuredEvent]: ...
    @property
    def spans(self) -> Sequence[MeasuredSpan]: ...


def compare(problem: SearchProblem, timeline: StepTimeline, trace: MeasuredStep) -> StepComparison:
    """Goes back from the last kernel that ran, always to what it waited for: an input, or the kernel before it on its thread.

    Raises:
        ValueError: nothing ran in the step.
    """
    events = trace.events
    if not events:
        raise ValueError("The trace has no events: pass it to a run first.")
    whole = [span for span in trace.spans if span.name == "Session.run"] or events
    begun, ended = min(whole_event.begun for whole_event in whole), max(whole_event.ended for whole_event in whole)
    index = {name: i for i, name in enumerate(problem.work.names)}
    of: dict[int, MeasuredEvent] = {}
    members: dict[int, list[int]] = {}
    for event in events:
        places = [index[name] for name in (event.members or (event.node,)) if name in index]
        if places and event.op not in ("_Send", "_Recv"):
            members[id(event)] = places
            of.update(dict.fromkeys(places, event))
    present: MeasuredEvent | None = max(
        (event for event in events if id(event) in members), key=lambda event: event.ended, default=None
    )
    rows: list[NodeDifference] = []
    total, last = (ended - begun) * 1e-9, present
    threads = _by_thread(events, members)
    while present is not None:
        mine = members[id(present)]
        before = _cause(problem, present, mine, of, threads)
        working = [i for i in mine if problem.work.seconds[i]] or mine  # a constant is there from the begin of the step
        starts = min(timeline.begun[i] for i in working)
        since = 0.0 if before is None else max(timeline.ended[i] for i in members[id(before)])
        gap = (present.begun - (begun if before is None else before.ended)) * 1e-9
        took = (present.ended - present.begun) * 1e-9
        ends = max(timeline.ended[i] for i in mine)
        name = present.node if len(mine) == 1 else f"{present.node} ({len(mine)} nodes)"
        rows.append(NodeDifference(name, present.device, took, ends - starts, gap - (starts - since)))
        present = before
    after = (ended - last.ended) * 1e-9 if last is not None else total
    expected = max((timeline.ended[i] for i in members[id(last)]), default=0.0) if last is not None else 0.0
    return StepComparison(timeline.seconds, total, rows[::-1], after - (timeline.seconds - expected))


def _by_thread(events: Sequence[MeasuredEvent], members: Mapping[int, object]) -> dict[str, list[MeasuredEvent]]:
    by_thread: dict[str, list[MeasuredEvent]] = {}
    for event in sorted(events, key=lambda event: event.ended):
        if event.thread and id(event) in members:
            by_thread.setdefault(event.device, []).append(event)
    return by_thread


def _cause(
    problem: SearchProblem,
    event: MeasuredEvent,
    mine: Sequence[int],
    of: Mapping[int, MeasuredEvent],
    threads: Mapping[str, Sequence[MeasuredEvent]],
) -> MeasuredEvent | None:
    """The last to end before `event` began, of all that it waits for and what held its thread."""
    waited = [of[edge.source] for i in mine for edge in problem.work.inputs[i] if edge.source in of]
    if event.thread:
        waited += threads[event.device]
    return max((other for other in waited if other.ended <= event.begun), key=lambda other: other.ended, default=None)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"


def _signed(seconds: float) -> str:
    return f"{seconds * 1e3:+.3f} ms"
