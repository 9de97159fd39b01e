"""`Registrar`: brings each task its share of a master's plans."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from actorflow.cluster.master.graph_partitioner import PartitionedGraph, TaskEdge, TaskShare, task_of
from actorflow.cluster.master.node_states import NodeStates
from actorflow.cluster.wire.failures import first_of
from actorflow.cluster.wire.links import TaskLink
from actorflow.cluster.wire.messages import Register
from actorflow.cluster.wire.signatures import Form
from actorflow.cluster.worker.task_partition import CrossTaskEdge, TaskPartition, encode_partition
from actorflow.cluster.worker.worker import Owner, Worker
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.placement.logical import keeps
from actorflow.engine.session.waiting.deadline import noted_by, noting
from actorflow.engine.session.waiting.diagnosis import ResourceUsers
from actorflow.graph.node import Node


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of the cluster, with the address of each by its name, as the task `me` sees them."""

    addresses: Mapping[str, str]
    me: str
    incarnation: int
    reach: Callable[[str, str], Awaitable[TaskLink]]

    async def link(self, task: str) -> TaskLink:
        """The link to a task. Raises UnavailableError, HandshakeRejected."""
        return await self.reach(task, self.addresses[task])


@dataclass(slots=True)
class RegisteredPartition:
    """A share as it is registered; `link` is None for the master's own task."""

    share: TaskShare
    part: int
    link: TaskLink | None

    def take(self, feeds: Sequence[Any]) -> list[Any]:
        """The feeds of a step that this share takes."""
        return [feeds[index] for index in self.share.feeds]

    @property
    def has_left(self) -> bool:
        """Whether the task has ended its link in good order, and has kept nothing of the session. All that it gave is delivered
        then, so a step can go on after its part."""
        is_over = self.link is not None and isinstance(self.link.rpc.ended, anyio.EndOfStream)
        return is_over and not any(map(keeps, self.share.nodes()))


@dataclass(slots=True)
class MasterPlan:
    """A signature's division, and where its shares are registered."""

    partitioned: PartitionedGraph
    forms: tuple[Form, ...]
    partial: bool = False
    origin: tuple[RunSignature, bool] | None = None
    """The signature, and whether the plan is coalesced."""
    members: tuple[RegisteredPartition, ...] = ()
    stale: bool = False
    """Whether a task has left since, or come back, which takes part: the signature has to be divided again."""

    @property
    def current(self) -> bool:
        """Whether it can run: it is registered, and all links are those that it was registered over."""
        return bool(self.members) and not self.stale and all(m.link is None or m.link.alive for m in self.members)

    def fetches(self, results: Sequence[Sequence[Any]]) -> list[Any]:
        """The step's fetches from those of its members."""
        return [results[share][index] for share, index in self.partitioned.places]


class Registrar:
    """Registers the plans of one session.

    Args:
        session: the session's number, as workers know it.
        owner: the session, to which the parts on this task belong.
        tasks: of the cluster.
        worker: that of this task.
        numbers: of plans and edges, which no other session has.
        states: what nodes keep on the tasks.
        users: the nodes of the graph that use a resource.
    """

    def __init__(
        self,
        session: int,
        owner: Owner,
        tasks: Tasks,
        worker: Worker,
        numbers: itertools.count[int],
        states: NodeStates,
        users: ResourceUsers,
    ) -> None:
        self.edges: dict[int, TaskEdge] = {}
        """The edges between tasks, by their numbers."""
        self.lent: dict[TaskLink, None] = {}
        """The links over which tasks were told of the session."""
        self._session = session
        self._owner = owner
        self._tasks = tasks
        self._worker = worker
        self._numbers = numbers
        self._states = states
        self._users = users

    async def register(self, plan: MasterPlan) -> None:
        """Brings each task its share. Raises UnavailableError if a task is not reached."""
        partitioned = plan.partitioned
        links: dict[str, TaskLink | None] = {}
        for share in partitioned.shares:
            link = links[share.task] = None if share.task == self._tasks.me else await self._tasks.link(share.task)
            self._states.met(share.task, link)
        for share in partitioned.shares:
            self._states.check(share.task, share.nodes())
        numbered = {}
        for edge in partitioned.edges:
            number = next(self._numbers) & (1 << 30) - 1
            self.edges[number] = edge
            numbered[edge.key] = (number, edge)
        members = []
        waits: list[str] = []
        try:
            with noted_by(waits):
                async with anyio.create_task_group() as group:
                    for share in partitioned.shares:
                        link = links[share.task]
                        part = TaskPartition(
                            self._session,
                            next(self._numbers),
                            share.graphs,
                            tuple(partitioned.feeds[i] for i in share.feeds),
                            share.places,
                            tuple(self._crossings(share.task, numbered.values(), links)),
                            plan.partitioned.options,
                            plan.partial,
                            self._users_of(share),
                        )
                        members.append(RegisteredPartition(share, part.number, link))
                        group.start_soon(self._bring, part, link, waits)
        except BaseExceptionGroup as several:
            raise first_of(several) from None
        plan.members = tuple(members)

    async def _bring(self, part: TaskPartition, link: TaskLink | None, waits: list[str]) -> None:
        with noting(waits):
            if link is None or not self._owner.alive:
                await self._worker.register(part, self._owner)
            else:
                self.lent[link] = None
                await link.call(Register(part.session, part.number, encode_partition(part)))

    def _users_of(self, share: TaskShare) -> dict[str, Sequence[Node]]:
        """The nodes of the graph that use the resources of a share."""
        names = [node.attrs["shared_name"] or node.name for node in share.nodes() if "shared_name" in node.attrs]
        users = self._users() if names else {}
        return {name: users[name] for name in names if name in users}

    def _crossings(self, task: str, edges: Any, links: Mapping[str, TaskLink | None]) -> Any:
        for number, edge in edges:
            source, destination = task_of(edge.source), task_of(edge.destination)
            if task not in (source, destination):
                continue
            peer = destination if task == source else source
            link = links[peer]
            incarnation = self._tasks.incarnation if link is None else link.identity.incarnation
            yield CrossTaskEdge(edge.key, number, task == source, peer, self._tasks.addresses[peer], incarnation)
