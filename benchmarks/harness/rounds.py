"""Rounds in turns: how a ratio is made that noise can't fake.

For each pair, both sides start a fresh process, warm up, and compute the same checked answer. Then rounds go A B A B;
a round's ratio is that of two neighbours in time, so that a slow phase of the machine hits both. Each second pair goes
B A B A. While one side's round runs, the other process rests.

A round counts when the machine was quiet and even: other processes took little of it, and a fixed piece of work, timed
before and after each side's calls, took the same each time. On rented machines the speed of a core changes by half for
parts of a second, which no load average shows. Other rounds are measured again, up to `PATIENCE` times the number of
rounds; then the least disturbed ones count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.harness.busy import Busy
from benchmarks.harness.definitions import Comparison, Figure, Measurement, Options, Side
from benchmarks.harness.environment import CpuUse, load_average
from benchmarks.harness.processes import CaseError, Worker, WorkerError
from benchmarks.harness.spread import Spread, unevenness

QUIET = 0.12
"""The share of all processors that others may use in a round that counts as quiet."""

EVEN = 0.1
"""How far, relatively, the machine's speed may vary within a round that counts as even."""

PATIENCE = 3

AGREEMENT = 1e-3
"""How far answers may lie apart, relatively: both compute in float32, in different orders."""


@dataclass(frozen=True, slots=True)
class Result:
    """One figure: absolute medians in `unit`, and where both sides ran, the ratio of the first to the second.

    `other_cpu` is the share of the machine that other processes took, `disturbed` that of the rounds which counted
    although the machine was not quiet and even.
    """

    name: str
    work: str
    unit: str
    sides: tuple[Side, ...]
    medians: tuple[float, ...]
    spreads: tuple[Spread, ...]
    ratio: Spread | None = None
    mean_ratio: float | None = None
    other_cpu: float | None = None
    disturbed: float | None = None
    load: float | None = None
    note: str = ""

    def value(self, side: Side) -> float | None:
        return self.medians[self.sides.index(side)] if side in self.sides else None


@dataclass(frozen=True, slots=True)
class Round:
    """The measurements of each side in one turn, and how busy the machine was with other things."""

    samples: tuple[dict[str, float], ...]
    other_cpu: float

    @property
    def disturbance(self) -> float:
        """At most 1 for a round that counts."""
        return max(self.other_cpu / QUIET, unevenness(self.samples) / EVEN)

    def ratio(self, key: str = "median") -> float:
        return self.samples[0][key] / self.samples[1][key]


def compare(path: str, comparison: Comparison, sides: tuple[Side, ...], options: Options) -> Result:
    """Measures a comparison; with one side only its time, with a side twice the null pair.

    Raises:
        WorkerError: a worker crashed, or the sides computed different answers.
    """
    pairs: list[list[Round]] = []
    for pair in range(options.pairs):
        with ExitStack() as stack:
            workers = [stack.enter_context(Worker(side, path, quick=options.quick)) for side in sides]
            check_answers(workers, [worker.receive()["answer"] for worker in workers])
            pairs.append(rounds(workers, options, swapped=pair % 2 == 1))
    return timed_result(path, comparison.work, comparison.note, sides, pairs)


def timed_result(path: str, work: str, note: str, sides: tuple[Side, ...], pairs: Sequence[Sequence[Round]]) -> Result:
    """The figure that rounds make, which come in pairs of processes."""
    flat = [one for pair in pairs for one in pair]
    both = len(sides) == 2
    columns = [[[one.samples[i]["median"] for one in pair] for pair in pairs] for i in range(len(sides))]
    spreads = tuple(Spread.of(column) for column in columns)
    return Result(
        name=path,
        work=work,
        unit="µs",
        sides=sides,
        medians=tuple(spread.median for spread in spreads),
        spreads=spreads,
        ratio=Spread.of([[one.ratio() for one in pair] for pair in pairs]) if both else None,
        mean_ratio=Spread.of([[one.ratio("mean") for one in pair] for pair in pairs]).median if both else None,
        other_cpu=sum(one.other_cpu for one in flat) / len(flat),
        disturbed=sum(one.disturbance > 1 for one in flat) / len(flat),
        load=load_average(),
        note=note,
    )


