"""`Report`: what came of many seeds, and the table of faults and the phases that they met."""

from __future__ import annotations

from collections import Counter

from simulation.chaos import KINDS
from simulation.phases import PHASES
from simulation.seeds import Outcome

TABLE_SEEDS = 500
"""From so many seeds on each kind of fault must have met each phase."""


class Report:
    """Sums outcomes up."""

    def __init__(self) -> None:
        self.seeds = 0
        self.failed: list[int] = []
        self.met: Counter[tuple[str, str]] = Counter()
        self.faults: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.workloads: Counter[str] = Counter()
        self.deliveries = self.saves = self.restores = 0
        self.virtual_seconds = self.seconds = 0.0

    def add(self, outcome: Outcome) -> None:
        """Counts one more."""
        self.seeds += 1
        if outcome.failure:
            self.failed.append(outcome.seed)
        self.met.update(outcome.met)
        self.faults.update(outcome.faults)
        self.ends.update(outcome.ends)
        self.workloads[outcome.workload] += 1
        self.deliveries += outcome.deliveries
        self.saves += outcome.saves
        self.restores += outcome.restores
        self.virtual_seconds += outcome.virtual_seconds
        self.seconds += outcome.seconds

    def empty_cells(self) -> list[tuple[str, str]]:
        """The faults that have not met a phase."""
        return [(kind, phase) for kind in KINDS for phase in PHASES if not self.met[kind, phase]]

    def text(self, elapsed: float) -> str:
        """The table, and the sums below it."""
        width = max(map(len, KINDS)) + 2
        lines = ["fault".ljust(width) + "".join(phase.rjust(11) for phase in PHASES) + "all".rjust(9)]
        for kind in KINDS:
            cells = "".join(str(self.met[kind, phase]).rjust(11) for phase in PHASES)
            lines.append(kind.ljust(width) + cells + str(self.faults[kind]).rjust(9))
        each = max(self.seeds, 1)
        lines += [
            f"{self.seeds} seeds in {elapsed:.0f} s, {len(self.failed)} failed; {self.deliveries / each:.0f} deliveries, "
            f"{self.faults.total() / each:.1f} faults, {self.saves / each:.1f} checkpoints, {self.restores / each:.1f} "
            f"restores and {self.virtual_seconds / each:.1f} virtual seconds in each.",
            "Runs ended: " + ", ".join(f"{count} {name}" for name, count in self.ends.most_common()),
        ]
        if self.failed:
            lines.append(f"Failed: {', '.join(map(str, self.failed))}")
        return "\n".join(lines)
