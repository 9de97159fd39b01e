"""`Scaling`: a local cluster that grows and shrinks while its sessions live."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from actorflow.cluster.client.membership import leave, query_view, reserve
from actorflow.cluster.config.credentials import Target
from actorflow.cluster.config.spec import ClusterSpec, parse_task, task_name
from actorflow.cluster.membership.view import View, founded
from actorflow.cluster.processes.listening import Reservation
from actorflow.cluster.processes.local_process import LocalProcess
from actorflow.cluster.processes.task_config import TaskConfig
from actorflow.cluster.wire.failures import first_of
from actorflow.errors import InvalidArgumentError, OpError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import TaskStatus

HOST = "127.0.0.1"
_END_SECONDS = 8.0
"""A task that has left waits for requests that are under way, and ends."""


class Scaling:
    """The share of `LocalCluster` that changes how many tasks there are."""

    _jobs: dict[str, int]
    _scheme: str
    _is_here: bool
    _reservations: list[Reservation]
    _config: dict[str, TaskConfig]
    _processes: dict[str, LocalProcess]
    _group: TaskGroup | None
    _template: dict[str, Any]
    _spec: ClusterSpec | None

    if TYPE_CHECKING:

        @property
        def spec(self) -> ClusterSpec: ...
        def target_of(self, task: str) -> Target: ...
        def runs(self, task: str) -> bool: ...
        async def _come_up(self, tasks: Sequence[str]) -> None: ...
        async def _serve(self, task: str, *, task_status: TaskStatus[None]) -> None: ...
        async def _end_here(self, task: str) -> None: ...

    async def scale(self, /, *, saved: bool = False, **jobs: int) -> None:
        """Lets tasks join and leave until each named job has that number of tasks. Sessions stay open: their next plans use the
        devices of tasks that have joined, and need none of tasks that have left.

        Example:
            >>> async with af.LocalCluster({"worker": 1}, transport="local") as cluster:
            ...     await cluster.scale(worker=3)
            ...     print(cluster.spec.num_tasks("worker"))
            3

        Args:
            saved: lets tasks leave that hold variables: their values are in a checkpoint, which is restored afterwards.
            jobs: the number of tasks of a job. The tasks with the greatest numbers leave.

        Raises:
            InvalidArgumentError: a number is negative, or all tasks of the cluster would leave.
            FailedPreconditionError: a task would leave that holds variables, or that is the coordinator; a job would
                have fewer tasks than its least number; or the cluster has not been started.
            ResourceExhaustedError: a job would have more tasks than its greatest number.
            UnavailableError: a task does not come up, or a member of the cluster can't be reached.
        """
        await self._take_view()  # tasks may have joined and left by themselves
        spec = self.spec
        if low := [job for job, count in jobs.items() if count < 0]:
            raise InvalidArgumentError(f"Job {low[0]!r} can't have {jobs[low[0]]} tasks.", hint="scale(worker=3)")
        present = {job: spec.task_indices(job) if job in spec.jobs else [] for job in jobs}
        fresh = {job: count - len(present[job]) for job, count in jobs.items() if count > len(present[job])}
        leaving = [task_name(job, index) for job, count in jobs.items() for index in reversed(present[job][count:])]
        try:
            if fresh:
                await self._grow(fresh)
            refusals: dict[str, OpError] = {}

            async def shrink(task: str) -> None:
                try:
                    await self._shrink(task, saved)
                except OpError as error:
                    refusals[task] = error

            async with anyio.create_task_group() as group:  # the coordinator carries out together what waits for it
                for task in leaving:
                    group.start_soon(shrink, task)
            if refusals:
                raise next(refusals[task] for task in leaving if task in refusals)
        except BaseException as error:
            with suppress(OpError), anyio.CancelScope(shield=True):
                await self._take_view()
            raise first_of(error) from None
        await self._take_view()

    @property
    def view(self) -> View:
        """The view of the cluster with which tasks are started again."""
        view = next(iter(self._config.values())).view
        return founded(self.spec) if view is None else view

    @property
    def coordinator(self) -> str:
        """The task that decides which tasks join and leave: the first task with which the cluster has started."""
        return self.view.coordinator

    async def _grow(self, jobs: Mapping[str, int]) -> None:
        target, tasks = self.target_of(self.coordinator), []
        try:
            for job, count in jobs.items():
                for _ in range(count):
                    address = self._free_address(job)
                    task, view = await reserve(target, None, job, None, address)
                    self._config[task] = TaskConfig(view.spec, *parse_task(task), **self._template, view=view)
                    tasks.append(task)
            if self._is_here:
                assert self._group is not None
                async with anyio.create_task_group() as starts:
                    for task in tasks:
                        starts.start_soon(self._group.start, self._serve, task)
            else:
                await self._come_up(tasks)
        except BaseException:
            for task in tasks:
                if not self.runs(task):
                    self._forget(task)
            raise

    def _free_address(self, job: str) -> str:
        if self._is_here:
            return f"{self._scheme}://{secrets.token_hex(8)}-{job}"
        self._reservations.append(Reservation(HOST))
        return f"{self._scheme}://{HOST}:{self._reservations[-1].port}"

    async def _shrink(self, task: str, saved: bool) -> None:
        is_ours = task in self._config
        how = "lost" if is_ours and not self.runs(task) else "saved" if saved else "drained"
        await leave(self.target_of(self.coordinator), task, how)
        if self._is_here:
            await self._end_here(task)
        elif (process := self._processes.get(task)) is not None and process.returncode is None:
            with anyio.move_on_after(_END_SECONDS):
                await process.wait()
            await process.stop(0.0)
        self._forget(task)

    def _forget(self, task: str) -> None:
        self._config.pop(task, None)
        if (process := self._processes.pop(task, None)) is not None:
            process.close()

    async def _take_view(self) -> None:
        """Takes the view of the coordinator, with which tasks are started again from now on."""
        view: View = await query_view(self.target_of(self.coordinator))
        self._spec = view.spec
        self._jobs = {job: view.count(job) for job in dict.fromkeys([*self._jobs, *view.spec.jobs])}
        for task, config in list(self._config.items()):
            if task in view.members:
                self._config[task] = replace(config, cluster=view.spec, view=view)
            elif not self.runs(task):
                self._forget(task)
