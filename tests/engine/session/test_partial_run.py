"""Partial runs: one step that is fed and fetched in several calls."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import probes
import pytest
from probes import probe as probe

import actorflow as af
from actorflow import errors


class Example:
    """`early` needs `a` and `b`, `late` needs `early` and `c`; both say when they ran."""

    def __init__(self) -> None:
        self.a, self.b, self.c = (af.placeholder(af.float32, name=name) for name in "abc")
        self.early = probes.log(self.a + self.b, tag="early", name="early")
        self.late = probes.log(self.early * self.c, tag="late", name="late")
        self.feeds = [self.a, self.b, self.c]


@pytest.mark.parametrize("coalesce", [True, False])
async def test_a_step_in_two_parts(graph: af.Graph, probe: probes.Probe, coalesce: bool) -> None:
    e = Example()
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        for _ in range(3):
            probe.ran.clear()
            handle = await session.partial_run_setup([e.early, e.late], e.feeds)
            assert not probe.ran
            first = await session.partial_run(handle, e.early, {e.a: 1, e.b: 2})
            assert first == 3.0 and probe.ran == {"early": 1}
            assert session.pending().startswith("step ")
            assert await session.partial_run(handle, [e.late], {"c:0": first + 17}) == [60.0]
            assert probe.ran == {"early": 1, "late": 1}, "a part ran anew"
            assert session.pending() == "no step is in flight"
        statistics = session.statistics()
        assert (statistics.plans, statistics.steps, statistics.inflight, statistics.failed) == (1, 3, 0, 0)


async def test_runs_that_differ_in_the_order_of_their_targets(graph: af.Graph, probe: probes.Probe) -> None:
    e = Example()
    async with af.Session(graph=graph) as session:
        for targets in ([e.early.op, e.late.op], [e.late.op, e.early.op]):
            handle = await session.partial_run_setup(targets, e.feeds)
            probe.ran.clear()
            await session.partial_run(handle, e.early.op, {e.a: 1, e.b: 2})
            assert probe.ran == {"early": 1}
            await session.partial_run(handle, e.late.op, {e.c: 3})
            assert probe.ran == {"early": 1, "late": 1}


async def test_feeds_may_come_before_they_are_needed(graph: af.Graph, probe: probes.Probe) -> None:
    e = Example()
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup({"x": e.late}, e.feeds)
        assert await session.partial_run(handle, [], {e.c: 2}) == []
        assert await session.partial_run(handle, (), {e.a: 3}) == ()
        assert not probe.ran
        assert await session.partial_run(handle, e.late, {e.b: 4}) == 14.0
        assert session.pending() == "no step is in flight"


async def test_all_in_one_part(graph: af.Graph) -> None:
    e = Example()
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([e.early, e.late, e.a], e.feeds)
        found = await session.partial_run(handle, {"l": e.late, "a": e.a, "e": (e.early,)}, {e.a: 1, e.b: 2, e.c: 3})
        assert found == {"l": 9.0, "a": 1.0, "e": (3.0,)}
        with pytest.raises(errors.InvalidArgumentError, match="is over"):
            await session.partial_run(handle, e.late)


async def test_no_feeds_at_all(graph: af.Graph) -> None:
    x = af.constant(1.0) + 1.0
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1)) as session:
        handle = await session.partial_run_setup([x])
        assert await session.partial_run(handle, x) == 2.0
        assert session.statistics().inflight == 0 and session.pending() == "no step is in flight"


async def test_each_feed_and_fetch_is_used_once(graph: af.Graph) -> None:
    e = Example()
    far = af.placeholder(af.float32, name="far")
    extra = e.early * 10.0
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([e.early, e.late], e.feeds)
        assert await session.partial_run(handle, e.early, {e.a: 1, e.b: 2}) == 3.0
        for fetches, feeds, says in [
            (e.late, {e.a: 1, e.c: 1}, "a:0 can't be fed: it was fed already"),
            (e.late, {far: 1, e.c: 1}, "far:0 can't be fed: it was not named"),
            (e.early, {e.c: 1}, "early:0 can't be fetched: it was fetched already"),
            ([extra], {e.c: 1}, "can't be fetched: .*not named"),
            (e.late.op, {e.c: 1}, "late was run already, or not named"),
            (e.late, {e.c.op: 1}, "such as c:0"),
        ]:
            with pytest.raises(errors.InvalidArgumentError, match=says):
                await session.partial_run(handle, fetches, feeds)
        assert await session.partial_run(handle, e.late, {e.c: 4}) == 12.0, "a mistake used something up"
        with pytest.raises(errors.InvalidArgumentError, match="is over"):
            await session.partial_run(handle, e.late, {e.c: 4})


async def test_a_fetch_whose_feeds_are_missing_raises_at_once(graph: af.Graph, probe: probes.Probe) -> None:
    e = Example()
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([e.early, e.late], e.feeds)
        with pytest.raises(errors.InvalidArgumentError, match=r"still missing: .*b:0"):
            await session.partial_run(handle, e.early, {e.a: 1})
        with pytest.raises(errors.InvalidArgumentError, match="c:0"):
            await session.partial_run(handle, e.late, {e.a: 1, e.b: 2})
        with pytest.raises(errors.InvalidArgumentError, match="does not fit"):
            await session.partial_run(handle, e.late, {e.a: 1, e.b: 2, e.c: "three"})
        assert not probe.ran
        assert await session.partial_run(handle, [e.early, e.late], {e.a: 1, e.b: 2, e.c: 3}) == [3.0, 9.0]


async def test_what_is_not_named_in_the_set_up_must_be_fed_by_somebody(graph: af.Graph) -> None:
    e = Example()
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([e.early, e.late], [e.a, e.b])
        with pytest.raises(errors.InvalidArgumentError, match="c"):
            await session.partial_run(handle, e.late, {e.a: 1, e.b: 2})


async def test_bad_set_ups(graph: af.Graph) -> None:
    e = Example()
    async with af.Session(graph=graph) as session:
        for fetches, feeds, error in [
            (None, [], TypeError),
            ([e.late], [e.a, "a:0"], errors.InvalidArgumentError),
            ([e.late], [e.a.op], errors.InvalidArgumentError),
            (["nope:0"], [], KeyError),
        ]:
            with pytest.raises(error):
                await session.partial_run_setup(fetches, feeds)
        assert session.statistics().inflight == 0 and session.pending() == "no step is in flight"


async def test_targets_run_in_their_part(graph: af.Graph, probe: probes.Probe) -> None:
    e = Example()
    with af.control_dependencies([e.early]):
        soon = probes.target(tag="soon")
    with af.control_dependencies([e.late]):
        last = probes.target(tag="last")
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([soon, last, e.late], e.feeds)
        assert await session.partial_run(handle, soon, {e.a: 1, e.b: 1}) is None
        assert probe.ran == {"early": 1, "soon": 1}
        assert await session.partial_run(handle, [last, e.late], {e.c: 2}) == [None, 4.0]
        assert probe.ran["last"] == 1 and session.pending() == "no step is in flight"


async def test_an_intermediate_is_fed_later(graph: af.Graph, probe: probes.Probe) -> None:
    """As in reinforcement learning: an action goes out, and what came of it comes in."""
    x = af.placeholder(af.float32)
    action = probes.log(x * 2.0, tag="action")
    reward = af.identity(action, name="reward")
    loss = action + reward
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([action, loss], [x, reward])
        chosen = await session.partial_run(handle, action, {x: 4})
        assert await session.partial_run(handle, loss, {reward: chosen * 10}) == 88.0
        assert probe.ran == {"action": 1}


async def test_a_kernels_error_ends_it(graph: af.Graph, probe: probes.Probe) -> None:
    e = Example()
    probe.does["early"] = lambda x: 1 // 0
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([e.early, e.late], e.feeds)
        with pytest.raises(errors.InvalidArgumentError, match="node early"):
            await session.partial_run(handle, e.early, {e.a: 1, e.b: 2})
        with pytest.raises(errors.InvalidArgumentError, match="is over"):
            await session.partial_run(handle, e.late, {e.c: 1})
        assert session.statistics().inflight == 0 and session.pending() == "no step is in flight"
        del probe.does["early"]
        assert await session.run(e.late, {e.a: 1, e.b: 2, e.c: 3}) == 9.0


async def test_results_and_feeds_stay_apart(graph: af.Graph) -> None:
    x, y = af.placeholder(af.float32, name="x"), af.placeholder(af.float32, name="y")
    z = af.identity(x)
    total = af.reduce_sum(x) + y
    given = np.ones(4, np.float32)
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([z, total], [x, y])
        found = await session.partial_run(handle, z, {x: given})
        assert not found.flags.writeable and given.flags.writeable
        given[:] = 5
        assert found.tolist() == [1, 1, 1, 1]
        assert await session.partial_run(handle, total, {y: 1}) in (5.0, 21.0)


async def test_many_at_once(graph: af.Graph, seed: int) -> None:
    e = Example()
    rng = np.random.default_rng(seed)
    async with af.Session(graph=graph) as session:

        async def one(number: int) -> None:
            handle = await session.partial_run_setup([e.early, e.late], e.feeds)
            for _ in range(int(rng.integers(4))):
                await asyncio.sleep(0)
            assert await session.partial_run(handle, e.early, {e.a: number, e.b: 1}) == number + 1
            for _ in range(int(rng.integers(4))):
                await asyncio.sleep(0)
            assert await session.partial_run(handle, e.late, {e.c: 2}) == 2 * number + 2

        async with asyncio.TaskGroup() as tasks:
            for number in range(50):
                tasks.create_task(one(number))
        assert session.pending() == "no step is in flight" and session.statistics().inflight == 0


async def test_between_its_parts_it_takes_no_place(graph: af.Graph, probe: probes.Probe) -> None:
    e = Example()
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1, max_queued_steps=0)) as session:
        handles = [await session.partial_run_setup([e.early, e.late], e.feeds) for _ in range(5)]
        assert session.statistics().inflight == 0
        assert await session.run(e.early, {e.a: 1, e.b: 1}) == 2.0
        for handle in handles:
            assert await session.partial_run(handle, e.early, {e.a: 1, e.b: 1}) == 2.0
        assert await session.run(e.early, {e.a: 1, e.b: 1}) == 2.0
        for handle in handles:
            assert await session.partial_run(handle, e.late, {e.c: 3}) == 6.0
        assert session.statistics().inflight == 0


def gated(e: Example) -> Any:
    return probes.wait(e.early, tag="gate", name="gated")


async def test_a_part_that_waits_can_be_cancelled(graph: af.Graph, probe: probes.Probe) -> None:
    e = Example()
    g = gated(e)
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([g, e.late], e.feeds)
        part = asyncio.create_task(session.partial_run(handle, g, {e.a: 1, e.b: 2}))
        await probe.arrived("gate").wait()
        assert "gated (TestWait" in session.pending()
        part.cancel()
        with pytest.raises(asyncio.CancelledError):
            await part
        with pytest.raises(errors.InvalidArgumentError, match="is over"):
            await session.partial_run(handle, e.late, {e.c: 1})
        assert session.statistics().inflight == 0 and session.pending() == "no step is in flight"
        assert len(asyncio.all_tasks()) == 1


async def test_a_part_does_not_wait_for_another(graph: af.Graph, probe: probes.Probe) -> None:
    e = Example()
    g = gated(e)
    async with af.Session(graph=graph) as session:
        handle = await session.partial_run_setup([g, e.early, e.late], e.feeds)
        slow = asyncio.create_task(session.partial_run(handle, g, {e.a: 1, e.b: 2}))
        await probe.arrived("gate").wait()
        assert await session.partial_run(handle, e.early) == 3.0
        assert await session.partial_run(handle, e.late, {e.c: 2}) == 6.0
        assert not slow.done()
        probe.gate("gate").set()
        assert await slow == 3.0
        assert session.pending() == "no step is in flight"


@pytest.mark.parametrize("waiting", [True, False])
async def test_closing_ends_it(graph: af.Graph, probe: probes.Probe, waiting: bool) -> None:
    e = Example()
    g = gated(e)
    session = af.Session(graph=graph)
    handle = await session.partial_run_setup([g, e.late], e.feeds)
    if waiting:
        part = asyncio.create_task(session.partial_run(handle, g, {e.a: 1, e.b: 2}))
        await probe.arrived("gate").wait()
    await session.close()
    if waiting:
        with pytest.raises(errors.CancelledError, match="closed"):
            await part
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        await session.partial_run(handle, e.late, {e.c: 1})
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("coalesce", [True, False])
async def test_a_target_does_not_wait_for_other_parts_of_the_step(graph: af.Graph, coalesce: bool) -> None:
    """A target that has run is done, although something else of the step still waits."""
    later = af.placeholder(af.float32, (), name="later")
    queue = af.FIFOQueue(1, [af.float32], [()])
    waiting = queue.dequeue() + later
    count = af.Variable(0.0)
    target = count.assign_add(1.0, read_value=False)
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        await session.run(count.initializer)
        handle = await session.partial_run_setup([waiting, target], [later])
        await session.partial_run(handle, target)
        assert await session.run(count) == 1.0
        await session.run(queue.enqueue(3.0))
        assert await session.partial_run(handle, waiting, {later: 2.0}) == 5.0
