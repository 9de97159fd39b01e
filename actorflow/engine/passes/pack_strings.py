"""Strings stay packed from kernel to kernel (`actorflow.base.packed_strings`).

An output of strings may be packed if each consumer has a kernel that takes it so. Such an output is not fetched
and goes into no loop, branch, variable, queue, Python function or other device. The pass marks the nodes at both ends of
such an edge with the attribute `_packs`, the numbers of the outputs that may be packed. A marked kernel may give an array of
objects all the same, and a kernel that takes packed strings takes both.

Kernels that only move strings, such as those of `gather` and `reshape`, take packed strings if their own outputs may be packed.
So the pass looks at consumers first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from actorflow.base.registry.kernel import PACKS, packing
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId


def pack_strings(graph: Subgraph) -> Subgraph:
    """The graph with marks at the nodes that may give or take packed strings.

    Args:
        graph: the part of a device.
    """
    makers = [node for node in graph.nodes.values() if packing(node.op)[1] and _strings(node)]
    if not makers:
        return graph
    consumers: dict[TensorId, list[str]] = {}
    for node in yielding(graph.nodes.values()):
        for tensor_id in node.inputs:
            consumers.setdefault(tensor_id, []).append(node.name)
    fetched = frozenset(graph.fetches)
    packs: dict[str, frozenset[int]] = {}
    taking: set[str] = set()

    def may_take(name: str) -> bool:
        takes = packing(graph.nodes[name].op)[0]
        return takes == "read" or takes == "moved" and _all(graph.nodes[name], packs.get(name, frozenset()))

    for node in yielding(reversed(makers)):
        ports = set()
        for port in _strings(node):
            tensor_id = TensorId(node.name, port)
            users = consumers.get(tensor_id, ())
            if users and tensor_id not in fetched and tensor_id not in graph.feeds and all(map(may_take, users)):
                ports.add(port)
                taking.update(users)
        packs[node.name] = frozenset(ports)
    marked = {name: ports for name, ports in packs.items() if ports} | {
        name: packs.get(name, frozenset()) for name in taking
    }
    return graph.with_nodes(_marked(graph.nodes.values(), marked)) if marked else graph


def _marked(nodes: Iterable[Node], marks: dict[str, frozenset[int]]) -> Iterable[Node]:
    for node in nodes:
        if node.name in marks:
            yield replace(node, attrs=MappingProxyType({**node.attrs, PACKS: marks[node.name]}))
        else:
            yield node


def _strings(node: Node) -> list[int]:
    """The numbers of the outputs that are strings."""
    return [port for port, dtype in enumerate(node.dtypes) if dtype.kind == "S" and not dtype.is_ref]


def _all(node: Node, ports: frozenset[int]) -> bool:
    """Whether all outputs of strings are among these."""
    return ports.issuperset(_strings(node))
