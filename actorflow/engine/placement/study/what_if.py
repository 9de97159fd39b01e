"""Other machines than those that are there: more workers, faster links."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from actorflow.engine.placement.search.codec import device_set
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.link_costs import DEFAULT_LINKS, LinkCost, task_of
from actorflow.engine.placement.simulation.workload import DeviceSet
from actorflow.graph.device_spec import DeviceSpec

_FACTS = ("names", "speed", "budget", "links", "queues", "loop", "threaded", "host", "cores", "begin", "end")
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_BANDWIDTH = re.compile(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kMG]?)(b|B|bit)(?:/s|ps)\s*")


def bandwidth_of(said: float | str) -> float:
    """Bytes a second, from such a number or from a text as `10Gb/s` (bits) or `1.25GB/s` (bytes).

    Example:
        >>> from actorflow.engine.placement.study.what_if import bandwidth_of
        >>> bandwidth_of("10Gb/s")
        1250000000.0

    Raises:
        ValueError: it is neither, or not above 0.
    """
    if isinstance(said, str):
        match = _BANDWIDTH.fullmatch(said)
        if match is None:
            raise ValueError(f"{said!r} is no bandwidth; write it as 10Gb/s (bits) or 1.25GB/s (bytes).")
        number, unit, kind = match.groups()
        said = float(number) * _UNITS[unit] / (1 if kind == "B" else 8)
    if not said > 0:
        raise ValueError(f"A bandwidth is above 0, but it is {said!r}.")
    return float(said)


def with_links(problem: SearchProblem, change: Callable[[LinkCost], LinkCost]) -> SearchProblem:
    """The problem with other links between tasks; those inside of a task stay."""
    machine = problem.machine
    tasks = [task_of(DeviceSpec.parse(name)) for name in machine.names]
    links = [
        [change(link) if tasks[a] != tasks[b] else link for b, link in enumerate(row)]
        for a, row in enumerate(machine.links)
    ]
    begin = [seconds + links[0][d].latency - machine.links[0][d].latency for d, seconds in enumerate(machine.begin)]
    end = [seconds + links[d][0].latency - machine.links[d][0].latency for d, seconds in enumerate(machine.end)]
    return replace(problem, machine=_copy(machine, links=links, begin=begin, end=end))


def with_workers(problem: SearchProblem, count: int) -> SearchProblem:
    """The problem with `count` more tasks, each on a host of its own with a device like the last device. They are for whatever
    the last is for."""
    machine = problem.machine
    last = len(machine.names) - 1
    spec = DeviceSpec.parse(machine.names[last])
    tasks = [task_of(DeviceSpec.parse(name)) for name in machine.names]
    there = next((machine.links[last][d] for d in range(last) if tasks[d] != tasks[last]), DEFAULT_LINKS.host)
    here = machine.links[last][last]
    names, links = list(machine.names), [list(row) for row in machine.links]
    number = max((task.task or 0 for task in tasks if task.job == spec.job), default=0)
    for k in range(1, count + 1):
        names.append(str(replace(spec, task=number + k)))
        for row in links:
            row.append(there)
        links.append([there] * (len(names) - 1) + [here])
    # a queue for each device comes first, then a queue for each event loop
    loops = machine.queues - (last + 1)
    loop = [queue + count for queue in machine.loop]
    loop += [len(names) + loops + k for k in range(count)]
    cores = [*machine.cores, *[machine.cores[machine.host[machine.loop[last]]]] * count]
    added_hosts = range(len(machine.cores), len(cores))
    takes_cores = machine.host[last] == machine.host[machine.loop[last]]
    host = [*machine.host[: last + 1], *(added_hosts if takes_cores else [0] * count)]
    host += [*machine.host[last + 1 :], *added_hosts]
    changed = _copy(
        machine,
        names=names,
        speed=[*machine.speed, *[machine.speed[last]] * count],
        budget=[*machine.budget, *[machine.budget[last]] * count],
        links=links,
        queues=len(names) + loops + count,
        loop=loop,
        threaded=[*machine.threaded, *[machine.threaded[last]] * count],
        begin=machine.begin + [machine.begin[last] if last else machine.begin[0] + there.latency] * count,
        end=machine.end + [machine.end[last] if last else machine.end[0] + there.latency] * count,
        host=host,
        cores=cores,
    )
    added = range(last + 1, len(names))
    grouping = problem.grouping
    alone = last == 0  # then a choice does not show in the number of devices
    options = [
        (*some, *added) if last in some and (len(some) > 1 or (alone and not held)) else some
        for some, held in zip(grouping.options, grouping.stateful)
    ]
    grouping = replace(grouping, options=options, used=[*grouping.used, *[0.0] * count])
    return replace(problem, machine=changed, grouping=grouping)


def _copy(machine: DeviceSet, **changes: Any) -> DeviceSet:
    return device_set(*(changes.get(name, getattr(machine, name)) for name in _FACTS))
