"""`with_reads_first`: reads of variables before the updates of a step. This is the rule here, and TensorFlow has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from actorflow.base.registry.opdef import lookup
from actorflow.graph.node import Node

_BEGINS = frozenset({"Assign", "AssignVariableOp"})
"""Updates that may be the first, before which there is nothing to read."""


def with_reads_first(nodes: Mapping[str, Node]) -> Mapping[str, Node]:
    """The nodes, where an update of a variable waits for the reads of it that wait for nothing.

    TensorFlow would take either order: a gradient that needs no value of a variable may update it before others have read it.
    """
    used = {e.node for node in nodes.values() for e in node.inputs}
    reads: dict[str, list[str]] = {}
    for node in nodes.values():
        if node.op == "ReadVariableOp" and node.name in used and not node.controls:
            source = node.inputs[0].node
            if nodes[source].op == "VariableV2":
                reads.setdefault(source, []).append(node.name)
    ordered = dict(nodes)
    for node in nodes.values():
        if node.op in _BEGINS or not any(e.node in reads for e in node.inputs) or not lookup(node.op).writes:
            continue
        first = [name for e in node.inputs for name in reads.get(e.node, ()) if name not in node.controls]
        ordered[node.name] = replace(node, controls=(*node.controls, *dict.fromkeys(first)))
    return ordered
