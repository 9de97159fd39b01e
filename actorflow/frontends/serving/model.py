"""`Model`: a model with its values in a session, that answers requests."""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import anyio
import numpy as np

from actorflow.base import dtypes
from actorflow.base.paths import path_text
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.batching import rows as batch_rows
from actorflow.engine.batching.batcher import Batcher, Done, PendingRequest
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.session.session import Session
from actorflow.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, UnavailableError
from actorflow.exchange.sources.signature import Signature
from actorflow.exchange.sources.source import DEFAULT, Signatures, Source, read
from actorflow.frontends.serving.plugin import Flow, Part, plugins
from actorflow.public import public

Batching = batch_rows.Batching
public("af.serving", of="Batching")

_LOG = get_logger("serving")
_CALLS = 32


class ModelCall(NamedTuple):
    """The inputs of a request, as a step takes them.

    key: calls of one key may go through one step.
    arrays: the inputs in the order of the signature.
    rows: how many rows they have; None for a call that runs alone.
    names: the outputs that a step gives, in their order.
    wanted: the outputs that were asked for, in their order.
    """

    key: tuple[Any, ...]
    arrays: list[Any]
    rows: int | None
    names: tuple[str, ...]
    wanted: tuple[str, ...]

    @property
    def order(self) -> tuple[int, ...] | None:
        """The places of the outputs that were asked for among those of the step; None if they are the same."""
        return None if self.names == self.wanted else tuple([self.names.index(name) for name in self.wanted])

    def named(self, values: Sequence[Any]) -> dict[str, Any]:
        """The outputs of a step by the names that were asked for."""
        order = self.order
        return dict(zip(self.wanted, values if order is None else [values[place] for place in order]))


