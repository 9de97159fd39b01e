"""Random steps for the simulation of placements: numbers in place of graphs. A seed decides everything."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.greedy import Grouping
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts
from actorflow.engine.placement.simulation.workload import DeviceSet, Workload, WorkloadEdge
from actorflow.graph.device_spec import DeviceSpec

LINKS = {
    "bus": LinkCosts(host=LinkCost(20e-6, 12e9, 5e-6)),
    "memory": LinkCosts(host=LinkCost(60e-6, overhead=10e-6)),
    "network": LinkCosts(host=LinkCost(300e-6, 1e9, 10e-6)),
}


@dataclass(frozen=True)
class Record:
    """A device as a master knows it, in a task of its own."""

    task: int
    speed: float = 1.0
    budget: float | None = None
    type: str = "CPU"
    host: str = "one"
    cores: int | None = None

    @property
    def name(self) -> str:
        return f"/job:worker/replica:0/task:{self.task}/device:CPU:0"

    @property
    def spec(self) -> DeviceSpec:
        return DeviceSpec.parse(self.name)


def step(
    seconds: Sequence[float],
    edges: Sequence[tuple[int, int]],
    nbytes: Sequence[float] | None = None,
    state: Sequence[float] | None = None,
    idle: Sequence[float] = (),
) -> Workload:
    """A step of nodes n0, n1, ... with these costs; `edges` go from a lower number to a higher one."""
    count = len(seconds)
    nbytes = [0.0] * count if nbytes is None else nbytes
    inputs: list[list[WorkloadEdge]] = [[] for _ in seconds]
    users: list[list[int]] = [[] for _ in seconds]
    for source, user in edges:
        inputs[user].append(WorkloadEdge(source, nbytes[source], True))
        users[source].append(user)
    names = [f"n{i}" for i in range(count)]
    none = [0.0] * count
    held = none if state is None else state
    return Workload(names, seconds, nbytes, held, none, inputs, users, range(count), idle)


def posed(
    work: Workload, devices: Sequence[Record], links: LinkCosts, group: Sequence[int] | None = None
) -> SearchProblem:
    """Any group on any device."""
    group = range(len(work.names)) if group is None else group
    count = max(group, default=-1) + 1
    everywhere = tuple(range(len(devices)))
    grouping = Grouping(group, [everywhere] * count, [False] * count, [0.0] * len(devices))
    return SearchProblem(work, DeviceSet(devices, links), grouping)


def random_problem(
    seed: int,
    count: int,
    devices: int,
    links: LinkCosts,
    *,
    budget: float | None = None,
    together: float = 0.0,
    cores: int | None = None,
) -> SearchProblem:
    """`count` nodes that each need one to three earlier ones, on `devices` of three speeds.

    Args:
        budget: what part of the bytes of all variables each device has room for; None is without bounds.
        together: how likely a node is in the group of an earlier one.
        cores: how many the devices share; then some nodes wait for a part of their time.
    """
    rng = random.Random(seed)
    seconds = [rng.choice((1e-5, 3e-4, 1e-3, 3e-3, 1e-2)) for _ in range(count)]
    edges = [
        (source, i)
        for i in range(count)
        for source in rng.sample(range(max(0, i - 8), i), min(i, rng.choice((0, 1, 1, 2, 3))))
    ]
    nbytes = [rng.choice((0.0, 1e3, 1e5, 1e6, 1e7)) for _ in range(count)]
    state = [rng.choice((0.0, 0.0, 1e6, 1e7)) for _ in range(count)] if budget is not None else [0.0] * count
    if budget is not None:
        nbytes = [min(size, 1e5) for size in nbytes]
    group: list[int] = []
    for _ in range(count):
        group.append(rng.choice(group) if group and rng.random() < together else max(group, default=-1) + 1)
    room = None if budget is None else budget * sum(state) + 1e6
    records = [Record(i, rng.choice((1.0, 1.0, 2.0, 0.5)), room, cores=cores) for i in range(devices)]
    idle = [] if cores is None else [s * rng.choice((0.0, 0.0, 0.5, 1.0)) for s in seconds]
    return posed(step(seconds, edges, nbytes, state, idle), records, links, group)
