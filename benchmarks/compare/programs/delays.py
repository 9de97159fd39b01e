"""How late a ticker of a millisecond gets in the event loop of a program. The variable COMPARE_DELAYS names the file."""

from __future__ import annotations

import array
import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from typing import Any

_TICK, _FLUSH = 0.001, 100


def watch() -> None:
    """Starts a ticker in the running loop, if the measure wants it. It writes pairs of a time and a delay, in seconds."""
    path = os.environ.get("COMPARE_DELAYS")
    if path is None:
        return
    loop = asyncio.get_running_loop()
    pairs = array.array("d")

    def tick(due: float) -> None:
        now = time.monotonic()
        pairs.extend((now, now - due))
        if len(pairs) >= 2 * _FLUSH:
            with open(f"{path}.{os.getpid()}", "ab") as file:
                pairs.tofile(file)
            del pairs[:]
        loop.call_later(_TICK, tick, time.monotonic() + _TICK)

    tick(time.monotonic())


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """The ticker for ASGI applications, as their lifespan."""
    watch()
    yield