@public("af.serving")
class Model:
    """Answers requests by a model, in this process. Requests that wait together go through one step.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> async with af.serving.Model("models/triple/1") as model:
        ...     print(await model.predict([1.0, 2.0]))
        [3. 6.]

    Args:
        path: a folder with a saved model, a frozen graph (`.pb`), an ONNX file, or a checkpoint with its graph; or a
            `Pipeline`.
        tags: the tags of the graph of a saved model.
        signatures: signatures, where the files have none: `{"serving_default": ({"x": "x:0"}, {"y": "y:0"})}`.
        batching: how requests are put together.
        target: the target of the session: a cluster, whose tasks then hold the model. This process unless given.
        warm_up: whether plans are made, and a step is run, before the first request.
        session_options: options of the session, by name.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Flow,
        *,
        tags: Collection[str] = ("serve",),
        signatures: Signatures | None = None,
        batching: Batching | None = None,
        target: str | None = None,
        warm_up: bool = True,
        session_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._flow = path if isinstance(path, Flow) else None
        self._path = "a pipeline" if isinstance(path, Flow) else path_text(path)
        self._tags, self._given, self._target = tags, signatures, target
        self._batching = batching or Batching()
        if self._flow is not None:
            self._batching = self._flow.entrance(self._batching)
        self._warm_up = warm_up and self._flow is None  # a step of zeros would have effects, such as rows of a database
        self._options = dict(session_options or {})
        self._session: Session | None = None
        self._batcher: Batcher | None = None
        self._source: Source | None = None
        self._closing = anyio.Lock()
        self._calls: OrderedDict[tuple[str, tuple[str, ...]], Any] = OrderedDict()
        self.forms: dict[bytes, Any] = {}
        """The forms of requests that were found to fit, by their JSON; kept by the protocol (`forms.py`)."""
        self.parts: list[Part] = []
        """The work of plug-ins in its session."""
        self._shown: Mapping[str, Signature] = {}
        self.observe: Callable[[int], None] = lambda rows: None
        """Called with the number of rows of each step."""

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """The signatures by name. Raises FailedPreconditionError before the model is open."""
        if self._source is None:
            raise FailedPreconditionError(
                "The model is not open.", hint="async with af.serving.Model(path) as model: await model.predict(x)"
            )
        return self._shown

    @property
    def queued(self) -> int:
        """How many requests wait for a step."""
        return 0 if self._batcher is None else self._batcher.waiting

    async def __aenter__(self) -> Model:
        if self._flow is None:
            source = await machine.on_thread(lambda: read(self._path, self._tags, self._given))
        else:
            source = self._flow.source()
        # The functions of a pipeline are in this process; its models may have targets of their own.
        session = Session(None if self._flow is not None else self._target, source.graph, **self._options)
        try:
            await source.start(session)
            self._session, self._source = session, source
            await self._open_parts(session, source)
            self._batcher = Batcher(self._step, self._batching, lambda rows: self.observe(rows))
            if self._warm_up:
                for signature in self._shown.values():
                    await self._warm(signature)
        except BaseException:
            with anyio.CancelScope(shield=True):
                try:
                    await self.close()
                finally:
                    await session.close()
            raise
        return self

    async def _open_parts(self, session: Session, source: Source) -> None:
        """Lets plug-ins have their part, and hides the signatures that are theirs alone."""
        hidden: set[str] = set()
        self.parts = []
        if self._flow is not None:
            self.parts.append(await self._flow.open(session))
        for plugin in plugins():
            part = await plugin.open(session, source, self._batching)
            if part is not None:
                self.parts.append(part)
                hidden.update(plugin.methods)
        self._shown = {name: each for name, each in source.signatures.items() if each.method not in hidden}

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the requests that wait, and closes the session.

        Example:
            >>> x = af.placeholder(af.float32, [None], name="x")
            >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
            >>> model = await af.serving.Model("models/triple/1").__aenter__()
            >>> await model.close()
        """
        with anyio.CancelScope(shield=True):
            async with self._closing:
                batcher, self._batcher = self._batcher, None
                session, self._session = self._session, None
                async with contextlib.AsyncExitStack() as closing:  # the last comes first, and each where others fail
                    if session is not None:
                        closing.push_async_callback(session.close)
                    if batcher is not None:
                        closing.push_async_callback(batcher.close)
                    for part in reversed(self.parts):
                        closing.push_async_callback(part.close)

    async def drain(self) -> None:
        """Waits until no request waits or runs.

        Example:
            >>> x = af.placeholder(af.float32, [None], name="x")
            >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
            >>> async with af.serving.Model("models/triple/1") as model:
            ...     await model.drain()
        """
        for part in self.parts:
            await part.drain()
        if self._batcher is not None:
            await self._batcher.drain()

    async def predict(
        self,
        inputs: Any,
        *,
        signature: str = DEFAULT,
        outputs: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """The outputs for a batch of examples.

        Args:
            inputs: a dict of arrays by the names of the inputs, or the array of the only input.
            signature: the name of the signature.
            outputs: the names of the outputs that are wanted; all unless given.
            timeout: after how many seconds the answer has no use any more.

        Returns:
            A dict of arrays, or the array of the only output.

        Raises:
            InvalidArgumentError: the inputs do not fit.
            NotFoundError: there is no such signature or output.
            DeadlineExceededError: there was no answer in time.
            Overloaded: too many requests wait.
        """
        definition = self.signature(signature)
        values = inputs if isinstance(inputs, Mapping) else {name: inputs for name in definition.inputs}
        if not isinstance(inputs, Mapping) and len(definition.inputs) != 1:
            raise InvalidArgumentError(
                f"The signature {signature!r} has several inputs: {sorted(definition.inputs)}; give a dict."
            )
        answers = await self.infer(definition, values, outputs, timeout)
        return next(iter(answers.values())) if len(definition.outputs) == 1 else answers

    def signature(self, name: str) -> Signature:
        """A signature by its name. Raises NotFoundError.

        Example:
            >>> x = af.placeholder(af.float32, [None], name="x")
            >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
            >>> async with af.serving.Model("models/triple/1") as model:
            ...     print(model.signature("serving_default").name)
            serving_default
        """
        signature = self.signatures.get(name)
        if signature is None:
            there = ", ".join(map(repr, self.signatures)) or "none"
            raise NotFoundError(f"Serving signature name: {name!r} not found in signature def; there is {there}.")
        return signature

    @property
    def default(self) -> Signature:
        """The signature for those who name none. Raises NotFoundError without any signature."""
        signatures = self.signatures
        return self.signature(DEFAULT if DEFAULT in signatures else next(iter(signatures), DEFAULT))

    async def infer(
        self,
        signature: Signature,
        values: Mapping[str, Any],
        outputs: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """The outputs of a signature by name, for values that a client sent.

        Example:
            >>> x = af.placeholder(af.float32, [None], name="x")
            >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
            >>> async with af.serving.Model("models/triple/1") as model:
            ...     print(await model.infer(model.signature("serving_default"), {"x": [1.0, 2.0]}))
            {'y': array([3., 6.], dtype=float32)}

        Args:
            signature: the signature.
            values: the inputs by name.
            outputs: the names of the outputs that are wanted; all unless given.
            timeout: after how many seconds the answer has no use any more.

        Raises:
            OpError: see `predict`.
        """
        call = self.call(signature, values, outputs)
        return call.named(await self.run(call, timeout))

    def call(self, signature: Signature, values: Mapping[str, Any], outputs: Sequence[str] | None = None) -> ModelCall:
        """Values that a client sent, as a step takes them.

        Args:
            signature: the signature.
            values: the inputs by name.
            outputs: the names of the outputs that are wanted; all unless given.

        Raises:
            OpError: see `predict`.
        """
        chosen = signature.chosen(outputs)
        # Requests for the same outputs in other orders go together.
        names = chosen if not outputs else tuple(name for name in signature.outputs if name in chosen)
        arrays = signature.arrays(values)
        key: tuple[Any, ...] = (signature.name, names)
        if not signature.is_batched:
            return ModelCall(key, arrays, None, names, chosen)
        return ModelCall((*key, *[array.shape[1:] for array in arrays]), arrays, arrays[0].shape[0], names, chosen)

    def begin(self, call: ModelCall, timeout: float | None, done: Done) -> PendingRequest:
        """Puts a call into the queue. `done` is called with its outputs, or with an error.

        Args:
            call: the call.
            timeout: after how many seconds the answer has no use any more.
            done: see `Batcher.begin`.

        Raises:
            OpError: see `Batcher.begin`.
        """
        batcher = self._open()
        return batcher.begin(call.key, call.arrays, call.rows, _deadline(batcher, timeout), done)

    async def run(self, call: ModelCall, timeout: float | None) -> Sequence[Any]:
        """The outputs of a call, in the order of its `names`. Raises OpError; see `predict`."""
        batcher = self._open()
        return await batcher.submit(call.key, call.arrays, call.rows, _deadline(batcher, timeout))

    def _open(self) -> Batcher:
        if self._batcher is None:
            raise UnavailableError("The model was closed.")
        return self._batcher

    def _step(self, key: tuple[Any, ...], arrays: list[Any], timeout: float | None) -> StepResult[list[Any]]:
        """The outputs of a step."""
        call = self._calls.get(key[:2])
        if call is None:
            return StepResult.later(lambda: self._first_step(key[:2], arrays, timeout))
        self._calls.move_to_end(key[:2])
        result = call.begin(*arrays)
        return result if timeout is None or result.done else StepResult.later(lambda: _within(timeout, result))

    async def _first_step(self, name: tuple[Any, ...], arrays: list[Any], timeout: float | None) -> list[Any]:
        """The same before there is a plan."""
        session = self._session
        if session is None:  # its parts are being closed
            raise UnavailableError("The model was closed.")
        signature = self.signatures[name[0]]
        tensors = [signature.outputs[key].tensor for key in name[1]]
        feeds = [port.tensor for port in signature.inputs.values()]
        call = self._calls[name] = await session.make_callable(tensors, feeds)
        if len(self._calls) > _CALLS:  # clients choose the outputs
            self._calls.popitem(last=False)
        running = call(*arrays)
        return await (running if timeout is None else _within(timeout, running))  # type: ignore[no-any-return]

    async def _warm(self, signature: Signature) -> None:
        """Runs a step of each size that is padded to, or of one row. A model that does not take zeros is not warm.

        Raises:
            FailedPreconditionError: it can answer no request, such as a model whose variables have no values.
        """
        shapes = [port.shape for port in signature.inputs.values()]
        if any(shape is None or None in shape[1:] for shape in shapes) or not signature.outputs:
            return
        for rows in self._batching.sizes or (1, self._batching.max_size):
            arrays = [_zeros(port.dtype, port.shape or (), rows) for port in signature.inputs.values()]
            try:
                await self._step((signature.name, tuple(signature.outputs)), arrays, None)
            except FailedPreconditionError:
                raise
            except Exception as error:  # such as text that is no example
                _LOG.info("a model is not warm", path=self._path, signature=signature.name, error=str(error))
                return
            if not signature.is_batched:
                return


def _deadline(batcher: Batcher, timeout: float | None) -> float | None:
    return None if timeout is None else batcher.now() + timeout


async def _within(seconds: float, step: Awaitable[Any]) -> Any:
    with anyio.fail_after(seconds):
        return await step


def _zeros(dtype: dtypes.DType, shape: Sequence[int | None], rows: int) -> Any:
    sizes = [rows if size is None else size for size in shape]
    return np.full(sizes, b"", object) if dtype is dtypes.string else np.zeros(sizes, dtype.numpy_dtype)
