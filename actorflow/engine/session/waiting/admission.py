"""Admission: how many steps run at once, how many wait for their turn or for something else, and the refusal of more."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from actorflow.engine.session.waiting.deadline import note
from actorflow.errors import FailedPreconditionError, Overloaded, with_topic


class Admission:
    """Counts the steps of a session, each in one of three places, and bounds all three.

    `inflight` steps run, `queued` steps wait for their turn to run. A step whose remaining nodes all wait in asynchronous
    kernels, for a queue perhaps, gives its turn up and counts as `waiting`: the step that ends its wait may be one of the
    queue. Coming back it runs at once, so `inflight` may be over its limit for a while.
    """

    def __init__(self, max_inflight: int, max_queued: int, max_waiting: int) -> None:
        self.max_inflight = max_inflight
        self.max_queued = max_queued
        self.max_waiting = max_waiting
        self.inflight = 0
        self.waiting = 0
        self.seconds_per_step = 0.01
        """A moving average, from which `retry_after` is reckoned."""
        self.on_queued: Callable[[], object] | None = None
        """Called when a step has to wait for its turn."""
        self._queue: deque[asyncio.Future[None]] = deque()
        self._limit = max_inflight
        self._alone: asyncio.Task[Any] | None = None
        self._idle: asyncio.Future[None] | None = None

    @property
    def queued(self) -> int:
        return len(self._queue)

    def enter_nowait(self) -> bool:
        """Takes a place if it is free now."""
        if self.inflight < self.max_inflight and not self._queue:
            self.inflight += 1
            return True
        if self.is_alone:
            self.inflight += 1
            return True
        return False

    @property
    def is_alone(self) -> bool:
        """Whether the calling task is in a block of `alone`."""
        return self._alone is not None and self._alone is asyncio.current_task()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[Callable[[], None]]:
        """Waits until no step is in flight, and lets none in but the caller's, to the end of the block or until the
        function that it gives is called. Steps that wait in asynchronous kernels stay in their places.

        Raises:
            FailedPreconditionError: somebody else is alone already.
        """
        if self._alone is not None:
            raise FailedPreconditionError("Another task has the session for itself; wait until it is done.")
        self._alone = asyncio.current_task()
        self.max_inflight = 0
        try:
            if self.inflight:
                self._idle = asyncio.get_running_loop().create_future()
                await self._idle
            yield self._together
        finally:
            self._idle = None
            self._together()

    def _together(self) -> None:
        self._alone = None
        self.max_inflight = self._limit
        self._admit()

    async def enter(self) -> None:
        """Takes a place, in the order of arrival. Raises Overloaded where too many wait already."""
        if self.enter_nowait():
            return
        if len(self._queue) >= self.max_queued:
            raise Overloaded(
                f"The session has {self.inflight} steps running and {len(self._queue)} waiting, its limit.",
                retry_after=max(0.001, self.seconds_per_step * (len(self._queue) + 1) / self._limit),
                hint=with_topic(
                    "Try again after error.retry_after seconds, or raise max_inflight_steps or max_queued_steps.",
                    "overloaded",
                ),
            )
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        if self.on_queued is not None:
            self.on_queued()
        try:
            await place
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                before = self._queue.index(place) if place in self._queue else 0
                note(error, [f"The run waited for its turn: {self.inflight} steps run, and {before} wait before it."])
            if place.done() and not place.cancelled() and place.exception() is None:
                self.leave()  # the place was given just as the caller was cancelled
            elif place in self._queue:  # unless `leave` has come by it meanwhile
                self._queue.remove(place)
            raise

    def leave(self) -> None:
        """Gives a place back, to who waits longest."""
        self.inflight -= 1
        if self._idle is not None and not self.inflight and not self._idle.done():
            self._idle.set_result(None)
        self._admit()

    def _admit(self) -> None:
        while self._queue and self.inflight < self.max_inflight:
            place = self._queue.popleft()
            if not place.done():
                self.inflight += 1
                place.set_result(None)

    def refuse(self, error: Exception) -> None:
        """Raises `error` in all that wait."""
        waiting, self._queue = self._queue, deque()
        for place in waiting:
            if not place.done():
                place.set_exception(error)

    def begin_waiting(self) -> Overloaded | None:
        """A step only waits from now on, and gives its place up. It keeps it where too many wait already: the result is the
        error that it has to end with then."""
        if self.waiting >= self.max_waiting:
            return Overloaded(
                f"The session has {self.waiting} steps that wait in asynchronous kernels, its limit, and this step would be "
                "one more.",
                retry_after=max(0.001, self.seconds_per_step),
                hint=with_topic("Run what ends their waits, or raise max_waiting_steps.", "overloaded"),
            )
        self.waiting += 1
        self.leave()
        return None

    def end_waiting(self) -> None:
        """A step that only waited goes on, or is over."""
        self.waiting -= 1
        self.inflight += 1
