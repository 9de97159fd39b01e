"""`Server`: one task of a cluster, with its worker service and its master service (paper section 3)."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import msgpack

from actorflow import machine
from actorflow.cluster.config.credentials import Credentials, Target
from actorflow.cluster.config.spec import ClusterSpec, task_name
from actorflow.cluster.connect_all import connect_all
from actorflow.cluster.master import MasterPlan, MasterSession, TaskAddress
from actorflow.cluster.remote_step import serve_partial_step, serve_step
from actorflow.cluster.wire.endpoints import Open, open_endpoints
from actorflow.cluster.wire.links import VERSION, Link, Links
from actorflow.cluster.wire.messages import (
    CloseSession,
    Edges,
    Explain,
    Extend,
    Hello,
    Measured,
    OpenSession,
    Ping,
    Prepare,
    Replan,
    Reset,
    ResetAll,
    RunPlan,
    SetEpoch,
    Status,
    Waits,
)
from actorflow.cluster.wire.rpc import Handler
from actorflow.cluster.wire.signatures import decode_signature
from actorflow.cluster.worker import WorkerService, check_epoch
from actorflow.device.base import Device
from actorflow.device.sharing import as_sharing
from actorflow.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnavailableError,
)
from actorflow.graph.device_spec import DeviceSpec
from actorflow.passes.compile import Options
from actorflow.placement.measuring import encode_observed
from actorflow.public import public
from actorflow.runtime.diagnostics.trace import Trace
from actorflow.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.session.devices import open_devices
from actorflow.session.step_runner import Outcome
from actorflow.transport import installed
from actorflow.transport.base import Identity
from actorflow.unpicklable import unpicklable

_REACH_SECONDS = 5.0
MOST_TOLD = 50
"""Steps in flight of which `Server.status` tells what they wait for, unless there are more."""
MOST_SESSIONS = 1024
"""So many sessions one connection may have."""
_FLUSH_SECONDS = 1.0


def _device(device: Device) -> dict[str, Any]:
    """What there is to say of a device, in JSON's types."""
    told = device.statistics()
    return {
        "name": device.name,
        "type": device.type,
        "live_bytes": told.memory.live_bytes,
        "peak_bytes": told.memory.peak_bytes,
        "budget_bytes": told.memory.budget,
        "kernels_inline": told.inline,
        "kernels_threaded": told.threaded,
        "swapped_out_bytes": told.swapped_out,
        "swapped_in_bytes": told.swapped_in,
    }


def _link(link: Link, direction: str) -> dict[str, Any]:
    """What there is to say of a link, in JSON's types."""
    told = link.tokens.statistics()
    return {
        "peer": link.task,
        "direction": direction,
        "transport": told.transport,
        "bytes_sent": told.bytes_sent,
        "bytes_received": told.bytes_received,
        "queued": told.queued_tensors + told.queued_messages,
        "credit_bytes": told.credit,
        "waits": told.waits,
        "wait_seconds": told.wait_seconds,
        "dropped": told.dropped_old + told.dropped_twice,
        "round_trip": link.control.statistics().round_trip,
    }


