"""Objects of a process in a child that was forked from it.

A child has the memory of its parent, and one of its threads: the others, and what event loops have under way, are not there. An
object that needs them says so in the child at once, rather than wait without end, or begins afresh.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any, Protocol

from actorflow.base.process.interpreter import imports_of_others
from actorflow.errors import FailedPreconditionError, with_topic

_IMPORT_SECONDS, _LOOK_SECONDS = 5.0, 1e-3
"""How long a fork waits for the imports of other threads. A module may run a whole program and never be whole."""


class Forkable(Protocol):
    """An object that is told in a forked child that it is a copy."""

    def forked(self) -> None: ...


_objects: weakref.WeakKeyDictionary[Forkable, None] = weakref.WeakKeyDictionary()
"""In the order in which they were made: what an object uses was made before."""


_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def register(thing: Forkable) -> None:
    """Has `thing.forked()` called in each child that is forked while the object lives."""
    _objects[thing] = None


def new_lock() -> threading.Lock:
    """A lock of a module, for what a forked child may use: it is free in the child, although a thread of the parent held it."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def new_rlock() -> Any:
    """As `new_lock`, for a thread that may take the lock again while it holds it (`threading.RLock`)."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def refusal(what: str, process: int) -> FailedPreconditionError:
    """The error for the use of what another process has opened.

    Args:
        what: begins a sentence.
        process: the number of that process.
    """
    return FailedPreconditionError(
        f"{what} was used in process {process}, from which this one ({os.getpid()}) was forked. Its event loop and its threads "
        "are not in this process.",
        hint=with_topic("Make it in each process after the fork, or start processes by spawn.", "forked-process"),
    )


def _await_imports() -> None:
    """A child would wait without end for a module that another thread of its parent was importing."""
    end = time.monotonic() + _IMPORT_SECONDS
    while imports_of_others() and time.monotonic() < end:
        time.sleep(_LOOK_SECONDS)


def _forked() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()
    for thing in list(_objects):
        thing.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_await_imports, after_in_child=_forked)
