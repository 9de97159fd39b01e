"""A step that fails on one task is stopped on all others, each of which may wait for what will never come."""

from __future__ import annotations

import anyio
import numpy as np
import pytest
from channels import until
from clusters import servers
from patience import PATIENCE

import actorflow as af

TASKS = ("/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1")


@pytest.mark.parametrize("failing", range(3))
async def test_f65_an_error_on_one_task_stops_the_step_on_every_other(failing: int) -> None:
    with af.Graph().as_default() as graph:
        fed = af.placeholder(af.float32, (), name="fed")
        waiting = []
        for number, task in enumerate(TASKS):
            with af.device(task):
                if number == failing:
                    wrong = af.check_numerics(fed, "it is not a number")
                else:
                    queue = af.FIFOQueue(1, [af.float32], shapes=[()], name=f"empty_{number}")
                    waiting.append(queue.dequeue())
    async with servers({"ps": 1, "worker": 2}) as found, af.Session(found[0].target, graph=graph) as session:
        with anyio.fail_after(PATIENCE), pytest.raises(af.errors.InvalidArgumentError, match="it is not a number"):
            await session.run([wrong, *waiting], {fed: float("nan")})
        assert all(not server.worker.steps.running for server in found)


async def test_f65_a_new_epoch_has_ended_all_steps_of_the_former_one_when_it_is_confirmed() -> None:
    with af.Graph().as_default() as graph, af.device(TASKS[2]):
        waits = af.FIFOQueue(1, [af.float32], shapes=[()], name="empty").dequeue()
    async with servers({"ps": 1, "worker": 2}) as found, af.Session(found[0].target, graph=graph) as session:
        await session.warmup(waits)
        running = found[2].worker.steps.running
        async with anyio.create_task_group() as group:

            async def run() -> None:
                with pytest.raises((af.errors.AbortedError, af.errors.UnavailableError)):
                    await session.run(waits)

            group.start_soon(run)
            await until(lambda: bool(running))
            await found[2].set_epoch(1)
            assert not running
            group.cancel_scope.cancel()


@pytest.mark.parametrize("lost", range(3))
@pytest.mark.parametrize("target", range(3))
async def test_f65_a_task_that_is_lost_after_its_part_is_done_ends_the_step(lost: int, target: int) -> None:
    """Its update is lost with it, so the step must not succeed when what the others wait for comes."""
    last = next(number for number in range(3) if number not in (lost, target))
    with af.Graph().as_default() as graph:
        with af.device(TASKS[lost]):
            v = af.Variable(np.ones(4, np.float32))
            update = v.assign_add(af.ones([4]))
        with af.device(TASKS[last]):
            joined = af.reduce_sum(update) + af.FIFOQueue(1, [af.float32], shapes=[[]], name="empty").dequeue()
        init = af.global_variables_initializer()
    async with servers({"ps": 1, "worker": 2}) as tasks, af.Session(tasks[target].target, graph=graph) as session:
        await session.run(init)
        await session.warmup(joined)

        async def run() -> None:
            with pytest.raises((af.errors.UnavailableError, af.errors.AbortedError), match=TASKS[lost]):
                await session.run(joined)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                group.start_soon(run)
                await until(lambda: bool(tasks[last].worker.steps.running) and not tasks[lost].worker.steps.running)
                tasks[lost].links.close()
        assert not tasks[last].worker.steps.running
