"""`blocking.Session`: the same session without `await`, for scripts and plain prompts.

A private event loop belongs to the session. The thread that calls drives it while it waits, so a call costs no hop to
another thread; when several threads call at once, one of them drives and serves the others, and hands over when its own
call is done. A caller that is inside an event loop already (a notebook's cell) can't drive a second one; a helper thread
does it for him.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from actorflow.errors import FailedPreconditionError
from actorflow.graph.graph import Graph
from actorflow.session import session as asynchronous
from actorflow.session.callable import Callable_
from actorflow.session.partial import PartialRun

T = TypeVar("T")


class LoopDriver:
    """An event loop that its callers drive in turn."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._waiting: list[threading.Event] = []
        self._driving = False
        self._closed = False

    def call(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs `start()` to its end on the loop. KeyboardInterrupt cancels it, waits for it, and is raised."""
        if asyncio._get_running_loop() is not None:
            return self._call_from_loop(start)
        with self._lock:
            leads = not self._driving
            self._driving = True
        if leads:
            try:
                return self._drive(start())
            finally:
                self._hand_over()
        return self._follow(start)

    def _drive(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except KeyboardInterrupt:
            if not task.done():
                task.cancel()
                try:
                    self._loop.run_until_complete(task)
                except asyncio.CancelledError:
                    pass
            raise

    def _follow(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Another thread drives: it runs the call too, unless it ends first and leaves the loop to us."""
        awake = threading.Event()
        task: asyncio.Task[T] | None = None

        def submit() -> None:
            nonlocal task
            task = self._loop.create_task(start())
            task.add_done_callback(lambda _: awake.set())

        with self._lock:
            self._waiting.append(awake)
        self._loop.call_soon_threadsafe(submit)
        while True:
            with self._lock:
                leads = not self._driving
                if leads:
                    self._driving = True
                    self._waiting.remove(awake)
            if leads:
                break
            awake.wait()
            awake.clear()
            if task is not None and task.done():
                with self._lock:
                    if awake in self._waiting:
                        self._waiting.remove(awake)
                return task.result()
        try:
            while task is None:
                self._loop.run_until_complete(asyncio.sleep(0))
            return self._loop.run_until_complete(task)
        finally:
            self._hand_over()

    def _hand_over(self) -> None:
        with self._lock:
            self._driving = False
            if self._waiting:
                self._waiting[0].set()

    def _call_from_loop(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        result: list[T] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                result.append(self.call(start))
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=work, name="actorflow blocking call")
        thread.start()
        thread.join()
        if failure:
            raise failure[0]
        return result[0]

    def close(self) -> None:
        """Closes the loop. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._loop.close()


class Session:
    """`actorflow.Session` for code without `await`; the arguments and methods are the same. Threads may share it.

    with af.blocking.Session(graph=g) as session:
        loss = session.run(loss_t, {x: batch})
    """

    def __init__(self, target: str = "", graph: Graph | None = None, **options: Any) -> None:
        self._session = asynchronous.Session(target, graph, **options)
        self._driver = LoopDriver()
        self._closed = False

    @property
    def graph(self) -> Graph:
        return self._session.graph

    def run(self, fetches: Any, feeds: Mapping[Any, Any] | None = None, **options: Any) -> Any:
        """See `actorflow.Session.run`."""
        return self._call(lambda: self._session.run(fetches, feeds, **options))

    def make_callable(self, fetches: Any, feed_list: Sequence[Any] = ()) -> Callable[..., Any]:
        """See `actorflow.Session.make_callable`; the result is a plain function."""
        call: Callable_ = self._call(lambda: self._session.make_callable(fetches, feed_list))
        return lambda *values: self._call(lambda: call(*values))

    def warmup(self, fetches: Any, feeds: Sequence[Any] | Mapping[Any, Any] = ()) -> None:
        """See `actorflow.Session.warmup`."""
        self._call(lambda: self._session.warmup(fetches, feeds))

    def extend(self, graph: Graph | bytes | None = None) -> int:
        """See `actorflow.Session.extend`."""
        return self._call(lambda: self._session.extend(graph))

    def partial_run_setup(self, fetches: Any, feeds: Sequence[Any] = ()) -> PartialRun:
        """See `actorflow.Session.partial_run_setup`."""
        return self._call(lambda: self._session.partial_run_setup(fetches, feeds))

    def partial_run(self, handle: PartialRun, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """See `actorflow.Session.partial_run`."""
        return self._call(lambda: self._session.partial_run(handle, fetches, feeds))

    def close(self) -> None:
        """Ends the session and its loop. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._driver.call(self._session.close)
            self._driver.close()

    reset = staticmethod(asynchronous.Session.reset)

    def pending(self) -> str:
        """See `actorflow.Session.pending`."""
        return self._session.pending()

    def statistics(self) -> asynchronous.SessionStatistics:
        """See `actorflow.Session.statistics`."""
        return self._session.statistics()

    def list_devices(self) -> list[Any]:
        """See `actorflow.Session.list_devices`."""
        return self._session.list_devices()

    def _call(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._closed:
            raise FailedPreconditionError(
                "The session is closed.", hint="Open another one: with af.blocking.Session(graph=graph) as session: ..."
            )
        return self._driver.call(start)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not self._driver._closed:
            self._driver.close()

    def __repr__(self) -> str:
        return f"<blocking {self._session!r}>"
