"""Calls of functions as nodes."""

from __future__ import annotations

from collections.abc import Sequence

from actorflow.control_flow.function_body import Function
from actorflow.graph.tensor import Operation, Tensor


def call_function(
    function: Function, given: Sequence[Tensor], *, of: str = "", name: str | None = None
) -> tuple[Tensor, ...]:
    """Makes a call. `given` are the values of all parameters but those that stand for tensors of the graph around."""
    return make_call(function, given, of=of, name=name).outputs


def make_call(function: Function, given: Sequence[Tensor], *, of: str = "", name: str | None = None) -> Operation:
    """The node of a call, with what is known of its outputs' shapes."""
    from actorflow.analysis.specialise import output_shapes

    graph = function.context.graph
    inputs = [*given, *function.captured()]
    attrs = {"function": function.name, "types": function.types, "of": of}
    assert function.returned is not None
    shapes = output_shapes(graph.nodes, function.returned.node, [t.static_shape for t in inputs])
    made = graph.create_op("Call", inputs, attrs, name or function.name.rpartition("/")[2])
    for tensor, shape in zip(made.outputs, shapes):
        tensor.set_shape(shape)
    return made
