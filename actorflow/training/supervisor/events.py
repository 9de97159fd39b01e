"""The events of a supervisor: each event is a record, and goes to the log and to all who follow `Supervisor.events()`."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.public import public

_LOG = get_logger("supervisor")
_KEPT = 1000
_SHOWN_LINES = 8


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class DeathReport:
    """The facts about a task that was lost.

    Example:
        >>> report = af.supervisor.DeathReport("/job:worker/task:0", how="killed by signal 9", epoch=1, incarnation=1, pid=1234)
        >>> report.task, report.how
        ('/job:worker/task:0', 'killed by signal 9')

    Args:
        task: the name of the task.
        how: a sentence on the evidence: a signal or exit status, or how the connection ended.
        epoch: the epoch of the cluster in which it was lost.
        incarnation: the number of the process that was lost.
        pid: its process id, if it is known.
        status: its exit status, negative for a signal; None if it is not known.
        resident_bytes: the memory of the process, when it was looked at last.
        tensor_bytes: the memory of its tensors then.
        last_node: the node whose kernel ran on a thread then.
        log_lines: the last lines that it wrote.
        in_order: whether it closed its connections before it ended, and with exit status 0 where that is known.
    """

    task: str
    how: str
    epoch: int
    incarnation: int
    pid: int | None = None
    status: int | None = None
    resident_bytes: int | None = None
    tensor_bytes: int | None = None
    last_node: str | None = None
    log_lines: tuple[str, ...] = ()
    in_order: bool = False

    def lines(self) -> list[str]:
        """The report as text.

        Example:
            >>> report = af.supervisor.DeathReport("/job:worker/task:0", how="killed by signal 9", epoch=1, incarnation=1)
            >>> report.lines()
            ['killed by signal 9 (epoch 1, incarnation 1)']
        """
        rows = [f"{self.how} (epoch {self.epoch}, incarnation {self.incarnation:x})"]
        if self.resident_bytes is not None:
            rows.append(f"its memory, when last seen: {self.resident_bytes:,} bytes")
        if self.tensor_bytes is not None:
            rows.append(f"its tensors, when last seen: {self.tensor_bytes:,} bytes")
        if self.last_node is not None:
            rows.append(f"its last node: {self.last_node}")
        if self.log_lines:
            rows.append("what it wrote last:")
            rows += (f"  | {line}" for line in self.log_lines[-_SHOWN_LINES:])
        return rows


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class Event:
    """The root of all events. `time` is in seconds since 1970.

    Example:
        >>> issubclass(af.supervisor.WorkerLost, af.supervisor.Event)
        True
    """

    time: float


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class WorkerLost(Event):
    """A task is lost, a worker or any other.

    Example:
        >>> report = af.supervisor.DeathReport("/job:worker/task:0", how="killed by signal 9", epoch=1, incarnation=1)
        >>> event = af.supervisor.WorkerLost(time=0.0, task=report.task, report=report)
        >>> event.report.how
        'killed by signal 9'

    Args:
        time: seconds since 1970.
        task: the name of the task.
        report: what is known of the loss.
    """

    task: str
    report: DeathReport


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class WorkerEnded(Event):
    """A task, a worker or any other, has ended in good order: its program was over, or was told to end.

    Example:
        >>> af.supervisor.WorkerEnded(time=0.0, task="/job:worker/task:0").task
        '/job:worker/task:0'

    Args:
        time: seconds since 1970.
        task: the name of the task.
    """

    task: str


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class LoopStalled(Event):
    """A task is connected, but its event loop does not answer, for example because a kernel holds its interpreter.

    Example:
        >>> af.supervisor.LoopStalled(time=0.0, task="/job:worker/task:0", seconds=3.5).seconds
        3.5

    Args:
        time: seconds since 1970.
        task: the name of the task.
        seconds: how long it has not answered.
    """

    task: str
    seconds: float


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class StepAborted(Event):
    """A step will be done again, or another step in its place.

    Example:
        >>> af.supervisor.StepAborted(time=0.0, step=101, reason="worker 0 was lost").reason
        'worker 0 was lost'

    Args:
        time: seconds since 1970.
        step: the number of the step.
        reason: a sentence on what ended it.
    """

    step: int
    reason: str


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class TaskRestarted(Event):
    """A task was started again.

    Example:
        >>> event = af.supervisor.TaskRestarted(time=0.0, task="/job:worker/task:0", seconds=0.8)
        >>> event.task
        '/job:worker/task:0'

    Args:
        time: seconds since 1970.
        task: the name of the task.
        seconds: how long it was gone.
    """

    task: str
    seconds: float
    """From the loss on."""


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class Restored(Event):
    """Variables have their values: from a checkpoint, or initial values.

    Example:
        >>> event = af.supervisor.Restored(time=0.0, path="run/model.ckpt-100", step=100, epoch=2)
        >>> event.step
        100

    Args:
        time: seconds since 1970.
        path: the path of the checkpoint; None for initial values.
        step: the global step.
        epoch: the epoch of the cluster.
        from_copies: whether the values are those of copies in the memory of tasks (`Supervisor(copies=1)`); `path` is None then.
    """

    path: str | None
    step: int
    epoch: int
    from_copies: bool = False


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class CheckpointSaved(Event):
    """A checkpoint was written.

    Example:
        >>> event = af.supervisor.CheckpointSaved(time=0.0, path="run/model.ckpt-100", step=100)
        >>> event.path, event.step
        ('run/model.ckpt-100', 100)

    Args:
        time: seconds since 1970.
        path: the path of the checkpoint.
        step: the global step.
    """

    path: str
    step: int


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class ReplicasMapped(Event):
    """The logical workers of a training have tasks, or other tasks than before (`Supervisor(replicas=...)`).

    Example:
        >>> event = af.supervisor.ReplicasMapped(time=0.0, tasks={"/job:worker/task:0": (0, 1), "/job:worker/task:1": (2, 3)})
        >>> event.tasks["/job:worker/task:1"]
        (2, 3)

    Args:
        time: seconds since 1970.
        tasks: the numbers of the logical workers by the task that computes them.
    """

    tasks: Mapping[str, tuple[int, ...]]


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class TaskSlow(Event):
    """The others wait for the logical workers of a task (`Rules.slow_factor`). It is told once, until the task has kept up again.

    Example:
        >>> event = af.supervisor.TaskSlow(time=0.0, task="/job:worker/task:1", factor=4.2)
        >>> f"{event.task} takes {event.factor} times as long as others"
        '/job:worker/task:1 takes 4.2 times as long as others'

    Args:
        time: seconds since 1970.
        task: the name of the task.
        factor: how many times as long as the median of the other tasks it takes for a logical worker.
    """

    task: str
    factor: float


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class StateMoved(Event):
    """Variables have moved to other tasks, between two steps.

    Example:
        >>> ps = "/job:ps/replica:0/task:{}/device:CPU:0".format
        >>> event = af.supervisor.StateMoved(time=0.0, nodes={"weights": (ps(1), ps(0))}, nbytes=400, seconds=0.02)
        >>> event.nodes["weights"][1]
        '/job:ps/replica:0/task:0/device:CPU:0'

    Args:
        time: seconds since 1970.
        nodes: the former and the present device of each variable, and of other nodes that keep something.
        nbytes: the bytes of the variables.
        seconds: how long no step was made for that.
    """

    nodes: Mapping[str, tuple[str, str]]
    nbytes: int
    seconds: float


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class WaitsForTasks(Event):
    """The training waits for tasks. It goes on by itself when they are there.

    Example:
        >>> event = af.supervisor.WaitsForTasks(time=4.0, whom=("/job:worker/task:1",), since=0.0)
        >>> event.whom, event.time - event.since
        (('/job:worker/task:1',), 4.0)

    Args:
        time: seconds since 1970.
        whom: the names of tasks that are lost; or how many tasks a job has, where that is fewer than it needs.
        since: when the wait began, in seconds since 1970.
    """

    whom: tuple[str, ...]
    since: float


class Follower:
    """Somebody who reads events."""

    def __init__(self, past: list[Event]) -> None:
        self.waiting = deque(past, maxlen=_KEPT)
        self.news = anyio.Event()


class Events:
    """The events so far, at most a thousand, and those who follow them. `clock` gives the time in seconds since 1970."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.past: deque[Event] = deque(maxlen=_KEPT)
        self._clock = clock
        self._followers: list[Follower] = []
        self.viewers: list[Callable[[Event], object]] = []
        """Called with each event, at the place that tells it."""
        self._closed = False

    def tell(self, kind: Callable[..., Event], *facts: Any) -> None:
        """Makes an event, writes it to the log, and tells it."""
        event = self.note(kind, *facts)
        shown = {f.name: getattr(event, f.name) for f in fields(event) if f.name not in ("time", "report")}
        if isinstance(event, WorkerLost):
            shown["report"] = "\n".join(["", *event.report.lines()])
        bad = isinstance(event, WorkerLost | StepAborted | LoopStalled | WaitsForTasks | TaskSlow)
        (_LOG.warning if bad else _LOG.info)(type(event).__name__, **shown)

    def note(self, kind: Callable[..., Event], *facts: Any) -> Event:
        """Makes an event, and tells it to those who follow."""
        event = kind(self._clock(), *facts)
        self.past.append(event)
        for follower in self._followers:
            follower.waiting.append(event)
            follower.news.set()
        for view in self.viewers:
            view(event)
        return event

    async def follow(self) -> AsyncIterator[Event]:
        """The events so far, and then each as it comes, until `close`. A reader that is a thousand behind misses the
        oldest."""
        follower = Follower(list(self.past))
        self._followers.append(follower)
        try:
            while True:
                while follower.waiting:
                    yield follower.waiting.popleft()
                if self._closed:
                    return
                follower.news = anyio.Event()
                await follower.news.wait()
        finally:
            self._followers.remove(follower)

    def close(self) -> None:
        """There are no further events."""
        self._closed = True
        for follower in self._followers:
            follower.news.set()
