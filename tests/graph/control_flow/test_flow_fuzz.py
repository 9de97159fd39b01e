"""Random programs of branches, loops and arrays: as a graph they give what they give as Python, whatever the order of the
ready queue and the passes; their derivatives are those that differences of Python's results show.

`ACTORFLOW_FLOW_FUZZ` sets how many programs a run takes (10), `ACTORFLOW_TEST_SEED` the first one's seed; a failure names
the seed of its program.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from engine.runtime.ready_queues import Lifo, Shuffled
from patience import PATIENCE
from random_programs import FUNCTIONS, Apply, Block, Built, Choice, Loop, Program, Rows, Run, Tick, random_program

import actorflow as af
from actorflow.engine.runtime.dispatcher import Dispatcher, ReadyQueue

PROGRAMS = int(os.environ.get("ACTORFLOW_FLOW_FUZZ", "10"))
FIRST = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0)
BATCH = 10
STEP = 1e-5
LONG_STEP = 1e-3


@dataclass(frozen=True)
class Setting:
    """One way to run a graph."""

    order: str
    coalesce: bool
    optimize: bool
    traced: bool = False

    def queue(self, seed: int) -> ReadyQueue:
        return {"fifo": deque, "lifo": Lifo}[self.order]() if self.order != "shuffled" else Shuffled(seed)


def settings(seed: int) -> list[Setting]:
    """Two that each program gets, and one that its seed picks."""
    rng = random.Random(seed)
    return [
        Setting("fifo", coalesce=True, optimize=True),
        Setting("shuffled", coalesce=False, optimize=rng.random() < 0.5),
        Setting(
            rng.choice(["fifo", "lifo", "shuffled"]),
            coalesce=rng.random() < 0.7,
            optimize=rng.random() < 0.5,
            traced=rng.random() < 0.1,
        ),
    ]


def seeds(batch: int, count: int) -> range:
    return range(FIRST + batch * BATCH, FIRST + min((batch + 1) * BATCH, count))


# ---- values


async def check_values(program: Program, built: Built, setting: Setting) -> None:
    Dispatcher.of(asyncio.get_running_loop()).queue = setting.queue(program.seed)
    ticks = 0
    async with af.Session(
        graph=built.graph, options=af.PlanOptions(coalesce=setting.coalesce, optimize=setting.optimize)
    ) as session:
        await session.run(built.initializer)
        for number in range(3):
            inputs = program.inputs(number)
            want = Run(program, inputs)
            ticks += want.ticks
            trace = af.Trace() if setting.traced else None
            feeds = dict(zip(built.inputs, inputs))
            got = await session.run(built.results, feeds, timeout=PATIENCE, trace=trace)
            for name, x, y in zip(built.results, want.results, got, strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-14, err_msg=f"run {number}: {name}")
            assert await session.run(built.ticks.value()) == ticks, f"side effects of run {number}"
        assert session.pending() == "no step is in flight"
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("batch", range(-(-PROGRAMS // BATCH)))
def test_f77_f78_f79_random_programs_give_what_python_gives(batch: int) -> None:
    for seed in seeds(batch, PROGRAMS):
        program = random_program(seed)
        built = Built(program, known_shapes=seed % 3 > 0)
        for setting in settings(seed):
            try:
                asyncio.run(check_values(program, built, setting))
            except Exception as error:
                raise AssertionError(f"seed {seed} with {setting} fails: {error}") from error


# ---- derivatives


def objective(program: Program, inputs: list[Any]) -> tuple[float, list[bool]]:
    """The sum of the results that are floats, and what was decided on the way."""
    run = Run(program, inputs)
    parts = [np.mean(v) for v, kind in zip(run.results, program.result_kinds, strict=True) if kind != "i"]
    return float(sum(parts)), run.decisions


@dataclass(frozen=True)
class Slopes:
    """First and second derivative of the objective along a direction, by differences; None where a branch changes."""

    inputs: list[Any]
    direction: list[Any]
    first: float
    second: float


def slopes(program: Program, number: int) -> Slopes | None:
    inputs = program.inputs(number)
    rng = np.random.default_rng((program.seed, number, 1))
    direction = [None if k == "i" else rng.uniform(-1, 1, np.shape(x)) for k, x in zip(program.kinds, inputs)]

    def along(distance: float) -> tuple[float, list[bool]]:
        moved = [x if d is None else x + distance * d for x, d in zip(inputs, direction)]
        return objective(program, moved)

    points = {distance: along(distance) for distance in (-LONG_STEP, -STEP, 0.0, STEP, LONG_STEP)}
    if any(decisions != points[0.0][1] for _, decisions in points.values()):
        return None
    first = (points[STEP][0] - points[-STEP][0]) / (2 * STEP)
    second = (points[LONG_STEP][0] - 2 * points[0.0][0] + points[-LONG_STEP][0]) / LONG_STEP**2
    return Slopes(inputs, direction, first, second)


class Derived:
    """The gradient of a program's objective, and the derivative of that along a direction which is fed."""

    def __init__(self, program: Program, second: bool) -> None:
        self.built = Built(program, known_shapes=program.seed % 3 > 0)
        with self.built.graph.as_default():
            floats = [t for t, kind in zip(self.built.results, program.result_kinds, strict=True) if kind != "i"]
            self.xs = [t for t in self.built.inputs if t.dtype is af.float64]
            total = af.add_n([af.reduce_mean(t) for t in floats])
            self.directions = [af.placeholder(af.float64, t.static_shape) for t in self.xs]
            self.first = self.along(total)
            self.second = self.along(self.first) if second else None

    def along(self, y: Any) -> Any:
        """The derivative of `y` along the direction."""
        parts = [af.constant(0.0, af.float64)]
        for gradient, direction in zip(af.gradients(y, self.xs), self.directions):
            if gradient is not None:
                parts.append(af.reduce_sum(gradient * direction))
        return af.add_n(parts)


