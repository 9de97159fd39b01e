"""`RunGate`: what runs of a session pass. It is open while all is well; a loss closes it, and turns back what is inside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from actorflow.errors import AbortedError, UnavailableError
from actorflow.training.supervisor.recovery.attempts import Attempt

T = TypeVar("T")


class RunGate:
    """Runs pass in generations: each loss that takes training back ends a generation."""

    def __init__(self) -> None:
        self.generation = 0
        self.loss: Exception | None = None
        """Why the last generation ended."""
        self.failure: Exception | None = None
        """Why there is no way to go on."""
        self._open = anyio.Event()
        self._inside: dict[anyio.CancelScope, None] = {}

    def open(self) -> None:
        """All is well."""
        self._open.set()

    @property
    def is_open(self) -> bool:
        """Whether all is well now."""
        return self.failure is None and self._open.is_set()

    def turn_back(self, error: Exception) -> None:
        """A loss: runs inside, and those that their attempts still begin, fail with `error`. Others wait for `open`."""
        self.loss = error
        self.generation += 1
        if self._open.is_set():
            self._open = anyio.Event()
        self._stop()

    def fail(self, error: Exception) -> None:
        """There is no way to go on: all runs fail with `error` from now on."""
        self.failure = error
        self.generation += 1
        self._stop()
        self._open.set()

    def _stop(self) -> None:
        for scope in list(self._inside):
            scope.cancel()

    async def wait(self) -> None:
        """Waits until all is well. Raises the failure."""
        while self.failure is None and not self._open.is_set():
            await self._open.wait()
        if self.failure is not None:
            raise self.failure

    def check(self, generation: int) -> None:
        """Raises what has ended a generation."""
        if self.failure is not None:
            raise self.failure
        if generation != self.generation and self.loss is not None:
            raise AbortedError(
                first_line(self.loss),
                details=getattr(self.loss, "details", ()),
                hint="An attempt of supervisor.steps() begins again by itself.",
            )

    async def through(self, attempt: Attempt | None, start: Callable[[], Awaitable[T]]) -> T:
        """Awaits `start()`, unless the attempt's generation is over; without an attempt it is the next that there is.

        Raises:
            AbortedError: there was a loss.
        """
        if attempt is None:
            await self.wait()
        generation = self.generation if attempt is None else attempt.generation
        try:
            self.check(generation)
            with anyio.CancelScope() as scope:
                self._inside[scope] = None
                try:
                    return await start()
                except UnavailableError:  # the step has heard of the loss at the same moment
                    self.check(generation)
                    raise
                finally:
                    del self._inside[scope]
            self.check(generation)
            raise AssertionError("a run was stopped, and nothing is lost")
        except Exception as error:
            if attempt is not None:
                attempt.failures.append(error)
            raise

    async def until_turned_back(self, wait: Callable[[], Awaitable[object]]) -> None:
        """Awaits `wait()`, at most until there is a loss that takes training back."""
        with anyio.CancelScope() as scope:
            self._inside[scope] = None
            try:
                await wait()
            finally:
                del self._inside[scope]


def first_line(error: BaseException) -> str:
    """The first line of an error's text."""
    return (str(error).splitlines() or [type(error).__name__])[0]
