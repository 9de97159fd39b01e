"""How long training stands still after a loss: from the fault to the end of the next step, in virtual seconds, for each kind.

A cluster on one host is kept by its supervisor, which starts what it has lost again. In a cluster of several hosts somebody
else does so, and the time counts from when that is done, or the network is well again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from unittest import mock

import anyio

import actorflow as af
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.processes.local import LocalCluster
from actorflow.cluster.processes.local_process import LocalProcess
from actorflow.supervisor import RestartPolicy
from actorflow.testing import Host, Trace, World, simulate
from actorflow.training.supervisor import supervisor as supervisor_module
from simulation.recovery import graph_of
from simulation.seeds import LINK
from simulation.tasks import FOLDER, Tasks
from simulation.training import Model

JOBS: Mapping[str, list[str]] = {"ps": ["ps0"], "worker": ["w0", "w1"]}
NAMES = [name for names in JOBS.values() for name in names]
NEAR = ("kill", "kill amid a save", "kill amid a restore", "two at once", "all at once", "stop", "short stop")
"""The faults of a cluster on one host, whose supervisor starts tasks again."""
FAR = ("crash", "silent crash", "two at once far", "freeze", "partition", "one-way partition", "reset", "delay")
"""The faults of a cluster of several hosts."""
_POLICY = RestartPolicy(most=10**6)
_START_SECONDS = 0.4, 1.2
_WAIT = 120.0
_STEP_SECONDS = 0.05


class SimulatedProcess:
    """A task's process, as a `LocalProcess` is seen."""

    def __init__(self, world: World, task: str, host: Host) -> None:
        self.task, self.pid, self.last_log_lines = task, 0, list[str]()
        self._world, self._host, self._life = world, host, host.incarnation

    @property
    def returncode(self) -> int | None:
        return None if self._host.is_alive and self._host.incarnation == self._life else -9

    async def wait(self) -> int:
        while self.returncode is None:  # noqa: ASYNC110  (nothing tells)
            await anyio.sleep(0.01)
        return -9

    def epitaph(self) -> str:
        return f"{self.task} was ended."


class SimulatedCluster(LocalCluster):
    """A cluster on one host whose processes are simulated machines. A process takes a moment to start."""

    def __init__(self, world: World, tasks: Tasks, chance: random.Random) -> None:
        super().__init__({job: len(names) for job, names in JOBS.items()}, transport="local")
        self._world, self._tasks, self._chance = world, tasks, chance
        self._running = {task: self._process(task) for task in tasks.names}

    def _process(self, task: str) -> SimulatedProcess:
        return SimulatedProcess(self._world, task, self._world.host(self._tasks.names[task]))

    @property
    def spec(self) -> ClusterSpec:
        return self._tasks.spec

    @property
    def target(self) -> Target:
        return Target(self._tasks.target("w0"), None)

    @property
    def processes(self) -> Mapping[str, LocalProcess]:
        return MappingProxyType(self._running)  # type: ignore[arg-type]

    async def kill(self, task: str) -> None:
        name = self._tasks.names[task]
        self._world.crash(name, lose_files=False)
        await self._running[task].wait()

    async def restart(self, task: str, *, epoch: int | None = None) -> None:
        host = self._world.host(self._tasks.names[task])
        self._world.restart(host.name, self._chance.uniform(*_START_SECONDS))
        while not host.is_alive:  # noqa: ASYNC110
            await anyio.sleep(0.01)
        self._running[task] = self._process(task)

    def runs(self, task: str) -> bool:
        return self._running[task].returncode is None

    async def allow_files(self, folder: Any) -> None:
        """They may."""


@dataclass
class _Training:
    """The visible state of the training."""

    steps: int = 0
    saves: int = 0
    epoch: int = 0
    """Of the last step that was done."""


