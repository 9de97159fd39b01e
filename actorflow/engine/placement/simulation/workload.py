"""`Workload`: a graph as the simulation of its execution wants it, numbers for names.

Nodes are numbered in the order of their names, so that nothing depends on the order in which a program made them.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from actorflow.base.registry import opdef
from actorflow.engine.placement.cost_model import Measurements, expected_bytes, node_cost
from actorflow.engine.placement.feasible import Candidate
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts, task_of
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import is_free
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node

INLINE = 0.0007
"""A kernel that is shorter (seconds) runs on the event loop of its process, which the devices of the process share; a longer
kernel has its device's own thread. See `actorflow.engine.runtime.diagnostics.costs`."""


class WorkloadEdge(NamedTuple):
    """A need of a node: a node's number, the bytes that a transfer would move, whether it is a tensor, and which
    output of that node."""

    source: int
    nbytes: float
    is_data: bool
    port: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """seconds: for each node, on a device of speed 1; nothing for what waits without working, or runs but once.
    output: for each node, the bytes of all its outputs.
    state: for each node, the bytes of the variable that it is.
    fed: for each node, the bytes that come from the client.
    order: the nodes' numbers, each after all that it waits for.
    idle: for each node, the part of its seconds in which it takes no core, as a node that waits for a disk; none unless given.
    hop: for each node, the seconds from the event loop to the device's thread, and back; none unless given.
    """

    names: Sequence[str]
    seconds: Sequence[float]
    output: Sequence[float]
    state: Sequence[float]
    fed: Sequence[float]
    inputs: Sequence[Sequence[WorkloadEdge]]
    users: Sequence[Sequence[int]]
    order: Sequence[int]
    idle: Sequence[float] = ()
    hop: Sequence[float] = ()


class DeviceSet:
    """The devices as numbers: speeds, budgets, links, and which queue a kernel gets into. The first one begins each step.

    `loop` is the number of the queue of each device's event loop, `queues` that of all queues. `threaded` says how many seconds
    a kernel has to take to get the device's own thread. Queues of a host share its cores: `cores` has their number for each
    host, 0 for an unknown number or no limit, and `host` the number of each queue's host. `begin` is how long after the
    client's call a device's first node may begin, `end` how long the word of its last node takes to the client.
    """

    def __init__(self, devices: Sequence[Candidate], links: LinkCosts) -> None:
        self.names = [device.name for device in devices]
        self.index = {device.name: i for i, device in enumerate(devices)}
        self.speed = [float(getattr(device, "speed", None) or 1.0) for device in devices]
        self.budget = [budget_of(device) for device in devices]
        self.links: list[list[LinkCost]] = [[links.link(a, b) for b in devices] for a in devices]
        tasks = list(dict.fromkeys(task_of(device.spec) for device in devices))
        self.queues = len(devices) + len(tasks)
        self.loop = [len(devices) + tasks.index(task_of(device.spec)) for device in devices]
        self.host, self.cores = _hosts(devices, self.loop)
        self.begin = self._ways_of_the_client(devices, links)
        self.end = list(self.begin)
        self.threaded = [0.0 if getattr(device, "asynchronous", False) else INLINE for device in devices]

    def _ways_of_the_client(self, devices: Sequence[Candidate], links: LinkCosts) -> list[float]:
        """Half of a step that does nothing on a device: as measured, or else a message from the first device."""
        first = links.steps.get(self.names[0], 0.0) if devices else 0.0
        return [
            links.steps.get(name, first + 2 * link.latency) / 2
            for name, link in zip(self.names, self.links[0] if devices else ())
        ]

    def queue(self, device: int, seconds: float) -> int:
        """The number of the queue in which a kernel of `seconds` waits: its device's, or that of the process's loop."""
        return device if seconds >= self.threaded[device] else self.loop[device]

    def mean_link(self) -> tuple[float, float]:
        """Latency and seconds a byte, averaged over all pairs of devices."""
        pairs = [link for i, row in enumerate(self.links) for j, link in enumerate(row) if i != j]
        count = max(len(pairs), 1)
        return sum(p.latency for p in pairs) / count, sum(1.0 / p.bandwidth for p in pairs) / count


def _hosts(devices: Sequence[Candidate], loop: Sequence[int]) -> tuple[list[int], list[int]]:
    """For each queue the number of its host, and for each host its cores. A device whose kernels are only launched takes none."""
    hosts: dict[object, int] = {}
    cores: list[int] = [0]
    """The first host has no limit."""
    of_device: list[int] = []
    of_loop: dict[int, int] = {}
    for device, number in zip(devices, loop):
        own_cores = getattr(device, "cores", None)
        host = getattr(device, "host", None)
        if own_cores and (key := host if host is not None else task_of(device.spec)) not in hosts:
            hosts[key] = len(cores)
            cores.append(own_cores)
        mine = hosts[key] if own_cores else 0
        of_loop[number] = mine
        of_device.append(0 if getattr(device, "asynchronous", False) else mine)
    host_of = [*of_device, *(of_loop[number] for number in sorted(of_loop))]
    return host_of, [0 if host_of.count(h) <= count else count for h, count in enumerate(cores)]


