"""`LocalCluster`: a cluster on this host, for a laptop, for tests, and for one large machine."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup, TaskStatus

from actorflow.base.process import machine
from actorflow.base.reports import markup
from actorflow.base.reports.logs import LEVELS
from actorflow.base.unpicklable import unpicklable
from actorflow.cluster.config.credentials import Credentials, Target
from actorflow.cluster.config.spec import ClusterSpec, parse_task, task_name
from actorflow.cluster.launch.live_page import LivePage, open_page
from actorflow.cluster.launch.scaling import HOST, Scaling
from actorflow.cluster.membership.view import Limits, founded
from actorflow.cluster.processes.launcher import Launcher, require_python
from actorflow.cluster.processes.listening import Reservation
from actorflow.cluster.processes.local_process import LocalProcess
from actorflow.cluster.processes.task_config import TaskConfig
from actorflow.cluster.wire.endpoints import chosen
from actorflow.engine.runtime.diagnostics.recorder import Recording
from actorflow.engine.transport.base import Reach
from actorflow.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.cluster.server import Server

_STOP_SECONDS = 2.0
_SHOWN_LINES = 6


@dataclass(slots=True)
class _Here:
    """A server on this event loop."""

    server: Server
    stop: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)


@public("af")
class LocalCluster(Scaling):
    """A process on this host for each task, with keys and ports of its own.

    The processes end with the block, and with this process, in whatever way that ends.

    Example:
        >>> x = af.placeholder(af.float32)
        >>> with af.device("/job:worker/task:1"):
        ...     y = x * 2.0
        >>> async with af.LocalCluster({"worker": 2}, transport="local") as cluster:  # without it each task is a process
        ...     async with af.Session(cluster.target) as session:
        ...         print(await session.run(y, {x: 3.0}))
        6.0

    Args:
        jobs: how many tasks each job has.
        transport: how the tasks reach each other: "auto" (ZeroMQ, and shared memory for tensors), "zmq", "shm", or
            another installed transport. "local", as any that joins the tasks of one process, has no processes and no
            sockets, and runs all tasks on this event loop; such a cluster is entered and left by one task. With a
            transport that has no keys all processes of this host can connect.
        devices: of each task, by kind, such as {"CPU": 2}.
        memory_budget: bytes that each device may take.
        arena_bytes: shared memory of each task.
        file_roots: the folders that ops may read and write.
        log_dir: a folder for what the processes write, `ps-0.log` and so on; it is made. Without a folder, the last
            lines are kept while the cluster runs.
        log_level: the least that the processes' logs show: "debug", "info", "warning", "error" or "critical".
        imports: modules that each process imports first: they register ops and kernels of your own.
        recording: how much each task remembers of its last steps; see `Recording`.
        launcher: what starts the processes, if several clusters are to share a launcher; it stays open.
        startup_seconds: how long the start may take; a minute and two seconds more for each task unless given.
        limits: for a job the least and the greatest number of its tasks, for `scale`: such as `{"worker": (1, 8)}`.
        dashboard_port: opens the live page with the cluster, at this port; 0 takes a free port. See `open_dashboard`.

    Raises:
        InvalidArgumentError: there are no tasks, or no transport of that name is installed.
    """

    __reduce_ex__ = unpicklable(
        "A local cluster is not pickled: its processes belong to this one. Hand over the address in its target, and a"
        " file with its keys."
    )

    def __init__(
        self,
        jobs: Mapping[str, int],
        *,
        transport: str = "auto",
        devices: Mapping[str, int] | None = None,
        memory_budget: int | None = None,
        arena_bytes: int | None = None,
        file_roots: Sequence[str | os.PathLike[str]] | None = None,
        log_dir: str | os.PathLike[str] | None = None,
        log_level: str = "info",
        imports: Sequence[str] = (),
        recording: Recording | None = None,
        launcher: Launcher | None = None,
        startup_seconds: float | None = None,
        limits: Limits | None = None,
        dashboard_port: int | None = None,
    ) -> None:
        if not isinstance(jobs, Mapping):
            raise TypeError(
                f"`jobs` has the number of tasks by the job's name, as in {{'worker': 2}}; it is {jobs!r:.60}, of type "
                f"{type(jobs).__name__}."
            )
        count = sum(jobs.values())
        if not count or min(jobs.values()) < 0:
            raise InvalidArgumentError(
                f"A local cluster needs a task or more, not {dict(jobs)!r}.", hint='{"worker": 2}'
            )
        control, _ = chosen(transport)
        if log_level not in LEVELS:
            raise InvalidArgumentError(f"log_level={log_level!r}: it is one of {', '.join(LEVELS)}.")
        self._jobs = dict(jobs)
        self._scheme = control.scheme
        self._is_here = control.reach is Reach.PROCESS
        self._seconds = 60.0 + 2.0 * count if startup_seconds is None else startup_seconds
        self._log_dir = None if log_dir is None else os.fspath(log_dir)
        self._reservations: list[Reservation] = []
        self._config: dict[str, TaskConfig] = {}
        self._processes: dict[str, LocalProcess] = {}
        self._here: dict[str, _Here] = {}
        self._group: TaskGroup | None = None
        self._template: dict[str, Any] = {
            "credentials": None if self._is_here or control.make_keys is None else Credentials.make(),
            "devices": None if devices is None else dict(devices),
            "memory_budget": memory_budget,
            "transport": transport,
            "arena_bytes": arena_bytes,
            "file_roots": None if file_roots is None else tuple(os.fspath(root) for root in file_roots),
            "imports": tuple(imports),
            "log_level": log_level,
            "recording": recording,
        }
        self._launcher = launcher or Launcher(_threads_each(count))
        self._own_launcher = launcher is None
        self._spec: ClusterSpec | None = None
        self._limits = limits
        self._dashboard_port = dashboard_port
        self._page: LivePage | None = None
        self._open = False

    # ---- what it is

    @property
    def spec(self) -> ClusterSpec:
        """The tasks and their addresses. Raises FailedPreconditionError before the start."""
        if self._spec is None:
            raise FailedPreconditionError(
                "The cluster has not been started.", hint="async with LocalCluster(...) as cluster: ..."
            )
        return self._spec

    @property
    def credentials(self) -> Credentials | None:
        """The keys that all tasks and clients share; None where all are in this process."""
        credentials = self._template["credentials"]
        assert credentials is None or isinstance(credentials, Credentials)
        return credentials

    @property
    def target(self) -> Target:
        """The target of a session: the first task of the job `chief`, `master` or `worker`, else of the first job."""
        job = next((job for job in ("chief", "master", "worker") if self._jobs.get(job)), None)
        return self.target_of(self.spec.tasks[0] if job is None else task_name(job, 0))

    def target_of(self, task: str) -> Target:
        """The target for a session whose master is `task`. Raises InvalidArgumentError for a task that is not there.

        Example:
            >>> with af.device("/job:ps/task:0"):
            ...     x = af.placeholder(af.float32)
            ...     double = x * 2.0
            >>> async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:
            ...     async with af.Session(cluster.target_of("/job:ps/task:0")) as session:
            ...         print(await session.run(double, {x: 1.0}))
            2.0
        """
        return Target(self.spec.address_of(task), self.credentials)

    @property
    def processes(self) -> Mapping[str, LocalProcess]:
        """The processes by the tasks' names, such as `/job:worker/task:0`; those that have ended too."""
        return MappingProxyType(self._processes)

    # ---- its live page

    @property
    def dashboard_link(self) -> str | None:
        """The address of the live page with its token, for a browser of this host; None where no page is open."""
        return None if self._page is None else self._page.link

    def open_dashboard(self, port: int = 0) -> str:
        """Opens the live page of this cluster, and gives its link. The page ends with the cluster; a second call opens no other.

        A thread serves the page, so it answers also while the program waits or computes. It listens on this host alone,
        and asks for the token that is in the link.

        Example:
            >>> async with af.LocalCluster({"worker": 2}) as cluster:
            ...     print(cluster.open_dashboard().partition("?")[0])
            http://127.0.0.1:.../

        Args:
            port: the port; 0 takes a free port.

        Raises:
            FailedPreconditionError: the cluster does not run, or its tasks have no sockets.
            InvalidArgumentError: there is no such port.
            UnavailableError: the port is taken.
            UnimplementedError: the extra `dashboard` is not installed.
        """
        if self._is_here:
            raise FailedPreconditionError(
                "The tasks of this cluster are no processes, so a live page can't ask them.",
                hint='Leave transport="local" out, or show a session: af.dashboard.Dashboard(session).',
            )
        if not any(self.runs(task) for task in self.spec.tasks):
            raise FailedPreconditionError("The cluster has ended, so it has no live page.")
        if self._page is None:
            self._page = open_page(self.target, port)
        return self._page.link

    # ---- from its start to its end

    async def start(self) -> None:
        """Starts all tasks and waits until they are up.

        Example:
            >>> async def main():
            ...     cluster = af.LocalCluster({"ps": 1}, transport="local")
            ...     await cluster.start()  # `async with` does the same
            ...     print(cluster.runs("/job:ps/task:0"))
            ...     await cluster.aclose()
            >>> await main()
            True

        Raises:
            UnavailableError: a process ended, or time was up; has the last lines of those that are not up.
            UnimplementedError: the program is frozen (by PyInstaller, say) and the tasks need processes.
            PermissionDeniedError, NotFoundError: the folder for logs can't be written.
        """
        if self._open:
            raise FailedPreconditionError("The cluster has been started already.")
        self._open = True
        try:
            if self._is_here:
                await self._start_servers()
            else:
                await self._start_processes()
            if self._dashboard_port is not None:
                self.open_dashboard(self._dashboard_port)
        except BaseException:
            for process in self._processes.values():
                process.close()  # what has not come up need not end in good order
            await self.aclose()
            raise

    async def _start_processes(self) -> None:
        require_python()
        if self._log_dir is not None:
            prepare_folder(self._log_dir)
        for _ in range(sum(self._jobs.values())):
            self._reservations.append(Reservation(HOST))
        ports = iter(reservation.port for reservation in self._reservations)
        self._spec = ClusterSpec(
            {job: [f"{self._scheme}://{HOST}:{next(ports)}" for _ in range(n)] for job, n in self._jobs.items()}
        )
        self._configure()
        await self._come_up(self._spec.tasks)

    def _configure(self) -> None:
        view = None if self._limits is None else founded(self.spec, self._limits)
        for task in self.spec.tasks:
            self._config[task] = TaskConfig(self.spec, *parse_task(task), **self._template, view=view)

    async def _come_up(self, tasks: Sequence[str]) -> None:
        """Starts processes and waits until all are up, or a process is found not to come up."""
        failed: dict[str, str] = {}
        for task in tasks:
            self._processes[task] = LocalProcess(self._config[task], log_dir=self._log_dir)
        processes = [self._processes[task] for task in tasks]

        async def watch(process: LocalProcess) -> None:
            try:
                await process.start(self._launcher)
                await process.ready()
            except UnavailableError as error:
                failed[process.task] = str(error)
                group.cancel_scope.cancel()

        begin = time.monotonic()
        with anyio.move_on_after(self._seconds):
            async with anyio.create_task_group() as group:
                for process in processes:
                    group.start_soon(watch, process)
        late = [p for p in processes if p.incarnation is None]
        if not late:
            return
        if failed:
            late = [p for p in late if p.task in failed]
            what = f"{len(late)} of {len(processes)} tasks did not start."
        else:
            seconds = time.monotonic() - begin
            what = f"{len(late)} of {len(processes)} tasks were not up after {seconds:.1f} s."
        details: list[str] = []
        for process in late:
            details.append(
                failed.get(process.task) or f"{process.task} (pid {process.pid}) has not said that it is up."
            )
            details += (f"  | {line}" for line in process.last_log_lines[-_SHOWN_LINES:])
        hint = None if self._log_dir is None else f"What they wrote is in {self._log_dir}."
        raise UnavailableError(f"The local cluster did not come up: {what}", details=details, hint=hint)

    async def _start_servers(self) -> None:
        token = secrets.token_hex(8)
        self._spec = ClusterSpec(
            {job: [f"{self._scheme}://{token}-{job}-{index}" for index in range(n)] for job, n in self._jobs.items()}
        )
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._configure()
        for task in self._spec.tasks:
            await self._group.start(self._serve, task)

    async def _serve(self, task: str, *, task_status: TaskStatus[None]) -> None:
        """A server on this event loop, in an anyio task of its own, because it is ended in no order."""
        from actorflow.cluster.processes.process import make_server

        here = self._here[task] = _Here(make_server(self._config[task]))
        try:
            async with here.server:
                task_status.started()
                await here.stop.wait()
        finally:
            here.ended.set()

    async def kill(self, task: str) -> None:
        """Ends a task at once (SIGKILL) and waits for its end. Raises NotFoundError for a task that is not there.

        Example:
            >>> async with af.LocalCluster({"ps": 1}, transport="local") as cluster:
            ...     await cluster.kill("/job:ps/task:0")
            ...     print(cluster.runs("/job:ps/task:0"))
            False
        """
        self._check(task)
        if task in self._here:
            self._here[task].server.links.close()
            await self._end_here(task)
        elif task in self._processes:
            process = self._processes[task]
            process.signal(9)
            await process.wait()

    async def restart(self, task: str, *, epoch: int | None = None) -> None:
        """Starts a task again, at the same address and as another incarnation; a task that runs is ended first.

        Raises what `start` raises, and NotFoundError for a task that is not there.

        Example:
            >>> async with af.LocalCluster({"ps": 1}, transport="local") as cluster:
            ...     await cluster.kill("/job:ps/task:0")
            ...     await cluster.restart("/job:ps/task:0")  # its variables are gone
            ...     print(cluster.runs("/job:ps/task:0"))
            True
        """
        self._check(task)
        if epoch is not None:
            self._config[task] = replace(self._config[task], epoch=epoch)
        if self._is_here:
            assert self._group is not None
            await self._end_here(task)
            await self._group.start(self._serve, task)
        else:
            await self._processes[task].stop(_STOP_SECONDS)
            try:
                await self._come_up([task])
            except BaseException:
                self._processes[task].close()
                raise

    def runs(self, task: str) -> bool:
        """Whether a task has a process that has not ended.

        Example:
            >>> async with af.LocalCluster({"ps": 1}, transport="local") as cluster:
            ...     print(cluster.runs("/job:ps/task:0"))
            True
        """
        process = self._processes.get(task)
        return task in self._here or (process is not None and process.returncode is None)

    async def allow_files(self, folder: str | os.PathLike[str]) -> None:
        """Lets the ops of all tasks read and write files in one more folder, an absolute path; those that start later too.

        Example:
            >>> import os
            >>> async with af.LocalCluster({"ps": 1}, transport="local", file_roots=[]) as cluster:
            ...     await cluster.allow_files(os.getcwd())
        """
        path = os.fspath(folder)
        roots = self._template["file_roots"] or ()
        if path not in roots:
            self._template = {**self._template, "file_roots": (*roots, path)}
        for task, config in self._config.items():
            roots = config.file_roots or ()
            if path not in roots:
                self._config[task] = replace(config, file_roots=(*roots, path))
        async with anyio.create_task_group() as group:
            for process in self._processes.values():
                if process.returncode is None:
                    group.start_soon(process.allow_files, path)
        for here in self._here.values():
            here.server.allow_files(path)

    async def _end_here(self, task: str) -> None:
        server = self._here.pop(task, None)
        if server is not None:
            server.stop.set()
            await server.ended.wait()

    def _check(self, task: str) -> None:
        if task not in self._config:
            raise NotFoundError(
                f"There is no task {task!r} in this cluster; it has {', '.join(self._config) or 'none'}."
            )

    async def aclose(self) -> None:
        """Ends all tasks, within two seconds or by force. A second call does nothing.

        Example:
            >>> async def main():
            ...     cluster = af.LocalCluster({"ps": 1}, transport="local")
            ...     await cluster.start()
            ...     await cluster.aclose()
            ...     print(cluster.runs("/job:ps/task:0"))
            >>> await main()
            False
        """
        with anyio.CancelScope(shield=True):
            try:
                async with anyio.create_task_group() as group:
                    for process in self._processes.values():
                        group.start_soon(process.stop, _STOP_SECONDS)
                for task in list(self._here):
                    await self._end_here(task)
            finally:
                self.close()
        if self._group is not None:
            here, self._group = self._group, None
            await here.__aexit__(None, None, None)

    def close(self) -> None:
        """Ends all processes at once.

        Example:
            >>> cluster = af.LocalCluster({"ps": 1})
            >>> cluster.close()  # where nothing can be awaited, such as in a signal's handler
        """
        page, self._page = self._page, None
        try:
            if page is not None:
                page.close()
        finally:
            for process in self._processes.values():
                process.close()
            if self._own_launcher:
                self._launcher.close()
            for reservation in self._reservations:
                reservation.close()
            self._reservations = []

    async def __aenter__(self) -> LocalCluster:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        said = ", ".join(f"{job}={count}" for job, count in self._jobs.items())
        running = sum(p.returncode is None for p in self._processes.values()) + len(self._here)
        page = "" if self._page is None else f", live page at {self._page.address}"
        return f"<LocalCluster {said}: {running} tasks run{page}>"

    def _repr_html_(self) -> str:
        """For notebooks: its tasks, and the link of its live page where that is open."""
        rows = [
            (
                task,
                config.address,
                str(self._processes[task].pid) if task in self._processes else "this one",
                self._state(task),
            )
            for task, config in self._config.items()
        ]
        shown = markup.table(["task", "address", "process", "state"], rows)
        page = "" if self._page is None else markup.link("Live page", self._page.link)
        return markup.card("LocalCluster", {"tasks": sum(self._jobs.values()), "open": self._open}, page, shown)

    def _state(self, task: str) -> str:
        return "runs" if task in self._here or self.runs(task) else "has ended"


def _threads_each(tasks: int) -> dict[str, str]:
    """How many threads each process's numpy may take: by itself each takes all processors."""
    if "OPENBLAS_NUM_THREADS" in os.environ:
        return {}
    return {"OPENBLAS_NUM_THREADS": str(max(1, machine.usable_cores() // tasks))}


def prepare_folder(path: str) -> None:
    """Makes a folder for logs. Raises PermissionDeniedError, NotFoundError, InvalidArgumentError where that can't be."""
    try:
        os.makedirs(path, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError
    except PermissionError:
        raise PermissionDeniedError(
            f"The folder for logs, {path}, may not be written.", hint="Name another one, or change its mode."
        ) from None
    except OSError as error:
        raise InvalidArgumentError(f"The folder for logs, {path}, can't be made: {error.strerror}.") from None
