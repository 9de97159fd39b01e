"""Work in the background: what makes later runs faster, done one job after the other on a thread of its own.

The thread compiles loops and lets libraries generate code. It begins with the first job and ends when there is none left, or
when the program ends.

A fork copies the locks of libraries as they are, but not the thread that would give them free. So a fork waits until the job
at hand is done, and no other begins before the process is copied. The child goes on with the jobs that were left, on a thread
of its own. A job that takes longer than a fork waits is not done in the child. A line of the log says so, as the child may meet
locks that no thread gives free.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.graph.analysis import cooperative as pace

_PATIENCE = 10.0
"""Seconds that a fork waits for a job. One takes some 10 ms, unless it waits for what the forking thread holds, such as the
lock of a module that forks as it is imported."""


class Background:
    """Does jobs in sequence on a thread, which ends when no job is left, or the program ends."""

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._works = False
        self._forks = 0
        if hasattr(os, "register_at_fork"):
            here = weakref.WeakMethod
            before, parent, child = here(self._before_fork), here(self._after_fork), here(self._in_child)
            os.register_at_fork(
                before=lambda: _call(before), after_in_parent=lambda: _call(parent), after_in_child=lambda: _call(child)
            )

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do. Otherwise a core is busy, and so is the interpreter now and then."""
        return self._thread is None

    def add(self, job: Callable[[], None]) -> None:
        """Lets the thread do `job` after those that were added before. An exception of it is logged."""
        if not machine.current().is_real:
            job()
            return
        with self._changed:
            self._jobs.append(job)
            if self._thread is None:
                self._begin()

    def wait(self, timeout: float | None = None) -> bool:
        """Returns when all jobs are done; False where that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._thread is None, timeout)

    def _begin(self) -> None:
        # Not a daemon: LLVM must not be at work while the process tears it down.
        self._thread = threading.Thread(target=self._work, name="actorflow compiler")
        self._thread.start()

    def _work(self) -> None:
        with pace.planning():
            self._do_jobs()

    def _do_jobs(self) -> None:
        while True:
            with self._changed:
                self._works = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: not self._forks)
                if not self._jobs or not threading.main_thread().is_alive():
                    self._jobs.clear()
                    self._thread = None
                    self._changed.notify_all()
                    return
                job = self._jobs.popleft()
                self._works = True
            try:
                job()
            except Exception as error:
                _report(error)
            del job

    def _before_fork(self) -> None:
        with self._changed:
            self._forks += 1
            own = self._thread is threading.current_thread()  # a job may fork as well
            copied = own or self._changed.wait_for(lambda: not self._works, _PATIENCE)
        if not copied:
            get_logger("runtime").warning(
                "the process is copied while something is made in the background: the copy goes on without it, and may stand "
                "still where it needs the same library; start processes before the first run, or by spawn",
                seconds=_PATIENCE,
            )

    def _after_fork(self) -> None:
        with self._changed:
            self._forks -= 1
            self._changed.notify_all()

    def _in_child(self) -> None:
        # A thread that is not there any more may have held the lock.
        self._changed = threading.Condition()
        self._thread, self._works, self._forks = None, False, 0
        if self._jobs:
            self._begin()


def _call(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    region = method()
    if region is not None:
        region()


def _report(error: Exception) -> None:
    with contextlib.suppress(RuntimeError):  # the program ends
        get_logger("runtime").warning(
            "something could not be made in the background; the program goes on without",
            error=f"{type(error).__name__}: {error}",
        )


background = Background()
