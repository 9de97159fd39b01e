"""`StepResult`: the result of a step that a callback of the event loop has begun, which is here already or is awaited."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class StepResult(Generic[T]):
    """The result of a step: `value` if `done`, else an await gives it. A result has one owner, who takes it once.

    The coroutine behind an await is made when the await begins, so a result that is not awaited leaves nothing behind.

    Example:
        >>> from actorflow.engine.runtime.event_loops.step_result import StepResult
        >>> result = StepResult([2.0, 3.0]).then(sum)
        >>> result.done, result.value
        (True, 5.0)
    """

    __slots__ = ("_call", "done", "value")

    _call: Callable[[], Coroutine[Any, Any, T]]
    done: bool
    value: T

    def __init__(self, value: T) -> None:
        self.done = True
        self.value = value

    @classmethod
    def later(cls, call: Callable[[], Coroutine[Any, Any, T]]) -> StepResult[T]:
        """The result of a coroutine function, which is called when the result is awaited.

        Args:
            call: the coroutine function, without arguments.
        """
        result = cls.__new__(cls)
        result.done = False
        result._call = call
        return result

    @classmethod
    def ended(cls, begin: Callable[[], StepResult[T]], end: Callable[[], None]) -> StepResult[T]:
        """The result that `begin` gives; `end` is called once, as soon as the result is here or has failed.

        Args:
            begin: begins the step.
            end: frees what the step has.
        """
        try:
            result = begin()
        except BaseException:
            end()
            raise
        if not result.done:
            return cls.later(lambda: _ended(result, end))
        end()
        return result

    def then(
        self, change: Callable[[T], U], within: Callable[[], AbstractContextManager[Any]] = nullcontext
    ) -> StepResult[U]:
        """The same result, changed.

        Args:
            change: gives the new value for the old value; called at once if the value is here.
            within: makes the context of the await and of the change behind it; a value that is here is changed in the caller's.
        """
        result: StepResult[Any] = self
        if not result.done:
            return StepResult.later(lambda: _changed(result, change, within))
        result.value = change(result.value)
        return result

    def __await__(self) -> Generator[Any, Any, T]:
        return _at_once(self.value) if self.done else self._call().__await__()


def _at_once(value: T) -> Generator[Any, Any, T]:
    return value
    yield


async def _ended(result: StepResult[T], end: Callable[[], None]) -> T:
    try:
        return await result
    finally:
        end()


async def _changed(
    result: StepResult[T], change: Callable[[T], U], within: Callable[[], AbstractContextManager[Any]]
) -> U:
    with within():
        return change(await result)
