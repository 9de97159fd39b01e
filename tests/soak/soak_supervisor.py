"""A supervised cluster for an hour, with a kill a minute (`make soak`): the chief must not grow.

`SOAK` scales the hour; there are always three kills at least. The growth of memory, descriptors, tasks and threads is printed,
and written to benchmarks/results/soak_supervisor.json. A failure names its seed.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from channels import start_zmq_collector
from chaos.report import distribution, write
from chaos.runner import chaos

from actorflow.base.process import machine

SOAK = float(os.environ.get("SOAK", "1"))
SEED = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0) or random.SystemRandom().randrange(2**31)
SECONDS = 3600.0 * SOAK
KILLS = max(3, round(60 * SOAK))
WARM_KILLS = 100 if KILLS >= 60 else 2
"""Before the first look: what is kept once (plans, pools, modules) is there then, and the supervisor's history of a thousand
events, with its reports of deaths, is full."""
MIB = 16
PAUSE = 0.05
"""Seconds between steps: an hour is about kills, saves and restores, and leaves the machine to others."""


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


def look() -> dict[str, float]:
    """The memory, threads and files of this process now."""
    gc.collect()
    return {
        "resident_mib": (machine.resident_bytes(os.getpid()) or 0) / 2**20,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),
    }


async def test_f64_f65_an_hour_with_a_kill_a_minute(tmp_path: Path) -> None:
    begun, looks = time.time(), []
    async with chaos(tmp_path, SEED, mib=MIB, save_steps=50, pause=PAUSE) as running:
        for _ in range(WARM_KILLS):
            await running.kill()
        start = time.monotonic()
        for number in range(KILLS + 1):
            await anyio.sleep(max(0.0, start + number * SECONDS / KILLS - time.monotonic()))
            await running.settle()
            looks.append({"seconds": round(time.monotonic() - start, 1), **look()})
            if number < KILLS:
                await running.kill()
        measured = running.measured
    figures: dict[str, Any] = growth(looks)
    figures |= {"kills": measured.kills, "steps": measured.steps, "saves": measured.saves}
    figures |= {"resumed": distribution(measured.resumed), "heard_after_kill": distribution(measured.heard_after_kill)}
    targets = {
        "memory_mib_per_hour": {"at_most": 1.0, "is": figures["memory_mib_per_hour"]},
        **{name: {"at_most": 0, "is": figures[name]} for name in ("descriptors", "tasks", "threads")},
    }
    for target in targets.values():
        target["ok"] = target["is"] <= target["at_most"]
    command = f"make soak SOAK={SOAK:g} PYTEST_ARGS='-k kill_a_minute'"
    path = write(
        "soak_supervisor", command, begun, {"seed": SEED, "figures": figures, "targets": targets, "looks": looks}
    )
    print(f"\n{path}\n{figures}")
    assert all(targets[name]["ok"] for name in ("descriptors", "tasks", "threads")), f"seed {SEED}: {figures}"
    assert SOAK < 1 or targets["memory_mib_per_hour"]["ok"], f"seed {SEED}: {figures}"


def growth(looks: list[dict[str, float]]) -> dict[str, float]:
    """The figures that have grown. Memory by the median of the slopes between any two looks (Theil and Sen), so that
    neither a single look decides, nor a step up to a new most that the system does not get back; the rest by the median
    of the last third less that of the first."""
    hours = np.array([one["seconds"] for one in looks]) / 3600
    memory = np.array([one["resident_mib"] for one in looks])
    third = max(1, len(looks) // 3)
    found = {
        "hours": round(float(hours[-1]), 4),
        "memory_mib_per_hour": round(slope(hours, memory), 3),
        "memory_mib": round(float(memory[-1] - memory[0]), 3),
    }
    for name in ("descriptors", "tasks", "threads"):
        values = [one[name] for one in looks]
        found[name] = float(np.median(values[-third:]) - np.median(values[:third]))
    return found


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """The median of the slopes between any two points."""
    i, j = np.triu_indices(len(x), 1)
    return float(np.median((y[j] - y[i]) / (x[j] - x[i])))
