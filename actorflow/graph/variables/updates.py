"""The updates of layers (UPDATE_OPS): which of them a loss needs, and which a training step leaves behind.

A layer such as a batch normalization changes its moving averages by operations that no loss depends on. A step that runs only the
optimizer's operation leaves them as they were, and nothing shows it until the model is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.errors import Where
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node
from actorflow.graph.scopes import of
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys

_UPDATES = "_layer_updates"
_SOURCES = frozenset(("Placeholder", "PlaceholderWithDefault"))


@dataclass(frozen=True, slots=True)
class LayerUpdates:
    """The updates that one call of a layer made, and the tensors that it gave."""

    layer: str
    where: Where | None
    updates: tuple[Operation | Tensor, ...]
    outputs: tuple[Tensor, ...]

    def __str__(self) -> str:
        return (
            f"The training step uses the layer {self.layer}, made at {self.where}, but does not run its updates: "
            f"{', '.join(self.nodes)}. What they keep, such as moving averages, stays as it was. Let the optimizer's `minimize` "
            "make the step, or make it under control_dependencies(get_collection(GraphKeys.UPDATE_OPS))."
        )

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes that update."""
        return tuple(node_of(update) for update in self.updates)


def node_of(output: Operation | Tensor) -> str:
    """The name of the node that gives a tensor, or that an operation is."""
    return output.op.name if isinstance(output, Tensor) else output.name


def move(variable: Any, value: Any, write: Callable[[Any], Any]) -> Any:
    """The result of `write`, which moves an average towards `value`. Replicas of `tf.distribute` move it once, with the last of
    them, towards the mean of their values; before it the result is what the variable holds."""
    tower = of(variable.graph).tower
    return write(value) if tower is None else tower.move(variable, value, write)


def record_updates(graph: Graph, updates: LayerUpdates) -> None:
    """Keeps with the graph which layer the updates belong to, if it keeps the updates of this logical worker."""
    tower = of(graph).tower
    if tower is not None and not tower.collects(GraphKeys.UPDATE_OPS):
        return
    graph.get_collection_ref(_UPDATES).append(updates)


def recorded_updates(graph: Graph) -> Sequence[LayerUpdates]:
    """The updates that calls of layers have recorded, in their order."""
    return graph.get_collection_ref(_UPDATES)


def ancestors(nodes: Mapping[str, Node], names: Iterable[str]) -> set[str]:
    """These nodes, and all that they need."""
    names_out: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in names_out:
            names_out.add(name)
            node = nodes[name]
            left += node.controls
            left += (tensor_id.node for tensor_id in node.inputs)
    return names_out


def updates_of(loss: Tensor) -> list[Operation | Tensor]:
    """The updates in UPDATE_OPS that belong to `loss`: those of layers whose outputs it needs; and of the others, which programs
    have added themselves, those that need no placeholder beside its own."""
    collected = loss.graph.get_collection(GraphKeys.UPDATE_OPS)
    if not collected:
        return []
    nodes = loss.graph.nodes
    needed = ancestors(nodes, [loss.op.name])
    outputs = {name: update.outputs for update in recorded_updates(loss.graph) for name in update.nodes}

    def belongs(update: Operation | Tensor) -> bool:
        name = node_of(update)
        if name in outputs:
            return any(output.op.name in needed for output in outputs[name])
        return all(n in needed or nodes[n].op not in _SOURCES for n in ancestors(nodes, [name]))

    return [update for update in collected if belongs(update)]


def left_behind(graph: Graph, fetched: Collection[str]) -> list[LayerUpdates]:
    """The calls of layers whose outputs a training step uses that runs not all of their updates.

    None where the step trains nothing: without an optimizer's operation there is nothing to be forgotten.

    Args:
        graph: the graph.
        fetched: the names of the nodes that the step is asked for.
    """
    recorded = recorded_updates(graph)
    if not recorded:
        return []
    executed = ancestors(graph.nodes, fetched)
    if not any(node_of(op) in executed for op in graph.get_collection(GraphKeys.TRAIN_OP)):
        return []
    return [
        update
        for update in recorded
        if any(output.op.name in executed for output in update.outputs)
        and not all(name in executed for name in update.nodes)
    ]


def warn_of_left_behind(graph: Graph, fetched: Collection[str]) -> None:
    """A warning for each layer whose updates a step leaves behind."""
    for update in left_behind(graph, fetched):
        warnings.warn(str(update), UserWarning, stacklevel=2)
