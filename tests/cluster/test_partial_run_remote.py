"""Partial runs over the tasks of a cluster: as in one process, with the nodes anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import probes
import pytest
from channels import start_zmq_collector
from clusters import servers
from probes import probe as probe

import actorflow as af
from actorflow import errors
from actorflow.cluster.server import Server


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


@pytest.fixture(params=["local", "zmq", "auto"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[list[Server]]:
    async with servers({"worker": 3}, request.param) as found:
        yield found
        for server in found:
            assert not server.worker.steps.running, "a step was left behind"
            assert not server.worker._rendezvous, "a rendezvous of a step was left behind"


@pytest.fixture
async def nearby() -> AsyncIterator[list[Server]]:
    async with servers({"worker": 2}, "local") as found:
        yield found


class Spread:
    """`early` needs `a` and `b` on one task, `late` needs `early` and `c` on another; both say when they ran."""

    def __init__(self, first: int = 1, second: int = 2) -> None:
        self.a, self.b, self.c = (af.placeholder(af.float32, name=name) for name in "abc")
        with af.device(f"/job:worker/task:{first}"):
            self.early = probes.log(self.a + self.b, tag="early", name="early")
        with af.device(f"/job:worker/task:{second}"):
            self.late = probes.log(self.early * self.c, tag="late", name="late")
        self.feeds = [self.a, self.b, self.c]


@pytest.mark.parametrize("tasks", [(0, 0), (0, 1), (1, 0), (1, 2), (1, 1)])
async def test_f26_f61_a_step_in_two_parts(
    cluster: list[Server], graph: af.Graph, probe: probes.Probe, tasks: tuple[int, int]
) -> None:
    e = Spread(*tasks)
    async with af.Session(cluster[0].target, graph) as session:
        for _ in range(2):
            probe.ran.clear()
            handle = await session.partial_run_setup([e.early, e.late], e.feeds)
            first = await session.partial_run(handle, e.early, {e.a: 1, e.b: 2})
            assert first == 3.0 and probe.ran == {"early": 1}
            assert await session.partial_run(handle, [e.late], {"c:0": first + 17}) == [60.0]
            assert probe.ran == {"early": 1, "late": 1}, "a part ran anew"
            with pytest.raises(errors.InvalidArgumentError, match="is over"):
                await session.partial_run(handle, e.late)
        assert session.statistics().plans == 1
        assert await session.run(e.late, {e.a: 1, e.b: 2, e.c: 3}) == 9.0, "an ordinary run has a plan of its own"


async def test_f26_feeds_may_come_before_they_are_needed(nearby: list[Server], graph: af.Graph) -> None:
    e = Spread(0, 1)
    async with af.Session(nearby[0].target, graph) as session:
        handle = await session.partial_run_setup({"x": e.late}, e.feeds)
        assert await session.partial_run(handle, [], {e.c: 2}) == []
        assert await session.partial_run(handle, (), {e.a: 3}) == ()
        assert await session.partial_run(handle, e.late, {e.b: 4}) == 14.0


async def test_f26_targets_fed_and_fetched_tensors_and_large_ones(cluster: list[Server], graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None], name="x")
    y = af.placeholder(af.float32, [], name="y")
    with af.device("/job:worker/task:1"):
        count = af.Variable(0.0, name="count")
        with af.control_dependencies([x]):
            counted = count.assign_add(1.0, read_value=False)
        double = x * 2.0
    with af.device("/job:worker/task:2"):
        total = af.reduce_sum(double) + y
    large = np.arange(300_000, dtype=np.float32)
    async with af.Session(cluster[0].target, graph) as session:
        await session.run(count.initializer)
        handle = await session.partial_run_setup([counted, double, total, x], [x, y])
        assert await session.partial_run(handle, counted, {x: large}) is None
        assert await session.run(count) == 1.0
        found = await session.partial_run(handle, [double, x])
        np.testing.assert_array_equal(found[0], 2 * large)
        np.testing.assert_array_equal(found[1], large)
        assert await session.partial_run(handle, total, {y: 1.0}) == np.float32((2 * large).sum()) + 1


async def test_f26_mistakes_use_nothing_up(nearby: list[Server], graph: af.Graph) -> None:
    e = Spread(0, 1)
    async with af.Session(nearby[0].target, graph) as session:
        handle = await session.partial_run_setup([e.early, e.late], e.feeds)
        with pytest.raises(errors.InvalidArgumentError, match=r"still missing: .*b:0"):
            await session.partial_run(handle, e.early, {e.a: 1})
        with pytest.raises(errors.InvalidArgumentError, match="does not fit"):
            await session.partial_run(handle, e.late, {e.a: 1, e.b: 2, e.c: "three"})
        assert await session.partial_run(handle, e.early, {e.a: 1, e.b: 2}) == 3.0
        with pytest.raises(errors.InvalidArgumentError, match="was fed already"):
            await session.partial_run(handle, e.late, {e.a: 1, e.c: 1})
        with pytest.raises(errors.InvalidArgumentError, match="was fetched already"):
            await session.partial_run(handle, e.early, {e.c: 1})
        assert await session.partial_run(handle, e.late, {e.c: 4}) == 12.0


@pytest.mark.parametrize("tasks", [(0, 1), (1, 2)])
async def test_f26_a_kernels_error_ends_it_everywhere(
    cluster: list[Server], graph: af.Graph, probe: probes.Probe, tasks: tuple[int, int]
) -> None:
    e = Spread(*tasks)
    probe.does["early"] = lambda x: 1 // 0
    async with af.Session(cluster[0].target, graph) as session:
        handle = await session.partial_run_setup([e.early, e.late], e.feeds)
        with pytest.raises(errors.InvalidArgumentError, match="node early"):
            await session.partial_run(handle, e.late, {e.a: 1, e.b: 2, e.c: 1})
        with pytest.raises(errors.InvalidArgumentError, match="is over"):
            await session.partial_run(handle, e.late, {e.c: 1})
        del probe.does["early"]
        assert await session.run(e.late, {e.a: 1, e.b: 2, e.c: 3}) == 9.0


async def test_f26_a_part_that_waits_can_be_cancelled(
    cluster: list[Server], graph: af.Graph, probe: probes.Probe
) -> None:
    e = Spread()
    with af.device("/job:worker/task:2"):
        gated = probes.wait(e.early, tag="gate", name="gated")
    async with af.Session(cluster[0].target, graph) as session:
        handle = await session.partial_run_setup([gated, e.late], e.feeds)
        part = asyncio.create_task(session.partial_run(handle, gated, {e.a: 1, e.b: 2}))
        await probe.arrived("gate").wait()
        part.cancel()
        with pytest.raises(asyncio.CancelledError):
            await part
        with pytest.raises(errors.InvalidArgumentError, match="is over"):
            await session.partial_run(handle, e.late, {e.c: 1})
        assert not any(server.worker.steps.running for server in cluster)
        assert session.statistics().inflight == 0


async def test_f26_a_part_does_not_wait_for_another(nearby: list[Server], graph: af.Graph, probe: probes.Probe) -> None:
    e = Spread(0, 1)
    gated = probes.wait(e.early, tag="gate", name="gated")
    async with af.Session(nearby[0].target, graph) as session:
        handle = await session.partial_run_setup([gated, e.early, e.late], e.feeds)
        slow = asyncio.create_task(session.partial_run(handle, gated, {e.a: 1, e.b: 2}))
        await probe.arrived("gate").wait()
        assert await session.partial_run(handle, e.early) == 3.0
        assert await session.partial_run(handle, e.late, {e.c: 2}) == 6.0
        assert not slow.done()
        probe.gate("gate").set()
        assert await slow == 3.0


@pytest.mark.parametrize("waiting", [True, False])
async def test_f26_closing_ends_it(cluster: list[Server], graph: af.Graph, probe: probes.Probe, waiting: bool) -> None:
    e = Spread()
    with af.device("/job:worker/task:2"):
        gated = probes.wait(e.early, tag="gate", name="gated")
    session = af.Session(cluster[0].target, graph)
    handle = await session.partial_run_setup([gated, e.late], e.feeds)
    part: asyncio.Task[Any] | None = None
    if waiting:
        part = asyncio.create_task(session.partial_run(handle, gated, {e.a: 1, e.b: 2}))
        await probe.arrived("gate").wait()
    await session.close()
    if part is not None:
        with pytest.raises(errors.CancelledError, match="closed"):
            await part
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        await session.partial_run(handle, e.late, {e.c: 1})


async def test_f26_f63_a_lost_master_ends_it(graph: af.Graph, probe: probes.Probe) -> None:
    e = Spread(0, 1)
    with af.device("/job:worker/task:1"):
        gated = probes.wait(e.early, tag="gate", name="gated")
    async with servers({"worker": 2}, "zmq") as cluster:
        async with af.Session(cluster[0].target, graph) as session:
            handle = await session.partial_run_setup([gated, e.late], e.feeds)
            part = asyncio.create_task(session.partial_run(handle, gated, {e.a: 1, e.b: 2}))
            await probe.arrived("gate").wait()
            await cluster[0].links.aclose()
            with pytest.raises(errors.UnavailableError):
                await part
            with pytest.raises(errors.InvalidArgumentError, match="is over"):
                await session.partial_run(handle, e.late, {e.c: 1})


async def test_f26_a_dead_fetch_says_so(nearby: list[Server], graph: af.Graph) -> None:
    x, taken = af.placeholder(af.float32, [], name="x"), af.placeholder(af.bool, [], name="taken")
    with af.device("/job:worker/task:1"):
        off, on = af.switch(x, taken)
        minus, plus = off - 1.0, on + 1.0
    async with af.Session(nearby[0].target, graph) as session:
        handle = await session.partial_run_setup([minus, plus], [x, taken])
        assert await session.partial_run(handle, plus, {x: 1.0, taken: True}) == 2.0
        with pytest.raises(errors.InvalidArgumentError, match="has no value"):
            await session.partial_run(handle, minus)


async def test_f26_many_at_once(nearby: list[Server], graph: af.Graph, seed: int) -> None:
    e = Spread(0, 1)
    rng = np.random.default_rng(seed)
    async with af.Session(nearby[0].target, graph) as session:

        async def one(number: int) -> None:
            handle = await session.partial_run_setup([e.early, e.late], e.feeds)
            for _ in range(int(rng.integers(4))):
                await asyncio.sleep(0)
            assert await session.partial_run(handle, e.early, {e.a: number, e.b: 1}) == number + 1
            for _ in range(int(rng.integers(4))):
                await asyncio.sleep(0)
            assert await session.partial_run(handle, e.late, {e.c: 2}) == 2 * number + 2

        async with asyncio.TaskGroup() as tasks:
            for number in range(30):
                tasks.create_task(one(number))
