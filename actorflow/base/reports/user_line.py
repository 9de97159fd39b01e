"""The line of the user's program that made a node."""

from __future__ import annotations

import functools

from actorflow.base.process.frames import frame_of_program
from actorflow.errors import Where


@functools.lru_cache(maxsize=4096)
def _where(file: str, line: int) -> Where:
    """One record for all nodes of a line."""
    return Where(file, line)


def user_line() -> Where | None:
    """The innermost frame outside actorflow."""
    frame = frame_of_program()
    return None if frame is None else _where(frame.f_code.co_filename, frame.f_lineno)
