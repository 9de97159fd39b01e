"""The choice among devices: company first, then the simulated execution (paper sections 3.2.1 and 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from actorflow.engine.placement import affinity
from actorflow.engine.placement.cost_model import Measurements, expected_bytes, node_cost
from actorflow.engine.placement.feasible import Candidate, is_bound
from actorflow.engine.placement.groups import Choices, Joint, UnionFind
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.greedy import GreedySchedule, Grouping, greedy
from actorflow.engine.placement.simulation.link_costs import LinkCosts
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.placement.simulation.workload import DeviceSet, Workload, workload
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node

_TIE = 1e-9
_LONGER_THAN_A_TRANSFER = 500e-6


@dataclass(slots=True)
class Posed:
    """The question to a search. `place` is given a `Posed` with the nodes that a step needs (`needed`). It answers with
    the `problem`, None if nothing has a choice, and the number of each node's group in it."""

    needed: AbstractSet[str]
    problem: SearchProblem | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a group is on its device, for `explain`. Times are seconds from the begin of the step.

    ends: for each device that the simulation compared, when the group would be done; infinite for a device without
        room. Empty if the group had no choice.
    pulled: the node that used the group first and took it along, if that decided.
    together: for members that came along by preference, the node they came with and why.
    step: how long the whole step takes.
    spread: if all was kept on one device because that is as good, how long the step would take with each group on the
        device that ends it first.
    relaxed: what was asked for in vain (soft placement).
    """

    ends: Mapping[str, float] = field(default_factory=dict)
    pulled: str = ""
    together: tuple[Joint, ...] = ()
    step: float = 0.0
    spread: float | None = None
    relaxed: str = ""


def choose(
    nodes: Mapping[str, Node],
    devices: Sequence[Candidate],
    fixed: Mapping[str, str],
    placed: Mapping[str, str],
    fresh: list[Node],
    groups: UnionFind,
    options: dict[str, Sequence[str]],
    measured: Measurements,
    links: LinkCosts,
    reasons: dict[str, Reason] | None,
    search_request: Posed | None = None,
) -> dict[str, str]:
    """The devices of the nodes whose groups have a choice. The order of `nodes` plays no part."""
    fresh.sort(key=lambda node: node.name)
    fresh_names = {node.name for node in fresh}
    sources = {e.node for n in fresh for e in n.inputs} | {c for n in fresh for c in n.controls}
    fixed_names = {name for name in sources if name in fixed}
    machine = DeviceSet(devices, links)
    work_names = sorted(
        fresh_names | fixed_names if search_request is None else (fresh_names | fixed_names) & search_request.needed
    )
    uses = affinity.Uses(nodes, fresh)
    choices = Choices(groups, options, placed)
    initial = affinity.initial(uses, groups)
    once = affinity.run_once(uses, initial)
    same = _worth_joining(affinity.same(uses), nodes, measured)
    together = _gather(uses, choices, initial, same)
    same = {name: first for name, first in same.items() if groups.find(name) == groups.find(first)}
    work = workload(nodes, work_names, fixed_names, once, machine, measured, same)
    others = {name: device for name, device in fixed.items() if name not in fixed_names}
    grouping, numbers = _grouping(nodes, work_names, groups, choices, machine, _memory_in_use(nodes, others, machine))
    group = grouping.group
    if search_request is not None:
        search_request.problem = SearchProblem(work, machine, grouping)
        search_request.numbers = {name: numbers[root] for name in fresh_names if (root := groups.find(name)) in numbers}
        return {}
    schedule = best(work, machine, grouping)
    devices_of = {
        name: devices[schedule.at[g]].name
        for name, g in zip(work_names, group)
        if name in fresh_names and choices.of(name)[0] in machine.index  # else it is with what is on a lost device
    }
    if reasons is not None:
        _remember(reasons, devices_of, work_names, group, schedule, devices, together)
    return devices_of


def _grouping(
    nodes: Mapping[str, Node],
    names: Sequence[str],
    groups: UnionFind,
    choices: Choices,
    machine: DeviceSet,
    used: list[float],
) -> tuple[Grouping, dict[str, int]]:
    """The groups of the nodes by number, and the numbers of their roots."""
    numbers: dict[str, int] = {}
    group: list[int] = []
    options: list[Sequence[int]] = []
    stateful: list[bool] = []
    for name in yielding(names):
        g = numbers.setdefault(groups.find(name), len(numbers))
        if g == len(options):
            options.append([machine.index[device] for device in choices.of(name) if device in machine.index] or [0])
            stateful.append(False)
        group.append(g)
        if is_bound(nodes[name]):
            stateful[g] = True
    return Grouping(group, options, stateful, used), numbers


def _memory_in_use(nodes: Mapping[str, Node], placed: Mapping[str, str], machine: DeviceSet) -> list[float]:
    """The bytes of variables on each device, for nodes that are placed already."""
    used = [0.0] * len(machine.names)
    for name, device in placed.items():
        node = nodes.get(name)
        if node is not None and device in machine.index and not node.inputs:
            if node.dtypes and node.dtypes[0].is_ref:
                used[machine.index[device]] += _size(node)
    return used


def best(work: Workload, machine: DeviceSet, grouping: Grouping) -> GreedySchedule:
    """The greedy schedule, or a schedule that keeps all that is free on one device, if that is as good.

    A greedy walk looks one node ahead: it sees no gain in a faster device that pays only after many nodes.
    """
    judge = Simulator(work, machine, grouping.group)

    def tried(grouping: Grouping) -> GreedySchedule:
        outcome = greedy(work, machine, grouping)
        return replace(outcome, seconds=judge.run(outcome.at, keep=False).seconds, expected=outcome.seconds)

    chosen: GreedySchedule | None = None
    for device in _promising(machine, grouping):
        narrowed = [(device,) if device in options else options for options in grouping.options]
        if _too_small(work, machine, grouping, narrowed):
            continue
        schedule = tried(replace(grouping, options=narrowed))
        if chosen is None or schedule.seconds < chosen.seconds:
            chosen = schedule
    free = tried(grouping)
    if chosen is None or _is_better(free, chosen):
        return free
    return replace(chosen, tried=free.tried, pulled=free.pulled, spread=free.seconds)


def _is_better(free: GreedySchedule, chosen: GreedySchedule) -> bool:
    """Whether a schedule is better than another. Of two that are as good, that is better which the walk expected to be."""
    if free.seconds < chosen.seconds * (1 - _TIE):
        return True
    return free.seconds < chosen.seconds * (1 + _TIE) and free.expected < chosen.expected * (1 - _TIE)


def _promising(machine: DeviceSet, grouping: Grouping) -> list[int]:
    """The devices on which all that is free might be best: the first device, faster devices, and those where something
    has to be."""
    held = {options[0] for options in grouping.options if len(options) == 1}
    free = {device for options in grouping.options if len(options) > 1 for device in options}
    promising: list[int] = []
    for device in sorted(free):
        if not promising or device in held or machine.speed[device] > max(machine.speed[other] for other in promising):
            promising.append(device)
    return promising


def _too_small(work: Workload, machine: DeviceSet, grouping: Grouping, options: Sequence[Sequence[int]]) -> bool:
    """Whether some device lacks room for all that has no other choice."""
    needs = list(grouping.used)
    largest = [0.0] * len(needs)
    for i, g in enumerate(grouping.group):
        if len(options[g]) == 1:
            device = options[g][0]
            needs[device] += work.state[i]
            if len(grouping.options[g]) > 1:
                largest[device] = max(largest[device], work.output[i])
    return any(
        budget is not None and need + largest_one > budget
        for budget, need, largest_one in zip(machine.budget, needs, largest)
    )


def _worth_joining(same: Mapping[str, str], nodes: Mapping[str, Node], measured: Measurements) -> dict[str, str]:
    """Those of equal nodes that take longer than to send a result of theirs: to compute the others twice is as well."""
    whole = Subgraph(nodes)

    def seconds(name: str) -> float:
        return measured.seconds.get(name) or node_cost(nodes[name], whole) * 1e-9

    return {name: first for name, first in same.items() if max(seconds(name), seconds(first)) > _LONGER_THAN_A_TRANSFER}


def _gather(uses: affinity.Uses, choices: Choices, initial: Mapping[str, str], same: Mapping[str, str]) -> list[Joint]:
    """Joins what is better off together; gives the joints."""
    joints = [(name, first, affinity.SAME) for name, first in same.items() if choices.share(name, first)]
    for members in affinity.loops(uses):
        first, *others = sorted(members, key=lambda name: (len(choices.of(name)), name))
        joints += [(name, first, affinity.IN_LOOP) for name in others if choices.share(name, first)]
    joints += [joint for joint in affinity.lists(uses) if choices.share(joint[0], joint[1])]
    joints += [(name, home, affinity.INITIAL) for name, home in initial.items() if choices.follow(name, home)]
    joints += [joint for joint in affinity.followers(uses) if choices.follow(joint[0], joint[1])]
    return joints


def _size(node: Node) -> float:
    return float(sum(expected_bytes(s, d) for s, d in zip(node.shapes, node.dtypes)))


def _remember(
    reasons: dict[str, Reason],
    chosen: Mapping[str, str],
    names: Sequence[str],
    group: Sequence[int],
    schedule: GreedySchedule,
    devices: Sequence[Candidate],
    together: Iterable[Joint],
) -> None:
    """One record for all nodes of a group."""
    of = dict(zip(names, group))
    joints: dict[int, list[Joint]] = {}
    for joint in together:
        joints.setdefault(of[joint[0]], []).append(joint)
    by_group: dict[int, Reason] = {}
    for name in chosen:
        g = of[name]
        if g not in by_group:
            by_group[g] = Reason(
                {devices[tried.device].name: tried.ends for tried in schedule.tried.get(g, ())},
                names[schedule.pulled[g]] if g in schedule.pulled else "",
                tuple(joints.get(g, ())),
                schedule.seconds,
                schedule.spread,
            )
        before = reasons.get(name)
        reasons[name] = by_group[g] if before is None else replace(by_group[g], relaxed=before.relaxed)
