"""`Lane`: blocking calls of an event loop on threads, a bounded number of them at a time.

All lanes of a process share its threads. A thread that finds no call for a second ends. A process ends although threads are
busy: what a program calls there may wait without end, such as for a server that died. The process gives those calls a second
more, in which they may clean up.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

_AT_ONCE = 4
"""The number of threads that begin as soon as there are calls for them. Short calls do not need more."""
_STALL = 0.01
"""Seconds without a call that begins, after which there are more threads: those that exist are held by long calls."""
_LOOK = 0.5
"""Seconds after which an event loop that waits for a call wakes. A signal that comes just before a loop begins to wait does not
wake it, so that Ctrl-C would not be seen before the call ends."""
_PATIENCE = 0.5
"""Seconds that a thread waits for a call before it ends."""
BUSY, IDLE = "actorflow call", "actorflow thread without a call"
"""The names of threads that perform a call, and of threads that wait for a call."""
_GRACE = 1.0
"""Seconds that the end of the process waits for calls."""


class _Threads:
    """The threads of this process, and the calls that wait for them."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)  # the child has the caller's thread alone
        atexit.register(self._wait)

    def _begin(self) -> None:
        self._calls: SimpleQueue[_LaneCall[Any]] = SimpleQueue()
        self._changed = threading.Condition()
        self._count = 0
        self._free = 0  # threads that wait, less the calls that no thread has yet
        self._begun = 0.0

    @property
    def lack(self) -> bool:
        """Whether there are calls that no thread is free for."""
        return self._free < 0

    def put(self, call: _LaneCall[Any]) -> None:
        """Has a thread perform a call. Raises RuntimeError where the system grants no thread."""
        with self._changed:
            if self._free <= 0 and self._count < _AT_ONCE:
                self._start(needed=not self._count)
            self._free -= 1
            self._calls.put(call)

    def grow(self) -> None:
        """Begins more threads, where calls wait and none has begun lately: twice as many as there are."""
        with self._changed:
            if time.monotonic() - self._begun >= _STALL:
                for _ in range(min(-self._free, self._count)):
                    self._start(needed=False)

    def _start(self, *, needed: bool) -> None:
        try:
            threading.Thread(target=self._serve, args=(self._calls,), name=IDLE, daemon=True).start()
        except RuntimeError:  # the system grants no more, or the program ends
            if needed:
                raise
            return
        self._count += 1
        self._free += 1

    def _serve(self, calls: SimpleQueue[_LaneCall[Any]]) -> None:
        thread = threading.current_thread()
        while True:
            try:
                call = calls.get(timeout=_PATIENCE)
            except Empty:
                with self._changed:
                    if self._free > 0:
                        self._free -= 1
                        self._count -= 1
                        return
                continue
            self._begun = time.monotonic()
            thread.name = BUSY
            tell = call.perform()
            thread.name = IDLE
            with self._changed:
                self._free += 1
                self._changed.notify_all()
            tell()  # only now: the caller's next call finds this thread free
            del call, tell

    def _wait(self) -> None:
        """Waits at the end of the process until no call goes on, but not for long."""
        with self._changed:
            self._changed.wait_for(lambda: self._free >= self._count, _GRACE)


_threads = _Threads()


class Lane:
    """The calls of one event loop, at most `width` at a time: later calls wait, and begin in their order. A call that a
    cancelled caller has left behind counts until it ends."""

    def __init__(self, width: float) -> None:
        self._width = width
        self._running = 0
        self._waiting: deque[_LaneCall[Any]] = deque()
        self._next_look: asyncio.TimerHandle | None = None

    async def run(self, work: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Calls `work` on a thread, in a copy of the caller's context, and waits for it. If the caller is cancelled, a call that
        has not begun never does, and a call that has begun is left behind (see `goes_on`)."""
        call = _LaneCall(self, work, arguments)
        if self._running < self._width:
            self._start(call)
        else:
            self._waiting.append(call)
        try:
            return await call.future
        except BaseException:
            if not call.claim() and call.runs:
                _left_behind[asyncio.current_task()] = call
            raise
        finally:
            del call  # it has the error, whose traceback has this frame

    def _start(self, call: _LaneCall[Any]) -> None:
        _threads.put(call)
        self._running += 1
        if _threads.lack:
            self._watch_soon(call.loop, _STALL)
        elif self._next_look is None:
            self._watch_soon(call.loop, _LOOK)

    def _watch_soon(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        when = loop.time() + seconds
        if self._next_look is not None:
            if self._next_look.when() <= when:
                return
            self._next_look.cancel()
        self._next_look = loop.call_at(
            when, self._watch, loop, context=Context()
        )  # the caller's would keep what it has

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Looks whether calls get threads, and lets signals be seen, as long as calls go on."""
        self._next_look = None
        _threads.grow()
        if self._running:
            self._watch_soon(loop, _STALL if _threads.lack else _LOOK)

    def leave(self) -> None:
        """Called when a call has ended: the next one begins."""
        self._running -= 1
        while self._waiting and self._running < self._width:
            call = self._waiting.popleft()
            if not call.future.done():
                try:
                    self._start(call)
                except RuntimeError as error:
                    call.future.set_exception(error)


class _LaneCall(Generic[T]):
    """A call that waits for a thread, or has a thread."""

    __slots__ = ("__weakref__", "_arguments", "_claims", "_context", "_lane", "_work", "future", "loop", "runs")

    def __init__(self, lane: Lane, work: Callable[..., T], arguments: tuple[Any, ...]) -> None:
        self._lane, self._work, self._arguments = lane, work, arguments
        self._context = _context_of_thread()
        self._claims = [None]
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.runs = False

    def claim(self) -> bool:
        """Whether the caller is the first to ask: the thread that performs the call, or a cancelled caller that withdraws it."""
        try:
            self._claims.pop()
        except IndexError:
            return False
        return True

    def perform(self) -> Callable[[], None]:
        """Makes the call. Gives what tells the caller how it ended."""
        if not self.claim():
            return partial(self._tell, None, None)
        self.runs = True
        try:
            return partial(self._tell, self._context.run(self._work, *self._arguments), None)
        except BaseException as error:
            return partial(self._tell, None, error)
        finally:
            self.runs = False
            self._arguments = ()

    def _tell(self, result: Any, failure: BaseException | None) -> None:
        try:
            self.loop.call_soon_threadsafe(self._end, result, failure)
        except RuntimeError:
            pass  # the loop is closed: no caller waits any more

    def _end(self, result: Any, failure: BaseException | None) -> None:
        self._lane.leave()
        if self.future.done():
            return
        if failure is None:
            self.future.set_result(result)
        elif isinstance(failure, StopIteration):  # which a future does not take
            stopped = RuntimeError("The call raised StopIteration.")
            stopped.__cause__ = failure
            self.future.set_exception(stopped)
        else:
            self.future.set_exception(failure)


def _context_of_thread() -> Context:
    """A copy of the caller's context, in which no event loop runs."""
    context = copy_context()
    sniffio = sys.modules.get("sniffio")  # it takes its word for that from the context
    if sniffio is not None:
        context.run(sniffio.current_async_library_cvar.set, None)
    return context


_left_behind: weakref.WeakKeyDictionary[Any, _LaneCall[Any]] = weakref.WeakKeyDictionary()


def goes_on() -> Callable[[], bool] | None:
    """Tells whether the call on a thread that the current task has left behind still runs; None if the task has left none."""
    call = _left_behind.pop(asyncio.current_task(), None)
    return None if call is None else lambda: call.runs
