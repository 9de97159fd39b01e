"""Moves of variables beside other runs, other moves, losses of the connection and losses behind a move."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
import virtual

import actorflow as af
from actorflow import errors
from actorflow.cluster.wire.messages import DropState
from actorflow.supervisor import CheckpointSaved, Restored, StateMoved
from actorflow.training.supervisor.moving.copies import StateCopies
from actorflow.training.supervisor.moving.doubt import Doubt

SIZES = (100, 90)
JOBS = {"chief": 1, "ps": 1, "worker": 1}


class Model:
    """Counting variables on the servers, a queue on the chief, and runs that wait before they change the variables."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph, af.device("/job:ps"):
            self.step = af.train.get_or_create_global_step()
            self.variables = [af.Variable(np.zeros(size, np.float32), name=f"v{size}") for size in SIZES]
            with af.device("/job:chief/task:0"):
                queue = af.FIFOQueue(3, [af.float32], shapes=[[]], name="waiting")
                self.put, self.taken, self.size = queue.enqueue(10.0), queue.dequeue(), queue.size()
            self.amount = af.placeholder(af.float32, [], name="amount")
            self.train = af.group(self.add(1.0), self.step.assign_add(1))
            self.add_taken = self.add(self.taken)
            self.parts = [variable.assign_add(af.fill([size], self.amount)) for variable, size in self.rows()]
            self.values = af.global_variables()

    def rows(self) -> list[tuple[Any, int]]:
        return list(zip(self.variables, SIZES, strict=True))

    def add(self, amount: Any) -> af.Operation:
        return af.group(*(variable.assign_add(af.fill([size], amount)) for variable, size in self.rows()))


async def firsts(supervisor: af.Supervisor, model: Model) -> list[float]:
    return [float(value[0]) for value in await supervisor.run(model.variables)]


async def until_waiting(supervisor: af.Supervisor) -> None:
    """Returns when a step only waits, by the word of its tasks."""
    while not await supervisor.session._engine._waiting():  # type: ignore[attr-defined]
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("lends", [False, True], ids=["with its place", "its place given back"])
async def test_no_variable_moves_while_a_step_waits_that_will_write_it(tmp_path: Path, lends: bool) -> None:
    model = Model()
    async with af.LocalCluster(JOBS, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1) as supervisor:
            await supervisor.run(model.train)
            async with anyio.create_task_group() as group:
                group.start_soon(supervisor.run, model.add_taken)
                await until_waiting(supervisor)
                if lends:
                    group.start_soon(supervisor.run, model.step)  # has to wait for a place
                    async with supervisor.session._engine.admission.alone():  # type: ignore[attr-defined]
                        pass
                with pytest.raises(errors.FailedPreconditionError, match="can't move now, and nothing has changed"):
                    await supervisor.scale(ps=2)
                await supervisor.run(model.put)
            assert await firsts(supervisor, model) == [11.0, 11.0]
            await supervisor.level(jobs=["ps"])
            assert await firsts(supervisor, model) == [11.0, 11.0]


async def test_no_variable_moves_while_a_partial_run_is_open(tmp_path: Path) -> None:
    model = Model()
    async with af.LocalCluster(JOBS, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1) as supervisor:
            await supervisor.run(model.train)
            parts = await supervisor.session.partial_run_setup(model.parts, [model.amount])
            with pytest.raises(errors.FailedPreconditionError, match=r"a partial run .* is under way"):
                await supervisor.scale(ps=2)
            await supervisor.session.partial_run(parts, model.parts, {model.amount: 10.0})
            await supervisor.level(jobs=["ps"])
            assert await firsts(supervisor, model) == [11.0, 11.0]


async def test_the_drop_of_a_move_leaves_what_the_next_move_brings_back(tmp_path: Path) -> None:
    model = Model()
    async with af.LocalCluster({"worker": 1, "ps": 2}, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1) as supervisor:
            await supervisor.run(model.train)
            drops, begun, second = [], anyio.Event(), anyio.Event()
            monitor = supervisor._manager.monitor  # type: ignore[union-attr]
            call = monitor.call

            async def late(task: str, request: Any) -> Any:
                if isinstance(request, DropState):
                    drops.append(task)
                    begun.set()
                    if not second.is_set():
                        with anyio.move_on_after(0.3):
                            await second.wait()
                return await call(task, request)

            monitor.call = late  # type: ignore[method-assign]

            async def back() -> None:
                await begun.wait()
                await supervisor.level(leaving=["/job:ps/task:1"])
                second.set()

            async with anyio.create_task_group() as group:
                group.start_soon(back)
                await supervisor.level(leaving=["/job:ps/task:0"])
            assert drops and await firsts(supervisor, model) == [1.0, 1.0]
            places = {supervisor.session.placement(variable.op).split("/")[3] for variable in model.values}
            assert places == {"task:0"}


