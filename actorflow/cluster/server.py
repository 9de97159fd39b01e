"""`Server`: one task of a cluster, with its worker service and its master service (paper section 3)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import anyio

from actorflow import __version__
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.base.unpicklable import unpicklable
from actorflow.cluster.client.inquiries import differing
from actorflow.cluster.config.credentials import Credentials, Target
from actorflow.cluster.config.spec import ClusterSpec, task_name
from actorflow.cluster.master.graph_partitioner import device_row
from actorflow.cluster.master.service import MasterService
from actorflow.cluster.membership.service import Membership
from actorflow.cluster.membership.view import Limits, View, founded
from actorflow.cluster.task_status import MOST_TOLD, dataset_rows, device_status, link_status, queue_rows
from actorflow.cluster.wire.connect_all import connect_all
from actorflow.cluster.wire.endpoints import Open, open_endpoints
from actorflow.cluster.wire.links import REPLY_SECONDS, VERSION, Links, TaskLink
from actorflow.cluster.wire.messages import (
    ChiefFailed,
    Hello,
    Ping,
    Reset,
    ResetAll,
    SetEpoch,
    Status,
    Within,
)
from actorflow.cluster.wire.rpc import Handler
from actorflow.cluster.worker.service import WorkerService
from actorflow.cluster.worker.worker import Worker
from actorflow.engine.device.base import Device
from actorflow.engine.device.sharing import as_sharing
from actorflow.engine.runtime.diagnostics.recorder import Recording
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.event_loops.delay import LoopDelay
from actorflow.engine.session.devices import open_devices
from actorflow.engine.transport import installed
from actorflow.engine.transport.base import ProcessIdentity
from actorflow.engine.transport.errors import HandshakeRejected
from actorflow.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
)
from actorflow.graph.device_spec import DeviceSpec
from actorflow.public import public

_LOG = get_logger("cluster")
_REACH_SECONDS = 5.0
_LEAVE_SECONDS = 5.0
"""So long a task that has left waits for the requests that are under way."""


@public("af")
class Server:
    """One task: it owns the task's devices, runs parts of steps for any master, and is a master for its clients.

    Example:
        >>> cluster = {"worker": ["local://worker0:7070", "local://worker1:7070"]}
        >>> async with af.Server(cluster, "worker", 0, transport="local") as server:  # here `await server.join()` serves
        ...     print(server.target)
        local://worker0:7070

    Args:
        cluster: all tasks.
        job_name, task_index: which of them this is.
        limits: for a job the least and the greatest number of its tasks, for tasks that join and leave the cluster: such as
            `{"worker": (1, 8)}`. Any number unless given.
        devices: how many devices of each type; one CPU by default.
        memory_budget: bytes that the tensors of each device may take.
        credentials: the keys of the cluster; without any only loopback addresses are listened at.
        allowed: further public keys that may connect.
        listen, advertise: what to bind and what others connect to, where the cluster's specification does not say it.
        transport: "auto", "zmq", "shm", another installed transport, or "local" for servers that share an event loop.
        arena_bytes: the most shared memory that this task's tensors may take.
        file_roots: the folders in which ops may read and write files; none by default.
        session_tasks: the tasks, by name, that sessions of this server's clients use, and wait for; all unless given.
            If each worker trains for itself, they are the parameter servers and the worker: it waits for no other worker.
        epoch: of the cluster; those who restart a task know it.
        incarnation: a number that no former process of this task had; random by default.
        recording: how much the task remembers of its last steps; see `Recording`.
        endpoints: opens the process's endpoints, if they are of another kind.
    """

    __reduce_ex__ = unpicklable(
        "A server is not pickled: it is a task that runs in this process. Hand over its address."
    )

    def __init__(
        self,
        cluster: ClusterSpec | View | Mapping[str, Any],
        job_name: str,
        task_index: int,
        *,
        limits: Limits | None = None,
        devices: Mapping[str, int] | None = None,
        memory_budget: int | None = None,
        credentials: Credentials | None = None,
        allowed: frozenset[str] = frozenset(),
        listen: str | None = None,
        advertise: str | None = None,
        transport: str = "auto",
        arena_bytes: int | None = None,
        file_roots: Sequence[str | os.PathLike[str]] | None = None,
        session_tasks: Collection[str] | None = None,
        epoch: int = 0,
        incarnation: int | None = None,
        recording: Recording | None = None,
        endpoints: Open | None = None,
    ) -> None:
        self._view = cluster if isinstance(cluster, View) else founded(ClusterSpec(cluster), limits)
        self.task = task_name(job_name, task_index)
        self._place = (job_name, 0, task_index)
        self._session_tasks = None if session_tasks is None else {*session_tasks, self.task}
        address = self._view.spec.address_of(self.task)
        number = machine.fresh_incarnation() if incarnation is None else incarnation
        self.identity = ProcessIdentity(self._view.cluster, self.task, number)
        self.epoch = epoch
        self._credentials = credentials
        self._device_options = (devices, memory_budget)
        self._recording = recording
        self._file_roots = [os.fspath(root) for root in file_roots or ()]
        self._open_endpoints = endpoints or open_endpoints(
            installed.for_target(transport, address),
            listen=listen or address,
            advertise=advertise,
            credentials=credentials,
            allowed=allowed,
            arena_bytes=arena_bytes,
            epoch=epoch,
        )
        self._closed: anyio.Event | None = None
        self._started = 0.0
        self._chief = ""
        self._chief_failure = ""
        """The client that has begun the epoch, as far as this task has heard."""

    async def __aenter__(self) -> Server:
        self._closed = anyio.Event()
        self._started = anyio.current_time()
        self._root = BackgroundTasks()
        # a simulation has no processor that is late
        self._delay = LoopDelay(asyncio.get_running_loop()) if machine.current().is_real else None
        try:
            self.links = Links(self.identity, self._open_endpoints, self._handlers, self._root)
            self.links.on_epoch = lambda epoch: self._root.start(self._follow(epoch))
            try:
                self.worker = Worker(self.links, self._open_devices(), self.reach, self._file_roots, self._recording)
                self.links.sharing = [d for d in map(as_sharing, self.worker.devices) if d is not None]
                self.worker.steps.open()
                self.worker_service = WorkerService(self.worker)
                self.membership = Membership(
                    self._view, self.task, __version__, self.reach, self._root, self._follow_view
                )
                self.master = MasterService(
                    self._session_spec, self.identity, self.worker, self.reach, self._root, self._explained
                )
                self.master.catch_up = self.membership.catch_up
                if self.membership.is_guest:
                    await self.membership.enter(self._view.members[self.task])
            except BaseException:
                self.links.close()
                raise
        except BaseException:
            self._end_delay()
            await self._root.close()
            raise
        return self

    def _end_delay(self) -> None:
        if self._delay is not None:
            self._delay.stop()

    async def __aexit__(self, *exc: Any) -> None:
        self.stop()
        self._end_delay()
        try:
            with anyio.CancelScope(shield=True):
                await self.links.aclose()
                await self.worker.close()
        finally:
            self.links.close()
            await self._root.close()

    def _open_devices(self) -> list[Device]:
        counts, budget = self._device_options
        return open_devices(counts, budget, DeviceSpec(*self._place), self.links.endpoints.source)

    @property
    def cluster(self) -> ClusterSpec:
        """The tasks that the cluster has now."""
        return self.membership.view.spec if self._closed is not None else self._view.spec

    @property
    def _session_spec(self) -> ClusterSpec:
        """The tasks that sessions of this server's clients use."""
        spec = self.cluster
        return spec if self._session_tasks is None else spec.only(self._session_tasks)

    async def _follow_view(self, former: View, view: View) -> None:
        """Sessions here get the devices of tasks that have joined, and plan without tasks that have left."""
        if self.task in view.members:
            await self.master.follow(self._session_spec)
        elif self.task in former.members and not self.draining:
            self.worker.draining = True
            self._root.start(self._end_as_left())

    async def _end_as_left(self) -> None:
        """The end of a task that has left the cluster."""
        await self.drain(_LEAVE_SECONDS)
        self.stop()

    async def leave(self) -> None:
        """Takes the task out of its cluster: the others plan without it from then on.

        Raises:
            FailedPreconditionError: the task is the coordinator, or holds variables.
            UnavailableError: the coordinator or a member can't be reached.

        Example:
            >>> async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
            ...     await cluster.scale(worker=2)  # the second task joins, and leaves
            ...     await cluster.scale(worker=1)
            ...     print(cluster.spec.tasks)
            ['/job:worker/task:0']
        """
        await self.membership.leave(self.task)

    @property
    def address(self) -> str:
        """The address that others connect to."""
        return self.links.endpoints.control.address

    @property
    def target(self) -> Target:
        """The target for `Session(target)`."""
        return Target(self.address, self._credentials)

    async def join(self) -> None:
        """Waits until the server is closed."""
        assert self._closed is not None
        await self._closed.wait()

    def stop(self) -> None:
        """Lets `join` return.

        Example:
            >>> async with af.Server({"worker": ["local://worker0:7070"]}, "worker", 0, transport="local") as server:
            ...     server.stop()
            ...     await server.join()
        """
        assert self._closed is not None
        self._closed.set()

    @property
    def draining(self) -> bool:
        """Whether it is about to end."""
        return self.worker.draining

    async def drain(self, seconds: float) -> None:
        """Refuses new steps, of its clients and of other masters, and waits until the requests that are under way are answered,
        at most so long.

        Example:
            >>> async with af.Server({"worker": ["local://worker0:7070"]}, "worker", 0, transport="local") as server:
            ...     await server.drain(5.0)
            ...     print(server.status()["state"])
            draining
        """
        self.worker.draining = True
        self.membership.close()
        with anyio.move_on_after(seconds):
            while tasks := [task for link in self.links.accepted for task in link.rpc.answering]:
                await asyncio.wait(tasks)

    async def set_epoch(self, epoch: int) -> None:
        """A new epoch of the cluster: steps of the former epoch are stopped, and have ended when this returns; clients
        connect again. Raises InvalidArgumentError, a ValueError, for an epoch before the current epoch.

        Example:
            >>> async with af.Server({"worker": ["local://worker0:7070"]}, "worker", 0, transport="local") as server:
            ...     await server.set_epoch(2)
            ...     print(server.status()["epoch"])
            2
        """
        if epoch < self.epoch:
            raise InvalidArgumentError(f"Epoch {epoch} cannot follow epoch {self.epoch}, in which {self.task} is.")
        if epoch != self.epoch:
            self.links.endpoints.set_epoch(epoch)
            self.epoch = epoch
            why = f"The cluster has begun epoch {epoch}: something was lost, and the steps under way with it."
            self.master.begin_epoch(why)
            self.worker.abort_all(AbortedError(why))
        await self.worker.settle()

    async def _follow(self, epoch: int) -> None:
        """A peer was met that is in this epoch. By now this task may be in a later epoch."""
        if epoch > self.epoch:
            await self.set_epoch(epoch)

    def allow_files(self, folder: str) -> None:
        """Lets ops read and write files in one more folder, or with `/data/model.ckpt*` those whose paths begin so. May be called
        from any thread.

        Example:
            >>> async with af.Server({"worker": ["local://worker0:7070"]}, "worker", 0, transport="local") as server:
            ...     server.allow_files("/data")
        """
        if folder not in self._file_roots:
            self._file_roots.append(folder)

    def status(self) -> dict[str, Any]:
        """The state of the task, in JSON's types.

        Example:
            >>> async with af.Server({"worker": ["local://worker0:7070"]}, "worker", 0, transport="local") as server:
            ...     status = server.status()
            >>> status["task"], status["steps_in_flight"]
            ('/job:worker/task:0', 0)
        """
        steps = self.worker.steps
        # a simulation's seed decides neither when memory is collected nor how long kernels take
        devices = self.worker.devices if machine.current().is_real else ()
        return {
            "task": self.task,
            "cluster": self.identity.cluster,
            "tasks": {task: self.cluster.address_of(task) for task in self.cluster.tasks},
            "session_tasks": self._session_spec.tasks,
            "view": self.membership.view.epoch,
            "coordinator": self.membership.view.coordinator,
            "address": self.address,
            "incarnation": f"{self.identity.incarnation:x}",
            "epoch": self.epoch,
            "chief_failure": self._chief_failure,
            "state": "draining" if self.draining else "joining" if self.membership.is_guest else "live",
            "leaving": self.worker.leaving,
            "copied_bytes": self.worker.copied_bytes,
            "moved_variables": self.worker.moved_variables,
            "pid": machine.pid(),
            "python": sys.version.split()[0],
            "version": VERSION,
            "uptime": anyio.current_time() - self._started,
            "resident_bytes": machine.resident_bytes(machine.pid()),
            "loop_delay": 0.0 if self._delay is None else self._delay.seconds,
            "devices": [device_status(device) for device in devices],
            "steps_in_flight": len(steps.running),
            "steps": steps.count,
            "steps_failed": steps.failed,
            "steps_cancelled": steps.cancelled,
            "steps_abandoned": steps.abandoned,
            "nodes": steps.nodes,
            "queues": queue_rows(self.worker.resources),
            "datasets": dataset_rows(self.worker.resources),
            "waiting": [
                {"step": entry.step, "idle": entry.idle, "lines": list(entry.lines)}
                for entry in (steps.look() if len(steps.running) <= MOST_TOLD else ())
            ],
            "actors": dict(
                Counter(entry.state for entry in (steps.tasks() if len(steps.running) <= MOST_TOLD else ()))
            ),
            "kernels": self.worker.kernels(),
            "sessions": len(self.master.sessions),
            "links": sorted(
                [link_status(link, "to") for link in self.links.outbound.values() if link.alive]
                + [link_status(link, "from") for link in self.links.inbound.values()],
                key=lambda row: (row["peer"], row["direction"]),
            ),
        }

    async def reach(self, task: str, address: str) -> TaskLink:
        """The link to a task. Raises UnavailableError, HandshakeRejected."""
        try:
            return await self.links.to(task, address, timeout=_REACH_SECONDS)
        except UnavailableError as error:
            if error.message.startswith(task):
                raise
            raise UnavailableError(f"{task} can't be reached: {error.message}", hint=error.hint) from None
        except HandshakeRejected as error:
            raise await self._explained(error, task, address) from None

    async def _explained(self, error: OpError, task: str, address: str) -> OpError:
        """The error of a task that refuses, with what its description of the cluster has that this one's has not."""
        if not machine.current().is_real:
            return error
        return await differing(error, self.cluster, self.task, task, Target(address, self._credentials))

    # ---- what is answered

    def _handlers(self, link: TaskLink) -> Mapping[str, Handler]:
        async def hello(request: Hello) -> dict[str, Any]:
            if request.version != VERSION:
                raise FailedPreconditionError(
                    f"{self.task} answers requests of version {VERSION}, and {link.task} asks in version {request.version[:20]}.",
                    hint="Install the same release of actorflow on both sides.",
                )
            if request.epoch > self.epoch:
                self._chief = ""
                await self.set_epoch(request.epoch)
            return {
                "task": self.task,
                "version": VERSION,
                "epoch": self.epoch,
                "view": self.membership.view.epoch,
                "data": self.links.data_address,
                "cores": machine.cores(),
                "devices": [list(device_row(device)) for device in self.worker.devices],
            }

        def ping(request: Ping) -> None:
            """It is answered in the turn in which it comes."""

        def within(request: Within) -> None:
            """It is taken in the turn in which it comes, before the step."""
            link.told_span(request.step, request.context)

        async def reset_all(request: ResetAll) -> None:
            failures: list[OpError] = []

            async def ask(peer: TaskLink) -> None:
                try:
                    await peer.call(Reset(request.containers), timeout=REPLY_SECONDS)
                except OpError as error:
                    failures.append(error)

            links = await connect_all(self.cluster, self.task, self.links, explain=self._explained)
            self.worker.reset(request.containers)
            async with anyio.create_task_group() as group:
                for peer in links.values():
                    if peer is not None:
                        group.start_soon(ask, peer)
            if failures:
                raise failures[0]

        async def set_epoch(request: SetEpoch) -> None:
            if request.epoch == self.epoch and self._chief not in ("", link.task):
                raise InvalidArgumentError(f"Epoch {request.epoch} was begun by another chief.")
            if request.epoch >= self.epoch:
                self._chief, self.master.only = link.task, request.only
                self.worker.has_supervisor = True
            self._chief_failure = ""
            await self.set_epoch(request.epoch)

        async def chief_failed(request: ChiefFailed) -> None:
            self._chief_failure = request.reason

            async def tell(task: str) -> None:
                try:
                    peer = await self.reach(task, self.cluster.address_of(task))
                    await peer.call(ChiefFailed(request.reason, False), timeout=REPLY_SECONDS)
                except OpError as error:
                    _LOG.info("a task has not heard how the chief fares", task=task, error=error.message)

            async with anyio.create_task_group() as group:
                for task in self.cluster.tasks if request.spread else ():
                    if task != self.task:
                        group.start_soon(tell, task)

        async def status(request: Status) -> dict[str, Any]:
            return self.status()

        return {
            **self.worker_service.handlers(link),
            **self.master.handlers(link),
            **self.membership.handlers(link),
            "hello": hello,
            "ping": ping,
            "within": within,
            "reset_all": reset_all,
            "set_epoch": set_epoch,
            "chief_failed": chief_failed,
            "status": status,
        }
