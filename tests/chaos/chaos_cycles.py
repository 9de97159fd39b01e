"""Five hundred kills in a row, with pauses and kernels that hold the interpreter between them (`make chaos`).

`CHAOS` is a factor: 1 takes about half an hour, 0.01 shows that all of it runs. An event that must never happen fails;
the durations are written to benchmarks/results/chaos.json, with their limits. A failure names its seed.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from channels import start_zmq_collector

from chaos.report import distribution, write
from chaos.runner import Measured, chaos

FACTOR = float(os.environ.get("CHAOS", "1"))
CYCLES = int(os.environ.get("CYCLES") or max(5, round(500 * FACTOR)))
SEED = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0) or random.SystemRandom().randrange(2**31)
MIB = 64
LONG_HOG = 30.0 if FACTOR >= 1 else 4.0


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


async def test_f64_f65_f68_kill_cycles(tmp_path: Path) -> None:
    begun = time.time()
    try:
        async with chaos(tmp_path, SEED, mib=MIB, save_steps=3) as running:
            for number in range(1, CYCLES + 1):
                if number % 20 == 0:
                    await running.stop()
                else:
                    await running.kill()
                if number % 20 == 5:
                    await running.pause()
                if number % 50 == 25:
                    await running.hog(4.0)
                if number % 25 == 0:
                    keep(begun, number, running.measured)
                    print(f"{number} cycles, {time.time() - begun:.0f} s", flush=True)
            await running.stop()
            await running.pause()
            await running.hog(LONG_HOG)
            measured = running.measured
    except (Exception, BaseExceptionGroup) as error:
        raise AssertionError(f"seed {SEED}: {error!r}") from error
    print(f"\n{keep(begun, CYCLES, measured)}")
    for name, value in figures_of(measured)["figures"].items():
        print(f"{name}: {value}")


def keep(begun: float, cycles: int, measured: Measured) -> Path:
    """Writes the results after `cycles` cycles."""
    command = f"make chaos CHAOS={FACTOR:g} CYCLES={CYCLES}"
    return write("chaos", command, begun, {"seed": SEED, "cycles": cycles, **figures_of(measured)})


def figures_of(measured: Measured) -> dict[str, Any]:
    """The content of the file: distributions in seconds, the targets, and whether they are met."""
    found: dict[str, Any] = asdict(measured)
    for name in ("lost_after_kill", "heard_after_kill", "lost_after_stop", "heard_after_stop", "resumed", "hogs"):
        found[name] = distribution(found[name])
    targets = {
        "heard_after_kill": ("p99", 0.1),
        "heard_after_stop": ("max", 2.0),
        "resumed": ("p99", 3.0),
    }
    checks = {
        f"{name}.{part}": {"at_most": limit, "is": found[name].get(part), "ok": found[name].get(part, 1e9) <= limit}
        for name, (part, limit) in targets.items()
    }
    return {"mib": MIB, "stuck": 0, "figures": found, "targets": checks}
