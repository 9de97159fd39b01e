"""A training that this process drives, and tasks that join its cluster as processes, by the command that users have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.cluster.config.credentials import write_keys

REPLICAS, ROWS = 4, 12
ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith(("ACTORFLOW_", "TF_CONFIG"))}
LONGEST_SECONDS = 270.0
"""The time of all phases: shorter than the limit of a test, so that a failure can say where it stands."""
STEPS_AFTER = 3
"""The steps that a phase has at least when the cluster is as it shall be."""


class Model:
    """Random numbers, slots and a counter beside the weights, on the tasks of `job`."""

    def __init__(self, job: str | None) -> None:
        with af.Graph().as_default() as self.graph, af.device(job):
            self.step = af.train.get_or_create_global_step()
            self.x, self.y = af.placeholder(af.float32, [None, 4]), af.placeholder(af.float32, [None, 1])

            def tower(x: af.Tensor, y: af.Tensor) -> Any:
                hidden = af.layers.dense(x, 12, activation=af.nn.relu, kernel_initializer=af.ones_initializer())
                hidden = af.layers.dropout(hidden, 0.2, training=True)
                loss = af.reduce_mean(af.square(af.layers.dense(hidden, 1, name="out") - y))
                return loss, af.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=self.step)

            af.set_random_seed(1)
            _, self.train = af.train.Replicas(REPLICAS).build(tower, self.x, self.y)
            self.values = af.global_variables()
            self.initialize = af.global_variables_initializer()

    def feeds(self, step: int) -> dict[Any, Any]:
        """The batch of a step."""
        rows = np.random.default_rng(step).normal(size=(ROWS, 4)).astype(np.float32)
        return {self.x: rows, self.y: np.sin(rows.sum(1, keepdims=True))}

    async def bits(self, run: Callable[..., Any]) -> list[bytes]:
        """The bits of all variables."""
        return [np.asarray(value).tobytes() for value in await run(self.values)]


async def in_one_process(steps: int) -> list[bytes]:
    """The bits after some steps of the same training, without a cluster."""
    model = Model(None)
    async with af.Session("", model.graph) as session:
        await session.run(model.initialize)
        for step in range(steps):
            await session.run(model.train, model.feeds(step))
        return await model.bits(session.run)


class Tasks:
    """The processes that have joined a cluster; those that still run are killed at the end."""

    def __init__(self, folder: Path, cluster: af.LocalCluster) -> None:
        assert cluster.credentials is not None
        self.folder = folder
        self._keys, self._address = str(folder / "keys"), cluster.target.address
        self._processes: list[subprocess.Popen[bytes]] = []
        write_keys(self._keys, cluster.credentials)

    def join(self, job: str) -> subprocess.Popen[bytes]:
        """A process that joins as a task of a job."""
        command = ["worker", "--join", self._address, "--job", job, "--keys", self._keys, "--files", str(self.folder)]
        with open(self.folder / f"joined-{len(self._processes)}.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "actorflow", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=ENVIRON,
            )
        self._processes.append(process)
        return process

    def logs(self) -> str:
        """The output of the processes."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("joined-*.log")))

    def __enter__(self) -> Tasks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


Phase = Callable[[af.Supervisor], bool]
"""Whether the cluster of a training is as it shall be."""
Plan = Callable[[Tasks], Iterator[Phase]]
"""Changes a cluster, and gives the phase that has to come; then changes it again, and so on."""


async def trained_through(plan: Plan, folder: Path, *, copies: int = 0) -> af.Supervisor:
    """Trains while the cluster goes through the phases of a plan, and compares the bits with those of one process.

    The cluster begins with a server and a worker, which stay. The supervisor alone says that a task is lost.
    """
    model, steps = Model("/job:ps"), 0
    async with af.LocalCluster({"ps": 1, "worker": 1}, file_roots=[folder]) as cluster:
        with Tasks(folder, cluster) as tasks:
            async with af.Supervisor(
                cluster.target_of("/job:ps/task:0"),
                model.graph,
                checkpoint_dir=folder / "run",
                save_steps=25,
                replicas=REPLICAS,
                copies=copies,
                lost_seconds=1.0,
            ) as supervisor:
                number = 0
                try:
                    with anyio.fail_after(LONGEST_SECONDS):
                        for phase in plan(tasks):
                            number, since = number + 1, None
                            async for attempt in supervisor.steps():
                                async with attempt as step:
                                    await supervisor.run(model.train, model.feeds(step))
                                    steps = step + 1
                                if since is None and phase(supervisor):
                                    since = steps
                                if since is not None and steps >= since + STEPS_AFTER:
                                    break
                except BaseException as error:
                    places = {v.op.name: supervisor.session.placement(v.op) for v in supervisor.model.variables}
                    told = [f"phase {number}, after {steps} steps", supervisor.lives, places, *supervisor.history[-12:]]
                    error.add_note("\n".join([*map(str, told), tasks.logs()]))
                    raise
                steps = int(await supervisor.run(model.step))
                bits = await model.bits(supervisor.run)
    assert bits == await in_one_process(steps)
    return supervisor


def all_live(supervisor: af.Supervisor) -> bool:
    """Whether each task that the supervisor knows is there."""
    return all(life.is_up for life in supervisor.lives.values())


def workers(number: int) -> Phase:
    """`number` tasks compute the logical workers."""
    return lambda supervisor: all_live(supervisor) and len(supervisor.replicas) == number


def servers(number: int) -> Phase:
    """`number` tasks hold variables."""

    def phase(supervisor: af.Supervisor) -> bool:
        homes = {supervisor.session.placement(variable.op) for variable in supervisor.model.variables}
        return all_live(supervisor) and len(homes) == number

    return phase
