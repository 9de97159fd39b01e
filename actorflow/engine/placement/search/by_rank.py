"""Placement by rank: the heterogeneous earliest finish time of Topcuoglu, Hariri and Wu (2002).

The node with the longest way to the end of the step is placed first, on the device on which it ends first; it may go into a gap
that others have left. The greedy walk of `actorflow.engine.placement.simulation.greedy` decides in the order in which nodes
become ready. So each of the two sees what the other does not: a search starts from both.
"""

from __future__ import annotations

import math

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.greedy import WorkQueue
from actorflow.engine.placement.simulation.simulator import ranks

_CHEAP = 1e-6
"""Nodes that cost less, as variables do, leave the choice of the device to others of their group."""


def by_rank(problem: SearchProblem) -> list[int]:
    """The device of each group: the device with room on which its first node that costs something ends first."""
    work, machine, group, options = problem.work, problem.machine, problem.grouping.group, problem.grouping.options
    rank = ranks(work, machine)
    at = [some[0] if len(some) == 1 else -1 for some in options]
    room = [math.inf if b is None else b - used for b, used in zip(machine.budget, problem.grouping.used)]
    held = [0.0] * len(options)
    for i, g in enumerate(group):
        held[g] += work.state[i]
    for g, device in enumerate(at):
        if device >= 0:
            room[device] -= held[g]
    queues = [WorkQueue() for _ in range(machine.queues)]
    ended = [0.0] * len(rank)
    for i in sorted(work.order, key=lambda i: -rank[i]):  # of equal nodes the first comes first
        g = group[i]
        if at[g] < 0 and work.seconds[i] <= _CHEAP:
            ended[i] = max((ended[edge.source] for edge in work.inputs[i]), default=0.0)
            continue
        choice = True, math.inf, math.inf, -1
        for device in options[g] if at[g] < 0 else (at[g],):
            ready = machine.begin[device]
            for source, nbytes, _, _ in work.inputs[i]:
                there, arrived = at[group[source]], ended[source]
                if there not in (-1, device):
                    link = machine.links[there][device]
                    arrived += link.seconds(nbytes) + 2 * link.overhead
                ready = max(ready, arrived)
            seconds = work.seconds[i] / machine.speed[device]
            start = queues[machine.queue(device, seconds)].earliest(ready, seconds)
            crowded = at[g] < 0 and room[device] < held[g] + work.output[i]
            choice = min(choice, (crowded, start + seconds, start, device))
        _, ended[i], start, device = choice
        if at[g] < 0:
            at[g] = device
            room[device] -= held[g]
        if ended[i] > start:
            queue = queues[machine.queue(device, work.seconds[i] / machine.speed[device])]
            queue.reserve(start, ended[i] - start, 0.0)
    return [some[0] if device < 0 else device for some, device in zip(options, at)]
