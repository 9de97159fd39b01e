"""The first step of each whole model, and of a long chain, in a fresh process: how long it takes, and what memory the steps need.

The first step makes the plan, its code and what kernels keep. Memory is the most that lay in memory of the whole process, and how
much more that is than before the graph was built, when the library was there alone.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.engine.memory import resident
from benchmarks.graph.graphs import chain_of_adds
from benchmarks.harness.definitions import Case, Figure, Measurement, Options, Work
from benchmarks.harness.sides import our_library, peer_library
from benchmarks.models import TRAINING

CHAIN = 36_000
STEPS = 20
"""Steps that are timed one by one."""
LATER = 10
"""Those from here on are as quick as a step becomes."""
CASES = (*TRAINING, Case("chain", f"chain of {CHAIN} scalar adds of a fed value", chain_of_adds(CHAIN)))


def peak() -> int:
    """The most bytes of this process that have lain in memory (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def _figures(name: str, before: int, times: list[float]) -> dict[str, float]:
    later = sorted(times[LATER:])[(len(times) - LATER) // 2]
    return {
        f"{name}_first_ms": 1e3 * times[0],
        f"{name}_tenth": times[LATER - 1] / later,
        f"{name}_peak_mb": peak() / 2**20,
        f"{name}_grown_mb": (peak() - before) / 2**20,
    }


def _feeds(work: Work) -> Iterator[dict[Any, Any]]:
    batches = itertools.cycle(work.batches)
    return (dict(zip(work.placeholders, next(batches), strict=True)) for _ in range(STEPS))


async def _ours(case: Case, options: Options) -> Mapping[str, float]:
    library, clock = our_library(), time.perf_counter
    before, times = resident(), []
    work = case.build(library)
    async with library.Session(graph=work.graph) as session:
        await session.run([] if work.init is None else work.init)
        for feeds in _feeds(work):
            start = clock()
            await session.run(work.fetches, feeds)
            times.append(clock() - start)
    return _figures(case.name, before, times)


def _peer(case: Case, options: Options) -> Mapping[str, float]:
    library: Any = peer_library()
    clock = time.perf_counter
    before, times = resident(), []
    work = case.build(library)
    with library.Session(graph=work.graph) as session:
        session.run([] if work.init is None else work.init)
        for feeds in _feeds(work):
            start = clock()
            session.run(work.fetches, feeds)
            times.append(clock() - start)
    return _figures(case.name, before, times)


BENCHMARKS = tuple(
    Measurement(
        case.name,
        ours=functools.partial(_ours, case),
        peer=functools.partial(_peer, case),
        processes=1,
        figures=(
            Figure(f"{case.name}_first_ms", f"{case.work}: first step", "ms"),
            Figure(f"{case.name}_tenth", f"{case.work}: tenth step by later ones", "×"),
            Figure(f"{case.name}_peak_mb", f"{case.work}: peak memory of the process", "MB"),
            Figure(f"{case.name}_grown_mb", f"{case.work}: that less what lay there after the import", "MB"),
        ),
    )
    for case in CASES
)
