"""How a run that failed is told: a cancelled one by the log, an error without the frames of actorflow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from actorflow.logs import get_logger
from actorflow.session.waiting.deadline import noted
from actorflow.tracebacks import leave_out

P = ParamSpec("P")
R = TypeVar("R")


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
