"""Admission: a number of steps run, a number wait in their order, the rest are refused with a time to come back."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import anyio
import numpy as np
import probes
import pytest
import virtual
from clusters import servers
from patience import PATIENCE
from probes import probe as probe

import actorflow as af
from actorflow import errors
from actorflow.base.process import machine
from actorflow.engine.session.waiting.admission import Admission


async def turns(count: int = 3) -> None:
    """Lets everybody else go on."""
    for _ in range(count):
        await asyncio.sleep(0)


def waiter(admission: Admission, order: list[int], number: int) -> asyncio.Task[None]:
    async def enter() -> None:
        await admission.enter()
        order.append(number)

    return asyncio.create_task(enter())


# ---- the counter by itself


async def test_places_go_to_who_waits_longest() -> None:
    admission, order = Admission(2, 10, 10), list[int]()
    assert admission.enter_nowait() and admission.enter_nowait() and not admission.enter_nowait()
    tasks = [waiter(admission, order, i) for i in range(4)]
    await turns()
    assert (admission.inflight, admission.queued, order) == (2, 4, [])
    admission.leave()
    assert not admission.enter_nowait(), "who comes later went before who waits"
    await turns()
    assert order == [0] and admission.inflight == 2
    for _ in range(3):
        admission.leave()
    await turns()
    assert order == [0, 1, 2, 3] and (admission.inflight, admission.queued) == (2, 0)
    admission.leave()
    assert admission.enter_nowait()
    await asyncio.gather(*tasks)


async def test_a_full_queue_refuses() -> None:
    admission = Admission(1, 1, 10)
    assert admission.enter_nowait()
    task = waiter(admission, [], 0)
    await turns()
    admission.seconds_per_step = 2.0
    with pytest.raises(errors.Overloaded, match="1 steps running and 1 waiting") as caught:
        await admission.enter()
    assert caught.value.retry_after == 4.0 and "retry_after" in str(caught.value)
    assert isinstance(caught.value, errors.ResourceExhaustedError)
    admission.leave()
    await task
    assert (admission.inflight, admission.queued) == (1, 0)


async def test_one_who_gives_up_makes_room() -> None:
    admission, order = Admission(1, 10, 10), list[int]()
    assert admission.enter_nowait()
    tasks = [waiter(admission, order, i) for i in range(3)]
    await turns()
    tasks[1].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[1]
    assert admission.queued == 2
    for _ in range(2):
        admission.leave()
        await turns()
    assert order == [0, 2] and (admission.inflight, admission.queued) == (1, 0)


async def test_one_who_is_cancelled_as_a_place_is_given_hands_it_on() -> None:
    admission, order = Admission(1, 10, 10), list[int]()
    assert admission.enter_nowait()
    tasks = [waiter(admission, order, i) for i in range(2)]
    await turns()
    admission.leave()  # to 0
    tasks[0].cancel()  # before it could go on
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    await tasks[1]
    assert order == [1] and (admission.inflight, admission.queued) == (1, 0)


async def test_one_who_is_cancelled_just_before_a_place_is_given() -> None:
    admission, order = Admission(1, 10, 10), list[int]()
    assert admission.enter_nowait()
    tasks = [waiter(admission, order, i) for i in range(2)]
    await turns()
    tasks[0].cancel()
    admission.leave()  # past 0, who does not know yet that it is cancelled
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    await tasks[1]
    assert order == [1] and (admission.inflight, admission.queued) == (1, 0)


async def test_blocked_steps_lend_their_place() -> None:
    admission, order = Admission(1, 10, 10), list[int]()
    assert admission.enter_nowait()
    task = waiter(admission, order, 0)
    await turns()
    assert admission.begin_waiting() is None
    await task
    assert (admission.inflight, admission.waiting) == (1, 1)
    admission.end_waiting()  # coming back never waits
    assert admission.inflight == 2
    admission.leave()
    assert not admission.enter_nowait()
    admission.leave()
    assert admission.inflight == 0


async def test_random_comings_and_goings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    admission = Admission(3, 5, 10)
    running, refused, given_up = 0, 0, 0

    async def client() -> None:
        nonlocal running, refused, given_up
        try:
            if not admission.enter_nowait():
                await admission.enter()
        except errors.Overloaded as error:
            assert error.retry_after > 0 and admission.queued == 5
            refused += 1
            return
        except asyncio.CancelledError:
            given_up += 1
            raise
        running += 1
        assert running <= 3
        try:
            await turns(int(rng.integers(5)))
        finally:
            running -= 1
            admission.leave()

    tasks: list[asyncio.Task[None]] = []
    for _ in range(400):
        tasks.append(asyncio.create_task(client()))
        if rng.random() < 0.3:
            tasks[int(rng.integers(len(tasks)))].cancel()
        if rng.random() < 0.5:
            await turns(1)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (admission.inflight, admission.queued, running) == (0, 0, 0)
    failures = [t.exception() for t in tasks if not t.cancelled() and t.exception() is not None]
    assert not failures, failures


# ---- through a session


class Busy:
    """A session whose only place is taken by a kernel on the device's thread, until `end`."""

    def __init__(self, graph: af.Graph, probe: probes.Probe, **options: Any) -> None:
        self.probe = probe
        self.x = af.placeholder(af.float32, [])
        self.quick = [probes.log(self.x, tag=str(i)) for i in range(5)]
        self.held = probes.hold(self.x)
        self.session = af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1, **options))

    async def __aenter__(self) -> Busy:
        self.holder = asyncio.create_task(self.session.run(self.held, {self.x: 9}))
        await asyncio.to_thread(self.probe.held.wait, 30)
        return self

    async def end(self) -> None:
        self.probe.release.set()
        assert await self.holder == 9.0

    async def __aexit__(self, *exc: object) -> None:
        self.probe.release.set()
        await self.session.close()


