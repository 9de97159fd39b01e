"""`running_loop`: the event loop of asyncio that runs here, or an error that says what to do without a loop; `NEXT_TURN`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator

from actorflow.errors import FailedPreconditionError, with_topic


class NextTurn:
    """An await that ends in the loop's next turn, after all that is ready now."""

    def __await__(self) -> Generator[None]:
        yield


NEXT_TURN = NextTurn()


def running_loop() -> asyncio.AbstractEventLoop:
    """The running event loop.

    Raises:
        FailedPreconditionError: none is running, or it is trio's.
    """
    loop = asyncio._get_running_loop()
    if loop is None:
        raise without_loop()
    return loop


def without_loop() -> FailedPreconditionError:
    """The error of a session that is used where no event loop of asyncio runs."""
    if _in_trio():
        return FailedPreconditionError(
            "actorflow runs on asyncio only, and this is trio.",
            hint=with_topic(
                "Start the program with anyio.run(main) or asyncio.run(main()), without backend='trio'.", "event-loop"
            ),
        )
    return FailedPreconditionError(
        "No event loop of asyncio is running here, and this needs one.",
        hint=with_topic(
            "Use it inside of a coroutine that asyncio.run or anyio.run runs, or use af.blocking.Session.", "event-loop"
        ),
    )


def _in_trio() -> bool:
    trio = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True
