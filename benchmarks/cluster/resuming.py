"""How long training stands still when a task of a local cluster is killed: from the signal to the end of the next step.

A supervisor notices the loss, starts the task again, restores the last checkpoint on all tasks, and plans the next step. The
figures are taken beside no busy processes and beside eight, each in a session of its own, as those of other users.
"""

from __future__ import annotations

import signal
import statistics
import tempfile
import time

import numpy as np

import actorflow as af
from benchmarks.harness.busy import Busy
from benchmarks.harness.definitions import Figure, Measurement, Options

BUSY = (0, 8)
_STEPS_BETWEEN = 15


def _graph() -> tuple[af.Graph, af.Operation]:
    """A parameter server's variable, and a step that updates it by two workers."""
    with af.Graph().as_default() as graph:
        with af.device("/job:ps"):
            counter = af.train.get_or_create_global_step()
            total = af.Variable(np.zeros(1000, np.float32), name="total")
        parts = []
        for worker in range(2):
            with af.device(f"/job:worker/task:{worker}"):
                parts.append(af.ones([1000]) * float(worker + 1))
        with af.device("/job:ps"):
            step = af.group(total.assign_add(parts[0] + parts[1]), counter.assign_add(1))
    return graph, step


async def _pauses(kills: int) -> list[float]:
    """The seconds that training stood still after each kill; the tasks take turns."""
    graph, step = _graph()
    pauses: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        async with (
            af.LocalCluster({"ps": 1, "worker": 2}) as cluster,
            af.Supervisor(cluster, graph, checkpoint_dir=folder, save_steps=10) as supervisor,
        ):
            names, killed, made, losses = list(cluster.processes), 0.0, 0, 0
            async for attempt in supervisor.steps():
                async with attempt:
                    await supervisor.run(step)
                    made += 1
                if killed and supervisor.epoch > losses:  # a step may still have ended after the signal
                    pauses.append(time.perf_counter() - killed)
                    killed, made = 0.0, 0
                    if len(pauses) == kills:
                        break
                elif not killed and made >= _STEPS_BETWEEN:
                    losses, killed = supervisor.epoch, time.perf_counter()
                    cluster.processes[names[len(pauses) % len(names)]].signal(signal.SIGKILL)
    return pauses


async def pauses(options: Options) -> dict[str, float]:
    """The median and the longest of the pauses."""
    figures: dict[str, float] = {}
    for busy in BUSY:
        with Busy(busy, own_sessions=True):
            taken = await _pauses(3 if options.quick else 9)
        figures |= {f"beside_{busy}": statistics.median(taken), f"beside_{busy}_longest": max(taken)}
    return figures


BENCHMARKS = (
    Measurement(
        "pauses",
        ours=pauses,
        figures=tuple(
            Figure(f"beside_{busy}{end}", f"{text} pause after a kill, beside {busy} busy processes", "s")
            for busy in BUSY
            for end, text in (("", "the median"), ("_longest", "the longest"))
        ),
        processes=1,
    ),
)
