"""The runtime on uvloop: another event loop than asyncio's own changes nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import numpy as np
import probes
import pytest
from patience import PATIENCE
from probes import Probe, probe

import actorflow as af
from actorflow import errors

uvloop = pytest.importorskip("uvloop")

__all__ = ["probe"]

T = TypeVar("T")


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs `main()` on a fresh uvloop. Fails where tasks are left."""

    async def whole() -> T:
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
        result = await asyncio.wait_for(main(), PATIENCE)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks are left: {left}"
        return result

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(whole())


@pytest.fixture(scope="module", autouse=True)
def first_loop() -> None:
    """The first loop of a process opens a pipe for signals, which libuv keeps for all of them."""
    uvloop.new_event_loop().close()


@pytest.mark.parametrize("coalesce", [True, False])
def test_f22_runs_give_their_values(graph: af.Graph, coalesce: bool) -> None:
    a, b = af.placeholder(af.float32), af.placeholder(af.float32)
    total = a + b
    chain = total
    for _ in range(2000):  # more than one slice of the pump, node by node
        chain = chain + 1.0

    async def main() -> None:
        async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
            assert await session.run(total, {a: 3, b: 4.5}) == 7.5
            np.testing.assert_array_equal(await session.run(total, {a: [1, 3], b: [2, 4]}), [3, 7])
            assert await session.run(chain, {a: 0, b: 0}) == 2000.0
            values = await asyncio.gather(*(session.run(total, {a: i, b: i}) for i in range(100)))
            assert values == [2.0 * i for i in range(100)]

    run(main)


def test_f22_updates_of_variables_stay(graph: af.Graph) -> None:
    v = af.Variable([1.0, 2.0])
    update = v.assign_add([1.0, 1.0])

    async def main() -> None:
        async with af.Session(graph=graph) as session:
            await session.run(v.initializer)
            for _ in range(10):
                await session.run(update)
            np.testing.assert_array_equal(await session.run(v), [11, 12])

    run(main)


@pytest.mark.parametrize("coalesce", [True, False])
def test_f48_tensors_cross_devices(graph: af.Graph, coalesce: bool) -> None:
    x = af.placeholder(af.float32, [])
    with af.device("/device:SIM:0"):
        y = x * 2.0
    with af.device("/cpu:0"):
        z = y + 1.0

    async def main() -> None:
        async with af.Session(
            graph=graph, devices={"CPU": 1, "SIM": 1}, options=af.PlanOptions(coalesce=coalesce)
        ) as session:
            assert await session.run(z, {x: 3.0}) == 7.0

    run(main)


def test_f88_a_kernel_that_waits_lets_other_runs_go_on(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    waits, other = probes.wait(x, tag="gate"), x + 1.0

    async def main() -> None:
        async with af.Session(graph=graph) as session:
            task = asyncio.create_task(session.run(waits, {x: 2.0}))
            await probe.arrived("gate").wait()
            assert await session.run(other, {x: 1.0}) == 2.0
            assert not task.done() and "TestWait" in session.pending()
            probe.gate("gate").set()
            assert await task == 2.0

    run(main)


def test_f88_a_heavy_kernel_runs_on_a_thread_and_not_on_the_loop(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    heavy, other = probes.hold(x) * 2.0, x + 1.0

    async def main() -> None:
        async with af.Session(graph=graph) as session:
            task = asyncio.create_task(session.run(heavy, {x: 2.0}))
            assert await asyncio.to_thread(probe.held.wait, PATIENCE), "the loop is free meanwhile"
            assert await session.run(other, {x: 1.0}) == 2.0
            assert not task.done()
            probe.release.set()
            assert await task == 4.0
            assert sum(d.threaded for d in session.statistics().devices.values()) == 1

    run(main)


@pytest.mark.parametrize("coalesce", [True, False])
def test_f65_a_cancelled_run_ends_and_the_session_goes_on(graph: af.Graph, probe: Probe, coalesce: bool) -> None:
    x = af.placeholder(af.float32, [])
    waits, after = probes.wait(x, tag="gate"), probes.log(probes.wait(x, tag="gate"), tag="after")

    async def main() -> None:
        async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
            task = asyncio.create_task(session.run([waits, after], {x: 2.0}))
            await probe.arrived("gate").wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert probe.ran["after"] == 0
            found = session.statistics()
            assert (found.inflight, found.cancelled, found.abandoned) == (0, 1, 0)
            probe.gate("gate").set()
            assert await session.run(after, {x: 3.0}) == 3.0

    run(main)


def test_f65_a_deadline_names_what_waits(graph: af.Graph, probe: Probe) -> None:
    waits = probes.wait(af.constant(1.0), tag="never", name="patient")

    async def main() -> None:
        async with af.Session(graph=graph) as session:
            await session.warmup(waits)
            with pytest.raises(errors.DeadlineExceededError, match="patient"):
                await session.run(waits, timeout=0.3)

    run(main)


def test_f65_a_kernels_error_names_its_node(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    probe.does["bad"] = lambda value: value[3]
    bad = probes.log(x, tag="bad", name="culprit")

    async def main() -> None:
        async with af.Session(graph=graph) as session:
            with pytest.raises(errors.OpError, match="culprit"):
                await session.run(bad, {x: 1.0})

    run(main)


def test_f20_closing_a_session_ends_its_runs_and_its_threads(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [])
    waits, heavy = probes.wait(x, tag="gate"), probes.hold(x)
    before = threading.active_count()

    async def main() -> None:
        session = af.Session(graph=graph)
        probe.release.set()
        assert await session.run(heavy, {x: 1.0}) == 1.0
        assert threading.active_count() == before + 1
        task = asyncio.create_task(session.run(waits, {x: 2.0}))
        await probe.arrived("gate").wait()
        await session.close()
        with pytest.raises(errors.CancelledError, match="closed"):
            await task
        with pytest.raises(errors.FailedPreconditionError, match="closed"):
            await session.run(heavy, {x: 1.0})

    run(main)


def test_f20_a_session_may_be_closed_after_its_loop(graph: af.Graph) -> None:
    c = af.constant(1.0) + 1.0
    session = af.Session(graph=graph)

    async def use() -> float:
        return await session.run(c)

    assert run(use) == 2.0
    run(session.close)
