"""Programs: code that may have to wait, written once for callers with and without `await`.

A program is a generator. It calls what does not wait itself, in its caller's thread, and yields an `Await` for what
does. `perform` runs it for a caller with `await`, `perform_blocking` for a caller without. The program calls hooks and
listeners, so in a blocking training they run in the thread of the user, and may use the blocking session there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, TypeVar

from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.session import blocking
from actorflow.engine.session.session import Session
from actorflow.errors import OutOfRangeError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Await:
    """The program goes on with what `start()` gives when it has been awaited."""

    start: Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Emit:
    """The program gives a value to its caller, an iterator, and goes on when the next value is asked for."""

    value: Any


Program = Generator[Await | Emit, Any, T]


def call(function: Callable[..., Any], *args: Any) -> Program[Any]:
    """A part of a program: calls a function of the user's. If it gives an awaitable, that is awaited.

    Raises:
        OutOfRangeError: the function raised StopIteration, which a generator can't pass on.
    """
    try:
        result = function(*args)
    except StopIteration as end:
        raise OutOfRangeError("The function that was called says that its input is at its end.") from end
    return result if result is None else (yield from awaited(result))


def awaited(result: Any) -> Program[Any]:
    """A part of a program: what an awaitable gives; anything else as it is."""
    return (yield Await(lambda: result)) if isawaitable(result) else result


async def perform(program: Program[T]) -> T:
    """Runs a program in this task. A cancellation is raised in the program, at the command that waits."""
    step, value = program.send, None
    try:
        while True:
            command = step(value)
            step = program.send
            try:
                value = await command.start()  # type: ignore[union-attr]
            except BaseException as error:
                step, value = program.throw, error
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


def perform_blocking(program: Program[T], driver: LoopDriver) -> T:
    """Runs a program in this thread; `driver` runs what it waits for."""
    step, value = program.send, None
    try:
        while True:
            command = step(value)
            step = program.send
            try:
                value = driver.call(_coroutine(command))
            except BaseException as error:
                step, value = program.throw, error
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


def _coroutine(command: Any) -> Callable[[], Any]:
    async def wait() -> Any:
        return await command.start()

    return wait


class _Closed(BaseException):
    """The reader of a program's emissions has enough."""


async def iterate(program: Program[None]) -> AsyncIterator[Any]:
    """The values that a program emits. Closing the iterator ends the program."""
    step, value = program.send, None
    try:
        while True:
            command = step(value)
            step, value = program.send, None
            try:
                if isinstance(command, Emit):
                    yield command.value
                else:
                    value = await command.start()
            except GeneratorExit:
                # Thrown into a program it would close its parts, which have to wait for what they end.
                step, value = program.throw, _Closed()
            except BaseException as error:
                step, value = program.throw, error
    except (StopIteration, _Closed):
        return


def iterate_blocking(program: Program[None], driver: LoopDriver) -> Iterator[Any]:
    """The values that a program emits, for a caller without `await`."""
    step, value = program.send, None
    try:
        while True:
            command = step(value)
            step, value = program.send, None
            try:
                if isinstance(command, Emit):
                    yield command.value
                else:
                    value = driver.call(_coroutine(command))
            except GeneratorExit:
                # Thrown into a program it would close its parts, which have to wait for what they end.
                step, value = program.throw, _Closed()
            except BaseException as error:
                step, value = program.throw, error
    except (StopIteration, _Closed):
        return


class SharedSession(blocking.Session):
    """A blocking session over a session that an object without `await` has opened, such as a blocking estimator: hooks
    get it."""

    def __init__(self, session: Session, driver: LoopDriver) -> None:
        self._inner, self._driver, self._closed = session, driver, False

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: Any = None,
        run_metadata: None = None,
        *,
        timeout: float | None = None,
        trace: Trace | None = None,
    ) -> Any:
        """See `blocking.Session.run`; hooks of TensorFlow's call `feeds` `feed_dict`."""
        return super().run(fetches, feed_dict, timeout=timeout, trace=trace)

    def close(self) -> None:
        """It is closed by who has opened it."""

    def __del__(self) -> None:
        pass


def act(session: Any, program: Program[T]) -> Any:
    """Runs a program of a hook of ours: to its end in a blocking session; otherwise the result is to be awaited."""
    if isinstance(session, blocking.Session):
        return perform_blocking(program, session._driver)
    return perform(program)


def run(session: Any, fetches: Any, feeds: Any = None) -> Program[Any]:
    """A part of a program: runs `fetches` by a session of either kind."""
    inner = session._inner if isinstance(session, blocking.Session) else session
    return (yield Await(lambda: inner.run(fetches, feeds)))
