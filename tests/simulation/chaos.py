"""The faults that befall a workload: a plan that the seed draws, some at any moment, some in the middle of a phase of the
work.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from actorflow.testing import FileFaults, World
from simulation.phases import PHASES, Phases
from simulation.tasks import Tasks

KINDS = (
    "crash",
    "silent crash",
    "torn write",
    "failed write",
    "freeze",
    "partition",
    "one-way partition",
    "reset",
    "delay",
    "clock jump",
)
CRASHES = KINDS[:3]
_SURE = [kind for kind in KINDS if kind != "failed write"]
"""Those that happen for sure: a disk that fails for a while may not be written to."""
_MOST_SECONDS = 4.0
_AIM_SECONDS = 0.004
_MOST_CALLS = 200
_FALLBACK = 0.5


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a plan: its kind, the phase that it is aimed at or None, and else the virtual second."""

    kind: str
    phase: str | None
    when: float


class Chaos:
    """Lets a plan of faults befall machines, and counts which phases they met.

    Args:
        machines: who may crash and freeze, each as often as it is named; links are those between any two of them.
        writers: whose files may fail.
        aims: the phases that the workload has.
        window: the seconds in which it all happens.
    """

    def __init__(
        self,
        world: World,
        tasks: Tasks,
        phases: Phases,
        *,
        machines: Sequence[str],
        writers: Sequence[str],
        aims: Sequence[str] = PHASES,
        window: float,
    ) -> None:
        self.met: Counter[tuple[str, str]] = Counter()
        self.happened: Counter[str] = Counter()
        self._world, self._tasks, self._phases = world, tasks, phases
        self._machines, self._writers = list(machines), list(writers)
        self._chance = chance = random.Random(f"{world.seed}/chaos")
        self._lasting = 0
        kinds = [chance.choice(CRASHES), *chance.sample(KINDS, 3), *chance.choices(_SURE, k=chance.randint(3, 5))]
        kinds += ["failed write"] * chance.randint(0, 2)
        plan = [
            Fault(kind, chance.choice(aims) if number % 2 else None, chance.uniform(0.2, 0.8 * window))
            for number, kind in enumerate(kinds)
        ]
        self._aimed = [fault for fault in plan if fault.phase is not None]
        self._left = len(plan)
        for fault in plan:
            if fault.phase is None:
                world.call_later(fault.when, self._happen, fault.kind)
        world.call_later(window, self._end_aims)
        for _ in range(chance.randint(1, 2)):
            world.call_later(chance.uniform(0.2, 0.8 * window), tasks.drain, chance.choice(list(tasks.names.values())))
        phases.on_enter = self._entered

    @property
    def is_over(self) -> bool:
        """Whether all has happened, and nothing of it lasts."""
        return self._left == 0 and self._lasting == 0

    # ---- when

    def _entered(self, phase: str) -> None:
        for fault in self._aimed:
            if fault.phase == phase and fault.when <= self._world.now:
                self._aimed.remove(fault)
                if fault.kind in CRASHES:
                    self._happen(fault.kind, calls=self._chance.randrange(1, 40))
                else:
                    self._world.call_later(self._chance.uniform(0, _AIM_SECONDS), self._happen, fault.kind)
                return

    def _end_aims(self) -> None:
        """A fault that has not found its phase happens now."""
        aimed, self._aimed = self._aimed, []
        for fault in aimed:
            self._world.call_later(self._chance.uniform(0, 1), self._happen, fault.kind)

    def _count(self, kind: str) -> None:
        self.happened[kind] += 1
        for phase in self._phases.now():
            self.met[kind, phase] += 1

    def _lasts(self, seconds: float) -> None:
        self._lasting += 1
        self._world.call_later(seconds, self._ended)

    def _ended(self) -> None:
        self._lasting -= 1

    # ---- what

    def _happen(self, kind: str, calls: int | None = None) -> None:
        world, chance = self._world, self._chance
        a, b = chance.sample(sorted(set(self._machines)), 2)
        seconds = chance.uniform(0.05, _MOST_SECONDS)
        if kind in CRASHES:
            self._crash(kind, calls or chance.randrange(1, _MOST_CALLS))
            return
        if kind == "failed write":
            self._fail_writes(chance.choice(self._writers), seconds)
            return
        self._left -= 1
        self._count(kind)
        match kind:
            case "freeze":
                world.freeze(chance.choice(self._machines), seconds)
                self._lasts(seconds)
            case "partition" | "one-way partition":
                world.partition(a, b, oneway=kind != "partition", seconds=seconds)
                self._lasts(seconds)
            case "reset":
                world.reset(a, b)
            case "delay":
                world.set_link(a, b, delay=chance.uniform(0.01, 0.2), loss=0.2)
                world.call_later(seconds, lambda: world.set_link(a, b, delay=0.0005, loss=0.0))
                self._lasts(seconds)
            case "clock jump":
                world.jump_clock(a, chance.uniform(-100, 100))

    def _crash(self, kind: str, calls: int) -> None:
        """At any `await`, or in the middle of any operation on files."""
        world, chance = self._world, self._chance
        torn = kind == "torn write"
        name = chance.choice(self._writers if torn else self._machines)
        operations, downtime = chance.randrange(1, 12), chance.uniform(0.05, 2.0)
        host = world.host(name)
        if not host.is_alive or host.calls_to_live is not None:  # it dies already
            world.call_later(_FALLBACK, self._happen, kind)
            return
        life = host.incarnation

        def die() -> None:
            if not host.is_alive or host.incarnation != life:
                return
            self._left -= 1
            self._count("torn write" if host.files.crashed else kind if not torn else "crash")
            world.crash(name, silent=kind == "silent crash", lose_files=kind != "crash")
            world.restart(name, downtime)
            self._lasts(downtime)

        host.die_after(1 << 40 if torn else calls, die, operations=operations)
        # one that has nothing to do dies too
        world.call_later(3.0 if torn else _FALLBACK, die)

    def _fail_writes(self, name: str, seconds: float) -> None:
        """The disk fails for a while. The operation that fails is the one that counts."""
        files, world = self._world.host(name).files, self._world
        self._left -= 1
        self._world.say(f"the disk of {name} fails for {seconds:.6f}")

        def failed() -> None:
            world.say(f"an operation on the files of {name} fails")
            self._count("failed write")

        def well_again() -> None:
            files.faults = FileFaults()
            files.on_fault = None

        files.faults, files.on_fault = FileFaults(failed_write=0.2, failed_sync=0.2), failed
        self._world.call_later(seconds, well_again)
        self._lasts(seconds)
