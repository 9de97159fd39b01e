"""Local clusters whose tasks reach each other by a detour: through a `Network` of proxies, or from namespace to namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from actorflow.cluster.config.spec import ClusterSpec, parse_task
from actorflow.cluster.processes.local import LocalCluster
from chaos.proxy import Network
from chaos.spaces import Spaces

Place = tuple[str, int]


class Detoured(LocalCluster):
    """A local cluster that gives its tasks other addresses before they start."""

    _is_led = False

    async def lead(self, task: str, place: Place) -> tuple[str, str | None]:
        """The address by which others reach the task of a host and port, and what it listens at where that is another one."""
        raise NotImplementedError

    async def _come_up(self, tasks: Sequence[str]) -> None:
        if not self._is_led:
            self._is_led = True
            jobs: dict[str, list[str]] = {}
            listens: dict[str, str | None] = {}
            for task in self.spec.tasks:
                host, _, port = self.spec.address_of(task).rpartition("/")[2].rpartition(":")
                address, listens[task] = await self.lead(task, (host, int(port)))
                jobs.setdefault(parse_task(task)[0], []).append(address)
            self._spec = ClusterSpec(jobs)
            for task, orders in self._config.items():
                self._config[task] = replace(orders, cluster=self._spec, listen=listens[task])
        await super()._come_up(tasks)


class Proxied(Detoured):
    """The tasks are reached through proxies in this process only."""

    def __init__(self, jobs: Mapping[str, int], **options: Any) -> None:
        super().__init__(jobs, **options)
        self.network = Network(lambda: {task: process.pid for task, process in self.processes.items()})

    async def start(self) -> None:
        await self.network.start()
        await super().start()

    async def lead(self, task: str, place: Place) -> tuple[str, str | None]:
        return f"127.0.0.1:{await self.network.lead_to(task, *place)}", "tcp://{}:{}".format(*place)

    async def aclose(self) -> None:
        await super().aclose()
        await self.network.aclose()


class Spaced(Detoured):
    """Each task has a network namespace of its own."""

    def __init__(self, jobs: Mapping[str, int], *, spaces: Spaces, imports: Sequence[str] = (), **options: Any) -> None:
        super().__init__(jobs, imports=["chaos.own_network", *imports], **options)
        self.spaces = spaces

    async def lead(self, task: str, place: Place) -> tuple[str, str | None]:
        return f"{self.spaces.hosts[task]}:{place[1]}", None
