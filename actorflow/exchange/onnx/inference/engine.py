"""`InferenceEngine`: a variant of a model on one event loop, with its batches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from actorflow.engine.batching.batcher import Batcher
from actorflow.engine.batching.rows import Batching
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.session.session import Session
from actorflow.engine.session.settings import SessionLimits, ValueOptions
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.inference.feeding import result
from actorflow.exchange.onnx.inference.interface import Variant
from actorflow.graph.tensor import Tensor


class InferenceEngine:
    """Runs a variant on the event loop that it was made on.

    Args:
        variant: the graph.
        start: gives the session's variables their values, before the first run.
        devices: how many devices of each kind.
        limits: of the session.
        options: how plans are made.
        batching: how calls are put together; each runs by itself unless given.
        trace: takes the events of all runs.
    """

    def __init__(
        self,
        variant: Variant,
        start: Callable[[Session], Awaitable[None]],
        devices: Any,
        limits: SessionLimits,
        options: PlanOptions,
        batching: Batching | None,
        trace: Trace | None,
    ) -> None:
        self.variant = variant
        self.loop = asyncio.get_running_loop()
        self._trace = trace
        self._session = Session(
            "", variant.graph, devices=devices, limits=limits, options=options, values=ValueOptions(writable=True)
        )
        self._session.ends_with_its_owner = True
        self._start, self._starting, self._has_values = start, anyio.Lock(), False
        self._batcher = None if batching is None else Batcher(self._step, batching)
        self._calls: dict[tuple[str, ...], Any] = {}

    async def run(self, names: tuple[str, ...], values: dict[str, Any], timeout: float | None) -> list[Any]:
        """The outputs of these names. Raises OpError; see `InferenceSession.run_async`."""
        inputs = self.variant.inputs
        if not self._has_values:
            await self._load()
        if self._batcher is None:
            fetches = [self.variant.outputs[name] for name in names]
            feeds = {inputs[name]: value for name, value in values.items() if name in inputs}
            results = await self._session.run(fetches, feeds, timeout=timeout, trace=self._trace)
        else:
            results = await self._batched(self._batcher, names, [values[name] for name in inputs], timeout)
        return [result(value) for value in results]

    async def _batched(
        self, batcher: Batcher, names: tuple[str, ...], arrays: list[Any], timeout: float | None
    ) -> Sequence[Any]:
        rows = {array.shape[0] for array in arrays}
        if len(rows) > 1:
            numbers = ", ".join(f"{name!r} has {array.shape[0]}" for name, array in zip(self.variant.inputs, arrays))
            raise InvalidArgumentError(
                f"The inputs have different numbers of rows: {numbers}.",
                hint="Give all of them as many, or open the session without batching.",
            )
        deadline = None if timeout is None else batcher.now() + timeout
        key = (names, *[array.shape[1:] for array in arrays])
        return await batcher.submit(key, arrays, rows.pop(), deadline)

    def _step(self, key: tuple[Any, ...], arrays: list[Any], timeout: float | None) -> StepResult[list[Any]]:
        """The outputs of a batch."""
        call = self._calls.get(key[0])
        if call is None:
            return StepResult.later(lambda: self._first_step(key[0], arrays))
        result: StepResult[list[Any]] = call.begin(*arrays)
        return result

    async def _first_step(self, names: tuple[str, ...], arrays: list[Any]) -> list[Any]:
        await self.warm(names)
        results: list[Any] = await self._calls[names](*arrays)
        return results

    async def _load(self) -> None:
        """Gives the variables their values, once. A call that is cancelled leaves it to the next call."""
        async with self._starting:
            if not self._has_values:
                await self._start(self._session)
                self._has_values = True

    async def warm(self, names: tuple[str, ...]) -> None:
        """Loads the values, and makes the plan for these outputs."""
        await self._load()
        fetches = [self.variant.outputs[name] for name in names]
        if self._batcher is None:
            await self._session.warmup(fetches, list(self.variant.inputs.values()))
        else:
            self._calls[names] = await self._session.make_callable(fetches, list(self.variant.inputs.values()))

    async def close(self) -> None:
        """Stops what runs, and ends what waits."""
        with anyio.CancelScope(shield=True):
            if self._batcher is not None:
                await self._batcher.close()
            await self._session.close()


def check_rows(variant: Variant | None, batching: Batching | None) -> None:
    """Raises InvalidArgumentError where calls can't go through one step together."""
    if batching is None:
        return
    ports = {} if variant is None else {**variant.inputs, **variant.outputs}
    for name, port in ports.items():
        shape = port.static_shape if isinstance(port, Tensor) else ()
        if shape is not None and (not shape or shape[0] is not None):
            raise InvalidArgumentError(
                f"Calls of this model can't be put together: {name!r} has no first size that is open.",
                hint="Leave batching out, or export the model with an open first size for all inputs and outputs.",
            )
    if not ports or not variant or not variant.inputs:
        raise InvalidArgumentError(
            "Calls of this model can't be put together: values of its inputs decide about its graph, or it has none.",
            hint="Leave batching out.",
        )
