"""An event loop that its callers drive: how code without `await` runs coroutines at no cost of a second thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from actorflow.errors import FailedPreconditionError

T = TypeVar("T")
Start = Callable[[], Coroutine[Any, Any, T]]


class _Call(Generic[T]):
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

    def forget(self) -> None:
        """Nobody asks for what came of it."""
        if self.task is not None and self.task.done() and not self.task.cancelled():
            self.task.exception()

    def cancel(self) -> None:
        """Called on the loop."""
        self._cancelled = True
        if self.task is not None:
            self.task.cancel()


class LoopDriver:
    """An event loop that its callers drive in turn. Any number of threads may call at once: one of them drives, and serves
    the others until its own call is done; then the next one drives."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._driver: _Call[Any] | None = None
        self._waiting: list[_Call[Any]] = []
        self._closed = False

    def call(self, start: Start[T]) -> T:
        """Runs `start()` to its end on the loop. KeyboardInterrupt cancels it, waits for its end, and is raised.

        Raises:
            FailedPreconditionError: the loop is closed, or the caller is a kernel that this loop runs.
        """
        running = asyncio._get_running_loop()
        if running is None:
            return self._perform(_Call(start))
        if running is self._loop:
            raise FailedPreconditionError(
                "A session can't be used from inside one of its own kernels: the run would wait for itself.",
                hint="Make what it computes a part of the graph, or use another session there.",
            )
        return self._on_helper(_Call(start))

    def _perform(self, call: _Call[T]) -> T:
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
            assert call.task is not None
            return call.task.result()
        finally:
            self._leave(call)

    def _drive(self, call: _Call[T]) -> None:
        """Runs the loop until the call is done."""
        loop = self._loop
        while call.task is None:  # `submit` is on its way
            loop.run_until_complete(asyncio.sleep(0))
        call.task.add_done_callback(self._stop)
        interrupt: BaseException | None = None
        while not call.done:
            try:
                loop.run_forever()
            except (KeyboardInterrupt, SystemExit) as error:
                if self._is_of_another(error, call):
                    continue
                if interrupt is not None or call.done:
                    call.forget()
                    raise
                interrupt = error
                call.cancel()
        if interrupt is not None:
            call.forget()
            raise interrupt

    def _stop(self, _: asyncio.Task[Any]) -> None:
        self._loop.stop()

    def _is_of_another(self, error: BaseException, call: _Call[T]) -> bool:
        """Whether `error` came out of the call of a thread that waits, to whom it goes."""
        with self._lock:
            tasks = [other.task for other in self._waiting if other is not call and other.done]
        return any(t is not None and not t.cancelled() and t.exception() is error for t in tasks)

    def _follow(self, call: _Call[T]) -> None:
        """Waits until another thread has driven the call to its end, or leaves the loop to us."""
        assert call.awake is not None
        interrupted = False
        while True:
            with self._lock:
                if self._driver is None:
                    self._driver = call
                    self._waiting.remove(call)
            try:
                if self._driver is call:
                    self._drive(call)
                else:
                    call.awake.wait()
                    call.awake.clear()
            except KeyboardInterrupt:
                if interrupted or call.done:
                    raise
                interrupted = True
                self._loop.call_soon_threadsafe(call.cancel)
            if call.done:
                break
        if interrupted:
            call.forget()
            raise KeyboardInterrupt

    def _leave(self, call: _Call[Any]) -> None:
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

    def _on_helper(self, call: _Call[T]) -> T:
        """Performs the call on a thread of its own, because this one is inside another event loop."""
        failure: list[BaseException] = []
        context = copy_context()

        def work() -> None:
            try:
                context.run(self._perform, call)
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=work, name="actorflow blocking call")
        thread.start()
        try:
            thread.join()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(call.cancel)
            thread.join()
            raise
        if failure:
            raise failure[0]
        assert call.task is not None
        return call.task.result()

    def close(self, *, wait: bool = True) -> None:
        """Closes the loop when all calls have ended; later ones are refused. A second call does nothing."""
        with self._lock:
            if self._closed:
                return
            if self._driver is not None and not wait:
                return
            self._closed = True
            while self._driver is not None or self._waiting:
                self._idle.wait()
        self._loop.close()
