"""`path_text`: the path that a program gives, or a refusal that names it."""

from __future__ import annotations

import os
from typing import Any

from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe


def path_text(path: Any, name: str = "path") -> str:
    """A path as text. A number is refused: `open` would take it for the descriptor of a file, and close that.

    Raises:
        TypeError: it is neither a text, nor bytes, nor an `os.PathLike`.
    """
    try:
        return os.fsdecode(path)
    except TypeError:
        raise TypeError(
            describe(
                f"`{name}` is a path, a text or an os.PathLike, but it is {path!r:.60}, of type {type(path).__name__}.",
                where=user_line(),
                hint="Look at the order of the arguments.",
            )
        ) from None
