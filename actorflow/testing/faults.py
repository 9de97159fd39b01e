"""`Faults`: what befalls the machines of a simulation by chance, and how often."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorflow.testing.world import World

Span = tuple[float, float]
"""A number between the two is drawn."""
_MOST_CALLS = 200
_MOST_OPERATIONS = 40


@dataclass(frozen=True, slots=True)
class Faults:
    """Each rate is how often a thing happens to a machine (or, for links, to a pair of machines) in a virtual second, on
    average; the spans that follow are in seconds.

    Args:
        crashes: of processes, each at a number of callbacks or file operations after the fault's moment, so at any
            `await` and in the middle of any write. `silent` is the probability that peers are not told, `downtime` the time
            until the restart (None: never).
        freezes: of processes.
        partitions: of pairs; `oneway` is the probability that one direction goes on.
        resets: of the connections of pairs.
        clock_jumps: of wall clocks.
        hosts: who is concerned; None means all but the main program's machine.
        until: nothing more happens after this virtual second, and what lasts is over soon after.
    """

    crashes: float = 0.0
    silent: float = 0.3
    downtime: Span | None = (0.05, 5.0)
    freezes: float = 0.0
    freeze_seconds: Span = (0.05, 10.0)
    partitions: float = 0.0
    partition_seconds: Span = (0.05, 10.0)
    oneway: float = 0.5
    resets: float = 0.0
    clock_jumps: float = 0.0
    jump_seconds: Span = (-100.0, 100.0)
    hosts: tuple[str, ...] | None = None
    until: float | None = None


class Injector:
    """Lets faults befall a world. Each kind draws from a stream of its own, so that no kind shifts the others."""

    def __init__(self, world: World, faults: Faults, observer: str) -> None:
        self._world = world
        self._faults = faults
        names = list(faults.hosts if faults.hosts is not None else (n for n in world.hosts if n != observer))
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        for kind, rate, befall in (
            ("crash", faults.crashes, self._crash),
            ("freeze", faults.freezes, self._freeze),
            ("clock", faults.clock_jumps, self._jump),
        ):
            for name in names:
                self._plan(random.Random(f"{world.seed}/{kind} {name}"), rate, befall, name)
        for kind, rate, join in (
            ("partition", faults.partitions, self._partition),
            ("reset", faults.resets, self._reset),
        ):
            for a, b in pairs:
                self._plan(random.Random(f"{world.seed}/{kind} {a} {b}"), rate, join, a, b)

    def _plan(self, chance: random.Random, rate: float, befall: Callable[..., object], *names: str) -> None:
        if rate <= 0:
            return
        when = self._world.now + chance.expovariate(rate)
        if self._faults.until is not None and when > self._faults.until:
            return

        def happen() -> None:
            befall(chance, *names)
            self._plan(chance, rate, befall, *names)

        self._world.call_at(when, happen)

    def _crash(self, chance: random.Random, name: str) -> None:
        world, faults = self._world, self._faults
        host = world.host(name)
        silent, downtime = chance.random() < faults.silent, chance.random()
        calls, operations, lose = (
            chance.randrange(_MOST_CALLS),
            chance.randrange(_MOST_OPERATIONS),
            chance.random() < 0.5,
        )
        if not host.is_alive:
            return

        def die() -> None:
            world.crash(name, silent=silent, lose_files=lose or silent)
            if faults.downtime is not None:
                low, high = faults.downtime
                world.restart(name, low + (high - low) * downtime)

        host.die_after(calls, die, operations=operations)
        life = host.incarnation
        # a process that has nothing to do dies too
        world.call_later(1.0, lambda: die() if host.is_alive and host.incarnation == life else None)

    def _freeze(self, chance: random.Random, name: str) -> None:
        self._world.freeze(name, chance.uniform(*self._faults.freeze_seconds))

    def _jump(self, chance: random.Random, name: str) -> None:
        self._world.jump_clock(name, chance.uniform(*self._faults.jump_seconds))

    def _partition(self, chance: random.Random, a: str, b: str) -> None:
        seconds, oneway = chance.uniform(*self._faults.partition_seconds), chance.random() < self._faults.oneway
        if chance.random() < 0.5:
            a, b = b, a
        self._world.partition(a, b, oneway=oneway, seconds=seconds)

    def _reset(self, chance: random.Random, a: str, b: str) -> None:
        self._world.reset(a, b)
