"""Steps to place, as numbers: profiles of five networks, cells as NASNet's, layers of random nodes, and a grid of LSTM cells.

The profiles are PipeDream's (`placement_profiles.json`, with their licence): forward and backward times on a GPU, the bytes of
activations and those of parameters. A training step has a node for each layer and one for its gradient, which share a device.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.greedy import Grouping
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts
from actorflow.engine.placement.simulation.workload import DeviceSet, Workload, WorkloadEdge
from actorflow.graph.device_spec import DeviceSpec

LINKS: Mapping[str, LinkCosts] = {
    name: LinkCosts(process=link, host=link)
    for name, link in {
        "bus": LinkCost(20e-6, 12e9, 5e-6),
        "memory": LinkCost(60e-6, overhead=5e-6),
        "network": LinkCost(300e-6, 1e9, 10e-6),
    }.items()
}


@dataclass(frozen=True, slots=True)
class _Device:
    name: str
    spec: DeviceSpec
    budget: float | None = None
    type: str = "CPU"
    host: str = "one"


class Step(NamedTuple):
    """Seconds, edges, bytes of outputs, group and bytes of state of each node. `edges` go from lower numbers to higher ones."""

    seconds: list[float]
    edges: list[tuple[int, int]]
    nbytes: list[float]
    group: list[int]
    state: list[float]


def problem(step: Step, devices: int, links: LinkCosts, budget: float | None = None) -> SearchProblem:
    """The question where the nodes of a step go, each of which may be on any device.

    Args:
        budget: the part of the bytes of all variables that each device has room for, besides the largest output of a node.
    """
    seconds, edges, nbytes, group, state = step
    inputs: list[list[WorkloadEdge]] = [[] for _ in seconds]
    users: list[list[int]] = [[] for _ in seconds]
    for source, user in edges:
        inputs[user].append(WorkloadEdge(source, nbytes[source], True))
        users[source].append(user)
    names = [f"n{i}" for i in range(len(seconds))]
    work = Workload(names, seconds, nbytes, state, [0.0] * len(seconds), inputs, users, range(len(seconds)))
    room = None if budget is None else budget * sum(state) + max(nbytes)
    found = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(devices)]
    machine = DeviceSet([_Device(name, DeviceSpec.parse(name), room) for name in found], links)
    count = max(group) + 1
    everywhere = tuple(range(devices))
    return SearchProblem(work, machine, Grouping(group, [everywhere] * count, [False] * count, [0.0] * devices))


def _training(
    forward: list[float],
    backward: list[float],
    nbytes: list[float],
    edges: list[tuple[int, int]],
    state: Sequence[float] = (),
) -> Step:
    count = len(forward)

    def gradient(i: int) -> int:
        return 2 * count - 1 - i

    there = [*edges, *((gradient(b), gradient(a)) for a, b in edges), *((i, gradient(i)) for i in range(count))]
    numbers = list(range(count))
    held = [*(state or [0.0] * count), *[0.0] * count]
    return Step(forward + backward[::-1], sorted(set(there)), nbytes + nbytes[::-1], numbers + numbers[::-1], held)


def profile(name: str) -> Step:
    """A training step of a network, by PipeDream's profile."""
    found = json.loads((Path(__file__).parent / "placement_profiles.json").read_text(encoding="utf-8"))["profiles"][
        name
    ]
    forward, backward, nbytes, state = (list(map(float, column)) for column in zip(*found["layers"]))
    edges = [(int(a), int(b)) for a, b in found["edges"]]
    return _training([ms * 1e-3 for ms in forward], [ms * 1e-3 for ms in backward], nbytes, edges, state)


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
    return Step(seconds, edges, nbytes, list(range(len(seconds))), [0.0] * len(seconds))


def tangle(seed: int) -> Step:
    """Sixteen to forty nodes of very different lengths, some with variables, each after up to three of the eight before it."""
    chance = random.Random(seed)
    count = chance.randint(16, 40)
    edges = [
        (need, i)
        for i in range(count)
        for need in chance.sample(range(max(0, i - 8), i), min(i, chance.choice((0, 1, 1, 2, 3))))
    ]
    seconds = [chance.choice((1e-5, 3e-4, 1e-3, 3e-3, 1e-2)) for _ in range(count)]
    nbytes = [chance.choice((0.0, 1e3, 1e5, 1e6, 1e7)) for _ in range(count)]
    group: list[int] = []
    for _ in range(count):
        group.append(chance.choice(group) if group and chance.random() < 0.2 else max(group, default=-1) + 1)
    return Step(seconds, edges, nbytes, group, [chance.choice((0.0, 0.0, 1e6, 1e7)) for _ in range(count)])


def lstm(layers: int = 8, steps: int = 40) -> Step:
    """A grid of cells of 1 ms: each needs the one below it and the one before it."""
    edges = [(i - layers, i) for i in range(layers, layers * steps)]
    edges += [(i - 1, i) for i in range(layers * steps) if i % layers]
    count = layers * steps
    return Step([1e-3] * count, edges, [65536.0] * count, list(range(count)), [0.0] * count)


STEPS: Mapping[str, tuple[str, Callable[[], Step]]] = {
    "inception": ("Inception-v3 by PipeDream's profile, 652 nodes", partial(profile, "inception")),
    "nasnet": ("eighteen cells as NASNet's, 1,044 nodes", nasnet),
    "layered": ("forty layers of ten random nodes", layered),
}

PROFILES: Mapping[str, str] = {
    "densenet": "DenseNet-121 by PipeDream's profile",
    "resnet": "ResNet-50 by PipeDream's profile",
    "vgg": "VGG-16 by PipeDream's profile",
    "gnmt": "GNMT by PipeDream's profile",
}
"""More profiles of `profile`, with their words."""