@pytest.mark.parametrize("copies", [0, 1])
async def test_variables_move_there_and_back_again_and_again(tmp_path: Path, copies: int) -> None:
    model, told = Model(), []
    async with af.LocalCluster({"worker": 1, "ps": 2}, transport="local") as cluster:
        async with af.Supervisor(
            cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, copies=copies
        ) as supervisor:
            for number in range(6):
                await supervisor.run(model.train)
                await supervisor.level(leaving=[f"/job:ps/task:{number % 2}"])
                places = {supervisor.session.placement(variable.op).split("/")[3] for variable in model.values}
                told.append((places, await firsts(supervisor, model)))
    assert told == [({f"task:{1 - n % 2}"}, [n + 1.0] * 2) for n in range(6)]


async def cancelled_within(supervisor: af.Supervisor, name: str, change: Callable[[], Awaitable[None]]) -> None:
    """Awaits `change()`, and cancels it when the engine's or the copies' method `name` has done its work."""
    owner: Any = supervisor.session._engine if name == "move" else supervisor._roles.moves.ready()  # type: ignore[union-attr]
    method = getattr(owner, name)
    with anyio.CancelScope() as scope:

        async def cancelling(*args: Any) -> None:
            await method(*args)
            scope.cancel()
            await anyio.lowlevel.checkpoint()

        setattr(owner, name, cancelling)
        try:
            await change()
        finally:
            setattr(owner, name, method)
    assert scope.cancelled_caught


@pytest.mark.parametrize("name", ["take", "move"])
async def test_a_loss_behind_an_interrupted_move_goes_back_to_the_last_checkpoint(tmp_path: Path, name: str) -> None:
    model, steps = Model(), []
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:
        with model.graph.as_default():
            train = af.group(*model.parts, model.step.assign_add(1))
        async with af.Supervisor(
            cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, save_steps=4, save_beside=False
        ) as supervisor:
            async for attempt in supervisor.steps(until=12):
                async with attempt as step:
                    steps.append(step)
                    if step == 10 and steps.count(10) == 1:
                        await cluster.kill("/job:worker/task:0")
                    await supervisor.run(train, {model.amount: 1.0})
                if step == 2 and steps.count(2) == 1:
                    await cancelled_within(supervisor, name, lambda: supervisor.scale(ps=2))
            restored = [event.step for event in supervisor.history if isinstance(event, Restored)]
            saved = [event.step for event in supervisor.history if isinstance(event, CheckpointSaved)]
            assert 8 in saved and restored[-1] == 8, (restored, saved)
            assert steps == [*range(11), *range(8, 12)]
            assert await firsts(supervisor, model) == [12.0, 12.0]


@pytest.mark.parametrize("copies", [0, 1])
@pytest.mark.parametrize("recovery", ["all", "task"])
async def test_moves_are_in_force_when_the_session_has_connected_again(
    tmp_path: Path, recovery: str, copies: int
) -> None:
    model = Model()
    async with af.LocalCluster(JOBS, transport="local") as cluster:
        async with af.Supervisor(
            cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, recovery=recovery, copies=copies
        ) as supervisor:
            async for attempt in supervisor.steps(until=8):
                async with attempt as step:
                    if step == 4:
                        supervisor.session._engine.remote.link.close("cut")  # type: ignore[attr-defined]
                    await supervisor.run(model.train)
                if step == 2:
                    await supervisor.scale(ps=2)
                    places = [supervisor.session.placement(variable.op) for variable in model.values]
            assert await firsts(supervisor, model) == [8.0, 8.0]
            assert places == [supervisor.session.placement(variable.op) for variable in model.values]


