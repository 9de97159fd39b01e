"""`session.replan(search=...)`: a search beside the program's steps, and a trial by these steps, which a sign test decides."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
from clusters import servers
from engine.placement.held_ops import BATCH, LENGTHS, hold, pieces
from engine.placement.workloads import LINKS, Record, posed, random_problem, step
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.cluster.server import Server
from actorflow.engine.placement.search.apart import search_apart
from actorflow.engine.placement.search.search import search
from actorflow.engine.placement.simulation.simulator import Simulator
from actorflow.engine.session.planning.trial import PlacementTrial, sign_test
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike


@pytest.fixture
async def cluster() -> AsyncIterator[list[Server]]:
    async with servers({"worker": 2}) as found:
        yield found


def alone(session: af.Session) -> list[str]:
    """The pieces on the device of the long one."""
    homes = {name: session.placement(name) for name in LENGTHS}
    return [name for name in homes if homes[name] == homes["long"]]


async def until(true: Callable[[], Any], do: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint) -> None:
    with anyio.fail_after(PATIENCE):
        while not true():
            await do()


async def adopted(session: af.Session, trial: PlacementTrial, fetch: Tensor, feeds: dict[Any, Any]) -> PlacementTrial:
    """Runs steps until the trial is over; another one, where other processes had the machine during this one."""
    for _ in range(10):
        while trial.adopted is None:
            assert (await session.run(fetch, feeds)).tolist() == [4] * 4
        if await trial.done():
            break
        trial = await session.replan(search=0.0)
    return trial


async def test_f47_a_placement_that_is_faster_is_adopted(graph: af.Graph) -> None:
    x, total = pieces()
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        for _ in range(5):
            await session.run(total, {x: BATCH})
        trial = await session.replan(search=0.0, seed=3)
        assert trial.report.exhaustive and trial.report.better and trial.report.seed == 3
        assert trial.report.bound <= trial.report.found < trial.report.present
        assert "in turns" in trial.verdict and trial.adopted is None
        before = alone(session)
        trial = await adopted(session, trial, total, {x: BATCH})
        assert trial.adopted and "in force" in trial.verdict, trial
        assert trial.wins > trial.pairs / 2 and sign_test(trial.wins, trial.pairs) < 0.05
        assert (await session.run(total, {x: BATCH})).tolist() == [4] * 4
        assert before != ["long"] == alone(session)


async def test_f47_on_a_cluster_too_and_variables_stay(cluster: list[Server], graph: af.Graph) -> None:
    x, total = pieces()
    v = af.Variable(np.zeros(4, np.float32), name="v")
    count = v.assign_add(total)
    async with af.Session(cluster[0].target, graph) as session:
        await session.run(v.initializer)
        for _ in range(5):
            await session.run(total, {x: BATCH})
        home = session.placement("v")
        trial = await session.replan(search=0.2)
        trial = await adopted(session, trial, total, {x: BATCH})
        assert trial.adopted, trial
        await session.run(count, {x: BATCH})
        assert session.placement("v") == home and (await session.run(v)).tolist() == [4] * 4
        assert alone(session) == ["long"]


async def test_f47_a_placement_that_only_seemed_faster_is_put_back(graph: af.Graph) -> None:
    """The trial's clock says that each step by the new placement took longer."""
    x, total = pieces()
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        for _ in range(5):
            await session.run(total, {x: BATCH})
        before = alone(session)
        trial = await session.replan(search=0.0)
        for _ in range(10):
            trial._compare({True: 2.0, False: 1.0})
        assert trial.adopted is False and "put back: 0 of 10" in trial.verdict
        assert not await trial.done()
        await session.run(total, {x: BATCH})
        assert alone(session) == before
        again = await session.replan(search=0.0)
        assert again.report.better, "the next search may try it again"


async def test_f47_no_choice_and_no_gain_are_told(graph: af.Graph) -> None:
    x, total = pieces()
    async with af.Session(graph=graph, devices={"CPU": 1}) as session:
        trial = await session.replan(search=0.1)
        assert trial.adopted is False and "no step to look at yet" in trial.verdict
        await session.run(total, {x: BATCH})
        trial = await session.replan(search=0.1)
        assert trial.adopted is False and trial.verdict == "No node has a choice of its device."
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        for _ in range(5):
            await session.run(total, {x: BATCH})
        await session.replan()
        await session.run(total, {x: BATCH})
        trial = await session.replan(search=0.0)
        assert not trial.report.better or trial.report.found < trial.report.present
        with pytest.raises(ValueError, match="number of seconds"):
            await session.replan(search=-1.0)


