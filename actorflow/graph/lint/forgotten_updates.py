"""Updates of layers that a training step leaves behind, such as a batch normalization's moving averages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.errors import Where
from actorflow.graph.graph import Graph
from actorflow.graph.structure.fetches import Fetches
from actorflow.graph.variables.updates import LayerUpdates, left_behind


@dataclass(frozen=True, slots=True)
class ForgottenUpdates:
    """A layer whose outputs a training step uses, without running its updates."""

    made: LayerUpdates

    @property
    def layer(self) -> str:
        """The variable scope of the layer."""
        return self.made.layer

    @property
    def kind(self) -> str:
        """`forgotten updates`."""
        return "forgotten updates"

    @property
    def lines(self) -> tuple[Where | None]:
        """The line that calls the layer."""
        return (self.made.where,)

    def __str__(self) -> str:
        return str(self.made)


def forgotten_updates_of_runs(graph: Graph, runs: Sequence[Any]) -> list[ForgottenUpdates]:
    """Those of each of `runs`, structures of fetches as for `session.run`; each layer once."""
    by_layer: dict[str, ForgottenUpdates] = {}
    for run in [Fetches(graph, structure) for structure in runs]:
        fetched = {tensor_id.node for tensor_id in run.tensor_ids} | set(run.targets)
        for updates in left_behind(graph, fetched):
            by_layer.setdefault(updates.layer, ForgottenUpdates(updates))
    return list(by_layer.values())