def rounds(workers: list[Worker], options: Options, *, swapped: bool, beside: Busy | None = None) -> list[Round]:
    """The rounds that count, of workers that have warmed up. Processes `beside` them are no disturbance.

    Raises:
        WorkerError: a worker crashed.
    """
    found: list[Round] = []
    order = list(range(len(workers)))
    if swapped:
        order.reverse()
    for worker in workers:
        worker.settle(limit=1.0)
    for _ in range(options.rounds if beside else PATIENCE * options.rounds):
        found.append(_round(workers, order, options.seconds, beside))
        if sum(one.disturbance <= 1 for one in found) >= options.rounds:
            break
    return sorted(found, key=lambda one: one.disturbance)[: options.rounds]


def _round(workers: list[Worker], order: list[int], seconds: float, beside: Busy | None) -> Round:
    samples: dict[int, dict[str, float]] = {}
    pids = [worker.pid for worker in workers] + (list(beside.pids) if beside else [])
    before = CpuUse.now(*pids)
    for i in order:
        samples[i] = workers[i].ask(seconds=seconds)
        if "error" in samples[i]:
            raise CaseError(f"{workers[i].side}: {samples[i]['error']}")
        workers[i].settle()
    after = CpuUse.now(*pids)
    others = after.others_since(before) if after and before else 0.0
    return Round(tuple(samples[i] for i in range(len(workers))), others)


def check_answers(workers: Sequence[Worker], answers: Sequence[Sequence[float]], least: float = 1e-6) -> None:
    """Differences below `least` are none. Raises WorkerError where the sides computed different answers."""
    first = answers[0]
    for worker, answer in zip(workers, answers):
        close = len(answer) == len(first) and all(
            math.isclose(a, b, rel_tol=AGREEMENT, abs_tol=least) for a, b in zip(first, answer)
        )
        if not close:
            raise WorkerError(f"{workers[0].side} computed {first}, but {worker.side} computed {answer}.")


def measure(path: str, measurement: Measurement, sides: tuple[Side, ...], options: Options) -> list[Result]:
    """Measures each figure in fresh processes, in turns where there are two sides.

    Raises:
        WorkerError: a worker crashed.
    """
    sides = tuple(side for side in sides if side == "ours" or measurement.peer is not None)
    runs = min(options.pairs, measurement.processes or options.pairs)
    taken: list[tuple[Mapping[str, float], ...]] = []
    before = CpuUse.now()
    for run in range(runs):
        order = list(range(len(sides)))
        figures: dict[int, Mapping[str, float]] = {}
        for i in reversed(order) if run % 2 else order:
            with Worker(sides[i], path, quick=options.quick) as worker:
                figures[i] = worker.receive()["figures"]
        taken.append(tuple(figures[i] for i in order))
    after = CpuUse.now()
    others = after.others_since(before) if after and before else None
    return [
        _figure(path, figure, measurement, sides, taken, others)
        for figure in measurement.figures
        if all(figure.name in figures for figures in taken[0])
    ]


def _figure(
    path: str,
    figure: Figure,
    measurement: Measurement,
    sides: tuple[Side, ...],
    taken: Sequence[tuple[Mapping[str, float], ...]],
    others: float | None,
) -> Result:
    name = figure.name
    spreads = tuple(Spread.of([[figures[i][name]] for figures in taken]) for i in range(len(sides)))
    both = len(sides) == 2
    return Result(
        name=f"{path.partition('/')[0]}/{name}",
        work=figure.work,
        unit=figure.unit,
        sides=sides,
        medians=tuple(spread.median for spread in spreads),
        spreads=spreads,
        ratio=Spread.of([[figures[0][name] / figures[1][name]] for figures in taken]) if both else None,
        other_cpu=others,
        load=load_average(),
        note=measurement.note,
    )