class Resuming:
    """One run: faults of one kind, one after the other, each when training goes on; `took` has the seconds of each."""

    def __init__(self, world: World, kind: str, faults: int) -> None:
        self.world, self.kind, self._faults = world, kind, faults
        self.took: list[float] = []
        self._chance = random.Random(f"{world.seed}/{kind}")
        self._seen = _Training()
        self._supervisor: af.Supervisor
        self.tasks = Tasks(world, JOBS, nullcontext)
        world.share_files(*NAMES, "chief")

    async def run(self) -> None:
        job = self.world.spawn("chief", self._train, again=False)
        await self._until(lambda: self._seen.steps > 3 or job.done)
        for _ in range(self._faults):
            if job.done:
                break
            await anyio.sleep(self._chance.uniform(0.0, 1.5))
            await self._befall()
            await anyio.sleep(self._chance.uniform(0.5, 2.5))
        if job.done:
            await job
        self.world.crash("chief")

    async def _train(self) -> None:
        made, model = graph_of(Model, FOLDER)
        assert model.saver is not None
        model.saver.set_last_checkpoints([])
        cluster: Any = self.tasks.target("w0")
        if self.kind in NEAR:
            cluster = SimulatedCluster(self.world, self.tasks, self._chance)
        with mock.patch.object(supervisor_module, "ModelState", lambda *arguments, **options: model):
            self._supervisor = af.Supervisor(
                cluster, made.graph, checkpoint_dir=FOLDER, save_steps=5, restarts=_POLICY, seed=self.world.seed
            )
        async with self._supervisor as supervisor:
            async for attempt in supervisor.steps():
                async with attempt:
                    await supervisor.run(made.train)
                    self._seen.steps += 1
                    self._seen.epoch = supervisor.epoch
                await anyio.sleep(_STEP_SECONDS)

    async def _until(self, holds: Callable[[], object]) -> None:
        with anyio.move_on_after(_WAIT):
            while not holds():  # noqa: ASYNC110
                await anyio.sleep(0.01)

    async def _befall(self) -> None:
        world, chance, supervisor = self.world, self._chance, self._supervisor
        one, other, *_ = chance.sample(NAMES, 3)
        a, b = chance.sample([*NAMES, "chief"], 2)
        epoch, steps, seconds = self._seen.epoch, self._seen.steps, chance.uniform(0.05, 12.0)
        begin, loses = world.now, True
        match self.kind:
            case "kill":
                world.crash(one, lose_files=False)
            case "kill amid a save":
                await self._until(
                    lambda: supervisor._saves._beside._over and not supervisor._saves._beside._over.is_set()
                )
                begin, epoch = world.now, self._seen.epoch
                world.crash(one, lose_files=False)
            case "kill amid a restore":
                world.crash(one, lose_files=False)
                await self._until(lambda: supervisor.epoch > epoch)
                await anyio.sleep(chance.uniform(0, 0.05))
                begin, epoch = world.now, supervisor.epoch
                world.crash(other, lose_files=False)
            case "two at once":
                world.crash(one, lose_files=False)
                world.crash(other, lose_files=False)
            case "all at once":
                for name in NAMES:
                    world.crash(name, lose_files=False)
            case "stop":
                world.freeze(one, 10_000)
            case "short stop":
                world.freeze(one, chance.uniform(0.1, 0.9))
                loses = False
            case "crash" | "silent crash" | "two at once far":
                for name in (one, other) if self.kind == "two at once far" else (one,):
                    world.crash(name, silent=self.kind == "silent crash")
                    world.restart(name, seconds)
                await anyio.sleep(seconds)
                begin = world.now
            case "freeze":
                world.freeze(one, seconds)
                await anyio.sleep(seconds)
                begin, loses = world.now, False
            case "partition" | "one-way partition":
                world.partition(a, b, oneway=self.kind != "partition", seconds=seconds)
                await anyio.sleep(seconds)
                begin, loses = world.now, False
            case "reset":
                world.reset(a, b)
                loses = False
            case "delay":
                world.set_link(a, b, delay=chance.uniform(0.01, 0.2), loss=0.2)
                await anyio.sleep(seconds)
                world.set_link(a, b, delay=0.0005, loss=0.0)
                begin, loses = world.now, False
        if not loses:
            steps = self._seen.steps
            await self._until(lambda: self._seen.steps > steps + 1)  # one may have been on its way
        else:
            await self._until(lambda: self._seen.epoch > epoch)
        self.took.append(world.now - begin)


def resuming(kind: str, seed: int, *, faults: int = 8, trace: Trace | None = None) -> list[float]:
    """The virtual seconds from each of `faults` faults of a kind to the end of the next step. `Trace(print)` shows
    all."""
    runs: list[Resuming] = []

    async def main(world: World) -> None:
        runs.append(Resuming(world, kind, faults))
        await runs[0].run()

    simulate(main, seed=seed, hosts=[*NAMES, "chief"], link=LINK, trace=trace)
    return runs[0].took
