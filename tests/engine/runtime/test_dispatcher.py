"""The ready queue and its pump: any order gives the same values, and everybody gets a turn."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import probes
import pytest
from engine.runtime.ready_queues import Lifo, Shuffled
from patience import PATIENCE
from probes import Probe, probe

import actorflow as af
from actorflow.engine.runtime import actors
from actorflow.engine.runtime import dispatcher as dispatching
from actorflow.engine.runtime.dispatcher import Dispatcher, ReadyQueue

__all__ = ["probe"]


def use(queue: ReadyQueue) -> None:
    Dispatcher.of(asyncio.get_running_loop()).queue = queue


async def test_a_loop_has_one_dispatcher_for_all_sessions(graph: af.Graph) -> None:
    loop = asyncio.get_running_loop()
    assert Dispatcher.of(loop) is Dispatcher.of(loop)
    other = asyncio.new_event_loop()
    try:
        assert Dispatcher.of(other) is not Dispatcher.of(loop)
    finally:
        other.close()


@pytest.mark.parametrize("queue", [deque, Lifo, lambda: Shuffled(1), lambda: Shuffled(2)])
async def test_f40_the_order_of_the_queue_changes_no_value(graph: af.Graph, queue: Callable[[], Any]) -> None:
    x = af.placeholder(af.float64, [3])
    values = [x, x + 1.0]
    rng = random.Random(7)
    for _ in range(200):
        values.append(rng.choice([af.add, af.subtract, af.maximum])(rng.choice(values[-9:]), rng.choice(values[-9:])))
    use(queue())
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=False)) as session:
        found = await session.run(values, {x: [1.0, 2.0, 3.0]})
    async with af.Session(graph=graph) as session:
        use(deque())
        expected = await session.run(values, {x: [1.0, 2.0, 3.0]})
    for a, b in zip(found, expected, strict=True):
        assert a.tobytes() == b.tobytes()


async def test_f19_ready_nodes_fire_in_any_order(graph: af.Graph, seed: int) -> None:
    """1, 2, 4, 7: the sum is 3, and then the product 12 and the difference -4 come in both orders."""
    a, b, c, d = (af.constant(n) for n in (1, 2, 4, 7))
    total = af.add(a, b, name="sum")
    product, difference = af.multiply(total, c, name="product"), af.subtract(total, d, name="difference")
    orders = set()
    async with af.Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        use(Shuffled(seed))
        for _ in range(200):
            trace = af.Trace()
            assert await session.run([total, product, difference], trace=trace) == [3, 12, -4]
            orders.add(tuple(n for n in trace.names() if n in ("sum", "product", "difference")))
    assert orders == {("sum", "product", "difference"), ("sum", "difference", "product")}


async def test_a_chain_needs_no_turn_of_the_loop_between_its_links(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One turn is enough for all that becomes ready within the slice, and `run` gives one to the others."""
    monkeypatch.setattr(dispatching, "SLICE", 10.0)
    monkeypatch.setattr(actors, "INLINE_LIMIT_NS", 1e15)  # however slow the machine is at the moment
    x = af.placeholder(af.float32, [])
    y = x
    for _ in range(500):
        y = y + 1.0
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=False)) as session:
        await session.run(y, {x: 0.0})
        other = asyncio.create_task(count())
        await asyncio.sleep(0)
        before = turns
        assert await session.run(y, {x: 0.0}) == 500.0
        other.cancel()
        assert 1 <= turns - before <= 2


