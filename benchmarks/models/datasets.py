"""Datasets beside TensorFlow's: records that are read, parsed, shuffled and batched; and functions that wait."""

from __future__ import annotations

import importlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from benchmarks.harness.definitions import Call, Comparison, Figure, Measurement, Options
from benchmarks.harness.sides import our_library

RECORDS, BATCH, BUFFER = 100_000, 128, 1000
WAIT, AT_ONCE, CALLS = 0.01, 64, 640


def _write(lib: Any, path: Path) -> None:
    with lib.io.TFRecordWriter(str(path)) as writer:
        for number in range(RECORDS):
            features = {
                "x": lib.train.Feature(float_list=lib.train.FloatList(value=[number, 2, 3, 4])),
                "y": lib.train.Feature(int64_list=lib.train.Int64List(value=[number % 10])),
            }
            writer.write(lib.train.Example(features=lib.train.Features(feature=features)).SerializeToString())


def _pipeline(lib: Any, path: Path, after_batch: bool) -> Any:
    features = {"x": lib.io.FixedLenFeature([4], lib.float32), "y": lib.io.FixedLenFeature([], lib.int64)}

    def parse(record: Any) -> Any:
        found = (lib.io.parse_example if after_batch else lib.io.parse_single_example)(record, features)
        return lib.sqrt(lib.square(found["x"]) * 2.0 + 1.0) - 0.5, found["y"]

    records = lib.data.TFRecordDataset(str(path))
    if after_batch:
        return records.shuffle(BUFFER, seed=1).batch(BATCH).map(parse, num_parallel_calls=2)
    return records.map(parse, num_parallel_calls=2).shuffle(BUFFER, seed=1).batch(BATCH)


@contextmanager
def _reading(library: Callable[[], Any], after_batch: bool) -> Iterator[Call]:
    """Goes through all records once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        lib = library()
        _write(lib, path)
        dataset = _pipeline(lib, path, after_batch)
        yield lambda: sum(1 for _ in dataset.as_numpy_iterator())


def _compare(name: str, work: str, after_batch: bool) -> Comparison:
    return Comparison(
        name,
        f"{RECORDS} TFRecord examples: {work}",
        ours=lambda: _reading(our_library, after_batch),
        peer=lambda: _reading(lambda: importlib.import_module("tensorflow"), after_batch),
    )


async def _waiting(options: Options) -> Mapping[str, float]:
    """A coroutine function that waits, many calls at once, against the ideal time; and the same calls by bare tasks, whose timers
    asyncio rounds up to whole milliseconds."""
    af = our_library()

    async def wait(x: Any) -> Any:
        await anyio.sleep(WAIT)
        return x

    dataset = af.data.Dataset.range(CALLS).map(wait, num_parallel_calls=AT_ONCE)

    async def pull() -> None:
        async for _ in dataset:
            pass

    async def one_of_many() -> None:
        for _ in range(CALLS // AT_ONCE):
            await wait(0)

    async def bare() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(AT_ONCE):
                group.start_soon(one_of_many)

    best: dict[str, float] = {}
    for _ in range(5):
        for name, work in (("coroutines", pull), ("bare_tasks", bare)):
            began = time.perf_counter()
            await work()
            span = (time.perf_counter() - began) / (WAIT * CALLS / AT_ONCE)
            best[name] = min(span, best.get(name, span))
    return best


BENCHMARKS = (
    _compare("records", "read, parsed, a map of five ops, shuffled, batched", False),
    _compare("records_batched", "read, shuffled, batched, parsed as batches, a map of five ops", True),
    Measurement(
        "waiting",
        _waiting,
        (
            Figure(
                "coroutines", f"map with a coroutine that waits 10 ms, {AT_ONCE} at once, by the ideal time", "ratio"
            ),
            Figure("bare_tasks", f"the same calls by {AT_ONCE} bare tasks, by the ideal time", "ratio"),
        ),
    ),
)
