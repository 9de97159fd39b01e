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

from actorflow.base.process.frames import imports_of_others
from actorflow.errors import FailedPreconditionError, with_topic

_MOST_SECONDS, _LOOK_SECONDS = 5.0, 1e-3
"""How long a fork waits for other threads. A module may run a whole program and never be whole."""


class Forkable(Protocol):
    """An object that is told in a forked child that it is a copy."""

    def forked(self) -> None: ...


_objects: weakref.WeakKeyDictionary[Forkable, None] = weakref.WeakKeyDictionary()
"""In the order in which they were made: what an object uses was made before."""


_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_library_locks: weakref.WeakKeyDictionary[Any, None] = weakref.WeakKeyDictionary()
"""In the order in which they were made: two threads that fork at once take them in one order."""


class _Taken(threading.local):
    """The locks that the fork of a thread has taken. Other threads may fork meanwhile, and have taken locks of their own."""

    def __init__(self) -> None:
        self.locks: list[Any] = []


_taken = _Taken()


def register(thing: Forkable) -> None:
    """Has `thing.forked()` called in each child that is forked while the object lives."""
    _objects[thing] = None


def new_lock() -> Any:
    """A lock (`threading.RLock`) for what a forked child may use. It is free in the child, although another thread of the parent
    held it. If the thread that forks holds it, that thread of the child holds it too, and releases it."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def new_library_lock() -> Any:
    """As `new_lock`, around work that a child can't take up: calls of a library with locks of its own, or a kernel that writes to
    a variable. A fork waits for the end of such work."""
    lock = new_lock()
    _library_locks[lock] = None
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
    taken = _taken.locks
    for reference in _library_locks.keyrefs():  # at once: another thread may make a lock meanwhile
        lock = reference()
        if lock is not None and lock.acquire(timeout=max(0.0, end - time.monotonic())):
            taken.append(lock)


def _release() -> None:
    taken = _taken.locks
    while taken:
        taken.pop().release()


def _forked() -> None:
    _release()
    for lock in list(_locks):
        if not lock._is_owned():  # its holder is a thread of the parent
            lock._at_fork_reinit()
    failures: list[Exception] = []
    for thing in list(_objects):
        try:
            thing.forked()
        except Exception as error:  # the other objects have to hear of the fork all the same
            failures.append(error)
    if failures:  # Python writes it to stderr, and goes on
        raise ExceptionGroup("Objects of a forked process could not begin afresh.", failures)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_await_others, after_in_parent=_release, after_in_child=_forked)