async def test_a_long_step_leaves_turns_to_others(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain takes no more than its slice of each turn of the event loop, here a very short one."""
    monkeypatch.setattr(dispatching, "SLICE", 1e-4)
    x = af.placeholder(af.float32, [])
    y = x
    for _ in range(3000):
        y = y + 1.0
    turns = 0

    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=False)) as session:
        running = asyncio.create_task(session.run(y, {x: 0.0}))
        while not running.done():
            await asyncio.sleep(0)
            turns += 1
        assert await running == 3000.0
    assert turns > 5


async def test_a_loop_of_runs_starves_nobody(graph: af.Graph) -> None:
    """Each `run` gives the loop at least one turn, however fast it is."""
    x = af.placeholder(af.float32, [])
    y = x + 1.0
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with af.Session(graph=graph) as session:
        call = await session.make_callable(y, [x])
        other = asyncio.create_task(count())
        await asyncio.sleep(0)
        before = turns
        for _ in range(50):
            await session.run(y, {x: 1.0})
            await call(1.0)
        other.cancel()
        assert turns - before >= 100


async def test_a_thousand_runs_at_once_start_in_order_and_look_seldom_whether_they_may(
    graph: af.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock on which each look takes a third of the slice: a turn starts a step or two. Were all that wait to look in each
    turn, that would be a quarter of a million looks."""
    looks = 0
    ticks = itertools.count(step=dispatching.SLICE / 3)

    class Counting(Dispatcher):
        def _has_time(self) -> bool:
            nonlocal looks
            looks += 1
            return super()._has_time()

    x = af.placeholder(af.int32, [])
    y = x + 1
    order: list[int] = []

    async def one(number: int) -> None:
        assert await call(number) == number + 1
        order.append(number)

    async with af.Session(graph=graph, limits=af.SessionLimits(max_queued_steps=1000)) as session:
        call = await session.make_callable(y, [x])
        await call(0)
        dispatcher = Dispatcher.of(asyncio.get_running_loop())
        monkeypatch.setattr(dispatcher, "__class__", Counting)
        monkeypatch.setattr(dispatcher, "_clock", lambda: next(ticks))
        runs = [asyncio.create_task(one(number)) for number in range(1000)]
        await asyncio.sleep(0)
        for cancelled in runs[100:1000:100]:  # they leave the line, and the rest moves up
            cancelled.cancel()
        await asyncio.wait(runs, timeout=PATIENCE)
        assert order == [n for n in range(1000) if n < 100 or n % 100]
        assert looks < 20_000
        assert not dispatcher._waiting


async def test_the_pump_survives_what_raises_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal's KeyboardInterrupt between two tasks loses none of them."""
    monkeypatch.setattr(dispatching, "SLICE", 10.0)
    dispatcher = Dispatcher.of(asyncio.get_running_loop())
    ran: list[int] = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    def nested() -> None:
        dispatcher.pump()  # does nothing while it runs already
        ran.append(0)

    for callback in (nested, interrupt, lambda: ran.append(1)):
        dispatcher.call_soon(callback, context=contextvars.copy_context())
    with pytest.raises(KeyboardInterrupt):
        dispatcher.pump()
    assert ran == [0]
    for _ in range(3):
        await asyncio.sleep(0)
    assert ran == [0, 1] and not dispatcher.queue


async def test_node_tasks_are_tasks(graph: af.Graph, probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every node that fires is an asyncio task, in the context of its run."""
    monkeypatch.setattr(actors, "INLINE_LIMIT_NS", 1e15)  # on a slow machine its kernel would run on a thread next time
    number: contextvars.ContextVar[int] = contextvars.ContextVar("number", default=0)
    x = af.placeholder(af.float32, [])
    y = probes.log(probes.log(x, tag="first"), tag="second")
    seen: list[tuple[bool, int]] = []

    def look(value: Any) -> Any:
        seen.append((asyncio.current_task() not in (None, caller), number.get()))
        number.set(-1)  # stays in the step
        return value

    probe.does["first"] = probe.does["second"] = look
    caller = asyncio.current_task()
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=False)) as session:
        for given in (5, 6):
            number.set(given)
            await session.run(y, {x: 1.0})
            assert number.get() == given
    assert [n for _, n in seen] == [5, -1, 6, -1]
    assert all(is_task for is_task, _ in seen)
