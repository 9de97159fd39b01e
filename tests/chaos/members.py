"""Faults of membership: tasks join the cluster of a workload, and leave it, or are killed before they can leave."""

from __future__ import annotations

import signal

from actorflow.cluster.config.spec import parse_task
from chaos.faults import Fault
from chaos.scene import Scene


class Joined(Fault):
    """Tasks join together, and leave together. Steps go on: nothing is lost.

    Args:
        count: how many tasks.
    """

    through, lasts = "actorflow", (0.0, 1.0)

    def __init__(self, count: int) -> None:
        self.name = "a task joins and leaves" if count == 1 else f"{count} tasks join and leave"
        self.loses = "none"
        self._count = count

    async def inject(self, scene: Scene) -> None:
        job, count = _job(scene)
        self._former = count
        await scene.cluster.scale(**{job: count + self._count})

    async def heal(self, scene: Scene) -> None:
        await scene.cluster.scale(**{_job(scene)[0]: self._former})


class JoinedKilled(Joined):
    """A task joins, and is killed. It is back, or declared lost, and then the cluster has its former size."""

    def __init__(self) -> None:
        super().__init__(1)
        self.name, self.loses = "a task joins and is killed", "may"

    async def inject(self, scene: Scene) -> None:
        await super().inject(scene)
        job, _ = _job(scene)
        newest = max((task for task in scene.cluster.processes if parse_task(task)[0] == job), key=parse_task)
        scene.send(newest, signal.SIGKILL)

    async def heal(self, scene: Scene) -> None:
        await scene.goes_on()
        await super().heal(scene)


class Kept(Joined):
    """A task joins, and another task is killed while the cluster is greater. The killed task comes back."""

    def __init__(self) -> None:
        super().__init__(1)
        self.name, self.loses = "a kill in a greater cluster", "must"

    async def inject(self, scene: Scene) -> None:
        await super().inject(scene)
        scene.send(scene.any_task(), signal.SIGKILL)

    async def heal(self, scene: Scene) -> None:
        await scene.goes_on()
        await super().heal(scene)


def _job(scene: Scene) -> tuple[str, int]:
    """The job of a cluster that grows, and the number of its tasks."""
    job = "worker" if "worker" in scene.workload.cluster else next(reversed(scene.workload.cluster))
    return job, scene.cluster.spec.num_tasks(job)
