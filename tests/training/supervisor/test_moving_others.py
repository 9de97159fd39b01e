"""Other sessions, savers and iterators go on when a supervisor has moved the variables that they use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from training.supervisor.test_moving import REPLICAS, Model

import actorflow as af
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.processes.metrics import render
from actorflow.cluster.wire.messages import MovedState
from actorflow.errors import AbortedError
from actorflow.frontends.dashboard.sampler import changes
from actorflow.supervisor import StateMoved

SIZES = [(1, 2), (1, 2, 1), (1, 3, 1, 2)]
"""How many servers there are at first, and after each change."""


class Others:
    """A training, and the parties that look at its variables from beside it."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.model = Model()
        with self.model.graph.as_default():
            self.saver = af.train.Saver()
            self.total = af.add_n([af.reduce_sum(v) for v in af.trainable_variables()])
            with af.device("/job:worker/task:0"):
                self.next = af.data.Dataset.range(100).make_one_shot_iterator().get_next()
        self.taken: list[int] = []

    async def open(self, servers: int) -> None:
        jobs = {"ps": servers, "worker": 1}
        self.cluster = await self._stack.enter_async_context(af.LocalCluster(jobs, transport="local"))
        await self.cluster.allow_files(self.folder)
        options: dict[str, Any] = {"checkpoint_dir": self.folder / "training", "replicas": REPLICAS, "seed": 1}
        self.supervisor = await self._stack.enter_async_context(
            af.Supervisor(self.cluster, self.model.graph, **options)
        )
        await self.supervisor.run(self.model.train)
        self.used, self.unused = await self._session(), await self._session()
        self.call = await self.used.make_callable(self.total)
        self.before = await self.call()

    async def _session(self, task: str = "/job:worker/task:0") -> af.Session:
        return await self._stack.enter_async_context(af.Session(self.cluster.target_of(task), self.model.graph))

    async def a_session(self) -> Any:
        return await self.used.run(self.total)

    async def a_callable(self) -> Any:
        return await self.call()

    async def a_session_that_has_run_nothing(self) -> Any:
        return await self.unused.run(self.total)

    async def a_new_session(self) -> Any:
        return await (await self._session()).run(self.total)

    async def a_new_session_of_another_master(self) -> Any:
        return await (await self._session(self.cluster.spec.tasks[-2])).run(self.total)

    async def a_saver(self) -> Any:
        return await self._saved(self.used)

    async def a_saver_with_the_supervisors_session(self) -> Any:
        return await self._saved(self.supervisor.session)

    async def _saved(self, session: af.Session) -> Any:
        """The sum of the variables in a checkpoint, which is restored as well."""
        path = await self.saver.save(session, self.folder / "beside" / "model")
        await self.saver.restore(session, path)
        reader = af.train.load_checkpoint(path)
        return sum((reader.get_tensor(f"v{size}").sum() for size in (40, 30, 20)), np.float32(0))

    async def an_update(self) -> Any:
        """A step of the training by another client changes the variables that the supervisor reads."""
        before = await self.supervisor.run(self.total)
        await self.used.run(self.model.train)
        after = await self.supervisor.run(self.total)
        assert after != before
        return await self.used.run(self.total)

    async def an_iterator(self) -> Any:
        self.taken.append(int(await self.used.run(self.next)))
        self.taken.append(int(await self.used.run(self.next)))
        return await self.supervisor.run(self.total)


WHO = [
    Others.a_session,
    Others.a_callable,
    Others.a_session_that_has_run_nothing,
    Others.a_new_session,
    Others.a_new_session_of_another_master,
    Others.a_saver,
    Others.a_saver_with_the_supervisors_session,
    Others.an_update,
    Others.an_iterator,
]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("who", WHO, ids=[who.__name__ for who in WHO])
async def test_whoever_uses_variables_finds_them_where_they_have_moved(
    tmp_path: Path, who: Callable[[Others], Awaitable[Any]], sizes: tuple[int, ...]
) -> None:
    async with AsyncExitStack() as stack:
        others = Others(tmp_path, stack)
        await others.open(sizes[0])
        await who(others)
        for size in sizes[1:]:
            await others.supervisor.scale(ps=size)
            await others.supervisor.run(others.model.train)
            seen = await who(others)
            assert abs(seen - await others.supervisor.run(others.total)) < 1e-4, size
    moves = [event for event in others.supervisor.history if isinstance(event, StateMoved)]
    assert len(moves) == len(sizes) - 1
    assert others.taken == list(range(len(others.taken)))