async def test_f47_a_search_goes_by_estimates_where_nothing_is_measured(graph: af.Graph) -> None:
    """A plan is there, but no step has run."""
    x, total = pieces()
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        await session.warmup(total, [x])
        trial = await session.replan(search=0.0)
        assert trial.report.exhaustive and 0 < trial.report.found <= trial.report.present


async def test_f47_a_step_that_fails_on_trial_ends_it(graph: af.Graph) -> None:
    x, total = pieces()
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        for _ in range(5):
            await session.run(total, {x: BATCH})
        trial = await session.replan(search=0.0)
        inner, twins = trial._run, []

        async def failing(plan: Any, *arguments: Any) -> Any:
            if any(turns.twin is plan for turns in trial._turns.values()):
                twins.append(plan)
                raise errors.ResourceExhaustedError("There is no room.")
            return await inner(plan, *arguments)

        trial._run = failing
        failures = 0
        for _ in range(40):
            try:
                await session.run(total, {x: BATCH})
            except errors.ResourceExhaustedError:
                failures += 1
        assert failures == len(twins) == 1 and trial.adopted is False and "no room" in trial.verdict


async def test_f47_steps_and_the_loop_go_on_while_it_searches(graph: af.Graph) -> None:
    x, total = pieces()
    y = total
    for i in range(12):
        y = hold(y, seconds=0.0008, name=f"more{i}")
    async with af.Session(graph=graph, devices={"CPU": 3}) as session:
        for _ in range(5):
            await session.run(y, {x: BATCH})
        steps = 0
        async with anyio.create_task_group() as group:

            async def train() -> None:
                nonlocal steps
                while True:
                    await session.run(y, {x: BATCH})
                    steps += 1

            group.start_soon(train)
            await session.replan(search=0.5)
            during = steps
            group.cancel_scope.cancel()
        assert during > 2


async def test_f47_a_search_can_be_cancelled(graph: af.Graph) -> None:
    x, total = pieces()
    more = [hold(x, seconds=0.0003 + 0.000037 * i, name=f"more{i}") for i in range(12)]
    y = af.add_n([total, *more])  # no placement meets the bound, so the search would go on
    async with af.Session(graph=graph, devices={"CPU": 3}) as session:
        for _ in range(2):
            await session.run(y, {x: BATCH})
        with anyio.move_on_after(0.3) as scope:
            await session.replan(search=600.0)
        assert scope.cancelled_caught
        assert (await session.run(y, {x: BATCH})).tolist() == [16] * 4


async def test_f47_a_session_whose_master_is_lost_goes_on_and_searches_again(graph: af.Graph) -> None:
    x, total = pieces()
    async with servers({"worker": 2}) as found, af.Session(found[0].target, graph) as session:
        for _ in range(5):
            await session.run(total, {x: BATCH})
        trial = await session.replan(search=0.0)
        assert trial.adopted is None
        link = await session._engine.connected()  # type: ignore[attr-defined]
        link.close("a test")
        await anyio.lowlevel.checkpoint()
        for _ in range(10):
            trial._compare({True: 1.0, False: 2.0})
        assert not await trial.done() and "lost" in trial.verdict
        assert (await session.run(total, {x: BATCH})).tolist() == [4] * 4
        again = await session.replan(search=0.0)
        assert again.report.trials > 0


