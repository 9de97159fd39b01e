"""`BackgroundTasks`: tasks that belong to an object instead of a block: it may be opened in one task and closed in another.

A task group belongs to the task that entered it. A fixture or a notebook's cell opens it, and another task closes it.
And a task costs 10 to 30 µs to start in a group, 2 µs without a group: a server starts a task for each request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import anyio


class BackgroundTasks:
    """Runs coroutines until it is closed. An exception of a coroutine goes to the loop's exception handler."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.get_running_loop()
        self.closed = False

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """Runs `coroutine` beside the others. After the end it is closed instead, and there is no task."""
        if self.closed:
            coroutine.close()
            return None
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler(
                {"message": "a task of a server failed", "exception": error, "task": task}
            )

    @property
    def is_busy(self) -> bool:
        """Whether any of them has not ended."""
        return bool(self._tasks)

    def abort(self) -> None:
        """Cancels what runs, and waits for nothing. It may be called after the end of the loop, where nothing runs."""
        self.closed = True
        if not self._loop.is_closed():
            for task in self._tasks:
                task.cancel()

    async def close(self) -> None:
        """Cancels what runs, and waits for its end."""
        self.closed = True
        with anyio.CancelScope(shield=True):
            while self._tasks:
                for task in self._tasks:
                    task.cancel()
                await asyncio.wait(self._tasks)
