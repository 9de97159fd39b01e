"""The starts of a search: placements that are good by construction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from actorflow.engine.placement.search.by_rank import by_rank
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.greedy import greedy


def starts(problem: SearchProblem) -> Iterator[tuple[str, list[int]]]:
    """Placements with their names: the present, the greedy, the ranked, all on each device, and contiguous splits."""
    if problem.present:
        yield "present", list(problem.present)
    walked = greedy(problem.work, problem.machine, problem.grouping)
    yield "greedy", list(walked.at)
    yield "by rank", by_rank(problem)
    names = problem.machine.names
    free = problem.free
    devices = sorted({device for g in free for device in problem.grouping.options[g]})
    for device in devices:
        yield f"all on {names[device]}", _with(problem, dict.fromkeys(free, device))
    order = _order(problem, free)
    for count in range(2, len(devices) + 1):
        yield f"{count} stretches", _with(problem, _split(problem, order, devices[:count]))


def _with(problem: SearchProblem, devices: dict[int, int]) -> list[int]:
    """Each group on the wanted device, or else on its first device."""
    return [
        devices[g] if devices.get(g) in options else options[0] for g, options in enumerate(problem.grouping.options)
    ]


def _order(problem: SearchProblem, free: Sequence[int]) -> list[int]:
    """The groups in the order of their first nodes that cost something."""
    place: dict[int, int] = {}
    for at, i in enumerate(problem.work.order):
        if problem.work.seconds[i] > 0:
            place.setdefault(problem.grouping.group[i], at)
    return sorted(free, key=lambda g: (place.get(g, 0), g))


def _split(problem: SearchProblem, order: Sequence[int], devices: Sequence[int]) -> dict[int, int]:
    """Stretches of equal work, as far as the devices are equally fast."""
    cost = [0.0] * len(problem.grouping.options)
    for i, g in enumerate(problem.grouping.group):
        cost[g] += problem.work.seconds[i]
    speed = problem.machine.speed
    total, fast = sum(cost[g] for g in order), sum(speed[device] for device in devices)
    assignment: dict[int, int] = {}
    rest = list(devices)
    done, until = 0.0, total * speed[rest[0]] / fast
    for g in order:
        while done + cost[g] / 2 > until and len(rest) > 1:
            rest.pop(0)
            until += total * speed[rest[0]] / fast
        assignment[g] = rest[0]
        done += cost[g]
    return assignment
