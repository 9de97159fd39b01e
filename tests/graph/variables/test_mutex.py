"""Critical sections: one execution at a time, in the order of arrival, and no lock that outlives its step."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.graph.graph import Graph
from actorflow.graph.ops.state.mutex import consume_mutex_lock, mutex_lock


def counting(v: af.Variable) -> Any:
    """Adds 1 by a read and a write, between which others may come unless a section keeps them out."""
    before = v.read_value()
    with af.control_dependencies([before]):
        return v.assign(before + 1)


async def test_a_section_makes_read_and_write_one() -> None:
    graph = Graph()
    with graph.as_default():
        v = af.Variable(0)
        section = af.CriticalSection()
        add = section.execute(lambda: counting(v))
    async with af.Session(graph=graph, limits=af.SessionLimits(max_inflight_steps=64)) as session:
        await session.run(v.initializer)
        results = await asyncio.gather(*(session.run(add) for _ in range(50)))
        assert sorted(int(r) for r in results) == list(range(1, 51))
        assert await session.run(v) == 50


async def test_the_result_comes_when_the_section_has_been_left() -> None:
    graph = Graph()
    with graph.as_default():
        section = af.CriticalSection()
        assert section.name == "CriticalSection"
        results = section.execute(lambda: {"a": af.constant(1), "b": [af.constant(2.0), None], "op": af.no_op()})
        assert results["b"][1] is None and results["op"].type == "ConsumeMutexLock"
        alone = section.execute(lambda: None)
        assert alone is None
    async with af.Session(graph=graph) as session:
        for _ in range(3):
            assert await session.run([results["a"], results["b"][0], results["op"]]) == [1, 2.0, None]


async def _held(graph: Graph, session: Any, section: af.CriticalSection) -> tuple[Any, Any, Any]:
    """A step that holds the lock until it is fed or cancelled: it took the ticket and asks for nothing but a feed."""
    with graph.as_default():
        ticket = mutex_lock(section.handle)
        with graph.control_dependencies([ticket]):
            more = af.placeholder(af.int32, [])
            last = consume_mutex_lock(section.handle, ticket + 0 * af.cast(more, af.int64))
    handle = await session.partial_run_setup([ticket, last], [more])
    return handle, ticket, (last, more)


async def test_steps_wait_their_turn_and_a_cancelled_one_leaves_the_queue() -> None:
    graph = Graph()
    with graph.as_default():
        section = af.CriticalSection()
        entered = section.execute(lambda: af.constant(7))
    async with af.Session(graph=graph) as session:
        handle, ticket, (last, more) = await _held(graph, session, section)
        assert await session.partial_run(handle, ticket) > 0
        first, second = (asyncio.ensure_future(session.run(entered)) for _ in range(2))
        while session.pending().count("waits in its asynchronous kernel") < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert not second.done()
        await session.partial_run(handle, last, {more: 0})
        assert await second == 7
        assert await session.run(entered) == 7


async def test_a_step_that_fails_inside_lets_go() -> None:
    graph = Graph()
    with graph.as_default():
        section = af.CriticalSection()
        index = af.placeholder(af.int32, [])
        risky = section.execute(lambda: af.gather([1, 2, 3], index))
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.InvalidArgumentError):
            await session.run(risky, {index: 9})
        assert await session.run(risky, {index: 2}) == 3


async def test_a_step_that_never_releases_lets_go_at_its_end() -> None:
    graph = Graph()
    with graph.as_default():
        section = af.CriticalSection()
        ticket = mutex_lock(section.handle)
        entered = section.execute(lambda: af.constant(1))
    async with af.Session(graph=graph) as session:
        first, second = await session.run(ticket), await session.run(ticket)
        assert first != second
        assert await session.run(entered) == 1


async def test_a_release_without_the_lock_is_refused() -> None:
    graph = Graph()
    with graph.as_default():
        section = af.CriticalSection()
        release = consume_mutex_lock(section.handle, np.int64(99))
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.InvalidArgumentError, match="is not held by the lock"):
            await session.run(release)


async def test_what_is_used_inside_is_computed_before() -> None:
    """Two executions of one section in a chain: the second one enters when the first one's result is there."""
    graph = Graph()
    with graph.as_default():
        v = af.Variable(1.0)
        section = af.CriticalSection()
        first = section.execute(lambda: v.assign_add(1.0))
        second = section.execute(lambda: v.assign(first * 10.0))
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        assert await session.run(second) == 20.0


def test_sessions_on_other_threads_share_a_section() -> None:
    """Ten threads with a session and an event loop each add without losing anything."""
    graph = Graph()
    with graph.as_default(), af.container("test_mutex"):
        v = af.Variable(0, name="v")
        section = af.CriticalSection(shared_name="shared")
        add = section.execute(lambda: counting(v))
    with af.blocking.Session(graph=graph) as session:
        session.run(v.initializer)

    def work() -> None:
        with af.blocking.Session(graph=graph) as mine:
            for _ in range(20):
                mine.run(add)

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with af.blocking.Session(graph=graph) as session:
        assert session.run(v) == 200


def test_mistakes_while_building() -> None:
    graph = Graph()
    with graph.as_default():
        v = af.Variable(1.0, name="v")
        one, other = af.CriticalSection(name="one"), af.CriticalSection(name="other")
        with pytest.raises(ValueError, match="one inside of itself, which would wait for ever"):
            one.execute(lambda: one.execute(lambda: af.constant(1)))
        one.execute(lambda: v.assign_add(1.0))
        with pytest.raises(ValueError, match="other uses v, which one uses too"):
            other.execute(lambda: v.assign_add(2.0))
        shared = af.CriticalSection(name="shared"), af.CriticalSection(name="too")
        w = af.Variable(1.0, name="w")
        for section in shared:
            section.execute(lambda: w.assign_add(1.0), exclusive_resource_access=False)
        with pytest.raises(TypeError, match="takes a handle"):
            mutex_lock(af.constant(1.0))
