"""`SaveTimer`: when a checkpoint is due, by steps or by seconds (paper section 3.3)."""

from __future__ import annotations

import math

from actorflow.errors import InvalidArgumentError


class SaveTimer:
    """Says when a checkpoint is due: `steps` after the last one, or at each multiple of `seconds` since the start.

    Raises:
        InvalidArgumentError: one of them is not positive.
    """

    def __init__(self, steps: int | None, seconds: float | None) -> None:
        if steps is not None and steps < 1 or seconds is not None and not seconds > 0:
            raise InvalidArgumentError(f"save_steps={steps}, save_seconds={seconds}: each is positive, or None.")
        self._steps, self._seconds = steps, seconds
        self._saved_step = 0
        self._begin = self._due = math.inf

    def begin(self, step: int, now: float) -> None:
        """Training begins, or goes on, at this step."""
        self._saved_step = step
        if self._seconds is not None and self._begin == math.inf:
            self._begin, self._due = now, now + self._seconds

    def is_due(self, step: int, now: float) -> bool:
        """Whether to save now."""
        if step == self._saved_step:
            return False
        return (self._steps is not None and step >= self._saved_step + self._steps) or now >= self._due

    def saved(self, step: int, now: float) -> None:
        """A checkpoint of this step is there."""
        self._saved_step = step
        if self._seconds is not None and now >= self._due:
            self._due = self._begin + self._seconds * (math.floor((now - self._begin) / self._seconds) + 1)

    @property
    def saved_step(self) -> int:
        """The step of the last checkpoint, or at which training began."""
        return self._saved_step
