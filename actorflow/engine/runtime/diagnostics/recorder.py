"""`Recorder`: the last seconds of a task's steps, for a look back after a failure.

One step in many is traced. The begin, the end and the error of each step that fails or takes longer than a millisecond are
kept as well. Steps older than `seconds` make room. A step that fails, or that waits for too long, has all of it written to a
file.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from actorflow.engine.runtime.diagnostics.causality import SAME_CLOCK, ClockOffset
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.engine.runtime.actors import ExecutorState
    from actorflow.engine.runtime.diagnostics.post_mortem import PostMortem
    from actorflow.engine.runtime.plan import PlanNode
    from actorflow.engine.runtime.step import Step

FOLDER = "ACTORFLOW_TRACES"
"""The environment's variable that names the folder of post-mortem files."""
_USUAL = (CancelledError, OutOfRangeError)
"""Errors with which a step may end in any training: a caller that goes, and the end of the input."""
_MOST_TOLD = 2000
_FOREVER = 1 << 62
_MOST_SECONDS = 1e9
LONG = 0.001
"""A step that takes longer is kept, whether or not it was traced."""
UNDER_WAY = "under way"
TRACED = "traced"


@public("af")
@dataclass(frozen=True, slots=True)
class Recording:
    """How much a task remembers of its last steps (`Server`, `LocalCluster`, `Session`).

    `actorflow trace --last 10s` asks the tasks of a cluster for it.

    Example:
        >>> x = af.placeholder(af.float32, name="x")
        >>> y = af.square(x, name="y")
        >>> async with af.Session(recording=af.Recording(every=1, seconds=60.0)) as session:
        ...     _ = await session.run(y, {x: 3.0})
        ...     print({event.node for event in session.recent().events})
        {'y'}

    Args:
        every: the number of a step that is traced is a multiple of this, so that all tasks of a step trace the same steps;
            0 traces none.
        seconds: for how many seconds steps are kept.
        events: how many events and steps are kept at most.
        folder: where a step that fails, or that waits for longer than `seconds`, has a timeline of what is kept then written;
            the environment's `ACTORFLOW_TRACES` unless given; no file without either. The errors of steps are in these files, and
            their texts may carry values.

    Raises:
        ValueError: a number is none of these.
    """

    every: int = 100
    seconds: float = 10.0
    events: int = 20_000
    folder: str | None = None

    def __post_init__(self) -> None:
        if self.every < 0 or not 0 < self.seconds < math.inf or self.events < 1:
            raise ValueError(f"every is 0 or more, seconds and events are more than 0 and finite, but they are {self}.")

    @property
    def destination(self) -> str | None:
        """The folder of post-mortem files; None where none are written."""
        return self.folder or os.environ.get(FOLDER) or None


class RecordedTrace(Trace):
    """The trace of a step that a recorder has chosen. It notes when kernels began and ended, and not when tokens came: the step
    is run by the code that runs all others, which is warm. An executor of another class would cost as much again as the step.
    """

    __slots__ = ()
    follows_tokens = False

    def __init__(self) -> None:
        self._events, self._spans, self.predicted = [], [], []
        self._notes, self._last = deque(), 0
        self.clock_error, self.detail = 0, "plan"

    def add(self, executor: ExecutorState, node: PlanNode, begun: int, ended: int, thread: bool = False) -> None:
        self._notes.append((node.label, executor.plan.device.name, begun, ended, thread, begun, begun))

    def add_failed(self, executor: ExecutorState, node: PlanNode) -> None:
        now = perf_counter_ns()
        self.add(executor, node, now, now)


class SampledTrace(RecordedTrace):
    """The trace of a step of those that somebody has asked for (`Recorder.record`), with the times of tokens."""

    __slots__ = ()
    follows_tokens = True
    add, add_failed = Trace.add, Trace.add_failed


class RecordedStep(NamedTuple):
    """A step, or a part of it on this task.

    begun, ended: nanoseconds of the monotonic clock.
    error: empty if the step ended well; `under way` if it has not ended.
    trace: None for a step without a trace.
    size: how many events and steps it counts for.
    """

    number: int
    begun: int
    ended: int
    error: str
    trace: Trace | None
    size: int = 1


