"""Estimators: the cost of a call that goes on with a model that is there, and of a step through `train`.

The peer is TensorFlow 2.15, the last one with Estimators, in an environment of its own. Both sides train the same canned
classifier, the peer from a Dataset of arrays in memory, ours from a list of batches. Our calls are made within
`async with estimator`, which keeps the session from call to call; the peer keeps nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import logging
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.harness.definitions import Figure, Measurement, Options
from benchmarks.harness.sides import our_library

INPUTS, HIDDEN, CLASSES, BATCH = 784, 128, 10, 32
BATCHES = 20
CALLS = 9
STEPS, FEWER_STEPS = 10_000, 2_000
AWAITS = 1_000
QUIET = {"save_summary_steps": None, "log_step_count_steps": None, "save_checkpoints_secs": None}


def _table() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    rows = BATCH * BATCHES
    return rng.normal(size=(rows, INPUTS)).astype(np.float32), rng.integers(0, CLASSES, rows)


def _batches() -> list[tuple[dict[str, Any], Any]]:
    images, labels = _table()
    cuts = range(BATCH, len(labels), BATCH)
    return [({"x": x}, y) for x, y in zip(np.split(images, cuts), np.split(labels, cuts), strict=True)]


def _cycle(batches: list[Any], count: int) -> Iterator[Any]:
    for number in range(count):
        yield batches[number % len(batches)]


def _estimator(library: Any, estimators: Any, **settings: Any) -> Any:
    """The classifier of either side."""
    column = library.feature_column.numeric_column("x", shape=[INPUTS])
    config = estimators.RunConfig(tempfile.mkdtemp(), tf_random_seed=1, **settings)
    return estimators.DNNClassifier([HIDDEN], [column], n_classes=CLASSES, config=config)


def _ours(**settings: Any) -> Any:
    logging.disable(logging.CRITICAL)
    af = our_library()
    return _estimator(af, af.estimator, progress=False, **settings)


def _peer(**settings: Any) -> tuple[Any, Callable[[], Any]]:
    """The peer's classifier, and its input."""
    tf: Any = importlib.import_module("tensorflow")
    tf.compat.v1.logging.set_verbosity("ERROR")
    images, labels = _table()
    return (
        _estimator(tf, tf.compat.v1.estimator, **settings),
        lambda: tf.data.Dataset.from_tensor_slices(({"x": images}, labels)).batch(BATCH),
    )


async def _later_calls(call: Callable[[], Awaitable[Any]], calls: int) -> float:
    """The median time of a call after the first, in ms."""
    await call()
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        await call()
        times.append(time.perf_counter() - begun)
    return 1e3 * statistics.median(times)


async def _calls_of_ours(options: Options) -> Mapping[str, float]:
    batches = _batches()
    question = {"x": batches[0][0]["x"][0]}
    async with _ours() as estimator:
        train = await _later_calls(lambda: estimator.train(lambda: iter(batches), steps=1), CALLS)
        evaluate = await _later_calls(lambda: estimator.evaluate(lambda: iter(batches)), CALLS)
        async with estimator.predictor() as predict:
            answer = await _later_calls(lambda: predict(question), AWAITS)
    return {"train_ms": train, "evaluate_ms": evaluate, "answer_ms": answer}


def _calls_of_peer(options: Options) -> Mapping[str, float]:
    estimator, data = _peer()

    async def train() -> None:
        estimator.train(data, steps=1)

    async def evaluate() -> None:
        estimator.evaluate(data)

    async def answer() -> None:
        list(estimator.predict(lambda: data().unbatch().take(1).batch(1)))

    async def measure() -> dict[str, float]:
        return {
            "train_ms": await _later_calls(train, CALLS),
            "evaluate_ms": await _later_calls(evaluate, CALLS),
            "answer_ms": await _later_calls(answer, CALLS),
        }

    return asyncio.run(measure())


async def _steps_of_ours(options: Options) -> Mapping[str, float]:
    steps, batches = FEWER_STEPS if options.quick else STEPS, _batches()
    async with _ours(**QUIET) as estimator:
        await estimator.train(lambda: _cycle(batches, 100), steps=100)
        begun = time.perf_counter()
        await estimator.train(lambda: _cycle(batches, steps), steps=steps)
        return {"step_us": 1e6 * (time.perf_counter() - begun) / steps}


