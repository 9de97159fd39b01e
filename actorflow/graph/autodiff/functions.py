"""Gradients of functions: another function, traced once when a gradient is first asked for.

Its body goes on from that of the function: it uses the values there, and has the gradients of the outputs as further
parameters. So a call of it shares what the forward call computed, where both are in one loop and branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.registry import opdef
from actorflow.errors import describe
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.control_flow.context import current
from actorflow.graph.control_flow.function_body import FunctionBody, call_function, function_of, gradient_of, table
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor


def call_gradient(node: Operation, dys: Sequence[Tensor | None]) -> list[Any]:
    """The gradients of a call's inputs, from those of its outputs.

    Raises:
        LookupError: the gradient is a Python function, and the graph was stored and loaded.
        NotImplementedError: the function draws random numbers or changes a state, and the gradient is taken in another
            loop or branch, which would compute the function again.
    """
    graph = node.graph
    function = function_of(graph, node.attrs["function"])
    assert function.returned is not None
    if function.returned.attrs["python_gradient"]:
        return _by_python(node, function, dys)
    slopes = [dy for dy in dys if dy is not None]
    if own := function.returned.attrs["gradient_function"]:
        gradient = function_of(graph, own)
        outputs = call_function(gradient, [*node.inputs[: _explicit(function)], *slopes])
        return [*outputs, *[None] * (len(node.inputs) - len(outputs))]
    gradient = gradient_of(function) or _trace(function)
    assert gradient.returned is not None
    shared = current(graph) is graph.flow_of(node.name)
    if not shared:
        _check_repeatable(node, function)
    outputs = call_function(
        gradient, [*node.inputs, *slopes], of=node.name if shared else "", name=f"{node.name.rpartition('/')[2]}_grad"
    )
    results: list[Any] = [None] * len(node.inputs)
    for index, value in zip(gradient.returned.attrs["wrt"], outputs):
        results[index] = value
    return results


def _explicit(function: FunctionBody) -> int:
    return sum(not argument.op.attrs["source"] for argument in function.parameters)


def _trace(function: FunctionBody) -> FunctionBody:
    from actorflow.graph.autodiff.gradients import gradients
    from actorflow.graph.autodiff.walk import differentiable

    graph = function.context.graph
    with graph.name_scope(None):
        derivative = FunctionBody(graph.unique_name(f"{function.name}_grad"), function.context, function)
    wrt: list[int] = []

    def build() -> list[Tensor]:
        ys = [y for y in function.outputs if differentiable(y)]
        dys = [derivative.add_argument(y.dtype.base_dtype, y.static_shape, name="dy") for y in ys]
        xs = function.parameters
        outputs = []
        for index, slope in enumerate(gradients(ys, xs, dys) if ys else []):
            if slope is not None:
                wrt.append(index)
                outputs.append(convert_to_tensor(slope))
        return outputs

    try:
        derivative.trace(build, wrt=wrt)
    except Exception as error:
        error.add_note(f"  while building the gradient of the function {function.name}, made at {function.where}")
        raise
    table(graph)[derivative.name] = table(graph)[("gradient", function.name)] = derivative
    return derivative


def _by_python(node: Operation, function: FunctionBody, dys: Sequence[Tensor | None]) -> list[Any]:
    rule = table(node.graph).get(("python gradient", function.name))
    if rule is None:
        raise LookupError(
            describe(
                f"The gradient of the function {function.name} is a Python function, which is no part of a stored graph.",
                node=node.name,
                op=node.type,
                where=node.where,
                hint="Build this part of the graph by the program that defines the function.",
            )
        )
    result = rule(node, *dys)
    slopes = list(result) if isinstance(result, (list, tuple)) else [result]
    return [*slopes, *[None] * (len(node.inputs) - len(slopes))]


def _check_repeatable(node: Operation, function: FunctionBody) -> None:
    graph: Graph = node.graph
    assert function.returned is not None
    for inner in _body(graph, function.returned.name):
        if opdef.lookup(inner.op).stateful and inner.op != "ReadVariableOp":
            raise NotImplementedError(
                describe(
                    f"The gradient of a call of {function.name} inside of a loop computes the function again, and "
                    f"{inner.name} ({inner.op}) would give another result or have its effect twice.",
                    node=node.name,
                    op=node.type,
                    where=node.where,
                    hint="Use the body itself inside of the loop, not a function.",
                )
            )


def _body(graph: Graph, end: str) -> list[Any]:
    """The nodes of a body, and of the functions that it calls."""
    nodes = list(prune(Subgraph(graph.nodes, {}, (), (end,))).nodes.values())
    for node in list(nodes):
        if node.op == "Call":
            inner = function_of(graph, node.attrs["function"]).returned
            assert inner is not None
            nodes.extend(_body(graph, inner.name))
    return nodes
