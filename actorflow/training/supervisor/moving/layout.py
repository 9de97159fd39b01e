"""`Layout`: which task keeps which variables beside a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from actorflow.graph.device_spec import DeviceSpec


@dataclass(frozen=True, slots=True)
class KeptPart:
    """Variables of one task.

    Args:
        name: of the part.
        home: the device on whose task the variables are.
        variables: their nodes.
        places: the devices that keep the part.
        target: the device of the task to which they are about to go; "" if they stay.
        away: nodes that have left the task, which may have old counters of theirs.
    """

    name: str
    home: str
    variables: tuple[str, ...]
    places: tuple[str, ...]
    target: str = ""
    away: tuple[str, ...] = ()

    @property
    def has_state(self) -> bool:
        """Whether what the nodes and readers of the task keep is a part of it."""
        return not self.target

    @property
    def next_home(self) -> str:
        """The device to which the variables go, or on which they stay."""
        return self.target or self.home


Layout = tuple[KeptPart, ...]


def processor(device: str) -> str:
    """The first processor of a device's task, which keeps copies."""
    return str(replace(DeviceSpec.parse(device), kind="CPU", index=0))


def laid_out(
    homes: Mapping[str, str],
    keepers: Sequence[str],
    tasks: Sequence[str],
    count: int,
    moves: Mapping[str, str],
) -> Layout:
    """The parts of all variables. Each is kept on its task, on the next `count` tasks of its job, or else of all tasks, and
    on the task to which it goes.

    Args:
        homes: the device of each variable.
        keepers: the devices whose nodes and readers keep something.
        tasks: the processors of all tasks that may keep copies.
        count: on how many other tasks.
        moves: the devices to which variables and nodes go.
    """
    by_place: dict[tuple[str, str], list[str]] = {(processor(device), ""): [] for device in keepers}
    for name, device in homes.items():
        target = processor(moves[name]) if name in moves else ""
        by_place.setdefault((processor(device), ""), [])
        by_place.setdefault((processor(device), target), []).append(name)
    targets = tuple(dict.fromkeys(map(processor, moves.values())))
    parts = []
    for (home, target), names in by_place.items():
        peers = _peers(home, tasks, count)
        if target:
            places = (home, target, *(peer for peer in peers if peer != target))
            parts.append(KeptPart(f"{home} to {target}", home, tuple(names), places, target))
        else:
            extra = (place for place in targets if place not in (home, *peers))
            parts.append(KeptPart(home, home, tuple(names), (home, *peers, *(() if names else extra))))
    return tuple(parts)


def _peers(home: str, tasks: Sequence[str], count: int) -> tuple[str, ...]:
    """The next tasks behind `home`: first those of its job, in a ring."""
    job = DeviceSpec.parse(home).job
    mates = [task for task in tasks if DeviceSpec.parse(task).job == job or task == home]
    at = mates.index(home) if home in mates else 0
    ring = [*mates[at + 1 :], *mates[:at]]
    rest = [task for task in tasks if task not in (home, *ring)]
    return tuple([task for task in (*ring, *rest) if task != home][:count])
