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

_MOST_SECONDS, _LOOK_SECONDS = 5.0, 1e-3
"""How long a fork waits for other threads. A module may run a whole program and never be whole."""


class Forkable(Protocol):
    """An object that is told in a forked child that it is a copy."""

    def forked(self) -> None: ...


_objects: weakref.WeakKeyDictionary[Forkable, None] = weakref.WeakKeyDictionary()
"""In the order in which they were made: what an object uses was made before."""


_locks: weakref.WeakSet[Any] = weakref.WeakSet()


_library_locks: list[Any] = []
_held: list[Any] = []
"""Those that a fork under way has taken."""


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


def new_library_lock() -> Any:
    """As `new_rlock`, around calls of a library with locks of its own. A child can't free those, so a fork waits."""
    lock = new_rlock()
    _library_locks.append(lock)
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


def _await_others() -> None:
    """A child would wait without end for what another thread of its parent was about to end: a module, a call of a library."""
    end = time.monotonic() + _MOST_SECONDS
    while imports_of_others() and time.monotonic() < end:
        time.sleep(_LOOK_SECONDS)
    for lock in _library_locks:
        if lock.acquire(timeout=max(0.0, end - time.monotonic())):
            _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().release()


def _forked() -> None:
    _held.clear()
    for lock in list(_locks):
        lock._at_fork_reinit()
    for thing in list(_objects):
        thing.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_await_others, after_in_parent=_release, after_in_child=_forked)