class Recorder:
    """Keeps the last steps of a task. `post_mortem` writes them where one fails.

    A step whose number is a multiple of `every` begins with a trace of `kind`; see `StepRunner`, which asks nothing of a
    recorder in each step but that.
    """

    def __init__(self, recording: Recording, post_mortem: PostMortem | None = None) -> None:
        self.recording = recording
        self.post_mortem = post_mortem
        self._usual()
        self._since = 0
        """When somebody asked for more than the usual."""
        self._kept: deque[RecordedStep] = deque()
        self._size = 0
        self.dropped = 0
        """How many steps made room although they were not old."""

    def _usual(self) -> None:
        self.every, self._most = self.recording.every or _FOREVER, self.recording.events
        self.kind: type[RecordedTrace] = RecordedTrace
        self._span = int(min(self.recording.seconds, _MOST_SECONDS) * 1e9)

    def record(self, every: int, events: int, running: Iterable[Step] = ()) -> list[RecordedStep]:
        """Traces each step from now on whose number is a multiple of `every`, keeps `events` of them, and nothing grows old; or
        goes back to what is usual, where `every` is 0. Gives the steps since the last such call."""
        since, self._since = self._since, perf_counter_ns()
        steps = [step for step in self.last(running=running) if step.begun >= since]
        if every:
            self.every, self._most, self._span, self.kind = every, events, _FOREVER, SampledTrace
        else:
            self._usual()
        return steps

    def ended(self, step: Step, running: Iterable[Step]) -> None:
        """Takes a step that is over; `running` are the others that are under way."""
        trace, error = step.trace, step.error
        now = perf_counter_ns()
        size = 1
        if not isinstance(trace, RecordedTrace):
            trace = None
        else:
            size += trace.size
        said = "" if error is None else f"{type(error).__name__}: {error}"[:_MOST_TOLD]
        kept = self._kept
        kept.append(RecordedStep(step.id, now - step.age, now, said, trace, size))
        self._size += size
        while self._size > self._most and len(kept) > 1:
            self.dropped += 1
            self._forget()
        oldest = now - self._span
        while kept[0].ended < oldest:
            self._forget()
        if error is not None and self.post_mortem is not None and not isinstance(error, _USUAL):
            self.post_mortem.write(lambda: self.last(running=running), step.id, type(error).__name__)

    def _forget(self) -> None:
        self._size -= self._kept.popleft().size

    def stalled(self, step: int, lines: Iterable[str], running: Iterable[Step]) -> None:
        """A step waits for long. `lines` say what for."""

        def look() -> list[RecordedStep]:
            text = "\n".join(lines)[:_MOST_TOLD]
            return [
                record._replace(error=text) if record.number == step else record
                for record in self.last(running=running)
            ]

        if self.post_mortem is not None:
            self.post_mortem.write(look, step, "waits")

    def last(self, seconds: float | None = None, running: Iterable[Step] = ()) -> list[RecordedStep]:
        """The steps that ended within the last `seconds`, all that are kept unless given, and those of `running`.

        Raises:
            InvalidArgumentError: `seconds` is not a number.
        """
        if seconds is not None and math.isnan(seconds):
            raise InvalidArgumentError("The last nan seconds can't be asked for: give a number.")
        now = perf_counter_ns()
        oldest = now - (self._span if seconds is None else int(min(max(seconds, 0.0), _MOST_SECONDS) * 1e9))
        steps = [record for record in self._kept if record.ended >= oldest]
        for step in running:
            trace = step.trace if isinstance(step.trace, RecordedTrace) else None
            steps.append(RecordedStep(step.id, now - step.age, now, UNDER_WAY, trace))
        return steps


def rows(steps: Iterable[RecordedStep]) -> list[Any]:
    """Steps in plain types, for another process."""
    return [
        [step.number, step.begun, step.ended, step.error, [] if step.trace is None else step.trace.rows()[0]]
        for step in steps
    ]


def take(
    trace: Trace, found: Iterable[Any], task: str, ahead: ClockOffset = SAME_CLOCK, only: int | None = None
) -> list[int]:
    """Adds the `rows` of a task to a trace: a span for each step, and its events. Gives the numbers of the steps.

    Args:
        trace: takes them.
        found: the rows.
        task: whose they are, such as `/job:worker/task:0`.
        ahead: how far that task's clock is ahead of this process's.
        only: the number of the one step that is wanted; all unless given.
    """
    numbers = []
    for number, begun, ended, error, events in found:
        if only not in (None, number):
            continue
        name = f"step {number}" + (f": {error.partition(':')[0].splitlines()[0]}" if error else "")
        trace.take(events, ahead, [(name, "step", task, begun, ended, error or (TRACED if events else ""))])
        numbers.append(number)
    return numbers
