"""`Report`: what came of many seeds, and the table of faults and the phases that they met."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from simulation.chaos import CRASHES, KINDS
from simulation.phases import ALL_PHASES
from simulation.seeds import Outcome

TABLE_SEEDS = 2000
"""From this number of seeds on each kind of fault must have met each phase."""


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
        self.least_deliveries = self.least_faults = self.least_kinds = self.least_saves = sys.maxsize
        """Of any seed that was right."""
        self.crashless: list[int] = []
        self.first = self.last = 0

    def add(self, outcome: Outcome) -> None:
        """Counts one more."""
        self.seeds += 1
        self.first = min(self.first, outcome.seed) if self.seeds > 1 else outcome.seed
        self.last = max(self.last, outcome.seed)
        if outcome.failure:
            self.failed.append(outcome.seed)
        else:
            self.least_deliveries = min(self.least_deliveries, outcome.deliveries)
            self.least_faults = min(self.least_faults, outcome.faults.total())
            self.least_kinds = min(self.least_kinds, len(outcome.faults))
            self.least_saves = min(self.least_saves, outcome.saves)
        if not any(outcome.faults[kind] for kind in CRASHES):
            self.crashless.append(outcome.seed)
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
        return [(kind, phase) for kind in KINDS for phase in ALL_PHASES if not self.met[kind, phase]]

    def figures(self, elapsed: float) -> dict[str, Any]:
        """All that was counted, for a file."""
        return {
            "seeds": self.seeds,
            "first_seed": self.first,
            "last_seed": self.last,
            "failed": self.failed,
            "without_a_crash": self.crashless,
            "seconds": round(elapsed, 1),
            "processor_seconds": round(self.seconds, 1),
            "virtual_seconds": round(self.virtual_seconds, 1),
            "deliveries": self.deliveries,
            "faults": self.faults.total(),
            "checkpoints": self.saves,
            "restores": self.restores,
            "least_of_a_seed": {
                "deliveries": self.least_deliveries,
                "faults": self.least_faults,
                "kinds_of_faults": self.least_kinds,
                "checkpoints": self.least_saves,
            },
            "workloads": dict(sorted(self.workloads.items())),
            "runs_ended": dict(self.ends.most_common()),
            "faults_of_a_kind": {kind: self.faults[kind] for kind in KINDS},
            "fault_by_phase": {kind: {phase: self.met[kind, phase] for phase in ALL_PHASES} for kind in KINDS},
            "empty_cells": self.empty_cells(),
        }

    def text(self, elapsed: float) -> str:
        """The table, and the sums below it."""
        width = max(map(len, KINDS)) + 2
        lines = ["fault".ljust(width) + "".join(phase.rjust(11) for phase in ALL_PHASES) + "all".rjust(9)]
        for kind in KINDS:
            cells = "".join(str(self.met[kind, phase]).rjust(11) for phase in ALL_PHASES)
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
