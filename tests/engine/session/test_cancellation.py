"""Cancellation: whenever a run is cancelled, nothing of it is left, and what it shared is whole.

The instants are drawn at random over the time that such runs take. Cancellation comes as `Task.cancel`, as anyio's scopes,
or as `timeout=`, to runs that wait for their turn, are in the middle of their nodes, in an asynchronous kernel or on the
device's thread.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import numpy as np
import probes
import pytest
from patience import PATIENCE
from probes import Probe, probe

import actorflow as af
from actorflow import errors
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.engine.runtime.threads import unlocked
from actorflow.engine.session import step_runner as steps_module
from actorflow.graph.graph import Graph
from actorflow.graph.ops.declare import RefLike
from actorflow.graph.ops.shape_rules import unchanged

__all__ = ["probe"]

WAYS = ("task", "move_on", "fail", "timeout")
KINDS = ("small", "coalesced", "uncoalesced", "thread", "asynchronous")
CANCELLATIONS = 2_000  # of each kind, so 10,000 in all
BATCH = 100
ALL_ON_THREAD = -1.0


@af.op("TestSlowAdd", shape=unchanged, gradient=None, stateful=True, writes=True, work=probes.HEAVY)
def slow_add(ref: RefLike, *, by: float, name: str | None = None) -> af.Tensor:
    """Adds `by` to a variable on the device's thread: half of the elements, then, when the test lets it, the others."""


@af.kernel("TestSlowAdd")
def _slow_add(xp: Any, ref: VariableState, *, by: float) -> Any:
    buffer = ref.writable()
    half = buffer.size // 2
    buffer[:half] += by
    probes.current.held.set()
    probes.current.release.wait(PATIENCE)
    buffer[half:] += by
    return ref.read()


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


