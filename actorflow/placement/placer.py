"""`Placer`: the placement of one session, as it grows with its graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from actorflow.errors import OpError
from actorflow.graph.node import Node
from actorflow.placement.choose import Reason
from actorflow.placement.cost_model import UNMEASURED, Measurements
from actorflow.placement.explain import explain
from actorflow.placement.feasible import Candidate, has_state
from actorflow.placement.measuring import NodeMeasurement, measurements
from actorflow.placement.place import place
from actorflow.placement.simulation.link_costs import DEFAULT_LINKS, LinkCosts


class Placer:
    """Places whole graphs, does not move a node again until it is told to (`forget`), and remembers the reasons.

    Args:
        devices: see `place`; the first one is where steps begin.
        soft: lets constraints go that nothing meets.
        links: what transfers cost.
    """

    def __init__(self, devices: Sequence[Candidate], *, soft: bool = False, links: LinkCosts = DEFAULT_LINKS) -> None:
        self.placed: dict[str, str] = {}
        self._devices = devices
        self._soft = soft
        self._links = links
        self._nodes: Mapping[str, Node] = {}
        self._reasons: dict[str, Reason] = {}
        self._refused: dict[str, OpError] = {}
        self._held: dict[str, str] = {}
        self._measured: Measurements = UNMEASURED

    def place(self, nodes: Mapping[str, Node]) -> Mapping[str, OpError]:
        """Gives devices to those of `nodes` that have none yet. Returns the errors of those that no device can take."""
        if len(self.placed) == len(nodes):
            return {}
        refused: dict[str, OpError] = {}
        reasons = dict(self._reasons)
        self.placed = place(
            nodes,
            self._devices,
            self.placed,
            refused,
            held=self._held,
            soft=self._soft,
            measured=self._measured,
            links=self._links,
            reasons=reasons,
        )
        self._nodes, self._reasons, self._refused = nodes, reasons, refused
        return refused

    def measured(self, observed: Iterable[NodeMeasurement]) -> Measurements:
        """The measurements by runs, for each node of the graph that was placed last."""
        return measurements(observed, self._nodes)

    def forget(self, observed: Iterable[NodeMeasurement]) -> None:
        """Lets the next call of `place` decide again, by what runs have shown. A node with state stays on its device,
        with the nodes that must be with it."""
        self._measured = self.measured(observed)
        nodes = self._nodes
        self._held |= {n: d for n, d in self.placed.items() if n not in nodes or has_state(nodes[n])}
        self.placed = {}
        self._reasons = {}

    def explain(self, name: str) -> str:
        """Why a node is where it is; see `actorflow.placement.explain`. Safe on any thread."""
        nodes = self._nodes
        if name not in nodes:
            return f"{name} has no device; it was not placed yet."
        return explain(name, nodes, self.placed, self._devices, reasons=self._reasons, refused=self._refused)
