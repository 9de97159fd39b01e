"""Puts one op in the place of a chain, such as the several ops of a layer's normalization (`graph/analysis/chains.py`).

The one node has the name of the last of those that it stands for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from actorflow.base import dtypes
from actorflow.base.registry import roles
from actorflow.base.shapes import is_static
from actorflow.engine.passes.fusion.match import JOINED, has_kernel
from actorflow.graph.analysis.chains import ROWS
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.patterns import CallPattern, ChainPattern, Occurrence, Search
from actorflow.graph.analysis.subgraph import Subgraph, Uses, uses_of
from actorflow.graph.node import Node, TensorId


def fuse_chains(graph: Subgraph) -> Subgraph:
    """Replaces chains by the ops that stand for them, on devices that have kernels for those.

    The nodes in between are not fetched, fed or waited for, and have no other users.

    Args:
        graph: what one device runs.
    """
    present = {node.op for node in graph.nodes.values()}
    rows = [(chain, [pattern for pattern, ops in patterns if ops <= present]) for chain, patterns in ROWS]
    if not any(patterns for _, patterns in rows):
        return graph
    uses = uses_of(graph)
    nodes = dict(graph.nodes)
    _replace_sharing(graph, nodes, uses, [row for row in rows if row[0].op in _SHARING])
    for chain, patterns in (row for row in rows if row[0].op not in _SHARING):
        lasts = {pattern.op for pattern in patterns}
        ends = [n for n in graph.nodes.values() if n.op in lasts and n.dtypes[0] is dtypes.float32]
        for last in yielding(ends):
            if nodes.get(last.name) is last:
                _replace(graph, nodes, uses, last, chain, patterns)
    _share_heads(graph, nodes, uses)
    return graph.with_nodes([node for node in nodes.values() if node.role is not roles.CONSTANT or uses[node.name] > 0])


_SHARING = frozenset(("_LayerNorm", "_LayerNormGrad", "_LayerNormScaleGrad"))
"""Chains that have nodes in common: a function, and what autodiff makes of it."""


def _replace_sharing(
    graph: Subgraph, nodes: dict[str, Node], uses: Uses, rows: Sequence[tuple[ChainPattern, Sequence[CallPattern]]]
) -> None:
    """Replaces the chains whose nodes in between have no users but those of such chains, together."""
    search = Search(graph, nodes)
    matches: dict[str, tuple[str, Occurrence]] = {}
    for chain, patterns in rows:
        lasts = {pattern.op for pattern in patterns}
        ends = [n for n in graph.nodes.values() if n.op in lasts and n.dtypes[0] is dtypes.float32]
        for last in yielding(ends):
            occurrence = next(search.occurrences(chain, patterns, last), None)
            if occurrence is not None and has_kernel(chain.op, last):
                matches[last.name] = chain.op, occurrence
    while True:
        members = {node.name: node for _, match in matches.values() for node in match.nodes}
        within = Counter(e.node for node in members.values() for e in node.inputs)
        inner = {node.name for _, match in matches.values() for node in match.nodes[1:]}
        stay = [
            name
            for name, (_, match) in matches.items()
            if any(e.node in inner for e in match.inputs)
            or any(uses[n.name] != within[n.name] or n.device != match.nodes[0].device for n in match.nodes[1:])
        ]
        if not stay:
            break
        for name in stay:
            del matches[name]
    for node in members.values():
        uses.subtract(e.node for e in node.inputs)
    for name in inner:
        del nodes[name]
    for name, (op, occurrence) in matches.items():
        if name not in inner:
            uses.update(e.node for e in occurrence.inputs)
            nodes[name] = _standing_for(op, occurrence)


def _standing_for(op: str, occurrence: Occurrence) -> Node:
    """The node that does what a chain does."""
    last, *gone = occurrence.nodes
    return replace(
        last,
        op=op,
        inputs=occurrence.inputs,
        controls=tuple(dict.fromkeys(c for node in occurrence.nodes for c in node.controls)),
        attrs=MappingProxyType({**occurrence.attrs, JOINED: tuple(node.name for node in gone)}),
    )


def _share_heads(graph: Subgraph, nodes: dict[str, Node], uses: Uses) -> None:
    """Lets attention read keys and values that several heads share, which programs copy for each of them."""
    search = Search(graph, nodes)
    for node in [node for node in nodes.values() if node.op == "_Attention"]:
        query, key, value, *bias = node.inputs
        producer, turned = search.producer(key), node.attrs["turned"]
        if turned and producer is not None and producer.op == "Transpose":
            order = search.value_of(producer.inputs[1])
            if order is not None and list(order) == [0, 1, 3, 2]:
                key, turned = producer.inputs[0], False
        own = _not_repeated(search, key), _not_repeated(search, value)
        if not turned and own[0] is not None and own[1] is not None and _have_as_many_heads(search, own[0], own[1]):
            attrs = MappingProxyType({**node.attrs, "turned": False})
            nodes[node.name] = replace(node, inputs=(query, own[0], own[1], *bias), attrs=attrs)
            uses.update((own[0].node, own[1].node))
            for tensor_id in node.inputs[1:3]:
                _release(nodes, uses, tensor_id)


def _have_as_many_heads(search: Search, key: TensorId, value: TensorId) -> bool:
    shape, other = search.shape_of(key), search.shape_of(value)
    return shape is not None and other is not None and shape[1] == other[1]


def _release(nodes: dict[str, Node], uses: Uses, tensor_id: TensorId) -> None:
    """Takes a use of a tensor away, and the nodes that then have none."""
    uses[tensor_id.node] -= 1
    node = nodes.get(tensor_id.node)
    if node is not None and node.role is not roles.CONSTANT and not uses[node.name] and not node.controls:
        del nodes[node.name]
        for before in node.inputs:
            _release(nodes, uses, before)


def _not_repeated(search: Search, tensor_id: TensorId) -> TensorId | None:
    """The tensor [batch, heads, row, element] that is repeated for some heads in a row, by a dimension behind the heads."""
    shapes: list[Any] = []
    for op in ("Reshape", "BroadcastTo", "ExpandDims"):
        node = search.producer(tensor_id)
        if node is None or node.op != op or not is_static(node.shapes[0]):
            return None
        shapes.append(node.shapes[0])
        tensor_id = node.inputs[0]
    whole, wide, narrow = shapes
    if not len(whole) == len(wide) - 1 == len(narrow) - 1 == 4 or narrow[2] != 1:
        return None
    (batch, heads, _, *rest), times = narrow, wide[2]
    same = wide == (batch, heads, times, *rest) and whole == (batch, heads * times, *rest)
    source = search.shape_of(tensor_id)
    return tensor_id if same and source == (batch, heads, *rest) else None


def _replace(
    graph: Subgraph,
    nodes: dict[str, Node],
    uses: Uses,
    last: Node,
    chain: ChainPattern,
    patterns: Sequence[CallPattern],
) -> None:
    """Puts the single node in the place of a chain that ends with `last`, if the graph has such a chain."""
    for occurrence in Search(graph, nodes).occurrences(chain, patterns, last):
        gone = [node for node in occurrence.nodes if node.name != last.name]
        within = Counter(e.node for node in occurrence.nodes for e in node.inputs)
        apart = any(uses[node.name] != within[node.name] or node.device != last.device for node in gone)
        if apart or not has_kernel(chain.op, last):
            continue
        for node in occurrence.nodes:
            uses.subtract(e.node for e in node.inputs)
        for node in gone:
            del nodes[node.name]
        uses.update(e.node for e in occurrence.inputs)
        nodes[last.name] = _standing_for(chain.op, occurrence)
        return
