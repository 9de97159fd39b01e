"""The runtime's cost for each node: the time of a step, less that of a step without nodes and that of the same
kernels called in sequence.

Coalescing and fusion are off, so that every node is a task of its own, with the kernel that is called in sequence; the
figure with coalescing on stands beside it. Nodes are counted in the graph that the fetches need, without constants and
placeholders. Folding and the merging of equal nodes stay on, and make the figure a little better than the truth where they
find something. The time in which asyncio makes a task and awaits it, on the same loop, tells how fast the machine is: a
node's task does that and the rest of the runtime's work. All are timed in turns, and the half of the turns counts in
which the machine's speed varied least.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Mapping

from benchmarks.engine import replay
from benchmarks.graph.graphs import a_fed_value, chain_of_adds, digits, wide_exponentials
from benchmarks.harness.definitions import Build, Figure, Measurement, Options
from benchmarks.harness.sides import our_library, ours
from benchmarks.harness.spread import unevenness
from benchmarks.harness.worker import timed_async

_TASKS = 1000
GRAPHS: Mapping[str, tuple[str, Build]] = {
    "chain": ("chain of 1000 adds", chain_of_adds(1000)),
    "wide": ("500 exponentials and their sum", wide_exponentials(500)),
    "digits": ("training step of 64-64-10", digits),
}


async def _nothing() -> None:
    """The body of a bare task."""


async def _bare_tasks() -> None:
    """Makes tasks of asyncio's, and awaits them."""
    for task in [asyncio.create_task(_nothing()) for _ in range(_TASKS)]:
        await task


async def _graph(name: str, build: Build, options: Options) -> dict[str, float]:
    work = build(our_library())
    recorder = replay.Replay()
    if work.init is not None:
        recorder.record([work.init], {})
    fetches = work.fetches if isinstance(work.fetches, list) else [work.fetches]
    kernels = recorder.record(fetches, dict(zip(work.placeholders, work.batches[0], strict=True)))
    rounds: list[tuple[float, dict[str, float]]] = []
    async with (
        ours(build, coalesce=False, fuse=False, jit=False) as plain,
        ours(build) as coalesced,
        ours(a_fed_value) as empty,
    ):
        for call in (plain, coalesced, empty):
            await timed_async(call, 3 * options.seconds)
        for _ in range(2 * options.rounds):
            apart = await timed_async(plain, options.seconds)
            alone = 1e6 * replay.seconds(kernels, options.seconds)
            merged = await timed_async(coalesced, options.seconds)
            nothing = await timed_async(empty, options.seconds)
            tasks = await timed_async(_bare_tasks, options.seconds)
            figures = _figures(len(kernels), apart["median"], alone, merged["median"], nothing["median"])
            figures["task_us"] = tasks["median"] / _TASKS
            figures["node_by_task"] = figures["node_us"] / figures["task_us"]
            rounds.append((unevenness((apart, merged)), figures))
    rounds.sort(key=lambda one: one[0])
    even = [figures for _, figures in rounds[: options.rounds]]
    return {f"{name}_{part}": statistics.median(figures[part] for figures in even) for part in even[0]}


def _figures(nodes: int, step: float, kernels: float, coalesced: float, empty: float) -> dict[str, float]:
    return {
        "nodes": nodes,
        "step_us": step,
        "kernels_us": kernels,
        "empty_us": empty,
        "node_us": (step - empty - kernels) / nodes,
        "nodes_per_s": 1e6 * nodes / step,
        "coalesced_us": coalesced,
        "coalesced_ratio": coalesced / step,
    }


async def _nodes(options: Options) -> Mapping[str, float]:
    figures: dict[str, float] = {}
    for name, (_, build) in GRAPHS.items():
        figures |= await _graph(name, build, options)
    return figures


_PARTS = (
    ("nodes", "nodes", ""),
    ("step_us", "step, coalescing off", "µs"),
    ("kernels_us", "its kernels alone", "µs"),
    ("empty_us", "a step without nodes", "µs"),
    ("node_us", "runtime for each node", "µs"),
    ("task_us", "a bare task of asyncio's", "µs"),
    ("node_by_task", "runtime for each node by a bare task", "×"),
    ("nodes_per_s", "nodes per second", "1/s"),
    ("coalesced_us", "step, coalescing on", "µs"),
    ("coalesced_ratio", "step, coalescing on by off", "×"),
)

BENCHMARKS = (
    Measurement(
        "overhead",
        ours=_nodes,
        figures=tuple(
            Figure(f"{name}_{part}", f"{work}: {what}", unit)
            for name, (work, _) in GRAPHS.items()
            for part, what, unit in _PARTS
        ),
    ),
)
