"""The work of each task for a signature: the subgraphs of its devices."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.cluster.config.spec import task_name
from actorflow.engine.device.base import Device, as_asynchronous
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.session.planning.planner import Divided
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node, TensorId


@dataclass(frozen=True, slots=True)
class RemoteDevice:
    """A device as those see it who only place nodes on it (`actorflow.engine.placement.feasible.Candidate`)."""

    name: str
    type: str
    spec: DeviceSpec
    host: str | None = None
    budget: int | None = None
    speed: float = 1.0
    asynchronous: bool = False
    cores: int | None = None


def device_row(device: Device) -> tuple[str, str, int | None, float, bool]:
    """The facts that a task tells of a device: its name, type, bytes, speed, and whether its kernels are only launched."""
    budget = device.allocator.statistics().budget
    speed = float(getattr(device, "speed", None) or 1.0)
    return device.name, device.type, budget, speed, as_asynchronous(device) is not None


def remote_device(row: Sequence[Any], host: str, cores: int | None) -> RemoteDevice:
    """The device of which a task on `host` has told this."""
    name, kind, budget, speed, asynchronous = row
    return RemoteDevice(name, kind, DeviceSpec.parse(name), host, budget, speed, asynchronous, cores)


@dataclass(frozen=True, slots=True)
class TaskEdge:
    """An edge between two tasks, by the key of its Send and Recv."""

    key: str
    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class TaskShare:
    """The work of one task: its subgraphs by device, which of the step's feeds it gets, and where its fetches come out."""

    task: str
    graphs: Mapping[str, Subgraph]
    feeds: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def nodes(self) -> Iterator[Node]:
        """The nodes of all its devices."""
        for graph in self.graphs.values():
            yield from graph.nodes.values()


@dataclass(frozen=True, slots=True, eq=False)
class PartitionedGraph:
    """A plan of a master: the shares of a signature; for each of its fetches, which share gives it and as which of its own."""

    shares: tuple[TaskShare, ...]
    places: tuple[tuple[int, int], ...]
    edges: tuple[TaskEdge, ...]
    feeds: tuple[TensorId, ...]
    options: PlanOptions


@functools.cache
def task_of(device: str) -> str:
    """The task that a full device name names."""
    spec = DeviceSpec.parse(device)
    assert spec.job is not None and spec.task is not None
    return task_name(spec.job, spec.task)


def by_task(divided: Divided) -> PartitionedGraph:
    """Groups the parts of devices by task."""
    parts, feeds = divided.parts, tuple(divided.signature.feeds)
    devices = list(parts)
    tasks = list(dict.fromkeys(map(task_of, devices)))
    members = {task: [d for d in devices if task_of(d) == task] for task in tasks}
    outputs: dict[str, list[tuple[int, int]]] = {task: [] for task in tasks}
    outputs_at: list[tuple[int, int]] = []
    for part, position in divided.places:
        device = devices[part]
        task = task_of(device)
        outputs_at.append((tasks.index(task), len(outputs[task])))
        outputs[task].append((members[task].index(device), position))
    shares = []
    for task in tasks:
        graphs = {device: parts[device] for device in members[task]}
        used = {tensor_id for graph in graphs.values() for tensor_id in _used_feeds(graph)}
        own_feeds = tuple(i for i, tensor_id in enumerate(feeds) if tensor_id in used)
        shares.append(TaskShare(task, graphs, own_feeds, tuple(outputs[task])))
    return PartitionedGraph(tuple(shares), tuple(outputs_at), tuple(_edges(parts)), feeds, divided.options)


def _used_feeds(graph: Subgraph) -> Iterator[TensorId]:
    for node in graph.nodes.values():
        yield from (tensor_id for tensor_id in node.inputs if tensor_id in graph.feeds)
    yield from (tensor_id for tensor_id in graph.fetches if tensor_id in graph.feeds)


def _edges(parts: Mapping[str, Subgraph]) -> Iterator[TaskEdge]:
    for graph in parts.values():
        for node in graph.nodes.values():
            if node.op == "_Send":
                source, destination, _ = node.attrs["key"].split(";", 2)
                if task_of(source) != task_of(destination):
                    yield TaskEdge(node.attrs["key"], source, destination)
