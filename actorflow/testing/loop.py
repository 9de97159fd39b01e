"""`VirtualLoop`: an asyncio event loop whose time passes only while nothing is ready. Seconds cost nothing, and are exact.

Without threads and sockets nothing is left to chance: equal programs do equal things in equal order.
"""

from __future__ import annotations

import asyncio
import heapq
import inspect
import itertools
import math
import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


DAY = 86_400.0


MOST_CALLS = 2_000_000


"""The number of callbacks without time passing after which a program is taken for a program that spins."""


_FEW_TIMERS = 64


_MOST_CANCELS = 1000


class Deadlock(AssertionError):
    """Nothing will ever happen again, or nothing but the same forever; the message lists the tasks that wait."""


class Clock:
    """Virtual time in seconds, which event loops may share."""

    __slots__ = ("now",)

    def __init__(self, now: float = 0.0) -> None:
        self.now = now


class VirtualTask(asyncio.Task[Any]):
    """A task that hashes to its number on its loop, so that the order of a set of tasks depends on no address."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.number: int = next(options["loop"].numbers)
        super().__init__(*arguments, **options)

    def __hash__(self) -> int:
        return self.number

    __eq__ = object.__eq__


class VirtualFuture(asyncio.Future[Any]):
    """A future that hashes to its number on its loop."""

    def __init__(self, *, loop: VirtualLoop) -> None:
        self.number = next(loop.numbers)
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number

    __eq__ = object.__eq__


class _Handle(asyncio.Handle):
    """A callback, made with less ado than asyncio's."""

    __slots__ = ()

    def __init__(self, callback: Any, args: Any, loop: VirtualLoop, context: Context | None) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = self._source_traceback = None


