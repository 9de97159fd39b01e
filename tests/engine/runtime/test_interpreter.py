"""The internals of CPython that are used: each way to take a turn does the same, and the public way is always there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from actorflow.base.process import frames, interpreter
from actorflow.base.reports.user_line import user_line

EVERY_WAY = pytest.mark.parametrize("way", interpreter.WAYS)


@pytest.fixture
def take_turn(way: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setattr(interpreter, "exchange_task", interpreter.WAYS[way])
    return interpreter.take_turn


def test_the_fastest_way_of_this_python_is_taken_and_the_public_way_is_always_there() -> None:
    names = list(interpreter.WAYS)
    assert names == ["swapping" if sys.version_info >= (3, 12) else "writing", "entering"]
    assert interpreter.exchange_task is interpreter.WAYS[names[0]]


def make_task(loop: asyncio.AbstractEventLoop) -> asyncio.Task[Any]:
    return asyncio.Task(asyncio.sleep(0), loop=loop)


@EVERY_WAY
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("within", ["a task", "a callback"])
async def test_a_task_is_the_current_one_in_its_turn_alone(
    take_turn: Callable[..., None], fails: bool, within: str
) -> None:
    loop = asyncio.get_running_loop()
    task, told, seen = make_task(loop), loop.create_future(), list[Any]()

    def turn() -> None:
        seen.append(asyncio.current_task())
        if fails:
            raise KeyError("the turn")

    def caller() -> None:
        seen.append(asyncio.current_task())
        try:
            take_turn(loop, task, turn)
        except KeyError:
            seen.append("failed")
        seen.append(asyncio.current_task())
        told.set_result(None)

    if within == "a task":
        caller()
    else:
        loop.call_soon(caller)
    await told
    outer = asyncio.current_task() if within == "a task" else None
    assert seen == [outer, task, *(["failed"] if fails else []), outer]
    await task


@EVERY_WAY
async def test_turns_may_be_taken_within_turns_and_without_a_task(take_turn: Callable[..., None]) -> None:
    loop = asyncio.get_running_loop()
    outer, first, second = asyncio.current_task(), make_task(loop), make_task(loop)
    seen = list[Any]()

    def inner() -> None:
        seen.append(asyncio.current_task())

    def turn() -> None:
        take_turn(loop, second, inner)
        seen.append(asyncio.current_task())
        take_turn(loop, None, inner)
        seen.append(asyncio.current_task())

    take_turn(loop, first, turn)
    seen.append(asyncio.current_task())
    assert seen == [second, first, None, first, outer]
    await asyncio.gather(first, second)


@EVERY_WAY
async def test_without_a_current_task_none_may_be_exchanged_for_none(way: str) -> None:
    loop, told = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
    exchange = interpreter.WAYS[way]
    loop.call_soon(lambda: told.set_result((exchange(loop, None), asyncio.current_task())))
    assert await told == (None, None)


def test_a_loop_that_does_not_turn_runs_within_a_block() -> None:
    loop = asyncio.new_event_loop()
    with interpreter.as_running(loop, None):
        assert asyncio.get_running_loop() is loop and loop.is_running()
        task = asyncio.Task(asyncio.sleep(0, "slept"), loop=loop, **interpreter.EAGERLY)
    assert asyncio._get_running_loop() is None and not loop.is_running()
    assert loop.run_until_complete(task) == "slept"
    loop.close()


CALLS = {
    "await call()": True,
    "value = await call()": True,
    "value = [await call(), 1]": True,
    "value = await call(1, *(), **{})": True,
    "call()": False,
    "value = call()": False,
    "value = await other(call())": False,
    "value = call() or await other(1)": False,
    "return call()": False,
}


@pytest.mark.parametrize("line", CALLS)
def test_a_call_that_is_awaited_is_told_from_the_others(line: str) -> None:
    class Done:
        def __await__(self) -> Any:
            yield from ()

    def call(*_: Any, **__: Any) -> Done:
        frame = sys._getframe(1)
        answers.append(frames.awaits(frame.f_code, frame.f_lasti))
        return Done()

    answers: list[bool] = []
    spaces: dict[str, Any] = {"call": call, "other": lambda _: Done()}
    exec(f"async def program():\n    {line}\n    await other(0)", spaces)
    coroutine = spaces["program"]()
    with pytest.raises(StopIteration):
        coroutine.send(None)
    assert answers == [CALLS[line]]


def test_the_frame_of_the_program_is_the_innermost_outside_actorflow() -> None:
    frame = frames.frame_of_program()
    assert frame is sys._getframe()
    spaces: dict[str, Any] = {"__name__": "actorflow.inner", "look": frames.frame_of_program}
    exec("def call(): return look()", spaces)
    call: Callable[[], Any] = spaces["call"]
    assert call() is sys._getframe()
    where = user_line()
    assert where is not None and where.file == __file__


def test_a_python_without_frames_has_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_frame_at", None)
    assert frames.frame_of_program() is None
    assert user_line() is None
