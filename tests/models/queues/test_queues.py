"""Queues in sessions: what waits, what wakes it, what it raises, and that nothing is lost on the way."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from actorflow.graph.graph import Graph
from actorflow.graph.ops.io.queues import queue_size
from actorflow.kernels.io.queues.core import Put, QueueCore, QueueTake
from actorflow.kernels.io.queues.elements import QueueSpec
from actorflow.kernels.io.queues.shared import SharedQueue
from actorflow.kernels.io.queues.stores import Fifo

KINDS: dict[str, Callable[..., af.QueueBase]] = {
    "fifo": lambda capacity: af.FIFOQueue(capacity, af.int64, shapes=[()], name="q"),
    "shuffled": lambda capacity: af.RandomShuffleQueue(capacity, 0, af.int64, shapes=[()], seed=1, name="q"),
    "padded": lambda capacity: af.PaddingFIFOQueue(capacity, af.int64, shapes=[()], name="q"),
    "prioritized": lambda capacity: af.PriorityQueue(capacity, [], name="q"),
}


@pytest.fixture
def graph() -> Iterator[Graph]:
    graph = Graph()
    with graph.as_default():
        yield graph


@pytest.fixture(params=sorted(KINDS))
def make(request: pytest.FixtureRequest) -> Callable[[int], af.QueueBase]:
    return KINDS[request.param]


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def start(awaited: Any) -> asyncio.Task[Any]:
    return asyncio.get_running_loop().create_task(awaited)


# ---- what all kinds share


async def test_f83_a_full_queue_holds_an_enqueue_and_an_empty_one_a_dequeue(graph: Graph, make: Any) -> None:
    queue = make(2)
    value = af.placeholder(af.int64, ())
    enqueue, dequeue, size = queue.enqueue(value), queue.dequeue(), queue.size()
    async with af.Session() as session:
        for i in (1, 2):
            await session.run(enqueue, {value: i})
        third = start(session.run(enqueue, {value: 3}))
        await turns()
        assert not third.done() and await session.run(size) == 2
        assert "q_enqueue" in session.pending()
        first = await session.run(dequeue)
        await third
        assert await session.run(size) == 2
        assert sorted([first, await session.run(dequeue), await session.run(dequeue)]) == [1, 2, 3]
        waiting = start(session.run(dequeue))
        await turns()
        assert not waiting.done() and session.statistics().inflight == 0
        await session.run(enqueue, {value: 4})
        assert await waiting == 4


async def test_f83_dequeue_many_waits_for_its_number(graph: Graph, make: Any) -> None:
    queue = make(10)
    value = af.placeholder(af.int64, (None,))
    enqueue, three = queue.enqueue_many(value), queue.dequeue_many(3)
    async with af.Session() as session:
        waiting = start(session.run(three))
        await session.run(enqueue, {value: [1, 2]})
        await turns()
        assert not waiting.done()
        await session.run(enqueue, {value: [3, 4]})
        assert sorted(await waiting) == [1, 2, 3]


async def test_f83_a_batch_may_be_larger_than_the_queue(graph: Graph, make: Any) -> None:
    queue = make(2)
    enqueue, five = queue.enqueue_many(np.arange(5)), queue.dequeue_many(5)
    async with af.Session() as session:
        waiting = start(session.run(five))
        await session.run(enqueue)
        assert sorted(await waiting) == [0, 1, 2, 3, 4]


async def test_f83_a_closed_queue_is_drained_and_then_out_of_range(graph: Graph, make: Any) -> None:
    queue = make(10)
    enqueue, close, closed = queue.enqueue_many(np.arange(3)), queue.close(), queue.is_closed()
    async with af.Session() as session:
        await session.run(enqueue)
        assert not await session.run(closed)
        await session.run(close)
        assert await session.run(closed)
        with pytest.raises(CancelledError, match="'q' is closed"):
            await session.run(enqueue)
        with pytest.raises(CancelledError, match="already closed"):
            await session.run(close)
        with pytest.raises(OutOfRangeError, match=r"insufficient elements \(requested 4, current size 3\)"):
            await session.run(queue.dequeue_many(4))
        assert sorted(await session.run(queue.dequeue_up_to(4))) == [0, 1, 2]
        for late in (queue.dequeue(), queue.dequeue_many(1), queue.dequeue_up_to(1)):
            with pytest.raises(OutOfRangeError, match="current size 0"):
                await session.run(late)
        assert (await session.run(queue.dequeue_many(0))).shape == (0,)


async def test_f83_close_waits_behind_enqueues_unless_it_cancels_them(graph: Graph, make: Any) -> None:
    queue = make(1)
    enqueue, dequeue = queue.enqueue_many(np.arange(2)), queue.dequeue()
    close, cancel = queue.close(), queue.close(cancel_pending_enqueues=True)
    async with af.Session() as session:
        waiting = start(session.run(enqueue))
        await turns()
        closing = start(session.run(close))
        await turns()
        assert not closing.done()
        await session.run(dequeue)
        await asyncio.gather(waiting, closing)
        assert await session.run(dequeue) == 1
    async with af.Session() as session:
        waiting = start(session.run(enqueue))
        await turns()
        await session.run(cancel)
        with pytest.raises(CancelledError, match="cancelled"):
            await waiting
        assert await session.run(dequeue) == 0  # what it had put in stays
        await session.run(cancel)  # closing so a second time is no error


async def test_only_the_head_is_tried(graph: Graph) -> None:
    queue = af.FIFOQueue(10, af.int32, [()])
    enqueue, two, one = queue.enqueue(7), queue.dequeue_many(2), queue.dequeue()
    async with af.Session() as session:
        large = start(session.run(two))
        await turns()
        small = start(session.run(one))
        await session.run(enqueue)
        await turns()
        assert not small.done()
        await session.run(enqueue)
        assert (await large).tolist() == [7, 7]
        await session.run(enqueue)
        assert await small == 7


@pytest.mark.parametrize("way", ["cancel", "timeout"])
async def test_a_step_that_is_stopped_while_it_waits_loses_no_element(graph: Graph, way: str) -> None:
    queue = af.FIFOQueue(10, af.int32, [()])
    enqueue, three, size = queue.enqueue_many([1, 2]), queue.dequeue_many(3), queue.size()
    async with af.Session() as session:
        waiting = start(session.run(three, timeout=None if way == "cancel" else 0.01))
        await session.run(enqueue)
        await turns()
        if way == "cancel":
            waiting.cancel()
        with pytest.raises((asyncio.CancelledError, DeadlineExceededError)):
            await waiting
        assert await session.run(size) == 2
        assert (await session.run(queue.dequeue_many(2))).tolist() == [1, 2]
        assert session.pending() == "no step is in flight"


class Stoppable:
    """The part of a step that a queue sees."""

    id = 1
    rendezvous: Any = None

    def __init__(self) -> None:
        self.callbacks: dict[object, Callable[[], None]] = {}

    def on_cancel(self, callback: Callable[[], None], reason: Any = None) -> Callable[[], None]:
        key = object()
        self.callbacks[key] = callback
        return lambda: self.callbacks.pop(key, None) and None

    def stop(self) -> None:
        for callback in list(self.callbacks.values()):
            callback()


@pytest.mark.parametrize("way", ["cancel", "stop"])
async def test_cancellation_at_any_moment_loses_no_element(way: str, seed: int) -> None:
    """Consumers are stopped after some turns of the loop, also when they have just got what they waited for. Elements
    that were put in come out once, in order."""
    draw = random.Random(seed)
    queue = SharedQueue(QueueCore("q", Fifo(), 3), QueueSpec("FIFOQueueV2", "q", 3, (af.int64,), ((),)))
    got: list[int] = []
    put = stopped = 0
    for _ in range(300):
        step = Stoppable()
        consumer = start(queue.perform(QueueTake(draw.choice([1, 2, 4])), step))
        await turns(draw.randrange(4))
        producer = start(queue.perform(Put([(put,), (put + 1,)]), Stoppable()))
        put += 2
        await turns(draw.randrange(4))
        if way == "cancel":
            consumer.cancel()
        else:
            step.stop()
            await turns(3)
            consumer.cancel()  # one that came too late to be stopped
        (outcome,) = await asyncio.gather(consumer, return_exceptions=True)
        if isinstance(outcome, BaseException):
            stopped += 1
        else:
            got += [element[0] for element in outcome.elements]
        assert not step.callbacks
        while not producer.done():
            if queue.look(len):
                got.append(queue.perform_nowait(QueueTake(1)).elements[0][0])
            await turns(1)
    left = queue.statistics()
    assert (left.waiting_to_put, left.waiting_to_take, left.closed) == (0, 0, False)
    got += [element[0] for element in queue.perform_nowait(QueueTake(left.size)).elements]
    assert got == list(range(put))
    assert 0 < stopped < 300


async def test_a_stopped_enqueue_many_leaves_what_it_had_put(graph: Graph) -> None:
    queue = af.FIFOQueue(2, af.int32, [()])
    enqueue, size = queue.enqueue_many([1, 2, 3]), queue.size()
    async with af.Session() as session:
        await session.warmup(enqueue)
        with pytest.raises(DeadlineExceededError, match="EnqueueMany"):
            await session.run(enqueue, timeout=0.3)
        assert await session.run(size) == 2
        assert (await session.run(queue.dequeue_many(2))).tolist() == [1, 2]


async def test_an_error_elsewhere_in_the_step_wakes_the_waiter(graph: Graph) -> None:
    queue = af.FIFOQueue(2, af.float32, [()])
    bad = af.check_numerics(af.placeholder(af.float32, (), name="x"), "bad")
    dequeue = queue.dequeue()
    async with af.Session() as session:
        with pytest.raises(InvalidArgumentError, match="bad"):
            await session.run([dequeue, bad], {"x:0": np.nan})
        assert session.pending() == "no step is in flight"
        await session.run(queue.enqueue(1.0))
        assert await session.run(dequeue) == 1.0


async def test_f88_ten_thousand_blocked_dequeues_hold_no_thread(graph: Graph) -> None:
    queue = af.FIFOQueue(10, af.int32, [()])
    dequeue, close = queue.dequeue(), queue.close()
    async with af.Session(
        limits=af.SessionLimits(max_inflight_steps=4, max_queued_steps=10_000, max_waiting_steps=10_000)
    ) as session:
        await session.warmup(dequeue)
        before = threading.active_count()
        waiting = [start(session.run(dequeue)) for _ in range(10_000)]
        while session.statistics().steps < 10_000 or session.statistics().inflight:
            await turns(1)
        assert threading.active_count() <= before
        assert session.statistics().inflight == 0
        await session.run(close)
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(e) for e in ended} == {OutOfRangeError}
        assert threading.active_count() <= before


async def test_a_closed_session_ends_what_waits(graph: Graph) -> None:
    queue = af.FIFOQueue(10, af.int32, [()])
    session = af.Session()
    waiting = start(session.run(queue.dequeue()))
    await turns()
    await session.close()
    with pytest.raises(CancelledError):
        await waiting


# ---- each kind


async def test_f84_a_shuffling_queue_keeps_its_minimum_until_it_is_closed(graph: Graph) -> None:
    queue = af.RandomShuffleQueue(100, 5, af.int32, [()], seed=3)
    enqueue, dequeue, close = queue.enqueue_many(np.arange(50, dtype=np.int32)), queue.dequeue(), queue.close()
    rest = queue.dequeue_many(5)
    orders = []
    for _ in range(2):
        async with af.Session() as session:
            await session.run(enqueue)
            order = [int(await session.run(dequeue)) for _ in range(45)]
            waiting = start(session.run(rest))
            await turns()
            assert not waiting.done()
            await session.run(close)
            order += (await waiting).tolist()
            assert sorted(order) == list(range(50)) != order
            orders.append(order)
    assert orders[0] == orders[1]  # the seed's order, in each session


async def test_a_padding_queue_pads_to_the_largest_of_the_batch(graph: Graph) -> None:
    queue = af.PaddingFIFOQueue(10, [af.int32, af.string], [(None, 2), (None,)])
    number, text = af.placeholder(af.int32), af.placeholder(af.string)
    enqueue, three = queue.enqueue([number, text]), queue.dequeue_many(3)
    assert [t.static_shape for t in three] == [(3, None, 2), (3, None)]
    async with af.Session() as session:
        for n, t in [([[1, 2]], ["a"]), ([[1, 2], [3, 4]], []), (np.zeros([0, 2]), ["x", "y", "z"])]:
            await session.run(enqueue, {number: np.asarray(n, np.int32), text: t})
        numbers, texts = await session.run(three)
        assert numbers.tolist() == [[[1, 2], [0, 0]], [[1, 2], [3, 4]], [[0, 0], [0, 0]]]
        assert texts.tolist() == [[b"a", b"", b""], [b"", b"", b""], [b"x", b"y", b"z"]]
        with pytest.raises(InvalidArgumentError, match="component 0"):
            await session.run(enqueue, {number: [[1, 2, 3]], text: ["a"]})
        assert [v.shape for v in await session.run(queue.dequeue_many(0))] == [(0, 0, 2), (0, 0)]


async def test_a_priority_queue_gives_the_smallest_first(graph: Graph) -> None:
    queue = af.PriorityQueue(10, af.string, [()])
    enqueue = queue.enqueue_many([np.array([3, 1, 2, 1]), ["c", "a", "b", "aa"]])
    async with af.Session() as session:
        await session.run(enqueue)
        priorities, values = await session.run(queue.dequeue_many(4))
        assert priorities.tolist() == [1, 1, 2, 3] and values.tolist() == [b"a", b"aa", b"b", b"c"]


async def test_names_make_dicts(graph: Graph) -> None:
    queue = af.FIFOQueue(5, [af.int32, af.float32], [(), (2,)], names=["a", "b"])
    async with af.Session() as session:
        await session.run(queue.enqueue({"b": [1.0, 2.0], "a": 1}))
        await session.run(queue.enqueue_many({"a": [2], "b": [[3.0, 4.0]]}))
        found = await session.run(queue.dequeue())
        assert found["a"] == 1 and found["b"].tolist() == [1.0, 2.0]
        assert (await session.run(queue.dequeue_many(1)))["b"].tolist() == [[3.0, 4.0]]
    with pytest.raises(ValueError, match="dictionary"):
        queue.enqueue((1, [1.0, 2.0]))
    with pytest.raises(ValueError, match="Keys in dictionary"):
        queue.enqueue({"a": 1})


async def test_a_queue_is_chosen_by_an_index_of_the_run(graph: Graph) -> None:
    queues = [af.FIFOQueue(5, af.int32, [()], name=f"q{i}") for i in range(3)]
    index = af.placeholder(af.int32, ())
    chosen = af.QueueBase.from_list(index, queues)
    async with af.Session() as session:
        for i in range(3):
            await session.run(chosen.enqueue(10 + i), {index: i})
        assert [await session.run(q.dequeue()) for q in queues] == [10, 11, 12]
        with pytest.raises(InvalidArgumentError, match=r"is not in \[0, 3\)"):
            await session.run(chosen.size(), {index: 3})
    with pytest.raises(TypeError, match="matching component dtypes"):
        af.QueueBase.from_list(index, [queues[0], af.FIFOQueue(5, af.string)])
    with pytest.raises(TypeError, match="list of queues"):
        af.QueueBase.from_list(index, [])


async def test_an_element_is_not_the_programs_array(graph: Graph) -> None:
    queue = af.FIFOQueue(5, af.float32, [(3,)])
    row, rows = af.placeholder(af.float32, (3,)), af.placeholder(af.float32, (None, 3))
    one, many = np.ones(3, np.float32), np.ones((2, 3), np.float32)
    async with af.Session() as session:
        await session.run(queue.enqueue(row), {row: one})
        await session.run(queue.enqueue_many(rows), {rows: many})
        one[:] = many[:] = 5
        assert (await session.run(queue.dequeue_many(3))).tolist() == [[1.0] * 3] * 3


async def test_a_barrier_joins_components_by_key(graph: Graph) -> None:
    barrier = af.Barrier([af.int32, af.string], shapes=[(), (2,)])
    first = barrier.insert_many(0, ["k1", "k2"], [10, 20])
    second = barrier.insert_many(1, ["k2", "k1"], [["x", "y"], ["z", "w"]])
    taken, sizes = barrier.take_many(2), [barrier.ready_size(), barrier.incomplete_size()]
    assert [taken.indices.static_shape, taken.values[1].static_shape] == [(2,), (2, 2)]
    async with af.Session() as session:
        waiting = start(session.run(taken))
        await session.run(first)
        assert await session.run(sizes) == [0, 2]
        with pytest.raises(InvalidArgumentError, match="already has a value"):
            await session.run(first)
        await session.run(second)
        indices, keys, values = await waiting
        assert indices.tolist() == [-(2**63)] * 2 and keys.tolist() == [b"k1", b"k2"]
        assert values[0].tolist() == [10, 20] and values[1].tolist() == [[b"z", b"w"], [b"x", b"y"]]
        await session.run(barrier.close())
        with pytest.raises(CancelledError, match="brand new key"):
            await session.run(first)
        with pytest.raises(OutOfRangeError, match="insufficient"):
            await session.run(barrier.take_many(1, allow_small_batch=True))


# ---- sharing


@pytest.mark.parametrize(
    ("first", "second", "fact"),
    [
        (lambda: af.FIFOQueue(3, af.int32, shared_name="s"), lambda: af.FIFOQueue(4, af.int32, shared_name="s"), "capacity"),
        (lambda: af.FIFOQueue(3, af.int32, shared_name="s"), lambda: af.FIFOQueue(3, af.string, shared_name="s"), "types"),
        (lambda: af.FIFOQueue(3, af.int32, shared_name="s"), lambda: af.FIFOQueue(3, af.int32, [()], shared_name="s"), "shapes"),
        (
            lambda: af.RandomShuffleQueue(3, 1, af.int32, shared_name="s", seed=1),
            lambda: af.RandomShuffleQueue(3, 2, af.int32, shared_name="s", seed=1),
            "min_after_dequeue",
        ),
        (lambda: af.FIFOQueue(3, af.int32, shared_name="s"), lambda: af.PriorityQueue(3, [], shared_name="s"), "type"),
    ],
)  # fmt: skip
async def test_one_name_is_one_kind_of_queue(graph: Graph, first: Any, second: Any, fact: str) -> None:
    sizes = [first().size(), second().size()]
    async with af.Session() as session:
        await session.run(sizes[0])
        with pytest.raises(InvalidArgumentError, match=f"Shared queue 's' has .*{fact}"):
            await session.run(sizes[1])


def shared_graph(container: str, capacity: int = 4) -> tuple[Graph, af.QueueBase]:
    graph = Graph()
    with graph.as_default(), af.container(container):
        return graph, af.FIFOQueue(capacity, af.int32, [()], shared_name="shared")


def test_f35_sessions_on_other_threads_meet_at_a_queue() -> None:
    """One thread consumes what another produces, through a queue of 4 in a named container."""
    there, far = shared_graph("queues_of_threads")
    here, near = shared_graph("queues_of_threads")
    with there.as_default():
        value = af.placeholder(af.int32, ())
        enqueue, close = far.enqueue(value), far.close()
    with here.as_default():
        dequeue = near.dequeue()

    def produce() -> None:
        with af.blocking.Session(graph=there) as session:
            for i in range(300):
                session.run(enqueue, {value: i})
            session.run(close)

    producer = threading.Thread(target=produce)
    got: list[int] = []
    try:
        with af.blocking.Session(graph=here) as session:
            producer.start()
            with pytest.raises(OutOfRangeError):
                while True:
                    got.append(int(session.run(dequeue)))
        producer.join()
        assert got == list(range(300))
    finally:
        af.Session.reset(containers=["queues_of_threads"])


async def test_f35_a_reset_ends_what_waits_at_a_queue_of_the_container() -> None:
    graph, queue = shared_graph("queues_to_reset")
    with graph.as_default():
        dequeue = queue.dequeue()
    async with af.Session(graph=graph) as session:
        waiting = start(session.run(dequeue))
        await turns()
        af.Session.reset(containers=["queues_to_reset"])
        with pytest.raises(CancelledError, match="dropped"):
            await waiting


async def test_the_default_container_is_the_sessions_own(graph: Graph) -> None:
    queue = af.FIFOQueue(4, af.int32, [()], shared_name="mine")
    enqueue, size = queue.enqueue(1), queue.size()
    async with af.Session() as first, af.Session() as second:
        await first.run(enqueue)
        assert (await first.run(size), await second.run(size)) == (1, 0)


# ---- mistakes


async def test_mistakes_while_the_graph_is_built(graph: Graph) -> None:
    queue = af.FIFOQueue(3, [af.int32, af.float32], [(), (2,)])
    with pytest.raises(ValueError, match=r"has shape \(2,\)"):
        queue.enqueue([1, [1.0, 2.0, 3.0]])
    with pytest.raises(TypeError):
        queue.enqueue([1.5, [1.0, 2.0]])
    with pytest.raises(ValueError, match="2 components"):
        queue.enqueue([1])
    with pytest.raises(ValueError, match="fully defined"):
        af.FIFOQueue(3, af.int32, shapes=[(None,)])
    with pytest.raises(ValueError, match="same length as dtypes"):
        af.FIFOQueue(3, [af.int32], shapes=[(), ()])
    with pytest.raises(ValueError, match="List of names"):
        af.FIFOQueue(3, [af.int32], names=["a", "b"])
    with pytest.raises(ValueError, match="one component or more"):
        af.FIFOQueue(3, [])
    for capacity, kept in [(3, 3), (3, 4), (3, -1)]:
        with pytest.raises(ValueError, match="min_after_dequeue"):
            af.RandomShuffleQueue(capacity, kept, af.int32)
    with pytest.raises(ValueError, match="zero or more"):
        queue.dequeue_many(-1)
    with pytest.raises(TypeError, match="handle of a queue"):
        queue_size(3)


async def test_mistakes_in_the_run(graph: Graph) -> None:
    queue = af.FIFOQueue(3, [af.int32, af.int32], [(), ()])
    left, right = af.placeholder(af.int32), af.placeholder(af.int32)
    one, many = queue.enqueue([left, right]), queue.enqueue_many([left, right])
    shapeless = af.FIFOQueue(3, af.int32)
    count = af.placeholder(af.int32, ())
    async with af.Session() as session:
        with pytest.raises(InvalidArgumentError, match="component 1"):
            await session.run(one, {left: 1, right: [1]})
        with pytest.raises(InvalidArgumentError, match="same size in the 0th"):
            await session.run(many, {left: [1, 2], right: [1]})
        with pytest.raises(InvalidArgumentError, match="is a scalar"):
            await session.run(many, {left: 1, right: 1})
        with pytest.raises(InvalidArgumentError, match=r"Expected \[1\], got \[1,1\]"):
            await session.run(many, {left: [[1]], right: [1]})
        with pytest.raises(InvalidArgumentError, match="require the components to have specified shapes"):
            await session.run(shapeless.dequeue_many(2))
        with pytest.raises(InvalidArgumentError, match="-1 elements"):
            await session.run(queue.dequeue_many(count), {count: -1})
        await session.run(shapeless.enqueue_many([[1, 2]]))
        assert await session.run(shapeless.dequeue()) == 1


def test_a_graph_with_queues_survives_bytes(graph: Graph) -> None:
    queue = af.RandomShuffleQueue(8, 1, [af.int32, af.string], [(), (2,)], seed=5)
    queue.enqueue([1, ["a", "b"]])
    taken = queue.dequeue_many(2)
    again = Graph.from_bytes(graph.to_bytes())
    assert str(again) == str(graph)
    assert again.get_tensor_by_name(taken[1].name).static_shape == (2, 2)
