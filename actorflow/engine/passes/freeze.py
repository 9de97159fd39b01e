"""Freezing: reads of variables become constants, for as long as nothing writes these variables.

All that is computed of constants alone is then folded, and kernels are prepared for them, as in a frozen graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.base.registry import kernel, opdef, roles
from actorflow.engine.passes.fold import Evaluate, fold
from actorflow.engine.passes.fusion.fuse import fuse
from actorflow.graph.analysis.subgraph import Subgraph, uses_of
from actorflow.graph.node import Node, TensorId

_LOOK = (roles.READ, roles.IS_INITIALIZED)
"""The roles of ops that change nothing of a variable."""


def freezable(parts: Iterable[Subgraph]) -> dict[str, str]:
    """The reads that may become constants while nothing writes their variables, each with the handle of its variable.

    Nothing says when the step has to read them. There are none where the step itself writes variables: the bits of a training do
    not depend on when a plan was ready. And there are none unless kernels gain by it: those that are prepared for constants, and
    normalizations that go into the weights before them.

    Args:
        parts: what each device of this process runs.
    """
    parts = list(parts)
    if any(opdef.lookup(node.op).writes for part in parts for node in part.nodes.values()):
        return {}
    by_read: dict[str, str] = {}
    for part in parts:
        handles = {n.name for n in part.nodes.values() if n.role is roles.VARIABLE and not n.attrs["container"]}
        for node in part.nodes.values():
            if node.role not in _LOOK:
                handles.difference_update(e.node for e in node.inputs)
        reads = [n for n in part.nodes.values() if _is_free(n, part) and n.inputs[0].node in handles]
        if _gains(part, {n.name for n in reads}):
            by_read.update((n.name, n.inputs[0].node) for n in reads)
    return by_read


def freeze(part: Subgraph, values: Mapping[str, Any], evaluate: Evaluate) -> Subgraph:
    """The part with constants in the place of reads, and in the place of all that is computed of constants.

    Args:
        part: what one device runs.
        values: the arrays that reads would give, by the names of their nodes. They never change.
        evaluate: runs the kernel of a node.
    """
    nodes = [_constant(n, values[n.name]) if n.name in values else n for n in part.nodes.values()]
    return _without_unused(fuse(_without_unused(fold(part.with_nodes(nodes), evaluate))))


def _without_unused(part: Subgraph) -> Subgraph:
    """The part without constants and handles that nothing takes."""
    uses = uses_of(part)
    kept = [n for n in part.nodes.values() if n.role not in (roles.CONSTANT, roles.VARIABLE) or uses[n.name] > 0]
    return part.with_nodes(kept)


def _is_free(node: Node, part: Subgraph) -> bool:
    """Whether a node is a read that waits for nothing and is not fed."""
    return (
        node.role is roles.READ
        and not node.controls
        and node.inputs[0] not in part.feeds
        and TensorId(node.name, 0) not in part.feeds
    )


def _gains(part: Subgraph, reads: AbstractSet[str]) -> bool:
    """Whether a node that takes what is computed of these reads and of constants alone is faster with constants."""
    names = set(reads)
    for node in part.nodes.values():
        taken = [e.node in names and e not in part.feeds for e in node.inputs]
        if not any(taken):
            continue
        if any(taken[1:]) and (node.op == "FusedBatchNormV3" or _is_prepared(node.op)):
            return True
        definition = opdef.lookup(node.op)
        fixed = all(
            flag or part.nodes[e.node].role is roles.CONSTANT
            for flag, e in zip(taken, node.inputs)
            if e not in part.feeds
        )
        if fixed and not (definition.stateful or definition.asynchronous or any(e in part.feeds for e in node.inputs)):
            names.add(node.name)
    return False


def _is_prepared(op: str) -> bool:
    return any(entry.prepare is not None for entry in kernel.from_libraries(op))


def _constant(node: Node, value: Any) -> Node:
    array = np.asarray(value)
    attrs = MappingProxyType({"value": array, "dtype": as_dtype(array.dtype)})
    return replace(node, op="Const", inputs=(), attrs=attrs, shapes=(array.shape,))
