"""Input producers, batching and prefetching: what comes out, how often, in what order, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import probes
import pytest
import virtual

import actorflow as af
from actorflow.errors import InvalidArgumentError, OutOfRangeError
from actorflow.graph.graph import Graph


@pytest.fixture
def graph() -> Iterator[Graph]:
    graph = Graph()
    with graph.as_default():
        yield graph


def everything(fetch: Any) -> list[Any]:
    """The values of `fetch`, run by run, to the end of the input."""
    init = af.local_variables_initializer()
    got: list[Any] = []

    async def main() -> None:
        async with af.Session() as session:
            await session.run(init)
            async with af.train.Coordinator() as coord:
                af.train.start_queue_runners(session, coord)
                while not coord.should_stop():
                    got.append(await session.run(fetch))

    virtual.run(main)
    return got


# ---- producers


def test_rows_come_so_many_times_and_then_the_end(graph: Graph) -> None:
    queue = af.train.input_producer([[1, 2], [3, 4]], num_epochs=2, shuffle=False)
    assert [v.tolist() for v in everything(queue.dequeue())] == [[1, 2], [3, 4]] * 2


def test_strings_come_shuffled_by_the_seed_within_each_epoch(graph: Graph) -> None:
    names = [f"file{i}" for i in range(8)]
    dequeues = [af.train.string_input_producer(names, num_epochs=2, seed=4).dequeue() for _ in range(2)]
    orders = [everything(dequeue) for dequeue in dequeues[:1] * 2]
    assert orders[0] == orders[1]
    for epoch in (orders[0][:8], orders[0][8:]):
        assert sorted(epoch) == [n.encode() for n in names]
    assert orders[0][:8] != orders[0][8:]


def test_ranges(graph: Graph) -> None:
    limit = af.train.range_input_producer(5, num_epochs=1, shuffle=False, capacity=2)
    assert everything(limit.dequeue()) == [0, 1, 2, 3, 4]


def test_slices_keep_together(graph: Graph) -> None:
    number, text = af.train.slice_input_producer([[1, 2, 3], ["a", "b", "c"]], num_epochs=2, seed=1)
    got = Counter((int(n), t) for n, t in everything([number, text]))
    assert got == {(1, b"a"): 2, (2, b"b"): 2, (3, b"c"): 2}


def test_limit_epochs_counts_runs(graph: Graph) -> None:
    limited = af.train.limit_epochs(af.constant(7), 3)
    unlimited = af.constant(7)
    assert af.train.limit_epochs(unlimited, None) is unlimited
    with af.blocking.Session() as session:
        session.run(af.local_variables_initializer())
        assert [session.run(limited) for _ in range(3)] == [7, 7, 7]
        with pytest.raises(OutOfRangeError):
            session.run(limited)
    with pytest.raises(ValueError, match="must be > 0"):
        af.train.limit_epochs(unlimited, 0)


def test_producers_refuse_what_they_cannot_use(graph: Graph) -> None:
    with pytest.raises(ValueError, match="non-null"):
        af.train.string_input_producer([])
    with pytest.raises(ValueError, match="element_shape"):
        af.train.input_producer(af.placeholder(af.int32, (None, None)))
    with pytest.raises(ValueError, match="at least one tensor"):
        af.train.slice_input_producer([])
    names = af.placeholder_with_default(np.array([], object), (None,))
    with pytest.raises(InvalidArgumentError, match="non-null"):
        everything(af.train.string_input_producer(names).dequeue())


# ---- batches


def examples(count: int) -> Any:
    return af.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


def test_batches_in_order_and_the_smaller_last_one(graph: Graph) -> None:
    number = examples(7)
    batch = af.train.batch([number, number * 10], 3, allow_smaller_final_batch=True)
    assert [t.static_shape for t in batch] == [(None,), (None,)]
    got = everything(batch)
    assert [a.tolist() for a, _ in got] == [[0, 1, 2], [3, 4, 5], [6]]
    assert all((b == a * 10).all() for a, b in got)


def test_what_is_left_is_dropped_unless_smaller_batches_are_allowed(graph: Graph) -> None:
    batch = af.train.batch({"n": examples(7)}, 3)
    assert batch["n"].static_shape == (3,)
    assert [v["n"].tolist() for v in everything(batch)] == [[0, 1, 2], [3, 4, 5]]


def test_batches_of_many_at_once(graph: Graph) -> None:
    number = examples(4)
    pair = af.stack([number, number + 100])
    assert sorted(np.concatenate(everything(af.train.batch([pair], 4, enqueue_many=True))).tolist()) == [
        0, 1, 2, 3, 100, 101, 102, 103,
    ]  # fmt: skip


def test_sizes_that_vary_are_padded(graph: Graph) -> None:
    number = examples(4)
    batch = af.train.batch([af.range_(number)], 2, dynamic_pad=True)
    assert batch.static_shape == (2, None)
    assert [v.tolist() for v in everything(batch)] == [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]


def test_several_sources_join(graph: Graph) -> None:
    first, second = examples(4), examples(6) + 100
    got = np.concatenate(everything(af.train.batch_join([[first], [second]], 2)))
    assert sorted(got.tolist()) == [0, 1, 2, 3, 100, 101, 102, 103, 104, 105]


def test_only_what_is_kept_is_batched(graph: Graph) -> None:
    number = examples(10)
    assert [v.tolist() for v in everything(af.train.maybe_batch([number], af.equal(number % 2, 0), 2))] == [
        [0, 2], [4, 6],
    ]  # fmt: skip


def test_a_vector_says_which_of_many_are_kept(graph: Graph) -> None:
    pair = af.stack([examples(4), 50])
    keep = pair > 1
    got = everything(af.train.maybe_batch([pair], keep, 2, enqueue_many=True))
    assert np.concatenate(got).tolist() == [50, 50, 2, 50, 3, 50]


@pytest.mark.parametrize("join", [False, True])
def test_f84_shuffled_batches_hold_the_same_examples_in_another_order(graph: Graph, join: bool) -> None:
    number = examples(60)
    if join:
        batch = af.train.shuffle_batch_join([[number]], 10, capacity=40, min_after_dequeue=20, seed=2)
    else:
        batch = af.train.shuffle_batch([number], 10, capacity=40, min_after_dequeue=20, seed=2)
    got = np.concatenate(everything(batch)).tolist()
    assert sorted(got) == list(range(60)) != got
    assert max(got[:10]) < 40  # no further ahead than the queue is long, and what stood in its line


def test_batching_refuses_what_it_cannot_use(graph: Graph) -> None:
    number = af.placeholder(af.int32, ())
    with pytest.raises(ValueError, match="capacity 10 must be bigger than min_after_dequeue 10"):
        af.train.shuffle_batch([number], 2, capacity=10, min_after_dequeue=10)
    with pytest.raises(ValueError, match="at least one tensor"):
        af.train.batch([], 2)
    with pytest.raises(ValueError, match="infer"):
        af.train.batch([af.placeholder(af.int32)], 2)
    with pytest.raises(ValueError, match="fully defined"):
        af.train.batch([af.placeholder(af.int32, (None,))], 2)
    with pytest.raises(TypeError, match="types to be consistent"):
        af.train.batch_join([[number], [af.placeholder(af.float32, ())]], 2)
    with pytest.raises(ValueError, match="vector when"):
        af.train.maybe_batch([number], af.placeholder(af.bool, (2,)), 2)
    with pytest.raises(ValueError, match="same keys"):
        af.train.batch_join([{"a": number}, {"b": number}], 2)


# ---- prefetching


def reader(limit: int, seconds: float) -> tuple[Any, Any]:
    """A tensor that takes so long to read, `limit` times, and what has to run before."""
    queue = af.FIFOQueue(limit, af.float32, [()])
    with af.control_dependencies([queue.enqueue_many(np.ones(limit, np.float32))]):
        init = queue.close()
    return probes.nap(queue.dequeue(), seconds=seconds), init


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_f85_reading_and_computing_overlap(graph: Graph, depth: int) -> None:
    """Ten batches take 1 s each to read; a consumer computes for 1 s on each. One after the other that is 20 s."""
    batch, init = reader(10, 1.0)
    count = 0

    async def main() -> None:
        nonlocal count
        async with af.Session() as session:
            await session.run(init)
            async for _ in af.train.prefetch(session, batch, depth=depth):
                await anyio.sleep(1.0)
                count += 1

    _, seconds = virtual.run(main)
    assert count == 10
    assert 11 <= seconds <= 12.5  # a kernel that a busy machine sends to the thread lets the virtual clock run on


def test_f85_readings_that_wait_overlap_one_another_where_they_may(graph: Graph) -> None:
    """Twelve batches take 3 s each to read, by three at a time; a consumer computes for 1 s on each. One by one that is 37 s."""
    batch, init = reader(12, 3.0)

    async def main() -> None:
        async with af.Session() as session:
            await session.run(init)
            async for _ in af.train.prefetch(session, batch, depth=3, parallel=3):
                await anyio.sleep(1.0)

    _, seconds = virtual.run(main)
    assert 15 <= seconds <= 18.5


def test_f85_a_late_batch_is_made_up_for_by_those_ahead(graph: Graph) -> None:
    """Reading and computing take 1 s each on the average; who is late now and then eats what is ahead."""
    batch, init = reader(10, 1.0)

    async def main() -> None:
        async with af.Session() as session:
            await session.run(init)
            count = 0
            async for _ in af.train.prefetch(session, batch, depth=2):
                count += 1
                await anyio.sleep(0.5 if count % 2 else 1.5)

    _, seconds = virtual.run(main)
    assert 11 <= seconds <= 12.7  # 13.5 with one ahead: after each short computation the reading would be waited for


def test_prefetch_runs_no_further_ahead_than_its_depth(graph: Graph) -> None:
    counter = af.Variable(np.int64(0), collections=[af.GraphKeys.LOCAL_VARIABLES], trainable=False)
    number, init = counter.count_up_to(100), af.local_variables_initializer()
    value = counter.read_value()

    async def main() -> None:
        async with af.Session() as session:
            await session.run(init)
            async with af.train.prefetch(session, number, depth=3) as ahead:
                assert await anext(ahead) == 0
                await anyio.sleep(1)
                assert await session.run(value) == 4
                assert [int(await anext(ahead)) for _ in range(3)] == [1, 2, 3]

    virtual.run(main)


def test_errors_come_out_and_leave_nothing_in_flight(graph: Graph) -> None:
    bad = af.check_numerics(af.constant(np.nan, af.float32), "no number")
    queue = af.FIFOQueue(3, af.int32, [()])
    dequeue = queue.dequeue()

    async def main() -> None:
        async with af.Session() as session:
            with pytest.raises(InvalidArgumentError, match="no number"):
                async for _ in af.train.prefetch(session, bad):
                    pass
            ahead = af.train.prefetch(session, dequeue)
            with anyio.move_on_after(1) as scope:
                await anext(ahead)
            assert scope.cancelled_caught and "Dequeue" in session.pending()
            await session.run(queue.enqueue(5))
            assert await anext(ahead) == 5  # the run that was waited for has gone on
            await ahead.aclose()
            await ahead.aclose()
            assert session.pending() == "no step is in flight"
            with pytest.raises(StopAsyncIteration):
                await anext(ahead)

    virtual.run(main)


def test_a_loop_that_is_left_early_ends_with_its_session(graph: Graph) -> None:
    batch, init = reader(10, 1.0)

    async def main() -> None:
        async with af.Session() as session:
            await session.run(init)
            async for _ in af.train.prefetch(session, batch):
                break
        await anyio.sleep(1)

    virtual.run(main)  # which fails where tasks are left


async def test_prefetch_refuses_what_it_cannot_use(graph: Graph) -> None:
    with af.blocking.Session() as session:
        wrong: Any = session
        with pytest.raises(TypeError, match="async session"):
            af.train.prefetch(wrong, [])
    async with af.Session() as good:
        with pytest.raises(ValueError, match="depth"):
            af.train.prefetch(good, [], depth=0)
        with pytest.raises(ValueError, match="parallel"):
            af.train.prefetch(good, [], depth=2, parallel=3)


def test_f85_gradients_that_gather_in_a_queue_make_one_of_a_larger_batch(graph: Graph, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, targets = draw.normal(size=(12, 3)), draw.normal(size=12)
    x, y = af.placeholder(af.float64, (None, 3)), af.placeholder(af.float64, (None,))
    w = af.constant(draw.normal(size=(3, 1)))
    (gradient,) = af.gradients(af.reduce_mean(af.square(af.matmul(x, w)[:, 0] - y)), [w])
    queue = af.FIFOQueue(4, af.float64, [(3, 1)])
    gather, mean = queue.enqueue(gradient), af.reduce_mean(queue.dequeue_many(4), 0)
    with af.blocking.Session() as session:
        whole = session.run(gradient, {x: rows, y: targets})
        for part in range(4):
            session.run(gather, {x: rows[part::4], y: targets[part::4]})
        np.testing.assert_allclose(session.run(mean), whole, rtol=1e-12)


def test_a_tensorflow_1_script_runs_its_queues() -> None:
    import actorflow.compat.v1 as tf

    with tf.Graph().as_default():
        names = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
        batch = tf.train.batch([names.dequeue()], 4, allow_smaller_final_batch=True)
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(coord=coord)
            got = []
            try:
                while not coord.should_stop():
                    got.append(sess.run(batch).tolist())
            except tf.errors.OutOfRangeError:
                pass
            finally:
                coord.request_stop()
            coord.join(threads)
    assert got == [[b"a", b"b", b"c", b"a"], [b"b", b"c"]]


def test_file_names_are_looked_up_once(tmp_path: Path) -> None:
    with af.Graph().as_default(), af.blocking.Session() as session:
        (tmp_path / "a.txt").touch()
        names = af.train.match_filenames_once(str(tmp_path / "*.txt"))
        assert names in af.local_variables() and names not in af.global_variables() + af.trainable_variables()
        session.run(af.local_variables_initializer())
        (tmp_path / "b.txt").touch()
        assert session.run(names).tolist() == [str(tmp_path / "a.txt").encode()]
        session.run(af.local_variables_initializer())
        assert len(session.run(names)) == 2


ROOMS: dict[str, Callable[[int], Any]] = {
    "batch": lambda room: af.train.batch([af.constant(1)], 1, capacity=room),
    "batch that pads": lambda room: af.train.batch([af.constant(1)], 1, capacity=room, dynamic_pad=True),
    "batch_join": lambda room: af.train.batch_join([[af.constant(1)]], 1, capacity=room),
    "maybe_batch": lambda room: af.train.maybe_batch([af.constant(1)], True, 1, capacity=room),
    "maybe_batch_join": lambda room: af.train.maybe_batch_join([[af.constant(1)]], True, 1, capacity=room),
    "input_producer": lambda room: af.train.input_producer([1, 2], capacity=room),
    "input_producer with a summary": lambda room: af.train.input_producer([1, 2], capacity=room, summary_name="full"),
    "string_input_producer": lambda room: af.train.string_input_producer(["a"], capacity=room),
    "range_input_producer": lambda room: af.train.range_input_producer(3, capacity=room),
    "slice_input_producer": lambda room: af.train.slice_input_producer([[1, 2]], capacity=room),
}
SHUFFLING: dict[str, Callable[[int], Any]] = {
    "shuffle_batch": lambda room: af.train.shuffle_batch([af.constant(1)], 1, room, 0),
    "shuffle_batch_join": lambda room: af.train.shuffle_batch_join([[af.constant(1)]], 1, room, 0),
    "maybe_shuffle_batch": lambda room: af.train.maybe_shuffle_batch([af.constant(1)], 1, room, 0, True),
    "maybe_shuffle_batch_join": lambda room: af.train.maybe_shuffle_batch_join([[af.constant(1)]], 1, room, 0, True),
}


@pytest.mark.parametrize("name", [*ROOMS, *SHUFFLING])
def test_a_queue_without_room_is_refused(graph: Graph, name: str) -> None:
    words = r"capacity is 1 or more, or below 0 .* but 0 was given" if name in ROOMS else "capacity 0 must be bigger"
    with pytest.raises(ValueError, match=words):
        {**ROOMS, **SHUFFLING}[name](0)


@pytest.mark.parametrize("name", ROOMS)
def test_a_queue_without_a_limit_has_no_summary_of_its_room(graph: Graph, name: str) -> None:
    ROOMS[name](-1)
    assert not af.get_collection(af.GraphKeys.SUMMARIES)


def test_summaries_say_how_full_the_queues_are(graph: Graph) -> None:
    numbers = af.train.range_input_producer(6, num_epochs=1, shuffle=False, capacity=8)
    drawn = numbers.dequeue()
    af.train.batch([drawn], 2, capacity=4)
    af.train.shuffle_batch([drawn], 2, capacity=10, min_after_dequeue=5)
    runners = af.get_collection(af.GraphKeys.QUEUE_RUNNERS)
    merged, init = af.summary.merge_all(), af.local_variables_initializer()

    async def main() -> dict[str, float]:
        async with af.Session() as session:
            await session.run(init)
            for at in (0, 1, 1, 1, 2, 2):
                await session.run(runners[at].enqueue_ops[0])
            summary = af.summary.Summary.FromString(await session.run(merged))
            return {each.tag: each.simple_value for each in summary.value}

    assert anyio.run(main) == {
        "input_producer/fraction_of_8_full": pytest.approx(1 / 8),
        "batch/fraction_of_4_full": pytest.approx(3 / 4),
        "shuffle_batch/fraction_over_5_of_5_full": 0.0,
    }
