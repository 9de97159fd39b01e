"""The parts of asyncio that are no public interface: the task whose turn it is, the loop that is the running loop.

Each of them has a public way that gives the same, more slowly or less often, for a Python in which it has gone. `frames` has
the parts of CPython beside asyncio.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, TypeAlias

Exchange: TypeAlias = "Callable[[asyncio.AbstractEventLoop, asyncio.Task[Any] | None], asyncio.Task[Any] | None]"

TASKS_START_EAGERLY = sys.version_info >= (3, 12)
"""Whether a task of asyncio can take its first step as it is made. From CPython 3.14 on, a task can't be stepped for a loop that
is not the running loop."""

EAGERLY: Mapping[str, Any] = MappingProxyType({"eager_start": True} if TASKS_START_EAGERLY else {})
"""Arguments for a task that starts eagerly, on each Python whose tasks can."""


def _swapping() -> Exchange | None:
    """By the function of asyncio that puts a task in the place of another: from CPython 3.12 on."""
    swap: Exchange | None = getattr(asyncio.tasks, "_swap_current_task", None)
    if swap is None or sys.version_info >= (3, 13):
        return swap

    def exchange(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> asyncio.Task[Any] | None:
        # CPython 3.12 deletes the entry of a loop that has none
        return None if task is None and asyncio.current_task(loop) is None else swap(loop, task)

    return exchange


def _writing() -> Exchange | None:
    """By asyncio's dictionary of current tasks, which its functions in C read in CPython 3.11. To leave a task and to enter
    another by these functions takes a third of a microsecond a turn."""
    current: Any = getattr(asyncio.tasks, "_current_tasks", None)
    if current is None or sys.version_info >= (3, 12):
        return None

    def exchange(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> asyncio.Task[Any] | None:
        outer: asyncio.Task[Any] | None = current.get(loop)
        if task is not None:
            current[loop] = task
        elif outer is not None:
            del current[loop]
        return outer

    return exchange


def _entering() -> Exchange:
    """By the functions that asyncio's documentation has for tasks and loops of other packages."""

    def exchange(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> asyncio.Task[Any] | None:
        outer = asyncio.current_task(loop)
        if outer is not None:
            asyncio._leave_task(loop, outer)
        if task is not None:
            asyncio._enter_task(loop, task)
        return outer

    return exchange


WAYS: Mapping[str, Exchange] = MappingProxyType(
    {
        name: way
        for name, way in (("swapping", _swapping()), ("writing", _writing()), ("entering", _entering()))
        if way is not None
    }
)
"""The ways that this Python has to exchange the current task, the fastest first; the last is there on each."""

exchange_task: Exchange = next(iter(WAYS.values()))
"""Makes a task the current task of a running loop, or none; gives the task that was current."""


def take_turn(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None, turn: Callable[[], Any]) -> None:
    """Calls a function while a task is the current task of a running loop, or while none is."""
    outer = exchange_task(loop, task)
    try:
        turn()
    finally:
        exchange_task(loop, outer)


@contextmanager
def as_running(loop: asyncio.AbstractEventLoop, outer: asyncio.AbstractEventLoop | None) -> Iterator[None]:
    """A block in which an event loop that does not turn is the running loop, so that tasks start eagerly.

    Args:
        loop: the loop.
        outer: the loop that runs around the block, which is the running loop again behind it.
    """
    loop_of_asyncio: Any = loop
    has_thread = isinstance(loop, asyncio.BaseEventLoop)
    asyncio._set_running_loop(loop)
    if has_thread:  # asyncio looks here whether a loop runs
        loop_of_asyncio._thread_id = threading.get_ident()
    try:
        yield
    finally:
        if has_thread:
            loop_of_asyncio._thread_id = None
        asyncio._set_running_loop(outer)
