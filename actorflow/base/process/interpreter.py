"""The parts of CPython that are no public interface: the task whose turn it is, frames, the instruction behind a call.

Each of them has a public way that gives the same, more slowly or less often, for a Python in which it has gone.
"""

from __future__ import annotations

import asyncio
import dis
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType, FrameType, MappingProxyType
from typing import Any, TypeAlias

Turn: TypeAlias = "Callable[[asyncio.AbstractEventLoop, asyncio.Task[Any], Callable[[], Any]], None]"


def _swapping() -> Turn | None:
    """By the function of asyncio that puts a task in the place of another: from CPython 3.12 on."""
    swap: Any = getattr(asyncio.tasks, "_swap_current_task", None)
    if swap is None:
        return None

    def take_turn(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], turn: Callable[[], Any]) -> None:
        outer = swap(loop, task)
        try:
            turn()
        finally:
            swap(loop, outer)

    return take_turn


def _writing() -> Turn | None:
    """By asyncio's dictionary of current tasks, which its functions in C read in CPython 3.11. To leave a task and to enter
    another by these functions takes a third of a microsecond a turn."""
    current: Any = getattr(asyncio.tasks, "_current_tasks", None)
    if current is None or sys.version_info >= (3, 12):
        return None

    def take_turn(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], turn: Callable[[], Any]) -> None:
        outer = current.get(loop)
        current[loop] = task
        try:
            turn()
        finally:
            if outer is None:
                del current[loop]
            else:
                current[loop] = outer

    return take_turn


def _entering() -> Turn:
    """By the functions that asyncio's documentation has for tasks and loops of other packages."""

    def take_turn(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], turn: Callable[[], Any]) -> None:
        outer = asyncio.current_task(loop)
        if outer is not None:
            asyncio._leave_task(loop, outer)
        asyncio._enter_task(loop, task)
        try:
            turn()
        finally:
            asyncio._leave_task(loop, task)
            if outer is not None:
                asyncio._enter_task(loop, outer)

    return take_turn


WAYS: Mapping[str, Turn] = MappingProxyType(
    {
        name: way
        for name, way in (("swapping", _swapping()), ("writing", _writing()), ("entering", _entering()))
        if way is not None
    }
)
"""The ways that this Python has to take a turn, the fastest first; the last is there on each."""

take_turn: Turn = next(iter(WAYS.values()))
"""Calls a function while a task is the current task of a loop."""


_frame_at: Callable[[int], FrameType] | None = getattr(sys, "_getframe", None)


def frame_of_program() -> FrameType | None:
    """The innermost frame outside actorflow, which is the line of the program; None if all are inside, or none is shown."""
    frame = None if _frame_at is None else _frame_at(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("actorflow.") and module != "actorflow":
            return frame
        frame = frame.f_back
    return None


@lru_cache(maxsize=256)
def awaits(code: CodeType, at: int) -> bool:
    """Whether the instruction behind a call takes an awaitable.

    A Python whose instructions have other names gives False. The callers then refuse nothing early.

    Args:
        code: the code that calls.
        at: the offset of the call in bytes, as `FrameType.f_lasti` has it.
    """
    following = (each.opname for each in dis.get_instructions(code) if each.offset > at and each.opname != "CACHE")
    return next(following, "") == "GET_AWAITABLE"
