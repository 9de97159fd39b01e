"""Runs that are started before anybody asks for their results, so that input comes in while a program computes."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import anyio

from actorflow.errors import OutOfRangeError
from actorflow.session.callable import Callable_
from actorflow.session.session import Session


class Prefetch:
    """The results of `session.run(fetches)` again and again, in order, with up to `depth` runs in flight ahead.

        async for batch in af.train.prefetch(session, batch_t):
            ...

    It ends where a run raises `OutOfRangeError`; other errors are raised. A loop that is left early leaves its runs to the
    session, which ends them when it closes; `async with`, or `aclose`, ends them at once. Cancelling the consumer loses no
    result: the next turn gets it. What the runs ahead had computed when they are ended is lost.
    """

    def __init__(self, session: Session, fetches: Any, depth: int = 2) -> None:
        if not isinstance(session, Session):
            raise TypeError(f"prefetch runs ahead in an async session, af.Session, not in {session!r:.60}.")
        if depth < 1:
            raise ValueError(f"depth is 1 or more, not {depth}.")
        self._session = session
        self._fetches = fetches
        self._depth = depth
        self._call: Callable_ | None = None
        self._ahead: deque[asyncio.Task[Any]] = deque()
        self._over = False

    def __aiter__(self) -> Prefetch:
        return self

    async def __anext__(self) -> Any:
        if self._over:
            raise StopAsyncIteration
        if self._call is None:
            self._call = await self._session.make_callable(self._fetches)
        self._fill()
        await asyncio.wait([self._ahead[0]])
        oldest = self._ahead.popleft()
        try:
            result = oldest.result()
        except OutOfRangeError:
            await self.aclose()
            raise StopAsyncIteration from None
        except BaseException:
            await self.aclose()
            raise
        self._fill()
        return result

    def _fill(self) -> None:
        """Starts runs until `depth` are in flight."""
        assert self._call is not None
        while len(self._ahead) < self._depth:
            task = asyncio.get_running_loop().create_task(_run(self._call), name="actorflow prefetch")
            task.add_done_callback(_look)
            self._ahead.append(task)

    async def aclose(self) -> None:
        """Ends the runs ahead, and waits until they are gone. A second call does nothing."""
        self._over = True
        ahead, self._ahead = self._ahead, deque()
        for task in ahead:
            task.cancel()
        if ahead:
            with anyio.CancelScope(shield=True):
                await asyncio.wait(ahead)

    async def __aenter__(self) -> Prefetch:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


async def _run(call: Callable_) -> Any:
    return await call()


def _look(task: asyncio.Task[Any]) -> None:
    """An error of a run that nobody asks for any more is nobody's."""
    if not task.cancelled():
        task.exception()
