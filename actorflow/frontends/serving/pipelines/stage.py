"""`PipelineStage`: the batches of a stage of a pipeline, its restarts and counts."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import anyio
import numpy as np

from actorflow.base.reports.logs import get_logger
from actorflow.engine.batching.batcher import Batcher
from actorflow.engine.batching.rows import Batching
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.errors import DeadlineExceededError, UnavailableError
from actorflow.frontends.serving.pipelines.policy import StagePolicy
from actorflow.frontends.serving.pipelines.workers import StageWorker

_LOG = get_logger("serving")


class WorkerRestarts:
    """Opens a worker, and opens it again where an error asks for it.

    A restart belongs to no request: a request that is given up meanwhile does not stop it, and the next request finds it under
    way, or finds the worker open. A worker that could not be opened again is opened by a later request.

    Args:
        name: the name of the stage.
        worker: the worker.
        policy: how often, and on which errors.
    """

    def __init__(self, name: str, worker: StageWorker, policy: StagePolicy) -> None:
        self._name, self._worker, self._policy = name, worker, policy
        self._times: deque[float] = deque()
        self._turn = asyncio.Lock()
        self._tasks = BackgroundTasks()
        self._restart: asyncio.Task[Any] | None = None
        self._scope: anyio.CancelScope | None = None
        self._is_open = self._is_closed = False
        self._opening = 0
        self._failure: Exception | None = None
        """Why the worker could not be opened again."""
        self.count = 0
        """Restarts since the pipeline was opened."""

    @property
    def is_open(self) -> bool:
        """Whether the worker is open."""
        return self._is_open

    async def open(self) -> None:
        """Opens the worker. Raises whatever that raises."""
        async with self._turn:
            await self._open()

    async def _open(self) -> None:
        await self._worker.open()
        self._is_open = True
        self._opening += 1
        self._failure = None

    async def close(self) -> None:
        """Stops a restart, and closes the worker. Later runs are refused."""
        self._is_open, self._is_closed = False, True
        if self._scope is not None:
            self._scope.cancel()
        async with self._turn:
            await self._worker.close()
        await self._tasks.close()

    async def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs of the worker, after restarts if they are needed.

        Raises:
            UnavailableError: the worker is closed, or could not be opened again and no restart is left.
            Exception: whatever the worker raises, if no restart may mend it or none is left.
        """
        while True:
            opening = self._opening
            error: Exception
            if self._is_open:
                try:
                    return await self._worker.run(arrays)
                except Exception as failure:
                    if not self._policy.restarts_on(failure):
                        raise
                    error = failure
            else:
                error = self._closed_error()
            if not await self._again(opening, error):
                try:
                    raise error
                finally:
                    del error  # its traceback has this frame, and so the arrays

    def _closed_error(self) -> UnavailableError:
        failure = self._failure
        reason = "" if failure is None else f": {type(failure).__name__}: {failure}"
        error = UnavailableError(f"The stage {self._name!r} is not open{reason}".rstrip(".") + ".")
        error.__cause__ = failure
        return error

    async def _again(self, opening: int, error: Exception) -> bool:
        """Restarts the worker unless another request has done so meanwhile. Whether it may run again."""
        if self._is_closed:
            return False
        if self._is_open and self._opening != opening:
            return True
        if self._restart is None or self._restart.done():
            delay = self._delay(error)
            if delay is None:
                return False
            self._is_open = False
            self._restart = self._tasks.start(self._reopen(delay))
        if self._restart is not None:
            await asyncio.wait({self._restart})
        return True  # the next run says what is wrong, if it did not open

    def _delay(self, error: Exception) -> float | None:
        """The seconds before a restart, which is counted; None if none is left."""
        now = time.monotonic()
        while self._times and self._times[0] < now - self._policy.within:
            self._times.popleft()
        if len(self._times) >= self._policy.restarts:
            _LOG.error("a stage has no restart left", stage=self._name, error=str(error))
            return None
        delay = min(self._policy.delay * 2.0 ** min(len(self._times), 64), self._policy.within)
        self._times.append(now)
        self.count += 1
        _LOG.warning("a stage restarts", stage=self._name, error=str(error), restart=self.count)
        return delay

    async def _reopen(self, delay: float) -> None:
        with anyio.CancelScope() as self._scope:
            async with self._turn:
                if self._is_closed:
                    return
                await self._close_quietly()
                await anyio.sleep(delay)
                try:
                    await self._open()
                except Exception as failure:
                    self._failure = failure
                    _LOG.error("a stage can't be opened", stage=self._name, error=str(failure))

    async def _close_quietly(self) -> None:
        try:
            await self._worker.close()
        except Exception as error:  # of a connection that is broken already
            _LOG.info("a stage did not close well", stage=self._name, error=str(error))


class PipelineStage:
    """A stage of a pipeline that is served: requests put rows into its queue, and its worker computes batches of them.

    Args:
        name: its name.
        worker: computes the batches.
        policy: time and restarts.
        batching: how rows are put together.
        has_rows: whether rows of several requests may go through the worker together.
    """

    def __init__(self, name: str, worker: StageWorker, policy: StagePolicy, batching: Batching, has_rows: bool) -> None:
        self.name = name
        self._timeout, self._has_rows = policy.timeout, has_rows
        self._restarts = WorkerRestarts(name, worker, policy)
        self._batcher = Batcher(self._step, batching, self._observe)
        self.running = self.steps = self.rows = self.failed = 0
        self.seconds = 0.0
        """The time of all steps."""

    @property
    def waiting(self) -> int:
        """How many requests wait for a step of it."""
        return self._batcher.waiting

    @property
    def restarts(self) -> int:
        """How often its worker was restarted."""
        return self._restarts.count

    async def open(self) -> None:
        """Opens its worker."""
        await self._restarts.open()

    async def close(self) -> None:
        """Ends its requests, and closes its worker."""
        try:
            await self._batcher.close()
        finally:
            await self._restarts.close()

    async def call(self, *values: Any) -> list[Any]:
        """The outputs for the inputs of a request.

        Raises:
            DeadlineExceededError: they were not there in the time of the stage.
            Overloaded: too many requests wait for it.
            Exception: whatever its worker raises.
        """
        arrays = [np.asarray(value) for value in values]
        sizes = {array.shape[0] if array.ndim else None for array in arrays}
        rows = next(iter(sizes)) if self._has_rows and len(sizes) == 1 else None
        key = tuple([(array.dtype.str, array.shape[1:]) for array in arrays]) if rows is not None else ()
        deadline = None if self._timeout is None else self._batcher.now() + self._timeout
        try:
            return list(await self._batcher.submit(key, arrays, rows, deadline))
        except DeadlineExceededError as error:
            self.failed += 1
            if deadline is None or self._batcher.now() < deadline - 1e-3:
                raise
            raise DeadlineExceededError(
                f"The stage {self.name!r} had no result after {self._timeout:g} seconds, which are its timeout."
            ) from error
        except Exception:
            self.failed += 1
            raise

    def _step(self, key: tuple[Any, ...], arrays: list[Any], timeout: float | None) -> StepResult[list[Any]]:
        return StepResult.later(lambda: self._run(arrays))

    async def _run(self, arrays: list[Any]) -> list[Any]:
        begun = time.perf_counter()
        self.running += 1
        try:
            return await self._restarts.run(arrays)
        finally:
            self.running -= 1
            self.seconds += time.perf_counter() - begun

    def _observe(self, rows: int) -> None:
        self.steps += 1
        self.rows += rows
