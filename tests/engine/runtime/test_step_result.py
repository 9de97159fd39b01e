"""A step result gives its value at once or by an await; changes and ends are the same for both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from actorflow.engine.runtime.event_loops.step_result import StepResult


async def _later(value: Any) -> Any:
    if isinstance(value, Exception):
        raise value
    return value


def _begun(value: Any) -> StepResult[Any]:
    if isinstance(value, Exception):
        raise value
    return StepResult(value)


def _deferred(value: Any) -> StepResult[Any]:
    return StepResult.later(lambda: _later(value))


BEGINNINGS = pytest.mark.parametrize("begin", [_begun, _deferred])


@BEGINNINGS
async def test_an_await_gives_the_changed_value(begin: Any) -> None:
    result = begin([1, 2]).then(sum).then(str)
    assert result.done == (begin is _begun)
    assert await result == "3"


@BEGINNINGS
@pytest.mark.parametrize("value", [7, ValueError("the step has failed")], ids=["value", "error"])
async def test_the_end_is_called_once_when_the_result_is_here_or_has_failed(begin: Any, value: Any) -> None:
    ends: list[str] = []
    try:
        result = StepResult.ended(lambda: begin(value), lambda: ends.append("end"))
        assert len(ends) == result.done
        assert await result == value
    except ValueError as error:
        assert error is value
    assert ends == ["end"]


async def test_a_wait_and_the_change_behind_it_are_within_the_context() -> None:
    steps: list[str] = []

    @contextmanager
    def context() -> Iterator[None]:
        steps.append("enter")
        yield
        steps.append("leave")

    def change(value: int) -> int:
        steps.append("change")
        return value + 1

    result = _deferred(1).then(change, within=context)
    assert not steps
    assert await result == 2
    assert steps == ["enter", "change", "leave"]


def test_a_result_that_nobody_awaits_makes_no_coroutine(recwarn: pytest.WarningsRecorder) -> None:
    result = _deferred(1).then(str)
    del result
    assert not recwarn.list
