"""A supervised training with logical workers ends with the bits of one process, however its cluster changes meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.cluster.client.inquiries import query_status

REPLICAS, ROWS, STEPS = 8, 24, 16


def batch(step: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(step)
    rows = draw.normal(size=(ROWS, 4)).astype(np.float32)
    return rows, np.sin(rows.sum(1, keepdims=True))


class Model:
    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph, af.device("/job:ps"):
            self.step = af.train.get_or_create_global_step()
            self.x, self.y = af.placeholder(af.float32, [None, 4]), af.placeholder(af.float32, [None, 1])

            def tower(x: af.Tensor, y: af.Tensor) -> Any:
                hidden = af.layers.dense(x, 12, activation=af.nn.relu, kernel_initializer=af.ones_initializer())
                hidden = af.layers.dropout(hidden, 0.2, training=True)
                loss = af.reduce_mean(af.square(af.layers.dense(hidden, 1, name="out") - y))
                return loss, af.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=self.step)

            af.set_random_seed(1)
            self.loss, self.train = af.train.Replicas(REPLICAS).build(tower, self.x, self.y)
            self.values = af.global_variables()


async def trained(folder: Path, workers: int, changes: dict[int, int], kills: dict[int, str]) -> list[bytes]:
    """The values after some steps, with other numbers of workers behind some steps, and tasks killed in others."""
    model, jobs = Model(), {"ps": 1, "worker": workers}
    async with (
        af.LocalCluster(jobs, transport="local") as cluster,
        af.Supervisor(
            cluster, model.graph, checkpoint_dir=folder, save_steps=4, seed=1, replicas=REPLICAS
        ) as supervisor,
    ):
        async for attempt in supervisor.steps(until=STEPS):
            async with attempt as step:
                if step in kills:
                    await cluster.kill(kills.pop(step))
                x, y = batch(step)
                await supervisor.run(model.train, {model.x: x, model.y: y})
            if step in changes:
                workers = changes.pop(step)
                await supervisor.scale(worker=workers)
            assert len(supervisor.replicas) == workers, "each task has a share"
            assert sorted(n for row in supervisor.replicas.values() for n in row) == list(range(REPLICAS))
        mapped = [event for event in supervisor.history if isinstance(event, af.supervisor.ReplicasMapped)]
        assert mapped[-1].tasks == supervisor.replicas
        return [np.asarray(value).tobytes() for value in await supervisor.run(model.values)]


async def test_8_then_3_then_5_then_8_tasks_with_kills_between_end_with_the_bits_of_one(tmp_path: Path) -> None:
    kills = {4: "/job:worker/task:1", 8: "/job:ps/task:0", 14: "/job:worker/task:7"}
    changed = await trained(tmp_path / "some", 8, {2: 3, 6: 5, 11: 8}, kills)
    assert changed == await trained(tmp_path / "one", 1, {}, {}) and not kills


def with_counter() -> af.Graph:
    with af.Graph().as_default() as graph:
        for number in range(2):
            with af.device(f"/job:worker/replica:{number}"):
                af.random_uniform([], seed=number)
        return graph


def with_a_call() -> af.Graph:
    with af.Graph().as_default() as graph:
        af.train.Replicas(2).build(lambda rows: af.py_func(np.sin, [rows], af.float32), af.ones([4]))
        return graph


@pytest.mark.parametrize(
    ("graph", "count", "sentence"),
    [
        (lambda: Model().graph, 4, "replicas=4, but the graph has 8 logical workers"),
        (af.Graph, 2, "replicas=2, but the graph has 1 logical worker."),
        (with_a_call, 2, "these nodes call functions of this program: replica_0/"),
        (with_counter, 2, "Logical workers keep nothing between steps, but these nodes of theirs do: random_uniform"),
    ],
)
def test_a_graph_that_does_not_keep_the_promise_is_refused(graph: Any, count: int, sentence: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=sentence):
        af.Supervisor("", graph(), replicas=count)


async def test_with_fewer_tasks_than_a_job_needs_a_training_waits_says_so_and_goes_on_by_itself(tmp_path: Path) -> None:
    model = Model()
    limits = {"worker": (3, 8)}
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local", limits=limits) as cluster:
        supervisor = af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=REPLICAS)
        begun = []

        async def begin() -> None:
            await supervisor.start()
            begun.append(cluster.spec.num_tasks("worker"))

        async with anyio.create_task_group() as group:
            group.start_soon(begin)
            async for event in supervisor.events():
                if isinstance(event, af.supervisor.WaitsForTasks):
                    break
            assert event.whom == ("job 'worker' has 1 of 3 tasks",) and 0 <= event.time - event.since < 60
            await cluster.scale(worker=2)
            assert not begun
            await cluster.scale(worker=3)
        assert begun == [3]
        x, y = batch(0)
        await supervisor.run(model.train, {model.x: x, model.y: y})
        assert len(supervisor.replicas) == 3
        await supervisor.close()


@pytest.mark.parametrize("founders", [{}, {"worker": 2}])
async def test_workers_that_come_when_their_job_has_none_are_watched_and_compute(
    founders: dict[str, int], tmp_path: Path
) -> None:
    model = Model()
    jobs = {"ps": 1, **founders}
    async with af.LocalCluster(jobs, transport="local", limits={"worker": (0, 8)}) as cluster:
        async with af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=REPLICAS) as supervisor:
            if founders:
                await supervisor.scale(worker=0)
            assert list(supervisor.lives) == ["/job:ps/task:0"]
            await cluster.scale(worker=2)
            with anyio.fail_after(60):
                async for attempt in supervisor.steps(until=2):
                    async with attempt as step:
                        x, y = batch(step)
                        await supervisor.run(model.train, {model.x: x, model.y: y})
            assert set(supervisor.lives) == set(cluster.spec.tasks) and len(supervisor.replicas) == 2


async def test_a_training_says_for_which_lost_task_it_waits_and_since_when(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph, af.device("/job:ps"):
        count = af.train.get_or_create_global_step().assign_add(1)
    spec = {"ps": ["local://waits-ps"], "worker": ["local://waits-worker"]}
    options: dict[str, Any] = {"transport": "local", "file_roots": [tmp_path]}
    async with af.Server(spec, "ps", 0, **options) as ps:
        worker = af.Server(spec, "worker", 0, **options)
        await worker.__aenter__()
        async with af.Supervisor(ps.target, graph, checkpoint_dir=tmp_path) as supervisor:
            await worker.__aexit__(None, None, None)
            async for event in supervisor.events():
                if isinstance(event, af.supervisor.WaitsForTasks):
                    break
            assert event.whom == ("/job:worker/task:0",) and event.time - event.since >= 3.9
            async with af.Server(spec, "worker", 0, **options):
                assert await supervisor.run(count) == 1


async def test_a_lost_worker_that_is_not_back_in_time_is_declared_lost_and_its_share_goes_to_the_others(
    tmp_path: Path,
) -> None:
    spec = {"ps": ["local://spare-ps"], "worker": [f"local://spare-{number}" for number in range(3)]}
    options: dict[str, Any] = {"transport": "local", "file_roots": [tmp_path]}
    model = Model()
    async with (
        af.Server(spec, "ps", 0, **options) as ps,
        af.Server(spec, "worker", 0, **options),
        af.Server(spec, "worker", 1, **options),
    ):
        servers = [None, None, af.Server(spec, "worker", 2, **options)]
        await servers[-1].__aenter__()
        async with af.Supervisor(
            ps.target, model.graph, checkpoint_dir=tmp_path / "some", save_steps=4, replicas=REPLICAS, lost_seconds=0.1
        ) as supervisor:
            async for attempt in supervisor.steps(until=STEPS):
                async with attempt as step:
                    if step == 6 and (last := servers.pop()) is not None:
                        last.links.close()
                        await last.__aexit__(None, None, None)
                    x, y = batch(step)
                    await supervisor.run(model.train, {model.x: x, model.y: y})
            assert list(supervisor.replicas) == ["/job:worker/task:0", "/job:worker/task:1"]
            bits = [np.asarray(value).tobytes() for value in await supervisor.run(model.values)]
    assert bits == await trained(tmp_path / "one", 1, {}, {})


async def test_each_task_computes_its_share_as_soon_as_it_has_joined(tmp_path: Path) -> None:
    """The bits tell nothing of that: they are those of any mapping."""
    model = Model()
    async with (
        af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster,
        af.Supervisor(cluster, model.graph, checkpoint_dir=tmp_path, replicas=REPLICAS) as supervisor,
        af.Session(cluster.target, model.graph) as beside,
    ):
        x, y = batch(0)
        feeds = {model.x: x, model.y: y}
        call = await beside.make_callable(model.loss, feed_list=[model.x, model.y])

        async def nodes() -> dict[str, int]:
            present = [task for task in cluster.spec.tasks if "worker" in task]
            return {task: (await query_status(cluster.target_of(task)))["nodes"] for task in present}

        runs: list[Callable[[], Awaitable[Any]]] = [
            lambda: supervisor.run(model.train, feeds),
            lambda: beside.run(model.loss, feeds),
            lambda: call(x, y),
        ]
        for number in (1, 3, 2, 4):
            await supervisor.scale(worker=number)
            for run in runs:
                before = await nodes()
                await run()
                after = await nodes()
                assert len(after) == number and all(after[task] > before[task] for task in after), (
                    number,
                    before,
                    after,
                )
