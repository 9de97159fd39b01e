"""The line of the user's program that made a node."""

from __future__ import annotations

import functools
import linecache
import sys
from typing import NamedTuple


class Where(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int

    def source(self) -> str:
        """The line's text, or an empty string where it can't be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


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