async def test_runs_wait_in_their_order(graph: af.Graph, probe: probes.Probe) -> None:
    async with Busy(graph, probe) as busy:
        tasks = [asyncio.create_task(busy.session.run(q, {busy.x: i})) for i, q in enumerate(busy.quick)]
        await turns()
        statistics = busy.session.statistics()
        assert (statistics.inflight, statistics.queued) == (1, 5) and probe.order == ["hold"]
        await busy.end()
        assert await asyncio.gather(*tasks) == [0.0, 1.0, 2.0, 3.0, 4.0]
        assert probe.order == ["hold", "0", "1", "2", "3", "4"]
        statistics = busy.session.statistics()
        assert (statistics.inflight, statistics.queued, statistics.steps) == (0, 0, 6)


async def test_more_than_may_wait_are_refused(graph: af.Graph, probe: probes.Probe) -> None:
    async with Busy(graph, probe, max_queued_steps=2) as busy:
        tasks = [asyncio.create_task(busy.session.run(busy.quick[i], {busy.x: i})) for i in range(2)]
        await turns()
        for _ in range(3):
            with pytest.raises(errors.Overloaded) as caught:
                await busy.session.run(busy.quick[2], {busy.x: 2})
            assert 0 < caught.value.retry_after < 60
        tasks[0].cancel()
        await turns()
        tasks.append(asyncio.create_task(busy.session.run(busy.quick[3], {busy.x: 3})))
        await busy.end()
        assert await asyncio.gather(*tasks[1:]) == [1.0, 3.0]
        assert probe.order == ["hold", "1", "3"]
        assert await busy.session.run(busy.quick[2], {busy.x: 2}) == 2.0


async def test_no_queue_at_all(graph: af.Graph, probe: probes.Probe) -> None:
    async with Busy(graph, probe, max_queued_steps=0) as busy:
        with pytest.raises(errors.Overloaded):
            await busy.session.run(busy.quick[0], {busy.x: 0})
        await busy.end()
        assert await busy.session.run(busy.quick[0], {busy.x: 0}) == 0.0


async def test_one_that_was_cancelled_in_the_queue_never_runs(graph: af.Graph, probe: probes.Probe) -> None:
    async with Busy(graph, probe) as busy:
        tasks = [asyncio.create_task(busy.session.run(busy.quick[i], {busy.x: i})) for i in range(3)]
        await turns()
        tasks[1].cancel()
        with anyio.move_on_after(0) as moved:
            await busy.session.run(busy.quick[4], {busy.x: 4})
        assert moved.cancelled_caught
        await busy.end()
        assert await tasks[0] == 0.0 and await tasks[2] == 2.0
        assert tasks[1].cancelled() and probe.order == ["hold", "0", "2"]
        assert busy.session.statistics().queued == 0


