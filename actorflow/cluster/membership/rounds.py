"""`Rounds`: questions to all members of a cluster, which wait no more for a member that somebody declares lost."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable

import anyio

_LOST_SECONDS = 60.0
"""So long a declaration counts that could not be carried out: another member did not answer, and may be lost as well."""


class Rounds:
    """The questions of one coordinator, one round at a time.

    Without a word on who is lost, a change would wait for a lost member and keep the turn for which the declaration waits. And of
    two members that are lost, neither could be declared so, for each declaration would ask the other member first.
    """

    def __init__(self) -> None:
        self._lost: dict[str, float] = {}
        """The members that were declared lost, and until when none of them is asked."""
        self._awaited: dict[str, anyio.CancelScope] = {}
        """The members whose answers the present round waits for."""

    def give_up(self, task: str) -> None:
        """A member is declared lost: the present round goes on without its answer, and later rounds don't ask it."""
        self._lost[task] = anyio.current_time() + _LOST_SECONDS
        if (scope := self._awaited.get(task)) is not None:
            scope.cancel()

    def forget(self, task: str) -> None:
        """A member has left, and whoever comes by its name is asked again."""
        self._lost.pop(task, None)

    async def ask(self, tasks: Iterable[tuple[str, str]], question: Callable[[str, str], Awaitable[None]]) -> None:
        """Awaits `question` for each task and its address, unless the task is declared lost, before or meanwhile.

        Raises an ExceptionGroup of what the questions raise."""

        async def ask_one(task: str, address: str) -> None:
            with anyio.CancelScope() as self._awaited[task]:
                await question(task, address)

        try:
            async with anyio.create_task_group() as group:
                for task, address in tasks:
                    if self._lost.get(task, -math.inf) <= anyio.current_time():
                        group.start_soon(ask_one, task, address)
        finally:
            self._awaited.clear()
