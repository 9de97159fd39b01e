"""`Consumer`: takes the elements of a queue of a pipeline in the background, for a function."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio
import numpy as np

from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.session.session import Session
from actorflow.errors import OutOfRangeError
from actorflow.frontends.serving.pipelines.policy import StagePolicy
from actorflow.frontends.serving.pipelines.stage import WorkerRestarts
from actorflow.frontends.serving.pipelines.workers import StageWorker
from actorflow.graph.tensor import Operation, Tensor

_LOG = get_logger("serving")
_FLUSH = 10.0
"""Seconds that the elements of a queue have when their pipeline closes."""
_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a queue that can't be read, or a worker that can't be opened, is tried again."""


class Ends(NamedTuple):
    """The tensors by which a queue is read.

    first: the components of one element, with a first size of 1; a run of it waits for an element.
    more: those of `taken` elements that are there.
    taken: the number of elements, which is fed.
    size: how many elements are there.
    close: closes the queue: the elements in it are taken, and then a take raises OutOfRangeError.
    """

    first: Sequence[Tensor]
    more: Sequence[Tensor]
    taken: Tensor
    size: Tensor
    close: Operation


class Consumer:
    """Takes the elements of a queue in batches of those that are there, and calls a function with them.

    A batch that fails is taken element by element, and an element that fails alone is logged and left out. While the restarts
    of its worker are used up, elements wait in the queue. A take that fails is tried again. The consumer ends when the queue is
    closed and empty.

    Args:
        name: its name.
        session: has the queue.
        ends: read the queue.
        worker: takes the components of a batch.
        policy: restarts, and the size of batches.
    """

    def __init__(self, name: str, session: Session, ends: Ends, worker: StageWorker, policy: StagePolicy) -> None:
        self.name = name
        self._session, self._ends, self._policy = session, ends, policy
        self._most = policy.batching.max_size if policy.batching is not None else 32
        self._restarts = WorkerRestarts(name, worker, policy)
        self._tasks = BackgroundTasks()
        self._work_task: asyncio.Task[Any] | None = None
        self._closing = anyio.Lock()
        self._batch_over = anyio.Event()
        self.running = self.steps = self.rows = self.failed = self.waiting = 0
        self.seconds = 0.0
        """The time of all steps."""

    @property
    def restarts(self) -> int:
        """How often its worker was restarted."""
        return self._restarts.count

    @property
    def _works(self) -> bool:
        return self._work_task is not None and not self._work_task.done()

    async def open(self) -> None:
        """Opens its worker, and begins."""
        await self._restarts.open()
        self._work_task = self._tasks.start(self._work())

    async def close(self) -> None:
        """Closes the queue, gives the elements that are left to the function, for some seconds, and closes the worker."""
        async with self._closing:
            try:
                with anyio.move_on_after(_FLUSH):
                    await self._end()
                if self._works:
                    with anyio.move_on_after(_LONGEST_PAUSE):
                        self.waiting = await self._size() or 0
                    _LOG.error("elements of a queue are lost", consumer=self.name, elements=self.running + self.waiting)
            finally:
                try:
                    await self._tasks.close()
                finally:
                    await self._restarts.close()

    async def _end(self) -> None:
        """Returns when the queue is closed and the function has its elements. An element may be in a step that takes it, and is
        seen nowhere then: the end of the task tells that there is none."""
        if not self._works:
            return
        try:
            await self._session.run(self._ends.close)
        except Exception as error:
            _LOG.error("a queue can't be closed", consumer=self.name, error=str(error))
            await self._until_idle()
        else:
            assert self._work_task is not None
            await asyncio.wait({self._work_task})

    async def drain(self) -> None:
        """Waits until the queue is empty and the function has its elements, for some seconds."""
        with anyio.move_on_after(_FLUSH) as limit:
            await self._until_idle()
        if limit.cancelled_caught:
            _LOG.warning("a queue is not empty yet", consumer=self.name, elements=self.running + self.waiting)

    async def _until_idle(self) -> None:
        while self._works:
            batch_over = self._batch_over  # before the look: a batch may end meanwhile
            if await self._is_idle():
                return
            await batch_over.wait()

    async def _is_idle(self) -> bool:
        for _ in range(2):  # a take that ended in the first look tells of its elements before the second has ended
            if self.running or await self._size() != 0:
                return False
        return not self.running

    async def _size(self) -> int | None:
        """How many elements are in the queue; None where that can't be known now."""
        try:
            return int(await self._session.run(self._ends.size))
        except Exception:
            return None

    async def _work(self) -> None:
        failures = 0
        try:
            while True:
                try:
                    batch = await self._take()
                except OutOfRangeError:  # the queue is closed, and empty
                    return
                except Exception as error:
                    if not failures:
                        _LOG.error("a queue can't be read, and is tried again", consumer=self.name, error=str(error))
                    await anyio.sleep(min(_PAUSE * 2 ** min(failures, 16), _LONGEST_PAUSE))
                    failures += 1
                else:
                    failures = 0
                    await self._give(batch)
                    self.running = 0
                self._tell()
        finally:
            self._tell()

    def _tell(self) -> None:
        """Wakes those who wait for the end of a batch."""
        batch_over, self._batch_over = self._batch_over, anyio.Event()
        batch_over.set()

    async def _take(self) -> list[Any]:
        """The components of the elements that are there, at least a single element."""
        first = [np.asarray(value) for value in await self._session.run(list(self._ends.first))]
        self.running = 1
        size = await self._size() or 0
        count = min(size, self._most - 1)
        self.waiting = size - count
        if not count:
            return first
        try:
            more = await self._session.run(list(self._ends.more), {self._ends.taken: count})
        except Exception as error:  # the element that is here has to be given all the same
            _LOG.info("more elements of a queue can't be read", consumer=self.name, error=str(error))
            return first
        self.running = 1 + count
        return [np.concatenate([alone, np.asarray(several)]) for alone, several in zip(first, more)]

    async def _give(self, batch: list[Any]) -> None:
        rows = len(batch[0])
        while True:
            begun = time.perf_counter()
            try:
                await self._restarts.run(batch)
                self.seconds += time.perf_counter() - begun
                self.steps += 1
                self.rows += rows
                return
            except Exception as error:
                if self._policy.restarts_on(error) or not self._restarts.is_open:
                    # the restarts are used up: a later restart has another chance
                    await anyio.sleep(max(self._policy.delay, _PAUSE))
                    self.waiting = await self._size() or 0
                elif rows == 1:
                    self.failed += 1
                    _LOG.error("an element of a queue is left out", consumer=self.name, error=str(error))
                    return
                else:
                    for row in range(rows):
                        await self._give([component[row : row + 1] for component in batch])
                    return
