"""`Pipeline`: declares models, functions of Python and queues as one graph that is served."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from actorflow.base.dtypes import DType, int32
from actorflow.base.paths import path_text
from actorflow.engine.batching.rows import Batching
from actorflow.engine.session.session import Session
from actorflow.errors import AlreadyExistsError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from actorflow.exchange.sources.source import DEFAULT, Source, read, stated
from actorflow.frontends.serving.pipelines.consumers import Consumer, Ends
from actorflow.frontends.serving.pipelines.policy import StagePolicy
from actorflow.frontends.serving.pipelines.running import RunningPipeline
from actorflow.frontends.serving.pipelines.stage import PipelineStage
from actorflow.frontends.serving.pipelines.workers import FunctionWorker, ModelWorker, Resource, StageWorker
from actorflow.frontends.serving.plugin import Flow
from actorflow.frontends.serving.versions import numbered
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.flow.py_func import called, py_func_op
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.collections import global_variables_initializer
from actorflow.public import public

_ALONE = Batching(max_size=1, max_delay=0.0, max_steps=8)
"""A function without a `batching` takes each request alone."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """A stage as it was declared: what it needs when the pipeline is opened."""

    worker: Callable[[], StageWorker]
    policy: StagePolicy
    batching: Batching
    has_rows: bool


@public("af.serving")
class Pipeline(Flow):
    """Models, functions of Python and queues as one graph, whose inputs and outputs a server has as those of a model.

    A stage is a node of the graph. Each stage puts the rows of all requests together that wait for it. Ops of actorflow may
    stand between stages. A pipeline is open in one `Model` or `Application` at a time.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
        >>> with af.serving.Pipeline() as pipeline:
        ...     rows = af.placeholder(af.float32, [None], name="rows")
        ...     tripled = pipeline.model("triple", "models/triple", rows)
        ...     text = pipeline.function("text", lambda values: values.astype(str), [tripled - 1.0], af.string)
        >>> pipeline.serves({"rows": rows}, {"text": text})
        >>> async with af.serving.Model(pipeline) as model:
        ...     print(await model.predict([1.0, 2.0]))
        [b'2.0' b'5.0']

    Args:
        max_requests: the most requests that go through the stages at a time; others wait.
    """

    def __init__(self, max_requests: int = 64) -> None:
        if max_requests < 1:
            raise ValueError(f"max_requests has to be positive, but it is {max_requests}.")
        self._max_requests = max_requests
        self.graph = Graph()
        """The graph of the stages."""
        self._stages: dict[str, _Declared] = {}
        self._consumers: dict[str, tuple[Ends, _Declared]] = {}
        self._source: Source | None = None
        self._running: RunningPipeline | None = None
        self._entered: list[AbstractContextManager[Graph]] = []

    def __enter__(self) -> Pipeline:
        """Makes its graph the default graph."""
        self._entered.append(self.graph.as_default())
        self._entered[-1].__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.pop().__exit__(kind, error, trace)

    # ---- declaration

    def model(
        self,
        name: str,
        path: str | os.PathLike[str],
        inputs: Any,
        *,
        signature: str = DEFAULT,
        policy: StagePolicy | None = None,
        target: str | None = None,
    ) -> Any:
        """Adds a stage that is a model.

        Example:
            >>> x = af.placeholder(af.float32, [None], name="x")
            >>> await af.saved_model.simple_save(session, "models/triple/1", {"x": x}, {"y": x * 3.0})
            >>> with af.serving.Pipeline() as pipeline:
            ...     rows = af.placeholder(af.float32, [None], name="rows")
            ...     print(pipeline.model("triple", "models/triple", rows).shape)
            (?,)

        Args:
            name: the name of the stage, and of its node.
            path: a model, or a folder of versions, of which the highest is taken when the pipeline is opened.
            inputs: a tensor, or a dict of them by the names of the model's inputs.
            signature: the name of its signature.
            policy: batches, time and restarts.
            target: the target of the model's session: a cluster. This process unless given.

        Returns:
            The output of the model, or a dict of its outputs by name.

        Raises:
            NotFoundError: there is no such model or signature.
            InvalidArgumentError: the inputs do not fit.
            AlreadyExistsError: there is a stage of this name.
        """
        place, policy = path_text(path), policy or StagePolicy()
        described = read(_newest(place)).signatures.get(signature)
        if described is None:
            raise NotFoundError(f"The model {place!r} of the stage {name!r} has no signature {signature!r}.")
        tensors = inputs if isinstance(inputs, Mapping) else dict.fromkeys(described.inputs, inputs)
        if tensors.keys() != described.inputs.keys() or len(tensors) != len(described.inputs):
            raise InvalidArgumentError(
                f"The stage {name!r} takes the inputs {sorted(described.inputs)}, not {sorted(tensors)}."
            )
        if not isinstance(inputs, Mapping) and len(described.inputs) != 1:
            raise InvalidArgumentError(
                f"The stage {name!r} has several inputs: {sorted(described.inputs)}; give a dict."
            )
        ports, names, batching = described.outputs, tuple(described.outputs), policy.batching or Batching()
        keys = tuple(described.inputs)

        def worker() -> StageWorker:
            return ModelWorker(_newest(place), signature, keys, names, batching, target)

        declared = _Declared(worker, policy, batching, described.is_batched)
        with self.graph.as_default():
            fed = [convert_to_tensor(tensors[key], dtype=described.inputs[key].dtype) for key in keys]
        types, shapes = [port.dtype for port in ports.values()], [port.shape for port in ports.values()]
        outputs = self._node(name, fed, types, shapes, declared)
        return outputs[0] if len(outputs) == 1 else dict(zip(names, outputs))

    def function(
        self,
        name: str,
        function: Callable[..., Any],
        inputs: Sequence[Any],
        outputs: DType | Sequence[DType],
        *,
        shapes: Sequence[Any] | None = None,
        policy: StagePolicy | None = None,
        resource: Resource | None = None,
    ) -> Any:
        """Adds a stage that is a function of Python. An `async def` is awaited; another function is called on a thread.

        With `policy.batching` the function gets the rows of several requests at once, and gives as many rows. If such a call
        raises, it is called again for each request alone.

        Example:
            >>> with af.serving.Pipeline() as pipeline:
            ...     rows = af.placeholder(af.float32, [None], name="rows")
            ...     print(pipeline.function("half", lambda values: values / 2, [rows], af.float32, shapes=[[None]]).shape)
            (?,)

        Args:
            name: the name of the stage, and of its node.
            function: takes arrays, and gives arrays of the stated types.
            inputs: a list of tensors.
            outputs: the element type of the result, or a list of those of several results; an empty list for none.
            shapes: the shape of each result, with None for unknown sizes; unknown unless given.
            policy: batches, time and restarts.
            resource: makes a context manager, such as a connection to a database, whose value the function gets first. It is
                entered when the pipeline is opened, and again for a restart.

        Returns:
            A tensor; a list of tensors if `outputs` is a list; the operation if the function has no result.

        Raises:
            TypeError: the function can't be called.
            AlreadyExistsError: there is a stage of this name.
        """
        policy = policy or StagePolicy()
        if not callable(function):
            raise TypeError(
                f"The function of the stage {name!r} is a {type(function).__name__}, which can't be called."
            )
        types = [outputs] if isinstance(outputs, DType) else list(outputs)
        batching = policy.batching or _ALONE
        declared = _Declared(lambda: FunctionWorker(function, resource), policy, batching, policy.batching is not None)
        results = self._node(name, inputs, types, shapes or [None] * len(types), declared)
        return results[0] if isinstance(outputs, DType) or not types else results

    def consumer(
        self,
        name: str,
        queue: Any,
        function: Callable[..., Any],
        *,
        policy: StagePolicy | None = None,
        resource: Resource | None = None,
    ) -> None:
        """Has a function take the elements of a queue in the background, so that no answer waits for it.

        A stage before it enqueues: make an output depend on `queue.enqueue`. A full queue holds up the requests. The function
        gets an array for each component, with a row for each element that is there, up to `policy.batching.max_size` (32). When
        the pipeline closes, the elements that are left have ten seconds.

        Example:
            >>> with af.serving.Pipeline() as pipeline:
            ...     rows, written = af.placeholder(af.float32, [], name="row"), []
            ...     queue = af.FIFOQueue(100, [af.float32], [[]])
            ...     with af.control_dependencies([queue.enqueue(rows)]):
            ...         same = af.identity(rows)
            ...     pipeline.consumer("store", queue, lambda values: written.extend(values.tolist()))
            >>> pipeline.serves({"row": rows}, {"same": same})
            >>> async with af.serving.Model(pipeline) as model:
            ...     await model.predict(2.5)
            2.5
            >>> written
            [2.5]

        Args:
            name: the name of the consumer.
            queue: a queue of the pipeline's graph, whose elements have known shapes.
            function: takes the components of a batch; its result has no use.
            policy: the size of batches, and restarts.
            resource: see `function`.

        Raises:
            AlreadyExistsError: there is a stage of this name.
        """
        policy = policy or StagePolicy()
        self._check(name)
        with self.graph.as_default():
            taken = placeholder(int32, [], name=f"{name}_taken")
            first, more = _listed(queue.dequeue_many(1)), _listed(queue.dequeue_many(taken))
            ends = Ends(first, more, taken, queue.size(), queue.close())
        declared = _Declared(lambda: FunctionWorker(function, resource), policy, policy.batching or Batching(), True)
        self._consumers[name] = ends, declared

    def serves(self, inputs: Mapping[str, Tensor], outputs: Mapping[str, Any]) -> None:
        """States the inputs and outputs that requests name. It ends the declaration.

        Example:
            >>> with af.serving.Pipeline() as pipeline:
            ...     rows = af.placeholder(af.float32, [None], name="rows")
            ...     pipeline.serves({"rows": rows}, {"same": rows + 0.0})

        Args:
            inputs: placeholders by name.
            outputs: tensors by name.
        """
        with self.graph.as_default():
            initializer = global_variables_initializer()
        signatures = stated(self.graph, {DEFAULT: (inputs, outputs)})

        async def start(session: Session) -> None:
            await session.run(initializer)

        # Rows are put together at the stages: a request may have fewer or more of them behind a stage than before it.
        described = {name: replace(signature, is_batched=False) for name, signature in signatures.items()}
        self._source = Source(self.graph, described, start)

    def _check(self, name: str) -> None:
        if name in self._stages or name in self._consumers:
            raise AlreadyExistsError(f"The pipeline has a stage {name!r} already.")
        if self._source is not None:
            raise FailedPreconditionError(f"The stage {name!r} comes after `serves`, which ends the declaration.")

    def _node(
        self, name: str, inputs: Sequence[Any], types: Sequence[DType], shapes: Sequence[Any], declared: _Declared
    ) -> list[Any]:
        """Adds a stage: the outputs of its node, or its operation."""
        self._check(name)

        async def call(*values: Any) -> list[Any]:
            running = self._running
            if running is None:
                raise FailedPreconditionError(f"The pipeline of the stage {name!r} is not open.")
            return await running.stages[name].call(*values)

        with self.graph.as_default():
            results = called(py_func_op, call, list(inputs), list(types), name, f"of the stage {name!r}")
        outputs: list[Any] = list(results) if isinstance(results, list) else [results]
        for tensor, shape in zip(outputs if types else (), shapes):
            tensor.set_shape(shape)
        self._stages[name] = declared
        return outputs

    # ---- in a server

    def entrance(self, batching: Batching) -> Batching:
        """See `Flow`."""
        return Batching(1, 0.0, batching.max_queued, self._max_requests)

    def source(self) -> Source:
        """See `Flow`. Raises FailedPreconditionError before `serves`."""
        if self._source is None:
            raise FailedPreconditionError("The pipeline has no outputs: pipeline.serves(inputs, outputs) states them.")
        return self._source

    async def open(self, session: Session) -> RunningPipeline:
        """See `Flow`. Raises FailedPreconditionError if it is open, and whatever a stage raises that can't be opened."""
        if self._running is not None and not self._running.has_ended:
            raise FailedPreconditionError("The pipeline is open in another model; it is open once at a time.")
        stages = {
            name: PipelineStage(name, each.worker(), each.policy, each.batching, each.has_rows)
            for name, each in self._stages.items()
        }
        consumers = [
            Consumer(name, session, ends, each.worker(), each.policy) for name, (ends, each) in self._consumers.items()
        ]
        running = self._running = RunningPipeline(stages, consumers, self._closed)
        await running.open()
        return running

    def _closed(self, running: RunningPipeline) -> None:
        if self._running is running:
            self._running = None


def _newest(path: str) -> str:
    """The model at a path, or the highest version in the folder there."""
    versions = numbered(path)
    return versions[max(versions)] if versions else path


def _listed(components: Any) -> list[Tensor]:
    if isinstance(components, Mapping):
        return list(components.values())
    return list(components) if isinstance(components, (list, tuple)) else [components]
