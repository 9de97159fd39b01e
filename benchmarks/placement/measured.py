"""Placement by measured costs, with real processes: the step that placement chose, by the best that one device alone does, by
devices in turns, and by what the simulated execution had said of it.

Kernels wait on their device's thread, as for a disk or an accelerator, beside products of matrices, so that three tasks have
something to do at once on a machine of two processors. The graph does not tell how long they wait: the first plan guesses.

Steps run in rounds. A round has some steps of each way in turns, or steps from which costs come and steps that are predicted by
these. A figure is the median of the rounds', a round's that of its steps. If the machine was busy or uneven in some rounds, half
as many more are measured at most, and the least disturbed ones count; a figure says how many of them were even.

`python -m benchmarks.harness.worker ours placement/predicted` prints each round, and what each node adds if a prediction is off.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import actorflow as af
from actorflow.cluster.processes.launcher import Launcher
from actorflow.graph.ops.shape_rules import unchanged
from benchmarks.harness.definitions import Figure, Measurement, Options
from benchmarks.harness.environment import ROOT
from benchmarks.harness.even_rounds import EvenRounds, even_rounds

if TYPE_CHECKING:
    from actorflow.graph.tensor import Tensor, TensorLike

TASKS = 3
SIZE = 160
_RUNS = 9
"""The number of runs of a plan that are timed before its costs are taken for measured."""
_WARM = 3
"""The number of runs of a plan whose costs no one asks for, before its steps are timed."""
_ROUNDS, _TURNS = 7, 3
"""The rounds that count where ways are compared, and the steps of each way in a round."""
_PREDICTED_ROUNDS = 5
_MOST_TRIED = 100
"""A trial needs some seventy steps at most."""


@af.op("BenchmarkHold", shape=unchanged, gradient=None, work=lambda c: 4e8)
def hold(x: TensorLike, *, seconds: float, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """`x`, after `seconds` on the device's thread. Its work, the same for all, says only that it is not for the event loop."""


