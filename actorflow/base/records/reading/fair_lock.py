"""`FairLock`: turns, which are waited for on event loops, of whatever threads, and given on in order."""

from __future__ import annotations

import asyncio
from collections import deque

from actorflow.base.process import forks


class FairLock:
    """`async with turns:` lets one waiter in at a time. A waiter that is cancelled leaves the line."""

    def __init__(self) -> None:
        self._lock = forks.new_lock()
        self._busy = False
        self._line: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def __aenter__(self) -> None:
        with self._lock:
            if not self._busy:
                self._busy = True
                return
            loop = asyncio.get_running_loop()
            mine = loop, loop.create_future()
            self._line.append(mine)
        try:
            await mine[1]
        except BaseException:
            with self._lock:
                waits = mine in self._line
                if waits:
                    self._line.remove(mine)
            if not waits:  # the turn has come meanwhile: it goes to the next
                self._give_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._give_on()

    def _give_on(self) -> None:
        while True:
            with self._lock:
                if not self._line:
                    self._busy = False
                    return
                loop, future = self._line.popleft()
            try:
                loop.call_soon_threadsafe(_resolve, future)
                return
            except RuntimeError:  # that loop is closed: no one waits there
                continue


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
