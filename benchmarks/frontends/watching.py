"""The costs of being watched: traced steps, a recorder, a page that is open, and summaries.

A traced step is timed beside the same step without a trace, in turns, in one process: `plan` keeps regions in one piece, as
the steps of a program run them; `node` is beside a session that runs node by node as well. The recorder is that of `Session`,
which traces one step in 100. The page is what a task does for it in each second: its status, and the steps that it remembers.
Summaries are 50,000 scalars, from the first call until they are in the file, beside TensorFlow's `FileWriter` of graphs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from benchmarks.graph.graphs import chain_of_adds, digits, one_add
from benchmarks.harness.definitions import Build, Figure, Measurement, Options
from benchmarks.harness.sides import our_library, ours, peer_library
from benchmarks.harness.worker import timed_async

_SCALARS = 50_000
_GRAPHS: Mapping[str, tuple[str, Build]] = {
    "add": ("one fed add", one_add),
    "chain": ("chain of 1000 adds", chain_of_adds(1000)),
    "digits": ("training step of 64-64-10", digits),
}


async def _ratio(one: Callable[[], Awaitable[Any]], other: Callable[[], Awaitable[Any]], options: Options) -> float:
    """The time of a call of the one by that of the other, in turns."""
    found = []
    for call in (one, other):
        await timed_async(call, 3 * options.seconds)
    for turn in range(2 * options.rounds):
        pair = (one, other) if turn % 2 else (other, one)
        times = {call: await timed_async(call, options.seconds) for call in pair}
        found.append(times[one]["median"] / times[other]["median"])
    return statistics.median(found)


async def _mean(call: Callable[[], Awaitable[Any]], times: int) -> float:
    begun = time.perf_counter()
    for _ in range(times):
        await call()
    return time.perf_counter() - begun


async def _traces(options: Options) -> Mapping[str, float]:
    af = our_library()
    figures: dict[str, float] = {}
    for name, (_, build) in _GRAPHS.items():
        work = build(af)
        feeds = dict(zip(work.placeholders, work.batches[0], strict=True))
        for detail, session_options in (("plan", {}), ("node", {"coalesce": False})):
            async with af.Session(graph=work.graph, options=af.PlanOptions(**session_options)) as session:
                if work.init is not None:
                    await session.run(work.init)

                async def plain() -> None:
                    await session.run(work.fetches, feeds)  # noqa: B023

                async def traced() -> None:
                    await session.run(work.fetches, feeds, trace=af.Trace(detail=detail))  # noqa: B023

                figures[f"{name}_{detail}"] = await _ratio(traced, plain, options)
    return figures


async def _recorder(options: Options) -> Mapping[str, float]:
    af = our_library()
    figures: dict[str, float] = {}
    for name, (_, build) in _GRAPHS.items():
        async with ours(build) as plain, ours(build, recording=af.Recording()) as recorded:
            for call in (plain, recorded):
                await timed_async(call, 3 * options.seconds)
            found = []
            times = 300 if name == "add" else 100  # each turn has traced steps in it, and so the mean counts
            for turn in range(20 * options.rounds):
                pair = (plain, recorded) if turn % 2 else (recorded, plain)
                took = {call: await _mean(call, times) for call in pair}
                found.append(took[recorded] / took[plain])
            figures[f"{name}_recorded"] = statistics.median(found)
    return figures


async def _page(options: Options) -> Mapping[str, float]:
    af = our_library()
    work = digits(af)
    with tempfile.TemporaryDirectory() as folder:
        spec = {"worker": [f"local://watched-{folder.rpartition('/')[2]}:0"]}
        async with af.Server(spec, "worker", 0, transport="local") as server:
            async with af.Session(server.target, graph=work.graph) as session:
                await session.run(work.init)
                feeds = dict(zip(work.placeholders, work.batches[0], strict=True))
                for _ in range(2000):
                    await session.run(work.fetches, feeds)

                async def asked() -> None:
                    server.status()
                    server.worker.recent(2.0)

                took = await timed_async(asked, options.seconds * 5)
    return {"page_ms": took["median"] / 1000}


def _scalars(writer: Any, add: Callable[[int], object]) -> Mapping[str, float]:
    """How long a writer takes for a scalar that `add` gives it, until it is in its file."""

    def write(count: int) -> float:
        begun = time.perf_counter()
        for step in range(count):
            add(step)
        writer.flush()
        return time.perf_counter() - begun

    write(_SCALARS // 10)
    seconds = write(_SCALARS)
    writer.close()
    return {"scalars_per_s": _SCALARS / seconds, "scalar_us": 1e6 * seconds / _SCALARS}


def _our_scalars(options: Options) -> Mapping[str, float]:
    af = our_library()
    with tempfile.TemporaryDirectory() as folder:
        writer = af.summary.Writer(folder)
        return _scalars(writer, lambda step: writer.scalar("loss", 0.5, step))


def _peer_scalars(options: Options) -> Mapping[str, float]:
    tf = peer_library()
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        writer = tf.summary.FileWriter(folder)
        return _scalars(
            writer,
            lambda step: writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)]), step),
        )


BENCHMARKS = (
    Measurement(
        "traces",
        ours=_traces,
        figures=tuple(
            Figure(f"{name}_{detail}", f"{work}: traced by untraced, {what}", "×")
            for name, (work, _) in _GRAPHS.items()
            for detail, what in (("plan", "regions in one piece"), ("node", "node by node"))
        ),
    ),
    Measurement(
        "recorder",
        ours=_recorder,
        figures=tuple(
            Figure(f"{name}_recorded", f"{work}: one step in 100 traced, by none", "×")
            for name, (work, _) in _GRAPHS.items()
        ),
    ),
    Measurement(
        "page",
        ours=_page,
        figures=(Figure("page_ms", "what a task does for an open page, each second", "ms"),),
    ),
    Measurement(
        "scalars",
        ours=_our_scalars,
        peer=_peer_scalars,
        figures=(
            Figure("scalar_us", "a scalar summary, until it is in the file", "µs"),
            Figure("scalars_per_s", "scalar summaries a second", "1/s"),
        ),
    ),
)
