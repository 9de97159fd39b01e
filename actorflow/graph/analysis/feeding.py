"""The change that feeds and assignments make for the rest of the graph: what may be fed at all, and which static shapes do not
hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.registry import opdef, roles
from actorflow.errors import InvalidArgumentError
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import ROOT, frames
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.constant_value import constant_value, shape_value
from actorflow.graph.node import Node, TensorId


def forget_shapes(graph: Subgraph, nodes: Mapping[str, Node]) -> Subgraph:
    """Infers static shapes again that may not hold. They are below a tensor that is fed now, such as the constant `s`
    of `fill(s, 1.0)`, or below a variable to which some node assigns values of any shape. `nodes` are those of the
    whole graph."""
    replaced = {e.node for e in graph.feeds if e.node in nodes and nodes[e.node].role is not roles.PLACEHOLDER}
    changing = changing_variables(nodes)
    if not replaced and changing.isdisjoint(graph.nodes):
        return graph
    inferred: dict[str, Node] = {}
    touched: set[str] = set()
    current = graph.with_nodes(())
    for node in yielding(graph.nodes.values()):
        below = any(e in graph.feeds and e.node in replaced or e.node in touched for e in node.inputs)
        if node.name in changing or below and node.role in (roles.MERGE, roles.ENTER):
            touched.add(node.name)
            node = replace(node, shapes=(None,) * len(node.shapes))
        elif below:
            touched.add(node.name)
            node = _inferred(node, replace(current, nodes=inferred))
        inferred[node.name] = node
    return graph.with_nodes(inferred.values())


def changing_variables(nodes: Mapping[str, Node]) -> set[str]:
    """The handles of variables to which some node assigns values of any shape."""
    return {n.inputs[0].node for n in nodes.values() if n.op == "Assign" and not n.attrs.get("validate_shape", True)}


def _inferred(node: Node, graph: Subgraph) -> Node:
    nodes = {name: other for name, other in graph.nodes.items() if not any(e.node == name for e in graph.feeds)}
    types = [graph.type_of(e) for e in node.inputs]
    definition = opdef.lookup(node.op)

    def value(index: int) -> Any:
        return constant_value(nodes, node.inputs[index])

    try:
        _, shapes = definition.infer(
            opdef.Inference(
                definition,
                node.attrs,
                [dtype for dtype, _ in types],
                [shape for _, shape in types],
                value,
                lambda index, rank: shape_value(nodes, node.inputs[index], rank),
            )
        )
    except (TypeError, ValueError):  # the run says what does not fit
        return replace(node, shapes=(None,) * len(node.shapes))
    return replace(node, shapes=tuple(shapes))


def watch_targets(graph: Subgraph, placed: Mapping[str, str]) -> Subgraph:
    """Makes each target of a partial run a fetch as well, behind the others, which is there when the target has run."""
    watched = [
        Node(
            name=f"{target}/_done",
            op="_Done",
            controls=(target,),
            dtypes=(bool_dtype,),
            shapes=((),),
            device=placed.get(target, ""),
            where=graph.nodes[target].where,
        )
        for target in graph.targets
    ]
    return replace(
        graph.with_nodes([*graph.nodes.values(), *watched]),
        fetches=(*graph.fetches, *(TensorId(node.name, 0) for node in watched)),
    )


def check_loops(graph: Subgraph) -> None:
    """Raises InvalidArgumentError if something inside of a loop is fed or fetched: each iteration has its own."""
    loops = frames(graph)
    if not loops.parent:
        return
    inside = [(e.node, "fetched") for e in graph.fetches if e not in graph.feeds]
    inside += [(t, "fetched") for t in graph.targets]
    for name, what in inside:
        node = graph.nodes[name]
        if loops.output(node) != ROOT:
            raise _inside(node, loops.output(node), what)
    for node in graph.nodes.values():
        if loops.of[node.name] != ROOT and any(e in graph.feeds for e in node.inputs):
            raise _inside(node, loops.of[node.name], "fed")


def _inside(node: Node, frame: str, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{node.name if what == 'fetched' else f'An input of {node.name}'} is inside of the loop "
        f"{frame.removesuffix('/frame')}, and can't be {what}: there is one in each iteration.",
        node=node.name,
        op=node.op,
        where=node.where,
        hint="Fetch what leaves the loop, or gather the values of all iterations in a TensorArray.",
    )
