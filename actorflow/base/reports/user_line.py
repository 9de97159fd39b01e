"""The line of the user's program that made a node."""

from __future__ import annotations

import functools
import sys

from actorflow.errors import Where


@functools.lru_cache(maxsize=4096)
def _where(file: str, line: int) -> Where:
    """One record for all nodes of a line."""
    return Where(file, line)


def user_line() -> Where | None:
    """The innermost frame outside actorflow."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("actorflow.") and module != "actorflow":
            return _where(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None
