"""A suite, seen from the parent: many cases one after the other in the same pairs of processes.

Each case is measured as a comparison is, in rounds that take turns. A case that one side can't open, or whose answers
differ, is an error of its own, and the others go on.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from benchmarks.engine import node_times
from benchmarks.harness.busy import Busy
from benchmarks.harness.definitions import SIDES, Case, Options, Side, Suite
from benchmarks.harness.processes import CaseError, Worker, WorkerError
from benchmarks.harness.rounds import Result, Round, check_answers, rounds, timed_result
from benchmarks.harness.spread import Spread

SAME = 1e-4
"""How far answers of a case may lie apart, as a part of the largest number in them."""


@dataclass(slots=True)
class _Found:
    """The rounds of one case, a list for each pair of processes."""

    quiet: list[list[Round]] = field(default_factory=list)
    busy: list[list[Round]] = field(default_factory=list)
    nodes: str = ""


def measure(
    family: str, suite: Suite, sides: tuple[Side, ...], options: Options
) -> tuple[list[Result], dict[str, str]]:
    """The figures of a suite, and what went wrong by the name of its case.

    Raises:
        WorkerError: a worker crashed, and with it all cases that it had measured.
    """
    options = replace(options, rounds=max(3, round(options.rounds * suite.part)))
    found = {case.name: _Found() for case in suite.cases}
    errors: dict[str, str] = {}
    for pair in range(min(options.pairs, suite.processes or options.pairs)):
        with ExitStack() as stack:
            path = f"{family}/{suite.name}"
            crowded = suite.beside > 0
            workers = [
                stack.enter_context(Worker(side, path, quick=options.quick, own_session=crowded)) for side in sides
            ]
            beside = stack.enter_context(Busy(suite.beside, own_sessions=True)) if crowded else None
            for case in suite.cases:
                if case.name in errors:
                    continue
                try:
                    _case(workers, case, options, pair % 2 == 1, found[case.name], suite.nodes, beside)
                except CaseError as error:
                    errors[case.name] = str(error)
    done = [case for case in suite.cases if case.name not in errors]
    results = [result for case in done for result in _results(family, case, sides, found[case.name])]
    if suite.summary and len(sides) == 2 and done:
        results += _summary(f"{family}/{suite.name}", sides, [(case, found[case.name].quiet) for case in done])
    return results, {f"{family}/{name}": error for name, error in errors.items()}


def _case(
    workers: list[Worker], case: Case, options: Options, swapped: bool, found: _Found, nodes: bool, beside: Busy | None
) -> None:
    answers = []
    failed = []
    for worker in workers:  # all are asked, so that all close the case before
        told = worker.ask(open=case.name)
        answers.append(told.get("answer", []))
        if "error" in told:
            failed.append(f"{worker.side}: {told['error']}")
    if failed:
        raise CaseError("; ".join(failed))
    try:
        largest = max((abs(number) for number in answers[0] if math.isfinite(number)), default=0.0)
        check_answers(workers, answers, max(1e-6, SAME * largest))
    except WorkerError as error:
        raise CaseError(str(error)) from error
    found.quiet.append(rounds(workers, options, swapped=swapped, beside=beside))
    if (
        nodes
        and [worker.side for worker in workers] == list(SIDES)
        and statistics.median(one.ratio() for one in found.quiet[-1]) > 1
    ):
        ours, peer = (worker.ask(nodes=True).get("nodes", {}) for worker in workers)
        found.nodes = f"{case.name}: {node_times.told(ours, peer)}."
    if case.busy:
        with Busy() as neighbour:
            found.busy.append(rounds(workers, options, swapped=swapped, beside=neighbour))


def _results(family: str, case: Case, sides: tuple[Side, ...], found: _Found) -> list[Result]:
    path = f"{family}/{case.name}"
    quiet = timed_result(path, case.work, found.nodes or case.note, sides, found.quiet)
    if not found.busy:
        return [quiet]
    busy = timed_result(f"{path}_busy", f"{case.work}, beside a busy process", case.note, sides, found.busy)
    worse = [
        [_median(b, i) / _median(q, i) for q, b in zip(found.quiet, found.busy)] for i in range(len(sides))
    ]  # by side and pair
    spreads = tuple(Spread.of([[value] for value in column]) for column in worse)
    slowdown = replace(
        busy,
        name=f"{path}_slowdown",
        work=f"{case.work}: time beside a busy process by the time without",
        unit="×",
        medians=tuple(spread.median for spread in spreads),
        spreads=spreads,
        ratio=Spread.of([[a / b] for a, b in zip(*worse)]) if len(sides) == 2 else None,
        mean_ratio=None,
    )
    return [quiet, busy, slowdown]


def _median(some: Sequence[Round], side: int) -> float:
    return statistics.median(one.samples[side]["median"] for one in some)


def _summary(path: str, sides: tuple[Side, ...], found: Sequence[tuple[Case, list[list[Round]]]]) -> list[Result]:
    """The geometric mean of the ratios and of the times, by pairs of processes, and the worst case once more."""
    pairs = range(len(found[0][1]))
    ratios: Mapping[str, list[float]] = {
        case.name: [statistics.median(one.ratio() for one in quiet[pair]) for pair in pairs] for case, quiet in found
    }
    times = [
        Spread.of([[statistics.geometric_mean(_median(quiet[pair], side) for _, quiet in found)] for pair in pairs])
        for side in range(len(sides))
    ]
    mean = Spread.of([[statistics.geometric_mean(ratios[name][pair] for name in ratios)] for pair in pairs])
    flat = [one for _, quiet in found for pair in quiet for one in pair]
    average = Result(
        name=f"{path}_geometric_mean",
        work=f"geometric mean of {len(found)} cases",
        unit="µs",
        sides=sides,
        medians=tuple(spread.median for spread in times),
        spreads=tuple(times),
        ratio=mean,
        other_cpu=sum(one.other_cpu for one in flat) / len(flat),
        disturbed=sum(one.disturbance > 1 for one in flat) / len(flat),
    )
    case, quiet = max(found, key=lambda one: statistics.median(ratios[one[0].name]))
    worst = timed_result(f"{path}_worst", f"the worst of them: {case.work}", "", sides, quiet)
    return [average, worst]
