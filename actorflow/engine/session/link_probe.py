"""`measure_links`: what transfers between the tasks of a cluster cost, by steps that do nothing else.

A tensor goes to and fro between two devices, in a chain within one step. That counts all that a transfer costs: its Send, its
Recv, and turns of the event loops. Small tensors that go at one time count what an event loop works for each of them. A step that
does nothing on a device counts how long a step takes to begin and to end there.

The loops are at rest before each step. They sleep while kernels take milliseconds, as in the steps that are worth placing, and
a message has to wake them. In steps that follow each other at once it would find them awake, and take half of the time.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from collections.abc import Sequence
from typing import Any

from actorflow.engine.device.base import Device
from actorflow.engine.placement.simulation.link_costs import LinkCost, LinkCosts, task_of
from actorflow.engine.session.session import Session
from actorflow.graph.default_graph import device as device_scope
from actorflow.graph.graph import Graph
from actorflow.graph.ops.flow.control import group, identity
from actorflow.graph.ops.random.distributions import random_uniform
from actorflow.graph.tensor import Operation
from actorflow.public import public

_HOPS = 2
"""More hops in a row would find event loops that are awake already."""
_REST = 3e-3
"""Seconds without a message before each step: loops that were busy look for more for a moment before they sleep."""
_LARGE = 1 << 18
"""Elements of the tensor by which bandwidth is measured: 1 MB."""
_FAN = 32
_MOST_PAIRS = 21
"""The pairs of up to seven tasks. Of more tasks, each one's link to the first is measured."""
_WARM = 6
_SHORTEST = 1e-6
_FASTEST = 64e9
"""Bytes a second from which on the size of a tensor makes no difference that could be measured."""


@public("af")
async def measure_links(target: str, *, rounds: int = 21, credentials: Any = None) -> LinkCosts:
    """Measures what transfers between the tasks of a cluster cost: latency, bandwidth, and the time of event loops. It runs some
    hundred short steps in sessions of its own, about a second for each pair of tasks. Nothing else should run meanwhile.

    Example:
        >>> async with af.LocalCluster({"worker": 2}, transport="local") as cluster:
        ...     links = await af.measure_links(cluster.target, rounds=3)
        >>> links is not None
        True

    Args:
        target: as of a `Session`.
        rounds: how many steps of each kind are timed. The median counts.
        credentials: as of a `Session`.

    Returns:
        The links, for `CostModel.links`. Those between hosts and those within a host are the medians of the measured links.
    """
    async with Session(target, Graph(), credentials=credentials) as session:
        await session.warmup([])
        devices = _first_of_tasks(session.list_devices())
    pairs = list(itertools.combinations(devices, 2))
    if len(pairs) > _MOST_PAIRS:
        pairs = [(devices[0], other) for other in devices[1:]]
    steps = await _steps(target, credentials, [device.name for device in devices], rounds)
    between: dict[tuple[str, str], LinkCost] = {}
    for source, other in pairs:
        cost = await _measured(target, credentials, source.name, other.name, rounds)
        between[source.name, other.name] = between[other.name, source.name] = cost
    if not between:
        return LinkCosts(steps=steps)
    usual = _typical(list(between.values()))
    return LinkCosts(host=usual, network=usual, between=between, steps=steps)


async def _measured(target: str, credentials: Any, source: str, other: str, rounds: int) -> LinkCost:
    graph = Graph()
    with graph.as_default():
        small, large = (_chain(source, other, elements) for elements in (1, _LARGE))
        fan = _fan(source, other)
    steps = [step for chain in (small, large, fan) for step in chain]
    took = await _timed(target, graph, credentials, steps, rounds)
    # differences within a round: what slows the machine for a while slows both
    hop, far, more = (
        statistics.median(b - a for a, b in zip(took[2 * k], took[2 * k + 1])) / count
        for k, count in enumerate((_HOPS, _HOPS, _FAN - 1))
    )
    overhead = max(0.0, min(more, hop / 3)) / 2
    seconds = max(far - hop, 4 * _LARGE / _FASTEST)
    return LinkCost(max(hop - 2 * overhead, _SHORTEST), 4 * _LARGE / seconds, overhead)


async def _steps(target: str, credentials: Any, devices: Sequence[str], rounds: int) -> dict[str, float]:
    """The seconds of steps that do nothing: on the first device, and on all, which each of the others is taken to need."""
    graph = Graph()
    with graph.as_default():
        operations: list[Operation] = []
        for name in devices:
            with device_scope(name):
                operations.append(group(random_uniform([1])))
    took = await _timed(target, graph, credentials, [operations[:1], operations], rounds)
    first, others = (statistics.median(some) for some in took)
    return {name: others if k else first for k, name in enumerate(devices)}


async def _timed(
    target: str, graph: Graph, credentials: Any, steps: Sequence[Sequence[Operation]], rounds: int
) -> list[list[float]]:
    """The seconds of each step in each round."""
    took: list[list[float]] = [[] for _ in steps]
    async with Session(target, graph, credentials=credentials) as session:
        for number in range(_WARM + rounds):
            for k, step in enumerate(steps):
                await asyncio.sleep(_REST)
                begun = time.perf_counter()
                await session.run(list(step))
                if number >= _WARM:
                    took[k].append(time.perf_counter() - begun)
    return took


def _chain(source: str, other: str, elements: int) -> tuple[list[Operation], list[Operation]]:
    """A step that makes a tensor, and a step whose tensor also goes to and fro. Both tasks have a part in either."""
    with device_scope(other):
        beside = group(random_uniform([1]))
    ends: list[list[Operation]] = []
    for hops in (0, _HOPS):
        with device_scope(source):
            value = random_uniform([elements])
        for k in range(hops):
            with device_scope(source if k % 2 else other):
                value = identity(value)
        with device_scope(source):
            ends.append([group(value), beside])
    return ends[0], ends[1]


def _fan(source: str, other: str) -> tuple[list[Operation], list[Operation]]:
    """Steps in which one tensor goes to the other device, and in which many do, all at one time."""
    ends: list[list[Operation]] = []
    for count in (1, _FAN):
        with device_scope(source):
            values = [random_uniform([1]) for _ in range(count)]
        with device_scope(other):
            ends.append([group(*[identity(value) for value in values])])
    return ends[0], ends[1]


def _first_of_tasks(devices: Sequence[Device]) -> list[Device]:
    devices_by_task: dict[Any, Device] = {}
    for device in devices:
        devices_by_task.setdefault(task_of(device.spec), device)
    return list(devices_by_task.values())


def _typical(links: Sequence[LinkCost]) -> LinkCost:
    return LinkCost(
        *(statistics.median(getattr(link, name) for link in links) for name in ("latency", "bandwidth", "overhead"))
    )
