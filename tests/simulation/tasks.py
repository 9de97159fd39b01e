"""The servers of a simulated cluster: each on a machine of its own, started again after a crash, drained when asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.cluster.config.spec import ClusterSpec, task_name
from actorflow.cluster.server import Server
from actorflow.cluster.wire.endpoints import Open, open_endpoints
from actorflow.engine.transport.base import PeerLimits
from actorflow.testing import World
from actorflow.testing.host import Host

DRAIN_SECONDS = 2.0
FOLDER = "/models"
"""The folder of checkpoints, on the file system that all machines share."""
CHANNELS = {"limits": PeerLimits(data_window=1 << 16), "chunk": 8 * 1024}
"""The least window, and small chunks: tensors are small here too, go in many frames, and have to wait for credit."""


class Tasks:
    """The tasks of a cluster by the names of their machines.

    Args:
        cluster: job names to machines; each listens on port 1.
        draining: a block in which a task is that drains.
    """

    def __init__(self, world: World, cluster: Mapping[str, Sequence[str]], draining: Any) -> None:
        self.spec = ClusterSpec({job: [f"{name}:1" for name in names] for job, names in cluster.items()})
        self.names = {task_name(job, i): name for job, names in cluster.items() for i, name in enumerate(names)}
        self.servers: dict[str, Server] = {}
        self.on_begin: Callable[[Server], object] = lambda server: None
        """Called with each server before it answers, on its machine."""
        self._world = world
        self._draining: AbstractContextManager[None] = draining
        self._wanted: dict[str, anyio.Event] = {}
        for job, names in cluster.items():
            for index, name in enumerate(names):
                world.spawn(name, self._serve, job, index)

    async def _serve(self, job: str, index: int) -> None:
        host = machine.current()
        assert isinstance(host, Host)
        while True:
            self._wanted[host.name] = anyio.Event()
            server = Server(self.spec, job, index, file_roots=[FOLDER], endpoints=self._endpoints(host))
            self.on_begin(server)
            async with server:
                self.servers[host.name] = server
                await self._wanted[host.name].wait()
                with self._draining():  # type: ignore[operator]
                    await server.drain(DRAIN_SECONDS)

    def _endpoints(self, host: Host) -> Open:
        return open_endpoints("auto", listen=self.target(host.name), options=CHANNELS)

    def drain(self, name: str) -> None:
        """Lets the task on a machine end in good order; another one starts in the same process."""
        self._world.say(f"drain {name}")
        self._world.host(name).deliver(lambda: self._wanted[name].set())

    def target(self, name: str) -> str:
        """The address that a session connects to."""
        return f"tcp://{name}:1"
