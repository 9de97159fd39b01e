"""`Worker`: a task's devices and their state, the parts of plans registered there, and the steps that run them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgpack

from actorflow.base.registry import plugins
from actorflow.cluster.wire.links import Links, TaskLink, patient_sleep
from actorflow.cluster.wire.signatures import check_feeds
from actorflow.cluster.worker.remote_rendezvous import RemoteRendezvous, Route, RunnablePartition
from actorflow.cluster.worker.task_partition import CrossTaskEdge, TaskPartition
from actorflow.engine.device.base import Device
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.runtime.diagnostics.node_measurements import node_measurements
from actorflow.engine.runtime.diagnostics.post_mortem import PostMortem
from actorflow.engine.runtime.diagnostics.recorder import Recorder, Recording, rows
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.runtime.state.kept_copies import KeptCopies
from actorflow.engine.runtime.state.resources import ResourceManager
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.engine.session.partial.execution import PartialExecution, StepCaller
from actorflow.engine.session.planning.builder import PlanBuilder
from actorflow.engine.session.planning.planner import LARGE_GRAPH, on_thread
from actorflow.engine.session.step_runner import StepRunner
from actorflow.engine.session.waiting.admission import Admission
from actorflow.engine.session.waiting.deadlock import DeadlockDetector, WaitingStep
from actorflow.errors import AbortedError, AlreadyExistsError, DeadlineExceededError, NotFoundError, UnavailableError
from actorflow.graph.node import Node

_UNLIMITED = 1 << 30
_REMEMBERED = 1024
MOST_RECORDED = 200_000
"""Events that a recorder keeps, some hundred bytes each."""
_UNCLAIMED_SECONDS = 5.0
"""Longer than a request takes over a link that lives: without a heartbeat for so long it has ended."""


class Owner(Protocol):
    """The owner of registered parts: a link to a master, or the master of this very task."""

    @property
    def alive(self) -> bool: ...


@dataclass(slots=True)
class _Session:
    """The state that a worker keeps for a master's session."""

    builder: PlanBuilder
    parts: set[int] = field(default_factory=set)


