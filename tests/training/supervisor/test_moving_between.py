"""Moves of variables beside other runs, other moves, losses of the connection and losses behind a move."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.cluster.wire.messages import DropState
from actorflow.supervisor import CheckpointSaved, Restored

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
    owner: Any = supervisor.session._engine if name == "move" else supervisor._moves.ready()  # type: ignore[union-attr]
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
