"""Problems of searches as bytes."""

from __future__ import annotations

from typing import Any

import msgpack

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.greedy import Grouping
from actorflow.engine.placement.simulation.link_costs import DEFAULT_LINKS, LinkCost
from actorflow.engine.placement.simulation.workload import DeviceSet, Workload, WorkloadEdge


def encode_problem(problem: SearchProblem) -> bytes:
    """The problem in msgpack. `decode_problem` is the way back."""
    work, machine, grouping = problem.work, problem.machine, problem.grouping
    links = [[[link.latency, link.bandwidth, link.overhead] for link in row] for row in machine.links]
    packed: bytes = msgpack.packb(
        [
            [list(column) for column in (work.names, work.seconds, work.output, work.state, work.fed)]
            + [list(work.idle), list(work.hop)],
            [work.inputs, work.users, list(work.order)],
            [machine.names, machine.speed, machine.budget, links, machine.queues, machine.loop, machine.threaded]
            + [machine.host, machine.cores, machine.begin, machine.end],
            [list(grouping.group), [list(some) for some in grouping.options], grouping.stateful, list(grouping.used)],
            list(problem.present),
        ]
    )
    return packed


def decode_problem(packed: bytes) -> SearchProblem:
    """The problem of `encode_problem`. Raises ValueError, TypeError for other data."""
    columns, (inputs, users, order), facts, grouping, present = msgpack.unpackb(packed)
    edges = [[WorkloadEdge(*edge) for edge in some] for some in inputs]
    names, costs, output, state, fed, idle, hop = columns
    work = Workload(names, costs, output, state, fed, edges, users, order, idle, hop)
    return SearchProblem(work, device_set(*facts), Grouping(*grouping), present)


def device_set(
    names: list[str],
    speed: list[float],
    budget: list[float | None],
    links: list[list[Any]],
    queues: int,
    loop: list[int],
    threaded: list[float],
    host: list[int],
    cores: list[int],
    begin: list[float],
    end: list[float],
) -> DeviceSet:
    """Devices as these columns say."""
    machine = DeviceSet((), DEFAULT_LINKS)
    machine.names, machine.speed, machine.budget = names, speed, budget
    machine.queues, machine.loop, machine.threaded, machine.host, machine.cores = queues, loop, threaded, host, cores
    machine.begin, machine.end = begin, end
    machine.links = [[LinkCost(*link) if isinstance(link, list) else link for link in row] for row in links]
    machine.index = {name: i for i, name in enumerate(names)}
    return machine
