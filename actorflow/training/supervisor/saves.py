"""When a checkpoint is due, by steps or by seconds (`SaveTimer`; paper section 3.3), and how it is written while steps go on
(`SaveBeside`)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import InvalidArgumentError

_LOG = get_logger("supervisor")


class SaveTimer:
    """Says when a checkpoint is due: `steps` after the last checkpoint, or at each multiple of `seconds` since the start.

    Raises:
        InvalidArgumentError: a number is not positive.
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


class SaveBeside:
    """A checkpoint that is written while training goes on, never beside another."""

    def __init__(self) -> None:
        self._root: BackgroundTasks | None = None
        self._over: anyio.Event | None = None
        self._error: Exception | None = None

    async def begin(self, save: Callable[[Callable[[], object]], Awaitable[object]]) -> None:
        """Starts `save(taken)`, and returns when it has called `taken`. The save before has to be over, see `over`.

        Raises:
            Exception: what `save` has raised before that.
        """
        self._root = self._root or BackgroundTasks()
        taken, over = anyio.Event(), anyio.Event()
        self._over = over

        async def write() -> None:
            try:
                await save(taken.set)
            except Exception as error:
                self._error = error
            finally:
                taken.set()
                over.set()

        self._root.start(write())
        await taken.wait()
        self.check()

    async def over(self) -> None:
        """Waits until nothing is being written. Raises what `save` has raised, once."""
        if self._over is not None:
            await self._over.wait()
        self.check()

    async def end(self) -> None:
        """Waits until nothing is being written. An error of `save` is logged."""
        try:
            await self.over()
        except Exception as error:
            _LOG.warning("the last checkpoint could not be written", error=repr(error))

    async def close(self) -> None:
        """Gives up what is being written."""
        if self._root is not None:
            await self._root.close()

    def check(self) -> None:
        """Raises what `save` has raised, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error