def _steps_of_peer(options: Options) -> Mapping[str, float]:
    steps = FEWER_STEPS if options.quick else STEPS
    estimator, data = _peer(**QUIET)
    estimator.train(lambda: data().repeat(), steps=100)
    begun = time.perf_counter()
    estimator.train(lambda: data().repeat(), steps=steps)
    return {"step_us": 1e6 * (time.perf_counter() - begun) / steps}


async def _beside_the_bare_step(options: Options) -> Mapping[str, float]:
    """The same steps by `session.run`, in turns with those of `train`; the ratio of the median steps."""
    af, batches = our_library(), _batches()
    turns, steps = (4, 400) if options.quick else (10, 1000)
    stamps: list[int] = []

    def stamped() -> Iterator[Any]:
        for batch in _cycle(batches, steps):
            stamps.append(time.perf_counter_ns())
            yield batch

    def median(times: list[int]) -> float:
        return statistics.median(after - before for before, after in itertools.pairwise(times[10:]))

    ratios = []
    async with _ours(**QUIET) as estimator:
        await estimator.train(lambda: _cycle(batches, 200), steps=200)
        (built,) = estimator.graphs.built("train")
        async with af.Session(graph=built.graph) as session:
            await session.run(built.scaffold.init_op)
            fetches = [built.spec.train_op, built.spec.loss]
            feeds = [built.fed.feeds(batch) for batch in batches]
            for number in range(200):
                await session.run(fetches, feeds[number % BATCHES])
            for _ in range(turns):
                stamps.clear()
                await estimator.train(stamped, steps=steps)
                through = median(stamps)
                times = []
                for number in range(steps):
                    times.append(time.perf_counter_ns())
                    await session.run(fetches, feeds[number % BATCHES])
                ratios.append(through / median(times))
    return {"step_by_bare": statistics.median(ratios)}


async def _seconds(call: Callable[[], Awaitable[None]]) -> float:
    """The time of a call, in seconds."""
    begun = time.perf_counter()
    await call()
    return time.perf_counter() - begun


async def _awaits(options: Options) -> Mapping[str, float]:
    batches = _batches()
    question = {"x": batches[0][0]["x"][0]}
    async with _ours() as estimator:
        await estimator.train(lambda: iter(batches), steps=1)
        async with estimator.predictor() as predict:

            async def together() -> None:
                await asyncio.gather(*(predict(question) for _ in range(AWAITS)))

            async def one_by_one() -> None:
                for _ in range(AWAITS // 10):
                    await predict(question)

            alone, ratios = [], []
            for _ in range(3 * CALLS):  # in turns: what slows the machine for a while slows both
                alone.append(await _later_calls(lambda: predict(question), AWAITS // 10))
                single = 10 * await _seconds(one_by_one)
                before = predict.steps
                ratios.append(single / await _seconds(together))
    return {
        "answer_p50_ms": statistics.median(alone),
        "answers_speedup": statistics.median(ratios),
        "answers_steps": predict.steps - before,
    }


BENCHMARKS = (
    Measurement(
        "calls",
        ours=_calls_of_ours,
        peer=_calls_of_peer,
        figures=(
            Figure("answer_ms", "prediction of one example: a kept predictor, `Estimator.predict`", "ms"),
            Figure("evaluate_ms", f"`evaluate` of {BATCHES} batches, after the first call", "ms"),
            Figure("train_ms", "`train(steps=1)`, after the first call", "ms"),
        ),
        processes=3,
    ),
    Measurement(
        "steps",
        ours=_steps_of_ours,
        peer=_steps_of_peer,
        figures=(
            Figure(
                "step_us",
                f"step of a canned DNN through `train`, {INPUTS}-{HIDDEN}-{CLASSES}, batch {BATCH}, {STEPS:,} steps",
                "µs",
            ),
        ),
        processes=3,
    ),
    Measurement(
        "bare",
        ours=_beside_the_bare_step,
        figures=(Figure("step_by_bare", "that step by the same one of `session.run`", "×"),),
        processes=3,
    ),
    Measurement(
        "predictor",
        ours=_awaits,
        figures=(
            Figure("answer_p50_ms", "an answer of a kept predictor, one at a time", "ms"),
            Figure("answers_speedup", f"{AWAITS:,} awaits at once: throughput by that of one at a time", "×"),
            Figure("answers_steps", f"steps that {AWAITS:,} awaits at once take", ""),
        ),
        processes=3,
    ),
)
