"""`DeadlockDetector`: the log's word on steps that only wait, when nothing that the session runs would end their wait.

An error is for what is certain. A wait for a queue never is: another run may fill it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from actorflow.base.reports.logs import get_logger
from actorflow.engine.session.waiting.diagnosis import NOTHING

STANDSTILL_SECONDS = 1.0
"""The log tells of a step that has waited for so long while nothing else ran, or for what nothing in the graph brings, and waits
still at the next look, after as long again."""
MOST_TOLD, MOST_AT_ONCE = 16, 3
"""The steps that a session's log describes, in all and at a look; of others it gives the number."""
_RIPE = 0.9  # a timer may come a little early
_LOG = get_logger("session")


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A step at one moment: for how many seconds it has only waited (None while it runs), and the lines of its report."""

    step: int
    idle: float | None
    lines: Sequence[str]


_FOLLOWS = re.compile(r"\) waits for (control )?input [^ ]")
"""A line of a node that waits for other nodes of its task."""


def _rank(group: Sequence[str]) -> int:
    """The place of a node's lines: causes, waits for nodes, waits for tensors of other tasks, and how many were left out."""
    first = group[0]
    if first.startswith("... and "):
        return 3
    return 2 if " (_Recv, " in first else 1 if _FOLLOWS.search(first) else 0


def joined(lines: Iterable[Sequence[str]]) -> list[str]:
    """One step's report from those of its tasks. A cause, a node that waits for no other node, comes first, on any task. A wait
    for another task's tensor comes last, and no line twice."""
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
    return [line for group in sorted(groups, key=_rank) for line in group]


def warn(step: WaitingStep) -> None:
    """Tells the log of a step that stands still."""
    _LOG.warning(
        "a step waits, and nothing that this session runs would end that",
        step=step.step,
        seconds=round(step.idle or 0.0, 1),
        waits="\n".join(["", *step.lines]),
    )


class DeadlockDetector:
    """Looks at all steps of a session from time to time. A wait for something from outside may be as it should be, so each set
    of nodes is told once.

    Two looks in a row have to see a step wait while nothing else runs. At a single moment the program may be between two steps;
    and on a busy machine the step that would end the wait may not have had its turn yet.

    Args:
        tell: is called with each step that stands still.
        after: for how many seconds a step has only waited by then.
        ends_circles: whether a step fails that waits in a circle, for a mutex that only the others of it give back.
    """

    def __init__(
        self,
        tell: Callable[[WaitingStep], object] = warn,
        after: float = STANDSTILL_SECONDS,
        *,
        ends_circles: bool = False,
    ) -> None:
        self.after = after
        self.ends_circles = ends_circles
        self._tell = tell
        self._told: set[frozenset[str]] = set()
        self._suspects: dict[int, float] = {}
        """The seconds for which steps had waited that stood still at the former look."""
        self._begun = 0

    def look(self, steps: Sequence[WaitingStep], begun: int) -> bool:
        """Tells of what stands still. Gives whether it is of use to look again before another step begins to wait.

        Args:
            steps: those in flight.
            begun: how many steps have begun so far.
        """
        again, ripe = False, _RIPE * self.after
        still: list[WaitingStep] = []
        former, self._suspects = self._suspects, {}
        # A step that has just begun to wait ran until then.
        runs = any(step.idle is None or step.idle < ripe for step in steps)
        ran, self._begun = begun != self._begun, begun
        for report in steps:
            nodes = nodes_of(report.lines)
            if report.idle is None or nodes in self._told:
                continue
            has_nothing = any(line.endswith(NOTHING) for line in report.lines)
            if report.idle < ripe or runs and not has_nothing:
                again = True
                continue
            if report.idle < former.get(report.step, math.inf) or ran and not has_nothing:
                self._suspects[report.step] = report.idle
                again = True
                continue
            self._told.add(nodes)
            still.append(report)
        described = min(len(still), MOST_AT_ONCE, max(0, MOST_TOLD - len(self._told) + len(still)))
        for report in still[:described]:
            self._tell(report)
        if more := len(still) - described:
            _LOG.warning("more steps wait, and nothing that this session runs would end that", steps=more)
        return again


def nodes_of(lines: Iterable[str]) -> frozenset[str]:
    """The names of the nodes that a report's lines begin with."""
    return frozenset(line.partition(" (")[0] for line in lines if not line.startswith(" "))
