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
    rest = flags.FLAGS(sys.argv if argv is None else argv)
    entry: Any = sys.modules["__main__"].main if main is None else main
    sys.exit(entry(rest))
