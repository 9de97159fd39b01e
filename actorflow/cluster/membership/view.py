"""`View`: the members of a cluster at an epoch, a value; each change of it is a pure function.

A cluster begins with the view of its description, at epoch 1. A task that joins, leaves or is declared lost gives the next view,
whose epoch is the next number. Only the coordinator, a task that the first view names, makes views, so no epoch has two of them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgpack

from actorflow.cluster.config.spec import ClusterSpec, canonical, parse_task, task_name
from actorflow.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)

Limits = Mapping[str, tuple[int, int | None]]
"""For a job the least and the greatest number of its tasks; None for any number."""
GUEST = 0
"""The epoch of the view that a task has before it is a member: older than every view of a member."""
_FOUNDED = 1


@dataclass(frozen=True, slots=True)
class View:
    """The members of a cluster at an epoch.

    Args:
        cluster: the identity of the cluster, which members keep for good.
        epoch: the number of the view.
        coordinator: the task that makes views.
        tasks: the members with their addresses.
        limits: of jobs.
    """

    cluster: str
    epoch: int
    coordinator: str
    tasks: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, int, int | None], ...] = ()

    @property
    def members(self) -> dict[str, str]:
        """The addresses of the members by their names."""
        return dict(self.tasks)

    @property
    def spec(self) -> ClusterSpec:
        """The members as a cluster's description."""
        jobs: dict[str, dict[int, str]] = {}
        for task, address in self.tasks:
            job, index = parse_task(task)
            jobs.setdefault(job, {})[index] = address
        return ClusterSpec(jobs)

    def count(self, job: str) -> int:
        """How many members a job has."""
        return sum(parse_task(task)[0] == job for task, _ in self.tasks)

    def limit(self, job: str) -> tuple[int, int | None]:
        """The least and the greatest number of a job's tasks."""
        return next(((least, most) for name, least, most in self.limits if name == job), (0, None))

    def encode(self) -> bytes:
        """The view for the wire."""
        fields = [self.cluster, self.epoch, self.coordinator, self.tasks, self.limits]
        packed: bytes = msgpack.packb(fields)
        return packed


def decode_view(data: bytes) -> View:
    """A view from the wire. Raises InvalidArgumentError for anything else."""
    try:
        cluster, epoch, coordinator, tasks, limits = msgpack.unpackb(data)
        if type(epoch) is not int or epoch < 0 or type(cluster) is not str or type(coordinator) is not str:
            raise ValueError("its fields have other types")
        rows = tuple((task_name(*parse_task(task)), canonical(address)) for task, address in tasks)
        bounds = tuple((str(job), int(least), None if most is None else int(most)) for job, least, most in limits)
    except (ValueError, TypeError, LookupError) as error:
        raise InvalidArgumentError(f"A view of a cluster can't be read: {error}") from None
    return View(cluster, epoch, coordinator, rows, bounds)


def founded(spec: ClusterSpec, limits: Limits | None = None) -> View:
    """The first view of a cluster: the tasks of its description. The first of them is the coordinator.

    Raises InvalidArgumentError for limits that no cluster can have, or that this cluster can't."""
    for job, (least, most) in (limits or {}).items():
        if least < 0 or (most is not None and most < least):
            raise InvalidArgumentError(
                f"The limits of job {job!r} can't be {least} to {most}.", hint='limits={"worker": (1, 8)}'
            )
        present = spec.num_tasks(job) if job in spec.jobs else 0
        if most is not None and present > most:
            raise InvalidArgumentError(f"Job {job!r} has {present} tasks, and its limit is {most}.")
    rows = tuple((job, *bounds) for job, bounds in sorted((limits or {}).items()))
    tasks = tuple((task, canonical(spec.task_address(*parse_task(task)))) for task in spec.tasks)
    return View(spec.cluster_id, _FOUNDED, spec.tasks[0] if spec.tasks else "", tasks, rows)


