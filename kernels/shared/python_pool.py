"""`PythonPool`: threads of Python that take pieces of work where the library in C is not there, and so its pool is not either.

numpy's long loops let other threads run meanwhile. A thread that finds nothing to do for a tenth of a second ends, so an idle
process has none, and a child that was forked begins without.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue

_PATIENCE = 0.1
"""Seconds that a thread waits for work."""


class PythonPool:
    """Threads that share calls of `each` with their callers. Several callers may share them."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)  # the child has the caller's thread alone

    def _begin(self) -> None:
        self._calls: SimpleQueue[_PoolCall] = SimpleQueue()
        self._lock = threading.Lock()
        self._count = 0

    def each(self, work: Callable[[int], None], count: int, threads: int) -> None:
        """Calls `work` with each number below `count`. At most `threads` do it, with the caller's thread among them.

        Raises:
            BaseException: what `work` raises; then it is not called with the numbers that are left.
        """
        call = _PoolCall(work, count)
        helpers = min(threads, count) - 1
        with self._lock:
            while self._count < helpers and self._start():
                self._count += 1
            for _ in range(min(helpers, self._count)):
                self._calls.put(call)
        call.finish()

    def _start(self) -> bool:
        try:
            threading.Thread(target=self._serve, args=(self._calls,), name="actorflow piece", daemon=True).start()
        except RuntimeError:  # the system grants no more, or the program ends
            return False
        return True

    def _serve(self, calls: SimpleQueue[_PoolCall]) -> None:
        while True:
            try:
                call = calls.get(timeout=_PATIENCE)
            except Empty:
                with self._lock:
                    if calls.empty():
                        self._count -= 1
                        return
            else:
                call.join()
                del call  # with the arrays of its work


class _PoolCall:
    """A call of `each`, and the threads that work on it."""

    __slots__ = ("_done", "_error", "_joined", "_left", "_lock", "_over", "_work")

    def __init__(self, work: Callable[[int], None], count: int) -> None:
        self._work: Callable[[int], None] | None = work
        self._left = deque(range(count))
        self._lock = threading.Lock()
        self._joined = 0
        self._over = False
        self._done = threading.Lock()  # held until no other thread works on it any more
        self._done.acquire()
        self._error: BaseException | None = None

    def join(self) -> None:
        """Does pieces on another thread than the caller's, unless the caller has done them all."""
        with self._lock:
            if self._over:
                return
            self._joined += 1
        self._do_pieces()
        with self._lock:
            self._joined -= 1
            if self._over and not self._joined:
                self._done.release()

    def finish(self) -> None:
        """Does pieces until none is left, and waits for those that others do. A thread that gets no core keeps no one waiting
        before it has begun."""
        self._do_pieces()
        with self._lock:
            self._over = True
            waits = self._joined > 0
        if waits:
            self._done.acquire()
        self._work = None  # a thread that comes late may keep this call for a while, and is not to keep arrays with it
        if self._error is not None:
            raise self._error

    def _do_pieces(self) -> None:
        work, left = self._work, self._left
        assert work is not None
        try:
            while left:
                try:
                    number = left.popleft()
                except IndexError:  # another thread took the last number
                    return
                work(number)
        except BaseException as error:
            self._error = error
            left.clear()
