"""`patient_sleep`: a wait after which this process has read what others sent it meanwhile."""

from __future__ import annotations

import anyio

_LATE_SECONDS = 0.5
"""A sleep that ends so much too late says that the process stood still."""


async def patient_sleep(seconds: float) -> None:
    """Waits for so long, and again where this process stood still meanwhile: what has come in that time is yet to be read."""
    late = True
    while late:
        begun = anyio.current_time()
        await anyio.sleep(seconds)
        late = anyio.current_time() - begun > seconds + _LATE_SECONDS
