"""`tf.app`: the entry of a script with flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from actorflow.compat.v1 import flags
from actorflow.public import public

public("tf:app")

__all__ = ["flags", "run"]


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Reads the flags, calls `main` with what is left of the command line, and exits with its result (`tf.app.run`).

    `main` is that of the script by default. Raises SystemExit in any case.
    """
    words = sys.argv if argv is None else argv
    libraries = sys.modules.get("absl.flags")  # a program may declare flags there too
    rest = flags.FLAGS(words, known_only=libraries is not None)
    if libraries is not None:
        rest = libraries.FLAGS(rest)
    entry: Any = sys.modules["__main__"].main if main is None else main
    sys.exit(entry(rest))
