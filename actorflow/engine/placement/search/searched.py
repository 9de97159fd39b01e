"""`Searched`: the question, result and verdict of a search, and what they say of one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from actorflow.engine.placement.search import timelines
from actorflow.engine.placement.search.memory import MemoryRule
from actorflow.engine.placement.search.problem import SearchProblem, SearchResult
from actorflow.engine.placement.simulation.simulator import Simulator

_MOST_IMPROVEMENTS = 5


@dataclass(slots=True)
class Searched:
    """numbers: of each node's group in `problem`. verdict: what became of the placement that was found."""

    problem: SearchProblem
    numbers: Mapping[str, int]
    result: SearchResult
    verdict: str

    def compared(self, name: str) -> bool:
        """Whether the search had a choice for the group of node `name`."""
        g = self.numbers.get(name)
        return g is not None and len(self.problem.grouping.options[g]) > 1

    def lines(self, name: str) -> list[str]:
        """Says what the search tried and found, and the step's length with the group of node `name` on each other device."""
        result = self.result
        lines = [described(result), self.verdict, *self._pictures()]
        if not self.compared(name):
            return [
                *lines,
                f"The search left {name} where it is: it has no choice, or is not in the steps that run most.",
            ]
        g = self.numbers[name]
        simulator = Simulator(self.problem.work, self.problem.machine, self.problem.grouping.group)
        rule, best = MemoryRule(self.problem), simulator.run(result.at)
        lines.append("With its group on each device, and all else as the search has placed it:")
        for device in self.problem.grouping.options[g]:
            changes = {g: device}
            shown = f"  {self.problem.machine.names[device]}: "
            if device == result.at[g]:
                shown += f"{_ms(best.seconds)}, as found"
            elif not rule.fits(result.at, changes):
                shown += "its memory has no room"
            else:
                moved = simulator.rerun(best, changes)
                assert moved is not None
                shown += f"{_ms(moved.seconds)}, {_ms(moved.seconds - best.seconds)} more"
            lines.append(shown)
        return lines

    def _pictures(self) -> list[str]:
        """The step before and after, on one scale."""
        problem, result = self.problem, self.result
        simulator = Simulator(problem.work, problem.machine, problem.grouping.group)
        after = simulator.run(result.at, keep=False)
        if not problem.present:
            return timelines.lines(problem, after, "The step as found")
        before = simulator.run(problem.present, keep=False)
        drawn = timelines.lines(problem, before, "The step before", scale=after.seconds)
        return [*drawn, *timelines.lines(problem, after, "The step as found", scale=before.seconds)]


def described(result: SearchResult) -> str:
    """The starts, trials and gains of a search, in lines of words."""
    way = "all placements, " if result.exhaustive else ""
    last = "; ".join(
        f"{_ms(seconds)} at trial {trial:,}" for trial, seconds in result.improvements[-_MOST_IMPROVEMENTS:]
    )
    lines = [
        f"A search simulated {way}{result.trials:,} steps in {result.took:.3g} s (seed {result.seed}). The best takes "
        f"{_ms(result.seconds)}, and no placement less than {_ms(result.bound)}.",
        "It started from:",
        *(f"  {name}: {_ms(seconds)}" for name, seconds in result.starts.items()),
        f"It found: {last}.",
    ]
    return "\n".join(lines)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"