def place_for(view: View, job: str, index: int | None, address: str, reserved: Container[str] = ()) -> str:
    """The task that a process at `address` would be: the least free number of the job unless it names a number.

    A process at the address of a member comes back to its place.

    Args:
        reserved: the tasks that others are about to be.

    Raises:
        AlreadyExistsError: the number is taken, or a member has the address.
        ResourceExhaustedError: the job has as many tasks as it may have.
        InvalidArgumentError: the job's name, the number or the address can't be.
    """
    members = view.members
    task_name(*parse_task(task_name(job, index or 0)))
    place = canonical(address)
    if (owner := next((task for task, there in view.tasks if there == place), None)) is not None:
        its_job, its_index = parse_task(owner)
        if its_job == job and index in (None, its_index):
            return owner
        raise AlreadyExistsError(
            f"{owner} has the address {place} in view {view.epoch} of the cluster.",
            hint=f"Give --job {its_job} --task {its_index} if this process takes its place, or another address.",
        )
    _, most = view.limit(job)
    if most is not None and view.count(job) >= most:
        raise ResourceExhaustedError(
            f"Job {job!r} has {view.count(job)} tasks in view {view.epoch} of the cluster, as many as it may have.",
            hint="Raise the job's limit where the cluster is described, or let another task leave.",
        )
    if index is not None:
        task = task_name(job, index)
        if task in members or task in reserved:
            where = f"at {members[task]}" if task in members else "which is about to join"
            raise AlreadyExistsError(
                f"The number {index} of job {job!r} is taken by a task {where}.",
                hint="Leave --task out for a free number.",
            )
        return task
    index = 0
    while (task := task_name(job, index)) in members or task in reserved:
        index += 1
    return task


def joined(view: View, task: str, address: str) -> View:
    """The view after a task has joined; the same view if the task is a member at that address already.

    Raises what `place_for` raises."""
    job, index = parse_task(task)
    place_for(view, job, index, address)
    if task in view.members:
        return view
    tasks = sorted([*view.tasks, (task, canonical(address))], key=lambda row: parse_task(row[0]))
    return replace(view, epoch=view.epoch + 1, tasks=tuple(tasks))


def left(view: View, task: str) -> View:
    """The view after a task has left or was lost for good.

    Raises:
        NotFoundError: it is no member.
        FailedPreconditionError: it is the coordinator, or its job would have too few tasks.
    """
    if task not in view.members:
        raise NotFoundError(f"{task} is no member of view {view.epoch} of the cluster.")
    if task == view.coordinator:
        raise FailedPreconditionError(
            f"{task} is the coordinator of the cluster, which is the last to leave.",
            hint="End the cluster as a whole, or let others leave.",
        )
    job, _ = parse_task(task)
    least, _ = view.limit(job)
    if view.count(job) <= least:
        raise FailedPreconditionError(
            f"Job {job!r} has {view.count(job)} tasks in view {view.epoch} of the cluster, and needs {least}.",
            hint="Let another task join first.",
        )
    return replace(view, epoch=view.epoch + 1, tasks=tuple(row for row in view.tasks if row[0] != task))


def guest(view: View, task: str, address: str) -> View:
    """The view of a task that is about to join: the cluster as it will be, older than each view of a member."""
    return replace(joined(view, task, address), epoch=GUEST)


def differ(former: View, later: View) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tasks that have joined between two views, and the tasks that have left. A task at another address has done both."""
    before, after = former.members, later.members
    came = tuple(task for task in after if before.get(task) != after[task])
    went = tuple(task for task in before if after.get(task) != before[task])
    return came, went


def newer(mine: View, theirs: Any) -> bool:
    """Whether a view follows this task's view. Raises FailedPreconditionError for a view of another cluster, an older view,
    or another view of the same epoch."""
    if theirs.cluster != mine.cluster:
        raise FailedPreconditionError(f"The view is of cluster {theirs.cluster!r}, and this is {mine.cluster!r}.")
    if theirs.epoch < mine.epoch:
        raise FailedPreconditionError(
            f"View {theirs.epoch} of the cluster is older than view {mine.epoch}, which this task has.",
            hint="Something changed meanwhile; ask again.",
        )
    if theirs.epoch == mine.epoch and theirs != mine:
        raise FailedPreconditionError(f"There are two views {mine.epoch} of the cluster, which can't be.")
    return bool(theirs.epoch > mine.epoch)
