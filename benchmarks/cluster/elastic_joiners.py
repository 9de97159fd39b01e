"""A process with several tasks that join a cluster at once: `python -m benchmarks.cluster.elastic_joiners ADDRESS COUNT`.

It says "ready", lets the tasks join when it reads a line, and serves until its standard input ends. The environment variable
`ACTORFLOW_KEYS` names its keys.
"""

from __future__ import annotations

import sys
from contextlib import suppress

import anyio
from anyio import to_thread

import actorflow as af
from actorflow.cluster.client.membership import reserve
from actorflow.cluster.config.credentials import from_environment
from actorflow.cluster.config.spec import parse_task
from actorflow.cluster.processes.listening import Reservation
from benchmarks.harness import environment

_HOST = "127.0.0.1"


async def _serve(address: str, count: int) -> None:
    credentials = from_environment()
    places = [Reservation(_HOST) for _ in range(count)]

    async def join(place: Reservation) -> None:
        own = f"tcp://{_HOST}:{place.port}"
        task, view = await reserve(address, credentials, "worker", None, own)
        async with af.Server(view, *parse_task(task), credentials=credentials) as server:
            await server.join()

    print("ready", flush=True)
    await to_thread.run_sync(sys.stdin.readline)
    async with anyio.create_task_group() as group:
        for place in places:
            group.start_soon(join, place)
        await to_thread.run_sync(sys.stdin.read)
        group.cancel_scope.cancel()


if __name__ == "__main__":
    environment.prepare()
    with suppress(KeyboardInterrupt):
        anyio.run(_serve, sys.argv[1], int(sys.argv[2]), backend_options={"loop_factory": af.new_event_loop})
