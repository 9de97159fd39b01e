"""`Life`: what is known of a task, and how observations change it. A pure state machine: it asks no clock and no socket.

Evidence comes on two levels. That a connection has ended or a process has exited comes from the system and from ZeroMQ's own
thread, which answers heartbeats whatever Python does; only that makes a task lost. Beats come from the task's event loop.
If they pause, the interpreter is held up, by a long kernel say: the task is busy, however long that takes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from actorflow.errors import InvalidArgumentError
from actorflow.public import public


class State(Enum):
    """The states of a task."""

    STARTING = "starting"
    """It was not reached yet."""
    LIVE = "live"
    BUSY = "busy"
    """It is connected, but its event loop is silent."""
    LOST = "lost"


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class Rules:
    """When a task is said to be busy, or slow.

    Example:
        >>> patient = af.supervisor.Rules(busy_seconds=30.0)
        >>> patient.busy_seconds, patient.look_seconds
        (30.0, 0.5)

    Args:
        busy_seconds: a task is busy after this number of seconds without a beat.
        look_seconds: the pause between two looks at a task.
        slow_factor: with `Supervisor(replicas=...)`, a task is slow that takes this many times as long for a logical worker as
            the median of the other tasks.

    Raises:
        InvalidArgumentError: `slow_factor` is not above 1.
    """

    busy_seconds: float = 3.0
    look_seconds: float = 0.5
    slow_factor: float = 3.0

    def __post_init__(self) -> None:
        if not self.slow_factor > 1:
            raise InvalidArgumentError(
                f"Rules(slow_factor={self.slow_factor}): a slow task takes more than 1 times as long as others."
            )

    @property
    def late_seconds(self) -> float:
        """After such a pause between two looks, the observer itself was held up: beats may have come that it has not seen."""
        return 3 * self.look_seconds


@dataclass(frozen=True, slots=True)
class Connected:
    """A connection to this incarnation of the task was made."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class Polled:
    """The last beat had come at the time `heard`."""

    heard: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The connection to this incarnation has ended, or its process has."""

    incarnation: int
    why: str


Seen = Connected | Polled | Ended


@dataclass(frozen=True, slots=True)
class Life:
    """A task's state, since when, and the incarnation that it is known by. Times are seconds of one monotonic clock."""

    state: State = State.STARTING
    since: float = 0.0
    incarnation: int | None = None
    heard: float = 0.0
    """The time of the last beat, or at which a beat would have been seen."""
    looked: float = 0.0
    why: str = ""
    """How it was lost."""

    @property
    def is_up(self) -> bool:
        """Whether it is connected."""
        return self.state in (State.LIVE, State.BUSY)


def observe(life: Life, seen: Seen, now: float, rules: Rules) -> Life:
    """The knowledge of a task after `seen` was seen at the time `now`.

    Only `Ended` of the present incarnation leads to LOST, and only `Connected` leads out of it.
    """
    match seen:
        case Connected(incarnation):
            return Life(State.LIVE, now, incarnation, heard=now, looked=now)
        case Ended(incarnation, why):
            if not life.is_up or incarnation != life.incarnation:
                return life  # somebody tells of a former incarnation
            return replace(life, state=State.LOST, since=now, why=why)
        case Polled(heard):
            if not life.is_up:
                return life
            heard = max(heard, life.heard)
            if now - life.looked > rules.late_seconds and life.state is State.LIVE:
                heard = now
            state = State.BUSY if now - heard >= rules.busy_seconds else State.LIVE
            since = life.since if state is life.state else now
            return replace(life, state=state, since=since, heard=heard, looked=now)
