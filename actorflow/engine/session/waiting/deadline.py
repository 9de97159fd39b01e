"""Deadlines, the report of a wait that ended before its time, and how a run that failed is told.

A wait that is cancelled notes on the `CancelledError` what it waited for. It does not matter by what it was cancelled: a deadline
of the run makes an error of these notes; `asyncio.timeout` and `anyio.fail_after` show them in the chain of their TimeoutError.
A task that cancels what another one asked of it sends the notes back as the details of its reply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.base.reports.tracebacks import leave_out
from actorflow.errors import DeadlineExceededError

P = ParamSpec("P")
R = TypeVar("R")

_MOST_LINES = 40


def note(error: BaseException, lines: Iterable[str]) -> None:
    """Adds to a `CancelledError` what was waited for, unless it says so already."""
    present = noted(error)
    fresh = [line for line in lines if line not in present][: max(0, _MOST_LINES - len(present))]
    if fresh:
        error.add_note("\n".join(fresh))


def noted(error: BaseException) -> list[str]:
    """The waits that were noted, a line for each."""
    return [line for text in getattr(error, "__notes__", ()) for line in text.splitlines()]


@contextmanager
def noting(lines: list[str]) -> Iterator[None]:
    """Adds to `lines` what a wait within has noted: that of a task in a group is lost otherwise."""
    try:
        yield
    except anyio.get_cancelled_exc_class() as error:
        lines.extend(noted(error))
        raise


@contextmanager
def noted_by(lines: list[str]) -> Iterator[None]:
    """Notes `lines`, as they are then, where the block is cancelled."""
    try:
        yield
    except anyio.get_cancelled_exc_class() as error:
        note(error, lines)
        raise


@contextmanager
def deadline(
    timeout: float | None, begun: float | None, what: str, hint: str | None = None
) -> Iterator[anyio.CancelScope]:
    """A block that ends `timeout` seconds after `begun`, by the clock of the event loop; None for any time.

    Args:
        timeout: seconds.
        begun: when they began.
        what: ends the sentence "The run's time of ... s was up".
        hint: what to do where no wait has said what it waited for.

    Raises:
        DeadlineExceededError: the time is up; its details are what the waits within have noted.
    """
    end = float("inf") if timeout is None or begun is None else begun + timeout
    lines: list[str] = []
    with anyio.CancelScope(deadline=end) as scope:
        with noting(lines):
            yield scope
    if scope.cancelled_caught:
        raise DeadlineExceededError(
            f"The run's time of {timeout:g} s was up {what}.", details=lines, hint=None if lines else hint
        )


def report_failure(error: BaseException) -> None:
    """For public coroutine functions, as `except BaseException as error: tell(error); raise`.

    Args:
        error: ends a run. A `CancelledError` has notes on what the run waited for, and the log has them then.
    """
    if isinstance(error, asyncio.CancelledError):
        get_logger("session").info("a run was cancelled", waited_for=noted(error))
    else:
        leave_out(error)


def reporting_failures(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """A coroutine function whose errors are told."""

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await function(*args, **kwargs)
        except BaseException as error:
            report_failure(error)
            raise

    return call
