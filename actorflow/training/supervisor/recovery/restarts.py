"""`RestartPolicy`: whether and how often a task is started again, and after which pause. Time and chance come from the caller."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Literal, get_args

from actorflow.errors import InvalidArgumentError
from actorflow.public import public

When = Literal["always", "on-failure", "never"]


@public("af.supervisor")
@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """A budget of restarts for each task, and an exponential back-off with jitter between them.

    Each pause is a random share, between a half and all, of its length, so that tasks that died together don't come
    back together.

    Example:
        >>> policy = af.supervisor.RestartPolicy(most=3, window_seconds=60.0)
        >>> policy.most, policy.first_seconds
        (3, 0.1)

    Args:
        most: the maximum number of restarts of one task within `window_seconds`.
        window_seconds: the length of that window in seconds.
        first_seconds: the length of the first pause, and of the next pause after a step was made.
        factor: the growth of the pauses, as long as no step is made between two restarts.
        longest_seconds: the length of the longest pause.
        when: after which ends the supervisor starts a task again: "always"; "on-failure", unless it ended in good order and with
            exit status 0; or "never". A task that stays down is waited for, until somebody else starts it, such as
            `LocalCluster.restart`.
        replaces_slow: whether a task that is said to be slow (`Rules.slow_factor`) is replaced, at most `most` times within
            `window_seconds`. A task of a `LocalCluster` is ended and started again, and that is a loss as any other. Another
            task is asked to leave the cluster, once its variables are elsewhere; its scheduler starts another task.

    Raises:
        InvalidArgumentError: `when` is none of these, or is "never" though slow tasks are to be replaced.
    """

    most: int = 5
    window_seconds: float = 600.0
    first_seconds: float = 0.1
    factor: float = 2.0
    longest_seconds: float = 30.0
    when: When = "always"
    replaces_slow: bool = False

    def __post_init__(self) -> None:
        if self.when not in get_args(When):
            raise InvalidArgumentError(f"RestartPolicy(when={self.when!r}): write one of {', '.join(get_args(When))}.")
        if self.replaces_slow and self.when == "never":
            raise InvalidArgumentError(
                "RestartPolicy(when='never', replaces_slow=True): a slow task would be ended and never started again.",
                hint="when='on-failure' starts the tasks again that the supervisor ends.",
            )

    def restarts(self, in_order: bool) -> bool:
        """Whether a task is started again after it has ended, in good order or by a failure.

        Example:
            >>> af.supervisor.RestartPolicy(when="on-failure").restarts(in_order=True)
            False
        """
        return self.when == "always" or (self.when == "on-failure" and not in_order)

    def pause(self, before: int, draw: float) -> float:
        """The seconds before a restart, if there were `before` others in a row; `draw` is from 0 to 1.

        Example:
            >>> policy = af.supervisor.RestartPolicy(first_seconds=0.1, factor=2.0)
            >>> policy.pause(before=3, draw=1.0)
            0.8
        """
        full = min(self.longest_seconds, self.first_seconds * self.factor ** min(before, 64))
        return full * (0.5 + draw / 2)


@dataclass(slots=True)
class Restarts:
    """The restarts of each task so far. `draw` gives numbers from 0 to 1."""

    policy: RestartPolicy
    draw: Callable[[], float]
    _times: dict[str, list[float]] = field(default_factory=dict)
    _in_row: dict[str, int] = field(default_factory=dict)
    """The restarts between which no step was made."""

    def next_pause(self, what: str, now: float) -> float | None:
        """Counts a restart, and gives the pause before it; None where the budget is used up."""
        times = [time for time in self._times.get(what, []) if now - time < self.policy.window_seconds]
        self._times[what] = times
        if len(times) >= self.policy.most:
            return None
        before = self._in_row[what] = min(self._in_row.get(what, 0), len(times)) + 1
        times.append(now)
        return self.policy.pause(before - 1, self.draw())

    def in_row(self, what: str) -> int:
        """How many there were without a step between them."""
        return self._in_row.get(what, 0)

    def forget(self, what: str) -> None:
        """It went well: the next time counts as the first, and for the budget too."""
        self._times.pop(what, None)
        self._in_row.pop(what, None)

    def step_made(self, down: Collection[str]) -> None:
        """Training goes on: the next pause of all but those that are `down` is the first again. Budgets stay as they are."""
        if self._in_row:
            self._in_row = {what: count for what, count in self._in_row.items() if what in down}
