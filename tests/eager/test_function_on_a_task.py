"""A function that is sent to a task of a cluster: its nodes run there, and so do the variables that it uses live there."""

from __future__ import annotations

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
            with pytest.raises(RuntimeError, match="lives on"):
                w.assign([0.0, 0.0])
            with pytest.raises(RuntimeError, match="lives on"):
                af.function(lambda: w + 1.0)()


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