@af.kernel("BenchmarkHold")
def _hold(xp: Any, x: Any, *, seconds: float) -> Any:
    time.sleep(seconds)
    return x + 0


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of work: which earlier ones it needs (none: what is fed), how long it waits, and whether it multiplies."""

    needs: tuple[int, ...]
    seconds: float
    multiplies: bool


def branches() -> list[Piece]:
    """Independent pieces of very different lengths, and what joins them."""
    some = [Piece((), seconds, i % 3 == 0) for i, seconds in enumerate((2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25))]
    return [*some, Piece(tuple(range(len(some))), 1, False)]


def stages() -> list[Piece]:
    """Stages of five pieces each, every one of which needs the whole stage before."""
    pieces: list[Piece] = []
    before: tuple[int, ...] = ()
    for stage in range(3):
        first = len(pieces)
        pieces += [Piece(before, seconds, stage == 1) for seconds in (3, 4, 6, 8, 16)]
        before = (len(pieces),)
        pieces.append(Piece(tuple(range(first, first + 5)), 1, False))
    return pieces


def tangle(count: int = 30, seed: int = 5) -> list[Piece]:
    """Pieces that each need one or two of the eight before, drawn from a seed."""
    chance = random.Random(seed)
    return [
        Piece(
            tuple(sorted(chance.sample(range(max(0, i - 8), i), min(i, chance.choice((1, 2)))))) if i > 3 else (),
            chance.choice((2, 3, 5, 8, 12)),
            chance.random() < 0.2,
        )
        for i in range(count)
    ]


def lines(count: int = 3, length: int = 12) -> list[Piece]:
    """Straight lines of pieces of some 1 ms: a device's thread runs each of them without a word to its event loop in between.
    Equal lines would be merged."""
    return [Piece((i - 1,) if i % length else (), 1 + 0.05 * (i // length), False) for i in range(count * length)]


GRAPHS: Mapping[str, tuple[str, Callable[[], list[Piece]]]] = {
    "branches": ("eleven pieces of 2 to 25 ms and what joins them", branches),
    "stages": ("three stages of five pieces of 3 to 16 ms", stages),
    "tangle": ("thirty pieces of 2 to 12 ms, each after one or two others", tangle),
}

PREDICTED: Sequence[Callable[[], list[Piece]]] = (
    branches,
    stages,
    *(lambda k=k: tangle(12 + 3 * k, k) for k in range(8)),
)
"""Ten graphs whose steps are predicted."""


def _device(task: int) -> str:
    return f"/job:worker/task:{task}"


def build(pieces: Sequence[Piece], where: Callable[[int], str]) -> tuple[af.Graph, Any, Any]:
    """The graph with piece i asking for the device `where(i)`, what is fed, and what is fetched."""
    graph = af.Graph()
    made: list[Any] = []
    used = {need for piece in pieces for need in piece.needs}
    with graph.as_default():
        fed = af.placeholder(af.float32, [SIZE, SIZE])
        for i, piece in enumerate(pieces):
            with af.device(where(i)):
                inputs = [made[need] for need in piece.needs] or [fed]
                value = inputs[0] if len(inputs) == 1 else af.add_n(inputs)
                value = hold(value, seconds=piece.seconds * 1e-3, name=f"piece{i}")
                made.append(af.matmul(value, value, name=f"product{i}") * 1e-3 if piece.multiplies else value)
        with af.device(where(len(pieces))):
            return graph, fed, af.add_n([af.reduce_mean(value) for i, value in enumerate(made) if i not in used])


@asynccontextmanager
async def _cluster() -> AsyncIterator[tuple[str, af.CostModel]]:
    """Three tasks, and what transfers between them cost."""
    with Launcher({"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}) as launcher:
        async with af.LocalCluster(
            {"worker": TASKS}, imports=["benchmarks.placement.measured"], launcher=launcher
        ) as cluster:
            costs = af.CostModel()
            costs.links = await af.measure_links(cluster.target)
            yield cluster.target, costs


async def _run(step: Callable[[], Awaitable[Any]], times: int) -> list[float]:
    """The seconds of each of some steps."""
    took: list[float] = []
    for _ in range(times):
        begun = time.perf_counter()
        await step()
        took.append(time.perf_counter() - begun)
    return took


async def _compared(name: str, options: Options) -> EvenRounds[dict[str, float]]:
    """For each round the seconds of a step, placed in these ways, and what the simulation expected of the chosen one."""
    pieces = GRAPHS[name][1]()
    ways: dict[str, Callable[[int], str]] = {"guessed": lambda i: "", "chosen": lambda i: "", "searched": lambda i: ""}
    ways["turns"] = lambda i: _device(i % TASKS)
    ways |= {f"alone{task}": lambda i, task=task: _device(task) for task in range(TASKS)}  # type: ignore[misc]
    batch = np.full([SIZE, SIZE], 1e-2, np.float32)
    async with AsyncExitStack() as stack:
        target, costs = await stack.enter_async_context(_cluster())
        steps: dict[str, Callable[[], Any]] = {}
        sessions: dict[str, Any] = {}
        for way, where in ways.items():
            graph, fed, fetched = build(pieces, where)
            session = sessions[way] = await stack.enter_async_context(af.Session(target, graph=graph))
            steps[way] = lambda s=session, fetched=fetched, fed=fed: s.run(fetched, {fed: batch})  # type: ignore[misc]
            await _run(steps[way], _WARM)
        for way in ("chosen", "searched"):
            await _run(steps[way], _RUNS)
            await sessions[way].replan(costs=costs)
            await _run(steps[way], _RUNS)
        trial = await sessions["searched"].replan(search=2.0)
        for _ in range(_MOST_TRIED):
            if trial.adopted is not None:
                break
            await steps["searched"]()
        await trial.close()
        print(f"{name}: {trial.verdict}", file=sys.stderr)

        async def once() -> dict[str, float]:
            simulated = (await sessions["chosen"].study_placement()).seconds
            took: dict[str, list[float]] = {way: [] for way in steps}
            for _ in range(_TURNS):
                for way, step in steps.items():
                    took[way] += await _run(step, 1)
            return {"simulated": simulated, **{way: statistics.median(times) for way, times in took.items()}}

        return await even_rounds(once, 2 if options.quick else _ROUNDS)


async def _predicted(options: Options) -> Mapping[str, float]:
    """For ten graphs on three tasks, and for straight lines, how far the simulated step is off from the steps that follow, by
    measured costs and links."""
    async with _cluster() as (target, costs):
        graphs = [await _off(target, costs, make(), options) for make in PREDICTED]
        straight = await _off(target, costs, lines(), options)
    found = [statistics.median(rounds.results) for rounds in graphs]
    counted = [*graphs, straight]
    return {
        "predicted_within_10": sum(off <= 0.1 for off in found),
        "predicted_mean_off": 100 * statistics.mean(found),
        "lines_off": 100 * statistics.median(straight.results),
        "predicted_even": 100 * sum(rounds.even for rounds in counted) / sum(len(rounds.results) for rounds in counted),
    }


async def _off(target: str, costs: af.CostModel, pieces: Sequence[Piece], options: Options) -> EvenRounds[float]:
    """By what part of the measured step the simulated one is off. It prints what each node adds where that is more than 10 %."""
    graph, fed, fetched = build(pieces, lambda i: "")
    batch = np.full([SIZE, SIZE], 1e-2, np.float32)
    async with af.Session(target, graph=graph) as session:

        def step(**given: Any) -> Any:
            return session.run(fetched, {fed: batch}, **given)

        async def once() -> tuple[float, float]:
            await _run(step, _RUNS)
            study = await session.study_placement()  # before the steps that judge it
            return study.seconds, statistics.median(await _run(step, _RUNS))

        await _run(step, _RUNS)
        await session.replan(costs=costs)
        rounds = await even_rounds(once, 2 if options.quick else _PREDICTED_ROUNDS)
        shown = (f"{1e3 * said:.1f} {1e3 * took:.1f};" for said, took in rounds.results)
        print(f"{len(pieces)} pieces, predicted and measured ms:", *shown, f"{rounds.even} even", file=sys.stderr)
        found = [abs(took - said) / took for said, took in rounds.results]
        if statistics.median(found) > 0.1:
            trace = af.Trace(detail="plan")
            await step(trace=trace)
            print((await session.study_placement()).compare(trace), file=sys.stderr)
        return EvenRounds(found, rounds.even)


async def _graph_figures(name: str, options: Options) -> Mapping[str, float]:
    """The step's milliseconds, and what it is of the other ways', round by round."""
    measured = await _compared(name, options)
    rounds = measured.results
    median = {way: statistics.median(one[way] for one in rounds) for way in rounds[0]}
    alone = min((f"alone{task}" for task in range(TASKS)), key=median.__getitem__)
    return {
        f"{name}_ms": median["chosen"] * 1e3,
        f"{name}_by_alone": _by(rounds, "chosen", alone),
        f"{name}_searched": _by(rounds, "searched", min((alone, "chosen"), key=median.__getitem__)),
        f"{name}_by_turns": _by(rounds, "chosen", "turns"),
        f"{name}_by_guessed": _by(rounds, "chosen", "guessed"),
        f"{name}_off": statistics.median(abs(one["chosen"] / one["simulated"] - 1) * 100 for one in rounds),
        f"{name}_even": 100 * measured.even / len(rounds),
    }


def _by(rounds: Sequence[Mapping[str, float]], way: str, other: str) -> float:
    return statistics.median(one[way] / one[other] for one in rounds)


def _figures(name: str, work: str) -> tuple[Figure, ...]:
    return (
        Figure(f"{name}_ms", f"{work}: a step on three tasks, placed by what runs have shown", "ms"),
        Figure(f"{name}_by_alone", f"{work}: by the best of one task alone", "×"),
        Figure(f"{name}_searched", f"{work}: placed by a search, by the better of the greedy walk and one task", "×"),
        Figure(f"{name}_by_turns", f"{work}: by tasks in turns", "×"),
        Figure(f"{name}_by_guessed", f"{work}: by the first plan, which goes by estimates", "×"),
        Figure(f"{name}_off", f"{work}: how far the simulated step is off", "%"),
        Figure(f"{name}_even", f"{work}: the rounds that were quiet and even, of those that count", "%"),
    )


BENCHMARKS = (
    *(
        Measurement(name, ours=partial(_graph_figures, name), processes=1, figures=_figures(name, work))
        for name, (work, _) in GRAPHS.items()
    ),
    Measurement(
        "predicted",
        ours=_predicted,
        processes=1,
        figures=(
            Figure(
                "predicted_within_10", "of ten graphs on three tasks: those whose step is predicted within 10 %", ""
            ),
            Figure("predicted_mean_off", "by how much they are off in the mean", "%"),
            Figure(
                "lines_off", "three straight lines of twelve pieces of 1 ms: how far the simulated step is off", "%"
            ),
            Figure("predicted_even", "the rounds that were quiet and even, of those that count", "%"),
        ),
    ),
)
