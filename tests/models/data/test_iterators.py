"""Iterators in graphs: of all kinds, on a task as well, with their state in checkpoints."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
from clusters import servers

import actorflow as af
from actorflow.base.process import lanes
from actorflow.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OutOfRangeError
from actorflow.models.data.resource import IteratorResource
from actorflow.models.data.stage import EndOfSequence


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


@pytest.fixture
def session(graph: af.Graph) -> Iterator[af.blocking.Session]:
    with af.blocking.Session(graph=graph) as made:
        yield made


def everything(session: Any, fetches: Any, feeds: Any = None) -> list[Any]:
    """The values that runs give up to the end."""
    found = []
    with pytest.raises(OutOfRangeError):
        while True:
            found.append(session.run(fetches, feeds))
    return [np.asarray(value).tolist() for value in found]


def test_a_one_shot_iterator_ends_again_and_again(session: af.blocking.Session) -> None:
    following = af.data.Dataset.range(3).make_one_shot_iterator().get_next()
    assert (following.dtype, following.shape) == (af.int64, ())
    assert everything(session, following) == [0, 1, 2]
    for _ in range(2):
        with pytest.raises(OutOfRangeError, match="End of sequence"):
            session.run(following)


def test_each_run_takes_one_element_and_two_nodes_take_two(session: af.blocking.Session) -> None:
    iterator = af.data.Dataset.range(4).make_one_shot_iterator()
    one, other = iterator.get_next(), iterator.get_next()
    assert sorted(session.run([one, other])) == [0, 1]
    assert sorted(session.run([one, one + other])) in ([2, 5], [3, 5])


def test_an_initializable_iterator_begins_with_what_is_fed(session: af.blocking.Session) -> None:
    values, size = af.placeholder(af.float32, [None, 2]), af.placeholder(af.int64, [])
    scale = af.placeholder(af.float32, [])
    dataset = af.data.Dataset.from_tensor_slices(values).map(lambda row: scale * row).batch(size)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    assert following.shape.as_list() == [None, 2]
    with pytest.raises(FailedPreconditionError, match="has not been initialized"):
        session.run(following)
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    session.run(iterator.initializer, {values: rows, size: 2, scale: 10.0})
    assert everything(session, following) == [[[0, 10], [20, 30]], [[40, 50]]]
    session.run(iterator.initializer, {values: rows[:1], size: 1, scale: 1.0})
    assert everything(session, following) == [[[0, 1]]]


def test_a_reinitializable_iterator_goes_through_several_datasets(session: af.blocking.Session) -> None:
    iterator = af.data.Iterator.from_structure((af.int64, af.string), ([], []))
    training = af.data.Dataset.zip((af.data.Dataset.range(2), af.data.Dataset.from_tensor_slices(["a", "b"])))
    testing = training.take(1).map(lambda n, text: (n + 7, text))
    starts = [iterator.make_initializer(training), iterator.make_initializer(testing)]
    number, text = iterator.get_next()
    session.run(starts[0])
    assert session.run([number, text]) == [0, b"a"]
    session.run(starts[1])
    assert session.run([number, text]) == [7, b"a"]
    with pytest.raises(ValueError, match="structure"):
        iterator.make_initializer(af.data.Dataset.range(3))


def test_a_feedable_iterator_is_chosen_in_each_run(session: af.blocking.Session) -> None:
    training = af.data.Dataset.range(3).make_one_shot_iterator()
    testing = af.data.Dataset.range(10, 13).make_initializable_iterator()
    handle = af.placeholder(af.string, [])
    following = af.data.Iterator.from_string_handle(handle, af.int64, []).get_next()
    train, test = session.run([training.string_handle(), testing.string_handle()])
    session.run(testing.initializer)
    assert [session.run(following, {handle: which}) for which in (train, test, train, test)] == [0, 10, 1, 11]
    with pytest.raises(InvalidArgumentError, match="is no handle of an iterator"):
        session.run(following, {handle: "mine"})
    with pytest.raises(NotFoundError, match="no iterator"):
        session.run(following, {handle: b"\0mine"})


@pytest.mark.parametrize(
    ("types", "shapes", "fits"),
    [
        (af.int64, [2], True),
        (af.int64, [None], True),
        (af.int64, None, True),
        (af.int64, [], False),
        (af.int64, [3], False),
        (af.int64, [2, 1], False),
        (af.float32, [2], False),
    ],
)
def test_a_handle_is_of_an_iterator_of_the_types_and_shapes(
    session: af.blocking.Session, types: Any, shapes: Any, fits: bool
) -> None:
    pairs = af.data.Dataset.from_tensors(np.int64([1, 2])).make_one_shot_iterator()
    handle = af.placeholder(af.string, [])
    following = af.data.Iterator.from_string_handle(handle, types, shapes).get_next()
    feeds = {handle: session.run(pairs.string_handle())}
    if fits:
        assert session.run(following, feeds).tolist() == [1, 2]
    else:
        with pytest.raises(InvalidArgumentError, match=r"The handle is of an iterator of (types|shapes)"):
            session.run(following, feeds)


def test_a_reduction_is_a_tensor_of_the_graph(session: af.blocking.Session) -> None:
    count = af.placeholder(af.int64, [])
    total = af.data.Dataset.range(count).reduce(np.int64(100), lambda total, x: total + x)
    assert [session.run(total, {count: n}) for n in (0, 4, 4)] == [100, 106, 106]
    with pytest.raises(InvalidArgumentError, match="more than one"):
        session.run(af.data.Dataset.range(2).get_single_element())


def test_a_one_shot_iterator_takes_no_placeholders_and_variables() -> None:
    with pytest.raises(ValueError, match="Cannot capture a placeholder"):
        af.data.Dataset.range(af.placeholder(af.int64, [])).make_one_shot_iterator()
    variable = af.Variable(np.int64(3))
    with pytest.raises(ValueError, match="capture stateful objects"):
        af.data.Dataset.range(9).map(lambda x: x + variable).make_one_shot_iterator()


def test_the_state_is_in_checkpoints(tmp_path: Path) -> None:
    """A second session goes on with the next element: behind a shuffle, a batch and a prefetch."""

    def build() -> tuple[Any, Any, Any]:
        dataset = af.data.Dataset.range(40).shuffle(10, seed=3).repeat(2).map(lambda x: x * 3, num_parallel_calls=2)
        iterator = dataset.batch(3).prefetch(2).make_initializable_iterator()
        af.Variable(1.0, name="w")
        return iterator, iterator.get_next(), af.train.Saver()

    iterator, following, saver = build()
    with af.blocking.Session() as session:
        session.run([iterator.initializer, af.global_variables_initializer()])
        for _ in range(11):
            session.run(following)
        path = saver.save(session, str(tmp_path / "model"))
        rest = everything(session, following)
    for initialized in (True, False):
        with af.Graph().as_default(), af.blocking.Session() as session:
            iterator, following, saver = build()
            if initialized:
                session.run(iterator.initializer)
            saver.restore(session, path)
            if not initialized:
                session.run(iterator.initializer)
            assert everything(session, following) == rest and len(rest) == 27 - 11


async def test_ten_thousand_waiting_iterators_hold_no_thread() -> None:
    go_on = anyio.Event()

    async def wait(number: int) -> int:
        await go_on.wait()
        return number

    before = threading.active_count()
    iterators = [af.data.Dataset.range(n, n + 1).map(wait, num_parallel_calls=2).iterate() for n in range(10_000)]
    found: list[int] = []

    async def pull(iterator: Any) -> None:
        found.append(int(await iterator.__anext__()))
        await iterator.aclose()

    async with anyio.create_task_group() as tasks:
        for iterator in iterators:
            tasks.start_soon(pull, iterator)
        await anyio.wait_all_tasks_blocked()
        assert threading.active_count() <= before and not found
        go_on.set()
    assert sorted(found) == list(range(10_000))


async def test_steps_that_wait_for_elements_hold_no_thread(graph: af.Graph) -> None:
    go_on = anyio.Event()

    async def wait(number: int) -> int:
        await go_on.wait()
        return number

    followings = [af.data.Dataset.range(n, n + 1).map(wait).make_one_shot_iterator().get_next() for n in range(100)]
    async with af.Session(graph=graph) as session:
        for following in followings:
            await session.warmup(following)
        before = threading.active_count()
        found: list[int] = []

        async def pull(following: Any) -> None:
            found.append(int(await session.run(following)))

        async with anyio.create_task_group() as tasks:
            for following in followings:
                tasks.start_soon(pull, following)
            while str(session.pending()).count("the dataset's stage map") < 100:
                await anyio.lowlevel.checkpoint()
            assert threading.active_count() <= before
            go_on.set()
    assert sorted(found) == list(range(100))


async def test_first_runs_of_hundreds_of_iterators_take_few_threads(graph: af.Graph) -> None:
    """Their plans are made one after the other, and ordinary generators share threads, which end."""
    fetches = [
        af.data.Dataset.from_generator(lambda: iter([1, 2]), af.int64, []).make_one_shot_iterator().get_next()
        for _ in range(200)
    ]
    most, before = 0, threading.active_count()

    def note(*_: Any) -> None:
        nonlocal most
        most = max(most, threading.active_count() - before)

    async with af.Session(graph=graph) as session:
        async with anyio.create_task_group() as group:
            runs = [asyncio.create_task(session.run(fetch)) for fetch in fetches]
            for run in runs:
                run.add_done_callback(note)
            group.start_soon(asyncio.wait, runs)
        assert [run.result() for run in runs] == [1] * 200
        assert most <= 64
        for thread in threading.enumerate():
            if thread.name == lanes.IDLE:
                thread.join()
        assert threading.active_count() <= before + 1, "the device has a thread"


FUNCTIONS = {
    "map": lambda dataset, call: dataset.map(lambda x: call(x)),
    "filter": lambda dataset, call: dataset.filter(lambda x: call(x) > 0),
    "flat_map": lambda dataset, call: dataset.flat_map(lambda x: af.data.Dataset.from_tensors(call(x))),
    "a map within": lambda dataset, call: dataset.flat_map(lambda x: af.data.Dataset.from_tensors(x).map(call)),
    "a function": lambda dataset, call: dataset.map(lambda x: af.function(lambda x: call(x))(x)),
}


@pytest.mark.parametrize("change", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("kind", ["one_shot", "initializable"])
def test_a_graph_keeps_the_functions_of_python_that_functions_call(
    session: af.blocking.Session, change: Any, kind: str
) -> None:
    """No one else holds the dataset, and what it was made of."""

    def made() -> Any:
        dataset = change(
            af.data.Dataset.range(1, 2), lambda x: af.ensure_shape(af.py_func(lambda x: x + 1, [x], af.int64), [])
        )
        iterator = getattr(dataset, f"make_{kind}_iterator")()
        return iterator.get_next(), None if kind == "one_shot" else iterator.initializer

    value, initializer = made()
    gc.collect()
    if initializer is not None:
        session.run(initializer)
    assert session.run(value) in (1, 2)


async def test_a_run_with_a_deadline_takes_nothing_away(graph: af.Graph) -> None:
    asked = anyio.Event()

    async def slowly(number: int) -> int:
        if number == 1:
            await asked.wait()
        return number

    following = af.data.Dataset.range(3).map(slowly).make_one_shot_iterator().get_next()
    async with af.Session(graph=graph) as session:
        assert await session.run(following) == 0
        with anyio.move_on_after(0) as scope:
            await session.run(following)
        assert scope.cancelled_caught
        asked.set()
        assert [await session.run(following) for _ in range(2)] == [1, 2]


async def at_its_end() -> tuple[IteratorResource, IteratorResource, anyio.Event]:
    """An iterator behind its last element, of which nothing has seen the end yet; another one at that place; and what the end
    waits for."""
    over = anyio.Event()

    async def numbers() -> AsyncIterator[int]:
        yield 0
        yield 1
        await over.wait()

    dataset = af.data.Dataset.from_generator(numbers, af.int64, [])
    first, second = (IteratorResource("input", (af.int64,), (None,)) for _ in range(2))
    first.initialize(dataset.node, None)
    assert [int((await first.next())[0]) for _ in range(2)] == [0, 1]
    second.initialize(dataset.node, None)
    second.restore(first.state())
    return first, second, over


async def test_from_behind_the_last_element_an_iterator_begins_again_though_a_first_run_was_stopped() -> None:
    first, second, over = await at_its_end()
    with anyio.move_on_after(0) as scope:
        await second.next()
    assert scope.cancelled_caught
    over.set()
    assert [int((await second.next())[0]) for _ in range(2)] == [0, 1]
    for iterator in (first, second):
        with pytest.raises(EndOfSequence):
            await iterator.next()


async def test_an_iterator_that_was_restored_and_closed_has_no_more_elements() -> None:
    first, second, _ = await at_its_end()
    for iterator in (first, second):
        iterator.close()
        with pytest.raises(EndOfSequence):
            await iterator.next()


@pytest.mark.allow_leaks("threads")
async def test_an_iterator_on_a_task(graph: af.Graph) -> None:
    async with servers({"ps": 1, "worker": 1}) as started:
        with af.device("/job:ps/task:0"):
            dataset = af.data.Dataset.range(10).shuffle(4, seed=2).map(lambda x: x * x).batch(4)
            iterator = dataset.make_initializable_iterator()
            following = iterator.get_next()
        async with af.Session(started[1].target, graph) as session:
            await session.run(iterator.initializer)
            found = [await session.run(following) for _ in range(3)]
            with pytest.raises(OutOfRangeError):
                await session.run(following)
    assert sorted(np.concatenate(found).tolist()) == [x * x for x in range(10)]


BAD_SIZES: dict[str, Callable[[Any], Any]] = {
    "batch": lambda n: af.data.Dataset.range(4).batch(n),
    "padded_batch": lambda n: af.data.Dataset.range(4).padded_batch(n, []),
    "shuffle": lambda n: af.data.Dataset.range(4).shuffle(n),
    "window": lambda n: af.data.Dataset.range(4).window(n).flat_map(lambda rows: rows),
    "step": lambda n: af.data.Dataset.range(0, 4, n),
    "shard": lambda n: af.data.Dataset.range(4).shard(n, 0),
    "prefetch": lambda n: af.data.Dataset.range(4).prefetch(n - 2),
    "below others": lambda n: af.data.Dataset.range(4).batch(n).repeat(2).prefetch(1),
}


@pytest.mark.parametrize("name", sorted(BAD_SIZES))
def test_a_size_that_can_not_be_is_told_by_the_initializer(session: af.blocking.Session, name: str) -> None:
    size = af.placeholder(af.int64, [])
    iterator = BAD_SIZES[name](size).make_initializable_iterator()
    with pytest.raises(InvalidArgumentError):
        session.run(iterator.initializer, {size: 0})


def test_a_number_of_parallel_calls_of_int32(session: af.blocking.Session) -> None:
    calls = af.placeholder(af.int32, [])
    iterator = af.data.Dataset.range(3).map(lambda x: x * 2, num_parallel_calls=calls).make_initializable_iterator()
    session.run(iterator.initializer, {calls: 2})
    value = iterator.get_next()
    assert [session.run(value) for _ in range(3)] == [0, 2, 4]


def test_an_element_that_is_larger_than_its_padding_is_a_loss_of_data(session: af.blocking.Session) -> None:
    size = af.placeholder(af.int64, [1])
    iterator = af.data.Dataset.from_tensors([1, 2, 3]).padded_batch(1, size).make_initializable_iterator()
    session.run(iterator.initializer, {size: [2]})
    with pytest.raises(af.errors.DataLossError, match="pad to a smaller size"):
        session.run(iterator.get_next())


def test_an_initializer_for_another_structure() -> None:
    iterator = af.data.Iterator.from_structure((af.int64, af.float32))
    with pytest.raises(ValueError, match="structure"):
        iterator.make_initializer(af.data.Dataset.from_tensors(((1, 2.0),)))
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(af.data.Dataset.from_tensors((1, 2.0)))
