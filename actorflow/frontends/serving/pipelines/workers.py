"""`Worker`: computes the batches of a stage by a model or by a function of Python."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
import numpy as np

from actorflow.base.process import machine
from actorflow.engine.batching.rows import Batching
from actorflow.frontends.serving.model import Model


class Worker(Protocol):
    """Computes the batches of a stage. It is opened before, and again for a restart."""

    async def open(self) -> None:
        """Loads or connects to what it needs."""

    async def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs for the inputs of a batch."""

    async def close(self) -> None:
        """Frees what it has; more than once does no harm."""


@dataclass(slots=True, eq=False)
class ModelWorker:
    """A model as a worker.

    Args:
        path: a model, as `Model` takes it.
        signature: the name of its signature.
        inputs: the names of its inputs, in the order of the arrays.
        outputs: the names of the outputs that are given, in their order.
        batching: the batches of the stage.
        target: the target of its session; this process unless given.
    """

    path: str
    signature: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    batching: Batching
    target: str | None = None
    model: Model | None = None

    async def open(self) -> None:
        """Loads the model."""
        model = Model(self.path, batching=self.batching, target=self.target)
        await model.__aenter__()
        self.model = model

    async def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The outputs of a step. Raises OpError."""
        model = self.model
        assert model is not None
        call = model.call(model.signature(self.signature), dict(zip(self.inputs, arrays)), self.outputs)
        values: Mapping[str, Any] = call.named(await model.run(call, None))
        return [values[name] for name in self.outputs]

    async def close(self) -> None:
        """Closes the model."""
        model, self.model = self.model, None
        if model is not None:
            await model.close()


Resource = Callable[[], Any]
"""Makes a context manager, ordinary or asynchronous, whose value a function gets before its arrays."""


@dataclass(slots=True, eq=False)
class FunctionWorker:
    """A function as a worker: an `async def` is awaited on the event loop, another is called on a thread.

    Args:
        function: takes the arrays, and gives an array, a list of arrays, or None.
        resource: makes a context manager, such as a connection, whose value the function gets before the arrays.
    """

    function: Callable[..., Any]
    resource: Resource | None = None
    _held: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    _values: tuple[Any, ...] = ()

    async def open(self) -> None:
        """Enters the resource."""
        if self.resource is None:
            return
        manager = self.resource()
        if hasattr(type(manager), "__aenter__"):
            self._values = (await self._held.enter_async_context(manager),)
        else:
            self._values = (await machine.on_thread(lambda: self._held.enter_context(manager)),)

    async def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results of the function as arrays. Raises whatever it raises."""
        values = (*self._values, *arrays)
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(*values)
        else:
            result = await machine.on_own_thread(self.function, *values)
        several = [] if result is None else result if isinstance(result, (list, tuple)) else [result]
        return [np.asarray(value) for value in several]

    async def close(self) -> None:
        """Leaves the resource."""
        held, self._held, self._values = self._held, contextlib.AsyncExitStack(), ()
        with anyio.CancelScope(shield=True):
            await held.aclose()
