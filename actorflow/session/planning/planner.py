"""From signatures to plans, each made once: runs 2 to 1,000,000 find theirs in a dictionary."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from actorflow.device.base import Device
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node
from actorflow.passes.compile import Options, Signature, divide
from actorflow.passes.inline import inline
from actorflow.placement.measuring import NodeMeasurement
from actorflow.placement.placer import Placer
from actorflow.runtime.context import NodeContexts
from actorflow.runtime.diagnostics.node_measurements import node_measurements
from actorflow.runtime.plan import Plan
from actorflow.runtime.state.resources import ResourceManager
from actorflow.session.planning.builder import PlanBuilder
from actorflow.session.planning.planning_thread import LARGE_GRAPH, on_thread


@dataclass(frozen=True, slots=True)
class CompiledPlans:
    """A signature's plans. `places` says, for each fetch in order, which part gives it and in which slot; `feeds` how many
    tensors are fed later, in a partial run."""

    plans: tuple[Plan, ...]
    places: tuple[tuple[int, int], ...]
    executed: int
    feeds: int = 0


class Planner:
    """Makes and keeps the plans of one session. Placement is sticky: a node keeps the device that it first got, until
    `forget`."""

    def __init__(
        self, graph: Graph, devices: Sequence[Device], resources: Mapping[str, ResourceManager], options: Options
    ):
        self.compiled_plans = 0
        self._graph = graph
        self._builder = PlanBuilder(devices, resources)
        self.placer = Placer(devices, soft=options.soft_placement)
        self._options = options
        self._lock = threading.Lock()
        self._plans: dict[Any, CompiledPlans] = {}

    @property
    def contexts(self) -> NodeContexts:
        """The kernel contexts of the session's nodes."""
        return self._builder.contexts

    def observed(self) -> list[NodeMeasurement]:
        """What runs have shown of nodes."""
        with self._lock:
            return [one for made in self._plans.values() for plan in made.plans for one in node_measurements(plan)]

    def forget(self) -> None:
        """Lets go of all plans; the next ones are placed by what runs have shown. See `Placer.forget`."""
        found = self.observed()
        with self._lock:
            self.placer.forget(found)
            self._plans.clear()

    async def plan(self, signature: Signature, *, coalesce: bool = True) -> CompiledPlans:
        """The plan for `signature`, made now where there is none. Callers that ask for one being made wait for it."""
        key = (signature.key, coalesce)
        found = self._plans.get(key)
        if found is not None:
            return found
        options = self._options if coalesce else replace(self._options, coalesce=False, fuse=False)
        if len(self._graph) <= LARGE_GRAPH:
            return self._make(key, signature, options, self._graph.nodes)
        nodes = dict(self._graph.nodes)
        return await on_thread(lambda: self._make(key, signature, options, nodes))

    def _make(self, key: Any, signature: Signature, options: Options, nodes: Mapping[str, Node]) -> CompiledPlans:
        with self._lock:  # held for long by planning threads only, which a graph has once it is large
            found = self._plans.get(key)
            if found is not None:
                return found
            nodes, fetches = inline(nodes, signature.fetches, signature.feeds)
            signature = replace(signature, fetches=fetches)
            if not self._builder.saves_memory(options):
                signature = replace(signature, sizes={})
            refused = self.placer.place(nodes)
            first = next(iter(self._builder.devices))
            parts, places = divide(
                nodes, self.placer.placed, signature, options, self._builder.evaluate, first, refused
            )
            plans = self._builder.build(parts, options, signature.deferred_feeds)
            made = self._plans[key] = CompiledPlans(
                plans, places, sum(p.executed for p in plans), len(signature.deferred_feeds)
            )
            self.compiled_plans += 1
            return made
