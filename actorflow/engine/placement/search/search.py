"""`search`: enumeration or annealing, from the greedy, the ranked and the present placement, single devices and splits."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable

from actorflow.engine.placement.search.annealing import anneal
from actorflow.engine.placement.search.memory import MemoryRule
from actorflow.engine.placement.search.moves import CriticalPathMoves, Proposer
from actorflow.engine.placement.search.problem import SearchProblem, SearchResult
from actorflow.engine.placement.search.starts import starts
from actorflow.engine.placement.simulation.simulator import Simulator, fast_simulator
from actorflow.engine.placement.simulation.timeline import StepTimeline

MOST_ENUMERATED = 4096
"""The largest number of placements that are all gone through."""
_BEST_STARTS = 3
_FIRST_PART = 0.12
"""Each of the best starts is annealed for this part of the search; the best of these goes on."""
_CLOSE = 1e-3
"""A search ends as close as this to the bound."""
_ROUNDS = 3
_GROUPS = 300
"""The number of groups from which on a search begins the colder the more there are: one move changes ever less of the step."""


class _Stopped(Exception):
    """The search is to end now, with what it has."""


class _PlacementSearch:
    def __init__(
        self,
        problem: SearchProblem,
        seconds: float,
        trials: int | None,
        seed: int,
        stop: Callable[[], bool],
        proposer: Proposer | None,
        clock: Callable[[], float],
    ) -> None:
        self.problem = problem
        self.enumerates = problem.placements <= MOST_ENUMERATED
        simulator_type = (
            Simulator if self.enumerates else fast_simulator
        )  # a plug-in takes longer to load than so few steps
        self.simulator = simulator_type(problem.work, problem.machine, problem.grouping.group)
        self.rule = MemoryRule(problem)
        self.proposer = proposer or CriticalPathMoves(problem)
        self.seconds, self.most, self.stop, self.clock = seconds, trials, stop, clock
        self.chance = random.Random(seed)
        self.seed = seed
        self.begun = clock()
        self.trials = 0
        self.best: StepTimeline | None = None
        self.starts: dict[str, float] = {}
        self.improvements: list[tuple[int, float]] = []
        self.bound = self.simulator.bound
        self.heat = min(1.0, _GROUPS / max(len(problem.free), 1))

    def run(self) -> SearchResult:
        tried: list[StepTimeline] = []
        for name, at in starts(self.problem):
            if self.rule.fits(at):
                tried.append(self._started(name, at))
        if not tried:
            tried.append(self._started("packed", self._packed()))
        exhaustive = False
        try:
            if self.enumerates:
                self._enumerate(tried[0])
                exhaustive = True
            elif self.problem.free:
                self._anneal(tried)
        except _Stopped:
            pass
        assert self.best is not None
        return SearchResult(
            self.best.at,
            self.best.seconds,
            self.starts.get("present"),
            min(self.bound, self.best.seconds),
            self.starts,
            self.trials,
            tuple(self.improvements),
            exhaustive,
            self.seed,
            self.clock() - self.begun,
        )

    def _packed(self) -> list[int]:
        """A placement that fits; raises ResourceExhaustedError where none is found."""
        if self.enumerates:
            for at in itertools.product(*self.problem.grouping.options):
                if self.rule.fits(at):
                    return list(at)
        return self.rule.packed()

    def _started(self, name: str, at: list[int]) -> StepTimeline:
        timeline = self.simulator.run(at)
        self.trials += 1
        self.starts[name] = timeline.seconds
        self._found(timeline)
        return timeline

    def _found(self, timeline: StepTimeline) -> None:
        if self.best is None or timeline.seconds < self.best.seconds * (1 - 1e-12):
            self.best = timeline
            self.improvements.append((self.trials, timeline.seconds))

    def _progress(self) -> float:
        """The part of the search that is over, from 0 to 1."""
        if self.most is not None:
            return self.trials / max(self.most, 1)
        return (self.clock() - self.begun) / self.seconds if self.seconds > 0 else 1.0

    def _check(self) -> None:
        if self.stop():
            raise _Stopped

    def _enumerate(self, base: StepTimeline) -> None:
        """All placements. None of them takes long, so there is no limit of time."""
        free, options = self.problem.free, self.problem.grouping.options
        for devices in itertools.product(*(options[g] for g in free)):
            self._check()
            changes = {g: device for g, device in zip(free, devices) if base.at[g] != device}
            assert self.best is not None
            if changes and self.rule.fits(base.at, changes):
                self.trials += 1
                trial = self.simulator.rerun(base, changes, self.best.seconds)
                if trial is not None:
                    self._found(trial)

    def _anneal(self, tried: list[StepTimeline]) -> None:
        """The best starts for a short time each, then the best of what they gave, in rounds that begin ever colder."""
        tried = sorted(tried, key=lambda timeline: timeline.seconds)
        distinct = [
            timeline for k, timeline in enumerate(tried) if all(list(timeline.at) != list(o.at) for o in tried[:k])
        ]
        for k, start in enumerate(distinct[:_BEST_STARTS]):
            self._way(start, k * _FIRST_PART, (k + 1) * _FIRST_PART, 1.0)
        first = min(len(distinct), _BEST_STARTS) * _FIRST_PART
        for k in range(_ROUNDS):
            assert self.best is not None
            part = (1.0 - first) / _ROUNDS
            self._way(self.best, first + k * part, first + (k + 1) * part, 0.5**k)

    def _way(self, start: StepTimeline, begin: float, end: float, heat: float) -> None:
        def progress() -> float:
            self._check()
            assert self.best is not None
            if self.best.seconds <= self.bound * (1 + _CLOSE):
                raise _Stopped
            part = self._progress()
            if part >= 1.0:
                raise _Stopped
            self.trials += 1
            return (part - begin) / (end - begin)

        anneal(self.simulator, self.rule, self.proposer, start, self.chance, progress, self._found, heat * self.heat)


def search(
    problem: SearchProblem,
    seconds: float = 10.0,
    *,
    trials: int | None = None,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
    proposer: Proposer | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> SearchResult:
    """The best placement that a search finds; never a worse one than each of its starts.

    Args:
        problem: the step, the devices, and what may go where.
        seconds: how long to search; a space of at most 4,096 placements is gone through all the same.
        trials: how many placements to simulate, in place of `seconds`; then the result depends on the seed alone.
        seed: of the random numbers.
        stop: is asked before each trial; True ends the search with what it has.
        proposer: what proposes changes, `CriticalPathMoves` unless given.
        clock: gives the time in seconds.

    Raises:
        ResourceExhaustedError: no placement that it tries fits into the devices' memory.
    """
    return _PlacementSearch(problem, seconds, trials, seed, stop, proposer, clock).run()
