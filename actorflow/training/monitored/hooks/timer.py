"""`SecondOrStepTimer`: when something that happens every few seconds or steps is due."""

from __future__ import annotations

from collections.abc import Callable

from actorflow.base.process import machine
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.global_steps import get_or_create_global_step
from actorflow.public import public


@public("af.train")
class SecondOrStepTimer:
    """Triggers every few seconds or steps, as given, and at the first step that it is asked for.

    Example:
        >>> timer = af.train.SecondOrStepTimer(every_steps=10)
        >>> due = []
        >>> for step in range(25):
        ...     if timer.should_trigger_for_step(step):
        ...         due.append(step)
        ...         _ = timer.update_last_triggered_step(step)
        >>> due
        [0, 10, 20]

    Args:
        every_secs: the number of seconds between two triggers.
        every_steps: the number of steps between two triggers. One of the two is given.
        clock: a function that returns the time in seconds.

    Raises:
        ValueError: both are given.
    """

    def __init__(
        self,
        every_secs: float | None = None,
        every_steps: int | None = None,
        *,
        clock: Callable[[], float] = machine.wall_time,
    ) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._secs, self._steps, self._clock = every_secs, every_steps, clock
        self.reset()

    def reset(self) -> None:
        """Forgets the last trigger.

        Example:
            >>> timer = af.train.SecondOrStepTimer(every_steps=10)
            >>> _ = timer.update_last_triggered_step(3)
            >>> timer.reset()
            >>> timer.should_trigger_for_step(4)
            True
        """
        self._step: int | None = None
        self._time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is due at this step."""
        if self._step is None or self._time is None:
            return True
        if step == self._step:
            return False
        if self._secs is not None:
            return self._clock() >= self._time + self._secs
        assert self._steps is not None
        return step >= self._step + self._steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """It triggered at this step. Gives the seconds and steps since the last time, None at the first time."""
        now = self._clock()
        elapsed = (None, None) if self._step is None or self._time is None else (now - self._time, step - self._step)
        self._step, self._time = step, now
        return elapsed

    def last_triggered_step(self) -> int | None:
        """The step at which it triggered last.

        Example:
            >>> timer = af.train.SecondOrStepTimer(every_steps=10)
            >>> _ = timer.update_last_triggered_step(3)
            >>> timer.last_triggered_step()
            3
        """
        return self._step


class NeverTimer:
    """A timer that never triggers, with the methods of the other."""

    def reset(self) -> None:
        """Nothing to forget."""

    def should_trigger_for_step(self, step: int) -> bool:
        """False."""
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """No seconds, no steps."""
        return None, None

    def last_triggered_step(self) -> int | None:
        """None."""
        return None


def counted(hook: str) -> Variable:
    """The global step of the default graph. Raises RuntimeError, which names the hook, if it can't be had."""
    try:
        return get_or_create_global_step(get_default_graph())
    except RuntimeError as error:
        raise RuntimeError(f"Global step should be created to use {hook}.") from error
