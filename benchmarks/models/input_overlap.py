"""Reading ahead: the time of a loop over prefetched batches, by the longer of its reading and its computing alone.

One run is in flight at a time, so that the readings don't overlap one another. One reader waits, as for a disk or a network;
the other reads a file of this machine and decodes it, and needs a processor for that, so that the two share what there is.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from benchmarks.engine.concurrency import waiting_op
from benchmarks.harness.definitions import Options
from benchmarks.harness.sides import our_library

WAIT = 0.01
BYTES = 4_000_000
ROWS = 1000
BATCHES = 60
QUICK_BATCHES = 20


async def overlap(options: Options) -> Mapping[str, float]:
    """Both readers, beside a computation that takes about as long as the wait."""
    figures: dict[str, float] = {}
    count = QUICK_BATCHES if options.quick else BATCHES
    with tempfile.NamedTemporaryFile(suffix=".raw") as file:
        file.write(os.urandom(BYTES // 8) * 8)
        file.flush()
        figures |= await _ratios("overlap_waiting", _waiting_reader, count)
        figures |= await _ratios("overlap_file", lambda af: _file_reader(af, file.name), count)
    return figures


def _waiting_reader(af: Any) -> Any:
    return waiting_op()(af.constant(0.5), seconds=WAIT)


def _file_reader(af: Any, name: str) -> Any:
    """The mean of a file of bytes, as numbers between 0 and 1."""
    content = af.decode_raw(af.read_file(name), af.uint8)
    return af.reduce_mean(af.cast(content, af.float32) / 255.0)


async def _ratios(name: str, reader: Callable[[Any], Any], count: int) -> dict[str, float]:
    import numpy as np

    af = our_library()
    graph = af.Graph()
    with graph.as_default():
        read = reader(af)
        seed = af.placeholder(af.float32, [])
        matrix = af.Variable(np.random.default_rng(7).normal(0, 1e-2, (ROWS, ROWS)).astype(np.float32))
        row = af.zeros([1, ROWS]) + seed
        computed = af.reduce_sum(af.matmul(af.matmul(row, matrix), matrix))
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)

        async def compute(value: Any, repeats: int) -> None:
            for _ in range(repeats):
                await session.run(computed, {seed: value})

        await compute(0.5, 3)  # plans, and warms up
        repeats = max(1, round(10 * WAIT / await _seconds(lambda: compute(0.5, 10))))

        async def reading() -> None:
            for _ in range(count):
                await session.run(read)

        async def computing() -> None:
            for _ in range(count):
                await compute(0.5, repeats)

        async def serial() -> None:
            for _ in range(count):
                await compute(await session.run(read), repeats)

        async def ahead() -> None:
            left = count
            async with af.train.prefetch(session, read) as batches:
                async for value in batches:
                    await compute(value, repeats)
                    left -= 1
                    if not left:
                        break

        await session.run(read)
        longer = max(await _seconds(reading), await _seconds(computing))
        return {f"{name}_serial": await _seconds(serial) / longer, name: await _seconds(ahead) / longer}


async def _seconds(work: Callable[[], Awaitable[None]]) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start
