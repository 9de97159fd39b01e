"""Does a session that runs a million times keep anything? Resident memory and live objects before and after."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.graph.graphs import one_add
from benchmarks.harness.definitions import Figure, Measurement, Options
from benchmarks.harness.sides import ours

RUNS = 1_000_000
QUICK_RUNS = 100_000
WARM_RUNS = 20_000


def resident() -> int:
    """Bytes of this process that lie in memory (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _growth(options: Options) -> Mapping[str, float]:
    runs = QUICK_RUNS if options.quick else RUNS
    async with ours(one_add) as call:
        for _ in range(WARM_RUNS):
            await call()
        gc.collect()
        memory, objects = resident(), len(gc.get_objects())
        for _ in range(runs):
            await call()
        grown = resident() - memory  # before the collection: what garbage in cycles piles up counts too
        gc.collect()
        return {
            "growth_mb": grown / 2**20,
            "growth_bytes_per_run": grown / runs,
            "growth_objects": len(gc.get_objects()) - objects,
            "resident_mb": resident() / 2**20,
        }


BENCHMARKS = (
    Measurement(
        "memory",
        ours=_growth,
        processes=2,
        figures=(
            Figure("growth_mb", "growth of memory over 10⁶ runs (`--quick`: 10⁵)", "MB"),
            Figure("growth_bytes_per_run", "the same for each run", "B"),
            Figure("growth_objects", "live objects more than before", ""),
            Figure("resident_mb", "resident memory afterwards", "MB"),
        ),
    ),
)
