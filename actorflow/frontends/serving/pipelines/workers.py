"""`StageWorker`: computes the batches of a stage by a model or by a function of Python."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
import numpy as np

from actorflow.base.process import forks, machine
from actorflow.engine.batching.rows import Batching
from actorflow.errors import CancelledError, FailedPreconditionError, UnavailableError
from actorflow.frontends.serving.model import Model


class StageWorker(Protocol):
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
        """The outputs of a step.

        Raises:
            UnavailableError: a task of its cluster was restarted, and the values of the model are lost.
            OpError: whatever the step raises.
        """
        model = self.model
        assert model is not None
        call = model.call(model.signature(self.signature), dict(zip(self.inputs, arrays)), self.outputs)
        try:
            values: Mapping[str, Any] = call.named(await model.run(call, None))
        except FailedPreconditionError as error:
            if self.target is None:
                raise
            # the variables had values when the model was opened
            raise UnavailableError(f"The model {self.path!r} has lost its values at {self.target}: {error}") from error
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
            visit = _Visit(manager)
            self._held.push_async_exit(visit.leave)
            self._values = (await visit.enter(),)

    async def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results of the function as arrays. Raises whatever it raises."""
        values = (*self._values, *arrays)
        try:
            if inspect.iscoroutinefunction(self.function):
                result = await self.function(*values)
            else:
                result = await machine.on_own_thread(self.function, *values)
                if inspect.isawaitable(result):  # of an object that is called, or behind a decorator
                    result = await result
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise CancelledError("What the function of a stage waited for was cancelled.") from None
        several = [] if result is None else result if isinstance(result, (list, tuple)) else [result]
        return [np.asarray(value) for value in several]

    async def close(self) -> None:
        """Leaves the resource."""
        held, self._held, self._values = self._held, contextlib.AsyncExitStack(), ()
        with anyio.CancelScope(shield=True):
            await held.aclose()


class _Visit:
    """An ordinary context manager that is entered and left on threads, so that it holds no event loop up. If the caller is
    cancelled while a thread enters it, that thread leaves it again.

    Args:
        manager: the context manager.
    """

    def __init__(self, manager: contextlib.AbstractContextManager[Any]) -> None:
        self._manager = manager
        self._lock = forks.new_lock()
        self._is_inside = self._is_left = False

    async def enter(self) -> Any:
        """Enters it. Gives its value."""
        return await machine.on_thread(self._enter)

    def _enter(self) -> Any:
        value = self._manager.__enter__()
        with self._lock:
            self._is_inside = True
            is_left = self._is_left
        if is_left:
            self._manager.__exit__(None, None, None)
        return value

    async def leave(self, kind: Any, error: Any, trace: Any) -> bool | None:
        """Leaves it, as `__aexit__` does."""
        with self._lock:
            self._is_left = True
            is_inside = self._is_inside
        return await machine.on_thread(self._manager.__exit__, kind, error, trace) if is_inside else None
