"""Proposals of changes: what lies on the critical path goes to other devices.

A move elsewhere leaves the step as long as it is, but for what it may make room for. So a proposal starts at a node of the
critical path: it takes a stretch of the path over an edge to the device at the edge's other end. Or it moves what waits in a
queue or what it waits for, or a group and the groups around it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.timeline import StepTimeline

_LONGEST = 64
_DRAWS = 32


class Proposer(Protocol):
    """Gives changes to try."""

    def propose(self, schedule: StepTimeline, path: list[int], chance: random.Random) -> Mapping[int, int]:
        """New devices for some groups; `path` is the critical path of `schedule`, the end of the step first."""


class CriticalPathMoves:
    """Uniform choices among the kinds of moves that this module's docstring lists."""

    def __init__(self, problem: SearchProblem) -> None:
        self._work = problem.work
        self._group = problem.grouping.group
        self._options = problem.grouping.options
        self._free = problem.free
        self._neighbours: list[list[int]] = [[] for _ in self._options]
        for i, edges in enumerate(problem.work.inputs):
            for edge in edges:
                mine, other = self._group[i], self._group[edge.source]
                if mine != other:
                    self._neighbours[mine].append(other)
                    self._neighbours[other].append(mine)

    def propose(self, schedule: StepTimeline, path: list[int], chance: random.Random) -> Mapping[int, int]:
        kind = chance.random()
        if kind < 0.45:
            move = self._over_an_edge(schedule, path, chance)
        elif kind < 0.65:
            move = self._out_of_a_queue(schedule, path, chance)
        elif kind < 0.9:
            move = self._of_the_path(schedule, path, chance)
        else:
            move = self._with_neighbours(schedule, chance.choice(self._free), chance)
        return move or self._with_neighbours(schedule, chance.choice(self._free), chance)

    def _stretch(
        self, schedule: StepTimeline, path: list[int], begin: int, step: int, chance: random.Random
    ) -> list[int]:
        """Groups on the path from `begin` on, on one device, towards the end of the step (-1) or its beginning (1)."""
        at, group = schedule.at, self._group
        device = at[group[path[begin]]]
        length = 1
        while length < _LONGEST and chance.random() < 0.7:
            length *= 2
        length = chance.randint(1, length)
        groups: list[int] = []
        place = begin
        while 0 <= place < len(path) and len(groups) < length and at[group[path[place]]] == device:
            if group[path[place]] not in groups:
                groups.append(group[path[place]])
            place += step
        return groups

    def _moved(self, schedule: StepTimeline, groups: list[int], device: int) -> dict[int, int]:
        at, options = schedule.at, self._options
        return {g: device for g in groups if at[g] != device and device in options[g]}

    def _over_an_edge(self, schedule: StepTimeline, path: list[int], chance: random.Random) -> dict[int, int]:
        """A stretch at one end of an edge of the path that leaves its device goes to the other end."""
        at, group = schedule.at, self._group
        k = _drawn(path, lambda k: at[group[path[k]]] != at[group[path[k + 1]]], chance)
        if k < 0:
            return {}
        if chance.random() < 0.5:
            return self._moved(schedule, self._stretch(schedule, path, k, -1, chance), at[group[path[k + 1]]])
        return self._moved(schedule, self._stretch(schedule, path, k + 1, 1, chance), at[group[path[k]]])

    def _out_of_a_queue(self, schedule: StepTimeline, path: list[int], chance: random.Random) -> dict[int, int]:
        """A node that waited in a queue, or the node for which it waited, goes elsewhere."""
        before = schedule.before
        k = _drawn(path, lambda k: before[path[k]] == path[k + 1], chance)
        if k < 0:
            return {}
        if chance.random() < 0.5:
            groups = self._stretch(schedule, path, k, -1, chance)
        else:
            groups = self._stretch(schedule, path, k + 1, 1, chance)
        return self._moved(schedule, groups, self._other(schedule, groups[0], chance))

    def _of_the_path(self, schedule: StepTimeline, path: list[int], chance: random.Random) -> dict[int, int]:
        """A stretch of the path, or a node beside it, goes elsewhere."""
        k = chance.randrange(len(path))
        if chance.random() < 0.5:
            return self._with_neighbours(schedule, self._group[path[k]], chance)
        groups = self._stretch(schedule, path, k, chance.choice((-1, 1)), chance)
        return self._moved(schedule, groups, self._other(schedule, groups[0], chance))

    def _with_neighbours(self, schedule: StepTimeline, g: int, chance: random.Random) -> dict[int, int]:
        """A group goes to another device, some of its neighbours with it; or it changes places with another group."""
        device = self._other(schedule, g, chance)
        groups = [g]
        if self._neighbours[g] and chance.random() < 0.4:
            groups += chance.sample(self._neighbours[g], chance.randint(1, min(4, len(self._neighbours[g]))))
        move = self._moved(schedule, groups, device)
        if g in move and chance.random() < 0.25:
            back = [
                other for other in chance.sample(self._free, min(8, len(self._free))) if schedule.at[other] == device
            ]
            move |= {other: schedule.at[g] for other in back[:1] if schedule.at[g] in self._options[other]}
        return move

    def _other(self, schedule: StepTimeline, g: int, chance: random.Random) -> int:
        """Another device for a group, by chance the device of a neighbour."""
        at = schedule.at
        if self._neighbours[g] and chance.random() < 0.5:
            device = at[chance.choice(self._neighbours[g])]
            if device != at[g]:
                return device
        options = [device for device in self._options[g] if device != at[g]]
        return chance.choice(options) if options else at[g]


def _drawn(path: Sequence[int], suits: Callable[[int], bool], chance: random.Random) -> int:
    """One of the places of the path but the last that suit, each as likely as the others; -1 where none does. On a long path it
    would take longer to look at all than to draw until one suits."""
    count = len(path) - 1
    for _ in range(_DRAWS if count > _DRAWS else 0):
        k = chance.randrange(count)
        if suits(k):
            return k
    places = [k for k in range(count) if suits(k)]
    return chance.choice(places) if places else -1
