"""`Consumer`: takes the elements of a queue of a pipeline in the background, for a function."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio
import numpy as np

from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.session.session import Session
from actorflow.frontends.serving.pipelines.policy import StagePolicy
from actorflow.frontends.serving.pipelines.stage import Restarts
from actorflow.frontends.serving.pipelines.workers import Worker
from actorflow.graph.tensor import Tensor

_LOG = get_logger("serving")
_FLUSH = 10.0
"""Seconds that the elements of a queue have when their pipeline closes."""


class Ends(NamedTuple):
    """The tensors by which a queue is read.

    first: the components of one element, with a first size of 1; a run of it waits for an element.
    more: those of `taken` elements that are there.
    taken: the number of elements, which is fed.
    size: how many elements are there.
    """

    first: Sequence[Tensor]
    more: Sequence[Tensor]
    taken: Tensor
    size: Tensor


class Consumer:
    """Takes the elements of a queue in batches of those that are there, and calls a function with them.

    A batch that fails is taken element by element, and an element that fails alone is logged and left out. While the restarts
    of its worker are used up, elements wait in the queue.

    Args:
        name: its name.
        session: has the queue.
        ends: read the queue.
        worker: takes the components of a batch.
        policy: restarts, and the size of batches.
    """

    def __init__(self, name: str, session: Session, ends: Ends, worker: Worker, policy: StagePolicy) -> None:
        self.name = name
        self._session, self._ends, self._policy = session, ends, policy
        self._most = policy.batching.max_size if policy.batching is not None else 32
        self._restarts = Restarts(name, worker, policy)
        self._tasks = BackgroundTasks()
        self._idle = anyio.Event()
        self.running = self.steps = self.rows = self.failed = self.waiting = 0
        self.seconds = 0.0
        """The time of all steps."""

    @property
    def restarts(self) -> int:
        """How often its worker was restarted."""
        return self._restarts.count

    async def open(self) -> None:
        """Opens its worker, and begins."""
        await self._restarts.open()
        self._tasks.start(self._work())

    async def close(self) -> None:
        """Gives the elements that are left to the function, for some seconds, and closes the worker."""
        if not self._tasks.closed:
            with anyio.move_on_after(_FLUSH):
                await self.drain()
        await self._tasks.close()
        await self._restarts.close()

    async def drain(self) -> None:
        """Waits until the queue is empty and the function has its elements."""
        while self.running or await self._session.run(self._ends.size):
            self._idle = anyio.Event()
            await self._idle.wait()

    async def _work(self) -> None:
        while True:
            batch = await self._take()
            self.running = len(batch[0])
            await self._give(batch)
            self.running = 0
            self._idle.set()

    async def _take(self) -> list[Any]:
        """The components of the elements that are there, at least a single element."""
        first = [np.asarray(value) for value in await self._session.run(list(self._ends.first))]
        size = int(await self._session.run(self._ends.size))
        count = min(size, self._most - 1)
        self.waiting = size - count
        if not count:
            return first
        more = await self._session.run(list(self._ends.more), {self._ends.taken: count})
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
                if self._policy.restarts_on(error):
                    await anyio.sleep(
                        self._policy.delay
                    )  # the restarts are used up: a later restart has another chance
                    self.waiting = int(await self._session.run(self._ends.size))
                elif rows == 1:
                    self.failed += 1
                    _LOG.error("an element of a queue is left out", consumer=self.name, error=str(error))
                    return
                else:
                    for row in range(rows):
                        await self._give([component[row : row + 1] for component in batch])
                    return
