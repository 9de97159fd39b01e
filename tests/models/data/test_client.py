"""Datasets on a client: what their stages promise, and what goes wrong."""

from __future__ import annotations

import asyncio
import errno
import gzip
import os
import random
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import numpy as np
import pytest

import actorflow as af
from actorflow.errors import DataLossError, InvalidArgumentError, NotFoundError, UnknownError
from actorflow.models.data.stage import STAGES, EndOfSequence, Running, read_state, write_state
from actorflow.models.data.stages import caching

Dataset = af.data.Dataset


async def collected(dataset: Any) -> list[Any]:
    return [np.asarray(element).tolist() async for element in dataset]


async def outcomes(iterator: Any) -> list[Any]:
    """Elements, and the classes of errors at their places."""
    found: list[Any] = []
    while True:
        try:
            found.append(np.asarray(await iterator.__anext__()).tolist())
        except StopAsyncIteration:
            return found
        except af.errors.OpError as error:
            found.append(type(error).__name__)


# ---- structures and sources


async def test_elements_keep_their_structure() -> None:
    dataset = Dataset.from_tensor_slices({"y": ["a", "b"], "x": ([1, 2], [[0.5], [1.5]])})
    assert dataset.output_types == {"y": af.string, "x": (af.int32, af.float32)}
    assert str(dataset.output_shapes["x"][1]) == "(1,)"
    found = [element async for element in dataset]
    assert found[1]["y"] == b"b" and found[1]["x"][0] == 2 and found[1]["x"][1].tolist() == [1.5]


def test_under_eager_execution_elements_are_tensors() -> None:
    with af.eager():
        squares = [x * x for x in Dataset.range(4)]
        assert [int(x) for x in squares] == [0, 1, 4, 9]
        assert int(Dataset.range(5).reduce(af.constant(0, af.int64), lambda total, x: total + x)) == 10


@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (lambda: Dataset.from_tensor_slices(3), ValueError, "scalar"),
        (lambda: Dataset.from_tensor_slices(([1, 2], [1])), ValueError, "not compatible"),
        (lambda: Dataset.zip([Dataset.range(1)]), TypeError, "zip"),
        (lambda: Dataset.range(3).filter(lambda x: x), ValueError, "predicate"),
        (lambda: Dataset.range(3).flat_map(lambda x: x), TypeError, "must return a `Dataset`"),
        (lambda: Dataset.range(3).map(lambda x: None), TypeError, "None"),
        (lambda: Dataset.range(3).concatenate(Dataset.from_tensors("a")), TypeError, "Incompatible"),
        (lambda: Dataset.from_generator([1], af.int64), TypeError, "callable"),
        (lambda: Dataset.from_generator(lambda: [1]), TypeError, "output_signature"),
        (lambda: Dataset.range(3).shard(2, 2), ValueError, "index"),
        (lambda: Dataset.range(3).unbatch(), ValueError, "scalar"),
        (lambda: Dataset.range(3).interleave(Dataset.from_tensors, cycle_length=0), ValueError, "cycle_length"),
        (lambda: Dataset.range(3).reduce(0.0, lambda s, x: x), TypeError, "initial state"),
    ],
)
def test_what_is_refused_at_once(bad: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        bad()


async def test_a_dataset_with_tensors_of_a_graph_says_where_it_has_values() -> None:
    with af.Graph().as_default():
        dataset = Dataset.range(af.placeholder(af.int64, []))
        with pytest.raises(RuntimeError, match="make_initializable_iterator"):
            await collected(dataset)


async def test_records_of_files(tmp_path: Path) -> None:
    lines = tmp_path / "lines.gz"
    lines.write_bytes(gzip.compress(b"one\ntwo\r\nthree"))
    assert await collected(af.data.TextLineDataset(str(lines), "GZIP")) == [b"one", b"two", b"three"]
    fixed = tmp_path / "fixed"
    fixed.write_bytes(b"HaabbccF")
    assert await collected(af.data.FixedLengthRecordDataset([fixed], 2, 1, 1)) == [b"aa", b"bb", b"cc"]
    names = Dataset.list_files(str(tmp_path / "*"), shuffle=False)
    assert await collected(names) == [str(fixed).encode(), str(lines).encode()]
    with pytest.raises(InvalidArgumentError, match="No files matched"):
        await collected(Dataset.list_files(str(tmp_path / "none*")))


async def test_a_damaged_record_names_file_and_offset_and_the_next_file_comes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with af.io.TFRecordWriter(tmp_path / name) as writer:
            for number in range(3):
                writer.write(f"{name}{number}")
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-3])
    files = af.data.TFRecordDataset([tmp_path / "a", tmp_path / "missing", tmp_path / "b"])
    found = await outcomes(files.iterate())
    assert found == [b"a0", b"a1", "DataLossError", "NotFoundError", b"b0", b"b1", b"b2"]
    with pytest.raises(DataLossError, match=r"byte 36 of .*/a' is damaged"):
        await collected(files)
    with pytest.raises(NotFoundError, match="missing"):
        await collected(af.data.TextLineDataset(tmp_path / "missing"))


