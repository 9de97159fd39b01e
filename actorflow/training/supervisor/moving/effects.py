"""`Effect`: which of the state that copies have a run may change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from actorflow.base.registry import opdef
from actorflow.cluster.master.node_states import keeps_state
from actorflow.graph.analysis.inline import inline
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node
from actorflow.graph.structure.feeds import feeds_of
from actorflow.graph.structure.fetches import Fetches

_READS = frozenset(
    ("ControlTrigger", "IsVariableInitialized", "NoOp", "Placeholder", "ReadVariableOp", "ReadVariableOr", "VarHandleOp",
     "Variable", "VariableV2", "VarIsInitializedOp")
)  # fmt: skip
"""Ops that count as stateful, and change nothing."""
_ELSEWHERE = (
    "Accumulator", "Barrier", "ConditionalAccumulator", "FIFOQueue", "HashTable", "InitializeTable", "LookupTable",
    "MutableHashTable", "Mutex", "PaddingFIFOQueue", "PriorityQueue", "Queue", "RandomShuffleQueue", "SelectQueue",
    "SparseAccumulator", "SparseConditionalAccumulator", "Stack", "TensorArray",
)  # fmt: skip
"""How the names of ops begin that change elements of queues, tables and the like, which copies don't have, or of one step."""


class Effect(Enum):
    """Nothing; or only positions, such as a counter of random numbers or a place in a file; or variables too."""

    NOTHING = 0
    POSITIONS = 1
    VARIABLES = 2


@dataclass(frozen=True, slots=True)
class RunReach:
    """The nodes that a run asks for, without those that are fed, and the effect of all that it executes."""

    names: tuple[str, ...]
    effect: Effect


def reach_of(graph: Graph, fetches: Any, feeds: Iterable[Any]) -> RunReach:
    """How far a run of `fetches` with `feeds` fed reaches. Nodes in bodies of functions count, fed tensors need nothing.

    Raises:
        TypeError, KeyError, ValueError: as `Session.run` raises them.
    """
    structure = Fetches(graph, fetches)
    fed = {feed.tensor_id: (feed.tensor.dtype, feed.tensor.static_shape) for feed in feeds_of(graph, feeds)}
    names = [*structure.targets, *(tensor_id.node for tensor_id in structure.tensor_ids if tensor_id not in fed)]
    nodes, fetched = inline(graph.nodes, structure.tensor_ids, fed)
    executed: Mapping[str, Node] = prune(Subgraph(nodes, fed, fetched, structure.targets)).nodes
    effect = max(map(effect_of, executed.values()), key=lambda effect: effect.value, default=Effect.NOTHING)
    return RunReach(tuple(dict.fromkeys(names)), effect)


def effect_of(node: Node) -> Effect:
    """The effect of a node. An op of which nothing is known but that it is stateful may have a position."""
    definition = opdef.lookup(node.op)
    if definition.writes:
        return Effect.VARIABLES
    if keeps_state(node):
        return Effect.POSITIONS
    if not definition.stateful or node.op in _READS or node.op.startswith(_ELSEWHERE):
        return Effect.NOTHING
    return Effect.POSITIONS
