"""`play`: one cell of the matrix: a workload over real processes, a fault that meets it one to three times, and the verdict."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
from simulation.run import Workload

from actorflow.cluster.processes.launcher import Launcher
from chaos.faults import Fault
from chaos.own_network import PREFIX
from chaos.scene import Scene
from chaos.spaces import NAMES

_BEGIN_RUNS = 6
_CELL_SECONDS = 150.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a cell."""

    fault: str
    workload: str
    through: str
    outcome: str
    seconds: float
    struck: int
    lost: int
    restores: int
    passed_over: int
    """Damaged checkpoints."""
    saves: int
    chiefs: int
    runs: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def make_launcher() -> Launcher:
    """The launcher of all cells' processes."""
    return Launcher({"OPENBLAS_NUM_THREADS": "1", PREFIX: NAMES})


async def play(fault: Fault, workload: Workload, folder: Path, launcher: Launcher, seed: int) -> Outcome:
    """Runs a cell, of a workload that is prepared. Raises AssertionError where anything is not as it has to be."""
    begun = time.monotonic()
    jobs = {job: len(names) for job, names in workload.cluster.items()}
    with fault.cluster(jobs, folder, launcher=launcher, imports=["chaos.hog_ops"]) as cluster:
        with anyio.move_on_after(_CELL_SECONDS) as limit:
            async with cluster:
                if fault.by_target:
                    await cluster.allow_files(folder)
                async with anyio.create_task_group() as around, anyio.create_task_group() as group:
                    scene = Scene(workload, cluster, group, folder, seed, by_target=fault.by_target)
                    if fault.by_target:
                        around.start_soon(scene.tend)
                    struck = 0
                    group.start_soon(workload.main, scene)
                    await scene.until(lambda: scene.saves and scene.ends["good"] >= _BEGIN_RUNS, "begins")
                    for _ in range(scene.rng.randint(1, fault.most)):
                        struck += 1
                        await _strike(fault, scene)
                    scene.over = True
                    await scene.until(lambda: scene.done, "ends")
                    around.cancel_scope.cancel()
                await scene.check_rest()
            _check_gone(scene.pids)
        assert not limit.cancelled_caught, f"the run was not over after {_CELL_SECONDS:g} s"
    _judge(fault, scene)
    chiefs, lost = len(scene.supervisors), len(scene.lost)
    said = "nobody was lost" if not lost else "recovered"
    return Outcome(
        fault.name,
        workload.name,
        fault.through,
        said if chiefs == 1 else f"{said}; {chiefs - 1} chiefs ended with a documented error",
        round(time.monotonic() - begun, 2),
        struck,
        lost,
        scene.restores,
        scene.passed_over,
        scene.saves,
        chiefs,
        dict(scene.ends),
    )


async def _strike(fault: Fault, scene: Scene) -> None:
    """At any moment; then it is made good, and the work goes on."""
    scene.note_processes()
    lost = len(scene.lost)
    await anyio.sleep(scene.rng.uniform(0.0, 0.3))
    await fault.inject(scene)
    await anyio.sleep(scene.rng.uniform(*fault.lasts))
    await fault.heal(scene)
    if fault.loses == "must":
        await scene.until(lambda: len(scene.lost) > lost, "hears of the loss")
    await scene.goes_on()
    scene.note_processes()


def leaves(error: BaseException) -> list[BaseException]:
    """The errors of a group, and of those in it."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [error]


def _judge(fault: Fault, scene: Scene) -> None:
    """The verdict when all is over."""
    if fault.loses == "none":
        assert not scene.lost, f"{scene.lost} are said to be lost, but were only held up; {scene.told()}"
    if not fault.may_end_chief:
        assert len(scene.supervisors) == 1, f"{len(scene.supervisors) - 1} chiefs ended: {scene.told()}"


def _check_gone(pids: set[int]) -> None:
    """No process of the cluster is left."""
    left = {pid: command for pid in pids if "actorflow" in (command := _command(pid))}
    assert not left, f"processes are left: {left}"


def _command(pid: int) -> str:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        return "" if state == "Z" or pid == os.getpid() else Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return ""
