"""A graph of 10,000 nodes: how long the program takes to build it, and the first run to plan it.

Planning is what the first run takes beyond a later one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from benchmarks.graph.graphs import layers
from benchmarks.harness.definitions import Figure, Measurement, Options
from benchmarks.harness.sides import our_library, peer_library

NODES = 10_000
REPEATS = 20


def _figures(build: float, first: float, repeats: list[float]) -> dict[str, float]:
    again = sorted(repeats)[len(repeats) // 2]
    return {
        "build_ms": 1e3 * build,
        "plan_ms": 1e3 * (first - again),
        "plan_us_per_node": 1e6 * (first - again) / NODES,
        "repeat_ms": 1e3 * again,
    }


async def _ours(options: Options) -> Mapping[str, float]:
    af = our_library()
    clock = time.perf_counter
    start = clock()
    work = layers(NODES)(af)
    build = clock() - start
    feeds = dict(zip(work.placeholders, work.batches[0], strict=True))
    times: list[float] = []
    async with af.Session(graph=work.graph) as session:
        await session.run(work.placeholders[0], feeds)  # opens what every session opens, and plans nothing of it
        for _ in range(1 + REPEATS):
            start = clock()
            await session.run(work.fetches, feeds)
            times.append(clock() - start)
    return _figures(build, times[0], times[1:])


def _peer(options: Options) -> Mapping[str, float]:
    tf: Any = peer_library()
    clock = time.perf_counter
    start = clock()
    work = layers(NODES)(tf)
    build = clock() - start
    feeds = dict(zip(work.placeholders, work.batches[0], strict=True))
    times: list[float] = []
    with tf.Session(graph=work.graph) as session:
        for _ in range(1 + REPEATS):
            start = clock()
            session.run(work.fetches, feeds)
            times.append(clock() - start)
    return _figures(build, times[0], times[1:])


BENCHMARKS = (
    Measurement(
        "planning",
        ours=_ours,
        peer=_peer,
        figures=(
            Figure("build_ms", f"building a graph of {NODES} nodes", "ms"),
            Figure("plan_ms", "planning it: first run less a later one", "ms"),
            Figure("plan_us_per_node", "planning, for each node", "µs"),
            Figure("repeat_ms", "a later run of it", "ms"),
        ),
    ),
)
