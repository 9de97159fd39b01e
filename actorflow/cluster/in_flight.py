"""The steps that a client has in flight at its master: which of them only wait, and so lend their places to others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass

import anyio

from actorflow.errors import OpError, Overloaded
from actorflow.passes.compile import Signature
from actorflow.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.session.waiting.admission import Admission

_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.25
_ASK_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class InFlightStep:
    """A step in flight, or a part of a partial run. It is for the `signature`, began at `since`, and ends with `scope`. `refused`
    is the error that it ends with where it waits and too many do."""

    step: int
    signature: Signature
    since: float
    scope: anyio.CancelScope
    waits: bool = False
    doubted: bool = False
    refused: Overloaded | None = None


class InFlightSteps:
    """The steps of one session.

    A step here can't see whether its nodes on the tasks only wait. As long as others wait for their turn, and only then, the
    master is asked: steps that nothing holds up cost nothing more, and those that wait for each other find their turn.

    Args:
        admission: counts the steps.
        ask: gives the numbers of those steps that only wait now. Raises OpError where the master is gone.
    """

    def __init__(self, admission: Admission, ask: Callable[[], Awaitable[Iterable[int]]]) -> None:
        self._admission = admission
        self._ask = ask
        self._flights: dict[InFlightStep, None] = {}
        self._root: BackgroundTasks | None = None
        self._asking = False
        self.on_begun: Callable[[], object] | None = None
        """Called when a step begins."""
        admission.on_queued = self._begin_looking

    def __iter__(self) -> Iterator[InFlightStep]:
        """In the order in which they began."""
        return iter(self._flights)

    def begin(self, step: int, signature: Signature, scope: anyio.CancelScope) -> InFlightStep:
        """A step, or a part of one, that has a place is about to be asked for; `scope` ends it."""
        made = InFlightStep(step, signature, asyncio.get_running_loop().time(), scope)
        self._flights[made] = None
        if self.on_begun is not None:
            self.on_begun()
        return made

    def end(self, entry: InFlightStep) -> None:
        """It is over; its place has to be given back yet."""
        del self._flights[entry]
        if entry.waits:
            self._admission.end_waiting()

    def _begin_looking(self) -> None:
        if not self._asking:
            self._asking = True
            if self._root is None:
                self._root = BackgroundTasks()
            self._root.start(self._look())

    async def close(self) -> None:
        """Asks no more."""
        if self._root is not None:
            await self._root.close()

    async def _look(self) -> None:
        """Asks while others wait for their turn, less often where that changes nothing."""
        pause = _FIRST_PAUSE
        try:
            while self._admission.queued:
                found: Iterable[int] = ()
                with anyio.move_on_after(_ASK_SECONDS):
                    try:
                        found = await self._ask()
                    except OpError:
                        pass  # its steps end by the same, and give their places back
                pause = _FIRST_PAUSE if self._note(set(found)) else min(2 * pause, _LONGEST_PAUSE)
                await anyio.sleep(pause)
        finally:
            self._asking = False

    def _note(self, waiting: set[int]) -> bool:
        """Has those that wait give their places up, and those that wait no more take one. Whether there were such."""
        changed = False
        for entry in list(self._flights):
            if entry.waits == (entry.step in waiting):
                continue
            changed = True
            if entry.waits:
                entry.waits = False
                self._admission.end_waiting()
                continue
            refused = self._admission.begin_waiting()
            if refused is None:
                entry.waits = True
            elif entry.doubted:
                entry.refused = refused
                entry.scope.cancel()
            entry.doubted = refused is not None  # it may have waited for that moment only
        return changed
