"""Each fault over each workload, with real processes (`make chaos`).

A cell brings a cluster up, lets the fault meet the work at random moments, and judges: each run ends with a right result or a
documented error in time; no update that was committed is lost, and none is there twice; what was only held up is not said to
be lost; nothing is left. `CHAOS=0.01` takes a tenth of the cells, chosen by the seed. A failure names its seed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from channels import start_zmq_collector
from simulation.__main__ import quiet

from actorflow.cluster.processes.launcher import Launcher
from chaos import spaces
from chaos.chaos_cycles import FACTOR, SEED
from chaos.faults import (
    Cut,
    Delay,
    Fault,
    Freeze,
    Hog,
    Kill,
    Partition,
    Reset,
    Restarted,
    Separation,
    SlowReader,
)
from chaos.members import Joined, JoinedKilled, Kept
from chaos.play import Outcome, leaves, make_launcher, play
from chaos.report import RESULTS, write
from chaos.shortages import (
    FileLimit,
    Flipped,
    FullDisk,
    MemoryBudget,
    MemoryLimit,
    Torn,
    mounts_are_allowed,
)
from chaos.workloads import WORKLOADS

LONG = 30.0 if FACTOR >= 1 else 4.0
BOTH, INWARD, OUTWARD = (True, True), (True, False), (False, True)
FAULTS: list[Fault] = [
    Kill(),
    Freeze(0.5, "none"),
    Hog(5.0),
    Reset(),
    Cut(),
    Partition("partition", BOTH),
    Partition("one-way partition", INWARD, OUTWARD),
    *([Separation()] if spaces.are_allowed() else []),
    Delay(),
    SlowReader(),
    MemoryLimit(),
    MemoryBudget(),
    FullDisk() if mounts_are_allowed() else FileLimit(),
    Torn(),
    Flipped(),
    Restarted(),
    Joined(1),
    Joined(3),
    JoinedKilled(),
    Kept(),
]
ONCE: list[tuple[Fault, str]] = [(Freeze(LONG, "must"), "asynchronous"), (Hog(LONG), "synchronous")]
CELLS = [(fault, workload) for fault in FAULTS for workload in WORKLOADS] + ONCE
CHOSEN = CELLS if FACTOR >= 1 else random.Random(SEED).sample(CELLS, len(CELLS) // 10)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Outcome]]:
    """The outcomes so far. In the end they are written down: beside the results of benchmarks where all cells were run."""
    begun, found = time.time(), []
    yield found
    how = "namespaces and a proxy" if spaces.are_allowed() else "a proxy; no network namespaces are to be had here"
    figures = {"seed": SEED, "network": how, "cells": [outcome.as_dict() for outcome in found]}
    is_whole = len(found) == len(CELLS)
    folder = RESULTS if FACTOR >= 1 and is_whole else tmp_path_factory.mktemp("chaos")
    print(f"\n{write('chaos_matrix', f'make chaos CHAOS={FACTOR:g}', begun, figures, folder)}")


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    start_zmq_collector()
    quiet()
    for workload in WORKLOADS.values():
        workload.prepare()
    with make_launcher() as found:
        found.bring_up()
        yield found


@pytest.fixture(autouse=True)
def _quiet() -> None:
    quiet()


@pytest.mark.parametrize("fault, workload", CHOSEN, ids=[f"{fault.name}-{workload}" for fault, workload in CHOSEN])
async def test_f63_f64_f65_f66_f68_fault_over_workload(
    fault: Fault, workload: str, tmp_path: Path, launcher: Launcher, table: list[Outcome]
) -> None:
    seed = random.Random(f"{SEED}/{fault.name}/{workload}").getrandbits(32)
    try:
        outcome = await play(fault, WORKLOADS[workload], tmp_path, launcher, seed)
    except (Exception, BaseExceptionGroup) as error:
        what = "\n".join(f"{type(leaf).__name__}: {leaf}" for leaf in leaves(error))
        raise AssertionError(f"ACTORFLOW_TEST_SEED={SEED}: {fault.name} over {workload}: {what}") from error
    table.append(outcome)
    print(f"{fault.name} over {workload}: {outcome.outcome}, {outcome.seconds:.1f} s")
