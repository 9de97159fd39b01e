"""Which groups of variables go where, so that tasks can leave and the others have about as many bytes. A pure function."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from actorflow.cluster.config.spec import parse_task
from actorflow.cluster.master.graph_partitioner import task_of
from actorflow.training.supervisor.moving.state_groups import StateGroup

_WITHIN = 0.1
"""The difference between the most and the least bytes of a task, as a share of their mean, that is good enough."""


@dataclass(frozen=True, slots=True)
class Moves:
    """The new devices of nodes, and why some groups can't leave tasks that they have to leave."""

    devices: Mapping[str, str]
    nbytes: int
    stuck: tuple[str, ...]


def balanced(groups: Sequence[StateGroup], leaving: Collection[str], jobs: Collection[str]) -> Moves:
    """Takes all groups away from tasks that leave. Then it moves as few bytes as possible from the fullest to the emptiest
    tasks of some jobs. It ends when they differ by a tenth of their mean at most, or no group is small enough.

    Args:
        leaving: the tasks on which nothing may stay.
        jobs: the jobs whose tasks get about as many bytes.
    """
    order = sorted(range(len(groups)), key=lambda number: (-groups[number].nbytes, groups[number].names))
    homes = {number: groups[number].home for number in order}
    options = {
        number: [device for device in groups[number].options if task_of(device) not in leaving] for number in order
    }
    loads: dict[str, int] = {}
    for number in order:
        for device in options[number]:
            loads.setdefault(device, 0)
    for number, home in homes.items():
        if home in loads:
            loads[home] += groups[number].nbytes
    stuck = []
    for number in order:
        if task_of(homes[number]) in leaving:
            if not options[number]:
                stuck.append(groups[number].fixed or f"{groups[number].names[0]}, for which no other task is there")
                continue
            homes[number] = min(options[number], key=lambda device: loads[device])
            loads[homes[number]] += groups[number].nbytes
    for job in jobs:
        _level(groups, homes, options, {d: n for d, n in loads.items() if parse_task(task_of(d))[0] == job})
    moved = [number for number in order if homes[number] != groups[number].home]
    devices = {name: homes[number] for number in moved for name in groups[number].names}
    return Moves(devices, sum(groups[number].nbytes for number in moved), tuple(stuck))


def _level(
    groups: Sequence[StateGroup], homes: dict[int, str], options: Mapping[int, Sequence[str]], loads: dict[str, int]
) -> None:
    """Moves groups between the devices of `loads` until these have about as many bytes. A device whose groups are too large, or
    stay, is left out, and the others share what they have."""
    while len(loads) > 1:
        full = max(loads, key=lambda device: loads[device])
        least = _WITHIN * sum(loads.values()) / len(loads)
        if loads[full] - min(loads.values()) <= least:
            return
        step = _best(groups, homes, options, loads, full, least)
        if step is None:
            del loads[full]
            continue
        number, device = step
        loads[full] -= groups[number].nbytes
        loads[device] += groups[number].nbytes
        homes[number] = device


def _best(
    groups: Sequence[StateGroup],
    homes: Mapping[int, str],
    options: Mapping[int, Sequence[str]],
    loads: Mapping[str, int],
    full: str,
    least: float,
) -> tuple[int, str] | None:
    """A group of the fullest device, and the emptier device for it with which both come closest to each other. Devices that have
    up to `least` bytes less are no choice."""
    for empty in sorted((device for device in loads if device != full), key=lambda device: loads[device]):
        gap = loads[full] - loads[empty]
        if gap <= least:
            return None
        fitting = [
            number
            for number, home in homes.items()
            if home == full and empty in options[number] and 0 < groups[number].nbytes < gap
        ]
        if fitting:
            return min(fitting, key=lambda number: abs(gap - 2 * groups[number].nbytes)), empty
    return None