@public("af")
class Server:
    """One task: it owns the task's devices, runs parts of steps for any master, and is a master for its clients.

    `async with Server(cluster, "worker", 0) as server: await server.join()`.

    Args:
        cluster: all tasks.
        job_name, task_index: which of them this is.
        devices: how many devices of each type; one CPU by default.
        memory_budget: bytes that the tensors of each device may take.
        credentials: the keys of the cluster; without any only loopback addresses are listened at.
        allowed: further public keys that may connect.
        listen, advertise: what to bind and what others connect to, where the cluster's specification does not say it.
        transport: "auto", "zmq", "shm", another one that is installed, or "local" for servers that share an event loop.
        arena_bytes: the most shared memory that this task's tensors may take.
        file_roots: the folders in which ops may read and write files; none by default.
        epoch: of the cluster; those who restart a task know it.
        incarnation: a number that no former process of this task had; random by default.
        endpoints: opens the process's endpoints, where they are of another kind.
    """

    __reduce_ex__ = unpicklable(
        "A server is not pickled: it is a task that runs in this process. Hand over its address."
    )

    def __init__(
        self,
        cluster: ClusterSpec | Mapping[str, Any],
        job_name: str,
        task_index: int,
        *,
        devices: Mapping[str, int] | None = None,
        memory_budget: int | None = None,
        credentials: Credentials | None = None,
        allowed: frozenset[str] = frozenset(),
        listen: str | None = None,
        advertise: str | None = None,
        transport: str = "auto",
        arena_bytes: int | None = None,
        file_roots: Sequence[str | os.PathLike[str]] | None = None,
        epoch: int = 0,
        incarnation: int | None = None,
        endpoints: Open | None = None,
    ) -> None:
        self.cluster = ClusterSpec(cluster)
        self.task = task_name(job_name, task_index)
        self._place = (job_name, 0, task_index)
        address = self.cluster.address_of(self.task)
        made = machine.fresh_incarnation() if incarnation is None else incarnation
        self.identity = Identity(self.cluster.cluster_id, self.task, made)
        self.epoch = epoch
        self._credentials = credentials
        self._device_options = (devices, memory_budget)
        self._file_roots = [os.fspath(root) for root in file_roots or ()]
        self._advertise = advertise
        self._open_endpoints = endpoints or open_endpoints(
            installed.for_target(transport, address),
            listen=listen or address,
            advertise=advertise,
            credentials=credentials,
            allowed=allowed,
            arena_bytes=arena_bytes,
            epoch=epoch,
        )
        self._tasks = [TaskAddress(name, self.cluster.address_of(name)) for name in self.cluster.tasks]
        self._sessions: dict[int, tuple[MasterSession, Link]] = {}
        self._numbers = itertools.count((made & (1 << 62) - 1) >> 31 << 31)
        self._closed: anyio.Event | None = None
        self._started = 0.0
        self._chief = ""
        """The client that has begun the epoch, as far as this task has heard."""
        self._only = ""
        """The client that has the cluster for itself; "" for none."""

    async def __aenter__(self) -> Server:
        self._closed = anyio.Event()
        self._started = anyio.current_time()
        self._root = BackgroundTasks()
        try:
            self.links = Links(self.identity, self._open_endpoints, self._handlers, self._root)
            self.links.on_epoch = lambda epoch: self._root.start(self._follow(epoch))
            try:
                self.worker = WorkerService(self.links, self._open_devices(), self.reach, self._file_roots)
                self.links.sharing = [d for d in map(as_sharing, self.worker.devices) if d is not None]
                self.worker.steps.open()
            except BaseException:
                self.links.close()
                raise
        except BaseException:
            await self._root.close()
            raise
        return self

    async def __aexit__(self, *exc: Any) -> None:
        self.stop()
        try:
            with anyio.CancelScope(shield=True):
                await self.links.aclose()
                await self.worker.close()
        finally:
            self.links.close()
            await self._root.close()

    def _open_devices(self) -> list[Device]:
        wanted, budget = self._device_options
        return open_devices(wanted, budget, DeviceSpec(*self._place), self.links.endpoints.source)

    @property
    def address(self) -> str:
        """What others connect to."""
        return self.links.endpoints.control.address

    @property
    def target(self) -> Target:
        """What `Session(target)` takes."""
        return Target(self.address, self._credentials)

    async def join(self) -> None:
        """Waits until the server is closed."""
        assert self._closed is not None
        await self._closed.wait()

    def stop(self) -> None:
        """Lets `join` return."""
        assert self._closed is not None
        self._closed.set()

    @property
    def draining(self) -> bool:
        """Whether it is about to end."""
        return self.worker.draining

    async def drain(self, seconds: float) -> None:
        """Refuses new steps, of its clients and of other masters, and waits until the requests that are under way are answered,
        at most so long."""
        self.worker.draining = True
        with anyio.move_on_after(seconds):
            while tasks := [task for link in self.links.accepted for task in link.rpc.answering]:
                await asyncio.wait(tasks)

    async def set_epoch(self, epoch: int) -> None:
        """A new epoch of the cluster: steps of the former one are stopped, and have ended when this returns; clients connect
        again. Raises InvalidArgumentError, a ValueError, where it goes back."""
        if epoch < self.epoch:
            raise InvalidArgumentError(f"Epoch {epoch} cannot follow epoch {self.epoch}, in which {self.task} is.")
        if epoch != self.epoch:
            self.links.endpoints.set_epoch(epoch)
            self.epoch = epoch
            why = f"The cluster has begun epoch {epoch}: something was lost, and the steps under way with it."
            for _, owner in list(self._sessions.values()):
                owner.close(why)
            self.worker.abort_all(AbortedError(why))
        await self.worker.settle()

    async def _follow(self, epoch: int) -> None:
        """A peer was met that is in this epoch. By now this task may be in a later one."""
        if epoch > self.epoch:
            await self.set_epoch(epoch)

    def allow_files(self, folder: str) -> None:
        """Lets ops read and write files in one more folder. May be called from any thread."""
        if folder not in self._file_roots:
            self._file_roots.append(folder)

    def status(self) -> dict[str, Any]:
        """What there is to say of the task, in JSON's types."""
        steps = self.worker.steps
        return {
            "task": self.task,
            "cluster": self.identity.cluster,
            "tasks": {task: self.cluster.address_of(task) for task in self.cluster.tasks},
            "address": self.address,
            "incarnation": f"{self.identity.incarnation:x}",
            "epoch": self.epoch,
            "state": "draining" if self.draining else "live",
            "pid": machine.pid(),
            "python": sys.version.split()[0],
            "version": VERSION,
            "uptime": anyio.current_time() - self._started,
            "resident_bytes": machine.resident_bytes(machine.pid()),
            "devices": [_device(device) for device in self.worker.devices],
            "steps_in_flight": len(steps.running),
            "steps": steps.count,
            "steps_failed": steps.failed,
            "steps_cancelled": steps.cancelled,
            "steps_abandoned": steps.abandoned,
            "nodes": steps.nodes,
            "queues": self.worker.queues(),
            "waiting": [
                {"step": one.step, "idle": one.idle, "lines": list(one.lines)}
                for one in (steps.look() if len(steps.running) <= MOST_TOLD else ())
            ],
            "kernels": self.worker.kernels(),
            "sessions": len(self._sessions),
            "links": sorted(
                [_link(link, "to") for link in self.links.outbound.values() if link.alive]
                + [_link(link, "from") for link in self.links.inbound.values()],
                key=lambda row: (row["peer"], row["direction"]),
            ),
        }

    async def reach(self, task: str, address: str) -> Link:
        """The link to a task. Raises UnavailableError, HandshakeRejected."""
        try:
            return await self.links.to(task, address, timeout=_REACH_SECONDS)
        except UnavailableError as error:
            if error.message.startswith(task):
                raise
            raise UnavailableError(f"{task} can't be reached: {error.message}", hint=error.hint) from None

    # ---- what is answered

    def _handlers(self, link: Link) -> Mapping[str, Handler]:
        link.control.on_end(lambda error: self._lost_client(link))

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
                "data": self.links.data_address,
                "devices": [[d.name, d.type, d.allocator.statistics().budget] for d in self.worker.devices],
            }

        def ping(request: Ping) -> None:
            """It is answered in the turn in which it comes."""

        async def open_session(request: OpenSession) -> list[Any]:
            self.worker.check_open()
            return await self._open_session(request, link)

        async def extend(request: Extend) -> int:
            return self._session(request.session, link).extend(request.since, request.nodes)

        async def prepare(request: Prepare) -> list[Any]:
            session = self._session(request.session, link)
            signature = decode_signature(request.signature, session.graph.nodes)
            plan = await session.prepare(signature, request.coalesce)
            return [plan, msgpack.packb(session.newly_placed())]

        def find_plan(request: RunPlan) -> tuple[MasterSession, MasterPlan]:
            self.worker.check_open()
            if self._only not in ("", link.task):
                raise UnavailableError(
                    f"{self.task} takes no steps now: the chief's supervisor restores variables.",
                    hint="Try again in a moment. If that lasts, the chief is gone; it has to be started again.",
                )
            session = self._session(request.session, link)
            try:
                check_epoch(link, request.epoch)
            except AbortedError:
                self._root.start(self._let_go(link))
                raise
            if not 0 <= request.plan < len(session.plans):
                raise NotFoundError(f"The session has no plan {request.plan}.")
            return session, session.plans[request.plan]

        def run_plan(request: RunPlan) -> Any:
            try:
                session, plan = find_plan(request)
                step = next(self._numbers)
                if plan.partial:
                    return serve_partial_step(
                        link.tokens, request, lambda caller: session.run_partial(plan, step, caller, request.step)
                    )

                def run(values: list[Any], trace: Trace | None) -> Outcome:
                    return session.run(plan, step, values, request.timeout, trace, request.step)

                return serve_step(link.tokens, request, plan.partitioned.feeds, plan.forms, run)
            except BaseException:
                link.tokens.finish(request.step)  # feeds may be here before the request
                raise

        async def close_session(request: CloseSession) -> None:
            session = self._session(request.session, link)
            del self._sessions[request.session]
            closing = self._root.start(session.close())  # which ends, whether or not the client waits for it
            if closing is not None:
                await asyncio.shield(closing)

        async def explain(request: Explain) -> str:
            return self._session(request.session, link).explain(request.node)

        async def edges(request: Edges) -> bytes:
            packed: bytes = msgpack.packb(await self._session(request.session, link).edges())
            return packed

        async def measured(request: Measured) -> bytes:
            packed: bytes = msgpack.packb(encode_observed(await self._session(request.session, link).observed()))
            return packed

        async def waits(request: Waits) -> bytes:
            found = await self._session(request.session, link).waits(request.lines)
            packed: bytes = msgpack.packb([[one.step, one.idle, one.lines] for one in found])
            return packed

        async def replan(request: Replan) -> None:
            await self._session(request.session, link).replan()

        async def reset_all(request: ResetAll) -> None:
            for found in (await connect_all(self.cluster, self.task, self.links)).values():
                if found is None:
                    self.worker.reset(request.containers)
                else:
                    await found.call(Reset(request.containers))

        async def set_epoch(request: SetEpoch) -> None:
            if request.epoch == self.epoch and self._chief not in ("", link.task):
                raise InvalidArgumentError(f"Epoch {request.epoch} was begun by another chief.")
            if request.epoch >= self.epoch:
                self._chief, self._only = link.task, request.only
            await self.set_epoch(request.epoch)

        async def status(request: Status) -> dict[str, Any]:
            return self.status()

        return {
            **self.worker.handlers(link),
            "hello": hello,
            "ping": ping,
            "open_session": open_session,
            "extend": extend,
            "prepare": prepare,
            "run_plan": run_plan,
            "close_session": close_session,
            "explain": explain,
            "edges": edges,
            "measured": measured,
            "waits": waits,
            "replan": replan,
            "reset_all": reset_all,
            "set_epoch": set_epoch,
            "status": status,
        }

    async def _let_go(self, link: Link) -> None:
        """Ends the link to a client that has missed the beginning of an epoch; it learns of it when it connects again."""
        with anyio.move_on_after(_FLUSH_SECONDS):
            try:
                await link.flush()
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):  # it is gone, or let go of already
                return
        link.close(f"the cluster is in epoch {self.epoch}")

    def _session(self, number: int, link: Link) -> MasterSession:
        session, owner = self._sessions.get(number, (None, None))
        if session is None or owner is not link:
            raise FailedPreconditionError(f"{self.task} has no session {number} of this client.")
        return session

    async def _open_session(self, request: OpenSession, link: Link) -> list[Any]:
        if sum(owner is link for _, owner in self._sessions.values()) >= MOST_SESSIONS:
            raise ResourceExhaustedError(
                f"{link.task} has {MOST_SESSIONS:,} sessions here; it has to close some first."
            )
        try:
            options = Options(**request.options)
        except TypeError as error:
            raise InvalidArgumentError(f"The session's options are not known here: {error}") from error
        links = await connect_all(self.cluster, self.task, self.links, request.timeout)
        session = MasterSession(
            next(self._numbers),
            self._tasks,
            self.worker,
            self.task,
            self.identity.incarnation,
            self.reach,
            self._numbers,
        )
        devices = await session.open(options, links)
        self._sessions[session.number] = (session, link)
        return [session.number, [[device.name, device.type] for device in devices]]

    def _lost_client(self, link: Link) -> None:
        """A client is gone: its steps are stopped by the end of their calls, its sessions here."""
        for number, (session, owner) in list(self._sessions.items()):
            if owner is link:
                del self._sessions[number]
                self._root.start(session.close())
        self._root.start(self.worker.drop_unclaimed())
