"""`refuse_await`: tells a program that awaits what a blocking session gives that it need not.

Python itself says "object numpy.float32 can't be used in 'await' expression", after the run. Whether a call's result is awaited
can be seen in the code of the caller: the instruction behind the call. Only code inside of an event loop awaits, where each call
of a blocking session starts a thread, so that a look costs nothing in comparison.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from types import CodeType


def refuse_await(session: str) -> None:
    """Raises TypeError where the line of the program that led here awaits its result."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "actorflow":
        frame = frame.f_back
    if _awaits(frame.f_code, frame.f_lasti):
        raise TypeError(
            f"A blocking {session} gives its results at once: leave `await` out. To let the event loop do other work "
            "meanwhile, use `async with af.Session(...) as session:` and `await session.run(...)`."
        )


@lru_cache(maxsize=256)
def _awaits(code: CodeType, at: int) -> bool:
    """Whether the instruction behind the one at this offset takes an awaitable."""
    following = (each.opname for each in dis.get_instructions(code) if each.offset > at and each.opname != "CACHE")
    return next(following, "") == "GET_AWAITABLE"
