"""Common subexpressions: equal nodes become one (paper section 5.1)."""

from __future__ import annotations

from dataclasses import replace

from actorflow.analysis.duplicates import divide_duplicates
from actorflow.analysis.subgraph import Subgraph
from actorflow.graph.node import TensorId


def merge_duplicates(graph: Subgraph) -> Subgraph:
    """Keeps the first of nodes that are equal; see `divide_duplicates`."""
    kept, renamed = divide_duplicates(graph.nodes.values(), {e.node for e in graph.feeds})
    return replace(
        graph.with_nodes(kept),
        fetches=tuple(TensorId(renamed.get(e.node, e.node), e.port) for e in graph.fetches),
        targets=tuple(renamed.get(t, t) for t in graph.targets),
    )
