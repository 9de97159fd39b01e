"""`makespan`: how long the step of a placement takes, by its simulated execution (paper section 3.2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorflow.engine.placement.affinity import Uses, initial, run_once, same
from actorflow.engine.placement.cost_model import UNMEASURED, Measurements
from actorflow.engine.placement.feasible import Candidate
from actorflow.engine.placement.groups import UnionFind, required
from actorflow.engine.placement.simulation.link_costs import DEFAULT_LINKS, LinkCosts
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.placement.simulation.timeline import StepTimeline
from actorflow.engine.placement.simulation.workload import DeviceSet, workload
from actorflow.graph.node import Node


def makespan(
    nodes: Mapping[str, Node],
    placed: Mapping[str, str],
    devices: Sequence[Candidate],
    *,
    measured: Measurements = UNMEASURED,
    links: LinkCosts = DEFAULT_LINKS,
) -> StepTimeline:
    """The simulated execution of a placement; `seconds` is how long the step takes. All nodes run once, but what only makes
    initial values takes no time. `begun` and `ended` are in the order of the nodes' names.

    Raises:
        KeyError: a node is on none of `devices`.
    """
    machine = DeviceSet(devices, links)
    names = sorted(name for name in nodes if name in placed)
    groups = UnionFind()
    for name, other, _ in required(nodes, nodes.values()):
        groups.join(name, other)
    uses = Uses(nodes, [nodes[name] for name in names])
    once = run_once(uses, initial(uses, groups))
    merged = {name: first for name, first in same(uses).items() if placed[name] == placed[first]}
    work = workload(nodes, names, (), once, machine, measured, merged)
    return Simulator(work, machine, range(len(names))).run([machine.index[placed[name]] for name in names])
