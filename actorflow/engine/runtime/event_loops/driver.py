"""An event loop that its callers drive: how code without `await` runs coroutines at no cost of a second thread."""

from __future__ import annotations

import asyncio
import os
import threading

# `signal` itself, which makes enumerations of its numbers and handlers, takes ten times as long
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from actorflow.base.process import forks
from actorflow.base.process.interpreter import as_running
from actorflow.engine.runtime.event_loops.polling import new_event_loop
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.errors import FailedPreconditionError

T = TypeVar("T")
Start = Callable[[], Coroutine[Any, Any, T]]


class _DriverCall(Generic[T]):
    """One call: the task that runs it, and what wakes the thread that waits for it."""

    __slots__ = ("_cancelled", "awake", "start", "task")

    def __init__(self, start: Start[T]) -> None:
        self.start = start
        self.task: asyncio.Task[T] | None = None
        self.awake: threading.Event | None = None
        self._cancelled = False

    @property
    def done(self) -> bool:
        return self.task is not None and self.task.done()

    def submit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts it for a thread that waits. Called on the loop."""
        self.task = loop.create_task(self.start())
        assert self.awake is not None
        awake = self.awake
        self.task.add_done_callback(lambda _: awake.set())
        if self._cancelled:
            self.task.cancel()

    def cancel(self) -> None:
        """Called on the loop."""
        self._cancelled = True
        if self.task is not None:
            self.task.cancel()

    def forget(self) -> None:
        """No one asks for what came of it."""
        if self.task is not None and self.task.done() and not self.task.cancelled():
            self.task.exception()


class _Interrupts:
    """The handler of Ctrl-C while the main thread performs a call: the call is cancelled, and KeyboardInterrupt is
    raised when it has ended, as `asyncio.run` does. Raised at once, in the middle of the bookkeeping of a step, it
    would leave a step that never ends. A second Ctrl-C raises at once. A handler of the program's own stays.
    """

    __slots__ = ("_call", "_loop", "_mine", "seen")

    def __init__(self, loop: asyncio.AbstractEventLoop, call: _DriverCall[Any]) -> None:
        self._loop = loop
        self._call = call
        self.seen = False
        self._mine = False

    def __enter__(self) -> _Interrupts:
        if getsignal(SIGINT) is default_int_handler and threading.get_ident() == threading.main_thread().ident:
            self._mine = True
            signal(SIGINT, self._interrupt)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._mine:
            signal(SIGINT, default_int_handler)

    def _interrupt(self, number: int, frame: Any) -> None:
        if self.seen:
            default_int_handler(number, frame)
        self.seen = True
        self._loop.call_soon_threadsafe(self._call.cancel)


class LoopDriver:
    """An event loop that its callers drive in turn. Any number of threads may call at once: one of the threads drives, and
    serves the others until its own call is done; then the next thread drives."""

    def __init__(self) -> None:
        self._used = False
        self._begin()
        forks.register(self)

    def _begin(self) -> None:
        self._process = os.getpid()
        self.is_of_parent = False
        """Whether this process is a fork of that which has used it."""
        self._loop = new_event_loop(alone=True)
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._driver: _DriverCall[Any] | None = None
        self._waiting: list[_DriverCall[Any]] = []
        self._closed = False

    def forked(self) -> None:
        if self._used:
            self.is_of_parent = True
        elif not self._closed:
            self._loop.close()
            self._begin()

    def drives(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether this is its loop."""
        return loop is self._loop

    def call(self, start: Start[T]) -> T:
        """Runs `start()` to its end on the loop. KeyboardInterrupt cancels it, waits for its end, and is raised.

        Raises:
            FailedPreconditionError: the loop is closed, or the caller is a kernel that this loop runs.
        """
        running = self._running_loop()
        call = _DriverCall(start)
        with _Interrupts(self._loop, call) as interrupts:
            self._wait(call, running)
        return self._result(call, interrupts)

    def begin(self, first: Callable[[], StepResult[T]]) -> T:
        """The value that `first()` gives, called at once, as the loop calls its callbacks: that costs no turn of the loop. It is
        `call` if another thread drives the loop, or the value is not here at once.

        Raises:
            FailedPreconditionError: see `call`.
        """
        running = self._running_loop()
        call = _DriverCall(lambda: _begun(first))
        with _Interrupts(self._loop, call) as interrupts:
            result = self._at_once(call, first, running)
            if result is None or not result.done:
                if result is not None:
                    call.start = lambda: _awaited(result)
                self._wait(call, running)
        if call.task is not None:
            return self._result(call, interrupts)
        if interrupts.seen:
            raise KeyboardInterrupt
        assert result is not None
        return result.value

    def _running_loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop in which the caller is, which is not the driver's loop."""
        if self.is_of_parent:
            raise forks.refusal("What is called", self._process)
        self._used = True
        running = asyncio._get_running_loop()
        if running is self._loop:
            raise FailedPreconditionError(
                "A session can't be used from inside one of its own kernels: the run would wait for itself.",
                hint="Make what it computes a part of the graph, or use another session there.",
            )
        return running

    def _at_once(
        self, call: _DriverCall[T], first: Callable[[], StepResult[T]], running: asyncio.AbstractEventLoop | None
    ) -> StepResult[T] | None:
        """The result of `first()`; None where another thread drives the loop, or it is closed."""
        with self._lock:
            if self._driver is not None or self._closed:
                return None
            self._driver = call
        try:
            with as_running(self._loop, running):
                return first()
        finally:
            self._leave(call)

    def _wait(self, call: _DriverCall[Any], running: asyncio.AbstractEventLoop | None) -> None:
        if running is None:
            self._perform(call)
        else:
            self._perform_on_helper(call)

    @staticmethod
    def _result(call: _DriverCall[T], interrupts: _Interrupts) -> T:
        if interrupts.seen:
            call.forget()
            raise KeyboardInterrupt
        assert call.task is not None
        return call.task.result()

    def _perform(self, call: _DriverCall[Any]) -> None:
        """Returns when the call is done. Raises an interrupt that came twice, or out of the call itself."""
        try:
            with self._lock:
                if self._closed:
                    raise FailedPreconditionError("The session is closed.")
                if self._driver is None:
                    self._driver = call
                else:
                    call.awake = threading.Event()
                    self._waiting.append(call)
            if call.awake is None:
                call.task = self._loop.create_task(call.start())
                self._drive(call)
            else:
                self._loop.call_soon_threadsafe(call.submit, self._loop)
                self._follow(call)
        finally:
            self._leave(call)

    def _drive(self, call: _DriverCall[Any]) -> None:
        """Runs the loop until the call is done."""
        loop = self._loop
        while call.task is None:  # `submit` is on its way
            loop.call_soon(loop.stop)
            loop.run_forever()
        if call.done:  # by the thread that drove before; a stop would be left over for the next driver
            return
        call.task.add_done_callback(self._stop)
        interrupted = False
        while not call.done:
            try:
                loop.run_forever()
            except (KeyboardInterrupt, SystemExit) as error:
                if self._is_of_another(error, call):
                    continue
                if interrupted or call.done:
                    call.forget()
                    raise
                interrupted = True
                call.cancel()
        if interrupted:
            call.forget()
            raise KeyboardInterrupt

    def _stop(self, _: asyncio.Task[Any]) -> None:
        self._loop.stop()

    def _is_of_another(self, error: BaseException, call: _DriverCall[Any]) -> bool:
        """Whether `error` came out of the call of a thread that waits, to whom it goes."""
        with self._lock:
            tasks = [other.task for other in self._waiting if other is not call and other.done]
        return any(t is not None and not t.cancelled() and t.exception() is error for t in tasks)

    def _follow(self, call: _DriverCall[Any]) -> None:
        """Waits until another thread has driven the call to its end, or leaves the loop to us."""
        assert call.awake is not None
        while not call.done:
            with self._lock:
                if self._driver is None:
                    self._driver = call
                    self._waiting.remove(call)
            if self._driver is call:
                self._drive(call)
            else:
                call.awake.wait()
                call.awake.clear()

    def _leave(self, call: _DriverCall[Any]) -> None:
        """Lets the next thread drive."""
        with self._lock:
            if call in self._waiting:
                self._waiting.remove(call)
            if self._driver is call:
                self._driver = None
            if self._driver is None:
                if self._waiting:
                    self._waiting[0].awake.set()  # type: ignore[union-attr]
                elif self._closed:
                    self._idle.notify_all()

    def _perform_on_helper(self, call: _DriverCall[Any]) -> None:
        """Performs the call on a thread of its own, because this thread is inside another event loop."""
        failure: list[BaseException] = []
        context = copy_context()

        def work() -> None:
            try:
                context.run(self._perform, call)
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=work, name="actorflow blocking call", daemon=True)
        thread.start()
        try:
            thread.join()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(call.cancel)
            thread.join()
            raise
        if failure:
            raise failure[0]

    def close(self, *, wait: bool = True) -> None:
        """Closes the loop when all calls have ended; later calls are refused. A second call does nothing, nor does a copy's."""
        if self.is_of_parent:
            return
        with self._lock:
            if self._closed or self._driver is not None and not wait:
                return
            self._closed = True
            while self._driver is not None or self._waiting:
                self._idle.wait()
        self._loop.close()


async def _begun(first: Callable[[], StepResult[T]]) -> T:
    return await first()  # within the loop, as `first` needs it


async def _awaited(result: StepResult[T]) -> T:
    return await result
