"""`Batcher`: requests that wait together go through one step together.

Nothing waits while nothing runs: a request that comes to an idle model runs at once, with those that came in the same turn of
the event loop. While steps run, others gather. A batch starts when there is room for a step, and it is full or its first request
has waited for `max_delay`. A request that was given up in the queue is never run. A request that is given up in a batch that
runs disturbs no other request; a step is stopped when all of its requests are given up. A batch that fails is run again request
by request, so that each request has its own error; but if time, memory or a machine is missing, all of them fail at once.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import anyio

from actorflow.engine.batching.rows import Batching, RequestBatch
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.errors import (
    DeadlineExceededError,
    Overloaded,
    ResourceExhaustedError,
    UnavailableError,
)

_OF_NO_REQUEST = (UnavailableError, DeadlineExceededError, ResourceExhaustedError)
"""Errors that are no fault of one request in a batch."""

_CLOCK = 1e-3
"""Seconds by which the loop's timers may come too early."""

Run = Callable[[tuple[Any, ...], list[Any], float | None], StepResult[list[Any]]]
"""Runs a step, for a key, with arrays, within seconds. The result is its outputs."""

Done = Callable[["Sequence[Any] | None", "Exception | None"], None]
"""Is called with the outputs of a request, or with its error."""


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request that waits, or runs. `done` is None when it was answered or given up."""

    batcher: Batcher
    key: tuple[Any, ...]
    arrays: list[Any]
    rows: int
    deadline: float | None
    since: float
    done: Done | None
    step: _Step | None = None

    def settle(self, outputs: Sequence[Any] | None, error: Exception | None) -> None:
        """Calls `done`, unless it was answered or given up."""
        done, self.done = self.done, None
        if done is not None:
            done(outputs, error)


@dataclass(slots=True, eq=False)
class _Step:
    """A step that runs, its requests, and what stops it."""

    requests: list[PendingRequest]
    begun: float
    scope: anyio.CancelScope | None = None

    @property
    def live(self) -> list[PendingRequest]:
        """The requests that someone waits for."""
        return [request for request in self.requests if request.done is not None]


class Batcher:
    """The queue of one model.

    Args:
        run: runs one step.
        batching: sizes and bounds.
        observe: called with the rows of each step that ran.
    """

    def __init__(self, run: Run, batching: Batching, observe: Callable[[int], None] = lambda rows: None) -> None:
        self._run, self._batching, self._observe = run, batching, observe
        self._queues: dict[tuple[Any, ...], deque[PendingRequest]] = {}
        self._steps: set[_Step] = set()
        self._waiting = 0
        self._seconds = 0.0  # of a request, measured: the time between the ends of steps, by their requests
        self._tasks = BackgroundTasks()
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        """The time by which deadlines are."""
        self._timer: asyncio.TimerHandle | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._next_deadline = math.inf
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

    def begin(
        self, key: tuple[Any, ...], arrays: list[Any], rows: int | None, deadline: float | None, done: Done
    ) -> PendingRequest:
        """Puts a request into the queue.

        Args:
            key: requests of one key may go through one step.
            arrays: the inputs.
            rows: how many rows they have; None for a request that runs alone.
            deadline: the time of the loop at which the answer has no use any more.
            done: is called with the outputs or with an error, never before this returns, and not after `give_up`.

        Raises:
            Overloaded: too many requests wait.
            DeadlineExceededError: the deadline has passed.
            UnavailableError: the model was closed.
        """
        if self._tasks.closed:
            raise UnavailableError("The model was closed.")
        if self._waiting >= self._batching.max_queued:
            raise Overloaded(f"{self._waiting} requests wait already, which is the most.", retry_after=self.retry_after)
        now = self.now()
        if deadline is not None:
            if deadline <= now:
                raise DeadlineExceededError("The request's deadline had passed before it could run.")
            if deadline < self._next_deadline:
                self._set_alarm(deadline)
        if rows is None or rows > self._batching.max_size or not rows:
            key = (*key, object())  # it runs alone
        request = PendingRequest(self, key, arrays, rows or 1, deadline, now, done)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = deque()
        queue.append(request)
        self._waiting += 1
        self.is_idle.clear()
        self._wake()
        return request

    async def submit(
        self, key: tuple[Any, ...], arrays: list[Any], rows: int | None, deadline: float | None
    ) -> Sequence[Any]:
        """`begin` for those who wait in a task: the outputs. Cancelled, this gives the request up.

        Args:
            key: requests of one key may go through one step.
            arrays: the inputs.
            rows: how many rows they have; None for a request that runs alone.
            deadline: the time of the loop at which the answer has no use any more.

        Raises:
            OpError: see `begin`, or the step has failed for this request.
        """
        answer: asyncio.Future[Sequence[Any]] = self._loop.create_future()

        def done(outputs: Sequence[Any] | None, error: Exception | None) -> None:
            if answer.done():
                return  # its task is being cancelled
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(outputs or ())

        request = self.begin(key, arrays, rows, deadline, done)
        try:
            return await answer
        finally:
            self.give_up(request)

    def give_up(self, request: PendingRequest) -> None:
        """No one waits for a request any more. If it waits it never runs, and a step of which all are given up is stopped."""
        if request.done is None:
            return
        request.done = None
        if request.step is not None:
            self._stop_if_alone(request.step)
        else:
            self._forget(request)

    @staticmethod
    def _stop_if_alone(step: _Step) -> None:
        if step.scope is not None and not step.live:
            step.scope.cancel()

    def _forget(self, request: PendingRequest) -> None:
        """Takes a request out of the queue."""
        queue = self._queues[request.key]
        queue.remove(request)
        self._waiting -= 1
        if not queue:
            del self._queues[request.key]
        self._rest()

    def _rest(self) -> None:
        if not self._waiting and not self._steps:
            self.is_idle.set()

    # ---- deadlines

    def _set_alarm(self, deadline: float) -> None:
        """Looks at the deadlines at this time: one timer for all of them, for most requests are answered long before."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._next_deadline = deadline
        self._alarm = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._alarm, self._next_deadline = None, math.inf
        late = self.now() + _CLOCK
        running = [request for step in self._steps for request in step.live]
        for request in [*chain(*self._queues.values()), *running]:
            deadline = request.deadline
            if deadline is None:
                continue
            if deadline > late:
                if deadline < self._next_deadline:
                    self._next_deadline = deadline
                continue
            done = request.done
            self.give_up(request)
            if done is not None:
                done(None, DeadlineExceededError("The request's deadline has passed."))
        if self._next_deadline < math.inf:
            self._set_alarm(self._next_deadline)

    # ---- steps

    def _wake(self) -> None:
        """Looks at the queue at the end of this turn of the loop, so that what comes together goes together."""
        if not self._awake:
            self._awake = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        self._awake = False
        if not self._queues or len(self._steps) >= self._batching.max_steps:
            return
        queue = min(self._queues.values(), key=_since) if len(self._queues) > 1 else next(iter(self._queues.values()))
        if self._steps:
            left = queue[0].since + self._batching.max_delay - self.now()
            if left > 0 and not self._fills(queue):
                if self._timer is None:
                    self._timer = self._loop.call_later(left, self._time)
                return
        self._start(queue)
        self._wake()  # others of the loop have their turn before the next batch

    def _fills(self, queue: deque[PendingRequest]) -> bool:
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

    def _start(self, queue: deque[PendingRequest]) -> None:
        taken = [queue.popleft()]
        rows = taken[0].rows
        while queue and rows + queue[0].rows <= self._batching.max_size:
            taken.append(queue.popleft())
            rows += taken[-1].rows
        if not queue:
            del self._queues[taken[0].key]
        self._waiting -= len(taken)
        step = _Step(taken, time.perf_counter())
        self._steps.add(step)
        for request in taken:
            request.step = step
        waiting = self._begun(step)
        if waiting is None:
            self._end(step)
        else:
            self._tasks.start(self._work(step, waiting))

    def _begun(self, step: _Step) -> Awaitable[object] | None:
        """Runs a step. Gives what is left to wait for; None where all of its requests have their answers."""
        batch = RequestBatch(step.requests, self._batching)
        limits = [request.deadline for request in step.requests]
        left = None if None in limits else max(limits) - self.now()  # type: ignore[type-var,operator]
        try:
            result = self._run(batch.requests[0].key, batch.arrays(), left)
            if result.done:
                self._deliver(step, batch, result.value)
                return None
        except Exception as error:
            return self._failed(step, error)
        return self._waited(step, batch, result)

    def _deliver(self, step: _Step, batch: RequestBatch, outputs: Sequence[Any]) -> None:
        """Gives each request its part of the outputs."""
        divided = batch.divided(outputs)
        self._observe(batch.rows)
        for request, rows in zip(step.requests, divided):
            request.settle(rows, None)

    async def _waited(self, step: _Step, batch: RequestBatch, result: StepResult[list[Any]]) -> None:
        try:
            self._deliver(step, batch, await result)
        except Exception as error:
            if (again := self._failed(step, error)) is not None:
                await again

    def _failed(self, step: _Step, error: Exception) -> Awaitable[object] | None:
        """Gives the error to a single request, or to all if it is the fault of none; else runs each alone."""
        if isinstance(error, TimeoutError) and not isinstance(error, DeadlineExceededError):
            error = DeadlineExceededError("The request's deadline has passed.")
        if len(step.requests) > 1 and not isinstance(error, _OF_NO_REQUEST):
            return self._one_by_one(step)
        for request in step.requests:
            request.settle(None, error)
        return None

    async def _one_by_one(self, step: _Step) -> None:
        """Runs each request of a batch that has failed alone, so that it has its own error."""
        for request in step.live:
            if request.done is not None:
                scope = anyio.CancelScope()
                request.step = _Step([request], step.begun, scope)
                with scope:
                    if (waiting := self._begun(request.step)) is not None:
                        await waiting

    def _end(self, step: _Step) -> None:
        each = (time.perf_counter() - step.begun) / len(step.requests)
        self._seconds = each if not self._seconds else 0.9 * self._seconds + 0.1 * each
        self._steps.remove(step)
        for request in step.requests:  # else each is in a circle with its step, and its arrays stay until that is found
            request.step, request.arrays = None, []
        self._rest()

    async def _work(self, step: _Step, waiting: Awaitable[object]) -> None:
        """Waits for the end of a step."""
        step.scope = (
            anyio.CancelScope()
        )  # here, and not where the step began: AnyIO may ask for the task that it is made in
        self._stop_if_alone(step)
        try:
            with step.scope:
                await waiting
        finally:
            for request in step.live:
                request.settle(None, UnavailableError("The model was closed."))
            self._end(step)
            self._look()

    async def drain(self) -> None:
        """Waits until nothing waits or runs."""
        await self.is_idle.wait()

    async def close(self) -> None:
        """Stops what runs, and ends what waits with UnavailableError."""
        if self._timer is not None:
            self._timer.cancel()
        if self._alarm is not None:
            self._alarm.cancel()
        queues, self._queues, self._waiting = self._queues, {}, 0
        for request in chain(*queues.values()):
            request.settle(None, UnavailableError("The model was closed."))
        self._tasks.closed = True  # for requests that come from now on
        try:
            with anyio.CancelScope(shield=True):
                await asyncio.sleep(0)  # the task of each step begins: cancelled before, it would settle no request
        finally:
            await self._tasks.close()
            self._rest()


def _since(queue: deque[PendingRequest]) -> float:
    return queue[0].since
