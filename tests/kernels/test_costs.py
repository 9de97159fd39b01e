"""Measured costs: what decides where a kernel runs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.engine.runtime.diagnostics.costs import Cost, NodeCosts
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike


def test_a_first_measurement_replaces_the_guess() -> None:
    cost = Cost(100.0)
    cost.add(5_000_000.0)
    assert cost.nanoseconds == 5_000_000.0


def test_an_accident_at_the_first_run_is_corrected_by_the_second() -> None:
    cost = Cost(100.0)
    for measured in (5_000_000.0, 900.0):
        cost.add(measured)
    assert cost.nanoseconds == 900.0


def test_accidents_that_are_fewer_than_half_count_for_nothing() -> None:
    cost = Cost(100.0)
    for _ in range(10):
        cost.add(1_000.0)
    assert cost.settled
    for _ in range(4):
        cost.add(1e9)
        assert cost.nanoseconds == 1_000.0


def test_a_change_that_stays_is_learnt() -> None:
    cost = Cost(100.0)
    for measured in [1_000.0] * 10 + [50_000.0] * 5:
        cost.add(measured)
    assert cost.nanoseconds == 50_000.0


def test_a_wait_for_a_core_is_no_part_of_what_a_kernel_takes() -> None:
    """A kernel that computes for 2 ms and sleeps for 3; others have the cores for 4 ms more in six of nine runs."""
    cost = Cost(100.0)
    assert cost.alone() == (100.0, 0.0)
    for k in range(9):
        cost.add(9e6 if k % 3 else 5e6, busy=2e6)
    assert cost.nanoseconds == 9e6 and cost.alone() == (5e6, 3e6)
    cost.add(7e6)
    assert cost.alone() == (5e6, 3e6), "a run on the loop says nothing of that"


def test_costs_of_open_shapes_go_by_size() -> None:
    costs = NodeCosts(1_000.0, 10)
    small, large = costs.of([np.zeros(10)]), costs.of([np.zeros(10_000)])
    assert small is costs.of([np.ones(10)]) and small is not large
    assert (small.nanoseconds, large.nanoseconds) == (1_000.0, 1_000_000.0)
    for size in range(200):
        costs.of([np.zeros(size)])
    assert costs.of([np.zeros(10)]).nanoseconds == 1_000.0, "the table stays small"


# ---- an op of a program's own, of which nothing is known


@af.op("TestSaysItsThread", shape=unchanged, gradient=None)
def says_its_thread(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x, and notes on which thread."""


@af.op("TestSaysItsThreadWork", shape=unchanged, gradient=None, work=1)
def says_its_thread_known(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x, and notes on which thread; said to be cheap."""


_threads: list[str] = []


@af.kernel("TestSaysItsThread")
def _says(xp: Any, x: Any) -> Any:
    _threads.append(threading.current_thread().name)
    return x


@af.kernel("TestSaysItsThreadWork")
def _says_known(xp: Any, x: Any) -> Any:
    _threads.append(threading.current_thread().name)
    return x


@pytest.mark.parametrize("coalesce", [True, False])
@pytest.mark.parametrize("feed", ["a constant", "fed", "fed, of any size"])
async def test_an_op_of_unknown_cost_runs_first_off_the_loop(coalesce: bool, feed: str) -> None:
    """However long it takes, the loop goes on; the measurement then says where it runs."""
    _threads.clear()
    with af.Graph().as_default() as graph:
        x = af.constant([1.0]) if feed == "a constant" else af.placeholder(af.float32, [1] if feed == "fed" else [None])
        y = says_its_thread(x + 1.0) * 2.0
    feeds = {} if feed == "a constant" else {x: [1.0]}
    loop = threading.current_thread().name
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        assert list(await session.run(y, feeds)) == [4.0]
        assert _threads and loop not in _threads
        (compiled,) = session._engine.planner._plans.values()  # type: ignore[attr-defined]
        for plan in compiled.plans:
            for node in plan.nodes:
                for cost in [node.cost, *([node.costs.of([np.zeros(1)])] if node.costs is not None else [])]:
                    cost.nanoseconds = 1000.0  # however slow the machine is at the moment
        _threads.clear()
        await session.run(y, feeds)
        assert _threads == [loop]


async def test_an_op_that_says_its_work_runs_on_the_loop_at_once() -> None:
    _threads.clear()
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [1])
        y = says_its_thread_known(x)
    async with af.Session(graph=graph) as session:
        await session.run(y, {x: [1.0]})
    assert _threads == [threading.current_thread().name]


async def test_a_loop_around_an_op_of_unknown_cost_does_not_hold_the_event_loop_up() -> None:
    _threads.clear()
    with af.Graph().as_default() as graph:
        end = af.while_loop(lambda x: x < 3.0, lambda x: says_its_thread(x) + 1.0, [0.0])
    async with af.Session(graph=graph) as session:
        assert await session.run(end) == 3.0
    assert _threads[0] != threading.current_thread().name
