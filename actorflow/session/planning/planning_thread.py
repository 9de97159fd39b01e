"""Planning on a thread of its own, so that the event loop goes on while a large graph is planned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from actorflow import machine
from actorflow.analysis import cooperative as pace

T = TypeVar("T")
LARGE_GRAPH = 30
"""From so many nodes on, a plan is made on a thread."""


async def on_thread(work: Callable[[], T]) -> T:
    """Runs `work` on a new thread. When the caller is cancelled the thread ends by itself, and its result is dropped."""
    if not machine.current().is_real:
        return work()
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def finish(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        pace.activate()
        result: T | None = None
        failure: BaseException | None = None
        try:
            with pace.collector.paused():
                result = context.run(work)
        except BaseException as error:
            failure = error
        try:
            loop.call_soon_threadsafe(finish, result, failure)
        except RuntimeError:
            pass  # the loop is closed: no one waits any more

    thread = threading.Thread(target=run, name="actorflow planner", daemon=True)
    thread.start()
    return await future
