"""Does a loop of a million iterations keep anything of them? Peak of the resident memory, less what it was before."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.graph.graphs import counting_loop
from benchmarks.harness.definitions import Options
from benchmarks.harness.sides import our_library

ITERATIONS = 1_000_000
QUICK_ITERATIONS = 100_000
WARM_ITERATIONS = 5_000


def forget_peak() -> None:
    """From now on `peak` tells what lies in memory at most (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Bytes of this process that have lain in memory at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


async def iterations(options: Options) -> Mapping[str, float]:
    """The loop as one node, and the loop through frames."""
    count = QUICK_ITERATIONS if options.quick else ITERATIONS
    return {**await _growth("iterations", count, True), **await _growth("iterations_frames", count, False)}


async def _growth(name: str, count: int, coalesce: bool) -> Mapping[str, float]:
    af = our_library()
    work = counting_loop(af)
    async with af.Session(graph=work.graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        for _ in range(3):
            await session.run(work.fetches, {work.placeholders[0]: WARM_ITERATIONS})
        gc.collect()
        forget_peak()
        before = peak()
        start = time.perf_counter()
        end = await session.run(work.fetches, {work.placeholders[0]: count})
        seconds = time.perf_counter() - start
        if end != count:
            raise ValueError(f"The loop ended at {end}, not at {count}.")
        return {f"{name}_growth_mb": (peak() - before) / 2**20, f"{name}_us": 1e6 * seconds / count}
