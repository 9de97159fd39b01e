"""The work of the stages of an iterator: which of them is slow, and for whom a pull waits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from actorflow.base.reports.logs import get_logger
from actorflow.errors import Where
from actorflow.public import public

_LOG = get_logger("data")

if TYPE_CHECKING:
    from actorflow.models.data.stage import Stage

PERIOD = 10.0
"""Seconds over which waits are added up."""
SLOW = 0.3
"""The part of a period from which on the log tells of waits."""
_ALL = 0.98
_PAUSE = 60.0
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class StageStatistics:
    """One stage: its kind, the user's line that made it, how many elements it gave, and how many seconds pulls took in it
    alone. `waiting` tells for how long the pull goes on that it is busy with; None if it is idle. `depth` is its place in the
    tree."""

    kind: str
    where: Where | None
    elements: int
    seconds: float
    waiting: float | None
    depth: int


@public("af.data")
@dataclass(frozen=True, slots=True)
class IteratorStatistics:
    """The stages of an iterator, the last one first. As text it is a table, with a mark at the slowest stage. `waited` is the
    part of the time, from 0 to 1, for which those who pull have waited lately; None where that is not known yet.

    Example:
        >>> numbers = af.data.Dataset.range(10).batch(5)
        >>> iterator = numbers.iterate()
        >>> batches = [batch async for batch in iterator]
        >>> [(stage.kind, stage.elements) for stage in iterator.statistics().stages]
        [('batch', 2), ('range', 10)]
    """

    stages: tuple[StageStatistics, ...]
    waited: float | None = None

    @property
    def slowest(self) -> StageStatistics | None:
        """The stage that took the most time itself."""
        return max(self.stages, key=lambda stage: stage.seconds, default=None)

    def told(self) -> dict[str, Any]:
        """The same in JSON's types, as the status of a task and the page of a cluster have it.

        Example:
            >>> numbers = af.data.Dataset.range(2).iterate()
            >>> await anext(numbers)
            0
            >>> told = numbers.statistics().told()
            >>> sorted(told), told["stages"][0]["kind"]
            (['slowest', 'stages', 'waited'], 'range')
        """
        slowest = self.slowest
        stages = [
            {**asdict(stage), "where": None if stage.where is None else str(stage.where)} for stage in self.stages
        ]
        return {"waited": self.waited, "slowest": slowest and self.stages.index(slowest), "stages": stages}

    def __str__(self) -> str:
        if not self.stages:
            return "no element was pulled yet"
        slowest = self.slowest
        lines = [f"{'stage':24}{'elements':>10}{'seconds':>10}  made at"]
        for stage in self.stages:
            mark = "  <- slowest" if stage is slowest else ""
            busy = "" if stage.waiting is None else f"  (in a pull for {stage.waiting:.3f} s)"
            name = "  " * stage.depth + stage.kind
            lines.append(f"{name:24}{stage.elements:>10}{stage.seconds:>10.3f}  {stage.where or ''}{busy}{mark}")
        if self.waited is not None and slowest is not None:
            lines.append(f"those who pull wait {self.waited:.0%} of the time; the slowest stage is {slowest.kind}")
        return "\n".join(lines)


class PullWaits:
    """For how long those who pull have waited, over periods of some seconds. A line of the log tells of long waits.

    A program that does nothing but pull has no use for that line.
    """

    __slots__ = ("_pulls", "_since", "_told", "_waited", "share")

    def __init__(self) -> None:
        self.share: float | None = None
        """The part of the last period that was waited for."""
        self._since: float | None = None
        self._told = float("-inf")
        self._waited = 0.0
        self._pulls = 0

    def pulled(self, began: float, ended: float, stage: Stage | None) -> None:
        """Notes a pull, and tells the log at the end of a period.

        Args:
            began, ended: the times of the pull, in seconds.
            stage: the last stage.
        """
        if self._since is None:
            self._since = ended  # the first element takes what opening files takes
            return
        self._waited += ended - began
        self._pulls += 1
        passed = ended - self._since
        if passed < PERIOD or self._pulls < _FEWEST:
            return
        self.share = self._waited / passed
        if SLOW <= self.share <= _ALL and ended - self._told >= _PAUSE:
            self._told = ended
            slowest = statistics_of(stage).slowest
            _LOG.warning(
                "steps wait for data",
                share=round(self.share, 2),
                seconds=round(passed, 1),
                slowest=None if slowest is None else slowest.kind,
                where=None if slowest is None else str(slowest.where or ""),
            )
        self._since, self._waited, self._pulls = ended, 0.0, 0


def statistics_of(stage: Stage | None, waited: float | None = None) -> IteratorStatistics:
    """The statistics of a stage and all below it."""
    rows: list[StageStatistics] = []
    if stage is not None:
        _collect(stage, 0, perf_counter(), rows)
    return IteratorStatistics(tuple(rows), waited)


def _collect(stage: Stage, depth: int, now: float, rows: list[StageStatistics]) -> None:
    below = 0.0 if getattr(stage, "begun", False) else sum(input_stage.seconds for input_stage in stage.inputs)
    waiting = None if stage.since is None else now - stage.since
    rows.append(
        StageStatistics(stage.node.kind, stage.node.where, stage.given, max(0.0, stage.seconds - below), waiting, depth)
    )
    for source in stage.inputs:
        _collect(source, depth + 1, now, rows)


def waiting_of(stage: Stage | None) -> str:
    """The stage that a pull is in, the one furthest down, and for how long."""
    current = stage
    while current is not None:
        below = next((source for source in current.inputs if source.since is not None), None)
        if below is None:
            break
        current = below
    if current is None:
        return "the dataset's first element"
    seconds = 0.0 if current.since is None else perf_counter() - current.since
    return f"the dataset's stage {current.node}, for {seconds:.3f} s"
