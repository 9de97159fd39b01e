"""Periodic checkpoints are written while training goes on, with the values of one step."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from channels import until
from training.supervisor.supervised_chief import PS, Program, bits, program

import actorflow as af
from actorflow.errors import PermissionDeniedError
from actorflow.supervisor import CheckpointSaved, Restored


class Held(af.train.Saver):
    """A saver whose periodic saves, once they have taken their values and written them, end when `then` does."""

    then: Callable[[], Awaitable[object]]

    def save(self, sess: Any, save_path: Any, global_step: Any = None, *arguments: Any, **options: Any) -> Any:
        async def saved() -> str:
            path: str = await super(Held, self).save(sess, save_path, global_step, *arguments, **options)
            if global_step:
                await self.then()
            return path

        return saved()


@pytest.fixture
def made() -> Program:
    return program(on_cluster=False)


@pytest.fixture
def saver(made: Program) -> Held:
    with made.graph.as_default():
        return Held()


def saved(supervisor: af.Supervisor) -> list[int]:
    return [event.step for event in supervisor.history if isinstance(event, CheckpointSaved)]


async def train(supervisor: af.Supervisor, made: Program, until: int, begun: list[int]) -> None:
    async for attempt in supervisor.steps(until=until):
        async with attempt as step:
            begun.append(step)
            await supervisor.run(made.train, made.feeds(step))


async def test_f67_steps_go_on_while_a_checkpoint_is_written_one_at_a_time(
    made: Program, saver: Held, tmp_path: Path
) -> None:
    written, begun = anyio.Event(), list[int]()
    saver.then = written.wait
    async with (
        af.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=10, saver=saver) as supervisor,
        anyio.create_task_group() as group,
    ):
        group.start_soon(train, supervisor, made, 25, begun)
        await until(lambda: begun[-1:] == [19])
        for _ in range(100):
            await checkpoint()
        assert begun[-1] == 19, "the next checkpoint is due, and the last one is not there yet"
        assert saved(supervisor) == [0]
        written.set()
    assert begun == list(range(25))
    assert saved(supervisor) == [0, 10, 20, 25]


async def test_f67_a_checkpoint_has_the_values_of_its_step(made: Program, saver: Held, tmp_path: Path) -> None:
    saver.then = checkpoint
    async with af.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=10, saver=saver) as supervisor:
        await train(supervisor, made, 10, [])
        expected = bits(await supervisor.run(made.book))
        await train(supervisor, made, 29, [])
    async with af.Session(graph=made.graph) as session:
        await saver.restore(session, f"{tmp_path}/model.ckpt-10")
        assert bits(await session.run(made.book)) == expected


async def test_f67_what_goes_wrong_beside_is_raised_between_steps(made: Program, saver: Held, tmp_path: Path) -> None:
    async def fail() -> None:
        raise PermissionDeniedError("The disk is somebody else's.")

    saver.then, begun = fail, list[int]()
    with pytest.raises(PermissionDeniedError, match="somebody else's"):
        async with af.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=10, saver=saver) as supervisor:
            await train(supervisor, made, 25, begun)
    assert 10 <= len(begun) <= 20


async def test_f67_an_error_of_the_program_loses_no_checkpoint(made: Program, saver: Held, tmp_path: Path) -> None:
    saver.then = checkpoint
    with pytest.raises(ZeroDivisionError):
        async with af.Supervisor("", made.graph, checkpoint_dir=tmp_path, save_steps=10, saver=saver) as supervisor:
            async for attempt in supervisor.steps():
                async with attempt as step:
                    await supervisor.run(made.train, made.feeds(step))
                    1 // (10 - step)
    assert saved(supervisor) == [0, 10]


async def test_f66_a_restore_waits_for_the_checkpoint_that_is_being_written(tmp_path: Path) -> None:
    """A loss that comes while a checkpoint is committed takes nothing back of it."""
    made, commits, written = program(), anyio.Event(), anyio.Event()
    with made.graph.as_default():
        saver = Held()

    async def commit() -> None:
        commits.set()
        with anyio.CancelScope(shield=True):  # as a saver that notes the checkpoint
            await written.wait()

    saver.then = commit
    async with (
        af.LocalCluster({"ps": 1, "worker": 2}, transport="local") as cluster,
        af.Supervisor(cluster, made.graph, checkpoint_dir=tmp_path, save_steps=10, saver=saver) as supervisor,
        anyio.create_task_group() as group,
    ):
        group.start_soon(train, supervisor, made, 25, [])
        await commits.wait()
        await cluster.kill(PS)
        await until(lambda: supervisor.epoch > 1 and all(life.is_up for life in supervisor.lives.values()))
        turns = itertools.count()
        await until(lambda: next(turns) == 1000)  # a restore that does not wait is over by then
        written.set()
    steps = [(type(event), event.step) for event in supervisor.history if isinstance(event, CheckpointSaved | Restored)]
    assert steps.index((CheckpointSaved, 10)) < steps.index((Restored, 10)), steps
