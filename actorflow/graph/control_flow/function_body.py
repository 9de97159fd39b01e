"""The bodies of functions: where their nodes are made, and what the graph knows of each function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape
from actorflow.errors import Where, describe
from actorflow.graph import scopes
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.control_flow.context import Context
from actorflow.graph.control_flow.variable_reads import read_here
from actorflow.graph.graph import Graph
from actorflow.graph.ops.flow.functions import argument, returned
from actorflow.graph.tensor import Operation, Tensor

_FUNCTIONS = "_functions"


class FunctionContext(Context):
    """The body of a function, and of those that compute its gradients. A tensor of the graph around becomes a
    parameter."""

    def __init__(self, graph: Graph, name: str) -> None:
        super().__init__(graph, name, None)
        self.controls = ()  # a call waits, not the body
        self.tracing: FunctionBody | None = None

    def bring(self, outer: Tensor) -> Tensor:
        assert self.tracing is not None, "the body of a function changes only while it is traced"
        return self.tracing.add_argument(outer.dtype, outer.static_shape, source=outer.name)

    def admit(self, op: str, inputs: Sequence[Tensor], controls: Sequence[str]) -> tuple[list[Tensor], tuple[str, ...]]:
        """See `Context.admit`."""
        for control in controls:
            if self.graph.flow_of(control) is not self:
                raise ValueError(
                    describe(
                        f"{control} is outside of {self}, whose nodes can't wait for it.",
                        where=user_line(),
                        hint="Let the call wait for it.",
                    )
                )
        return super().admit(op, inputs, controls)

    def __str__(self) -> str:
        return f"the function {self.name} made at {self.where}"


@dataclass(slots=True)
class FunctionBody:
    """A named part of a graph with parameters. `arguments` are its own, after those of the function whose gradient it
    computes (`base`)."""

    name: str
    context: FunctionContext
    base: FunctionBody | None = None
    arguments: list[Tensor] = field(default_factory=list)
    returned: Operation | None = None

    @property
    def where(self) -> Where | None:
        return self.context.where

    @property
    def parameters(self) -> list[Tensor]:
        """All of them, in the order in which a call gives them."""
        return (self.base.parameters if self.base is not None else []) + self.arguments

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        assert self.returned is not None
        return self.returned.inputs

    @property
    def types(self) -> tuple[DType, ...]:
        return tuple(tensor.dtype for tensor in self.outputs)

    def captured(self) -> list[Tensor]:
        """The tensors of the graph around for which the last of its own parameters stand."""
        graph = self.context.graph
        sources = [parameter.op.attrs["source"] for parameter in self.arguments]
        return [graph.get_tensor_by_name(source) for source in sources if source]

    def add_argument(self, dtype: DType, shape: Shape, source: str = "", name: str | None = None) -> Tensor:
        graph = self.context.graph
        number = len(self.base.parameters if self.base is not None else ()) + len(self.arguments)
        attrs = {"dtype": dtype, "shape": shape, "function": self.name, "index": number, "source": source}
        with scopes.changed(graph, flow=None, controls=(), colocate=()), graph.name_scope(f"{self.name}/"):
            tensor = graph.create_op(argument.definition.type, (), attrs, name or "captured").outputs[0]
        graph.set_flow(tensor.op, self.context)
        self.arguments.append(tensor)
        return tensor

    def trace(self, build: Callable[[], Sequence[Tensor]], **attrs: Any) -> None:
        """Makes the body: `build` gives the outputs. A node that changes a state and is outside of loops and branches
        belongs to it even if no output needs it."""
        graph, context = self.context.graph, self.context
        before = len(graph.nodes)
        clean: dict[str, Any] = {"flow": context, "controls": (), "names": self.name, "devices": (), "colocate": ()}
        outer, context.tracing = context.tracing, self
        try:
            with graph.as_default(), scopes.changed(graph, origin=None, **clean):
                outputs = list(build())
                effects = [] if self.base is not None else _effects(context, list(graph.nodes)[before:])
                with graph.control_dependencies(effects):
                    self.returned = graph.create_op(
                        returned.definition.type,
                        outputs,
                        {
                            "function": self.name,
                            "gradient_of": self.base.name if self.base is not None else "",
                            "wrt": (),
                            "gradient_function": "",
                            "python_gradient": False,
                            **{key: tuple(v) if isinstance(v, list) else v for key, v in attrs.items()},
                        },
                        "Return",
                        self.where,
                    )
        finally:
            context.tracing = outer


def _effects(context: FunctionContext, names: Sequence[str]) -> list[Operation]:
    """The nodes that change a state, or whose effect is not their result."""
    graph = context.graph
    operations = []
    for name in names:
        if graph.flow_of(name) is context:
            operation = graph.get_operation_by_name(name)
            definition = operation.definition
            unused = definition.stateful and not any(t.consumers() for t in operation.outputs)
            if definition.writes or unused and operation.type != "ReadVariableOp":
                operations.append(operation)
    return operations


def table(graph: Graph) -> dict[Any, Any]:
    """The functions of a graph: them by name, and Python's parts of them."""
    collection = graph.get_collection_ref(_FUNCTIONS)
    if not collection:
        collection.append({})
    functions: dict[Any, Any] = collection[0]
    return functions


