"""Constant folding: what depends on constants alone is computed once, while the plan is made (paper section 5). Ops that give an
input on as it is, such as a product with 1, become an `Identity`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry import opdef, roles
from actorflow.base.shapes import Shape, is_static, num_elements
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import PRIMITIVES, is_free
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import NO_ATTRS, Node, TensorId

_LARGEST = 1 << 20
Evaluate = Callable[[Node, list[Any]], Any]
ShapeOf = Callable[[TensorId], Shape]


def fold(graph: Subgraph, evaluate: Evaluate) -> Subgraph:
    """Replaces nodes whose inputs are all constant by constants, which keep the name and the control inputs.

    A constant that waits for nothing is there from the start, so others need not wait for it.

    `evaluate(node, inputs)` runs a node's kernel. A kernel that raises is left to raise in the run, and results over
    1 MiB are left to be computed there, as is what may take any time.
    """
    nodes: dict[str, Node] = {}
    fed = frozenset(graph.feeds)

    def shape_of(tensor_id: TensorId) -> Shape:
        return None if tensor_id in fed else nodes[tensor_id.node].shapes[tensor_id.port]

    for node in yielding(graph.nodes.values()):
        constants = {}
        for e in node.inputs:  # a Merge of a loop takes what comes later
            if e not in fed and (source := nodes.get(e.node)) is not None and source.role is roles.CONSTANT:
                constants[e] = source
        if any(is_free(nodes[name]) for name in node.controls):
            node = replace(node, controls=tuple([name for name in node.controls if not is_free(nodes[name])]))
        nodes[node.name] = folded(node, constants, shape_of, evaluate)
    return replace(graph, nodes=nodes)


def folded(
    node: Node, known: Mapping[TensorId, Node], shape_of: ShapeOf, evaluate: Evaluate, largest: int = _LARGEST
) -> Node:
    """The node; a constant if it can be computed now, and an `Identity` if it passes an input on unchanged.

    Args:
        node: the node.
        known: those of its inputs that are constants.
        shape_of: the shape of an input in all runs of what is folded.
        evaluate: runs a node's kernel.
        largest: the most bytes of a constant.
    """
    definition = opdef.lookup(node.op)
    if node.role is roles.CONSTANT or definition.stateful or definition.asynchronous or definition.work is None:
        return node
    if len(node.dtypes) != 1 or node.role in PRIMITIVES or node.dtypes[0].kind == "V":
        return node
    value = None if _bytes_of(node) > largest else _value(node, known, shape_of, evaluate)
    if value is None or type(value) in (tuple, list):  # the run says what is wrong with several outputs
        return _handed_on(node, known, shape_of)
    array = np.asarray(value)
    if array.nbytes > largest or array.dtype != node.dtypes[0].numpy_dtype:
        return node
    if array.base is not None or array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return replace(
        node,
        op="Const",
        inputs=(),
        controls=_inherited_controls(node, known),
        attrs=MappingProxyType({"value": array, "dtype": dtypes.as_dtype(array.dtype)}),
        shapes=(array.shape,),
    )


def _bytes_of(node: Node) -> int:
    """The bytes of a result, as far as they are known before it is computed."""
    elements = num_elements(node.shapes[0]) or 0
    return elements * node.dtypes[0].size


def _value(node: Node, constants: Mapping[TensorId, Node], shape_of: ShapeOf, evaluate: Evaluate) -> Any:
    """The value of a node, or None where only a run knows it."""
    if node.op in _OF_SHAPES:
        shape = shape_of(node.inputs[0])
        if shape is None or not (is_static(shape) or node.op == "Rank"):
            return None
        return np.array(_OF_SHAPES[node.op](shape), node.dtypes[0].numpy_dtype)
    if not node.inputs or any(e not in constants for e in node.inputs):
        return None
    try:
        return evaluate(node, [constants[e].attrs["value"] for e in node.inputs])
    except Exception:  # the run raises it, with the node's place
        return None


_OF_SHAPES: dict[str, Callable[[Any], Any]] = {"Shape": list, "Size": math.prod, "Rank": len}


def _handed_on(node: Node, constants: Mapping[TensorId, Node], shape_of: ShapeOf) -> Node:
    """An `Identity` of the input that the node gives on as it is, bit for bit; else the node."""
    rule = _HANDED_ON.get(node.op)
    place = None if rule is None else rule(node, constants)
    if place is None:
        return node
    shape = shape_of(node.inputs[place])
    others = [e for at, e in enumerate(node.inputs) if at != place]
    fits = shape is not None and is_static(shape) and shape == node.shapes[0]
    if not fits and (node.op == "Reshape" or any(constants[e].shapes[0] != () for e in others)):
        return node  # the other input may give the result another shape
    controls = _inherited_controls(node, {e: constants[e] for e in others})
    return replace(node, op="Identity", inputs=(node.inputs[place],), controls=controls, attrs=NO_ATTRS)


def _product(node: Node, constants: Mapping[TensorId, Node]) -> int | None:
    if node.dtypes[0].kind not in "fiu":
        return None  # a complex infinity times 1 is not a number
    return next((1 - at for at in (1, 0) if _is_one(constants.get(node.inputs[at]))), None)


def _quotient(node: Node, constants: Mapping[TensorId, Node]) -> int | None:
    return 0 if node.dtypes[0].kind == "f" and _is_one(constants.get(node.inputs[1])) else None


def _is_one(constant: Node | None) -> bool:
    """Whether all elements are 1: of a single number, or of a column, with which the gradients of losses of rows begin."""
    if constant is None:
        return False
    value = constant.attrs["value"]
    # A vector of 1s may be the scale of a normalization, which is a single op with it (`chains`).
    return (value.size == 1 or value.shape[1:] == (1,)) and bool(np.all(value == 1))


_HANDED_ON: dict[str, Callable[[Node, Mapping[TensorId, Node]], int | None]] = {
    "ConcatV2": lambda node, constants: 0 if len(node.inputs) == 2 and node.inputs[1] in constants else None,
    "Mul": _product,
    "RealDiv": _quotient,
    "Reshape": lambda node, constants: 0 if node.inputs[1] in constants else None,
}
"""Which input a node may give on, if that has the result's shape."""


def _inherited_controls(node: Node, constants: Mapping[TensorId, Node]) -> tuple[str, ...]:
    """The node's own control inputs, and those of the constants that it was computed from."""
    controls = dict.fromkeys(node.controls)
    for source in constants.values():
        controls.update(dict.fromkeys(source.controls))
    return tuple(controls)