async def test_status_metrics_and_the_page_tell_of_views_and_moves(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        others = Others(tmp_path, stack)
        await others.open(1)
        before = await query_status(others.cluster.target_of("/job:ps/task:0"))
        await others.supervisor.scale(ps=2)
        after = await query_status(others.cluster.target_of("/job:ps/task:0"))
    assert (before["view"], after["view"], before["moved_variables"]) == (1, 2, 0)
    count = after["moved_variables"]
    assert count > 0 and not after["leaving"]
    task = "/job:ps/task:0"
    assert changes({task: before}, {task: after | {"leaving": True}}) == [
        (task, "has view 2 of the cluster now, 3 members"),
        (task, "is about to leave"),
        (task, f"{count} variables have moved to other tasks"),
    ]
    lines = render({task: after}).splitlines()
    assert f'actorflow_variables_moved_total{{task="{task}"}} {count}' in lines
    assert f'actorflow_task_leaving{{task="{task}"}} 0' in lines


@pytest.mark.parametrize("comes", ["joins", "starts again"])
async def test_a_master_that_comes_up_after_a_move_finds_the_variables(tmp_path: Path, comes: str) -> None:
    async with AsyncExitStack() as stack:
        others = Others(tmp_path, stack)
        await others.open(1)
        await others.supervisor.scale(ps=2)
        await others.supervisor.run(others.model.train)
        task = "/job:worker/task:1"
        told, tell = anyio.Event(), others.supervisor._manager.on_task_up

        async def tell_master(task_up: str) -> None:
            await tell(task_up)
            if task_up == task:
                told.set()

        others.supervisor._manager.on_task_up = tell_master
        await others.supervisor.scale(worker=2)
        await told.wait()
        if comes == "starts again":
            told = anyio.Event()
            await others.cluster.kill(task)  # the supervisor starts it again
            await told.wait()
        await others.supervisor.run(others.model.train)
        assert await (await others._session(task)).run(others.total) == await others.supervisor.run(others.total)


@pytest.mark.parametrize("who", WHO, ids=[who.__name__ for who in WHO])
async def test_whoever_uses_variables_finds_them_on_the_only_other_task(
    tmp_path: Path, who: Callable[[Others], Awaitable[Any]]
) -> None:
    async with AsyncExitStack() as stack:
        others = Others(tmp_path, stack)
        await others.open(2)
        for leaving in ("/job:ps/task:0", "/job:ps/task:1"):
            await others.supervisor.level([leaving])
            await others.supervisor.run(others.model.train)
            assert abs(await who(others) - await others.supervisor.run(others.total)) < 1e-4, leaving


@pytest.mark.parametrize("who", WHO, ids=[who.__name__ for who in WHO])
async def test_the_next_supervisor_decides_anew_where_variables_are(
    tmp_path: Path, who: Callable[[Others], Awaitable[Any]]
) -> None:
    async with AsyncExitStack() as stack:
        others = Others(tmp_path, stack)
        await others.open(2)
        await others.supervisor.level(["/job:ps/task:0"])
        await others.supervisor.run(others.model.train)
        await who(others)
        last = await others.supervisor.run(others.total)
        await others.supervisor.close()
        graph = Model().graph
        with graph.as_default():
            total = af.add_n([af.reduce_sum(v) for v in af.trainable_variables()])
        folder = tmp_path / "training"
        options: dict[str, Any] = {"checkpoint_dir": folder, "replicas": REPLICAS, "seed": 1}
        async with af.Supervisor(others.cluster, graph, **options) as others.supervisor:
            assert await others.supervisor.run(total) == last
            others.total = total
            async with af.Session(others.cluster.target, graph) as beside:
                assert await beside.run(total) == last


async def test_a_chief_of_a_former_epoch_moves_no_variables_of_others(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        others = Others(tmp_path, stack)
        await others.open(2)
        manager = others.supervisor._manager
        request = MovedState(manager.epoch - 1, [["", "v40", "/job:ps/task:1/device:CPU:0"]])
        with pytest.raises(AbortedError, match="epoch"):
            await manager.monitor.call("/job:worker/task:0", request)
        assert await others.a_new_session() == await others.supervisor.run(others.total)