async def check_slopes(program: Program, derived: Derived, known: list[Slopes], coalesce: bool) -> None:
    Dispatcher.of(asyncio.get_running_loop()).queue = Shuffled(program.seed)
    async with af.Session(graph=derived.built.graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        await session.run(derived.built.initializer)
        for found in known:
            feeds = dict(zip(derived.built.inputs, found.inputs))
            feeds.update(zip(derived.directions, [d for d in found.direction if d is not None]))
            first = await session.run(derived.first, feeds, timeout=PATIENCE)
            np.testing.assert_allclose(first, found.first, rtol=1e-5, atol=1e-7, err_msg="first derivative")
            if derived.second is not None:
                second = await session.run(derived.second, feeds, timeout=PATIENCE)
                np.testing.assert_allclose(second, found.second, rtol=1e-3, atol=1e-4, err_msg="second derivative")


GRADIENTS = PROGRAMS // 2


@pytest.mark.parametrize("batch", range(-(-GRADIENTS // BATCH)))
def test_f81_derivatives_of_random_programs_are_those_of_differences(batch: int) -> None:
    compared = 0
    for seed in seeds(batch, GRADIENTS):
        program = random_program(seed)
        known = [found for number in range(3) if (found := slopes(program, number)) is not None]
        compared += len(known)
        try:
            derived = Derived(program, second=seed % 4 == 0)
            for coalesce in (True, False) if seed % 2 else (seed % 4 == 0,):
                asyncio.run(check_slopes(program, derived, known, coalesce))
        except Exception as error:
            raise AssertionError(f"seed {seed} fails: {error}") from error
    assert compared >= len(seeds(batch, GRADIENTS)), "too many of the points are next to a change of branch"


# ---- the generator


def statements(block: Block, depth: int = 0) -> list[tuple[int, Any]]:
    """All statements, with their depths."""
    found: list[tuple[int, Any]] = []
    for s in block.statements:
        found.append((depth, s))
        inner = [s.yes, s.no] if isinstance(s, Choice) else [s.body] if isinstance(s, (Loop, Rows)) else []
        for part in inner:
            found += statements(part, depth + 1)
    return found


def test_the_generator_makes_what_it_promises() -> None:
    """Each statement and function comes up, at each depth; both sides of branches are taken; loops make 0 to 3 trips."""
    programs = [random_program(seed) for seed in range(60)]
    found = [entry for program in programs for entry in statements(program.body)]
    assert {(depth, kind) for depth in range(3) for kind in (Choice, Loop, Rows)} <= {(d, type(s)) for d, s in found}
    assert {s.function for _, s in found if isinstance(s, Apply)} == FUNCTIONS.keys()
    loops = [s for _, s in found if isinstance(s, Loop)]
    assert any(s.record and s.keeps for s in loops) and any(s.chain_start is not None for s in loops)
    assert any(s.limit is not None for s in loops) and any(s.table is not None for s in loops)
    assert any(isinstance(s, Tick) for _, s in found)
    runs = [Run(program, program.inputs(0)) for program in programs]
    decisions = [decided for run in runs for decided in run.decisions]
    assert 0.25 < np.mean(decisions) < 0.75
    assert sum(run.ticks > 0 for run in runs) > 5
