"""Sixty-four clients of one model in an event loop: awaited, and by onnxruntime in a pool of threads.

Each client asks again when it has its answer. A ticker beside them wants to run each millisecond; its delay is what other users
of the loop notice. Our side is measured without and with micro-batching. Calls of onnxruntime run by `run_in_executor`, as in
services, with the threads that it and asyncio choose.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import math
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import numpy as np

from benchmarks.engine.loop_lag import ticker
from benchmarks.harness.definitions import Figure, Measurement, Options, Side
from benchmarks.harness.sides import our_library

CLIENTS = 64
_WARM, _QUICK, _SECONDS = 0.5, 1.0, 3.0
Ask: TypeAlias = Callable[[], Awaitable[Any]]


def _mlp(af: Any) -> tuple[Any, Any]:
    x = af.placeholder(af.float32, [None, 64], name="x")
    hidden = af.layers.dense(af.layers.dense(x, 256, activation=af.nn.relu), 256, activation=af.nn.relu)
    return x, af.layers.dense(hidden, 10)


def _residual(af: Any) -> tuple[Any, Any]:
    """A network like ResNet-18, for images of 64 x 64."""
    x = af.placeholder(af.float32, [None, 64, 64, 3], name="x")
    h = af.layers.conv2d(x, 64, 7, strides=2, padding="same", activation=af.nn.relu)
    h = af.layers.max_pooling2d(h, 2, 2)
    for units, strides in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        inner = af.layers.conv2d(h, units, 3, strides=strides, padding="same", activation=af.nn.relu)
        inner = af.layers.conv2d(inner, units, 3, padding="same")
        beside = h if strides == 1 else af.layers.conv2d(h, units, 1, strides=strides, padding="same")
        h = af.nn.relu(beside + inner)
    return x, af.layers.dense(af.reduce_mean(h, [1, 2]), 10)


MODELS: Mapping[str, tuple[str, Callable[[Any], tuple[Any, Any]]]] = {
    "mlp": ("64-256-256-10", _mlp),
    "residual": ("a network like ResNet-18, 64 x 64", _residual),
}


async def _written(build: Callable[[Any], tuple[Any, Any]], path: Path) -> None:
    """Writes the ONNX file that both sides run."""
    af = our_library()
    with af.Graph().as_default() as graph:
        x, y = build(af)
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        await af.onnx.save(path, session, {"y": y}, {"x": x})


def _feed(session: Any) -> dict[str, Any]:
    sizes = [size if isinstance(size, int) else 1 for size in session.get_inputs()[0].shape]
    return {"x": np.random.default_rng(0).random(sizes, np.float32)}


@asynccontextmanager
async def _ours(path: Path, batching: Any) -> AsyncIterator[Ask]:
    async with our_library().onnx.InferenceSession(path, batching=batching) as session:
        feed = _feed(session)
        yield lambda: session.run_async(None, feed)


@asynccontextmanager
async def _theirs(path: Path) -> AsyncIterator[Ask]:
    runtime: Any = importlib.import_module("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feed, loop = _feed(session), asyncio.get_running_loop()
    yield lambda: loop.run_in_executor(None, session.run, None, feed)


async def _asked(ask: Ask, seconds: float) -> tuple[list[float], list[float]]:
    """The milliseconds of each answer, and the delays of the ticker."""
    answers: list[float] = []
    delays: list[float] = []
    until = time.perf_counter() + seconds

    async def client() -> None:
        while (begun := time.perf_counter()) < until:
            await ask()
            answers.append(1e3 * (time.perf_counter() - begun))

    async with anyio.create_task_group() as group:
        group.start_soon(ticker, until, delays)
        for _ in range(CLIENTS):
            group.start_soon(client)
    return answers, delays


def _p99(values: list[float]) -> float:
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


async def _measured(options: Options, side: Side) -> Mapping[str, float]:
    """The figures of a side. The peer's are the same with and without batching, which it has not."""
    seconds = _QUICK if options.quick else _SECONDS
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (_, build) in MODELS.items():
            path = Path(folder, f"{name}.onnx")
            await _written(build, path)
            for kind in ("plain", "batched"):
                batching = our_library().Batching(max_size=16) if kind == "batched" else None
                async with _ours(path, batching) if side == "ours" else _theirs(path) as ask:
                    await _asked(ask, _WARM)
                    answers, delays = await _asked(ask, seconds)
                figures[f"{name}_{kind}_p99_ms"] = _p99(answers)
                figures[f"{name}_{kind}_loop_ms"] = _p99(delays)
                figures[f"{name}_{kind}_us"] = 1e6 * seconds / len(answers)
    return figures


def missing() -> str:
    """A sentence where onnxruntime is not there; else nothing."""
    return "" if importlib.util.find_spec("onnxruntime") else "there is no onnxruntime. `make test-extras` installs it."


def _described(work: str, kind: str) -> str:
    how = "awaited" if kind == "plain" else "awaited with micro-batching"
    return f"{CLIENTS} clients of {work}, {how}, by onnxruntime in threads"


BENCHMARKS = (
    Measurement(
        f"clients_{CLIENTS}",
        ours=lambda options: _measured(options, "ours"),
        peer=lambda options: _measured(options, "peer"),
        figures=tuple(
            Figure(f"{name}_{kind}_{part}", f"{what}, {_described(work, kind)}", unit)
            for name, (work, _) in MODELS.items()
            for kind in ("plain", "batched")
            for part, what, unit in (
                ("p99_ms", "p99 of answers", "ms"),
                ("loop_ms", "delay of a 1 ms ticker (p99)", "ms"),
                ("us", "time by answers", "us"),
            )
        ),
        note="Both sides run the same ONNX file.",
    ),
)
