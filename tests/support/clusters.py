"""Clusters for tests: servers that share the test's event loop, over any transport."""

from __future__ import annotations

import itertools
import random
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from typing import Any

from actorflow.cluster.config.credentials import Credentials
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.server import Server

_numbers = itertools.count()


def free_port() -> int:
    """A port that no one listens at now."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """`count` different free ports. They are below those that a system gives to connections: one of these may be taken by
    another program before a server listens at it."""
    draw, found = random.SystemRandom(), list[int]()
    with ExitStack() as stack:
        while len(found) < count:
            port = draw.randrange(10_000, 32_000)
            with suppress(OSError):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
                found.append(port)
    return found


def make_spec(jobs: Mapping[str, int], transport: str) -> ClusterSpec:
    """Addresses for the given number of tasks of each job."""

    ports = iter(free_ports(sum(jobs.values())))

    def address() -> str:
        return f"local://test-{next(_numbers)}:0" if transport == "local" else f"127.0.0.1:{next(ports)}"

    return ClusterSpec({job: [address() for _ in range(count)] for job, count in jobs.items()})


@asynccontextmanager
async def servers(
    jobs: Mapping[str, int], transport: str = "local", *, keys: bool = False, **options: Any
) -> AsyncIterator[list[Server]]:
    """The servers of all tasks, in the order of the cluster's specification."""
    spec = make_spec(jobs, transport)
    credentials = Credentials.make() if keys else None
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                Server(spec, job, index, transport=transport, credentials=credentials, **options)
            )
            for job in spec.jobs
            for index in spec.task_indices(job)
        ]
