"""`SearchProblem` and `SearchResult`: what is searched and what was found, as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from actorflow.engine.placement.simulation.greedy import Grouping
from actorflow.engine.placement.simulation.workload import DeviceSet, Workload


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """work: what a step does.
    machine: the devices.
    grouping: which nodes share a device, and the devices of each group; a group with one device stays there.
    present: the device of each group now, empty without a placement."""

    work: Workload
    machine: DeviceSet
    grouping: Grouping
    present: Sequence[int] = ()

    @property
    def free(self) -> list[int]:
        """The groups that have a choice."""
        return [g for g, options in enumerate(self.grouping.options) if len(options) > 1]

    @property
    def placements(self) -> float:
        """How many there are; infinite where no float holds the number."""
        try:
            return float(math.prod(len(self.grouping.options[g]) for g in self.free))
        except OverflowError:
            return math.inf


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search. Times are simulated seconds of a step.

    Attributes:
        at: the device of each group.
        seconds: of the best placement.
        present: of the placement in force; None if no placement was in force, or it does not fit.
        bound: no placement takes less.
        starts: of each start, by its name.
        trials: the number of placements that were simulated.
        improvements: the number of the trial and the seconds, each time that a better placement was found.
        exhaustive: whether all placements were tried.
        seed: of the random numbers.
        took: the seconds that the search took.
    """

    at: Sequence[int]
    seconds: float
    present: float | None
    bound: float
    starts: Mapping[str, float]
    trials: int
    improvements: Sequence[tuple[int, float]] = field(default=())
    exhaustive: bool = False
    seed: int = 0
    took: float = 0.0