def budget_of(device: Candidate) -> float | None:
    """The bytes that a device's tensors may take: what it says itself, or its allocator; None is without bounds."""
    budget: float | None = getattr(device, "budget", None)
    if budget is None and (allocator := getattr(device, "allocator", None)) is not None:
        budget = allocator.statistics().budget
    return budget


def workload(
    nodes: Mapping[str, Node],
    names: Sequence[str],
    given: Container[str],
    once: Container[str],
    machine: DeviceSet,
    measured: Measurements,
    same: Mapping[str, str] = MappingProxyType({}),
) -> Workload:
    """The work of the nodes `names`, which are sorted. Those `given` are there already: their tensors are, and they cost
    nothing. Nodes in `once` run before all steps, and cost nothing either. Those in `same` have what another node of their device
    computes, and do nothing but wait for it."""
    index = {name: i for i, name in enumerate(names)}
    merged = {name: index[first] for name, first in same.items() if first in index}
    estimate = _Estimates(nodes)
    seconds, output, state, fed, idle, hop = [], [], [], [], [], []
    sizes: list[Sequence[float]] = []
    for name in yielding(names):
        node = nodes[name]
        bytes_each = measured.bytes.get(name) or [expected_bytes(s, d) for s, d in zip(node.shapes, node.dtypes)]
        sizes.append(bytes_each)
        held = bool(node.dtypes) and node.dtypes[0].is_ref
        state.append(float(sum(bytes_each)) if held and not node.inputs else 0.0)
        output.append(0.0 if held else float(sum(bytes_each)))
        fed.append(float(sum(bytes_each)) if node.op == "Placeholder" and name not in given else 0.0)
        costs_nothing = name in given or name in once or name in merged
        seconds.append(0.0 if costs_nothing else _seconds(node, estimate, machine, measured))
        idle.append(min(seconds[-1], measured.idle.get(name, 0.0)))
        hop.append(measured.hops.get(name, 0.0))
    inputs: list[list[WorkloadEdge]] = []
    users: list[list[int]] = [[] for _ in names]
    for i, name in yielding(enumerate(names)):
        node = nodes[name]
        edges: list[WorkloadEdge] = []
        if name in merged:
            edges.append(WorkloadEdge(merged[name], 0.0, False))
        elif name not in given:
            for tensor_id in dict.fromkeys(node.inputs):
                source, maker = index.get(tensor_id.node), nodes[tensor_id.node]
                if source is None or is_free(maker) or node.op == "Merge" and maker.op == "NextIteration":
                    continue  # it has no device, is on each device, or comes from the turn before
                size = sizes[source][tensor_id.port] if tensor_id.port < len(sizes[source]) else 0.0
                edges.append(WorkloadEdge(source, size, True, tensor_id.port))
            edges += [WorkloadEdge(index[control], 0.0, False) for control in node.controls if control in index]
        inputs.append(edges)
        for edge in edges:
            users[edge.source].append(i)
    return Workload(names, seconds, output, state, fed, inputs, users, _ordered(inputs, users), idle, hop)


class _Estimates:
    """The static estimates of nodes, in seconds. A large graph has many nodes of one kind."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._whole = Subgraph(nodes)
        self._known: dict[object, float] = {}

    def __call__(self, node: Node) -> float:
        types = tuple([self._whole.type_of(tensor_id) for tensor_id in node.inputs])
        attrs = tuple(node.attrs.values()) if callable(opdef.lookup(node.op).work) else ()
        key = (node.op, types, node.shapes, attrs)
        try:
            seconds = self._known.get(key)
        except TypeError:  # a list among the attributes
            return node_cost(node, self._whole) * 1e-9
        if seconds is None:
            seconds = self._known[key] = node_cost(node, self._whole) * 1e-9
        return seconds


def _seconds(node: Node, estimate: _Estimates, machine: DeviceSet, measured: Measurements) -> float:
    if node.op == "Placeholder" or opdef.lookup(node.op).asynchronous:
        return 0.0  # it waits, and takes no one's time
    seconds = measured.seconds.get(node.name)
    if seconds is None:
        return estimate(node)
    device = machine.index.get(measured.devices.get(node.name, ""))
    return seconds if device is None else seconds * machine.speed[device]


def _ordered(inputs: Sequence[Sequence[WorkloadEdge]], users: Sequence[Sequence[int]]) -> list[int]:
    """Numbers in a topological order; those of a cycle, which a run will refuse, come last."""
    waits = [len(edges) for edges in inputs]
    ready = [i for i, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for user in users[i]:
            waits[user] -= 1
            if not waits[user]:
                heapq.heappush(ready, user)
    seen = set(order)
    return order + [i for i in range(len(inputs)) if i not in seen]