@pytest.mark.parametrize("copies", [0, 1])
@pytest.mark.parametrize("loss", [errors.UnavailableError, errors.AbortedError])
async def test_a_move_beside_a_step_that_fails_takes_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: int, loss: type[errors.OpError]
) -> None:
    model = Model()
    async with af.LocalCluster(JOBS | {"ps": 2}, transport="local") as cluster:
        async with (
            af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1, copies=copies) as supervisor,
            anyio.create_task_group() as group,
        ):
            run, failed = supervisor.session.run, []
            leaving = supervisor.session.placement(model.variables[0].op).partition("/replica:0")
            task = leaving[0] + "/" + leaving[2].split("/")[1]

            async def move() -> None:
                with suppress(errors.AbortedError):
                    await supervisor.level(leaving=[task])

            async def half(fetches: Any, feeds: Any = None, **options: Any) -> Any:
                is_step = fetches is model.train or (type(fetches) is list and fetches[0] is model.train)
                if is_step and not failed and await run(model.step) == 2:
                    failed.append(fetches)
                    await run(model.parts[0], {model.amount: 1.0})
                    group.start_soon(move)
                    raise loss("A task was lost in the middle of the step.")
                return await run(fetches, feeds, **options)

            monkeypatch.setattr(supervisor.session, "run", half)
            async for attempt in supervisor.steps(until=4):
                async with attempt:
                    await supervisor.run(model.train)
            monkeypatch.undo()
            assert failed and await firsts(supervisor, model) == [4.0, 4.0]


@pytest.mark.parametrize("copies", [0, 1])
async def test_counters_of_nodes_that_come_back_to_a_task_go_on(tmp_path: Path, copies: int) -> None:
    drawn = {}
    for moves in (False, True):
        with af.Graph().as_default() as graph, af.device("/job:ps"):
            step = af.train.get_or_create_global_step()
            variables = [af.Variable(np.zeros(size, np.float32), name=f"v{size}") for size in (3, 500)]
            noise = af.random_uniform([], seed=3)
            train = af.group(*(v.assign_add(af.fill(v.shape, noise)) for v in variables), step.assign_add(1))
        async with (
            af.LocalCluster({"ps": 2}, transport="local") as cluster,
            af.Supervisor(
                cluster, graph, checkpoint_dir=tmp_path / str(moves), replicas=1, copies=copies
            ) as supervisor,
        ):
            row = []
            for leaving in ("", "/job:ps/task:0", "jobs", "/job:ps/task:1", "jobs", "/job:ps/task:0", ""):
                await supervisor.run(train)
                row.append(float((await supervisor.run(variables[0]))[0]))
                if moves and leaving == "jobs":
                    await supervisor.level(jobs=["ps"])
                elif moves and leaving:
                    await supervisor.level(leaving=[leaving])
            assert not moves or sum(isinstance(event, StateMoved) for event in supervisor.history) >= 4
            drawn[moves] = row
    assert drawn[True] == drawn[False]


async def test_a_move_that_fails_by_a_loss_takes_all_back_whoever_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any) -> None:
        raise errors.AbortedError("What nodes kept between runs is lost.")

    model = Model()
    async with af.LocalCluster(JOBS | {"ps": 2}, transport="local") as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=1) as supervisor:
            await supervisor.run(model.train)
            monkeypatch.setattr(StateCopies, "take", fails)
            with pytest.raises(errors.AbortedError, match="kept between runs is lost"):
                for task in cluster.spec.tasks:
                    await supervisor.level(leaving=[task])
            assert await supervisor.run(model.step) == 0 and supervisor.epoch == 2


class Run:
    """A run that fails, and somebody who asks whether its values may be kept."""

    def __init__(self) -> None:
        self.generation = 0
        self.doubt = Doubt(2.0, lambda: self.generation)

    async def fails(self, error: Exception, after: int = 0) -> None:
        with suppress(type(error)), self.doubt.of_run():
            self.generation += after
            raise error

    async def waits(self) -> float:
        begun = anyio.current_time()
        await self.doubt.over()
        return anyio.current_time() - begun


@pytest.mark.parametrize(
    ("error", "after", "seconds"),
    [
        (errors.UnavailableError("gone"), 0, 2.0),
        (errors.AbortedError("gone"), 0, 2.0),
        (errors.AbortedError("gone"), 1, 0.0),
        (errors.InvalidArgumentError("the program's own"), 0, 0.0),
    ],
)
def test_who_asks_waits_for_a_judgement_of_what_may_be_a_loss_or_some_seconds(
    error: Exception, after: int, seconds: float
) -> None:
    async def main() -> None:
        run = Run()
        assert await run.waits() == 0.0
        await run.fails(error, after)
        assert await run.waits() == seconds and await run.waits() == 0.0

    virtual.run(main)


def test_a_judgement_may_take_its_time_and_ends_the_doubt() -> None:
    async def main() -> None:
        run, waited = Run(), []
        await run.fails(errors.UnavailableError("gone"))

        async def wait() -> None:
            waited.append(await run.waits())

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            with run.doubt.judged():
                await anyio.sleep(7.0)
                assert not waited
        assert waited == [7.0]
        run.doubt.check(1)
        with pytest.raises(errors.AbortedError, match="may have done a part of its work"):
            run.doubt.check(0)

    virtual.run(main)
