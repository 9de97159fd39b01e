"""`fuse`: two nodes become one node, or a few cheaper nodes, by the rules of a table (`rules.py`). (Paper section 5.4:
optimised libraries for the kernels.)

The fused node has the name of the last of those that it stands for, so its users stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from actorflow.base import dtypes
from actorflow.base.registry import roles
from actorflow.engine.passes.fusion.match import FusionRule, Match
from actorflow.engine.passes.fusion.rules import RULES
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph, Uses, uses_of
from actorflow.graph.node import Node

_TYPES = frozenset((dtypes.float32, dtypes.float64))
_BY_LAST: dict[str, list[FusionRule]] = {}
for _rule in RULES:
    for _op in _rule.lasts:
        _BY_LAST.setdefault(_op, []).append(_rule)


def fuse(graph: Subgraph) -> Subgraph:
    """Replaces nodes by the first rule of `RULES` that fits, as long as a rule fits.

    A value in between may have no other user: it is not fetched, fed or waited for, and its node no target. All are on one
    device.

    Args:
        graph: what one device runs.
    """
    uses = uses_of(graph)
    nodes: dict[str, Node] = {}
    constants = False
    for node in yielding(graph.nodes.values()):
        nodes[node.name] = node
        while node.op in _BY_LAST and (not node.dtypes or node.dtypes[0] in _TYPES):
            match = next(_matches(graph, nodes, uses, node), None)
            if match is None:
                break
            rule, occurrence = match
            nodes_made = rule.made(occurrence)
            if all(replacement.name != occurrence.first.name for replacement in nodes_made):
                del nodes[occurrence.first.name]
            del nodes[node.name]  # new constants come before it
            nodes.update((replacement.name, replacement) for replacement in nodes_made)
            constants = constants or any(replacement.role is roles.CONSTANT for replacement in nodes_made)
            node = nodes[node.name]
    fused = graph.with_nodes(nodes.values())
    return _without_unused_constants(fused) if constants else fused


def _without_unused_constants(graph: Subgraph) -> Subgraph:
    """The graph without the constants that were taken into others."""
    uses = uses_of(graph)
    return graph.with_nodes([n for n in graph.nodes.values() if n.role is not roles.CONSTANT or uses[n.name] > 0])


def _matches(graph: Subgraph, nodes: Mapping[str, Node], uses: Uses, last: Node) -> Iterator[tuple[FusionRule, Match]]:
    """The rules that fit a node, the positions in their order and the rules of each in theirs."""
    rules = _BY_LAST[last.op]
    for position in dict.fromkeys(position for rule in rules for position in rule.positions):
        tensor_id = last.inputs[position]
        first = nodes.get(tensor_id.node)
        if first is None or tensor_id in graph.feeds or first.device != last.device:
            continue
        for rule in rules:
            alone = uses[tensor_id if rule.keeps else tensor_id.node] == 1
            if alone and position in rule.positions and first.op in rule.firsts and first.dtypes[0] in _TYPES:
                match = Match(graph, nodes, uses, first, last, position)
                if rule.fits(match):
                    yield rule, match
