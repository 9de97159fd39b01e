"""`ConcreteFunction`: one trace of a function, and the compiled plans that run it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base import nest
from actorflow.base.dtypes import DType
from actorflow.base.process import forks
from actorflow.base.reports.user_line import user_line
from actorflow.engine.eager.functions.func_graph import FuncGraph
from actorflow.engine.eager.functions.home import Home
from actorflow.engine.eager.launches import settled
from actorflow.engine.eager.operation import EagerOperation
from actorflow.engine.eager.tapes import recording as tapes
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.session.awaitables import Callable_
from actorflow.engine.session.session import Session
from actorflow.errors import describe
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.autodiff.walk import differentiable
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import placeholder_op
from actorflow.graph.ops.flow.control import group, identity
from actorflow.graph.tensor import Operation, Tensor


class ConcretePlan:
    """Fetches of a graph from values for some of its tensors, for callers that block and for those that await."""

    def __init__(self, owner: GraphSessions, feeds: Sequence[Tensor], fetches: Sequence[Tensor | Operation]) -> None:
        self._owner = owner
        self._feeds = list(feeds)
        self._fetches = list(fetches)
        self._driver: LoopDriver | None = None
        self._call: Callable_ | None = None
        """Of a session that runs on the driver's loop."""
        self._on_loops: weakref.WeakKeyDictionary[Any, Callable_] = weakref.WeakKeyDictionary()

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The values of the fetches. Blocks."""
        if tapes.recording():
            with tapes.only(()):  # sessions keep copies of contexts, and would keep the tapes
                return self(values)
        driver = self._owner.driver
        call = self._call if self._driver is driver else None
        if call is None:
            session = self._owner.session
            with self._owner.lock:
                self._owner.home.settle()
                if self._driver is not driver or self._call is None:
                    self._call = driver.call(lambda: session.make_callable(self._fetches, self._feeds))
                    self._driver = driver  # last: other threads look at it first
                call = self._call
        return driver.begin(lambda: call.begin(*values))

    async def run(self, values: Sequence[Any]) -> list[Any]:
        """The same on the running event loop."""
        if tapes.recording():
            with tapes.only(()):
                return await self.run(values)
        loop = asyncio.get_running_loop()
        call = self._on_loops.get(loop)
        if call is None:
            await self._owner.home.settled(self._owner.on(loop))
            call = self._on_loops[loop] = await self._owner.on(loop).make_callable(self._fetches, self._feeds)
        values_out: list[Any] = await call(*values)
        return values_out


class _CallersLoop:
    """The event loop that blocking callers drive. It is closed with the last function that uses it."""

    __slots__ = ("__weakref__", "driver")

    def __init__(self) -> None:
        self.driver = LoopDriver()
        weakref.finalize(self, self.driver.close, wait=False)


_shared: weakref.ref[_CallersLoop] | None = None
_shared_lock = forks.new_lock()


def shared_loop() -> _CallersLoop:
    """The event loop of all functions and datasets whose callers block."""
    global _shared
    with _shared_lock:
        loop = None if _shared is None else _shared()
        if loop is None or loop.driver.is_of_parent:
            loop = _CallersLoop()
            _shared = weakref.ref(loop)
        return loop


class GraphSessions:
    """The sessions of one graph: a session for callers that block, and a session for each event loop on which the graph is
    awaited."""

    def __init__(self, graph: FuncGraph, target: str | None) -> None:
        self._graph = graph
        self._target = target
        self.lock = forks.new_lock()
        """Held while a plan is made for callers that block."""
        self._session: Session | None = None
        self._loop: _CallersLoop | None = None
        self._on_loops: weakref.WeakKeyDictionary[Any, Session] = weakref.WeakKeyDictionary()
        self.home = Home(graph, self)

    @property
    def session(self) -> Session:
        """The session for callers that block."""
        with self.lock:
            if self._session is None:
                self._session = self._opened()
            return self._session

    @property
    def driver(self) -> LoopDriver:
        """The event loop of callers that block."""
        if self._loop is None or self._loop.driver.is_of_parent:
            with self.lock:
                if self._loop is None or self._loop.driver.is_of_parent:
                    self._loop, self._session = shared_loop(), None
        return self._loop.driver

    def on(self, loop: Any) -> Session:
        """The session of an event loop."""
        session = self._on_loops.get(loop)
        if session is None:
            session = self._on_loops[loop] = self._opened()
        return session

    def _opened(self) -> Session:
        session = Session(self._target, self._graph)
        session.ends_with_its_owner = True
        return session


class ConcreteFunction:
    """A function for arguments of fixed types and shapes; call it with tensors.

    `graph`, `inputs`, `outputs`, `structured_outputs` and `variables` tell what was traced. Made by
    `af.function(...).get_concrete_function(...)` and by calls.
    """

    def __init__(
        self, name: str, graph: FuncGraph, arguments: Sequence[Tensor], result: Any, target: str | None
    ) -> None:
        self.name = name
        self.graph = graph
        self.structured_outputs = result
        self._leaves, self._rebuild = nest.parse(result)
        with graph.as_default():
            self.outputs = [
                _output(graph, leaf) for leaf in self._leaves if not isinstance(leaf, (Operation, type(None)))
            ]
            effects = graph.effects()
            self._done = [group(*effects, name="effects")] if effects else []
        captured = list(graph.captures.values())
        self.inputs: list[Tensor] = [*arguments, *(symbol for _, symbol in captured)]
        self.captured = [tensor for tensor, _ in captured]
        self.variables = graph.variables_used()
        self._explicit = len(arguments)
        self._plans = GraphSessions(graph, target)
        self._forward = ConcretePlan(self._plans, self.inputs, [*self.outputs, *self._done])
        self._dtypes = [tensor.dtype for tensor in self.outputs]
        self._derivative: Derivative | None = None
        self._simple = result is self.outputs[0] if len(self.outputs) == 1 else False

    def __call__(self, *args: Any) -> Any:
        """Runs with a tensor for each of the traced tensors.

        Raises:
            TypeError: there are more or fewer.
        """
        if len(args) != self._explicit:
            raise TypeError(f"{self.name} takes {self._explicit} tensors, but {len(args)} were given.")
        return self.call([convert_to_tensor(arg) for arg in args])

    def call(self, tensors: Sequence[Any]) -> Any:
        """The result of a call, in the structure that the function of Python gave."""
        inputs = [*tensors, *self.captured]
        watched = tapes.recording() and self._is_watched(inputs)
        if watched:
            return self._structured(self._recorded(inputs))
        values = self._forward([tensor._value for tensor in inputs])
        return self._structured(_tensors(values, self._dtypes))

    async def run(self, tensors: Sequence[Any]) -> Any:
        """The result of a call, computed on the running event loop. No tape watches it."""
        inputs = (*tensors, *self.captured)
        await settled(inputs)
        values = await self._forward.run([tensor._value for tensor in inputs])
        return self._structured(_tensors(values, self._dtypes))

    def _structured(self, outputs: Sequence[EagerTensor]) -> Any:
        if self._simple:
            return outputs[0]
        values = iter(outputs)
        return self._rebuild(
            [None if isinstance(leaf, (Operation, type(None))) else next(values) for leaf in self._leaves]
        )

    # Gradients

    def _is_watched(self, inputs: Sequence[EagerTensor]) -> bool:
        return any(
            any(id(tensor) in tape.watched for tensor in inputs)
            or any(id(v._handle) in tape.watched or tape.watch_variables and v.trainable for v in self.variables)
            for tape in tapes.recording()
        )

    def _recorded(self, inputs: list[EagerTensor]) -> list[EagerTensor]:
        if self._derivative is None:
            self._derivative = Derivative(self)
        derivative = self._derivative
        values = derivative.forward([tensor._value for tensor in inputs])
        count = len(self.outputs)
        outputs = _tensors(values[:count], self._dtypes)
        kept = values[count : count + len(derivative.kept)]
        operation = EagerOperation(
            "CustomGradient", {}, (*inputs, *(v._handle for v in self.variables)), outputs, self.name
        )
        operation.rule = lambda node, *dys: derivative.of_inputs(inputs, kept, dys)
        for tape in tapes.recording():
            for variable in self.variables:
                tapes.watch_read(tape, variable._handle)
        tapes.record(operation)
        return outputs

    def __repr__(self) -> str:
        kinds = ", ".join(f"{t.dtype} {t.shape}" for t in self.inputs[: self._explicit])
        return f"<actorflow function {self.name}({kinds})>"


class Derivative:
    """The gradients of a concrete function. The values that they use on the way are fetched with the result, and fed
    again; if branches or loops are in the way, or gradients of gradients are asked for, they are computed again."""

    def __init__(self, function: ConcreteFunction) -> None:
        self._function = function
        graph = function.graph
        before = set(graph.nodes)
        self.xs = [*function.inputs, *(graph.handle_of(v) for v in function.variables)]
        with graph.as_default():
            ys = [y for y in function.outputs if differentiable(y)]
            self._dys = [placeholder_op(dtype=y.dtype, shape=y.static_shape, name="dy") for y in ys]
            slopes = gradients(ys, self.xs, self._dys) if ys else [None] * len(self.xs)
            self._found = [None if g is None else convert_to_tensor(g) for g in slopes]
        present = [g for g in self._found if g is not None]
        self._again = graph.has_flows
        self.kept: list[Tensor] = [] if self._again else _used(graph, before, present, set(function.inputs))
        if self._again and any(op.definition.writes or op.type == "PyFunc" for op in graph.effects()):
            raise NotImplementedError(
                describe(
                    f"{function.name} has branches or loops, and effects: its gradient would compute it again.",
                    where=user_line(),
                    hint="Take the gradient inside of the function.",
                )
            )
        self.forward = ConcretePlan(function._plans, function.inputs, [*function.outputs, *self.kept, *function._done])
        self._backward = ConcretePlan(function._plans, [*function.inputs, *self.kept, *self._dys], present)

    def of_inputs(self, inputs: Sequence[EagerTensor], kept: Sequence[Any], dys: Sequence[Any]) -> list[Any]:
        """The gradients of the inputs and variables. None stands for a missing gradient."""
        outputs = self._function.outputs
        seeds = [convert_to_tensor(dy) for y, dy in zip(outputs, dys) if differentiable(y)]
        if tapes.recording():
            slopes = iter(self._repeated().call([*inputs, *seeds]))
        else:
            values = self._backward([*(t._value for t in inputs), *kept, *(dy._value for dy in seeds)])  # type: ignore[attr-defined]
            present = [g for g in self._found if g is not None]
            slopes = iter(_tensors(values, [g.dtype for g in present]))
        return [None if g is None else next(slopes) for g in self._found]

    def _repeated(self) -> ConcreteFunction:
        """A function that computes the gradients from the inputs alone, and has gradients itself."""
        function, graph = self._function, self._function.graph
        if graph.uses_randomness or function._done:
            raise NotImplementedError(
                describe(
                    f"{function.name} draws random numbers or has effects, so gradients of its gradients would compute it again.",
                    where=user_line(),
                    hint="Take the inner gradient inside of the function.",
                )
            )
        function_of = ConcreteFunction.__new__(ConcreteFunction)
        function_of.name, function_of.graph, function_of.structured_outputs = f"{function.name}_gradient", graph, None
        function_of.outputs = [g for g in self._found if g is not None]
        function_of._leaves, function_of._rebuild = nest.parse(function_of.outputs)
        function_of.inputs = [*function.inputs, *self._dys]
        function_of.captured, function_of.variables, function_of._explicit, function_of._done = (
            [],
            function.variables,
            len(function_of.inputs),
            [],
        )
        function_of._plans = function._plans
        function_of._forward = ConcretePlan(function_of._plans, function_of.inputs, function_of.outputs)
        function_of._dtypes = [tensor.dtype for tensor in function_of.outputs]
        function_of._derivative, function_of._simple = None, False
        return function_of


def _used(graph: FuncGraph, before: set[str], ends: Sequence[Tensor], fed: set[Tensor]) -> list[Tensor]:
    """The tensors of the nodes `before` that gradients take, but for inputs, constants and handles."""
    kept: dict[Tensor, None] = {}
    seen: set[str] = set()
    stack = list(ends)
    while stack:
        tensor = stack.pop()
        operation = tensor.op
        if operation.name in before:
            if tensor not in fed and operation.type != "Const" and not tensor.dtype.is_ref:
                kept[tensor] = None
        elif operation.name not in seen:
            seen.add(operation.name)
            stack.extend(operation.inputs)
    return list(kept)


def _output(graph: FuncGraph, leaf: Any) -> Tensor:
    tensor = convert_to_tensor(leaf)
    if isinstance(tensor, EagerTensor):
        tensor = graph.capture(tensor)
    if tensor.graph is not graph:
        raise ValueError(f"{tensor.name} belongs to another graph than the function that returns it.")
    return identity(tensor) if tensor.op.type in ("Placeholder", "Const") else tensor


def _tensors(values: Sequence[Any], dtypes: Sequence[DType]) -> list[EagerTensor]:
    return [EagerTensor(np.asarray(v, object) if type(v) is bytes else v, d) for v, d in zip(values, dtypes)]
