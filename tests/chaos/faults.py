"""The faults: what each does to a cluster of real processes, how that is made good, and what it may cause.

`inject` and `heal` are called in turns. The losses that a fault may cause, `loses`: "none" means that no task may be
found to be lost, "must" that one has to be.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from simulation.run import STEP_SECONDS

import actorflow as af
from actorflow.cluster.processes.local import LocalCluster
from actorflow.errors import AbortedError, UnavailableError
from chaos.clusters import Proxied, Spaced
from chaos.hog_ops import hog
from chaos.proxy import Network, Weather
from chaos.scene import Scene
from chaos.spaces import Spaces


class Fault:
    """One that does nothing."""

    name = "nothing"
    loses = "may"
    by_target = False
    """The chief knows the cluster by its address, and a scheduler starts what has ended."""
    most = 3
    """How often it happens in a run, at most."""
    lasts = (0.0, 0.0)
    """Between how many seconds it is made good."""
    through = "signals"
    """How it is done."""
    may_end_chief = False
    """Whether the supervisor may end with a documented error; another one takes its place."""
    transport = "auto"

    @contextmanager
    def cluster(self, jobs: dict[str, int], folder: Path, **options: Any) -> Iterator[LocalCluster]:
        """A cluster to which it can be done, with checkpoints in `folder`."""
        yield LocalCluster(jobs, transport=self.transport, **options)

    async def inject(self, scene: Scene) -> None:
        """Does it, to a task by chance."""

    async def heal(self, scene: Scene) -> None:
        """Makes it good."""


# ---- processes


class Kill(Fault):
    """SIGKILL."""

    name, loses = "kill", "must"

    async def inject(self, scene: Scene) -> None:
        scene.send(scene.any_task(), signal.SIGKILL)


class Freeze(Fault):
    """SIGSTOP, and SIGCONT after some seconds."""

    def __init__(self, seconds: float, loses: str) -> None:
        self.name, self.loses, self.lasts = f"freeze of {seconds:g} s", loses, (seconds, seconds)
        self.by_target = loses == "must"  # else a chief would kill it, and not see it come back
        self.most = 1 if self.by_target else 3

    async def inject(self, scene: Scene) -> None:
        self._process = scene.cluster.processes[scene.any_task()]
        self._process.signal(signal.SIGSTOP)

    async def heal(self, scene: Scene) -> None:
        self._process.signal(signal.SIGCONT)


class Hog(Fault):
    """A kernel that holds the interpreter of a task."""

    loses, most, through = "none", 1, "a kernel"

    def __init__(self, seconds: float) -> None:
        self.name, self.seconds = f"interpreter held for {seconds:g} s", seconds
        self.may_end_chief = seconds > STEP_SECONDS  # a step's deadline is an error of the program's

    async def inject(self, scene: Scene) -> None:
        with af.Graph().as_default() as graph, af.device(scene.any_task()):
            held = hog(af.constant(np.float64(self.seconds)))
        await self._held(scene, graph, held)

    async def _held(self, scene: Scene, graph: af.Graph, held: af.Tensor) -> None:
        while True:
            try:
                async with af.Session(scene.cluster.target, graph) as session:
                    assert await session.run(held) == self.seconds
                return
            except (UnavailableError, AbortedError):  # a restore comes in between
                await anyio.sleep(0.05)


class Restarted(Fault):
    """A task dies, and another process has its name and address before anybody has noticed: the former one just fell silent."""

    name, loses, by_target, through, transport = "restarted peer", "must", True, "proxy", "zmq"

    @contextmanager
    def cluster(self, jobs: dict[str, int], folder: Path, **options: Any) -> Iterator[LocalCluster]:
        yield Proxied(jobs, transport=self.transport, **options)

    async def inject(self, scene: Scene) -> None:
        task = scene.any_task()
        scene.untended.add(task)
        _network(scene).change(Weather(isolated=task))
        await scene.cluster.kill(task)
        await scene.cluster.restart(task)
        scene.untended.discard(task)

    async def heal(self, scene: Scene) -> None:
        _network(scene).change(Weather())


# ---- the network


def _network(scene: Scene) -> Network:
    assert isinstance(scene.cluster, Proxied)
    return scene.cluster.network


class Proxy(Fault):
    """The fate of a task's bytes on their way."""

    through, transport = "proxy", "zmq"

    @contextmanager
    def cluster(self, jobs: dict[str, int], folder: Path, **options: Any) -> Iterator[LocalCluster]:
        yield Proxied(jobs, transport=self.transport, **options)

    async def heal(self, scene: Scene) -> None:
        _network(scene).change(Weather())


class Reset(Proxy):
    """Connections of a task end with a reset, all or each with a chance of a half."""

    name = "reset connections"

    async def inject(self, scene: Scene) -> None:
        _network(scene).reset(scene.any_task(), scene.rng, scene.rng.choice((1.0, 0.5)))


class Cut(Proxy):
    """Connections of a task end in the middle of a message."""

    name = "connections cut amid a message"

    async def inject(self, scene: Scene) -> None:
        _network(scene).cut(scene.any_task(), scene.rng)


class Partition(Proxy):
    """Nothing reaches a task, nothing comes from it, or neither; all arrives when it is healed."""

    lasts = (0.2, 3.0)

    def __init__(self, name: str, *ways: tuple[bool, bool]) -> None:
        self.name, self._ways = name, ways

    async def inject(self, scene: Scene) -> None:
        inward, outward = scene.rng.choice(self._ways)
        _network(scene).change(Weather(isolated=scene.any_task(), inward=inward, outward=outward))


class Delay(Proxy):
    """All bytes take longer, there and back."""

    name, loses, lasts = "delay", "none", (0.5, 1.5)

    async def inject(self, scene: Scene) -> None:
        _network(scene).change(Weather(delay=scene.rng.uniform(0.01, 0.1)))


class SlowReader(Proxy):
    """A task takes few bytes in a second; those who send to it have to wait."""

    name, lasts = "slow reader", (0.5, 2.0)

    async def inject(self, scene: Scene) -> None:
        _network(scene).change(Weather(rate={scene.any_task(): scene.rng.uniform(50e3, 1e6)}))


class Separation(Fault):
    """A partition between network namespaces, of connections that the kernel keeps."""

    name, through, transport, lasts = "partition of namespaces", "namespaces", "zmq", (0.2, 3.0)

    @contextmanager
    def cluster(self, jobs: dict[str, int], folder: Path, **options: Any) -> Iterator[LocalCluster]:
        tasks = [f"/job:{job}/task:{index}" for job, count in jobs.items() for index in range(count)]
        with Spaces(tasks) as self._spaces:
            yield Spaced(jobs, spaces=self._spaces, transport=self.transport, **options)

    async def inject(self, scene: Scene) -> None:
        self._task = scene.any_task()
        inward, outward = scene.rng.choice(((True, True), (True, False), (False, True)))
        await anyio.to_thread.run_sync(
            lambda: self._spaces.isolate(self._task, inward=inward, outward=outward), abandon_on_cancel=False
        )

    async def heal(self, scene: Scene) -> None:
        await anyio.to_thread.run_sync(self._spaces.join, self._task)
