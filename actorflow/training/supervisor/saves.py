"""`Checkpoints`: those of a training (paper section 3.3). `SaveTimer` says when a checkpoint is due, by steps or by seconds,
and `SaveBeside` writes a checkpoint while steps go on."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import InvalidArgumentError
from actorflow.training.supervisor.events import CheckpointSaved, Events
from actorflow.training.supervisor.recovery.attempts import Attempt

if TYPE_CHECKING:
    from actorflow.training.supervisor.supervisor import Supervisor

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


class Checkpoints:
    """The checkpoints that a supervisor saves.

    Args:
        supervisor: of the training.
        events: hear of each checkpoint.
        timer: says when a checkpoint is due.
        generation: that of the present attempts.
        is_on: whether this supervisor saves any.
        is_beside: whether steps go on while a periodic checkpoint is written.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        events: Events,
        timer: SaveTimer,
        generation: Callable[[], int],
        *,
        is_on: bool,
        is_beside: bool,
    ) -> None:
        self._supervisor, self._events, self._timer = supervisor, events, timer
        self.is_on, self._is_beside = is_on, is_beside
        self._beside = SaveBeside()
        self._generation, self._begun_in = generation, 0
        self.is_changed = False
        """Whether something was run since the last checkpoint."""
        self._writing = anyio.Lock()

    def begin(self, step: int) -> None:
        """Training begins, or goes on, at this step, whose values a checkpoint has."""
        self._timer.begin(step, anyio.current_time())
        self.is_changed = False

    async def save(self) -> str:
        """Saves a checkpoint now, and gives its path. Raises as `Supervisor.save`."""
        supervisor = self._supervisor
        step = await supervisor.guarded(lambda: supervisor.model.step(supervisor.session))
        return await supervisor.guarded(lambda: self.write(step))

    async def between_steps(self, attempt: Attempt, step: int, *, ends: bool) -> None:
        """Saves a checkpoint if it is due, or training `ends`. Raises why a checkpoint could not be saved."""
        guarded = self._supervisor.guarded
        is_due = self._timer.is_due(step, anyio.current_time())
        await self.until_written(attempt, wait=is_due or ends)
        if not (is_due or ends) or step == self._timer.saved_step:
            return
        if ends or not self._is_beside:
            await guarded(lambda: self.write(step))
        else:
            self._begun_in = attempt.generation
            await self._beside.begin(lambda taken: guarded(lambda: self.write(step, taken)))

    async def until_written(self, attempt: Attempt | None, *, wait: bool = True) -> None:
        """Raises why the last checkpoint could not be written. Steps that a loss has ended, it takes back as well."""
        try:
            if wait:
                await self._beside.over()
            else:
                self._beside.check()
        except Exception as error:
            self.is_changed = True
            if self._begun_in == self._generation():
                if attempt is not None:
                    attempt.failures.append(error)
                raise

    async def write(self, step: int, taken: Callable[[], object] = lambda: None) -> str:
        """Writes a checkpoint of a step, and gives its path. `taken` is called when the values are taken."""

        def go_on() -> None:
            self._timer.saved(step, anyio.current_time())
            self.is_changed = False
            taken()

        async with self._writing:
            path = await self._supervisor.model.save(self._supervisor.session, step, go_on)
            self._events.tell(CheckpointSaved, path, step)
        return path

    async def settled(self) -> None:
        """Waits until no checkpoint is being written. A checkpoint that is committed during a loss is the newest checkpoint."""
        async with self._writing:
            pass

    async def close(self, *, is_whole: bool, save: bool) -> None:
        """Waits for the checkpoint that is being written. Saves a last checkpoint, if steps were made since the last.

        Args:
            is_whole: whether no task is lost.
            save: whether a last checkpoint is wished.

        Raises:
            OpError: the last checkpoint could not be saved.
        """
        if not is_whole:
            if save and self.is_changed:
                _LOG.warning("no last checkpoint is made: something is lost, and not yet back")
        elif not save:
            await self._beside.end()
        else:
            await self.until_written(None)
            if self.is_changed:
                supervisor = self._supervisor
                step = await supervisor.guarded(lambda: supervisor.model.step(supervisor.session))
                if step != self._timer.saved_step:
                    await supervisor.guarded(lambda: self.write(step))

    async def end(self) -> None:
        """Gives up what is being written."""
        await self._beside.close()
