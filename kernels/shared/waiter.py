"""The future on which an asynchronous kernel waits: anyone may wake it, from any thread or event loop."""

from __future__ import annotations

import asyncio

from actorflow.engine.runtime.context import StepHandle
from actorflow.engine.runtime.diagnostics.waits import Reason


class Waiter:
    """One wait of one kernel. It is made on the event loop where the kernel runs, and holds no thread."""

    __slots__ = ("_future", "_loop")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = self._loop.create_future()

    async def wait(self, step: StepHandle, reason: Reason) -> None:
        """Returns when somebody has called `wake`, or when the step is stopped. `reason` tells what for."""
        forget = step.on_cancel(self._set, reason)
        try:
            await self._future
        finally:
            forget()

    def wake(self) -> None:
        """Ends the wait. From any thread; where the event loop is closed, no one waits any more."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._set()
            return
        try:
            self._loop.call_soon_threadsafe(self._set)
        except RuntimeError:
            pass

    def _set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)