async def test_generators_of_both_kinds() -> None:
    closed = []

    def numbers() -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            closed.append("ordinary")

    async def later() -> AsyncIterator[tuple[int, str]]:
        try:
            for number in range(100):
                await anyio.lowlevel.checkpoint()
                yield number, "x" * number
        finally:
            closed.append("asynchronous")

    assert await collected(Dataset.from_generator(numbers, af.int32, [])) == list(range(100))
    pairs = Dataset.from_generator(later, (af.int64, af.string), ([], []))
    assert [int(number) async for number, _ in pairs.take(3)] == [0, 1, 2]
    async with pairs.iterate() as elements:
        await elements.__anext__()
    assert closed == ["ordinary", "asynchronous", "asynchronous"]


async def test_a_generator_of_wrong_types_fails_at_the_element() -> None:
    def mixed() -> Iterator[Any]:
        yield 1
        yield "text"
        yield [1, 2]
        yield 2
        raise ValueError("broken")

    found = await outcomes(Dataset.from_generator(mixed, af.int64, []).iterate())
    assert found == [1, "InvalidArgumentError", "InvalidArgumentError", 2, "InvalidArgumentError"]
    with pytest.raises(InvalidArgumentError, match=r"broken(.|\n)*raised at .*test_client.py"):
        await collected(Dataset.from_generator(lambda: _raising("broken"), af.int64, []))


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError])
async def test_a_generator_that_raises_no_exception_of_programs_ends_with_an_error(error: type[BaseException]) -> None:
    def ordinary() -> Iterator[int]:
        yield 1
        raise error("its own")

    found = await outcomes(Dataset.from_generator(ordinary, af.int64, []).iterate())
    assert found == [1, "UnknownError"]


async def test_a_generator_that_cancels_itself_ends_with_an_error() -> None:
    async def later() -> AsyncIterator[int]:
        yield 1
        raise asyncio.CancelledError("its own")

    with anyio.fail_after(60):
        assert await outcomes(Dataset.from_generator(later, af.int64, []).iterate()) == [1, "UnknownError"]


@pytest.mark.parametrize("parallel", [None, 2])
async def test_a_coroutine_function_that_cancels_itself_fails_at_its_element(parallel: int | None) -> None:
    async def some(x: Any) -> Any:
        if x == 1:
            raise asyncio.CancelledError("its own")
        return x

    made = Dataset.range(3).map(some, num_parallel_calls=parallel)
    with anyio.fail_after(60):
        assert await outcomes(made.iterate()) == [0, "UnknownError", 2]


def _raising(text: str) -> Iterator[int]:
    raise ValueError(text)
    yield 0


# ---- functions


async def test_coroutines_keep_the_order_and_at_most_so_many_run_at_once() -> None:
    running, most, step = 0, 0, anyio.Event()

    async def square(x: Any) -> Any:
        nonlocal running, most, step
        running += 1
        most = max(most, running)
        for _ in range(int(x) % 5):
            await anyio.lowlevel.checkpoint()
        running -= 1
        return x * x

    dataset = Dataset.range(50).map(square, num_parallel_calls=4)
    assert await collected(dataset) == [x * x for x in range(50)]
    assert most == 4
    loose = await collected(Dataset.range(50).map(square, num_parallel_calls=4, deterministic=False))
    assert sorted(loose) == [x * x for x in range(50)] != loose


