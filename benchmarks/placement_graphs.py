"""Steps to place, as numbers: a profile of Inception-v3, cells as NASNet's, layers of random nodes, and a grid of LSTM cells.

The profile is PipeDream's (`placement_inception.json`, with its licence): forward and backward times on a GPU, and the bytes of
activations. A training step has a node for each layer and one for its gradient, which share a device.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from actorflow.graph.device_spec import DeviceSpec
from actorflow.placement.search.problem import SearchProblem
from actorflow.placement.simulation.greedy import Grouping
from actorflow.placement.simulation.link_costs import LinkCost, LinkCosts
from actorflow.placement.simulation.workload import DeviceSet, Workload, WorkloadEdge

LINKS: Mapping[str, LinkCosts] = {
    "bus": LinkCosts(host=LinkCost(20e-6, 12e9, 5e-6)),
    "memory": LinkCosts(host=LinkCost(60e-6, overhead=5e-6)),
}


@dataclass(frozen=True, slots=True)
class _Device:
    name: str
    spec: DeviceSpec
    type: str = "CPU"
    host: str = "one"


def problem(
    seconds: Sequence[float],
    edges: Sequence[tuple[int, int]],
    nbytes: Sequence[float],
    group: Sequence[int],
    devices: int,
    links: LinkCosts,
) -> SearchProblem:
    """A step of nodes with these costs, each of which may be on any device; `edges` go from lower numbers to higher ones."""
    inputs: list[list[WorkloadEdge]] = [[] for _ in seconds]
    users: list[list[int]] = [[] for _ in seconds]
    for source, user in edges:
        inputs[user].append(WorkloadEdge(source, nbytes[source], True))
        users[source].append(user)
    none = [0.0] * len(seconds)
    names = [f"n{i}" for i in range(len(seconds))]
    work = Workload(names, seconds, nbytes, none, none, inputs, users, range(len(seconds)))
    found = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(devices)]
    machine = DeviceSet([_Device(name, DeviceSpec.parse(name)) for name in found], links)
    count = max(group) + 1
    everywhere = tuple(range(devices))
    return SearchProblem(work, machine, Grouping(group, [everywhere] * count, [False] * count, [0.0] * devices))


Step = tuple[list[float], list[tuple[int, int]], list[float], list[int]]
"""Seconds, edges, bytes and group of each node."""


def _training(forward: list[float], backward: list[float], nbytes: list[float], edges: list[tuple[int, int]]) -> Step:
    count = len(forward)

    def gradient(i: int) -> int:
        return 2 * count - 1 - i

    there = [*edges, *((gradient(b), gradient(a)) for a, b in edges), *((i, gradient(i)) for i in range(count))]
    numbers = list(range(count))
    return forward + backward[::-1], sorted(set(there)), nbytes + nbytes[::-1], numbers + numbers[::-1]


def inception() -> Step:
    """A training step of Inception-v3, by PipeDream's profile."""
    found = json.loads((Path(__file__).parent / "placement_inception.json").read_text(encoding="utf-8"))
    forward, backward, nbytes = (list(map(float, column)) for column in zip(*found["layers"]))
    edges = [(int(a), int(b)) for a, b in found["edges"]]
    return _training([ms * 1e-3 for ms in forward], [ms * 1e-3 for ms in backward], nbytes, edges)


def nasnet(seed: int = 1, cells: int = 18) -> Step:
    """A training step of cells of five blocks, each of two short chains, after the two cells before."""
    chance = random.Random(seed)
    forward, nbytes, edges = [2e-3], [8e6], list[tuple[int, int]]()

    def add(seconds: float, size: float, needs: Sequence[int]) -> int:
        forward.append(seconds)
        nbytes.append(size)
        edges.extend((need, len(forward) - 1) for need in sorted(set(needs)))
        return len(forward) - 1

    before = [0, 0]
    for _ in range(cells):
        outputs = list(before)
        for _ in range(5):
            ends = []
            for end in (chance.choice(outputs), chance.choice(outputs)):
                for _ in range(chance.choice((1, 2, 4))):
                    end = add(chance.uniform(0.3e-3, 2e-3), chance.choice((2e6, 4e6)), [end])
                ends.append(end)
            outputs.append(add(0.1e-3, 4e6, ends))
        before = [before[1], add(0.2e-3, 8e6, outputs[2:])]
    return _training(forward, [2 * seconds for seconds in forward], nbytes, edges)


def layered(seed: int = 2, layers: int = 40, width: int = 10) -> Step:
    """Layers of nodes, each of which needs one to three of the layer before."""
    chance = random.Random(seed)
    seconds, nbytes, edges = list[float](), list[float](), list[tuple[int, int]]()
    for layer in range(layers):
        before = range((layer - 1) * width, layer * width) if layer else range(0)
        for _ in range(width):
            needs = chance.sample(before, min(len(before), chance.choice((1, 2, 3))))
            edges += [(need, len(seconds)) for need in needs]
            seconds.append(chance.choice((0.5e-3, 1e-3, 2e-3, 4e-3, 8e-3)))
            nbytes.append(chance.choice((1e5, 1e6, 4e6)))
    return seconds, edges, nbytes, list(range(len(seconds)))


def lstm(layers: int = 8, steps: int = 40) -> Step:
    """A grid of cells of 1 ms: each needs the one below it and the one before it."""
    edges = [(i - layers, i) for i in range(layers, layers * steps)]
    edges += [(i - 1, i) for i in range(layers * steps) if i % layers]
    count = layers * steps
    return [1e-3] * count, edges, [65536.0] * count, list(range(count))


STEPS: Mapping[str, tuple[str, Callable[[], Step]]] = {
    "inception": ("Inception-v3 by PipeDream's profile, 652 nodes", inception),
    "nasnet": ("eighteen cells as NASNet's, 1,044 nodes", nasnet),
    "layered": ("forty layers of ten random nodes", layered),
}
