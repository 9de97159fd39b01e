"""Published placements to compare a search with, written from the papers and independent of the simulator.

`heft`: H. Topcuoglu, S. Hariri, M. Wu, "Performance-effective and low-complexity task scheduling for heterogeneous
computing", 2002.
`m_etf`: B. Jeon et al., "Baechi: fast device placement of machine learning graphs", 2020: the earliest task first, where the
device has room.
`stages`: D. Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN training", 2019: the contiguous division of a
sequence whose slowest stage is the fastest.

Each takes a problem whose groups have one node each, and gives the device of each node.
"""

from __future__ import annotations

import math

from actorflow.engine.placement.search.problem import SearchProblem


def _seconds(problem: SearchProblem, node: int, device: int) -> float:
    return problem.work.seconds[node] / problem.machine.speed[device]


def _transfer(problem: SearchProblem, nbytes: float, source: int, target: int) -> float:
    link = problem.machine.links[source][target]
    return 0.0 if source == target else link.seconds(nbytes) + 2 * link.overhead


def heft(problem: SearchProblem) -> list[int]:
    """By upward rank, each node to the device on which it ends first; it may go into a gap."""
    work, devices = problem.work, range(len(problem.machine.names))
    pairs = [(a, b) for a in devices for b in devices if a != b]
    rank = [0.0] * len(work.names)
    for i in reversed(work.order):
        rank[i] += sum(_seconds(problem, i, d) for d in devices) / len(devices)
        for edge in work.inputs[i]:
            way = sum(_transfer(problem, edge.nbytes, a, b) for a, b in pairs) / len(pairs)
            rank[edge.source] = max(rank[edge.source], rank[i] + way)
    at, ended = [-1] * len(rank), [0.0] * len(rank)
    busy: list[list[tuple[float, float]]] = [[] for _ in devices]
    place = {i: k for k, i in enumerate(work.order)}
    for i in sorted(range(len(rank)), key=lambda i: (-rank[i], place[i])):
        best = math.inf, -1
        for d in devices:
            arrived = [ended[e.source] + _transfer(problem, e.nbytes, at[e.source], d) for e in work.inputs[i]]
            begin = _gap(busy[d], max(arrived, default=0.0), _seconds(problem, i, d))
            best = min(best, (begin + _seconds(problem, i, d), d))
        ended[i], at[i] = best
        busy[at[i]] = sorted([*busy[at[i]], (ended[i] - _seconds(problem, i, at[i]), ended[i])])
    return at


def _gap(busy: list[tuple[float, float]], ready: float, seconds: float) -> float:
    """When work of `seconds` can begin between others."""
    for begin, end in busy:
        if ready + seconds <= begin:
            break
        ready = max(ready, end)
    return ready


def m_etf(problem: SearchProblem) -> list[int]:
    """Of all ready nodes and all devices that have room, always the pair that can begin first."""
    work, devices = problem.work, range(len(problem.machine.names))
    waits = [len(edges) for edges in work.inputs]
    at, ended = [-1] * len(waits), [0.0] * len(waits)
    free, held = [0.0] * len(devices), [0.0] * len(devices)
    ready = {i for i, count in enumerate(waits) if not count}
    while ready:
        found: list[tuple[float, int, int]] = []
        for i in ready:
            for d in devices:
                budget = problem.machine.budget[d]
                if budget is None or held[d] + work.state[i] + work.output[i] <= budget:
                    arrived = [ended[e.source] + _transfer(problem, e.nbytes, at[e.source], d) for e in work.inputs[i]]
                    found.append((max([free[d], *arrived]), i, d))
        begin, i, d = min(found) if found else (0.0, min(ready), min(devices, key=held.__getitem__))
        ready.remove(i)
        at[i], ended[i] = d, begin + _seconds(problem, i, d)
        free[d] = ended[i]
        held[d] += work.state[i]
        for user in work.users[i]:
            waits[user] -= 1
            if not waits[user]:
                ready.add(user)
    return at


def stages(problem: SearchProblem) -> list[int]:
    """The topological order in as many stretches as there are devices, so that the longest takes the shortest time."""
    work, devices, order = problem.work, range(len(problem.machine.names)), list(problem.work.order)
    total = [0.0]
    for i in order:
        total.append(total[-1] + work.seconds[i])
    least = [[math.inf] * (len(order) + 1) for _ in range(len(devices) + 1)]
    cut = [[0] * (len(order) + 1) for _ in range(len(devices) + 1)]
    least[0][0] = 0.0
    for d in devices:
        for end in range(len(order) + 1):
            for begin in range(end + 1):
                slowest = max(least[d][begin], (total[end] - total[begin]) / problem.machine.speed[d])
                if slowest < least[d + 1][end]:
                    least[d + 1][end], cut[d + 1][end] = slowest, begin
    at, end = [0] * len(order), len(order)
    for d in reversed(devices):
        begin = cut[d + 1][end]
        for i in order[begin:end]:
            at[i] = d
        end = begin
    return at


PUBLISHED = {"HEFT": heft, "m-ETF": m_etf, "PipeDream's stages": stages}
