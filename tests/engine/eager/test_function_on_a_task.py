"""A function that is sent to a task of a cluster: its nodes run there, and so do the variables that it uses live there."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from clusters import servers

import actorflow as af

pytestmark = pytest.mark.allow_leaks("threads")


def eager_variables(server: Any) -> int:
    """How many variables of eager programs a task holds."""
    return sum("eager_" in name for manager in server.worker.resources.values() for _, _, name in manager.names())


async def test_nodes_run_where_the_function_says() -> None:
    async with servers({"ps": 1, "worker": 2}) as started:
        with af.eager():

            @af.function(device=started[0].target)
            def product(x: Any) -> Any:
                with af.device("/job:worker/task:1"):
                    return af.matmul(x, x)

            found = await product.run(np.eye(3, dtype=np.float32) * 2)
        (trace,) = product._traces.values()
        placed = {trace._plans.on(anyio.lowlevel.current_token().native_token).placement(t) for t in trace.outputs}
        assert found.numpy().tolist() == (np.eye(3) * 4).tolist()
        assert [str(place).partition("/device")[0] for place in placed] == ["/job:worker/replica:0/task:1"]


async def test_variables_live_there() -> None:
    """They are taken along with their values; functions of that target see each other's changes, and programs fetch values."""
    async with servers({"ps": 1, "worker": 2}) as started:
        with af.eager():
            w = af.Variable([1.0, 2.0], name="w")
            made: list[Any] = []
            w.assign_add([0.5, 0.5])

            @af.function(device=started[0].target)
            def step(x: Any) -> Any:
                with af.device("/job:worker/task:1"):
                    if not made:
                        made.append(af.Variable(10.0))
                    w.assign_sub(x * w)
                    made[0].assign_add(1.0)
                    return w + made[0]

            @af.function(device=started[0].target)
            def doubled() -> Any:
                return w.assign(w * 2.0)

            assert (await step.run(0.5)).numpy().tolist() == [11.75, 12.25]
            assert (await doubled.run()).numpy().tolist() == [1.5, 2.5]
            assert (await step.run(np.float32(0.0))).numpy().tolist() == [13.5, 14.5]
            assert [eager_variables(server) for server in started] == [0, 0, 2]
            with pytest.raises(RuntimeError, match=r"(?s)lives on .* can't be changed by ops here.*w\.load\(value\)"):
                w.assign([0.0, 0.0])
            with pytest.raises(RuntimeError, match="lives on"):
                af.function(lambda: w + 1.0)()


@pytest.mark.allow_leaks("fds", "shm")
async def test_first_calls_at_once_share_what_takes_variables_along() -> None:
    async with af.LocalCluster({"ps": 1}) as cluster:
        with af.eager():
            w = af.Variable(np.full(5_000_000, 2.0, np.float32))
            times, plus = (af.function(f, device=cluster.target) for f in (lambda x: w[0] * x, lambda x: w[0] + x))
            calls = [asyncio.ensure_future(f.run(x)) for f in (times, plus) for x in (1.0, 2.0, 3.0)]
            assert [float(await call) for call in calls] == [2.0, 4.0, 6.0, 3.0, 4.0, 5.0]


async def test_a_first_call_that_is_stopped_leaves_the_work_to_the_next_one() -> None:
    """However far it has come, and also where another call waits for it."""
    async with servers({"ps": 1}) as started:
        with af.eager():
            for turns in (1, 3, 10, 30):
                v = af.Variable(7.0)
                times = af.function(lambda x, v=v: v * x, device=started[0].target, static_argnames=("v",))
                first, second = (asyncio.ensure_future(times.run(x)) for x in (2.0, 3.0))
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                first.cancel()
                await asyncio.wait([first])
                assert float(await second) == 21.0
                assert float(await times.run(2.0)) == 14.0


