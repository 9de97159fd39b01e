"""`Rounds`: questions to all members of a cluster, which wait no more for a member that somebody declares lost."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import anyio

from actorflow.errors import OpError

DOUBT_SECONDS = 60.0
"""So long a member is doubted whose loss could not be declared: another member did not answer, and may be lost as well."""
_GRACE_SECONDS = 0.5
"""So much longer than for the others a round waits for a member that is doubted."""


class Rounds:
    """The questions of one coordinator, one round at a time.

    Without a word on who is lost, a change would wait for a lost member and keep the turn for which the declaration waits. And of
    two members that are lost, neither could be declared so, for each declaration would ask the other member first. So a member
    is not asked while its loss is being declared. A member whose declaration fails is doubted: it is asked, and is trusted
    again when it answers.
    """

    def __init__(self) -> None:
        self._lost: set[str] = set()
        """The members that are being declared lost: none of them is asked."""
        self._doubted: dict[str, float] = {}
        """The members that may be lost, and until when no round waits long for them."""
        self._awaited: dict[str, anyio.CancelScope] = {}
        """The members whose answers the present round waits for."""

    def give_up(self, task: str) -> None:
        """A member is declared lost: the present round goes on without its answer, and later rounds don't ask it."""
        self._lost.add(task)
        if (scope := self._awaited.get(task)) is not None:
            scope.cancel()

    def doubt(self, task: str) -> None:
        """A declaration could not be carried out, and may still be right: rounds ask the member, and hardly wait for it."""
        self._lost.discard(task)
        self._doubted[task] = anyio.current_time() + DOUBT_SECONDS

    def trust(self, task: str) -> None:
        """A declaration was refused or the member has answered; or it has left, and whoever comes by its name is asked again."""
        self._lost.discard(task)
        self._doubted.pop(task, None)

    def is_lost(self, task: str) -> bool:
        """Whether a member is being declared lost."""
        return task in self._lost

    def doubts(self, task: str) -> bool:
        """Whether a member may be lost."""
        return self._doubted.get(task, -math.inf) > anyio.current_time()

    async def ask(self, tasks: Iterable[tuple[str, str]], question: Callable[[str, str], Awaitable[None]]) -> None:
        """Awaits `question` for each task and its address, unless the task is declared lost, before or meanwhile.

        Raises an ExceptionGroup of what the questions raise, except those to members that are doubted."""

        async def ask_one(task: str, address: str) -> None:
            if task in self._lost:  # since the round began
                return
            with anyio.CancelScope() as self._awaited[task]:
                await question(task, address)

        async def try_one(task: str, address: str) -> None:
            if task in self._lost:
                return
            with suppress(OpError), anyio.CancelScope() as self._awaited[task]:
                await question(task, address)
                self._doubted.pop(task, None)

        try:
            async with anyio.create_task_group() as beside:
                async with anyio.create_task_group() as group:
                    for task, address in tasks:
                        if task in self._lost:
                            continue
                        if self.doubts(task):
                            beside.start_soon(try_one, task, address)
                        else:
                            group.start_soon(ask_one, task, address)
                beside.cancel_scope.deadline = anyio.current_time() + _GRACE_SECONDS
        finally:
            self._awaited.clear()
