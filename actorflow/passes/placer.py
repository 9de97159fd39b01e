"""`Placer`: the placement of one session, as it grows with its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorflow.errors import OpError
from actorflow.graph.node import Node
from actorflow.passes.choose import Reason
from actorflow.passes.explain import explain
from actorflow.passes.feasible import Candidate
from actorflow.passes.links import DEFAULT_LINKS, Links
from actorflow.passes.place import place


class Placer:
    """Places whole graphs, never moves a node again, and remembers the reasons.

    Args:
        devices: see `place`; the first one is where steps begin.
        soft: lets constraints go that nothing meets.
        links: what transfers cost.
    """

    def __init__(self, devices: Sequence[Candidate], *, soft: bool = False, links: Links = DEFAULT_LINKS) -> None:
        self.placed: dict[str, str] = {}
        self._devices = devices
        self._soft = soft
        self._links = links
        self._nodes: Mapping[str, Node] = {}
        self._reasons: dict[str, Reason] = {}
        self._refused: dict[str, OpError] = {}

    def place(self, nodes: Mapping[str, Node]) -> Mapping[str, OpError]:
        """Gives devices to those of `nodes` that have none yet. Returns the errors of those that no device can take."""
        if len(self.placed) == len(nodes):
            return {}
        refused: dict[str, OpError] = {}
        reasons = dict(self._reasons)
        self.placed = place(
            nodes, self._devices, self.placed, refused, soft=self._soft, links=self._links, reasons=reasons
        )
        self._nodes, self._reasons, self._refused = nodes, reasons, refused
        return refused

    def explain(self, name: str) -> str:
        """Why a node is where it is; see `actorflow.passes.explain`. Safe on any thread."""
        nodes = self._nodes
        if name not in nodes:
            return f"{name} has no device; it was not placed yet."
        return explain(name, nodes, self.placed, self._devices, reasons=self._reasons, refused=self._refused)
