"""Checkpoints of a cluster's session: a save holds steps up only until the values are taken."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from clusters import servers

import actorflow as af
from actorflow import errors
from actorflow.checkpoint.stores import store as stores
from actorflow.checkpoint.stores.files import SystemFiles
from actorflow.graph.ops.state.checkpoint import save_variables

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


class GatedFiles(SystemFiles):
    """Files whose writes wait for a gate; `begun` is set when the first one waits."""

    def __init__(self) -> None:
        self.begun, self.gate = threading.Event(), threading.Event()

    def write(self, fd: int, data: Any) -> int:
        self.begun.set()
        assert self.gate.wait(30)
        return super().write(fd, data)


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> Iterator[GatedFiles]:
    files = GatedFiles()
    monkeypatch.setattr(stores, "SystemFiles", lambda: files)
    yield files
    files.gate.set()


async def test_f69_steps_go_on_while_a_consistent_save_writes_beside_one_that_waits(
    gated: GatedFiles, tmp_path: Path
) -> None:
    with af.Graph().as_default() as graph:
        with af.device(PS):
            v = af.Variable(np.zeros(1000), name="v")
            step = v.assign_add(np.ones(1000), read_value=False)
            queue = af.FIFOQueue(1, [af.float32], [[]])
            waits, fill = queue.dequeue(), queue.enqueue(af.constant(1.0))
        with af.device(WORKER):
            w = af.Variable(5.0, name="w")
        saver, init = af.train.Saver(), af.global_variables_initializer()
    async with (
        servers({"ps": 1, "worker": 1}, file_roots=[tmp_path]) as found,
        af.Session(found[1].target, graph) as session,
    ):
        await session.run(init)
        for _ in range(3):
            await session.run(step)
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, waits)
            with anyio.fail_after(8):  # not the ten seconds that steps are waited for at most

                async def save() -> None:
                    await saver.save(session, tmp_path / "model", consistent=True)

                group.start_soon(save)
                assert await anyio.to_thread.run_sync(gated.begun.wait, 20)
                for _ in range(5):
                    await session.run(step)
            gated.gate.set()
            await session.run(fill)
        assert (await session.run(v))[0] == 8.0
        await saver.restore(session, tmp_path / "model")
        assert set((await session.run(v)).tolist()) == {3.0} and await session.run(w) == 5.0


async def test_f66_what_was_not_taken_can_not_be_saved(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        af.Variable(0.0, name="v")
        saver, init = af.train.Saver(), af.global_variables_initializer()
        (take,) = (op for op in graph.get_operations() if op.type == "TakeVariables")
        again = save_variables(str(tmp_path / "model"), taken=take.name)
        unknown = save_variables(str(tmp_path / "model"), taken="nothing")
    async with af.Session(graph=graph) as session:
        await session.run(init)
        await saver.save(session, tmp_path / "model")
        for bad in (again, unknown):
            with pytest.raises(errors.FailedPreconditionError, match="has taken no values since the last save"):
                await session.run(bad)


def _updated(step: af.Variable) -> Any:
    return step.assign_add(1)


def _minimized(step: af.Variable) -> Any:
    weights = af.Variable(np.ones(3, np.float32), name="weights")
    return af.train.GradientDescentOptimizer(0.1).minimize(af.reduce_sum(weights.value()), global_step=step)


def _scattered(step: af.Variable) -> Any:
    return af.group(step.assign_add(1), step.assign_sub(0))


def _colocated(step: af.Variable) -> Any:
    with af.device(None), af.colocate_with(af.Variable(0.0, name="anchor").op):
        return step.assign_add(1)


@pytest.mark.parametrize("update", [_updated, _minimized, _scattered, _colocated])
@pytest.mark.parametrize("task", [PS, WORKER, "/job:ps"])
async def test_a_step_without_a_device_is_saved_where_what_updates_it_lives(
    update: Callable[[af.Variable], Any], task: str, tmp_path: Path
) -> None:
    with af.Graph().as_default() as graph:
        step = af.train.get_or_create_global_step()
        with af.device(task):
            up = af.group(update(step))
        saver, init = af.train.Saver(), af.global_variables_initializer()
    async with (
        servers({"ps": 1, "worker": 1}, file_roots=[tmp_path]) as tasks,
        af.Session(tasks[1].target, graph) as session,
    ):
        await session.run(init)
        await session.run(up)
        path = await saver.save(session, tmp_path / "model", global_step=step)
        assert path.endswith("model-1")
        await session.run(up)
        assert await session.run(step) == 2
        await saver.restore(session, path)
        assert await session.run(step) == 1