async def test_a_timeout_holds_in_the_queue_too(graph: af.Graph, probe: probes.Probe) -> None:
    async with Busy(graph, probe) as busy:
        with pytest.raises(errors.DeadlineExceededError, match="before it could start: 1 steps are running"):
            await busy.session.run(busy.quick[0], {busy.x: 0}, timeout=0.001)
        await busy.end()
        assert await busy.session.run(busy.quick[1], {busy.x: 1}, timeout=PATIENCE) == 1.0
        assert probe.order == ["hold", "1"]


async def test_a_bad_feed_takes_no_place(graph: af.Graph, probe: probes.Probe) -> None:
    x = af.placeholder(af.float32, [])
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1, max_queued_steps=0)) as session:
        for _ in range(5):
            with pytest.raises(errors.InvalidArgumentError):
                await session.run(x, {x: "no"})
            with pytest.raises(errors.InvalidArgumentError):
                await session.run(x)
        assert await session.run(x, {x: 1}) == 1.0 and session.statistics().inflight == 0


def test_steps_that_wait_outside_take_no_place(probe: probes.Probe) -> None:
    """100 steps that each wait a second for something outside end after one, though only two may run."""
    graph = af.Graph()
    with graph.as_default():
        napping = probes.nap(af.constant(1.0), seconds=1.0)

    async def main() -> None:
        async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=2)) as session:
            assert await asyncio.gather(*(session.run(napping) for _ in range(100))) == [1.0] * 100
            statistics = session.statistics()
            assert (statistics.inflight, statistics.queued, statistics.steps) == (0, 0, 100)

    _, seconds = virtual.run(main)
    assert seconds == 1.0


async def test_blocking_functions_keep_their_place(graph: af.Graph) -> None:
    """300 calls of a function that blocks its thread: two run, three wait for their turn, the others are refused."""
    go, calls = threading.Event(), itertools.count()
    most = 0

    def block() -> Any:
        nonlocal most
        next(calls)
        most = max(most, threading.active_count())
        assert go.wait(PATIENCE)
        return np.float32(1)

    made = af.py_func(block, [], af.float32)
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=2, max_queued_steps=3)) as session:
        await session.warmup(made)
        before = threading.active_count()
        runs = [asyncio.create_task(session.run(made)) for _ in range(300)]
        done, waiting = await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 295:
            done, waiting = await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
            await turns()
        assert {type(run.exception()) for run in done} == {errors.Overloaded} and len(waiting) == 5
        statistics = session.statistics()
        assert (statistics.inflight, statistics.queued, statistics.waiting) == (2, 3, 0)
        go.set()
        assert await asyncio.gather(*waiting) == [1.0] * 5 and next(calls) == 5
        assert most <= before + 2
        assert session.statistics().inflight == session.statistics().queued == 0


async def test_asynchronous_functions_give_their_place_up(graph: af.Graph) -> None:
    go = asyncio.Event()

    async def later() -> Any:
        await go.wait()
        return np.float32(1)

    waits = [af.py_func(f, [], af.float32) for f in (later, lambda: later())]  # the second one is called on a thread
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1)) as session:
        runs = [asyncio.create_task(session.run(waits[i % 2])) for i in range(20)]
        while session.statistics().waiting < 20:
            await turns(1)
        assert (session.statistics().inflight, session.statistics().queued) == (0, 0)
        go.set()
        assert await asyncio.gather(*runs) == [1.0] * 20
        assert (session.statistics().inflight, session.statistics().waiting) == (0, 0)


async def test_one_that_would_wait_beyond_the_limit_is_stopped(graph: af.Graph) -> None:
    """1,000 dequeues of an empty queue: those beyond the limit are refused, and an enqueue never is."""
    queue = af.FIFOQueue(6000, [af.int32], shapes=[()], name="lines")
    dequeue = queue.dequeue(name="take")
    fill = queue.enqueue_many([np.arange(100, dtype=np.int32)])
    async with af.Session(
        graph=graph, limits=af.SessionLimits(max_inflight_steps=4, max_queued_steps=1000, max_waiting_steps=100)
    ) as session:
        await session.warmup(dequeue)
        runs = [asyncio.create_task(session.run(dequeue)) for _ in range(1000)]
        done: set[asyncio.Task[Any]] = set()
        while len(done) < 900:
            done, _ = await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
            await turns()
        found = {type(run.exception()) for run in done}
        assert found == {errors.Overloaded}
        with pytest.raises(
            errors.Overloaded, match=r"100 steps that wait .*\n(.*\n)*.*take .*\n(.*\n)*.*max_waiting_steps"
        ):
            await session.run(dequeue)
        assert session.statistics().waiting == 100 and session.statistics().inflight == 0
        await session.run(fill)
        assert sorted(await asyncio.gather(*(run for run in runs if run not in done))) == list(range(100))
        assert session.statistics().waiting == 0


