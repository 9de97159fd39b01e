"""`Batcher`: requests that wait together go through one step together.

Nothing waits while nothing runs: a request that comes to an idle model runs at once, with those that came in the same turn of
the event loop. While steps run, others gather. A batch starts when there is room for a step, and it is full or its first request
has waited for `max_delay`. A request that was given up in the queue is never run. One that is given up in a batch that runs
disturbs no other; a step is stopped when all of its requests are given up. A batch that fails is run again request by request,
so that each one has its own error; but where time, memory or a machine is missing all of them fail at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import numpy as np

from actorflow.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    Overloaded,
    ResourceExhaustedError,
    UnavailableError,
)
from actorflow.public import public
from actorflow.runtime.event_loops.background_tasks import BackgroundTasks

_OF_NO_REQUEST = (UnavailableError, DeadlineExceededError, ResourceExhaustedError)
"""Errors that are no fault of one request in a batch."""

Run = Callable[[tuple[Any, ...], list[Any], float | None], Awaitable[Sequence[Any]]]
"""Runs one step: for a key, with arrays, within seconds."""


@public("af.serving")
@dataclass(frozen=True, slots=True)
class Batching:
    """How requests are put together.

    Example:
        >>> batching = af.serving.Batching(max_size=8, max_delay=0.001, sizes=(1, 4, 8))
        >>> batching.max_size
        8

    Args:
        max_size: the most rows of a step. A request with more rows runs alone.
        max_delay: how long a request waits for others while a step runs and there is room for another, in seconds: it tells
            nothing where `max_steps` is 1.
        max_queued: the most requests that wait; more are refused with `errors.Overloaded`.
        max_steps: how many steps run at a time.
        sizes: the numbers of rows that a step may have, increasing: a batch is padded with copies of its last row. Any
            number up to `max_size` unless given.

    Raises:
        ValueError: a number is not positive, or the sizes are not increasing up to `max_size`.
    """

    max_size: int = 32
    max_delay: float = 0.002
    max_queued: int = 1024
    max_steps: int = 1
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if min(self.max_size, self.max_queued, self.max_steps) < 1 or self.max_delay < 0:
            raise ValueError(f"The numbers of {self} have to be positive.")
        if self.sizes and (list(self.sizes) != sorted(set(self.sizes)) or self.sizes[-1] != self.max_size):
            raise ValueError(f"sizes has to increase and to end with max_size={self.max_size}, but it is {self.sizes}.")

    def padded(self, rows: int) -> int:
        """The number of rows that a step for `rows` has."""
        return next((size for size in self.sizes if size >= rows), rows)


@dataclass(slots=True, eq=False)
class _Request:
    """A request that waits, or runs."""

    key: tuple[Any, ...]
    arrays: list[Any]
    rows: int
    deadline: float | None
    since: float
    answer: asyncio.Future[Any]
    is_taken: bool = False
    step: _Step | None = None

    def given_up(self, _: asyncio.Future[Any]) -> None:
        """Called when the answer is there, or no one waits for it any more."""
        if self.step is not None:
            self.step.left -= 1
            if not self.step.left:
                self.step.scope.cancel()


@dataclass(slots=True, eq=False)
class _Step:
    """A step that runs: how many wait for it, and what stops it."""

    left: int
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Batcher:
    """The queue of one model.

    Args:
        run: runs one step.
        batching: sizes and bounds.
        observe: called with the rows of each step that ran.
    """

    def __init__(self, run: Run, batching: Batching, observe: Callable[[int], None] = lambda rows: None) -> None:
        self._run, self._batching, self._observe = run, batching, observe
        self._queues: dict[tuple[Any, ...], deque[_Request]] = {}
        self._waiting = self._running = 0
        self._steps: dict[tuple[Any, ...], int] = {}
        self._seconds = 0.0  # of a request, measured: the time between the ends of steps, by their requests
        self._tasks = BackgroundTasks()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._awake = False
        self.is_idle = asyncio.Event()
        self.is_idle.set()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._waiting

    @property
    def retry_after(self) -> float:
        """How long the requests that wait will take, in seconds, by those that were answered."""
        return max(0.05, self._waiting * self._seconds)

    async def submit(
        self, key: tuple[Any, ...], arrays: list[Any], rows: int | None, deadline: float | None
    ) -> Sequence[Any]:
        """The outputs for a request.

        Args:
            key: requests of one key may go through one step.
            arrays: the inputs.
            rows: how many rows they have; None for a request that runs alone.
            deadline: the time of the loop at which the answer has no use any more.

        Raises:
            Overloaded: too many requests wait.
            DeadlineExceededError: the deadline has passed.
            OpError: the step has failed for this request.
        """
        if self._tasks.closed:
            raise UnavailableError("The model was closed.")
        if self._waiting >= self._batching.max_queued:
            raise Overloaded(f"{self._waiting} requests wait already, which is the most.", retry_after=self.retry_after)
        now = self._loop.time()
        if deadline is not None and deadline <= now:
            raise DeadlineExceededError("The request's deadline had passed before it could run.")
        alone = rows is None or rows > self._batching.max_size or not rows
        request = _Request(
            (*key, object()) if alone else key, arrays, rows or 1, deadline, now, self._loop.create_future()
        )
        self._queues.setdefault(request.key, deque()).append(request)
        self._waiting += 1
        self.is_idle.clear()
        self._wake()
        timer = None if deadline is None else self._loop.call_at(deadline, _expire, request)
        try:
            found: Sequence[Any] = await request.answer
            return found
        finally:
            if timer is not None:
                timer.cancel()
            request.given_up(request.answer)
            if not request.is_taken:
                self._forget(request)

    def _forget(self, request: _Request) -> None:
        """Takes a request that was given up out of the queue."""
        queue = self._queues.get(request.key)
        if queue is not None and request in queue:
            queue.remove(request)
            self._waiting -= 1
            if not queue:
                del self._queues[request.key]
            self._rest()

    def _rest(self) -> None:
        if not self._waiting and not self._running:
            self.is_idle.set()

    def _wake(self) -> None:
        """Looks at the queue at the end of this turn of the loop, so that what comes together goes together."""
        if not self._awake:
            self._awake = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        self._awake = False
        while self._queues and self._running < self._batching.max_steps:
            queue = min(self._queues.values(), key=lambda q: q[0].since)
            if self._running:
                left = queue[0].since + self._batching.max_delay - self._loop.time()
                if left > 0 and not self._fills(queue):
                    if self._timer is None:
                        self._timer = self._loop.call_later(left, self._time)
                    return
            self._start(queue)

    def _fills(self, queue: deque[_Request]) -> bool:
        """Whether a queue has the rows of a whole batch."""
        rows = 0
        for request in queue:
            rows += request.rows
            if rows >= self._batching.max_size:
                return True
        return False

    def _time(self) -> None:
        self._timer = None
        self._look()

    def _start(self, queue: deque[_Request]) -> None:
        taken, rows = [queue.popleft()], 0
        rows = taken[0].rows
        while queue and rows + queue[0].rows <= self._batching.max_size:
            taken.append(queue.popleft())
            rows += taken[-1].rows
        if not queue:
            del self._queues[taken[0].key]
        self._waiting -= len(taken)
        self._running += 1
        for request in taken:
            request.is_taken = True
        self._tasks.start(self._work(taken))

    async def _work(self, taken: list[_Request]) -> None:
        begun = time.perf_counter()
        try:
            await self._answer(taken)
        finally:
            for request in taken:
                _fail(request, UnavailableError("The model was closed."))
            each = (time.perf_counter() - begun) / len(taken)
            self._seconds = each if not self._seconds else 0.9 * self._seconds + 0.1 * each
            self._running -= 1
            self._rest()
            self._look()

    async def _answer(self, taken: list[_Request]) -> None:
        live = [request for request in taken if not request.answer.done()]
        if not live:
            return
        step = _Step(len(live))
        for request in live:
            request.step = step
        try:
            with step.scope:
                outputs = await self._together(live)
        except Exception as error:
            if isinstance(error, TimeoutError) and not isinstance(error, DeadlineExceededError):
                error = DeadlineExceededError("The request's deadline has passed.")
            if len(live) == 1 or isinstance(error, _OF_NO_REQUEST):
                for request in live:
                    _fail(request, error)
                return
            for request in live:
                request.step = None
            for request in live:
                await self._answer([request])
            return
        if step.scope.cancelled_caught:
            return
        for request, found in zip(live, outputs, strict=True):
            if not request.answer.done():
                request.answer.set_result(found)

    async def _together(self, live: list[_Request]) -> list[Sequence[Any]]:
        """One step for several requests, and what of it belongs to each."""
        first = live[0]
        rows = sum(request.rows for request in live)
        alone = len(live) == 1
        size = rows if alone and first.key and type(first.key[-1]) is object else self._batching.padded(rows)
        if alone and size == rows:
            arrays = first.arrays
        else:
            arrays = [_joined(several, size) for several in zip(*(request.arrays for request in live))]
        limits = [request.deadline for request in live]
        left = None if None in limits else max(limits) - self._loop.time()  # type: ignore[type-var,operator]
        outputs = await self._run(first.key, arrays, left)
        self._observe(rows)
        if alone and size == rows:
            return [outputs]
        for value in outputs:
            if not np.ndim(value) or value.shape[0] != size:
                raise InvalidArgumentError("An output has no row for each row of the inputs, so no step can be padded.")
        at = 0
        found: list[Sequence[Any]] = []
        for request in live:
            found.append([value[at : at + request.rows] for value in outputs])
            at += request.rows
        return found

    async def drain(self) -> None:
        """Waits until nothing waits or runs."""
        await self.is_idle.wait()

    async def close(self) -> None:
        """Stops what runs, and ends what waits with UnavailableError."""
        if self._timer is not None:
            self._timer.cancel()
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            for request in queue:
                _fail(request, UnavailableError("The model was closed."))
        await self._tasks.close()
        self._waiting = 0
        self._rest()


def _joined(several: Sequence[Any], size: int) -> Any:
    made = np.concatenate(several) if len(several) > 1 else several[0]
    missing = size - made.shape[0]
    return np.concatenate([made, np.repeat(made[-1:], missing, axis=0)]) if missing > 0 else made


def _expire(request: _Request) -> None:
    _fail(request, DeadlineExceededError("The request's deadline has passed."))


def _fail(request: _Request, error: Exception) -> None:
    if not request.answer.done():
        request.answer.set_exception(error)
