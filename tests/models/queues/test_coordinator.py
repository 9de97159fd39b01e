"""Coordinators and queue runners: how threads, and tasks, that work together end together."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
import virtual

import actorflow as af
from actorflow.errors import InvalidArgumentError, OutOfRangeError
from actorflow.graph.graph import Graph

Coordinator = af.train.Coordinator


@pytest.fixture
def graph() -> Iterator[Graph]:
    graph = Graph()
    with graph.as_default():
        yield graph


def numbers(limit: int, capacity: int = 4, threads: int = 1) -> af.QueueBase:
    """A queue of the numbers below `limit`, and the runner that fills it."""
    counter = af.Variable(np.int64(0), name="counter")
    queue = af.FIFOQueue(capacity, af.int64, [()], name="numbers")
    enqueue = queue.enqueue(counter.count_up_to(limit))
    af.train.add_queue_runner(af.train.QueueRunner(queue, [enqueue] * threads))
    return queue


# ---- the stop


def test_a_stop_is_seen_by_all_and_keeps_the_first_error() -> None:
    coord = Coordinator()
    assert not coord.should_stop() and not coord.wait_for_stop(0)
    first = ValueError("first")
    coord.request_stop(first)
    coord.request_stop(ValueError("second"))
    assert coord.should_stop() and coord.wait_for_stop()
    with pytest.raises(ValueError, match="first"):
        coord.raise_requested_exception()
    with pytest.raises(ValueError, match="first"):
        coord.join([])
    assert coord.joined
    with pytest.raises(ValueError, match="late"):
        coord.request_stop(ValueError("late"))  # no one else would report it
    coord.clear_stop()
    assert not coord.should_stop() and not coord.joined
    coord.join([])


@pytest.mark.parametrize("form", ["exception", "exc_info"])
def test_the_end_of_the_input_is_a_clean_stop(form: str) -> None:
    coord = Coordinator()
    try:
        raise OutOfRangeError("the end")
    except OutOfRangeError as error:
        coord.request_stop(error if form == "exception" else sys.exc_info())
    assert coord.should_stop()
    coord.join([])
    own = Coordinator((StopIteration,))
    with own.stop_on_exception():
        raise StopIteration
    own.join([])


def test_join_names_the_stragglers() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="straggler")
    thread.start()
    coord = Coordinator()
    coord.register_thread(thread)
    coord.request_stop()
    try:
        with pytest.raises(RuntimeError, match="still running: straggler"):
            coord.join(stop_grace_period_secs=0.01)
        coord.join([thread], stop_grace_period_secs=0.01, ignore_live_threads=True)
    finally:
        release.set()
        thread.join()


def test_an_error_of_a_thread_comes_out_of_join() -> None:
    coord = Coordinator()

    def work() -> None:
        with coord.stop_on_exception():
            raise LookupError("from the thread")

    threads = [threading.Thread(target=work), threading.Thread(target=coord.wait_for_stop)]
    for thread in threads:
        thread.start()
    with pytest.raises(LookupError, match="from the thread"):
        coord.join(threads)


# ---- tasks


async def test_the_end_of_the_block_stops_the_tasks() -> None:
    ended = []

    async def work(coord: Coordinator, name: str) -> None:
        await coord.stopped()
        ended.append(name)

    async with Coordinator() as coord:
        for name in "ab":
            coord.start_soon(work, coord, name)
        await anyio.lowlevel.checkpoint()
        assert not ended
    assert sorted(ended) == ["a", "b"] and coord.joined


async def test_an_error_of_a_task_stops_the_others_and_comes_out_of_the_block() -> None:
    async def fail() -> None:
        raise LookupError("from the task")

    with pytest.raises(LookupError, match="from the task"):
        async with Coordinator() as coord:
            coord.start_soon(fail)
            await coord.stopped()


async def test_a_stop_from_another_thread_wakes_tasks() -> None:
    async with Coordinator() as coord:
        thread = threading.Thread(target=coord.request_stop)
        thread.start()
        await coord.stopped()
        thread.join()


async def test_the_end_of_the_input_inside_the_block_is_no_error() -> None:
    async with Coordinator() as coord:
        raise OutOfRangeError("the end")
    assert coord.should_stop()
    with pytest.raises(KeyError):
        async with Coordinator():
            raise KeyError("a mistake of the block")


def test_tasks_that_go_on_are_cancelled_after_the_grace_and_named() -> None:
    async def main() -> None:
        async def stubborn() -> None:
            await anyio.sleep(1000)

        with pytest.raises(RuntimeError, match=r"still running: .*stubborn"):
            async with Coordinator(stop_grace_period_secs=5) as coord:
                coord.start_soon(stubborn)

    _, seconds = virtual.run(main)
    assert seconds == pytest.approx(5)


async def test_tasks_need_the_block() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        Coordinator().start_soon(anyio.sleep, 0)


async def test_cancelling_the_block_cancels_its_tasks() -> None:
    with anyio.CancelScope() as scope:
        async with Coordinator() as coord:
            coord.start_soon(anyio.sleep_forever)
            await anyio.lowlevel.checkpoint()
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught and coord.joined


# ---- queue runners

Drive = Callable[[af.QueueBase], "list[int]"]


def drive_with_threads(queue: af.QueueBase) -> list[int]:
    """All that comes out of `queue`, with a blocking session."""
    dequeue, init = queue.dequeue(), af.global_variables_initializer()
    got: list[int] = []
    with af.blocking.Session() as session:
        session.run(init)
        coord = Coordinator()
        threads = af.train.start_queue_runners(session, coord, daemon=False)
        try:
            while not coord.should_stop():
                got.append(int(session.run(dequeue)))
        except Exception as error:
            coord.request_stop(error)
        coord.join(threads)
    return got


def drive_with_tasks(queue: af.QueueBase) -> list[int]:
    """The same with an async session."""
    dequeue, init = queue.dequeue(), af.global_variables_initializer()
    got: list[int] = []

    async def main() -> None:
        async with af.Session() as session:
            await session.run(init)
            async with Coordinator() as coord:
                assert af.train.start_queue_runners(session, coord) == []
                while not coord.should_stop():
                    got.append(int(await session.run(dequeue)))
            assert session.pending() == "no step is in flight"

    virtual.run(main)
    return got


@pytest.fixture(params=["threads", "tasks"])
def drive(request: pytest.FixtureRequest) -> Drive:
    return {"threads": drive_with_threads, "tasks": drive_with_tasks}[request.param]


@pytest.mark.parametrize("loops", [1, 3])
def test_a_runner_fills_its_queue_and_closes_it_at_the_end(graph: Graph, drive: Drive, loops: int) -> None:
    got = drive(numbers(20, threads=loops))
    assert sorted(got) == list(range(20))
    if loops == 1:
        assert got == list(range(20))


def test_an_error_of_a_runner_stops_all_and_comes_out(graph: Graph, drive: Drive) -> None:
    queue = af.FIFOQueue(4, af.float32, [()])
    bad = af.check_numerics(af.constant(np.nan, af.float32), "no number")
    af.train.add_queue_runner(af.train.QueueRunner(queue, [queue.enqueue(bad)]))
    with pytest.raises(InvalidArgumentError, match="no number"):
        drive(queue)


def test_a_stop_ends_runners_that_wait(graph: Graph) -> None:
    """The queue is full, so the loops wait in their enqueues; no one takes anything."""
    queue = numbers(1000, capacity=2, threads=2)
    init = af.global_variables_initializer()
    size = queue.size()

    async def main() -> None:
        async with af.Session() as session:
            await session.run(init)
            async with Coordinator() as coord:
                af.train.start_queue_runners(session, coord)
                while await session.run(size) < 2:
                    pass

    virtual.run(main)
    with af.blocking.Session() as session:
        session.run(init)
        coord = Coordinator()
        threads = af.train.start_queue_runners(session, coord)
        assert af.train.start_queue_runners(session, coord) == []  # they run already
        while session.run(size) < 2:
            coord.wait_for_stop(0.001)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=20)
        assert not any(thread.is_alive() for thread in threads)


def test_without_a_coordinator_errors_are_kept(graph: Graph) -> None:
    queue = af.FIFOQueue(4, af.float32, [()])
    bad = af.check_numerics(af.constant(np.nan, af.float32), "no number")
    runner = af.train.QueueRunner(queue, [queue.enqueue(bad)])
    with af.blocking.Session() as session:
        for thread in runner.create_threads(session, start=True):
            thread.join()
    assert [type(e) for e in runner.exceptions_raised] == [InvalidArgumentError]


async def test_mistakes(graph: Graph) -> None:
    queue = af.FIFOQueue(4, af.int32, [()])
    with pytest.raises(ValueError, match="Must provide"):
        af.train.QueueRunner(queue, [])
    wrong: Any = (ValueError,)
    with pytest.raises(TypeError, match="types of errors"):
        af.train.QueueRunner(queue, [queue.enqueue(1)], queue_closed_exception_types=wrong)
    async with af.Session() as session:
        with pytest.raises(ValueError, match="coordinator"):
            af.train.start_queue_runners(session)
    with pytest.raises(ValueError, match="No default session"):
        af.train.start_queue_runners()
