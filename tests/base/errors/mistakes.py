"""Runs scripts that end with an error, each in a process of its own, and keeps what Python prints for it.

A program of its own: `python mistakes.py SCRIPT...` writes what each prints to `SCRIPT.printed`. It imports what a session needs
once, and forks for each script, which then runs as with `python SCRIPT`: as `__main__`, with an uncaught error given to Python's
hook.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType


def run(script: str) -> None:
    """Runs a script in this process, and ends that as the interpreter does."""
    printed = os.open(f"{script}.printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    main.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.argv = [script]
    try:
        exec(compile(Path(script).read_text(encoding="utf-8"), script, "exec"), main.__dict__)
    except BaseException as error:
        trace = error.__traceback__
        error.__traceback__ = trace.tb_next if trace is not None else None  # without the frame of this function
        sys.excepthook(type(error), error, error.__traceback__)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def prepare() -> None:
    """Imports what a session imports when it first runs."""
    import anyio._backends._asyncio  # noqa: F401

    import actorflow as af

    with af.Graph().as_default(), af.blocking.Session() as session:
        session.run(af.reduce_sum(af.matmul([[1.0]], [[1.0]])))


if __name__ == "__main__":
    prepare()
    for name in sys.argv[1:]:
        child = os.fork()
        if not child:
            run(name)
        os.waitpid(child, 0)
