"""`start_on_ray`: the tasks of a cluster as Ray actors (extra `ray`).

Ray chooses the hosts and watches the processes; everything between the tasks goes their own way, over ZeroMQ.

    async with start_on_ray({"ps": 1, "worker": 2}, {"num_cpus": 2}) as cluster:
        async with af.Session(cluster.target, graph) as session: ...

Keys are made for each cluster and travel in Ray's own messages, so they are as safe as the Ray cluster is.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread

from actorflow.base.origins import with_port
from actorflow.cluster.config.credentials import Credentials, Target
from actorflow.cluster.config.spec import ClusterSpec, parse_task
from actorflow.cluster.processes.listening import Reservation
from actorflow.cluster.processes.process import make_server
from actorflow.cluster.processes.task_config import TaskConfig, from_message, to_message
from actorflow.errors import InvalidArgumentError, UnavailableError, UnimplementedError, with_topic

START_SECONDS = 60.0
_STOP_SECONDS = 5.0


class TaskActor:
    """The actor that Ray runs for each task. Its methods are called in this order."""

    def __init__(self) -> None:
        self._reservation: Reservation | None = None
        self._stack = AsyncExitStack()

    async def place(self) -> str:
        """Takes a port of this host, and gives the address at which others reach it."""
        host = own_host()
        self._reservation = Reservation(host)
        return with_port(host, self._reservation.port)

    async def serve(self, message: Mapping[str, Any]) -> int:
        """Starts the server that the configuration asks for, and gives its incarnation."""
        server = await self._stack.enter_async_context(make_server(from_message(message)))
        return server.identity.incarnation

    async def stop(self) -> None:
        """Ends the server."""
        await self._stack.aclose()
        if self._reservation is not None:
            self._reservation.close()


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A cluster whose tasks are Ray actors. `actors` are their handles by the tasks' names."""

    spec: ClusterSpec
    credentials: Credentials
    actors: Mapping[str, Any]

    def target_of(self, task: str) -> Target:
        """The target for a session whose master is `task`. Raises InvalidArgumentError for a task that is not there."""
        return Target(self.spec.address_of(task), self.credentials)

    @property
    def target(self) -> Target:
        """The first task of the job `worker`, or of the first job in a cluster without workers."""
        return self.target_of("/job:worker/task:0" if "/job:worker/task:0" in self.spec else self.spec.tasks[0])


@asynccontextmanager
async def start_on_ray(
    jobs: Mapping[str, int],
    options: Mapping[str, Any] | None = None,
    *,
    ray: Any = None,
    start_seconds: float = START_SECONDS,
    **config: Any,
) -> AsyncIterator[RayCluster]:
    """Starts the tasks of each job on a Ray cluster that `ray.init` has connected to; they end with the block.

    Args:
        jobs: the number of tasks of each job, such as `{"ps": 1, "worker": 2}`.
        options: Ray's options for each actor (`num_cpus`, `resources`, `scheduling_strategy`).
        ray: the module; the installed one unless given.
        start_seconds: the maximum number of seconds that Ray may take to find places for all tasks.
        config: further fields of `TaskConfig`, such as `devices` and `memory_budget`.

    Raises:
        UnimplementedError: Ray is not installed.
        UnavailableError: not all tasks came up in time.
    """
    if sum(jobs.values()) < 1:
        raise InvalidArgumentError(f"A cluster needs a task or more, not {dict(jobs)!r}.")
    module = _ray() if ray is None else ray
    kind = module.remote(**(dict(options) if options else {"num_cpus": 1}))(TaskActor)
    names = [(job, index) for job, count in jobs.items() for index in range(count)]
    actors = {name: kind.remote() for name in names}

    async def ask(call: Callable[[Any], Any], seconds: float) -> list[Any]:
        # Ray's futures are of Ray's own threads; a thread of ours waits for them.
        futures = [call(actor) for actor in actors.values()]
        return list(
            await anyio.to_thread.run_sync(lambda: module.get(futures, timeout=seconds), abandon_on_cancel=True)
        )

    try:
        try:
            addresses = dict(zip(names, await ask(lambda actor: actor.place.remote(), start_seconds)))
            spec = ClusterSpec({job: [addresses[job, k] for k in range(count)] for job, count in jobs.items()})
            credentials = Credentials.make()
            messages = {
                actors[parse_task(task)]: to_message(
                    TaskConfig(spec, *parse_task(task), credentials=credentials, listen=spec.address_of(task), **config)
                )
                for task in spec.tasks
            }
            await ask(lambda actor: actor.serve.remote(messages[actor]), start_seconds)
        except module.exceptions.RayError as error:
            raise UnavailableError(
                f"{len(names)} tasks were to start on Ray, and did not: {error}",
                hint="Has the Ray cluster the resources for all of them at once? `ray status` tells.",
            ) from error
        yield RayCluster(spec, credentials, {task: actors[parse_task(task)] for task in spec.tasks})
        with anyio.CancelScope(shield=True):
            try:
                await ask(lambda actor: actor.stop.remote(), _STOP_SECONDS)
            except module.exceptions.RayError:
                pass  # a task that is gone needs no end
    finally:
        for actor in actors.values():
            module.kill(actor)


def own_host() -> str:
    """The address by which other hosts reach this host: the address of the default route's interface."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UnimplementedError(
            "Ray is not installed, and tasks on Ray need it.",
            hint=with_topic("Install it with: pip install 'actorflow[ray]'", "extra-missing"),
        ) from None
    return ray
