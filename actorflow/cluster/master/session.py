"""`MasterSession`: divides one client's graph over the tasks of the cluster, and runs steps on them (paper section 3)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter_ns
from typing import Any

import anyio
import msgpack
from anyio.abc import TaskGroup

from actorflow import machine
from actorflow.cluster.master.graph_partitioner import PartitionedGraph, RemoteDevice, by_task, task_of
from actorflow.cluster.master.node_states import NodeStates, keeps_state
from actorflow.cluster.master.registration import MasterPlan, RegisteredPartition, Registrar, Tasks
from actorflow.cluster.partial_run import LocalStepMember, RemoteStepMember, StepMember
from actorflow.cluster.remote_step import call_step
from actorflow.cluster.wire.failures import encode_error
from actorflow.cluster.wire.links import Link
from actorflow.cluster.wire.messages import AbortStep, Costs, LinkTraffic, Release, RunPart, StepWaits
from actorflow.cluster.wire.signatures import encode_inline
from actorflow.cluster.worker.task_partition import unknown_op
from actorflow.cluster.worker.worker import Worker
from actorflow.errors import DeadlineExceededError, InvalidArgumentError, OpError, UnavailableError, UnknownNameError
from actorflow.graph.codec import decode_nodes, encode_nodes
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.passes.compile import Options, Signature
from actorflow.placement.measuring import NodeMeasurement, decode_observed
from actorflow.placement.search.problem import SearchProblem
from actorflow.placement.simulation.link_costs import LinkCosts
from actorflow.runtime.diagnostics import step_spans
from actorflow.runtime.diagnostics.trace import Trace
from actorflow.runtime.state.resources import ResourceManager
from actorflow.session.partial_execution import StepCaller
from actorflow.session.planning.builder import PlanBuilder
from actorflow.session.planning.planner import Planner, SearchReport
from actorflow.session.planning.trial import NOTHING_BEGUN
from actorflow.session.step_runner import DeferredCall, Outcome
from actorflow.session.waiting.deadline import noted, noted_by, noting
from actorflow.session.waiting.deadlock import WaitingStep, joined
from actorflow.session.waiting.diagnosis import ResourceUsers
from actorflow.transport.base import Reach

_ABORT_SECONDS = 1.0
_MOST_ASKED = 4096
_LOOK_SECONDS = 1.0
_LONG_NUMBER = re.compile(r"\d{9,}")
"""As the numbers of a master's steps are."""