def function_of(graph: Graph, name: str) -> FunctionBody:
    """The function `name` of `graph`, which may have come with a stored graph. Raises LookupError for an unknown name."""
    function = table(graph).get(name)
    if function is None:
        function = table(graph)[name] = _restored(graph, name)
    return function


def _restored(graph: Graph, name: str) -> FunctionBody:
    ends = [op for op in graph.get_operations() if op.type == "_Return" and op.attrs["function"] == name]
    if not ends:
        raise LookupError(f"The graph has no function {name!r}.")
    end = ends[0]
    base = function_of(graph, end.attrs["gradient_of"]) if end.attrs["gradient_of"] else None
    context = base.context if base is not None else FunctionContext(graph, name)
    context.where = context.where if base is not None else end.where
    arguments = [op for op in graph.get_operations() if op.type == "_Arg" and op.attrs["function"] == name]
    arguments.sort(key=lambda op: op.attrs["index"])
    body = prune(Subgraph(graph.nodes, {}, (), (end.name,)))
    for node in (*body.nodes, *(op.name for op in arguments)):
        if graph.flow_of(node) is None:
            graph.set_flow(graph.get_operation_by_name(node), context)
    function = FunctionBody(name, context, base, [op.outputs[0] for op in arguments], end)
    for parameter in function.arguments:
        if source := parameter.op.attrs["source"]:
            context.captured[graph.get_tensor_by_name(source).tensor_id] = parameter
    return function


def gradient_of(function: FunctionBody) -> FunctionBody | None:
    """The function that computes the gradients of `function`, if there is one already."""
    graph = function.context.graph
    gradient = table(graph).get(("gradient", function.name))
    if gradient is None:
        for operation in graph.get_operations():
            if operation.type == "_Return" and operation.attrs["gradient_of"] == function.name:
                gradient = table(graph)[("gradient", function.name)] = function_of(graph, operation.attrs["function"])
    return gradient


def call_function(
    function: FunctionBody, given: Sequence[Tensor], *, of: str = "", name: str | None = None
) -> tuple[Tensor, ...]:
    """Makes a call. `given` are the values of all parameters but those that stand for tensors of the graph around."""
    return make_call(function, given, of=of, name=name).outputs


def make_call(
    function: FunctionBody, arguments: Sequence[Tensor], *, of: str = "", name: str | None = None
) -> Operation:
    """The node of a call, with what is known of its outputs' shapes."""
    from actorflow.graph.analysis.specialise import output_shapes

    graph = function.context.graph
    named = function.context.named
    captured = [read_here(named[t.tensor_id], t) if t.tensor_id in named else t for t in function.captured()]
    inputs = [*arguments, *captured]
    attrs = {"function": function.name, "types": function.types, "of": of}
    assert function.returned is not None
    shapes = output_shapes(graph.nodes, function.returned.node, [t.static_shape for t in inputs])
    call = graph.create_op("Call", inputs, attrs, name or function.name.rpartition("/")[2])
    for tensor, shape in zip(call.outputs, shapes):
        tensor.set_shape(shape)
    return call