async def until(condition: Callable[[], bool]) -> None:
    """Gives the loop turns until `condition` holds, which it has to."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 (other threads and the session set no event)
            await asyncio.sleep(0)


def is_idle(session: af.Session) -> bool:
    counted = session.statistics()
    return counted.inflight == 0 and counted.queued == 0 and session.pending() == "no step is in flight"


async def cancelled_at(way: str, instant: float, run: Callable[..., Any]) -> str:
    """How a run ends that is cancelled in this way after `instant` seconds (or for "turns", a few turns of the loop)."""
    try:
        if way == "timeout":
            await run(timeout=instant)
        elif way == "turns":
            task = asyncio.ensure_future(run())
            for _ in range(int(instant * 1e6) % 4):
                await asyncio.sleep(0)
            task.cancel()
            await task
        elif way == "task":
            task = asyncio.ensure_future(run())
            timer = asyncio.get_running_loop().call_later(instant, task.cancel)
            try:
                await task
            finally:
                timer.cancel()
        elif way == "fail":
            with anyio.fail_after(instant):
                await run()
        else:
            with anyio.move_on_after(instant) as scope:
                await run()
            if scope.cancelled_caught:
                return "cancelled"
    except (asyncio.CancelledError, TimeoutError, errors.DeadlineExceededError):
        return "cancelled"
    return "done"


@pytest.mark.parametrize("kind", KINDS)
async def test_ten_thousand_cancellations_leave_nothing_behind(
    graph: Graph, probe: Probe, monkeypatch: pytest.MonkeyPatch, seed: int, kind: str
) -> None:
    rng = random.Random(seed)
    x = af.placeholder(af.float32, [32])
    v = af.Variable(np.zeros(256, np.float32))
    y = x
    for i in range({"small": 3, "coalesced": 40, "uncoalesced": 60, "thread": 4, "asynchronous": 4}[kind]):
        y = af.sin(y) + float(i)
    if kind == "asynchronous":
        y = af.add_n([probes.wait(y * float(i), tag="gate") for i in range(3)])
    with graph.control_dependencies([y]):
        add = v.assign_add(np.ones(256, np.float32), read_value=False)
    if kind == "thread":
        monkeypatch.setattr("actorflow.engine.runtime.actors.INLINE_LIMIT_NS", ALL_ON_THREAD)
    feeds = {x: np.linspace(-1.0, 1.0, 32, dtype=np.float32)}
    loop = asyncio.get_running_loop()
    mine = asyncio.all_tasks()
    gate = probe.gate("gate")

    async with af.Session(
        graph=graph,
        options=af.PlanOptions(coalesce=kind in ("coalesced", "asynchronous")),
        limits=af.SessionLimits(max_inflight_steps=24),
    ) as session:

        async def batch(ways: list[tuple[str, float]], open_after: float) -> Counter[str]:
            def run(**options: Any) -> Any:
                return session.run([y, add], feeds, **options)

            gate.clear()
            opening = loop.call_later(open_after, gate.set)
            ends = await asyncio.gather(*[cancelled_at(way, instant, run) for way, instant in ways])
            opening.cancel()
            return Counter(ends)

        async def result() -> bytes:
            gate.set()
            value, _ = await session.run([y, add], feeds, timeout=PATIENCE)
            return bytes(value.tobytes())

        def stopped() -> int:
            return session.statistics().failed + session.statistics().cancelled

        await session.run(v.initializer)
        expected = await result()
        begun = loop.time()
        found = await batch([("move_on", 30.0)] * BATCH, 0.003)
        span = loop.time() - begun
        assert found == {"done": BATCH}
        ended: Counter[str] = Counter(done=BATCH + 1)
        tried = BATCH + 1
        while ended["cancelled"] < CANCELLATIONS or stopped() <= CANCELLATIONS // 50:  # the others had no turn yet
            chosen = [(rng.choice((*WAYS, "turns")), rng.random() * span) for _ in range(BATCH)]
            ended += await batch(chosen, rng.random() * span)
            tried += BATCH
            assert is_idle(session), session.pending()
            assert not unlocked.writing
            assert asyncio.all_tasks() == mine
            if ended["cancelled"] + ended["done"] < tried or tried > 20 * CANCELLATIONS:
                pytest.fail(f"{tried} runs ended so: {ended}")
            value = await session.run(v)
            assert (value == value[0]).all(), "the variable is torn"
            assert ended["done"] <= value[0] <= tried
            assert await result() == expected
            ended["done"] += 1
            tried += 1
        assert session.statistics().abandoned == 0
        assert stopped() <= ended["cancelled"]


@pytest.mark.parametrize("way", WAYS)
async def test_a_cancelled_step_fires_nothing_more(graph: Graph, probe: Probe, way: str) -> None:
    x = af.placeholder(af.float32)
    after = probes.log(probes.wait(x, tag="gate") + 1.0, tag="after")
    async with af.Session(graph=graph) as session:
        end = asyncio.create_task(cancelled_at(way, 0.3, lambda **o: session.run(after, {x: 1.0}, **o)))
        await asyncio.wait_for(probe.arrived("gate").wait(), PATIENCE)
        assert await asyncio.wait_for(end, PATIENCE) == "cancelled"
        probe.gate("gate").set()
        assert is_idle(session) and probe.ran == {"gate": 1}
        assert await session.run(after, {x: 1.0}) == 2.0


async def test_a_run_cancelled_in_the_queue_never_starts(graph: Graph, probe: Probe) -> None:
    """A run that holds the thread takes the one place."""
    x = af.placeholder(af.float32, [2])
    first, second = probes.hold(x, tag="first"), probes.log(x, tag="second")
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1)) as session:
        running = asyncio.create_task(session.run(first, {x: [1.0, 2.0]}))
        await until(probe.held.is_set)
        waiting = asyncio.create_task(session.run(second, {x: [1.0, 2.0]}))
        await until(lambda: session.statistics().queued == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert session.statistics().queued == 0
        probe.release.set()
        assert (await running).tolist() == [1.0, 2.0]
        assert probe.ran["second"] == 0
        assert (await session.run(second, {x: [1.0, 2.0]})).tolist() == [1.0, 2.0]


async def test_a_kernel_that_waits_for_the_thread_is_never_begun(graph: Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [2])
    first, second = probes.hold(x, tag="first"), probes.hold(x, tag="second")
    async with af.Session(graph=graph) as session:
        running = asyncio.create_task(session.run(first, {x: [1.0, 2.0]}))
        await until(probe.held.is_set)
        waiting = asyncio.create_task(session.run(second, {x: [1.0, 2.0]}))
        await until(lambda: session.statistics().inflight == 2)
        waiting.cancel()
        await asyncio.sleep(0)
        probe.release.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await running
        assert probe.ran == {"first": 1} and is_idle(session)


async def test_cancelling_twice_still_waits_for_the_step(graph: Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [2])
    held = probes.hold(x)
    async with af.Session(graph=graph) as session:
        task = asyncio.create_task(session.run(held, {x: [1.0, 2.0]}))
        await until(probe.held.is_set)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done() and session.statistics().inflight == 1
        probe.release.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert is_idle(session) and session.statistics().abandoned == 0


# ---- closing


@pytest.mark.parametrize("coalesce", [True, False])
async def test_closing_the_session_cancels_its_steps(graph: Graph, probe: Probe, coalesce: bool) -> None:
    x = af.placeholder(af.float32)
    after = probes.log(probes.wait(x * 2.0, tag="gate"), tag="after")
    session = af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce))
    runs = [asyncio.create_task(session.run(after, {x: float(i)})) for i in range(20)]
    await until(lambda: probe.ran["gate"] == 20)
    await asyncio.wait_for(session.close(), PATIENCE)
    for ended in await asyncio.gather(*runs, return_exceptions=True):
        assert isinstance(ended, errors.CancelledError) and "closed" in str(ended)
    await session.close()
    assert is_idle(session) and probe.ran["after"] == 0
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        await session.run(after, {x: 1.0})


async def test_closing_refuses_what_waits_for_its_turn(graph: Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [2])
    held = probes.hold(x)
    session = af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=1))
    runs = [asyncio.create_task(session.run(held, {x: [1.0, 2.0]})) for _ in range(5)]
    await until(lambda: probe.held.is_set() and session.statistics().queued == 4)
    closing = asyncio.create_task(session.close())
    await asyncio.sleep(0)
    probe.release.set()
    await asyncio.wait_for(closing, PATIENCE)
    ended = await asyncio.gather(*runs, return_exceptions=True)
    assert all(isinstance(e, errors.CancelledError) for e in ended), ended
    assert probe.ran["hold"] == 1 and is_idle(session)


# ---- kernels that can't be stopped


@pytest.mark.parametrize("way", WAYS)
async def test_a_kernel_that_outlives_the_grace_is_left_behind(
    graph: Graph, probe: Probe, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(steps_module, "GRACE", 0.02)
    x = af.placeholder(af.float32, [2])
    after = probes.log(probes.hold(x), tag="after")
    async with af.Session(graph=graph) as session:
        await session.warmup(after, [x])
        end = asyncio.create_task(cancelled_at(way, 0.5, lambda **o: session.run(after, {x: [1.0, 2.0]}, **o)))
        assert await asyncio.wait_for(end, PATIENCE) == "cancelled"
        assert session.statistics().abandoned == 1 and session.statistics().inflight == 0
        assert "goes on, and its result will be dropped" in session.pending()
        assert probe.ran == {"hold": 1}
        probe.release.set()
        value = await asyncio.wait_for(session.run(after, {x: [3.0, 4.0]}), PATIENCE)
        assert value.tolist() == [3.0, 4.0]
        assert probe.ran == {"hold": 2, "after": 1}, "the outputs of what was left behind are dropped"
        assert session.statistics().abandoned == 1 and is_idle(session)


async def test_what_is_left_behind_keeps_its_variable_until_it_ends(
    graph: Graph, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps_module, "GRACE", 0.02)
    v = af.Variable(np.zeros(256, np.float32))
    slow, read = slow_add(v, by=2.0), v.read_value()
    add = v.assign_add(np.ones(256, np.float32))
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        await session.warmup(slow)
        with pytest.raises(errors.DeadlineExceededError):
            await session.run(slow, timeout=0.3)
        assert probe.held.is_set() and session.statistics().abandoned == 1
        others = [asyncio.create_task(session.run(one)) for one in (read, add)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert not any(task.done() for task in others), "half of the variable has its new value"
        probe.release.set()
        for value in await asyncio.wait_for(asyncio.gather(*others), PATIENCE):
            assert (value == value[0]).all() and value[0] in (2.0, 3.0)
        assert (await session.run(read) == 3.0).all()


async def test_what_waits_for_a_variable_can_be_cancelled(graph: Graph, probe: Probe) -> None:
    v = af.Variable(np.zeros(256, np.float32))
    slow, add = slow_add(v, by=2.0), v.assign_add(np.ones(256, np.float32), read_value=False)
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        running = asyncio.create_task(session.run(slow))
        await until(probe.held.is_set)
        for way in WAYS:
            assert (
                await asyncio.wait_for(cancelled_at(way, 0.005, lambda **o: session.run(add, **o)), PATIENCE)
                == "cancelled"
            )
            assert session.statistics().inflight == 1
        probe.release.set()
        assert (await asyncio.wait_for(running, PATIENCE) == 2.0).all()
        assert (await session.run(v) == 2.0).all()


# ---- what is no error of the program


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("lane", ["coalesced", "inline", "thread"])
async def test_an_interrupt_in_a_kernel_comes_out_of_run(
    graph: Graph, probe: Probe, monkeypatch: pytest.MonkeyPatch, lane: str, error: type[BaseException]
) -> None:
    x = af.placeholder(af.float32, [2])
    y = probes.log(probes.log(x * 2.0, tag="raises") + 1.0, tag="after")
    if lane == "thread":
        monkeypatch.setattr("actorflow.engine.runtime.actors.INLINE_LIMIT_NS", ALL_ON_THREAD)

    def interrupt(value: Any) -> Any:
        raise error

    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=lane == "coalesced")) as session:
        probe.does["raises"] = interrupt
        with pytest.raises(error):
            await session.run(y, {x: [1.0, 2.0]})
        assert is_idle(session) and probe.ran == {"raises": 1}
        del probe.does["raises"]
        assert (await session.run(y, {x: [1.0, 2.0]})).tolist() == [3.0, 5.0]


def test_an_interrupt_leaves_a_blocking_session_usable(graph: Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [2])
    y = probes.log(x * 2.0, tag="raises")

    def interrupt(value: Any) -> Any:
        raise KeyboardInterrupt

    with af.blocking.Session(graph=graph) as session:
        for _ in range(3):
            probe.does["raises"] = interrupt
            with pytest.raises(KeyboardInterrupt):
                session.run(y, {x: [1.0, 2.0]})
            assert session.statistics().inflight == 0 and session.pending() == "no step is in flight"
            del probe.does["raises"]
            assert session.run(y, {x: [1.0, 2.0]}).tolist() == [2.0, 4.0]