class _Timer(asyncio.TimerHandle):
    """A callback at a moment, likewise. `_scheduled` says whether it is among the loop's timers."""

    __slots__ = ()

    def __init__(self, when: float, callback: Any, args: Any, loop: VirtualLoop, context: Context | None) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = self._source_traceback = None
        self._when = when
        self._scheduled = True


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop on virtual time.

    Ready callbacks run in asyncio's order, or with `shuffle` in one drawn from it. If the loop has nothing to do, its
    time jumps to the next timer. Readers, executors' threads and calls from other threads are refused;
    `run_in_executor` runs its function at once.

    Args:
        clock: the time, where several loops share it.
        shuffle: draws which of the ready callbacks is next.
        limit: a program that is not done after this number of virtual seconds is taken for endless.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[tuple[float, int, asyncio.TimerHandle]]
    _timer_cancelled_count: int
    _stopping: bool
    _closed: bool
    _check_closed: Callable[[], None]

    def __init__(self, clock: Clock | None = None, *, shuffle: random.Random | None = None, limit: float = DAY) -> None:
        super().__init__()
        self.clock = clock or Clock()
        self.limit = limit
        self.numbers = itertools.count(1)
        self.calls = 0
        """How many callbacks have run."""
        self.is_halted = False
        """Its process is dead: it runs no further callback before it is buried."""
        self._shuffle = shuffle
        self._batch = 0
        self._calls_at_jump = 0
        self._timers = itertools.count()
        self._thread = threading.get_ident()

    # ---- time and turns

    @property
    def now(self) -> float:
        """The virtual time in seconds."""
        return self.clock.now

    def time(self) -> float:
        return self.clock.now

    @property
    def ready(self) -> deque[asyncio.Handle]:
        """The callbacks that can run now, for callers who look often whether there is any."""
        return self._ready

    def next_timer(self) -> float:
        """The time at which the next timer is due; infinity if there is none."""
        timers = self._scheduled
        while timers:
            when, _, handle = timers[0]
            if not handle._cancelled:
                return when
            self._timer_cancelled_count -= 1
            heapq.heappop(timers)
            handle._scheduled = False  # type: ignore[attr-defined]
        return math.inf

    def follow_generators(self) -> None:
        """Asynchronous generators that begin from now on are its own."""
        sys.set_asyncgen_hooks(self._asyncgen_firstiter_hook, self._asyncgen_finalizer_hook)  # type: ignore[attr-defined]

    def turn(self, calls: int | None = None) -> None:
        """Runs at most `calls` callbacks, or without a number those that are ready, and lets no time pass. The caller
        has called `follow_generators`."""
        # what `run_forever` does, without its checks: turns are short and many
        self._thread_id = self._thread
        asyncio._set_running_loop(self)
        try:
            self._run_ready(len(self._ready) if calls is None else calls)
        finally:
            asyncio._set_running_loop(None)
            self._thread_id = None  # type: ignore[assignment]
        self.ripen()

    def _run_once(self) -> None:
        """The method that asyncio calls again and again."""
        self.ripen()
        if not self._ready and not self._stopping:
            self._jump()
        if self.calls - self._calls_at_jump > MOST_CALLS:
            self._calls_at_jump = self.calls  # the end of the tasks is not refused as well
            raise Deadlock(f"{MOST_CALLS:,} callbacks have run, and no time has passed.\n{waiting(self)}")
        self._run_ready(len(self._ready))

    def _run_ready(self, calls: int) -> None:
        """Runs this number of callbacks. As in asyncio, those that come in a batch run in the next."""
        ready, done = self._ready, 0
        try:
            while calls > 0 and ready and not self.is_halted:
                if self._batch <= 0:
                    self._batch = len(ready)
                count = min(calls, self._batch, len(ready))
                calls -= count
                for left in range(self._batch, self._batch - count, -1):
                    if self._shuffle is not None and len(ready) > 1:
                        ready.rotate(-self._shuffle.randrange(min(left, len(ready))))
                    handle = ready.popleft()
                    if handle._cancelled:
                        continue
                    done += 1
                    try:
                        handle._context.run(handle._callback, *handle._args)  # type: ignore[attr-defined]
                    except (SystemExit, KeyboardInterrupt):
                        raise
                    except BaseException as error:
                        self._report(handle, error)
                    if self.is_halted:
                        return
                self._batch -= count
        finally:
            self.calls += done

    def _report(self, handle: asyncio.Handle, error: BaseException) -> None:
        self.call_exception_handler(
            {"message": f"A callback has failed: {handle!r}", "exception": error, "handle": handle}
        )

    def ripen(self) -> None:
        """Timers that are due become ready."""
        timers, now = self._scheduled, self.clock.now
        while timers and timers[0][0] <= now:
            handle: Any = heapq.heappop(timers)[2]
            handle._scheduled = False
            if handle._cancelled:
                self._timer_cancelled_count -= 1
            else:
                self._ready.append(handle)

    def _jump(self) -> None:
        when = self.next_timer()
        if when == math.inf:
            raise Deadlock(f"Nothing is ready, no timer runs, and the program is not done.\n{waiting(self)}")
        self.clock.now = max(when, self.clock.now)
        self.ripen()
        self._calls_at_jump = self.calls
        if self.clock.now > self.limit:
            limit, self.limit = self.limit, math.inf
            raise Deadlock(f"The program is not done after {limit:g} virtual seconds.\n{waiting(self)}")

    # ---- callbacks

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        if self._closed:
            self._check_closed()
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if self._closed:
            self._check_closed()
        handle = _Timer(when, callback, args, self, context)
        heapq.heappush(self._scheduled, (when, next(self._timers), handle))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.clock.now + delay, callback, *args, context=context)

    def _timer_handle_cancelled(self, handle: Any) -> None:
        """Timers that were cancelled stay among the others, until they are too many."""
        if not handle._scheduled:
            return
        self._timer_cancelled_count += 1
        if self._timer_cancelled_count > _FEW_TIMERS and self._timer_cancelled_count * 2 > len(self._scheduled):
            handle._cancelled = True
            for *_, other in self._scheduled:
                other._scheduled = not other._cancelled  # type: ignore[attr-defined]
            self._scheduled = [entry for entry in self._scheduled if entry[2]._scheduled]  # type: ignore[attr-defined]
            heapq.heapify(self._scheduled)
            self._timer_cancelled_count = 0

    # ---- tasks

    def begin(self, work: Coroutine[Any, Any, T], context: Context) -> asyncio.Task[T]:
        """A task of `work` in `context`."""
        return VirtualTask(work, loop=self, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return VirtualFuture(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, **options: Any) -> asyncio.Task[Any]:  # type: ignore[override]
        if self._closed:
            self._check_closed()
        return VirtualTask(coro, loop=self, name=name, **options)

    def tasks(self) -> list[asyncio.Task[Any]]:
        """Its unfinished tasks, oldest first."""
        return sorted(asyncio.all_tasks(self), key=hash)

    def bury(self) -> None:
        """Ends all tasks by cancelling them, on a time of the loop's own, and closes the loop. Raises Deadlock if a
        task does not end."""
        self.is_halted = False
        self.follow_generators()
        self.clock = Clock(self.clock.now)
        self.limit = self.clock.now + DAY
        self.set_exception_handler(lambda loop, context: None)
        self._batch, self._calls_at_jump = 0, self.calls
        for *_, handle in list(self._scheduled):
            handle.cancel()
        for _ in range(_MOST_CANCELS):
            tasks = self.tasks()
            for task in tasks:
                _close_unstarted(task)
                task.cancel()
            self.turn()
            while self.clock.now < self.next_timer() < math.inf and not self._ready and self.tasks():
                self._jump()  # to what a task waits for, in its end
                self.turn()
            if not self._ready and not self.tasks():
                break
        else:
            left = waiting(self)
            for task in self.tasks():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
            self.close()
            raise Deadlock(f"These tasks go on although they were cancelled {_MOST_CANCELS} times.\n{left}")
        self.run_until_complete(self.shutdown_asyncgens())
        self.close()

    # ---- what there is not

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """Calls the function now; the future is done."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
        if threading.get_ident() != self._thread:
            raise RuntimeError(f"The thread {threading.current_thread().name!r} calls into a loop on virtual time.")
        return self.call_soon(callback, *args, context=context)

    def _write_to_self(self) -> None:
        pass

    def _process_events(self, events: object) -> None:
        pass

    def _refuse(self, *arguments: Any, **options: Any) -> NoReturn:
        raise RuntimeError("A loop on virtual time has no sockets, pipes or processes: use a simulated transport.")

    add_reader = add_writer = remove_reader = remove_writer = _refuse  # type: ignore[assignment]
    getaddrinfo = getnameinfo = create_connection = create_server = create_datagram_endpoint = _refuse
    subprocess_exec = subprocess_shell = connect_read_pipe = connect_write_pipe = _refuse
    sock_recv = sock_recv_into = sock_sendall = sock_connect = sock_accept = _refuse


def _close_unstarted(task: asyncio.Task[Any]) -> None:
    """anyio runs a coroutine within another. If that is cancelled before it starts, the inner coroutine is never awaited."""
    outer = task.get_coro()
    if inspect.iscoroutine(outer) and inspect.getcoroutinestate(outer) == inspect.CORO_CREATED:
        frame: Any = outer.cr_frame
        for value in frame.f_locals.values():
            inner = getattr(value, "_coro", value)
            if isinstance(inner, Coroutine):
                inner.close()


def waiting(*loops: VirtualLoop) -> str:
    """A line for each unfinished task: its name, its coroutine, and the line on which it waits."""
    lines = [f"  {say(task)}" for loop in loops if not loop.is_closed() for task in loop.tasks()]
    return "\n".join(["Tasks that wait:", *(lines or ["  none"])])


def say(task: asyncio.Task[Any]) -> str:
    """A task in one line: its name, its coroutine, and the innermost line of its own on which it waits."""
    inner: Any = task.get_coro()
    names, where = [], "its end"
    while inner is not None:
        frame = getattr(inner, "cr_frame", None) or getattr(inner, "gi_frame", None)
        if frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] not in ("anyio", "asyncio"):
            names.append(inner.__qualname__)
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        inner = getattr(inner, "cr_await", None) or getattr(inner, "gi_yieldfrom", None)
    return f"{task.get_name()} {' > '.join(names)} at {where}"
