"""`DeadlockDetector`: the log's word on steps that only wait, when nothing that the session runs would end their wait.

An error is for what is certain. A wait for a queue never is: another run may fill it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from actorflow.logs import get_logger
from actorflow.session.waiting.diagnosis import NOTHING

STANDSTILL_SECONDS = 1.0
"""The log tells of a step that has waited for so long while nothing else ran, or for what nothing in the graph brings."""
_RIPE = 0.9 * STANDSTILL_SECONDS  # a timer may come a little early
_LOG = get_logger("session")


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A step at one moment: for how many seconds it has only waited (None where it runs), and the lines of its report."""

    step: int
    idle: float | None
    lines: Sequence[str]


def joined(lines: Iterable[Sequence[str]]) -> list[str]:
    """One step's report from those of its tasks. A wait for another task's tensor comes last, and no line twice."""
    groups: dict[tuple[str, ...], None] = {}
    for some in lines:
        group: list[str] = []
        for line in some:
            if group and not line.startswith(" "):
                groups[tuple(group)] = None
                group = []
            group.append(line)
        if group:
            groups[tuple(group)] = None
    return [line for group in sorted(groups, key=lambda group: " (_Recv, " in group[0]) for line in group]


class DeadlockDetector:
    """Looks at all steps of a session from time to time. A wait for something from outside may be as it should be, so each set
    of nodes is told once."""

    def __init__(self) -> None:
        self._told: set[frozenset[str]] = set()

    def look(self, steps: Sequence[WaitingStep]) -> bool:
        """Warns of what stands still. Gives whether it is of use to look again before another step begins to wait."""
        again = False
        runs = any(
            one.idle is None or one.idle < _RIPE for one in steps
        )  # one that has just begun to wait ran until then
        for one in steps:
            nodes = nodes_of(one.lines)
            if one.idle is None or nodes in self._told:
                continue
            if one.idle < _RIPE or runs and not any(line.endswith(NOTHING) for line in one.lines):
                again = True
                continue
            self._told.add(nodes)
            _LOG.warning(
                "a step waits, and nothing that this session runs would end that",
                step=one.step,
                seconds=round(one.idle, 1),
                waits="\n".join(["", *one.lines]),
            )
        return again


def nodes_of(lines: Iterable[str]) -> frozenset[str]:
    """The names of the nodes that a report's lines begin with."""
    return frozenset(line.partition(" (")[0] for line in lines if not line.startswith(" "))
