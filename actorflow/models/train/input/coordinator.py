"""`Coordinator`: lets threads, or tasks, that work together end together (`tf.train.Coordinator`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType
from typing import Any, NoReturn

import anyio
import anyio.abc

from actorflow.base.process import forks
from actorflow.base.unpicklable import unpicklable
from actorflow.errors import OutOfRangeError
from actorflow.public import public

GRACE = 120.0
_LOOK = 0.05  # seconds between two looks at threads that end without a stop


@public("af.train")
class Coordinator:
    """A stop that is asked for once and seen by all, and the first error that any of them reports.

    With tasks and async sessions it is a block; with threads and blocking sessions, a loop `while not coord.should_stop()` hands
    its exception to `request_stop`, and `join(threads)` ends it. The end of the block asks all tasks to stop, waits for
    them, and raises the first error. An `OutOfRangeError`, the end of the input, is no error but a reason to stop, in
    the block too.

    Example:
        >>> number = af.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
        >>> await session.run(af.local_variables_initializer())
        >>> async with af.train.Coordinator() as coord:
        ...     loops = af.train.start_queue_runners(session, coord)
        ...     for _ in range(3):
        ...         print(await session.run(number))
        ...     coord.request_stop()
        0
        1
        2
    """

    __reduce_ex__ = unpicklable(
        "A coordinator is not pickled: the threads and tasks that it waits for belong to this process."
    )

    def __init__(
        self,
        clean_stop_exception_types: tuple[type[BaseException], ...] | None = None,
        *,
        stop_grace_period_secs: float = GRACE,
    ) -> None:
        """`clean_stop_exception_types` stop all without being errors: `OutOfRangeError` unless given.
        `stop_grace_period_secs` is how long the end of an `async with` waits."""
        self._clean = (OutOfRangeError,) if clean_stop_exception_types is None else tuple(clean_stop_exception_types)
        self._grace = stop_grace_period_secs
        self._lock = forks.new_lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered: set[threading.Thread] = set()
        self._on_stop: dict[object, Callable[[], None]] = {}
        self._group: anyio.abc.TaskGroup | None = None
        self._running: dict[object, str] = {}

    # ---- the stop

    def should_stop(self) -> bool:
        """Whether a stop was asked for.

        Example:
            >>> coord = af.train.Coordinator()
            >>> coord.should_stop()
            False
            >>> coord.request_stop()
            >>> coord.should_stop()
            True
        """
        return self._stop.is_set()

    def request_stop(self, ex: Any = None) -> None:
        """Asks all to stop. The first exception given (or a tuple of `sys.exc_info()`) is raised at the join.

        Raises:
            Exception: `ex` itself, after the join: no one else would report it.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if isinstance(error, self._clean):
            error = None
        with self._lock:
            if self._joined and error is not None:
                raise error
            if not self._stop.is_set() and error is not None:
                self._error = error
            self._stop.set()
            wake, self._on_stop = list(self._on_stop.values()), {}
        for call in wake:
            call()

    def clear_stop(self) -> None:
        """Forgets the stop and its error, so that the coordinator can be used again.

        Example:
            >>> coord = af.train.Coordinator()
            >>> coord.request_stop()
            >>> coord.clear_stop()
            >>> coord.should_stop()
            False
        """
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """An exception inside the block asks for a stop and goes no further: it is raised where all are joined.

        Example:
            >>> coord = af.train.Coordinator()
            >>> with coord.stop_on_exception():
            ...     raise ValueError("no such file")
            >>> coord.should_stop()
            True
        """
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def raise_requested_exception(self) -> None:
        """Raises the exception that was given to `request_stop`, if any.

        Example:
            >>> coord = af.train.Coordinator()
            >>> with coord.stop_on_exception():
            ...     raise ValueError("no such file")
            >>> coord.raise_requested_exception()
            Traceback (most recent call last):
                ...
            ValueError: no such file
        """
        if self._error is not None:
            raise self._error

    @property
    def requested_exception(self) -> BaseException | None:
        """The exception that was given to `request_stop`, or None."""
        return self._error

    @property
    def joined(self) -> bool:
        """Whether `join`, or the end of an `async with`, is over."""
        return self._joined

    # ---- threads

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Blocks until a stop is asked for, `timeout` seconds at most. Says whether it was.

        Example:
            >>> coord = af.train.Coordinator()
            >>> coord.wait_for_stop(timeout=0.001)
            False
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """`join` waits for this thread too.

        Example:
            >>> import threading
            >>> coord = af.train.Coordinator()
            >>> thread = threading.Thread(target=coord.request_stop)
            >>> coord.register_thread(thread)
            >>> thread.start()
            >>> coord.join()
            >>> thread.is_alive()
            False
        """
        with self._lock:
            self._registered.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = GRACE,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads have ended.

        Example:
            >>> import threading
            >>> coord = af.train.Coordinator()
            >>> threads = [threading.Thread(target=coord.request_stop) for _ in range(2)]
            >>> for thread in threads:
            ...     thread.start()
            >>> coord.join(threads)

        Args:
            threads: the threads to wait for, beside those that are registered.
            stop_grace_period_secs: how many seconds the threads have to end once a stop is asked for.
            ignore_live_threads: whether to return, instead of raising, when threads are left after that.

        Raises:
            Exception: the exception that was given to `request_stop`.
            RuntimeError: threads are left after the grace period; it names them.
        """
        with self._lock:
            waited = list(self._registered | set(threads or ()))
        for thread in waited:
            while thread.is_alive() and not self._stop.is_set():
                thread.join(_LOOK)
        deadline = monotonic() + stop_grace_period_secs
        for thread in waited:
            thread.join(max(0.0, deadline - monotonic()))
        with self._lock:
            self._joined = True
            self._registered = set()
        self.raise_requested_exception()
        left = [thread.name for thread in waited if thread.is_alive()]
        if left and not ignore_live_threads:
            _refuse(left)

    # ---- tasks

    async def stopped(self) -> None:
        """Returns when a stop is asked for, from whatever thread.

        Example:
            >>> coord = af.train.Coordinator()
            >>> coord.request_stop()
            >>> await coord.stopped()
        """
        loop = asyncio.get_running_loop()
        event = asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:  # the loop is closed: no one waits there any more
                pass

        with self._lock:
            if self._stop.is_set():
                return
            self._on_stop[event] = wake
        try:
            await event.wait()
        finally:
            with self._lock:
                self._on_stop.pop(event, None)

    def start_soon(self, work: Callable[..., Awaitable[Any]], *args: Any, name: str | None = None) -> None:
        """Starts `work(*args)` as a task of the `async with` block. An error of it stops all, and is raised at its end.

        Example:
            >>> async def count(n):
            ...     print(n)
            >>> async with af.train.Coordinator() as coord:
            ...     coord.start_soon(count, 3)
            3

        Raises:
            RuntimeError: the coordinator is not entered.
        """
        if self._group is None:
            raise RuntimeError(
                "Tasks belong to the block of a coordinator: async with af.train.Coordinator() as coord: ..."
            )
        key = object()
        self._running[key] = name or str(getattr(work, "__qualname__", work))
        self._group.start_soon(self._work, key, work, args)

    async def _work(self, key: object, work: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> None:
        try:
            with self.stop_on_exception():
                await work(*args)
        finally:
            del self._running[key]
            if not self._running:
                self._idle.set()

    async def __aenter__(self) -> Coordinator:
        if self._group is not None:
            raise RuntimeError("The coordinator is entered already.")
        group = anyio.create_task_group()
        await group.__aenter__()
        self._group = group
        self._idle = anyio.Event()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        assert self._group is not None
        group = self._group
        left: list[str] = []
        self.request_stop(error if isinstance(error, Exception) else None)
        cancelled = error is not None and not isinstance(error, Exception)
        if not cancelled:
            group.start_soon(self._limit, group.cancel_scope, left)
        try:
            swallowed = await group.__aexit__(kind if cancelled else None, error if cancelled else None, trace)
        finally:
            self._group = None
            with self._lock:
                self._joined = True
        if cancelled:
            return bool(swallowed)
        self.raise_requested_exception()
        if left:
            _refuse(left)
        return True

    async def _limit(self, scope: anyio.CancelScope, left: list[str]) -> None:
        """Waits for the other tasks; cancels those that are left after the grace."""
        with anyio.move_on_after(self._grace):
            while self._running:
                self._idle = anyio.Event()
                await self._idle.wait()
        left.extend(self._running.values())
        scope.cancel()


def _refuse(left: Iterable[str]) -> NoReturn:
    raise RuntimeError(f"Coordinator stopped with threads or tasks still running: {' '.join(left)}")
