"""`Doubt`: whether variables may have a part of a run only, because the run has failed and may be a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from actorflow.errors import AbortedError, UnavailableError

LOSSES = (UnavailableError, AbortedError)


class Doubt:
    """A run that writes variables has failed, and it is not judged yet whether by a loss, which takes all back.

    Meanwhile no one may keep the values, or move them: after the loss they would be what training goes on from, with a part of
    the run that failed, whose step is done again.

    Args:
        seconds: how long whoever asks waits for a judgement that does not begin.
        generation: changes with each loss, which settles all that was before.
    """

    def __init__(self, seconds: float, generation: Callable[[], int]) -> None:
        self.raised = 0
        """How often there was doubt."""
        self._seconds, self._generation = seconds, generation
        self._over: anyio.Event | None = None
        self._judges = 0

    @contextmanager
    def of_run(self) -> Iterator[None]:
        """The block of a run. If it fails by what may be a loss, there is doubt."""
        generation = self._generation()
        try:
            yield
        except LOSSES:
            if generation == self._generation():
                self.raised += 1
                self._over = self._over or anyio.Event()
            raise

    @contextmanager
    def judged(self) -> Iterator[None]:
        """The block that judges a run that has failed. There is no doubt behind it: all goes back, or nothing was lost."""
        self._judges += 1
        try:
            yield
        finally:
            self._judges -= 1
            self.end()

    def end(self) -> None:
        """The variables have whole values, as far as anybody can say."""
        over, self._over = self._over, None
        if over is not None:
            over.set()

    async def over(self) -> None:
        """Waits until there is no doubt; a loss ends the wait from outside. A failure that the program has caught is not
        judged, and counts as no loss after some seconds."""
        while (over := self._over) is not None:
            with anyio.move_on_after(self._seconds) as scope:
                await over.wait()
            if scope.cancelled_caught and not self._judges and over is self._over:
                self.end()

    def check(self, raised: int) -> None:
        """Raises AbortedError where doubt has come since `raised` was read."""
        if self.raised != raised:
            raise AbortedError(
                "A run that writes variables has failed meanwhile, and may have done a part of its work."
            )
