"""Which frames of an error its reader sees: those of the program, where the mistake is, and none of actorflow's.

An error that actorflow raises on purpose says in its message what failed, where, and what to do. The frames between the user's
line and the `raise` add nothing to that, so they are left out at the methods of sessions and the calls of ops (`leave_out`).
They are also left out, with those of asyncio and anyio, where Python prints an uncaught error (`install`). An error that is not
raised on purpose is a fault of actorflow's, or the program's own, and keeps all its frames.

The variable ACTORFLOW_TRACEBACK of the environment says `full` for all frames of all errors; it is read when an error passes.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any

from actorflow.errors import InternalError, OpError, StarvationError, UnknownError

_RUNNERS = frozenset(
    ("actorflow", "anyio", "asyncio", "concurrent", "contextlib", "runpy", "threading", "trio", "uvloop")
)
"""The packages whose frames lie between the lines of a program and what failed."""
_LIBRARIES = _RUNNERS | {"llvmlite", "ml_dtypes", "msgpack", "numpy", "scipy", "structlog", "zmq"}
_MARK = "_actorflow_told"


def full() -> bool:
    """Whether all frames are to be seen."""
    return os.environ.get("ACTORFLOW_TRACEBACK", "") == "full"


def leave_out(error: BaseException) -> None:
    """Takes the frames of actorflow out of the traceback of an error that it raised on purpose.

    For public functions, as `except Exception as error: leave_out(error); raise`: their own frame goes too.
    """
    if not full() and is_told(error):
        setattr(error, _MARK, True)  # its traceback no longer shows who raised it
        error.__traceback__ = _without(error.__traceback__, frozenset(("actorflow",)))


def is_told(error: BaseException) -> bool:
    """Whether actorflow raised `error` on purpose, to tell its user something."""
    if isinstance(error, (AssertionError, NotImplementedError)) or not isinstance(error, Exception):
        return False
    if isinstance(error, InternalError):
        return isinstance(error, StarvationError)
    if getattr(error, _MARK, False):
        return True
    trace = error.__traceback__
    if trace is None:
        return isinstance(error, OpError)
    while trace.tb_next is not None:
        trace = trace.tb_next
    return _root(trace) == "actorflow" and _raises(trace.tb_frame.f_code, trace.tb_lasti)


def _raises(code: CodeType, at: int) -> bool:
    """Whether the instruction there is a `raise`; others raise because something went wrong."""
    from opcode import opmap

    return code.co_code[at] == opmap["RAISE_VARARGS"]


def _root(trace: TracebackType) -> str:
    """The package to which a frame belongs. Generated code has no name of its own."""
    if trace.tb_frame.f_code.co_filename.startswith("<actorflow"):
        return "actorflow"
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


def _without(trace: TracebackType | None, packages: frozenset[str]) -> TracebackType | None:
    """The traceback without the frames of `packages`."""
    kept = []
    while trace is not None:
        if _root(trace) not in packages:
            kept.append(trace)
        trace = trace.tb_next
    frames: TracebackType | None = None
    for entry in reversed(kept):
        frames = TracebackType(frames, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return frames


def install() -> None:
    """Has errors that nothing catches printed without frames of actorflow, anyio and asyncio. The code that printed
    them until now still does, and prints all other errors as they are. Called once, as actorflow is imported."""
    sys.excepthook = _hook(sys.excepthook)
    threading.excepthook = _thread_hook(threading.excepthook)


def _hook(previous: Callable[..., Any]) -> Callable[..., None]:
    """`sys.excepthook`: what is called with an error that ends the program."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not full() and arrange(error):
            trace = error.__traceback__
        previous(kind, error, trace)

    return show


def _thread_hook(previous: Callable[..., Any]) -> Callable[..., None]:
    """`threading.excepthook`: what is called with an error that ends a thread."""

    def show(arguments: threading.ExceptHookArgs) -> None:
        error = arguments.exc_value
        if error is not None and not full() and arrange(error):
            arguments = threading.ExceptHookArgs((arguments.exc_type, error, error.__traceback__, arguments.thread))
        previous(arguments)

    return show


def arrange(error: BaseException) -> bool:
    """Makes an error of actorflow's, or a group that holds any, ready to be printed. Says whether `error` is either."""
    if isinstance(error, BaseExceptionGroup):
        ours = any([arrange(inner) for inner in error.exceptions])
    else:
        ours = is_told(error)
    if not ours:
        return False
    error.__traceback__ = _without(error.__traceback__, _LIBRARIES)
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        arrange(before)
        if says_all(error, before):
            error.__cause__ = None
            error.__suppress_context__ = True
        else:
            before.__traceback__ = theirs(before)
    return True


def theirs(error: BaseException) -> TracebackType | None:
    """The frames of `error` that are the program's; all where none are, or all are to be seen."""
    return error.__traceback__ if full() else _without(error.__traceback__, _RUNNERS) or error.__traceback__


def says_all(error: BaseException, before: BaseException) -> bool:
    """Whether the error before another adds nothing: it has no line of the program, or only the line that the message names."""
    if full():
        return False
    trace = _without(before.__traceback__, _LIBRARIES)
    if trace is None:
        return not isinstance(error, UnknownError)
    return trace.tb_next is None and f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" in str(error)
