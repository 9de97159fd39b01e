"""Static shapes in the body of a function, for the shapes that one call gives to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from actorflow.base.registry import opdef, roles
from actorflow.base.shapes import Shape, merge
from actorflow.errors import describe
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import ROOT, frames
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.constant_value import constant_value, shape_value
from actorflow.graph.node import Node, TensorId


def return_of(nodes: Mapping[str, Node], function: str) -> Node:
    """The end of a function's body."""
    return next(n for n in nodes.values() if n.role is roles.RETURN and n.attrs["function"] == function)


def body_of(nodes: Mapping[str, Node], end: Node) -> Subgraph:
    """The nodes of a body, its parameters among them, in a topological order."""
    return prune(Subgraph(nodes, {}, end.inputs, end.controls))


def specialised(nodes: Mapping[str, Node], end: Node, shapes: Sequence[Shape]) -> dict[str, Node]:
    """The nodes of a body with what is known of their shapes where the parameters have `shapes`. Loops stay as they are.

    Raises:
        ValueError: the shapes do not fit; the message names the line of the body.
    """
    body = body_of(nodes, end)
    loops = frames(body)
    inferred: dict[str, Node] = {}
    for node in body.nodes.values():
        if node.role is roles.ARGUMENT:
            node = replace(node, shapes=(merge(node.shapes[0], shapes[node.attrs["index"]]),))
        elif loops.of[node.name] == ROOT and node.role not in (roles.ENTER, roles.EXIT, roles.MERGE) and node.inputs:
            node = _inferred(nodes, inferred, node)
        inferred[node.name] = node
    return inferred


def expected_sizes(graph: Subgraph, nodes: Mapping[str, Node], fed: Mapping[TensorId, Shape]) -> dict[TensorId, Shape]:
    """The shapes that tensors have where the feeds have those in `fed`: of those whose static shapes leave something open.
    `nodes` are those of the whole graph. Sizes in loops or behind a Merge stay open."""
    if not fed:
        return {}
    loops = frames(graph)
    inferred: dict[str, Node] = {e.node: nodes[e.node] for e in graph.feeds}
    for tensor_id, shape in fed.items():
        node = inferred[tensor_id.node]
        shapes = [shape if port == tensor_id.port else old for port, old in enumerate(node.shapes)]
        inferred[node.name] = replace(node, shapes=tuple(shapes))
    for name, node in yielding(graph.nodes.items()):
        if name in inferred:
            continue
        if loops.of[name] == ROOT and node.role not in (roles.ENTER, roles.EXIT, roles.MERGE) and node.inputs:
            with suppress(ValueError):  # the run says what does not fit
                node = _inferred(nodes, inferred, node)
        inferred[name] = node
    static = {**{e.node: nodes[e.node] for e in graph.feeds}, **graph.nodes}
    return {
        TensorId(name, port): shape
        for name, node in inferred.items()
        for port, shape in enumerate(node.shapes)
        if shape != static[name].shapes[port]
    }


def output_shapes(nodes: Mapping[str, Node], end: Node, shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes of what a function gives, from those that its parameters take. Raises ValueError as `specialised`."""
    body = specialised(nodes, end, shapes)
    return [body[e.node].shapes[e.port] for e in end.inputs]


def _inferred(nodes: Mapping[str, Node], inferred: Mapping[str, Node], node: Node) -> Node:
    inputs = [inferred[e.node] for e in node.inputs]
    shapes: Any = [source.shapes[e.port] for source, e in zip(inputs, node.inputs)]
    try:
        if node.role is roles.CALL:
            inferred_shapes: Sequence[Shape] = output_shapes(nodes, return_of(nodes, node.attrs["function"]), shapes)
        else:
            definition = opdef.lookup(node.op)
            _, inferred_shapes = definition.infer(
                opdef.Inference(
                    definition,
                    node.attrs,
                    [source.dtypes[e.port] for source, e in zip(inputs, node.inputs)],
                    shapes,
                    lambda index: constant_value(inferred, node.inputs[index]),
                    lambda index, rank: shape_value(inferred, node.inputs[index], rank),
                )
            )
        return replace(node, shapes=tuple(merge(old, new) for old, new in zip(node.shapes, inferred_shapes)))
    except (TypeError, ValueError) as error:
        kinds = [f"input {i}: shape {shape}" for i, shape in enumerate(shapes)]
        raise ValueError(describe(str(error), node=node.name, op=node.op, where=node.where, details=kinds)) from None