@af.op("TestSurprise", shape=unchanged, gradient=None, work=lambda c: 1.0)
def surprise(x: TensorLike, *, seconds: float, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """`x` itself after some seconds, though its work says that it takes none."""


@af.kernel("TestSurprise")
def _surprise(xp: Any, x: Any, *, seconds: float) -> Any:
    time.sleep(seconds)
    return x + 0


async def lost(server: Server) -> None:
    server.links.close()
    await server.__aexit__(None, None, None)


@pytest.mark.parametrize("when", ["while it searches", "before the trial", "on trial"])
async def test_f47_a_training_goes_on_where_a_task_is_lost_that_only_the_search_wants(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """All runs on the first task, for nothing was known of costs; the search would have the second one, too."""
    x = af.placeholder(af.float32, [4], name="x")
    total = af.add_n([surprise(x, seconds=0.002 + i * 1e-4, name=f"n{i}") for i in range(4)])
    searching, go_on = threading.Event(), threading.Event()

    def waiting(problem: Any, seconds: float, *, seed: int, stop: threading.Event) -> Any:
        searching.set()
        assert go_on.wait(PATIENCE)
        return search(problem, seconds, seed=seed)

    monkeypatch.setattr("actorflow.engine.session.planning.planner.search_apart", waiting)
    async with servers({"worker": 2}) as found:
        async with af.Session(found[0].target, graph) as session:

            async def steps(count: int) -> None:
                for _ in range(count):
                    assert (await session.run(total, {x: BATCH})).tolist() == [4] * 4

            await steps(5)
            homes = {session.placement(f"n{i}") for i in range(4)}
            assert homes == {"/job:worker/replica:0/task:0/device:CPU:0"}
            trials: list[PlacementTrial] = []
            async with anyio.create_task_group() as group:

                async def replan() -> None:
                    trials.append(await session.replan(search=0.0))

                group.start_soon(replan)
                await until(searching.is_set)
                await steps(3)
                if when == "while it searches":
                    await lost(found[1])
                    await steps(3)
                go_on.set()
            (trial,) = trials
            assert trial.report.better and trial.adopted is None
            if when == "before the trial":
                await lost(found[1])
            if when == "on trial":
                await until(lambda: any(turns.twin for turns in trial._turns.values()), lambda: steps(1))
                await lost(found[1])
            while trial.adopted is None:
                await steps(1)
            assert trial.adopted is False, trial.verdict
            await steps(5)
            assert {session.placement(f"n{i}") for i in range(4)} == homes
        await found[1].__aenter__()


async def test_f47_a_node_tells_what_the_search_tried(graph: af.Graph) -> None:
    x, total = pieces()
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        for _ in range(5):
            await session.run(total, {x: BATCH})
        await session.replan(search=0.0)
        text = await session.explain_placement("long")
        for part in ("A search simulated all placements", "greedy", "The step before: ", "The step as found: "):
            assert part in text
        assert text.count(" ms, ") >= 2 and "more" in text
        assert "no choice" in await session.explain_placement("x")


# ---- apart


def test_f47_another_process_finds_what_this_one_finds() -> None:
    problem = random_problem(3, 8, 2, LINKS["bus"])
    here, there = search(problem, 0.0, seed=5), search_apart(problem, 0.0, seed=5)
    assert (here.at, here.seconds, here.trials) == (there.at, there.seconds, there.trials)


def test_f47_a_large_problem_goes_to_the_other_process_whole() -> None:
    problem = random_problem(5, 3000, 4, LINKS["network"], budget=0.6, together=0.1)
    found = search_apart(problem, 1.0, seed=2)
    assert found.seconds <= min(found.starts.values())
    simulator = Simulator(problem.work, problem.machine, problem.grouping.group)
    assert simulator.run(found.at, keep=False).seconds == found.seconds


def test_f47_an_error_of_the_other_process_is_raised_here() -> None:
    problem = posed(step([1e-3], [], state=[6e6]), [Record(0, budget=5e6), Record(1, budget=5e6)], LINKS["bus"])
    with pytest.raises(errors.ResourceExhaustedError, match="lacks 1,000,000 bytes"):
        search_apart(problem, 1.0)


def test_f47_the_other_process_ends_when_it_is_told_to() -> None:
    stop = threading.Event()
    stop.set()
    found = search_apart(random_problem(3, 60, 4, LINKS["bus"]), 600.0, stop=stop)
    assert found.seconds == min(found.starts.values())


def test_f47_a_frozen_program_searches_on_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.frozen", True, raising=False)
    assert search_apart(random_problem(3, 8, 2, LINKS["bus"]), 0.0).exhaustive


def test_the_sign_test_is_the_tail_of_fair_coins() -> None:
    assert sign_test(0, 10) == 1.0
    assert sign_test(10, 10) == 2**-10
    assert sign_test(9, 10) == 11 / 1024
