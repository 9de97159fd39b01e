"""The loop's other tasks while a session works: a ticker that wants to run each millisecond.

Its delay is how much later than asked for it was called. asyncio rounds timers up to whole milliseconds, and the
machine has other things to do, so the idle loop is measured as well, in turns with each load.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import anyio

from benchmarks.graph import graphs
from benchmarks.harness.definitions import Build, Call, Figure, Measurement, Options
from benchmarks.harness.sides import our_library, ours

PERIOD = 0.001
CONCURRENT = 50
LARGE = 10_000

# Runs steps until the time that it is given.
Load: TypeAlias = Callable[[float], Coroutine[Any, Any, None]]


async def ticker(until: float, delays: list[float]) -> None:
    """Appends, in ms, how late each tick came. A late tick does not make the next one due earlier."""
    clock = time.perf_counter
    while (now := clock()) < until:
        await anyio.sleep(PERIOD)
        delays.append(1e3 * (clock() - now - PERIOD))


async def _idle(until: float) -> None:
    await anyio.sleep(max(0.0, until - time.perf_counter()))


async def _steps(call: Call, until: float) -> None:
    while time.perf_counter() < until:
        await call()


@asynccontextmanager
async def _training(build: Build, tasks: int = 1) -> AsyncIterator[Load]:
    """Steps of one session, one after the other in each of `tasks`. The first steps, which plan, don't count."""
    async with ours(build) as call:
        for _ in range(50):
            await call()

        async def load(until: float) -> None:
            async with anyio.create_task_group() as group:
                for _ in range(tasks):
                    group.start_soon(_steps, call, until)

        yield load


@asynccontextmanager
async def _first_plans() -> AsyncIterator[Load]:
    """First runs of a large graph, each in a session of its own; the graph is built beforehand."""
    af = our_library()
    work = graphs.layers(LARGE)(af)
    feeds = dict(zip(work.placeholders, work.batches[0], strict=True))

    async def load(until: float) -> None:
        while time.perf_counter() < until:
            async with af.Session(graph=work.graph) as session:
                await session.run(work.fetches, feeds)

    yield load


@asynccontextmanager
async def _eager_steps() -> AsyncIterator[Load]:
    """Training steps of an eager program, by a function that is awaited."""
    from benchmarks.engine.eager import step_by_function

    af = our_library()
    with af.eager():
        step: Any = step_by_function(af)
        for _ in range(20):
            await step.run()

        async def load(until: float) -> None:
            while time.perf_counter() < until:
                await step.run()

        yield load


@asynccontextmanager
async def _eager_ops() -> AsyncIterator[Load]:
    """Eager products of large matrices, which are put on a thread."""
    af = our_library()
    async with af.eager(threads=1):
        x = af.ones([1000, 1000])

        async def load(until: float) -> None:
            while time.perf_counter() < until:
                await af.reduce_sum(x @ x)

        yield load


@asynccontextmanager
async def _dataset() -> AsyncIterator[Load]:
    """Steps of 64-64-10, and a dataset that parses, shuffles and batches examples beside them."""
    af = our_library()
    features = {"x": af.FixedLenFeature([4], af.float32), "y": af.FixedLenFeature([], af.int64)}
    values = {
        "x": af.train.Feature(float_list=af.train.FloatList(value=[1, 2, 3, 4])),
        "y": af.train.Feature(int64_list=af.train.Int64List(value=[1])),
    }
    message = af.train.Example(features=af.train.Features(feature=values)).SerializeToString()
    records = af.data.Dataset.from_tensors(message).repeat()
    dataset = records.map(lambda x: af.parse_single_example(x, features)).shuffle(1000).batch(128).prefetch(2)
    async with _training(graphs.digits) as training, dataset.iterate() as batches:
        await batches.__anext__()

        async def read(until: float) -> None:
            while time.perf_counter() < until:
                await batches.__anext__()

        async def load(until: float) -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(training, until)
                group.start_soon(read, until)

        yield load


LOADS: Mapping[str, tuple[str, Callable[[], AbstractAsyncContextManager[Load]]]] = {
    "digits": ("64-64-10 trains", lambda: _training(graphs.digits)),
    "mlp512": ("784-512-10, batch 128, trains", lambda: _training(graphs.mlp(784, 512, 10, 128))),
    "eager": ("784-128-10, batch 32, trains eagerly, `await step.run()`", _eager_steps),
    "eager_ops": ("sums of eager products of 1000 x 1000, `await af.reduce_sum(x @ x)`", _eager_ops),
    "dataset": ("64-64-10 trains while a dataset parses, shuffles and batches", _dataset),
    "concurrent": (f"{CONCURRENT} steps of 64-64-10 at once", lambda: _training(graphs.digits, CONCURRENT)),
    "first_plan": (f"first plans of {LARGE} nodes", _first_plans),
}


async def _delays(load: Load, seconds: float) -> list[float]:
    delays: list[float] = []
    until = time.perf_counter() + seconds
    async with anyio.create_task_group() as group:
        group.start_soon(ticker, until, delays)
        group.start_soon(load, until)
    return delays


def _quantile(ordered: Sequence[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)]


def _summary(name: str, delays: list[float]) -> dict[str, float]:
    ordered = sorted(delays)
    return {
        f"{name}_p50_ms": _quantile(ordered, 0.5),
        f"{name}_p99_ms": _quantile(ordered, 0.99),
        f"{name}_max_ms": ordered[-1],
    }


async def _lag(options: Options) -> Mapping[str, float]:
    seconds = 0.5 if options.quick else 1.0
    turns = 2 if options.quick else 3
    figures: dict[str, float] = {}
    idle: list[float] = []
    for name, (_, opened) in LOADS.items():
        loaded: list[float] = []
        async with opened() as load:
            for _ in range(turns):
                idle += await _delays(_idle, seconds / 2)
                loaded += await _delays(load, seconds)
        figures |= _summary(name, loaded)
    return _summary("idle", idle) | figures


BENCHMARKS = (
    Measurement(
        "ticker",
        ours=_lag,
        figures=tuple(
            Figure(f"{name}_{part}_ms", f"delay of a 1 ms ticker ({part}), {work}", "ms")
            for name, work in (("idle", "idle loop"), *((name, work) for name, (work, _) in LOADS.items()))
            for part in ("p50", "p99", "max")
        ),
    ),
)