async def test_threads_of_functions_are_bounded(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that calls more functions than there are threads for them; those that were left behind keep theirs."""
    monkeypatch.setattr(machine, "MOST_OWN_THREADS", 3)
    go, lock = threading.Event(), threading.Lock()
    running = most = 0

    def block() -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        assert go.wait(PATIENCE)
        with lock:
            running -= 1
        return np.float32(1)

    made = [af.py_func(block, [], af.float32) for _ in range(20)]
    async with af.Session(graph=graph) as session:
        for _ in range(2):  # in the second round the threads are busy with those of the first
            run = asyncio.create_task(session.run(made))
            while running < 3:
                await turns(1)
            await turns()
            run.cancel()
            await asyncio.wait([run])
        go.set()
        assert await session.run(made) == [1.0] * 20
    assert most == 3


# ---- on a cluster


async def test_steps_that_wait_on_a_cluster_give_their_places_up(graph: af.Graph) -> None:
    """300 dequeues wait, on two tasks, before anything is enqueued; the 300 enqueues get their turn."""
    with af.device("/job:ps/task:0"):
        queue = af.FIFOQueue(400, [af.int32], shapes=[()])
        x = af.placeholder(af.int32, [])
        enqueue = queue.enqueue(x)
        taken = queue.dequeue()
    with af.device("/job:worker/task:0"):
        fetch = taken + 1
    async with (
        servers({"ps": 1, "worker": 1}) as found,
        af.Session(found[1].target, graph, limits=af.SessionLimits(max_inflight_steps=16)) as session,
    ):
        await session.warmup(fetch)
        runs = [asyncio.create_task(session.run(fetch)) for _ in range(300)]
        while session.statistics().waiting < 284:
            await asyncio.wait(runs, timeout=0.01)
            statistics = session.statistics()
            assert statistics.inflight + statistics.queued + statistics.waiting <= 300
        for i in range(300):
            await session.run(enqueue, {x: i})
        assert sorted(await asyncio.gather(*runs)) == list(range(1, 301))
        statistics = session.statistics()
        assert (statistics.inflight, statistics.queued, statistics.waiting) == (0, 0, 0)


async def test_waits_on_a_cluster_are_bounded(graph: af.Graph) -> None:
    queue = af.FIFOQueue(400, [af.int32], shapes=[()])
    x = af.placeholder(af.int32, [])
    enqueue, dequeue = queue.enqueue(x), queue.dequeue(name="take")
    async with servers({"worker": 1}) as found:
        limits = af.SessionLimits(max_inflight_steps=4, max_waiting_steps=10)
        async with af.Session(found[0].target, graph, limits=limits) as session:
            await session.warmup(dequeue)
            runs = [asyncio.create_task(session.run(dequeue)) for _ in range(50)]
            done: set[asyncio.Task[Any]] = set()
            while len(done) < 36 or session.statistics().queued:
                done, _ = await asyncio.wait(runs, timeout=0.01)
            assert {type(run.exception()) for run in done} == {errors.Overloaded}
            assert all("take" in str(run.exception()) for run in done)
            assert session.statistics().waiting == 10
            for i in range(14):
                await session.run(enqueue, {x: i})
            await asyncio.wait(runs)
            ended = [run.result() for run in runs if run.exception() is None]
            assert 10 <= len(ended) <= 14 and set(ended) <= set(range(14))
            assert session.statistics().inflight == session.statistics().waiting == 0


async def test_steps_that_are_at_work_on_a_cluster_keep_their_places(graph: af.Graph, probe: probes.Probe) -> None:
    x = af.placeholder(af.float32, [])
    held, quick = probes.hold(x), probes.log(x, tag="quick")
    async with servers({"worker": 1}) as found:
        limits = af.SessionLimits(max_inflight_steps=1, max_queued_steps=1)
        async with af.Session(found[0].target, graph, limits=limits) as session:
            holder = asyncio.create_task(session.run(held, {x: 9}))
            await asyncio.to_thread(probe.held.wait, 30)
            queued = asyncio.create_task(session.run(quick, {x: 1}))
            await turns()
            with pytest.raises(errors.Overloaded):
                await session.run(quick, {x: 2})
            with pytest.raises(errors.DeadlineExceededError, match="before the step was done"):
                queued.cancel()
                await asyncio.wait([queued])
                await session.run(quick, {x: 2}, timeout=0.3)  # in which the master is asked several times
            assert session.statistics().inflight == 1 and probe.order == ["hold"]
            probe.release.set()
            assert await holder == 9.0


@pytest.mark.parametrize("where", ["here", "one task", "two tasks"])
async def test_parts_that_only_wait_give_their_places_up(where: str, graph: af.Graph) -> None:
    """Six parts wait for a queue beside a limit of two; the enqueues get their turn. On two tasks the other one lacks a feed."""
    x, later = af.placeholder(af.int32, [], name="x"), af.placeholder(af.int32, [], name="later")
    with af.device("/job:worker/task:0" if where != "here" else None):
        queue = af.FIFOQueue(100, [af.int32], [[]], name="q")
        enqueue, taken = queue.enqueue(7), queue.dequeue() + x
    with af.device("/job:worker/task:1" if where == "two tasks" else None):
        other = later * 2
    async with servers({"worker": 2}, "local") as cluster:
        target = "" if where == "here" else cluster[0].target
        async with af.Session(target, graph, limits=af.SessionLimits(max_inflight_steps=2)) as session:
            handles = [await session.partial_run_setup([taken, other], [x, later]) for _ in range(6)]
            parts = [asyncio.create_task(session.partial_run(one, taken, {x: 1})) for one in handles]
            for _ in range(6):
                await session.run(enqueue)
            assert await asyncio.gather(*parts) == [8] * 6
            for one in handles:
                assert await session.partial_run(one, other, {later: 4}) == 8
            found = session.statistics()
            assert (found.inflight, found.queued, found.waiting) == (0, 0, 0)


@pytest.mark.parametrize("remote", [False, True])
async def test_a_part_that_would_wait_beyond_the_limit_is_refused(remote: bool, graph: af.Graph) -> None:
    taken = af.FIFOQueue(10, [af.int32], [[]], name="q").dequeue(name="take")
    other = af.constant(1)
    async with servers({"worker": 1}, "local") as cluster:
        target = cluster[0].target if remote else ""
        async with af.Session(
            target, graph, limits=af.SessionLimits(max_inflight_steps=1, max_waiting_steps=2)
        ) as session:
            handles = [await session.partial_run_setup([taken], []) for _ in range(3)]
            parts = [asyncio.create_task(session.partial_run(one, taken)) for one in handles]
            turn = asyncio.create_task(session.run(other))
            done, left = await asyncio.wait(parts, return_when="FIRST_COMPLETED")
            (refused,) = done
            with pytest.raises(errors.Overloaded, match="2 steps that wait") as caught:
                await refused
            assert "take (QueueDequeueV2" in str(caught.value)
            assert await turn == 1
            for part in left:
                part.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            found = session.statistics()
            assert (found.inflight, found.queued, found.waiting) == (0, 0, 0)


async def test_two_parts_of_one_step_wait_and_one_goes_on(graph: af.Graph) -> None:
    one, two = (af.FIFOQueue(10, [af.int32], [[]], name=name) for name in ("one", "two"))
    takes = [one.dequeue(), two.dequeue()]
    fills = [one.enqueue(1), two.enqueue(2)]
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=2)) as session:
        handle = await session.partial_run_setup(takes, [])
        parts = [asyncio.create_task(session.partial_run(handle, take)) for take in takes]
        while session.statistics().waiting < 2:
            await anyio.lowlevel.checkpoint()
        await session.run(fills[0])
        assert await parts[0] == 1
        while session.statistics().waiting != 1:
            await anyio.lowlevel.checkpoint()
        await session.run(fills[1])
        assert await parts[1] == 2
        found = session.statistics()
        assert (found.inflight, found.queued, found.waiting) == (0, 0, 0)