async def test_a_function_that_was_traced_for_another_device_uses_a_variable_where_it_lives() -> None:
    async with servers({"worker": 2}) as started:
        with af.eager():
            u = af.Variable(2.0)

            def on(task: int) -> Any:
                @af.function(device=started[0].target)
                def times(x: Any) -> Any:
                    with af.device(f"/job:worker/task:{task}"):
                        return u * x

                return times

            functions = on(0), on(1)
            traced = [f.get_concrete_function(af.constant(1.0)) for f in functions]
            assert [float(await f.run(3.0)) for f in functions] == [6.0, 6.0]
            with pytest.raises(af.errors.FailedPreconditionError, match="was traced for"):
                await traced[1].run([af.constant(3.0)])


@pytest.mark.allow_leaks("fds", "shm")
async def test_checkpoints_have_the_values_of_variables_there(tmp_path: Path) -> None:
    def program(target: Any) -> list[float]:
        with af.eager():
            w = af.Variable(5.0)

            @af.function(device=target)
            def more() -> Any:
                return w.assign_add(1.0)

            found = [float(more())]
            checkpoint = af.train.Checkpoint(w=w)
            for _ in range(2):  # the second one of a changed value
                path = checkpoint.save(tmp_path / "run")
                found.append(float(more()))
            checkpoint.restore(path).assert_consumed()
            found.append(float(w.numpy()))
            w.load(1.0)
            local = af.Variable(0.0)
            af.train.Checkpoint(w=local).restore(path)
            return [*found, float(more()), float(local)]

    async with af.LocalCluster({"ps": 1}) as cluster:
        assert await anyio.to_thread.run_sync(program, cluster.target) == [6.0, 7.0, 8.0, 7.0, 2.0, 7.0]


@pytest.mark.allow_leaks("fds", "shm")  # the connection stays open
async def test_a_program_that_blocks_fetches_the_values_of_its_variables() -> None:
    """On a cluster of processes, beside whose tasks the program has a thread."""

    def program(target: Any) -> list[Any]:
        with af.eager():
            w = af.Variable([1.0, 2.0])

            @af.function(device=target)
            def step(x: Any) -> Any:
                with af.device("/job:worker/task:0"):
                    w.assign_add(x)
                    return w * 2.0

            return [step([1.0, 1.0]).numpy().tolist(), w.numpy().tolist(), float(af.reduce_sum(w))]

    async with af.LocalCluster({"ps": 1, "worker": 1}) as cluster:
        assert await anyio.to_thread.run_sync(program, cluster.target) == [[4.0, 6.0], [2.0, 3.0], 5.0]


@pytest.mark.allow_leaks("fds", "shm")
async def test_tapes_copies_and_savers_take_variables_there(tmp_path: Path) -> None:
    """Gradients are those of the values there, a copy is a variable of this process, and a saver saves and restores them."""

    def program(target: Any) -> None:
        with af.eager():
            w = af.Variable([1.0, 2.0], name="w")
            double = af.function(lambda: w.assign(w * 2.0), device=target)
            square = af.function(lambda: af.reduce_sum(w * w), device=target)
            double()
            with af.GradientTape(persistent=True) as tape:
                tape.watch(w)
                y = af.reduce_sum(w * w * w)
                z = square()
            assert tape.gradient(y, w).numpy().tolist() == [12.0, 48.0]
            assert tape.gradient(z, w).numpy().tolist() == [4.0, 8.0]
            twin = copy.deepcopy({"w": w, "again": w})
            assert twin["w"] is twin["again"] and twin["w"].name == w.name
            twin["w"].assign_add([1.0, 1.0])
            assert (w.numpy().tolist(), twin["w"].numpy().tolist()) == ([2.0, 4.0], [3.0, 5.0])
            saver = af.train.Saver([w])
            path = saver.save(None, tmp_path / "w")
            double()
            second = saver.save(None, tmp_path / "w", global_step=2)
            saver.restore(None, path)
            assert (w.numpy().tolist(), double().numpy().tolist()) == ([2.0, 4.0], [4.0, 8.0])
            assert af.train.load_variable(second, "w").tolist() == [4.0, 8.0]

    async with af.LocalCluster({"ps": 1}) as cluster:
        await anyio.to_thread.run_sync(program, cluster.target)
