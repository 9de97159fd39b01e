"""`run_seed`: a seed's workload under a seed's faults, judged; and many of them in all processors at once."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from actorflow.testing import Link, World, simulate
from simulation.chaos import CRASHES
from simulation.checkpoints import Checkpoints
from simulation.loops import Loops
from simulation.moving import Moving
from simulation.planning import shared_planning
from simulation.queues import Queues
from simulation.run import DELIVERIES, Run, Tally, Workload
from simulation.tensors import Tensors
from simulation.training import Training
from simulation.updates import SharedVariables, Updates

WORKLOADS: tuple[type[Any], ...] = (
    Training,
    Updates,
    Queues,
    Loops,
    Tensors,
    Checkpoints,
    SharedVariables,
    Moving,
)
LIMIT = 400.0
"""The virtual seconds in which a run has to be done, faults and all."""
LEAST_FAULTS, LEAST_KINDS = 5, 2
LINK = Link(delay=0.0005, jitter=0.0003, loss=0.002)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a seed. `failure` is empty where all was right, else what was wrong, with the way to see it
    again."""

    seed: int
    workload: str
    failure: str
    deliveries: int
    faults: Counter[str]
    met: Counter[tuple[str, str]]
    ends: Counter[str]
    saves: int
    restores: int
    virtual_seconds: float
    digest: str
    seconds: float = field(compare=False)
    """Of a processor."""


def workload_of(seed: int) -> Workload:
    """Which workload a seed runs."""
    made: Workload = WORKLOADS[seed % len(WORKLOADS)]()
    return made


def run_seed(seed: int, show: Callable[[str], object] | None = None) -> Outcome:
    """Runs a seed. Nothing is raised by what goes wrong in it."""
    began = time.process_time()
    workload = workload_of(seed)
    workload.prepare()
    trace = Tally(show)
    runs: list[Run] = []

    async def main(world: World) -> None:
        run = Run(world, workload)
        runs.append(run)
        await workload.main(run)
        await run.rest()
        check_load(run, trace)

    failure, hosts = "", [*(name for names in workload.cluster.values() for name in names), *workload.clients]
    try:
        with shared_planning():
            simulate(main, seed=seed, hosts=hosts, link=LINK, shuffle=seed % 5 == 4, limit=LIMIT, trace=trace)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        failure = describe(seed, workload, error)
    run = runs[0]
    assert run.chaos is not None
    return Outcome(
        seed,
        workload.name,
        failure,
        trace.deliveries,
        run.chaos.happened,
        run.chaos.met,
        run.ends,
        run.saves,
        run.restores,
        run.world.now,
        trace.digest,
        time.process_time() - began,
    )


def check_load(run: Run, trace: Tally) -> None:
    """A run that nothing befell proves nothing."""
    assert run.chaos is not None
    faults = run.chaos.happened
    assert trace.deliveries >= DELIVERIES, f"only {trace.deliveries} frames were delivered"
    assert faults.total() >= LEAST_FAULTS and len(faults) >= LEAST_KINDS, f"only these faults have happened: {faults}"
    assert any(faults[kind] for kind in CRASHES), f"nothing has crashed: {faults}"
    assert run.saves, "nothing was saved"


def describe(seed: int, workload: Workload, error: BaseException) -> str:
    """The error of a seed, and how to see it again."""
    notes = "\n".join(getattr(error, "__notes__", ()))
    where = (
        "".join(traceback.format_exception(error))
        if error.__cause__ or not isinstance(error, AssertionError)
        else notes
    )
    return (
        f"Seed {seed} ({workload.name}) failed: {type(error).__name__}: {error}\n{where}\n"
        f"To see it again: make simulate SEEDS=1 FIRST={seed} SHOW=1"
    )


def run_twice(seed: int) -> Outcome:
    """Runs a seed two times. That they differ in anything is a failure too."""
    first, second = run_seed(seed), run_seed(seed)
    if first != second and not first.failure:
        return replace(first, failure=f"Seed {seed} ({first.workload}) gave another trace when it was run again.")
    return first


def run_seeds(seeds: Iterable[int], processes: int | None = None, *, twice: bool = False) -> Iterator[Outcome]:
    """The outcomes of seeds, in their order, run by `processes` processes (one for each processor unless given)."""
    count = processes or os.cpu_count() or 1
    run = run_twice if twice else run_seed
    if count == 1:
        yield from map(run, seeds)
        return
    for workload in WORKLOADS:  # what is made here, the processes have too
        workload().prepare()
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("fork"), initializer=gc.freeze) as pool:
        yield from pool.map(run, seeds, chunksize=2)
