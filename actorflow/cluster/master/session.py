"""`MasterSession`: divides one client's graph over the tasks of the cluster (paper section 3)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import anyio
import msgpack

from actorflow.base.process import machine
from actorflow.cluster.master.graph_partitioner import (
    PartitionedGraph,
    RemoteDevice,
    by_task,
    device_row,
    remote_device,
    task_of,
)
from actorflow.cluster.master.node_states import NodeStates, behind, keeps_state
from actorflow.cluster.master.registration import MasterPlan, Registrar, Tasks
from actorflow.cluster.master.steps import MasterSteps
from actorflow.cluster.wire.links import REPLY_SECONDS, TaskLink
from actorflow.cluster.wire.messages import Costs, LinkTraffic, Release
from actorflow.cluster.worker.task_partition import unknown_op
from actorflow.cluster.worker.worker import Worker
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.placement.measuring import NodeMeasurement, decode_observed
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.link_costs import LinkCosts
from actorflow.engine.runtime.state.resources import ResourceManager
from actorflow.engine.session.planning.builder import PlanBuilder
from actorflow.engine.session.planning.planner import Planner, SearchReport
from actorflow.engine.session.planning.trial import NOTHING_BEGUN
from actorflow.engine.session.waiting.diagnosis import ResourceUsers
from actorflow.engine.transport.base import Reach
from actorflow.errors import InvalidArgumentError, OpError, UnavailableError, UnknownNameError
from actorflow.graph.codec import decode_nodes, encode_nodes
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph


class MasterSession:
    """One client's graph on the devices of all tasks; its `steps` run there.

    Args:
        numbers: of this master's steps, plans and edges; no other master has them.
        homes: the devices of variables that a supervisor has placed, by container and name.
    """

    def __init__(
        self,
        number: int,
        tasks: Tasks,
        worker: Worker,
        numbers: itertools.count[int],
        homes: Mapping[tuple[str, str], str],
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
        self._homes = homes
        self._places_variables = False
        """Whether its client, a supervisor, decides where variables are."""
        self._looked_for = 0
        """The first nodes of the graph whose variables have been looked for."""
        states, users = NodeStates(self._has_keepers), ResourceUsers(self.graph.nodes)
        self._states = states
        self._followed = list(tasks.addresses)
        """The tasks that had devices for it before the last change of the cluster."""
        self._registrar = Registrar(number, self, tasks, worker, numbers, states, users)
        self.steps = MasterSteps(tasks.me, worker, self, self._ready)

    def open(self, options: PlanOptions, links: Mapping[str, TaskLink | None]) -> None:
        """Takes the devices of all tasks, which `links` reach, the own task's first."""
        mine = self._worker.devices
        devices = [remote_device(device_row(device), self._tasks.me, machine.cores()) for device in mine]
        devices += [device for link in links.values() if link is not None for device in self._devices_of(link)]
        folding = PlanBuilder(mine, {device.name: ResourceManager() for device in mine})
        self._planner = Planner(self.graph, devices, folding, options, by_task)

    def _devices_of(self, link: TaskLink) -> list[RemoteDevice]:
        host = link.task if link.tokens.reach is Reach.ANY else self._tasks.me
        return [remote_device(row, host, link.about["cores"]) for row in link.about["devices"]]

    def device_rows(self) -> list[list[str]]:
        """The names and types of its devices."""
        assert self._planner is not None
        return [[device.name, device.type] for device in self._planner.devices]

    async def follow(self, links: Mapping[str, TaskLink]) -> None:
        """Takes the devices of tasks that have joined, which `links` reach, and lets go of tasks that have left. A plan that
        needs a task that has left is made again when it runs next. So is a plan with nodes that are placed again, such as
        those of logical workers."""
        assert self._planner is not None
        async with self._lock:
            present = [
                device
                for device in self._planner.devices
                if task_of(device.name) in self._tasks.addresses and task_of(device.name) not in links
            ]
            if any(self._has_keepers(task) for task in self._followed if task not in self._tasks.addresses):
                self._states.moved()
            self._followed = list(self._tasks.addresses)
            fresh = [device for link in links.values() for device in self._devices_of(link)]
            placed_again = await self._planner.use([*present, *fresh])
            self._known.clear()
            self._told = 0
            for plan in self.plans:
                plan.stale = (
                    plan.stale
                    or any(
                        share.task not in self._tasks.addresses or share.task in links
                        for share in plan.partitioned.shares
                    )
                    or self._has_any(plan, placed_again)
                )

    async def place_variables(self, devices: Mapping[str, str]) -> None:
        """Gives nodes other devices, as the client asks; from then on the client alone decides where its variables are."""
        self._places_variables = True
        await self.move(devices)

    async def move(self, devices: Mapping[str, str]) -> None:
        """Gives nodes other devices, with what must be with them. Plans that have any of them are made again at their next run,
        and others stay."""
        assert self._planner is not None
        async with self._lock:
            moved = await self._planner.move(devices)
            if any(keeps_state(node) for name in moved if (node := self.graph.nodes.get(name)) is not None):
                self._states.moved()
            self._known.clear()
            self._told = 0
            for plan in self.plans:
                plan.stale = plan.stale or self._has_any(plan, moved)

    def _has_any(self, plan: MasterPlan, nodes: AbstractSet[str]) -> bool:
        """Whether a plan, which can be made again, has any of some nodes."""
        if plan.origin is None or not nodes:
            return False
        return any(node.name in nodes for node in behind(self.graph.nodes, plan.origin[0].wanted))

    async def find_variables(self) -> None:
        """Places the nodes of variables on the devices to which a supervisor has moved them, unless they ask for another."""
        assert self._planner is not None
        self._looked_for = len(self.graph)
        placed, devices = self._planner.placer.placed, {}
        for name, node in () if self._places_variables else self.graph.nodes.items():
            if node.op == "VariableV2":
                home = self._homes.get((node.attrs["container"], node.attrs["shared_name"] or name))
                if home not in (None, placed.get(name)) and DeviceSpec.parse(node.device).matches(
                    DeviceSpec.parse(home)
                ):
                    devices[name] = home
        if devices:
            await self.move(devices)

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
        nodes_here, sent = list(self.graph.nodes.values())[since:], decode_nodes(nodes)
        if since > len(self.graph) or encode_nodes(sent[: len(nodes_here)]) != encode_nodes(nodes_here):
            raise InvalidArgumentError(f"The graph here has {len(self.graph)} nodes, not {since}.")
        return encode_nodes(sent[len(nodes_here) :])

    async def prepare(
        self,
        signature: RunSignature,
        coalesce: bool,
        trial: bool = False,
    ) -> int:
        """The number of the plan for a signature, which is made at its first use; with `trial` by the placement on trial."""
        assert self._planner is not None
        if self._looked_for < len(self.graph):
            await self.find_variables()
        async with self._lock:
            partitioned = await self._planner.plan(signature, coalesce=coalesce, ordered=True, trial=trial)
            number = self._known.get(partitioned)
            if number is not None:
                return number
            plan = MasterPlan(partitioned, tuple(signature.feeds.values()), signature.partial, (signature, coalesce))
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

    async def _ready(self, plan: MasterPlan) -> None:
        """Registers the parts of a plan that are not registered, or not any more."""
        if not plan.current:
            async with self._lock:
                if not plan.current:
                    if plan.stale and plan.origin is not None:
                        assert self._planner is not None
                        signature, coalesce = plan.origin
                        plan.partitioned = await self._planner.plan(signature, coalesce=coalesce, ordered=True)
                        plan.stale = False
                    try:
                        await self._registrar.register(plan)
                    except UnavailableError as error:
                        raise error.located(details=[NOTHING_BEGUN]) from error

    async def edges(self) -> list[list[Any]]:
        """For each edge between tasks that has carried something: [tensor, source, destination, transport, tokens, bytes, waits,
        seconds of waiting]."""
        totals: dict[tuple[str, str, str, str], list[Any]] = {}

        def add(number: int, source: str, destination: str, transport: str, at: int, counted: Sequence[Any]) -> None:
            edge = self._registrar.edges.get(number)
            if edge is not None and task_of(edge.source) == source and task_of(edge.destination) == destination:
                name = edge.key.split(";", 2)[2], edge.source, edge.destination, transport
                total = totals.setdefault(name, [0, 0, 0, 0.0])
                for offset, value in enumerate(counted):
                    total[at + offset] += value

        for task in self._tasks.addresses:
            if task == self._tasks.me:
                sent, awaited = self._worker.links.carried()
            else:
                link = await self._tasks.link(task)
                sent, awaited = msgpack.unpackb(await link.call(LinkTraffic(), timeout=REPLY_SECONDS))
            for peer, transport, number, *counted in sent:
                add(number, task, peer, transport, 0, counted)
            for peer, transport, number, *counted in awaited:
                add(number, peer, task, transport, 2, counted)
        return [[*edge, *total] for edge, total in totals.items()]

    async def observed(self) -> list[NodeMeasurement]:
        """The measurements that runs have made of the session's nodes, on all tasks that are there."""
        measurements = self._worker.observed(self.number, self)
        for link in list(self._registrar.lent):
            if link.alive:
                measurements += decode_observed(
                    msgpack.unpackb(await link.call(Costs(self.number), timeout=REPLY_SECONDS))
                )
        return measurements

    def learn(self, learned: Sequence[NodeMeasurement], links: LinkCosts | None) -> None:
        """Takes costs that other runs have taught."""
        assert self._planner is not None
        self._planner.learn(learned, links)

    async def replan(self) -> None:
        """Forgets the plans; later plans are placed by the measurements of runs. Steps that are under way, and those
        that still ask for a former plan, go on with that."""
        assert self._planner is not None
        measurements = await self.observed()
        async with self._lock:
            self._planner.forget(measurements)
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

    async def _release(self, link: TaskLink) -> None:
        try:
            await link.call(Release(self.number))
        except OpError:
            pass  # it is gone, and what it had of the session with it
