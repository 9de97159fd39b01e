"""`Attempt`: one step of a training loop under a supervisor. A loss takes it back, and no other error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorflow.training.supervisor.supervisor import Supervisor

CURRENT: ContextVar[Attempt | None] = ContextVar("actorflow_attempt", default=None)
"""The attempt that the present task is in."""


class Attempt:
    """`async with attempt as step:` is a step of training; `step` is the global step at its begin.

    `failures` are the errors of its runs: only one of these can be a loss.
    """

    __slots__ = ("_token", "failures", "generation", "step", "supervisor")

    def __init__(self, supervisor: Supervisor, step: int, generation: int) -> None:
        self.supervisor, self.step, self.generation = supervisor, step, generation
        self.failures: list[BaseException] = []
        self._token: Token[Attempt | None] | None = None

    def enter(self) -> int:
        """Begins it in this task."""
        self._token = CURRENT.set(self)
        return self.step

    async def leave(self, error: BaseException | None) -> bool:
        """Ends it. The result is whether `error` was a loss, which is no concern of the program's."""
        if error is None:
            self.supervisor.went_well()
            return False
        return self.is_ours(error) and await self.supervisor.is_loss(error, self)

    def is_ours(self, error: BaseException) -> bool:
        """Whether the error, or each of a group, came out of a run of this attempt."""
        if isinstance(error, BaseExceptionGroup):
            return all(map(self.is_ours, error.exceptions))
        return any(error is failure for failure in self.failures)

    def reset(self) -> None:
        """This task is in no attempt any more."""
        if self._token is not None:
            CURRENT.reset(self._token)
            self._token = None

    async def __aenter__(self) -> int:
        return self.enter()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.reset()
        return await self.leave(error)

    def __repr__(self) -> str:
        return f"<attempt at step {self.step}>"


class Attempts(AsyncIterator[Attempt]):
    """The attempts until the global step is `until`, for `async for`."""

    def __init__(self, supervisor: Supervisor, until: int | None) -> None:
        self._supervisor, self._until = supervisor, until

    async def __anext__(self) -> Attempt:
        attempt = await self._supervisor.next_attempt(self._until)
        if attempt is None:
            raise StopAsyncIteration
        return attempt
