"""Common subexpressions: equal nodes become one (paper section 5.1)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.analysis.cooperative import yielding
from actorflow.analysis.frames import PRIMITIVES
from actorflow.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId
from actorflow.registry import opdef


def merge_duplicates(graph: Subgraph) -> Subgraph:
    """Keeps the first of nodes that have the same op, inputs, attributes, control inputs and device.

    Stateful and random ops stay apart, and so do nodes that touch a reference, and the edges of loops. The inputs of
    commutative ops may be in any order. A fed tensor's node stays itself.
    """
    fed_nodes = {e.node for e in graph.feeds}
    first: dict[Hashable, str] = {}
    renamed: dict[str, str] = {}
    kept: list[Node] = []
    for node in yielding(graph.nodes.values()):
        inputs = node.inputs
        if any(e.node in renamed for e in inputs):
            inputs = tuple(TensorId(renamed.get(e.node, e.node), e.port) for e in inputs)
        controls = node.controls
        if any(c in renamed for c in controls):
            controls = tuple(dict.fromkeys(renamed.get(c, c) for c in controls))
        if inputs is not node.inputs or controls is not node.controls:
            node = replace(node, inputs=inputs, controls=controls)
        definition = opdef.lookup(node.op)
        apart = definition.stateful or definition.asynchronous or definition.has_ref_input or node.op in PRIMITIVES
        if not (apart or node.name in fed_nodes):
            key = _key(node, definition)
            known = first.setdefault(key, node.name)
            if known != node.name:
                renamed[node.name] = known
                continue
        kept.append(node)
    return replace(
        graph.with_nodes(kept),
        fetches=tuple(TensorId(renamed.get(e.node, e.node), e.port) for e in graph.fetches),
        targets=tuple(renamed.get(t, t) for t in graph.targets),
    )


def _key(node: Node, definition: opdef.OpDef) -> Hashable:
    inputs = tuple(sorted(node.inputs)) if definition.commutative else node.inputs
    attrs = tuple((name, _hashable(value)) for name, value in sorted(node.attrs.items()))
    return node.op, inputs, attrs, frozenset(node.controls), node.device, node.dtypes


def _hashable(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        content = tuple(value.flat) if value.dtype.hasobject else value.tobytes()
        return value.shape, str(value.dtype), content
    if isinstance(value, float):
        return "float", np.float64(value).tobytes()  # 0.0 and -0.0 differ, and nan is itself
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(v) for v in value)
    return type(value).__name__, value
