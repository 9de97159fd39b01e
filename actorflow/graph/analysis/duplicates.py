"""Duplicates: nodes that compute what an earlier one computes (paper section 5.1)."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.base.dtypes import string
from actorflow.base.registry import opdef
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import PRIMITIVES
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

_COMPARED = 1 << 20
"""Bytes. Larger arrays are equal if they are the same array: to compare them would hold the interpreter for milliseconds."""


def divide_duplicates(
    nodes: Iterable[Node], fed: Container[str] = (), most_bytes: float = float("inf")
) -> tuple[list[Node], dict[str, str]]:
    """The first of nodes that have the same op, inputs, attributes, control inputs and device, and for each other node
    the node that it equals. The inputs of those that are kept are such nodes.

    Stateful and random ops stay apart, and so do nodes that touch a reference, and the edges of loops. The inputs of
    commutative ops may be in any order. A fed tensor's node stays itself.

    Args:
        nodes: each after its inputs.
        fed: the nodes whose outputs are fed.
        most_bytes: attributes of more are not compared.
    """
    first: dict[Hashable, str] = {}
    renamed: dict[str, str] = {}
    kept: list[Node] = []
    for node in yielding(nodes):
        inputs = node.inputs
        if any(e.node in renamed for e in inputs):
            inputs = tuple(TensorId(renamed.get(e.node, e.node), e.port) for e in inputs)
        controls = node.controls
        if any(c in renamed for c in controls):
            controls = tuple(dict.fromkeys(renamed.get(c, c) for c in controls))
        if inputs is not node.inputs or controls is not node.controls:
            node = replace(node, inputs=inputs, controls=controls)
        definition = opdef.lookup(node.op)
        apart = definition.stateful or definition.asynchronous or definition.has_ref_input or node.role in PRIMITIVES
        if not (apart or node.name in fed or _is_large(node, most_bytes)):
            key = _key(node, definition)
            twin = first.setdefault(key, node.name)
            if twin != node.name:
                renamed[node.name] = twin
                continue
        kept.append(node)
    return kept, renamed


def _is_large(node: Node, most_bytes: float) -> bool:
    return any(isinstance(value, np.ndarray) and value.nbytes > most_bytes for value in node.attrs.values())


def _key(node: Node, definition: opdef.OpDef) -> Hashable:
    exchangeable = definition.commutative and string not in node.dtypes  # "a" + "b" is not "b" + "a"
    inputs = tuple(sorted(node.inputs)) if exchangeable else node.inputs
    attrs = tuple((name, _hashable(value)) for name, value in sorted(node.attrs.items()))
    return node.op, inputs, attrs, frozenset(node.controls), node.device, node.dtypes


def _hashable(value: Any) -> Hashable:
    if isinstance(value, np.ndarray) and value.nbytes > _COMPARED:
        return "array", id(value)
    if isinstance(value, np.ndarray):
        content = tuple(value.flat) if value.dtype.hasobject else value.tobytes()
        return value.shape, value.dtype, content
    if isinstance(value, float):
        return "float", np.float64(value).tobytes()  # 0.0 and -0.0 differ, and nan is itself
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(v) for v in value)
    return type(value).__name__, value


def merge_duplicates(graph: Subgraph) -> Subgraph:
    """Keeps the first of nodes that are equal; see `divide_duplicates`."""
    kept, renamed = divide_duplicates(graph.nodes.values(), {e.node for e in graph.feeds})
    return replace(
        graph.with_nodes(kept),
        fetches=tuple(TensorId(renamed.get(e.node, e.node), e.port) for e in graph.fetches),
        targets=tuple(renamed.get(t, t) for t in graph.targets),
    )
