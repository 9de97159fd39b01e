"""Constant folding: what depends on constants alone is computed once, while the plan is made (paper section 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.analysis.cooperative import yielding
from actorflow.analysis.frames import PRIMITIVES
from actorflow.analysis.subgraph import Subgraph
from actorflow.graph.constant_value import constant_value
from actorflow.graph.node import Node, TensorId
from actorflow.registry import opdef

_LARGEST = 1 << 20
_SHAPE_OPS = frozenset(("Shape", "Size", "Rank"))
Evaluate = Callable[[Node, list[Any]], Any]


def fold(graph: Subgraph, evaluate: Evaluate) -> Subgraph:
    """Replaces nodes whose inputs are all constant by constants, which keep the name and the control inputs.

    `evaluate(node, inputs)` runs a node's kernel. A kernel that raises is left to raise in the run, and results over
    1 MiB are left to be computed there, as is what may take any time.
    """
    nodes: dict[str, Node] = {}
    fed = frozenset(graph.feeds)
    for node in yielding(graph.nodes.values()):
        nodes[node.name] = node
        definition = opdef.lookup(node.op)
        if node.op == "Const" or definition.stateful or definition.asynchronous or definition.work is None:
            continue
        if len(node.dtypes) != 1:
            continue
        if node.op in PRIMITIVES or node.dtypes[0].kind == "V":
            continue
        value: Any = None
        if node.op in _SHAPE_OPS:
            if node.inputs[0] not in fed:
                value = constant_value(nodes, TensorId(node.name, 0))
        elif node.inputs and all(e not in fed and nodes[e.node].op == "Const" for e in node.inputs):
            try:
                value = evaluate(node, [nodes[e.node].attrs["value"] for e in node.inputs])
            except Exception:  # the run raises it, with the node's place
                continue
        if value is None or type(value) in (tuple, list):  # the run says what is wrong with several outputs
            continue
        array = np.asarray(value)
        if array.nbytes > _LARGEST or array.dtype != node.dtypes[0].numpy_dtype:
            continue
        if array.base is not None or array.flags.writeable:
            array = array.copy()
            array.flags.writeable = False
        inherited = _inherited_controls(node, nodes)
        nodes[node.name] = replace(
            node,
            op="Const",
            inputs=(),
            controls=inherited,
            attrs=MappingProxyType({"value": array, "dtype": dtypes.as_dtype(array.dtype)}),
            shapes=(array.shape,),
        )
    return replace(graph, nodes=nodes)


def _inherited_controls(node: Node, nodes: dict[str, Node]) -> tuple[str, ...]:
    """The node's own control inputs, and those of the constants that it was computed from."""
    found = dict.fromkeys(node.controls)
    for tensor_id in node.inputs:
        source = nodes[tensor_id.node]
        if source.op == "Const":
            found.update(dict.fromkeys(source.controls))
    return tuple(found)
