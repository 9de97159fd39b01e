"""Queues among steps: attempts that can't be finished yet wait as futures, of whatever event loops.

A queue in a named container is used by sessions on other threads too. A lock guards its core; who waits is woken on its own
loop, after the lock is free again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from actorflow.base.process import forks
from actorflow.engine.runtime.context import StepHandle
from actorflow.errors import CancelledError

from .core import QueueAttempt, QueueCore
from .elements import QueueSpec
from .waits import wait_at

C = TypeVar("C", bound=QueueCore)
A = TypeVar("A", bound=QueueAttempt)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """A queue at one moment: its elements, and the operations that wait to put (or to close) and to take."""

    size: int
    waiting_to_put: int
    waiting_to_take: int
    closed: bool


class SharedQueue(Generic[C]):
    """One queue: its core, and what its elements are."""

    def __init__(self, core: C, spec: QueueSpec) -> None:
        self.core = core
        self.spec = spec
        self._lock = forks.new_lock()

    async def perform(self, attempt: A, step: StepHandle) -> A:
        """Returns when `attempt` is done. Raises its error.

        If the step is stopped, or the task cancelled, first, the attempt is taken back, with its elements if it was
        just done.
        """
        with self._lock:
            finished = self.core.submit(attempt)
            if not attempt.done:
                loop = asyncio.get_running_loop()
                future: asyncio.Future[None] = loop.create_future()
                attempt.waiter = loop, future
        self._wake(finished)
        if attempt.waiter is not None:
            await self._wait(attempt, future, step)
        if attempt.error is not None:
            raise attempt.error
        return attempt

    async def _wait(self, attempt: QueueAttempt, future: asyncio.Future[None], step: StepHandle) -> None:
        stopped = False

        def stop() -> None:
            nonlocal stopped
            stopped = True
            if not future.done():
                future.set_result(None)

        forget = step.on_cancel(stop, lambda: self.look(lambda core: wait_at(core, attempt)))
        try:
            await future
            if stopped:
                raise CancelledError("The operation was cancelled: the step was stopped while it waited.")
        except BaseException:
            self._withdraw(attempt)
            raise
        finally:
            forget()

    def _withdraw(self, attempt: QueueAttempt) -> None:
        with self._lock:
            finished = self.core.withdraw(attempt)
        self._wake(finished)

    def perform_nowait(self, attempt: A) -> A:
        """For an attempt that never waits. Raises its error."""
        with self._lock:
            finished = self.core.submit(attempt)
        self._wake(finished)
        if attempt.error is not None:
            raise attempt.error
        return attempt

    def change(self, act: Callable[[C], list[QueueAttempt]]) -> None:
        """`act` on the core, and what comes of it for those that wait."""
        with self._lock:
            finished = act(self.core)
        self._wake(finished)

    def look(self, at: Callable[[C], R]) -> R:
        """The view of `at` on the core."""
        with self._lock:
            return at(self.core)

    def statistics(self) -> QueueStatistics:
        """The queue as it is now."""
        return self.look(lambda core: QueueStatistics(len(core), *core.waiting, core.closed))

    def close(self) -> None:
        """Fails all that waits. The resource manager calls it as it drops the queue."""
        self.change(lambda core: core.abandon())

    def _wake(self, finished: Sequence[QueueAttempt]) -> None:
        for attempt in finished:
            loop, future = attempt.waiter
            if loop is asyncio._get_running_loop():
                _resolve(future)
                continue
            try:
                loop.call_soon_threadsafe(_resolve, future)
            except RuntimeError:  # that loop is closed: no caller is left to take the elements
                self._withdraw(attempt)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
