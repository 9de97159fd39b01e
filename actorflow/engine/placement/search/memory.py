"""`MemoryRule`: a placement fits into the devices' memory, or it is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.errors import ResourceExhaustedError


class MemoryRule:
    """A device holds what was there before, the variables of its groups, and the largest output of one of their nodes."""

    def __init__(self, problem: SearchProblem) -> None:
        work, grouping = problem.work, problem.grouping
        self.budget = problem.machine.budget
        self._names = problem.machine.names
        self._used = grouping.used
        self._options = grouping.options
        self._held = [0.0] * len(grouping.options)
        self._output = [0.0] * len(grouping.options)
        for i, g in enumerate(grouping.group):
            self._held[g] += work.state[i]
            self._output[g] = max(self._output[g], work.output[i])
        self._bounded = any(budget is not None for budget in self.budget)
        self._last: tuple[Sequence[int], list[float], list[float]] | None = None
        """The placement that was asked about last, the bytes that its devices hold, and the largest output on each."""

    def needs(self, at: Sequence[int], changes: Mapping[int, int] | None = None) -> list[float]:
        """The bytes that each device has to hold."""
        placed = at if not changes else [changes.get(g, device) for g, device in enumerate(at)]
        return [need + other for need, other in zip(*self._parts(placed))]

    def fits(self, at: Sequence[int], changes: Mapping[int, int] | None = None) -> bool:
        """Whether each device has room for what is on it, with the groups in `changes` elsewhere."""
        if not self._bounded or (changes and self._surely_fits(at, changes)):
            return True
        return all(b is None or need <= b for need, b in zip(self.needs(at, changes), self.budget))

    def _parts(self, at: Sequence[int]) -> tuple[list[float], list[float]]:
        """The bytes that stay on each device, and its largest output."""
        held, largest = list(self._used), [0.0] * len(self._used)
        for g, device in enumerate(at):
            held[device] += self._held[g]
            if self._output[g] > largest[device]:
                largest[device] = self._output[g]
        return held, largest

    def _surely_fits(self, at: Sequence[int], changes: Mapping[int, int]) -> bool:
        """Whether the devices to which groups go have room for them beside all that is there. A search asks about thousands of
        changes of one placement, so its parts are kept; rounded sums do not decide close cases."""
        if self._last is None or self._last[0] is not at:
            self._last = (at, *self._parts(at))
        _, held, largest = self._last
        more: dict[int, float] = {}
        output: dict[int, float] = {}
        for g, device in changes.items():
            if at[g] != device:
                more[device] = more.get(device, 0.0) + self._held[g]
                more[at[g]] = more.get(at[g], 0.0) - self._held[g]
                output[device] = max(output.get(device, 0.0), self._output[g])
        return all(
            budget is None or held[d] + more.get(d, 0.0) + max(largest[d], output.get(d, 0.0)) <= budget * (1 - 1e-9)
            for d, budget in enumerate(self.budget)
        )

    def packed(self) -> list[int]:
        """A placement that puts the largest first, each where the most room is left.

        Raises:
            ResourceExhaustedError: something does not fit even so; it says how much is missing on each device.
        """
        at = [options[0] for options in self._options]
        room = [float("inf") if b is None else b - used for b, used in zip(self.budget, self._used)]
        for g, options in enumerate(self._options):
            if len(options) == 1:
                room[options[0]] -= self._held[g]
        free = [g for g, options in enumerate(self._options) if len(options) > 1]
        for g in sorted(free, key=lambda g: -self._held[g] - self._output[g]):
            at[g] = max(self._options[g], key=lambda device: (room[device] - self._output[g], -device))
            room[at[g]] -= self._held[g]
        if not self.fits(at):
            raise self._refusal(at)
        return at

    def _refusal(self, at: Sequence[int]) -> ResourceExhaustedError:
        lines = []
        for name, need, budget in zip(self._names, self.needs(at), self.budget):
            if budget is None:
                lines.append(f"{name} has no budget")
            elif need > budget:
                lines.append(
                    f"{name} lacks {need - budget:,.0f} bytes: it would hold {need:,.0f} and has {budget:,.0f}"
                )
            else:
                lines.append(f"{name} has room: it would hold {need:,.0f} bytes of {budget:,.0f}")
        return ResourceExhaustedError(
            "The search knows no placement that fits into the devices' memory; the one in force stays.",
            details=lines,
            hint="Give the devices larger budgets, add devices, or let more nodes choose their device.",
        )