class MasterSession:
    """One client's graph on the devices of all tasks. Steps are started by one message to each task that takes part.

    `numbers` are of this master's steps, plans and edges; no other master has them.
    """

    def __init__(
        self,
        number: int,
        tasks: Tasks,
        worker: Worker,
        numbers: itertools.count[int],
    ) -> None:
        self.number = number
        self.graph = Graph()
        self.plans: list[MasterPlan] = []
        self.alive = True
        """Until it is closed."""
        self._tasks = tasks
        self._worker = worker
        self._planner: Planner[PartitionedGraph] | None = None
        self._known: dict[PartitionedGraph, int] = {}
        self._lock = anyio.Lock()
        self._told = 0
        self._flying: dict[int, tuple[int, MasterPlan]] = {}
        """The steps under way: the client's number and the plan of each."""
        states, users = NodeStates(self._has_keepers), ResourceUsers(self.graph.nodes)
        self._registrar = Registrar(number, self, tasks, worker, numbers, states, users)

    async def open(self, options: Options, links: Mapping[str, Link | None]) -> list[RemoteDevice]:
        """Takes the devices of all tasks, which `links` reach, the own task's first."""
        devices = [
            RemoteDevice(d.name, d.type, d.spec, self._tasks.me, d.allocator.statistics().budget, cores=machine.cores())
            for d in self._worker.devices
        ]
        for link in links.values():
            if link is not None:
                host = link.task if link.tokens.reach is Reach.ANY else self._tasks.me
                devices += [
                    RemoteDevice(name, kind, DeviceSpec.parse(name), host, budget, cores=link.about["cores"])
                    for name, kind, budget in link.about["devices"]
                ]
        mine = self._worker.devices
        folding = PlanBuilder(mine, {device.name: ResourceManager() for device in mine})
        self._planner = Planner(self.graph, devices, folding, options, by_task)
        return devices

    def extend(self, since: int, nodes: bytes) -> int:
        """Adds nodes behind the first `since`. Some may be here already: the client sends them again when it did not wait for
        the reply.

        Raises:
            InvalidArgumentError: the graph has others behind those, or they don't fit.
            NotFoundError: this process knows no such op.
        """
        try:
            if since != len(self.graph):
                nodes = self._without_known(since, nodes)
            self.graph.extend_from_bytes(nodes)
        except UnknownNameError as error:  # a ValueError too
            raise unknown_op(error, self._tasks.me) from error
        except InvalidArgumentError:
            raise
        except ValueError as error:
            raise InvalidArgumentError(f"The nodes can't be added: {error}") from error
        return len(self.graph)

    def _without_known(self, since: int, nodes: bytes) -> bytes:
        """Those of the nodes behind the first `since` that the graph here lacks."""
        known, sent = list(self.graph.nodes.values())[since:], decode_nodes(nodes)
        if since > len(self.graph) or encode_nodes(sent[: len(known)]) != encode_nodes(known):
            raise InvalidArgumentError(f"The graph here has {len(self.graph)} nodes, not {since}.")
        return encode_nodes(sent[len(known) :])

    async def prepare(
        self,
        signature: Signature,
        coalesce: bool,
        trial: bool = False,
    ) -> int:
        """The number of the plan for a signature, which is made where there is none; with `trial` by the placement on trial."""
        assert self._planner is not None
        async with self._lock:
            partitioned = await self._planner.plan(signature, coalesce=coalesce, ordered=True, trial=trial)
            found = self._known.get(partitioned)
            if found is not None:
                return found
            plan = MasterPlan(partitioned, tuple(signature.feeds.values()), signature.partial)
            await self._registrar.register(plan)
            self.plans.append(plan)
            self._known[partitioned] = len(self.plans) - 1
            return len(self.plans) - 1

    def newly_placed(self) -> dict[str, str]:
        """The devices of the nodes that were placed since this was asked last."""
        assert self._planner is not None
        placed = list(self._planner.placer.placed.items())
        fresh, self._told = dict(placed[self._told :]), len(placed)
        return fresh

    def _has_keepers(self, task: str) -> bool:
        """Whether nodes that are placed on a task keep something between runs."""
        assert self._planner is not None
        placed = self._planner.placer.placed
        keepers = (name for name, node in self.graph.nodes.items() if keeps_state(node))
        return any(task_of(placed[name]) == task for name in keepers if name in placed)

    def run(
        self,
        plan: MasterPlan,
        step: int,
        feeds: Sequence[Any],
        timeout: float | None,
        trace: Trace | None,
        asked: int = 0,
    ) -> Outcome:
        """Runs a step, which the client has asked for by the number `asked`. The first error of a task is the step's: it is
        stopped on the others.

        Raises:
            UnavailableError: a task is gone.
            OpError: the error of a node.
        """
        if len(plan.members) != 1 or plan.members[0].link is not None:
            return DeferredCall(lambda: self._run_members(plan, step, feeds, timeout, trace, asked))
        (member,) = plan.members
        try:
            outcome = self._worker.run(member.part, step, member.take(feeds), timeout, trace, self)
        except BaseException:
            self._worker.finish(step)
            raise
        if isinstance(outcome, DeferredCall):
            return DeferredCall(lambda: self._run_here(plan, step, outcome, asked))
        self._worker.finish(step)
        return plan.fetches([outcome])

    async def _run_here(self, plan: MasterPlan, step: int, outcome: DeferredCall, asked: int) -> list[Any]:
        try:
            with self._under_way(step, asked, plan):
                return plan.fetches([await outcome])
        finally:
            self._worker.finish(step)

    async def _run_members(
        self, plan: MasterPlan, step: int, feeds: Sequence[Any], timeout: float | None, trace: Trace | None, asked: int
    ) -> list[Any]:
        begun = 0 if trace is None else perf_counter_ns()
        await self._ready(plan)
        with self._under_way(step, asked, plan):
            results = await self._all(
                plan, step, lambda member: self._run_member(member, step, feeds, timeout, trace, begun)
            )
        if trace is not None:
            trace.rest("gather", "rpc")
            trace.keep_causality()
        return plan.fetches(results)

    async def run_partial(self, plan: MasterPlan, step: int, caller: StepCaller, asked: int = 0) -> None:
        """Runs a step that `caller` feeds and fetches meanwhile. Raises as `run`."""
        await self._ready(plan)
        ways = {id(member): self._way(member, index, step, plan, caller) for index, member in enumerate(plan.members)}

        def hand_on(index: int, value: Any, error: BaseException | None) -> None:
            for member in plan.members:
                if error is None and index in member.share.feeds:
                    ways[id(member)].feed(member.share.feeds.index(index), value)

        for index in range(len(plan.partitioned.feeds)):
            caller.expect(index, partial(hand_on, index))
        with self._under_way(step, asked, plan):
            await self._all(plan, step, lambda member: ways[id(member)].run())

    @contextmanager
    def _under_way(self, step: int, asked: int, plan: MasterPlan) -> Iterator[None]:
        """While a step runs. An error that ends it too early names steps by the client's numbers."""
        self._flying[step] = asked, plan
        try:
            yield
        except DeadlineExceededError as error:
            raise self._expired(error) from None
        except anyio.get_cancelled_exc_class() as error:
            error.__notes__ = [self._renumbered(line) for line in noted(error)]
            raise
        finally:
            self._flying.pop(step, None)

    def _way(
        self, member: RegisteredPartition, index: int, step: int, plan: MasterPlan, caller: StepCaller
    ) -> StepMember:
        """The way to a member of a partial run, whose fetches go on to the caller."""
        places = {place: i for i, (share, place) in enumerate(plan.partitioned.places) if share == index}

        def give(place: int, value: Any) -> None:
            caller.give(places[place], value)

        if member.link is None:
            return LocalStepMember(lambda near: self._worker.run_partial(member.part, step, near, self), give)
        request = RunPart(member.part, step, None, False, member.link.tokens.epoch, [])
        return RemoteStepMember(member.link, request, len(places), give)

    async def _ready(self, plan: MasterPlan) -> None:
        """Registers the parts of a plan where they are not, or not any more."""
        if not plan.current:
            async with self._lock:
                if not plan.current:
                    try:
                        await self._registrar.register(plan)
                    except UnavailableError as error:
                        raise error.located(details=[NOTHING_BEGUN]) from error

    async def _all(
        self, plan: MasterPlan, step: int, run: Callable[[RegisteredPartition], Awaitable[Any]]
    ) -> list[Any]:
        """Runs a step's share on each member. If one fails, the others are stopped, and its error is raised."""
        members = plan.members
        results: list[Any] = [None for _ in members]
        failures: list[Exception] = []
        waited: list[Sequence[str]] = []
        waits: list[str] = []

        async def take_part(index: int, group: TaskGroup) -> None:
            try:
                with noting(waits):
                    results[index] = await run(members[index])
            except Exception as error:
                failures.append(error)
                waits.extend(getattr(error, "details", ()))
                if len(failures) == 1:
                    for other in members:
                        if other is not members[index]:
                            group.start_soon(self._abort, other, step, error, waited)

        try:
            if len(members) == 1:
                results[0] = await run(members[0])
            else:
                with noted_by(waits):
                    async with anyio.create_task_group() as group:
                        for index in range(len(members)):
                            group.start_soon(take_part, index, group)
                if failures:
                    raise _with_all_waits(failures, waited)
        finally:
            self._worker.finish(step)
        return results

    async def _run_member(
        self,
        member: RegisteredPartition,
        step: int,
        feeds: Sequence[Any],
        timeout: float | None,
        trace: Trace | None,
        begun: int,
    ) -> list[Any]:
        mine = member.take(feeds)
        if member.link is None:
            return await self._run_own(member, step, mine, timeout, trace)
        request = RunPart(member.part, step, timeout, trace is not None, member.link.tokens.epoch, encode_inline(mine))
        return await call_step(member.link, request, mine, len(member.share.places), trace, begun=begun)

    async def _run_own(
        self, member: RegisteredPartition, step: int, feeds: list[Any], timeout: float | None, trace: Trace | None
    ) -> list[Any]:
        """The share of the task that the master is on."""

        async def run() -> list[Any]:
            outcome = self._worker.run(member.part, step, feeds, timeout, trace, self)
            return outcome if isinstance(outcome, list) else await outcome

        if step_spans.installed is None:
            return await run()
        about = {"task": self._tasks.me, "step": step}
        return await step_spans.within("actorflow.run_part", "", about, run())

    async def _abort(
        self, member: RegisteredPartition, step: int, error: Exception, waited: list[Sequence[str]]
    ) -> None:
        if member.link is None:
            waited.append(self._worker.abort(step, error, self))
            return
        try:
            lines = await member.link.call(AbortStep(step, encode_error(error)), timeout=_ABORT_SECONDS)
            waited.append([str(line) for line in lines or ()])
        except OpError:
            pass  # it is gone, and its part of the step with it; whoever waits for that part hears the same

    async def waits(self, lines: bool = True) -> list[WaitingStep]:
        """The things that the steps in flight wait for, on all tasks, by the client's numbers. Without `lines`, only
        for how long they do."""
        flying = dict(self._flying)
        asked: dict[Link | None, list[int]] = {}
        for step, (_, plan) in flying.items():
            for member in plan.members:
                asked.setdefault(member.link, []).append(step)
        found: dict[int, list[WaitingStep]] = {step: [] for step in flying}
        async with anyio.create_task_group() as group:
            for link, steps in asked.items():
                for begin in range(0, len(steps), _MOST_ASKED):
                    group.start_soon(self._look, link, steps[begin : begin + _MOST_ASKED], found, lines)
        result = []
        for step, seen in found.items():
            idle = [one.idle for one in seen if one.idle is not None]
            only_waits = min(idle) if idle and len(idle) == len(seen) else None
            told = [self._renumbered(line) for line in joined(one.lines for one in seen)]
            result.append(WaitingStep(flying[step][0], only_waits, told))
        return result

    def _renumbered(self, text: str) -> str:
        """A text with the client's numbers of steps instead of those that tasks know."""

        def number(match: re.Match[str]) -> str:
            found = self._flying.get(int(match[0]))
            return match[0] if found is None else str(found[0])

        return _LONG_NUMBER.sub(number, text)

    def _expired(self, error: DeadlineExceededError) -> DeadlineExceededError:
        details = [self._renumbered(line) for line in error.details]
        return DeadlineExceededError(self._renumbered(error.message), details=details, hint=error.hint)

    async def _look(
        self, link: Link | None, steps: list[int], found: dict[int, list[WaitingStep]], lines: bool
    ) -> None:
        if link is None:
            seen = self._worker.look(steps, self, lines)
        else:
            try:
                rows = msgpack.unpackb(await link.call(StepWaits(steps, lines), timeout=_LOOK_SECONDS))
                seen = [WaitingStep(step, idle, told) for step, idle, told in rows]
            except OpError as error:
                seen = [WaitingStep(step, None, [f"{link.task} does not tell: {error.message}"]) for step in steps]
        for one in seen:
            found[one.step].append(one)

    async def edges(self) -> list[list[Any]]:
        """For each edge between tasks that has carried something: [tensor, source, destination, transport, tokens, bytes, waits,
        seconds of waiting]."""
        found: dict[tuple[str, str, str, str], list[Any]] = {}

        def add(number: int, source: str, destination: str, transport: str, at: int, counted: Sequence[Any]) -> None:
            edge = self._registrar.edges.get(number)
            if edge is not None and task_of(edge.source) == source and task_of(edge.destination) == destination:
                name = edge.key.split(";", 2)[2], edge.source, edge.destination, transport
                total = found.setdefault(name, [0, 0, 0, 0.0])
                for offset, value in enumerate(counted):
                    total[at + offset] += value

        for task in self._tasks.addresses:
            if task == self._tasks.me:
                sent, awaited = self._worker.links.carried()
            else:
                link = await self._tasks.link(task)
                sent, awaited = msgpack.unpackb(await link.call(LinkTraffic()))
            for peer, transport, number, *counted in sent:
                add(number, task, peer, transport, 0, counted)
            for peer, transport, number, *counted in awaited:
                add(number, peer, task, transport, 2, counted)
        return [[*edge, *total] for edge, total in found.items()]

    async def observed(self) -> list[NodeMeasurement]:
        """The measurements that runs have made of the session's nodes, on all tasks that are there."""
        found = self._worker.observed(self.number, self)
        for link in list(self._registrar.lent):
            if link.alive:
                found += decode_observed(msgpack.unpackb(await link.call(Costs(self.number))))
        return found

    def learn(self, learned: Sequence[NodeMeasurement], links: LinkCosts | None) -> None:
        """Takes costs that other runs have taught."""
        assert self._planner is not None
        self._planner.learn(learned, links)

    async def replan(self) -> None:
        """Forgets the plans, so that new ones are made, and placed by what runs have shown. Steps that are under way, and those
        that still ask for a former plan, go on with that."""
        assert self._planner is not None
        found = await self.observed()
        async with self._lock:
            self._planner.forget(found)
            self._known.clear()
            self._told = 0

    async def posed(self) -> SearchProblem | None:
        """The step that runs most and its placement, as a search would get it."""
        assert self._planner is not None
        return await self._planner.posed(await self.observed())

    async def search(self, seconds: float, seed: int, trials: int | None) -> SearchReport:
        """Looks for a better placement, by what runs have shown."""
        assert self._planner is not None
        return await self._planner.search(await self.observed(), seconds, seed, trials)

    async def settle(self, adopt: bool, verdict: str) -> bool:
        """The placement on trial is in force from now on, or forgotten; gives which of them."""
        assert self._planner is not None
        async with self._lock:
            adopted = self._planner.settle(adopt, verdict)
            if adopted:
                self._told = 0
            return adopted

    def explain(self, node: str) -> str:
        """Why a node is on its device."""
        assert self._planner is not None
        return self._planner.placer.explain(node)

    async def close(self) -> None:
        """Lets the tasks forget what belongs to the session; waits for each as long as its link lasts."""
        self.alive = False
        self._worker.forget(self)
        async with self._lock:  # a task must not hear of a part after the release
            pass
        async with anyio.create_task_group() as group:
            for link in self._registrar.lent:
                if link.alive:
                    group.start_soon(self._release, link)

    async def _release(self, link: Link) -> None:
        try:
            await link.call(Release(self.number))
        except OpError:
            pass  # it is gone, and what it had of the session with it


def _with_all_waits(failures: Sequence[Exception], waited: Sequence[Sequence[str]]) -> Exception:
    """The first of the members' errors. If a step's time was up, it tells what all members waited for."""
    error = failures[0]
    if not isinstance(error, DeadlineExceededError):
        return error
    details = joined([*(other.details for other in failures if isinstance(other, DeadlineExceededError)), *waited])
    return DeadlineExceededError(error.message, details=details, hint=error.hint)
