"""Runs that are started before anybody asks for their results, so that input comes in while a program computes."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import anyio

from actorflow.engine.session.awaitables import Callable_
from actorflow.engine.session.session import Session
from actorflow.errors import OutOfRangeError


class Prefetch:
    """The results of `session.run(fetches)` again and again, in order, with up to `depth` of them ahead of who asks for them.

        async for batch in af.train.prefetch(session, batch_t):
            ...

    `parallel` runs are in flight at a time: with 1, each run begins after the former has ended, as in a loop without
    prefetching. It ends where a run raises `OutOfRangeError`; other errors are raised, behind the results before them. A loop
    that is left early leaves its runs to the session, which ends them when it closes; `async with`, or `aclose`, ends them at
    once. Cancelling the consumer loses no result: the next turn gets it. The results of the runs ahead are lost when they are
    ended.
    """

    def __init__(self, session: Session, fetches: Any, depth: int = 2, parallel: int = 1) -> None:
        if not isinstance(session, Session):
            raise TypeError(f"prefetch runs ahead in an async session, af.Session, not in {session!r:.60}.")
        if depth < 1:
            raise ValueError(f"depth is 1 or more, not {depth}.")
        if not 1 <= parallel <= depth:
            raise ValueError(f"parallel is between 1 and depth, {depth}, not {parallel}.")
        self._session = session
        self._fetches = fetches
        self._depth = depth
        self._parallel = parallel
        self._call: Callable_ | None = None
        self._ahead: deque[asyncio.Future[Any]] = deque()
        self._runners: set[asyncio.Task[None]] = set()
        self._failed = self._over = False

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
        """Starts runners until `parallel` are at work, or there is no room for more results."""
        while len(self._runners) < self._parallel and self._has_room():
            self._runners.add(
                asyncio.get_running_loop().create_task(self._run(self._place()), name="actorflow prefetch")
            )

    def _has_room(self) -> bool:
        return len(self._ahead) < self._depth and not self._failed

    def _place(self) -> asyncio.Future[Any]:
        """For the result of the next run, behind those of the runs before it."""
        self._ahead.append(asyncio.get_running_loop().create_future())
        return self._ahead[-1]

    async def _run(self, result: asyncio.Future[Any]) -> None:
        """One run after the other while there is room, in one task: a busy loop serves others between any two tasks."""
        assert self._call is not None
        try:
            while True:
                result.set_result(await self._call())
                if not self._has_room():
                    break
                result = self._place()
        except Exception as error:
            self._failed = True
            result.set_exception(error)
            result.exception()  # looked at here, so that no one warns where no one asks for it
        except BaseException:
            self._failed = True
            result.cancel()
            raise
        finally:
            self._runners.discard(asyncio.current_task())

    async def aclose(self) -> None:
        """Ends the runs ahead, and waits until they are gone. A second call does nothing."""
        self._over = True
        self._ahead.clear()
        for runner in self._runners:
            runner.cancel()
        if self._runners:
            with anyio.CancelScope(shield=True):
                await asyncio.wait(self._runners)

    async def __aenter__(self) -> Prefetch:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()
