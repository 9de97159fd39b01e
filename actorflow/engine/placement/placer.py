"""`Placer`: the placement of one session, as it grows with its graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from actorflow.engine.placement.choose import Posed, Reason
from actorflow.engine.placement.cost_model import UNMEASURED, Measurements
from actorflow.engine.placement.explain import explain
from actorflow.engine.placement.feasible import Candidate, has_state
from actorflow.engine.placement.groups import UnionFind, required
from actorflow.engine.placement.logical import is_logical, keeps, logical_workers, mapped
from actorflow.engine.placement.measuring import NodeMeasurement, measurements
from actorflow.engine.placement.place import place
from actorflow.engine.placement.ranking import needed_by, ranked
from actorflow.engine.placement.search.problem import SearchResult
from actorflow.engine.placement.search.searched import Searched
from actorflow.engine.placement.simulation.link_costs import DEFAULT_LINKS, LinkCosts
from actorflow.errors import OpError
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node

_SELDOM = 8
"""A node that was timed this many times less often than others belongs to other steps, such as that of initial values."""


class Placer:
    """Places whole graphs, does not move a node again until it is told to (`forget`), and remembers the reasons.

    Args:
        devices: see `place`; steps begin on the first device.
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
        self._movable: frozenset[str] = frozenset()
        """The nodes of logical workers, which go wherever these are."""
        self._measured: Measurements = UNMEASURED
        self._observed: Sequence[NodeMeasurement] = ()
        self._learned: Sequence[NodeMeasurement] = ()
        self.searched: Searched | None = None
        """The last search, for `explain`."""

    def place(self, nodes: Mapping[str, Node]) -> Mapping[str, OpError]:
        """Gives devices to those of `nodes` that have none yet. Returns the errors of those that no device can take."""
        if len(self.placed) == len(nodes):
            return {}
        refused: dict[str, OpError] = {}
        reasons = dict(self._reasons)
        self._movable = self._movable_of(nodes)
        nodes = mapped(nodes, self._devices)
        if nodes is not self._nodes and (self._learned or self._observed):
            self._measured = measurements((*self._learned, *self._observed), nodes)
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

    def _movable_of(self, nodes: Mapping[str, Node]) -> frozenset[str]:
        counts = logical_workers({node.device for node in nodes.values()})
        if not counts:
            return frozenset()
        return frozenset(n.name for n in nodes.values() if is_logical(n.device, counts) and not keeps(n))

    def ranked(self, parts: dict[str, Subgraph]) -> dict[str, Subgraph]:
        """The parts of a divided graph, with the ranks of their nodes where runs have shown costs."""
        return ranked(parts, self._nodes, self._devices, self._measured, self._links)

    def measured(self, observed: Iterable[NodeMeasurement]) -> Measurements:
        """The measurements by runs, for each node of the graph that was placed last; learned costs for nodes without
        measurements."""
        return measurements((*self._learned, *observed), self._nodes)

    def learn(self, learned: Sequence[NodeMeasurement], links: LinkCosts | None) -> None:
        """Takes costs that other runs have taught: of nodes, until runs have shown better, and of links."""
        self._learned = learned
        self._links = self._links if links is None else links

    def forget(self, observed: Iterable[NodeMeasurement]) -> None:
        """Lets the next call of `place` decide again, by what runs have shown. A node with state stays on its device,
        with the nodes that must be with it."""
        self._observed = list(observed)
        self._measured = self.measured(self._observed)
        nodes = self._nodes
        self._held |= {n: d for n, d in self.placed.items() if n not in nodes or has_state(nodes[n])}
        self.placed = {}
        self._reasons = {}

    def use(self, devices: Sequence[Candidate]) -> AbstractSet[str]:
        """Places nodes on these devices from now on. Nodes keep their devices unless these are gone; but nodes of logical workers
        that keep nothing between runs are divided among the tasks again. The result has the names of all that have no device
        now."""
        names = {device.name for device in devices}
        self._devices = devices
        former = self.placed
        self.placed = {name: device for name, device in former.items() if device in names and name not in self._movable}
        self._held = {name: device for name, device in self._held.items() if device in names}
        self._reasons = {name: reason for name, reason in self._reasons.items() if name in self.placed}
        return former.keys() - self.placed.keys()

    def move(self, devices: Mapping[str, str], nodes: Mapping[str, Node]) -> AbstractSet[str]:
        """Gives nodes other devices from now on. Nodes that must be with them are placed again as
        well; the result has the names of all.

        Args:
            devices: the device of each node.
            nodes: of the session's graph, as far as it is here.
        """
        nodes = {**nodes, **self._nodes}
        groups = UnionFind()
        for name, other, _ in required(nodes, nodes.values()):
            groups.join(name, other)
        present = {device.name for device in self._devices}
        devices = {name: device for name, device in devices.items() if device in present}
        there = {groups.find(name): device for name, device in devices.items() if name in nodes}
        moved = set()
        for name in nodes:
            device = there.get(groups.find(name))
            if device is not None and self.placed.get(name, self._held.get(name, device)) != device:
                moved.add(name)
        self.placed = {name: device for name, device in self.placed.items() if name not in moved}
        self._held = {name: device for name, device in self._held.items() if name not in moved} | dict(devices)
        self._reasons = {name: reason for name, reason in self._reasons.items() if name not in moved}
        return moved

    def pose(self, observed: Sequence[NodeMeasurement]) -> Posed:
        """The question to a search: what runs most often, by what runs have shown, with the present placement. Has no problem
        where nothing has a choice."""
        nodes = self._nodes
        self._measured = self.measured(observed)
        search_request = Posed(_run_most(observed, nodes))
        place(
            nodes,
            self._devices,
            {},
            {},
            held=self._held | {n: d for n, d in self.placed.items() if n not in nodes or has_state(nodes[n])},
            soft=self._soft,
            measured=self._measured,
            links=self._links,
            posed=search_request,
        )
        if search_request.problem is not None:
            options, index = search_request.problem.grouping.options, search_request.problem.machine.index
            present = [some[0] for some in options]
            for name, g in search_request.numbers.items():
                if name in search_request.needed and self.placed.get(name) in index:
                    present[g] = index[self.placed[name]]
            search_request.problem = replace(search_request.problem, present=present)
        return search_request

    def moved(self, search_request: Posed, result: SearchResult) -> Placer:
        """A placer like this placer, with the placement that a search has found. Nodes that the search did not look at stay."""
        assert search_request.problem is not None
        names = search_request.problem.machine.names
        placer = Placer(self._devices, soft=self._soft, links=self._links)
        placer._nodes, placer._refused, placer._held, placer._measured = (
            self._nodes,
            self._refused,
            self._held,
            self._measured,
        )
        placer._movable = self._movable
        placer._learned, placer._observed = self._learned, self._observed
        reached = {search_request.numbers[name] for name in search_request.needed if name in search_request.numbers}
        placer.placed = {
            name: names[result.at[g]] if (g := search_request.numbers.get(name)) in reached else device
            for name, device in self.placed.items()
        }
        return placer

    def explain(self, name: str) -> str:
        """Why a node is on its device; see `actorflow.engine.placement.explain`. Safe on any thread."""
        nodes = self._nodes
        if name not in nodes:
            return f"{name} has no device; it was not placed yet."
        verdict = self.searched
        compared = verdict is not None and verdict.compared(name)
        text = explain(
            name, nodes, self.placed, self._devices, reasons=self._reasons, refused=self._refused, searched=compared
        )
        return text if verdict is None else "\n".join([text, *verdict.lines(name)])


def _run_most(observed: Sequence[NodeMeasurement], nodes: Mapping[str, Node]) -> AbstractSet[str]:
    """The nodes of the steps that run most often, with all that they depend on; all where nothing has run."""
    most = max((row.samples for row in observed), default=0)
    waiting = [name for row in observed if row.samples * _SELDOM >= most for name in row.names if name in nodes]
    if not waiting:
        return nodes.keys()
    return needed_by(waiting, nodes)