async def test_an_error_of_a_function_is_at_its_element_and_the_next_one_comes() -> None:
    async def refuse(x: Any) -> Any:
        if x == 1:
            raise RuntimeError("no ones")
        return x

    for calls in (None, 3):
        assert await outcomes(Dataset.range(3).map(refuse, num_parallel_calls=calls).iterate()) == [
            0,
            "UnknownError",
            2,
        ]
    with pytest.raises(UnknownError, match="no ones"):
        await collected(Dataset.range(3).map(refuse))
    divided = Dataset.range(3).map(lambda x: 6 // x)
    assert await outcomes(divided.iterate()) == ["InvalidArgumentError", 6, 3]


async def test_a_coroutine_that_gives_something_else_says_what_to_state() -> None:
    async def text(x: Any) -> str:
        return f"{x}"

    with pytest.raises(InvalidArgumentError, match="int64"):
        await collected(Dataset.range(2).map(text))
    stated = Dataset.range(2).map(text, output_signature=af.TensorSpec([], af.string))
    assert await collected(stated) == [b"0", b"1"]


async def test_large_results_of_functions() -> None:
    """The session of a function lives as long as the function: its device has memory for large arrays."""
    dataset = Dataset.range(300_000).batch(100_000).map(lambda x: af.cast(x, af.float32) * 2.0 + 1.0).map(af.reduce_sum)
    assert [float(total) async for total in dataset] == pytest.approx([1e10, 3e10, 5e10], rel=1e-4)
    assert sum([1 async for _ in dataset]) == 3


async def test_inner_datasets_use_what_is_around_them() -> None:
    words = Dataset.from_tensor_slices(["a b", "", "c"])
    split = words.flat_map(lambda line: Dataset.from_tensor_slices(af.string_split([line]).values))
    assert await collected(split) == [b"a", b"b", b"c"]
    pairs = Dataset.range(1, 3).flat_map(lambda x: Dataset.range(x + 1).map(lambda y: x * 10 + y))
    assert await collected(pairs) == [10, 11, 20, 21, 22]


async def test_windows_are_datasets() -> None:
    sums = [await window.reduce_async(np.int64(0), lambda s, x: s + x) async for window in Dataset.range(5).window(2)]
    assert sums == [1, 5, 4]


# ---- what is kept


async def test_a_cache_in_memory_asks_its_source_once() -> None:
    asked = 0

    async def count(x: Any) -> Any:
        nonlocal asked
        asked += 1
        return x

    dataset = Dataset.range(4).map(count).cache()
    for _ in range(3):
        assert await collected(dataset) == [0, 1, 2, 3]
    assert asked == 4


async def test_a_cache_in_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = str(tmp_path / "cache")

    def dataset(stop: int) -> Any:
        return Dataset.range(stop).map(lambda x: (x, af.as_string(x))).cache(path)

    async with dataset(5).iterate() as elements:
        await elements.__anext__()
    assert not os.listdir(tmp_path)
    assert [int(x) async for x, _ in dataset(5)] == [0, 1, 2, 3, 4]
    assert os.listdir(tmp_path) == ["cache"]
    assert [text async for _, text in dataset(2).take(3)] == [b"0", b"1", b"2"]


async def test_a_last_pull_that_is_cancelled_leaves_the_cache_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, goes_on, sync = threading.Event(), threading.Event(), os.fsync

    def waits(fd: int) -> None:
        writes.set()
        goes_on.wait()
        sync(fd)

    monkeypatch.setattr(os, "fsync", waits)
    dataset = Dataset.range(3).cache(str(tmp_path / "cache"))
    async with dataset.iterate() as elements:
        assert [int(await elements.__anext__()) for _ in range(3)] == [0, 1, 2]
        last = asyncio.ensure_future(elements.__anext__())
        await anyio.to_thread.run_sync(writes.wait)
        last.cancel()
        await asyncio.wait([last])
        assert last.cancelled()
        goes_on.set()
        with pytest.raises(StopAsyncIteration):
            await elements.__anext__()
    assert os.listdir(tmp_path) == ["cache"]
    assert await collected(dataset) == [0, 1, 2]


@pytest.mark.parametrize("failing", [0, 1, 3])
async def test_a_cache_with_a_failed_write_never_appears(
    failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = iter(range(100))

    def opened(*arguments: Any) -> Any:
        if next(writes) == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        return open(*arguments)

    monkeypatch.setattr(caching, "_WRITTEN_AT_ONCE", 0)
    monkeypatch.setattr(caching, "open", opened, raising=False)
    dataset = Dataset.range(3).cache(str(tmp_path / "cache"))
    async with dataset.iterate() as elements:
        found = await outcomes(elements)
        assert not os.listdir(tmp_path)
    assert found.pop(failing).endswith("Error") and found == [0, 1, 2]
    assert await collected(dataset) == [0, 1, 2] and os.listdir(tmp_path) == ["cache"]


def test_a_file_that_is_dropped_during_a_write_is_gone_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = caching.PartialFile(str(tmp_path / "cache"))

    def opened(*arguments: Any) -> Any:
        file.drop()
        return open(*arguments)

    monkeypatch.setattr(caching, "open", opened, raising=False)
    file.append(b"data", is_last=False)
    assert not os.listdir(tmp_path)


async def test_prefetch_is_bounded_by_elements_and_by_bytes() -> None:
    pulled = 0

    async def count(x: Any) -> Any:
        nonlocal pulled
        pulled += 1
        return x

    for limit, given in ((3, {}), (100, {"max_bytes": 24})):
        pulled = 0
        async with Dataset.range(50).map(count).prefetch(limit, **given).iterate() as elements:
            await elements.__anext__()
            await anyio.wait_all_tasks_blocked()
            assert pulled == 1 + 3


async def test_statistics_show_the_slow_stage() -> None:
    turn = anyio.Event()

    async def slow(x: Any) -> Any:
        if x == 2:
            await turn.wait()
        return x

    async with Dataset.range(5).map(slow).batch(3).iterate() as elements, anyio.create_task_group() as tasks:
        tasks.start_soon(elements.__anext__)
        await anyio.wait_all_tasks_blocked()
        found = elements.statistics()
        assert [one.kind for one in found.stages] == ["batch", "map", "range"]
        assert [one.elements for one in found.stages] == [0, 2, 3]
        assert found.stages[1].waiting is not None and found.stages[2].waiting is None
        assert found.stages[1].where is not None and found.stages[1].where.file == __file__
        turn.set()
    assert "<- slowest" in str(found)


# ---- cancellation and state


def pipeline(seed: int) -> Any:
    """Up to four stages of those that can wait in the midst of their work, behind a source that waits."""
    rng = random.Random(seed)

    async def later(x: Any) -> Any:
        for _ in range(int(x) % 3):
            await anyio.lowlevel.checkpoint()
        return x

    async def source() -> AsyncIterator[int]:
        for number in range(30):
            await anyio.lowlevel.checkpoint()
            yield number

    def inner(x: Any) -> Any:
        return Dataset.from_tensors(x).repeat(2).map(later)

    dataset = rng.choice([Dataset.range(30), Dataset.from_generator(source, af.int64, [])]).map(later)
    stages = [
        lambda ds: ds.batch(3).unbatch(),
        lambda ds: ds.padded_batch(4).unbatch(),
        lambda ds: ds.shuffle(5, seed=rng.randrange(9)),
        lambda ds: ds.map(later, num_parallel_calls=rng.randrange(1, 5)),
        lambda ds: ds.prefetch(rng.choice([1, 2, -1])),
        lambda ds: ds.interleave(inner, cycle_length=rng.randrange(1, 4), block_length=2),
        lambda ds: ds.interleave(inner, cycle_length=2, num_parallel_calls=2),
        lambda ds: ds.window(3, shift=rng.randrange(1, 5)).flat_map(lambda w: w.batch(2)).unbatch(),
        lambda ds: Dataset.zip((ds, Dataset.range(25).map(later))).map(lambda a, b: a * 2 + b),
        lambda ds: ds.concatenate(Dataset.range(3).map(later)).shard(2, rng.randrange(2)),
        lambda ds: ds.cache().repeat(2),
        lambda ds: ds.filter(lambda x: x % 3 > 0).skip(1).take(40),
        lambda ds: ds.enumerate().map(lambda i, x: i + x),
        lambda ds: ds.map(lambda x: 12 // (x % 4)),
        lambda ds: ds.map(lambda x: 12 // (x % 4)).ignore_errors(),
        lambda ds: ds.take_while(lambda x: x < 22),
    ]
    for make in rng.sample(stages, rng.randrange(1, 5)):
        dataset = make(dataset)
    return dataset


async def test_pulls_cancelled_at_random_instants_take_nothing_away(seed: int) -> None:
    rng = random.Random(seed)
    cancelled = 0
    while cancelled < 1000:
        number = rng.randrange(2**32)
        expected = await outcomes(pipeline(number).iterate())
        async with pipeline(number).iterate() as iterator:
            found: list[Any] = []
            while True:
                with anyio.CancelScope() as scope:
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(_cancel_after, scope, rng.randrange(1, 12))
                        try:
                            found.append(np.asarray(await iterator.__anext__()).tolist())
                        except StopAsyncIteration:
                            break
                        except af.errors.OpError as error:
                            found.append(type(error).__name__)
                        finally:
                            tasks.cancel_scope.cancel()
                cancelled += scope.cancelled_caught
        assert found == expected, number


async def _cancel_after(scope: anyio.CancelScope, turns: int) -> None:
    for _ in range(turns):
        await anyio.lowlevel.checkpoint()
    scope.cancel()


async def test_a_state_of_any_moment_gives_the_rest(seed: int) -> None:
    """Also where it is taken in the midst of a pull."""
    rng = random.Random(seed)
    for _ in range(40):
        number = rng.randrange(2**32)
        expected = await outcomes(pipeline(number).iterate())
        place = rng.randrange(len(expected) + 1)
        async with pipeline(number).iterate() as iterator:
            for _ in range(place):
                try:
                    await iterator.__anext__()
                except af.errors.OpError:
                    pass
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_cancel_after, scope, rng.randrange(1, 9))
                    try:
                        await iterator.__anext__()
                        place += 1
                    except StopAsyncIteration:
                        pass
                    except af.errors.OpError:
                        place += 1
                    tasks.cancel_scope.cancel()
            state = iterator.state()
        async with pipeline(number).iterate(state) as again:
            assert await outcomes(again) == expected[place:], number


async def test_blocks_of_any_size_give_what_pulls_of_one_give(seed: int) -> None:
    """Also if pulls are cancelled, and if the run goes on from a state between them."""
    rng = random.Random(seed)
    for _ in range(25):
        number = rng.randrange(2**32)
        expected = await outcomes(pipeline(number).iterate())
        running, found = Running(), list[Any]()
        last = running.stage(pipeline(number).node)
        while True:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_cancel_after, scope, rng.randrange(1, 30))
                    most = rng.randrange(1, 20)
                    try:
                        block = await last.block(most)
                        assert 1 <= len(block) <= most
                        found += [np.asarray(element[0]).tolist() for element in block]
                    except EndOfSequence:
                        break
                    except af.errors.OpError as error:
                        found.append(type(error).__name__)
                    finally:
                        tasks.cancel_scope.cancel()
            if rng.random() < 0.2:
                state = read_state(write_state(last.state()))
                await running.close()
                running = Running()
                last = running.stage(pipeline(number).node)
                last.restore(state)
        await running.close()
        assert found == expected, number


async def test_a_state_of_another_dataset_is_refused() -> None:
    state = Dataset.range(3).shuffle(2).iterate()
    await state.__anext__()
    other = Dataset.range(3).batch(2).iterate(state.state())
    with pytest.raises(InvalidArgumentError, match="state is none"):
        await other.__anext__()
    with pytest.raises(InvalidArgumentError, match="no state"):
        Dataset.range(3).iterate(b"\xc1")


def test_each_kind_of_stage_is_in_the_table() -> None:
    import actorflow.models.data.stages  # noqa: F401

    assert {"map", "interleave", "shuffle", "generator", "records", "cache", "reduce"} <= STAGES.keys()


def test_the_log_names_the_slow_stage_when_steps_wait_for_data(caplog: pytest.LogCaptureFixture) -> None:
    from actorflow.models.data.statistics import PullWaits

    dataset = af.data.Dataset.range(3).map(lambda x: x * x)
    pulling = dataset.iterate()._pulling

    async def opened() -> Any:
        return pulling._opened()

    stage = anyio.run(opened)
    stage.seconds = 5.0
    waits = PullWaits()
    for second in range(30):  # a wait of half a second in each
        waits.pulled(second + 0.5, second + 1.0, stage)
    assert waits.share == pytest.approx(0.5)
    assert caplog.text.count("steps wait for data") == 1 and "slowest=map" in caplog.text
    caplog.clear()
    alone = PullWaits()
    for second in range(30):  # a program that does nothing else
        alone.pulled(float(second), second + 1.0, stage)
    assert alone.share == pytest.approx(1.0) and not caplog.text


async def test_statistics_tell_for_how_long_others_wait() -> None:
    elements = af.data.Dataset.range(3).iterate()
    async with elements:
        await elements.__anext__()
        elements._pulling._waits.share = 0.25
        assert "wait 25% of the time; the slowest stage is range" in repr(elements)


def test_a_dataset_is_shown_with_its_last_stage_and_its_elements() -> None:
    shown = repr(af.data.Dataset.range(3).batch(2))
    assert shown.startswith("<Dataset of batch: TensorSpec(shape=(?,), dtype=actorflow.int64")