class Worker:
    """Runs the parts of steps on `devices`. All containers are shared by all sessions and outlive them.

    A part belongs to whoever registered it, its *owner*: a link to a master, or the master of this very task. When the owner
    is gone, its steps are stopped and its parts forgotten.
    """

    def __init__(
        self,
        links: Links,
        devices: Sequence[Device],
        reach: Callable[[str, str], Awaitable[TaskLink]],
        file_roots: Sequence[str] | None = None,
        recording: Recording | None = None,
    ) -> None:
        self.devices = list(devices)
        self.resources = {device.name: ResourceManager() for device in devices}
        for manager in self.resources.values():
            manager.file_roots = file_roots
        self.local = plugins.load("rendezvous", "local")()
        self.steps = StepRunner(Admission(_UNLIMITED, 0, _UNLIMITED), self.local)
        self.steps.users = self._users
        self.links = links
        self._reach = reach
        self._record(Recording() if recording is None else recording)
        self._sessions: dict[tuple[int, int], _Session] = {}
        self._parts: dict[tuple[int, int], RunnablePartition] = {}
        self._rendezvous: dict[int, tuple[RemoteRendezvous, object]] = {}
        self._aborted: dict[tuple[int, object], BaseException] = {}
        """Steps that were aborted before they began here, with who did so: no one ends another one's."""
        self.draining = False
        """Whether the task is about to end, and begins no steps any more."""
        self.leaving = False
        """Whether the task leaves the cluster as soon as its variables are elsewhere."""
        self.moved_variables = 0
        """How many variables have moved from here to other tasks."""
        self.has_supervisor = False
        """Whether a supervisor has begun the epoch."""

    def check_open(self) -> None:
        """Raises UnavailableError where no step may begin any more."""
        if self.draining:
            raise UnavailableError(f"{self.links.me.task} is about to end, and takes no new work.")

    def kept(self) -> list[str]:
        """The names of what this task alone holds: variables, and tables and queues with elements."""
        names = []
        for manager in self.resources.values():
            for _, _, name, resource in manager.held():
                has_value = bool(getattr(resource, "initialized", None))
                has_entries = isinstance(resource, Sized) and len(resource) > 0
                has_elements = hasattr(resource, "spec") and bool(getattr(resource.statistics(), "size", None))
                if has_value or has_entries or has_elements:
                    names.append(name)
        return names

    def copies(self, owner: str) -> list[tuple[int, str, list[str]]]:
        """The copies of variables that the task keeps for `owner`; see `KeptCopies.rows`."""
        return [row for kept in self._kept_copies() for row in kept.rows(owner)]

    @property
    def copied_bytes(self) -> int:
        """The bytes of all copies of variables that the task keeps."""
        return sum(kept.nbytes for kept in self._kept_copies())

    def drop_state(self, owner: str, copies: bool, variables: Sequence[Sequence[str]]) -> None:
        """Drops variables that have moved away, and copies of an owner."""
        for kept in self._kept_copies() if copies else ():
            kept.drop(owner)
        for manager in self.resources.values():
            for container, name in variables:
                self.moved_variables += manager.drop(container, name, VariableState)

    def _kept_copies(self) -> list[KeptCopies]:
        held = [row[3] for manager in self.resources.values() for row in manager.held()]
        return [resource for resource in held if isinstance(resource, KeptCopies)]

    def _record(self, recording: Recording) -> None:
        folder, task = recording.destination, self.links.me.task
        post_mortem = None if folder is None else PostMortem(folder, task, recording.seconds)
        recorder = self.recorder = Recorder(recording, post_mortem)
        self.steps.record_by(recorder)

        def stalled(step: WaitingStep) -> None:
            recorder.stalled(step.step, step.lines, self.steps.running.values())

        if post_mortem is not None:
            self.steps.deadlock = DeadlockDetector(stalled, recording.seconds)

    def record(self, every: int, events: int) -> bytes:
        """Traces each step from now on whose number is a multiple of `every`, or as many as usual if `every` is 0.
        Gives what was kept since the last such request."""
        recorder = self.recorder
        kept = recorder.record(every, min(max(events, 1), MOST_RECORDED), self.steps.running.values())
        dropped, recorder.dropped = recorder.dropped, 0
        packed: bytes = msgpack.packb([dropped, rows(kept)])
        return packed

    def recent(self, seconds: float) -> bytes:
        """The steps that ended within the last `seconds`, and those that are under way."""
        kept = self.recorder.last(seconds, self.steps.running.values())
        packed: bytes = msgpack.packb([self.recorder.dropped, rows(kept)])
        return packed

    async def register(self, part: TaskPartition, owner: Owner) -> None:
        """Takes a part, and opens the links to the tasks that it sends to.

        Raises:
            UnimplementedError: a node has no kernel here.
            UnavailableError: a task that it sends to can't be reached.
            AbortedError: the owner is gone.
            AlreadyExistsError: the owner has a part of that number.
        """
        self.steps.open()
        key = id(owner), part.session
        self._check_number(part, owner)
        if not owner.alive:
            raise AbortedError("The master of the part is gone.")
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = _Session(PlanBuilder(self.devices, self.resources))
        builder = session.builder
        later = frozenset(part.feeds if part.partial else ())
        if sum(len(graph.nodes) for graph in part.graphs.values()) <= LARGE_GRAPH:
            compiled = builder.compile(part.graphs, part.places, part.options, later)
        else:
            compiled = await on_thread(lambda: builder.compile(part.graphs, part.places, part.options, later))
        for crossing in part.crossings:
            if crossing.outgoing:
                await self._link_of(crossing)
        if self._sessions.get(key) is not session:
            raise AbortedError("The session of the part was closed meanwhile.")
        self._check_number(part, owner)
        self._parts[id(owner), part.number] = RunnablePartition(part, compiled, owner, part.forms())
        session.parts.add(part.number)

    def _check_number(self, part: TaskPartition, owner: object) -> None:
        if (id(owner), part.number) in self._parts:
            raise AlreadyExistsError(f"Part {part.number} of a plan is registered here already.")

    async def _link_of(self, crossing: CrossTaskEdge) -> TaskLink:
        """The link that an edge takes. Raises UnavailableError if no link leads to that incarnation of the peer."""
        if not crossing.outgoing:
            return self.links.from_task(crossing.peer, crossing.incarnation)
        link = await self._reach(crossing.peer, crossing.address)
        if link.identity.incarnation != crossing.incarnation:
            raise UnavailableError(f"{crossing.peer} was started again since the plan was made.")
        return link

    def run(
        self,
        number: int,
        step: int,
        feeds: Sequence[Any],
        timeout: float | None,
        trace: Trace | None,
        owner: object,
    ) -> StepResult[list[Any]]:
        """Runs a part; what the step has at its rendezvous stays until `finish`.

        Raises:
            UnavailableError: a task that it needs is not connected any more.
            OpError: what a kernel raised, or what the step was aborted with.
        """
        partition = self.find(number, owner)
        routes = partition.standing_routes()
        if routes is None:
            return StepResult.later(lambda: self._run_when_linked(partition, step, feeds, timeout, trace, owner))
        values = dict(zip(partition.part.feeds, feeds, strict=True))
        rendezvous = self._meet(routes, step, owner)
        return self.steps.run_now(partition.compiled, values, timeout, trace, rendezvous=rendezvous, number=step)

    async def _run_when_linked(
        self,
        partition: RunnablePartition,
        step: int,
        feeds: Sequence[Any],
        timeout: float | None,
        trace: Trace | None,
        owner: object,
    ) -> list[Any]:
        values = dict(zip(partition.part.feeds, feeds, strict=True))
        rendezvous = self._meet(await self._linked(partition), step, owner)
        return await self.steps.run(partition.compiled, values, timeout, trace, rendezvous=rendezvous, number=step)

    async def run_partial(self, number: int, step: int, caller: StepCaller, owner: object) -> None:
        """Runs a part that is fed and fetched meanwhile, and returns when it has ended. Raises as `run`."""
        partition = self.find(number, owner)
        rendezvous = self._meet(await self._linked(partition), step, owner)
        feeds, forms = partition.part.feeds, partition.forms

        def check(index: int, value: Any) -> None:
            check_feeds([value], [forms[index]], [feeds[index]])

        running = PartialExecution(
            self.steps, partition.compiled, feeds, caller, check=check, rendezvous=rendezvous, number=step
        )
        await running.wait()

    async def _linked(self, partition: RunnablePartition) -> dict[str, Route]:
        """The ways that the edges of a part take. Raises UnavailableError."""
        if (routes := partition.standing_routes()) is None:
            links = {crossing.key: await self._link_of(crossing) for crossing in partition.part.crossings}
            routes = partition.routes = {c.key: Route(links[c.key].tokens, c.edge) for c in partition.part.crossings}
            partition.links = frozenset(links.values())
        return routes

    def _meet(self, routes: dict[str, Route], step: int, owner: object) -> RemoteRendezvous:
        """The rendezvous of a step with the other tasks. Raises the error with which it was aborted before it began
        here."""
        rendezvous = RemoteRendezvous(step, self.local.rendezvous(step), routes)
        self._rendezvous[step] = (rendezvous, owner)
        if (error := self._aborted.pop((step, owner), None)) is not None:
            raise error
        return rendezvous

    def is_under_way(self, step: int) -> bool:
        """Whether a step has begun here, and is not over on all tasks that need it."""
        return step in self._rendezvous

    def finish(self, step: int) -> None:
        """The step is over on all tasks that this one needs for it."""
        rendezvous, _ = self._rendezvous.pop(step, (None, None))
        if rendezvous is not None:
            rendezvous.finish()

    def abort(self, step: int, error: BaseException, owner: Owner) -> list[str]:
        """Stops a step of `owner`, the link to a master or the master here, because another task failed. The lines tell
        what it waited for, where its time was up."""
        running = self.steps.running.get(step)
        if self._rendezvous.get(step, (None, owner))[1] is not owner:
            return []
        lines: list[str] = []
        if running is not None:
            if isinstance(error, DeadlineExceededError) and not running.stopped:
                lines = self.steps.report(running)
            running.stop(error)
        else:
            self.drop_tokens(step)
            if owner.alive:  # else it begins no step any more, and was forgotten
                self._aborted[step, owner] = error
            if len(self._aborted) > _REMEMBERED:
                del self._aborted[next(iter(self._aborted))]
        return lines

    def look(self, steps: Sequence[int], owner: Owner, lines: bool = True) -> list[WaitingStep]:
        """The things for which those of these steps wait that `owner` has in flight here. Without `lines`, only for how
        long they do."""
        mine = {step for step in steps if self._rendezvous.get(step, (None, None))[1] is owner}
        if not lines:
            running = self.steps.running
            return [WaitingStep(step, running[step].idle, ()) for step in mine if step in running]
        return self.steps.look(mine) if mine else []

    def _users(self) -> dict[str, list[Node]]:
        """The nodes that use each resource, as far as the masters of the parts here have told."""
        by_resource: dict[str, dict[str, Node]] = {}
        for registered in self._parts.values():
            for resource, users in registered.part.users.items():
                by_resource.setdefault(resource, {}).update({user.name: user for user in users})
        return {resource: list(users.values()) for resource, users in by_resource.items()}

    def drop_tokens(self, step: int) -> None:
        """No one here will take what other tasks send for a step, which does not begin."""
        for link in self.links.inbound.values():
            link.tokens.finish(step)

    async def drop_unclaimed(self) -> None:
        """A link has ended, and what its master had begun on others may never begin here: no one takes the tokens that these
        have sent. Those that wait now, and still do when a request that was on its way would have come, are dropped."""
        while unclaimed := self._unclaimed():
            await patient_sleep(_UNCLAIMED_SECONDS)
            still = set(self._unclaimed())
            for link, step in unclaimed:
                if (link, step) in still:
                    link.tokens.finish(step)

    def _unclaimed(self) -> list[tuple[TaskLink, int]]:
        """The steps that have not begun here and for which tokens wait, with the links that these came over."""
        links = self.links.inbound.values()
        return [(link, step) for link in links for step in link.tokens.waiting_tokens() if step not in self._rendezvous]

    def abort_all(self, error: BaseException) -> None:
        """Stops all steps that are under way."""
        for step in list(self.steps.running.values()):
            step.stop(error)

    async def settle(self) -> None:
        """Waits until those steps have ended that were stopped, at most for their grace."""
        for step in [step for step in self.steps.running.values() if step.stopped]:
            await step.wait()

    def release(self, session: int, owner: object) -> None:
        """Forgets the parts of a session, and the states of its nodes. Variables stay."""
        ended = self._sessions.pop((id(owner), session), None)
        if ended is None:
            return
        ended.builder.contexts.holder.gone = True
        for number in ended.parts:
            self._remove((id(owner), number))

    def forget(self, owner: Owner) -> None:
        """A master is gone: stops its steps, and forgets its sessions."""
        for step in [step for step, (_, master) in self._rendezvous.items() if master is owner]:
            self.abort(step, AbortedError("The master of the step is gone."), owner)
        for aborted in [aborted for aborted in self._aborted if aborted[1] is owner]:
            del self._aborted[aborted]
        for place in [place for place in self._parts if place[0] == id(owner)]:
            self._remove(place)
        for key in [key for key in self._sessions if key[0] == id(owner)]:
            self._sessions.pop(key).builder.contexts.holder.gone = True

    def _remove(self, place: tuple[int, int]) -> None:
        """Forgets a part, and what its edges have carried, which no one asks for any more."""
        partition = self._parts.pop(place, None)
        for route in (partition.routes or {}).values() if partition is not None else ():
            route.channel.forget(route.edge)

    def reset(self, containers: Sequence[str]) -> None:
        """Drops what these containers hold; all of them where none is named."""
        for manager in self.resources.values():
            names = {container for container, _, _ in manager.names()}
            manager.reset(names.intersection(containers) if containers else names)

    def kernels(self) -> list[str]:
        """The names of the nodes whose kernels run on a thread now."""
        return [node.node.name for step in self.steps.running.values() for _, node in step.on_threads.values()]

    def pending(self) -> str:
        """Which nodes of the steps in flight wait, and for what."""
        return self.steps.pending()

    def observed(self, session: int, owner: object) -> list[NodeMeasurement]:
        """The measurements that runs of a session's parts have made of their nodes."""
        registered = self._sessions.get((id(owner), session))
        parts = [self._parts[id(owner), number] for number in (registered.parts if registered is not None else ())]
        return [
            measurement for part in parts for plan in part.compiled.plans for measurement in node_measurements(plan)
        ]

    async def close(self) -> None:
        """Stops all steps, and frees state and devices."""
        try:
            await self.steps.close()
        finally:
            for manager in self.resources.values():
                manager.reset({container for container, _, _ in manager.names()})
            for device in self.devices:
                device.close()
            # whoever still holds a server that was closed does not hold its memory
            self.devices, self.resources = [], {}
            self._sessions.clear()
            self._parts.clear()

    def find(self, number: int, owner: object) -> RunnablePartition:
        partition = self._parts.get((id(owner), number))
        if partition is None:
            raise NotFoundError(f"Part {number} of a plan is not registered here.")
        return partition
