"""The search for a placement, by the simulation that also judges it: against the greedy placement, and against a lower bound.

A search has 10 seconds of the processor, or 1 where it is quick. `learned` is of graphs of real ops: costs learned from some
models place others, which have never run, and measured costs judge that.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeVar
from unittest import mock

import anyio
import anyio.to_thread

import actorflow as af
from actorflow.engine.placement.choose import best
from actorflow.engine.placement.search.memory import MemoryRule
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.search.search import search
from actorflow.engine.placement.simulation.simulator import Simulator
from benchmarks.engine.loop_lag import ticker
from benchmarks.harness.definitions import Figure, Measurement, Options
from benchmarks.harness.sides import our_library
from benchmarks.placement.graphs import LINKS, PROFILES, STEPS, layered, lstm, problem, profile, tangle
from benchmarks.placement.models import MODELS, model_problem

T = TypeVar("T")
_DEVICES = 4
_TWO = {name: LINKS[name] for name in ("bus", "memory")}
"""The links between accelerators of one machine."""


def _seconds(options: Options) -> float:
    return 1.0 if options.quick else 10.0


def _against_greedy(options: Options) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for name, (_, make) in STEPS.items():
        for link, links in _TWO.items():
            asked = problem(make(), _DEVICES, links)
            greedy = best(asked.work, asked.machine, asked.grouping).seconds
            result = search(asked, _seconds(options), seed=1, clock=time.process_time)
            found[f"{name}_{link}"] = result.seconds / greedy
    found["geometric_mean"] = statistics.geometric_mean(found.values())
    for link, links in _TWO.items():
        asked = problem(lstm(), _DEVICES, links)
        result = search(asked, _seconds(options), seed=1, clock=time.process_time)
        found[f"lstm_{link}"] = result.seconds / Simulator(asked.work, asked.machine, asked.grouping.group).bound
    return found


def _never_worse(kind: str, options: Options) -> Mapping[str, float]:
    """Searches of some trials only, on two and four devices, with three kinds of links, with and without budgets of memory. The
    better one of the greedy walk and one device is what they have to reach; the worst of them counts."""
    worst = 0.0
    for devices, links, budget in itertools.product((2, 4), LINKS.values(), (None, 0.6)):
        asked: Iterable[SearchProblem]
        if kind == "random":
            asked = (problem(tangle(seed), devices, links, budget) for seed in range(20 if options.quick else 200))
        elif kind == "profiles":
            steps = [*(profile(name) for name in PROFILES), *(make() for _, make in STEPS.values())]
            asked = (problem(step, devices, links, budget) for step in steps)
        else:
            asked = (model_problem(name, devices, links, budget) for name in MODELS)
        worst = max(worst, *map(_by_the_better, asked))
    return {f"{kind}_worst": worst}


def _by_the_better(asked: SearchProblem) -> float:
    """A searched step by the better one of the greedy walk and all on one device, of those that fit into the memory; 0 where
    neither does, as where no placement fits."""
    rule, judge = MemoryRule(asked), Simulator(asked.work, asked.machine, asked.grouping.group)
    alone = [[d if d in some else some[0] for some in asked.grouping.options] for d in range(len(asked.machine.names))]
    others = [best(asked.work, asked.machine, asked.grouping).at, *alone]
    fitting = [judge.run(at, keep=False).seconds for at in others if rule.fits(at)]
    return search(asked, trials=20, seed=1).seconds / min(fitting) if fitting else 0.0


def _models_by_greedy(options: Options) -> Mapping[str, float]:
    """Models of our own ops on four devices: the searched step by the greedy one."""
    found: dict[str, float] = {}
    for name in MODELS:
        asked = model_problem(name, _DEVICES, LINKS["bus"])
        greedy = best(asked.work, asked.machine, asked.grouping).seconds
        found[f"{name}_by_greedy"] = search(asked, _seconds(options), seed=1, clock=time.process_time).seconds / greedy
    return found


def _large(options: Options) -> Mapping[str, float]:
    """How many placements of 10,000 nodes a search simulates, with the library in C and without it, by the trials of a second."""
    asked = problem(layered(5, 1000, 10), _DEVICES, LINKS["bus"])
    begun = time.process_time()
    best(asked.work, asked.machine, asked.grouping)
    greedy_seconds = time.process_time() - begun
    result = search(asked, _seconds(options), seed=1, clock=time.process_time)
    with mock.patch("actorflow.engine.placement.search.search.fast_simulator", Simulator):
        plain = search(asked, _seconds(options), seed=1, clock=time.process_time)
    return {
        "large_greedy_s": greedy_seconds,
        "large_trials": 10.0 * result.trials / result.took,
        "large_by_greedy": result.seconds / result.starts["greedy"],
        "large_trials_python": 10.0 * plain.trials / plain.took,
        "large_by_greedy_python": plain.seconds / plain.starts["greedy"],
    }


def _products(lib: Any, layers: int = 100, width: int = 10) -> tuple[Any, Any, Any]:
    """A graph of 1,000 products of matrices, each of two of the layer before; its input and its result."""
    chance = random.Random(3)
    graph = lib.Graph()
    with graph.as_default():
        x = lib.placeholder(lib.float32, [256, 256])
        before = [lib.matmul(x, x * (1.0 + k)) for k in range(width)]
        for _ in range(layers - 1):
            before = [lib.matmul(*chance.sample(before, 2)) for _ in range(width)]
        return graph, x, lib.add_n(before)


async def _beside_a_loop(options: Options) -> Mapping[str, float]:
    """Searches of 1,000 nodes on four devices, and how late a ticker in the same event loop gets meanwhile: of numbers, and by a
    session, which makes its question of a graph and plans for the answer."""
    asked = problem(layered(3, 100, 10), _DEVICES, LINKS["bus"])
    study = af.PlacementStudy(asked)
    idle: list[float] = []
    await ticker(time.perf_counter() + 2, idle)
    seconds = _seconds(options) - 1.0
    found, took, delays = await _ticking(lambda: anyio.to_thread.run_sync(study.search, seconds))
    graph, x, total = _products(our_library())
    async with af.Session(graph=graph, devices={"CPU": _DEVICES}) as session:
        await session.warmup(total, [x])
        _, session_took, session_delays = await _ticking(lambda: session.replan(search=seconds))
    return {
        "thousand_s": took,
        "thousand_by_greedy": found.seconds / study.seconds,
        "hold_p99_ms": _p99(delays),
        "session_s": session_took,
        "session_hold_p99_ms": _p99(session_delays),
        "session_hold_ms": max(session_delays),
        "idle_p99_ms": _p99(idle),
    }


async def _ticking(work: Callable[[], Awaitable[T]]) -> tuple[T, float, list[float]]:
    """The result of `work`, its seconds, and the delays of a ticker meanwhile."""
    delays: list[float] = []
    begun = time.perf_counter()
    async with anyio.create_task_group() as group:
        group.start_soon(ticker, math.inf, delays)
        found = await work()
        took = time.perf_counter() - begun
        group.cancel_scope.cancel()
    return found, took, delays


def _p99(delays: list[float]) -> float:
    return sorted(delays)[int(0.99 * len(delays))]


def _models(options: Options) -> tuple[list[Any], list[Any]]:
    """The builds of the models to learn from and to place: every second one each, without the two largest."""
    from benchmarks.models import TRAINING

    cases = [case for case in TRAINING if not case.name.startswith(("vgg", "unet"))]
    teachers, pupils = cases[::2], cases[1::2]
    if options.quick:
        teachers, pupils = teachers[:5], pupils[:3]
    return [case.build for case in teachers], [case.build for case in pupils]


async def _measured(build: Any, costs: af.CostModel | None) -> tuple[SearchProblem, Any, af.Graph]:
    """The step of a model on two devices: by what sixty runs have shown, or by learned costs and without any run."""
    work = build(our_library())
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(af.Session(graph=work.graph, devices={"CPU": 2}))
        if work.init is not None:
            await session.run(work.init)
        feeds = dict(zip(work.placeholders, work.batches[0], strict=True))
        if costs is not None:
            await session.replan(costs=costs)
            await session.warmup(work.fetches, feeds)
            return (await session.study_placement()).problem, [], work.graph
        for _ in range(60):
            await session.run(work.fetches, feeds)
        return (await session.study_placement()).problem, await session.measured(), work.graph


async def _learned(options: Options) -> Mapping[str, float]:
    teachers, pupils = _models(options)
    costs = af.CostModel()
    for build in teachers:
        _, measured, graph = await _measured(build, None)
        costs.learn(measured, graph)
    ratios: list[float] = []
    errors: list[float] = []
    for build in pupils:
        truth, measured, graph = await _measured(build, None)
        guess, _, _ = await _measured(build, costs)
        by_measured = search(truth, trials=400, seed=1)
        by_learned = search(guess, trials=400, seed=1)
        where = dict(zip(guess.work.names, (by_learned.at[g] for g in guess.grouping.group)))
        at = list(by_measured.at)
        for name, g in zip(truth.work.names, truth.grouping.group):
            if where.get(name) in truth.grouping.options[g]:
                at[g] = where[name]
        judge = Simulator(truth.work, truth.machine, truth.grouping.group)
        ratios.append(judge.run(at, keep=False).seconds / by_measured.seconds)
        seconds = dict(zip(guess.work.names, guess.work.seconds))
        errors += [
            abs(math.log(seconds[name] / took))
            for name, took in zip(truth.work.names, truth.work.seconds)
            if took > 2e-5 and seconds.get(name, 0.0) > 0
        ]
    return {
        "learned_by_measured": statistics.mean(ratios),
        "learned_worst": max(ratios),
        "learned_error": math.exp(statistics.median(errors)),
    }


BENCHMARKS = (
    *(
        Measurement(
            f"{kind}_worst",
            ours=partial(_never_worse, kind),
            processes=1,
            figures=(Figure(f"{kind}_worst", f"{words}: by the better one of greedy and one device, at worst", "×"),),
        )
        for kind, words in {
            "random": "200 random steps",
            "profiles": "profiles of networks, cells and layers",
            "models": "models of our own ops",
        }.items()
    ),
    Measurement(
        "models",
        ours=_models_by_greedy,
        processes=1,
        figures=tuple(
            Figure(f"{name}_by_greedy", f"{work}, four devices: the searched placement by the greedy one", "×")
            for name, (work, _) in MODELS.items()
        ),
    ),
    Measurement(
        "large",
        ours=_large,
        processes=1,
        figures=(
            Figure("large_greedy_s", "the greedy placement of 10,000 nodes", "s"),
            Figure("large_trials", "placements of 10,000 nodes that a search simulates in 10 s of the processor", ""),
            Figure("large_by_greedy", "the one that it finds, by the greedy one", "×"),
            Figure("large_trials_python", "placements that it simulates without the library in C", ""),
            Figure("large_by_greedy_python", "the one that it finds then, by the greedy one", "×"),
        ),
    ),
    Measurement(
        "greedy",
        ours=_against_greedy,
        processes=1,
        figures=(
            *(
                Figure(f"{name}_{link}", f"{work}, link {link}: the searched placement by the greedy one", "×")
                for name, (work, _) in STEPS.items()
                for link in _TWO
            ),
            Figure("geometric_mean", "geometric mean of these", "×"),
            *(
                Figure(f"lstm_{link}", f"a grid of 8 × 40 LSTM cells, link {link}: by the lower bound", "×")
                for link in _TWO
            ),
        ),
    ),
    Measurement(
        "loop",
        ours=_beside_a_loop,
        processes=1,
        figures=(
            Figure("thousand_s", "a search of 1,000 nodes on four devices", "s"),
            Figure("thousand_by_greedy", "its placement by the greedy one", "×"),
            Figure("hold_p99_ms", "how late a 1 ms ticker in the same loop gets meanwhile, p99", "ms"),
            Figure("session_s", "`session.replan(search=9)` of a graph of 1,000 products on four devices", "s"),
            Figure("session_hold_p99_ms", "how late the ticker gets beside that, p99", "ms"),
            Figure("session_hold_ms", "and at most", "ms"),
            Figure("idle_p99_ms", "the ticker on the idle loop, p99", "ms"),
        ),
    ),
    Measurement(
        "learned",
        ours=_learned,
        processes=1,
        figures=(
            Figure("learned_by_measured", "models that have never run: placed by learned costs, by measured ones", "×"),
            Figure("learned_worst", "the worst of them", "×"),
            Figure("learned_error", "the learned cost of a node is off by a factor of, median", "×"),
        ),
    ),
)
