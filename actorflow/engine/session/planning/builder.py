"""From the parts of a divided graph to plans: what a process does for its own devices, whoever divided the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.process import machine
from actorflow.base.registry import kernel, opdef, roles
from actorflow.engine.device.base import Device, as_asynchronous, as_swapping
from actorflow.engine.passes.compile import finish
from actorflow.engine.passes.freeze import freezable, freeze
from actorflow.engine.passes.memory.budget import Memory, explained
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.runtime.codegen.jit import find_compiler
from actorflow.engine.runtime.codegen.jit_groups import accepts
from actorflow.engine.runtime.context import KernelContext, NodeContexts
from actorflow.engine.runtime.kernel_binding import bind, kernel_of
from actorflow.engine.runtime.plan import Plan
from actorflow.engine.runtime.plan_building import build_plan
from actorflow.engine.runtime.state.host_copies import wanted_on_host
from actorflow.engine.runtime.state.resources import ResourceManager
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.engine.session.planning.freezing import Freezing
from actorflow.errors import UnimplementedError
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

_ROOM = 1 << 28
"""Bytes of the variables of a signature that may become constants, on a device without a budget."""


@dataclass(frozen=True, slots=True)
class CompiledPlans:
    """A signature's plans. `places` says, for each fetch in order, which part gives it and in which slot."""

    plans: tuple[Plan, ...]
    places: tuple[tuple[int, int], ...]
    executed: int
    freezing: Freezing[CompiledPlans] | None = None
    """Gives the plans to run instead while nothing writes the variables that they read."""

    def next(self) -> CompiledPlans:
        """The plans for a step that begins now. The runs are counted by this."""
        return self if self.freezing is None else self.freezing.next(self)


class PlanBuilder:
    """Builds plans for `devices`. The kernel context of a node is the same in all of them."""

    def __init__(self, devices: Sequence[Device], resources: Mapping[str, ResourceManager]) -> None:
        self.devices = {device.name: device for device in devices}
        self.contexts = NodeContexts()
        self._resources = resources

    def compile(
        self,
        parts: Mapping[str, Subgraph],
        places: tuple[tuple[int, int], ...],
        options: PlanOptions,
        deferred_feeds: frozenset[TensorId] = frozenset(),
    ) -> CompiledPlans:
        """The plans of these parts, by device name, in their order. `deferred_feeds` are the feeds of a partial run.

        Raises:
            UnimplementedError: a node has no kernel for its device.
        """
        plans = self._plans(parts, options, deferred_feeds)
        compiled = CompiledPlans(plans, places, sum(plan.executed for plan in plans))
        optimized = options.folds and options.fuses and options.coalesces and not options.lower_peak
        if not (options.freeze and optimized and machine.current().is_real) or deferred_feeds:
            return compiled
        reads = freezable(parts.values())
        if not reads:
            return compiled
        states = {name: partial(self._variable, handle) for name, handle in reads.items()}

        def frozen(values: Mapping[str, Any]) -> CompiledPlans:
            constant = {device: freeze(part, values, self.evaluate) for device, part in parts.items()}
            plans = self._plans(constant, options, deferred_feeds)
            return CompiledPlans(plans, places, compiled.executed)

        return replace(compiled, freezing=Freezing(states, self._room, frozen))

    def _plans(
        self, parts: Mapping[str, Subgraph], options: PlanOptions, deferred_feeds: frozenset[TensorId]
    ) -> tuple[Plan, ...]:
        without = frozenset(() if options.jit else ("jit",))
        loopable = partial(self._loopable, without)
        plans: list[Plan] = []
        for name, part in parts.items():
            device = self.devices[name]
            memory = _memory(device, options)
            mergeable = self._mergeable_in(part, name)
            launched = as_asynchronous(device) is not None
            graph = finish(part, options, mergeable, deferred_feeds, loopable, memory, launched)
            plan = build_plan(
                graph,
                device,
                self.context_of,
                options.folds,
                without,
                options.check_numerics,
                not options.coalesces,
            )
            plans.append(plan if memory is None else replace(plan, explain=partial(explained, graph, part, memory)))
        for plan in plans:
            for node in yielding(plan.nodes):
                if node.region is not None:
                    node.region.prepare()
        return tuple(plans)

    def warm(self, nodes: Mapping[str, Node], options: PlanOptions) -> None:
        """Begins what libraries do before their first call, ahead of the plan that calls them: what a session runs first has
        hardly any work for a processor, such as values of variables. Nodes with constants are left out: their kernels are
        prepared for these."""
        without = frozenset(() if options.jit else ("jit",))
        device = next(iter(self.devices.values()))
        ops = kernel.warmed_ops()
        warmed: set[Callable[[], None]] = set()
        for node in yielding([n for n in tuple(nodes.values()) if n.op in ops]):
            kernels = [k for k in kernel.from_libraries(node.op) if k.warm is not None and k.device == device.type]
            if not any(k.accepts(node.dtypes) for k in kernels) or any(
                nodes[e.node].role is roles.CONSTANT for e in node.inputs
            ):
                continue
            types = [(nodes[e.node].dtypes[e.port], nodes[e.node].shapes[e.port]) for e in node.inputs]
            entry = kernel_of(node, device, [dtype for dtype, _ in types], [shape for _, shape in types], without)
            if entry.warm is not None and entry.warm not in warmed:
                warmed.add(entry.warm)
                entry.warm()

    def saves_memory(self, options: PlanOptions) -> bool:
        """Whether the memory of a device has a part in its plans."""
        return options.lower_peak or (
            options.save_memory
            and any(
                device.allocator.budget is not None or as_asynchronous(device) is not None
                for device in self.devices.values()
            )
        )

    def context_of(self, node: Node) -> KernelContext:
        """The kernel context of a node."""
        context = self.contexts.get(node.name)
        if context is None:
            device = self.devices[node.device]
            fresh = KernelContext(node, device, self._resources[device.name], nodes=self.contexts)
            context = self.contexts.setdefault(node.name, fresh)
            if self.contexts.restored:
                self.contexts.resume(node.name)
        return context

    def _variable(self, handle: str) -> VariableState | None:
        """The variable of a node that is its handle, if it is in host memory and a run has looked it up."""
        context = self.contexts.get(handle)
        resource = None if context is None else context.place.resource
        return resource if type(resource) is VariableState else None

    def _room(self) -> int:
        """The bytes that may be taken for values that kernels keep beside a variable: an eighth of a budget that is left."""
        figures = [device.allocator.statistics() for device in self.devices.values()]
        return min(
            (figure.budget - figure.live_bytes) // 8 if figure.budget is not None else _ROOM for figure in figures
        )

    def evaluate(self, node: Node, inputs: list[Any]) -> Any:
        """Runs a node's kernel now, for constant folding; None if it can't run outside of a step. A node of another task is
        computed here, on the first device."""
        device = self.devices.get(node.device) or next(iter(self.devices.values()))
        if (launching := as_asynchronous(device)) is not None:
            device = launching.host
        entry = kernel_of(node, device, ())
        if entry.takes_context or entry.takes_step or entry.is_async:
            return None
        with np.errstate(all="ignore"):
            return bind(node, entry, device, self.context_of)(*inputs)

    def _loopable(self, without: frozenset[str], node: Node, dtypes: Sequence[DType]) -> bool:
        device = self.devices[node.device]
        compiler = find_compiler(device.type, without)
        return compiler is not None and accepts(compiler, kernel_of(node, device, ()).loop, dtypes)

    def _mergeable_in(self, part: Subgraph, device: str) -> Callable[[Node], bool]:
        """Which nodes of a part may be members of regions. On a device whose kernels are only launched, what somebody looks at in
        host memory is handed on when it has arrived there, by a node of its own."""
        awaited = {e.node for e in wanted_on_host(part, self.devices[device])}
        return (lambda node: node.name not in awaited and self._mergeable(node)) if awaited else self._mergeable

    def _mergeable(self, node: Node) -> bool:
        definition = opdef.lookup(node.op)
        if definition.asynchronous or definition.fires_dead or definition.emits_dead:
            return False
        kind = self.devices[node.device].type
        if not node.dtypes and any(
            e.dtypes and e.device in (kind, kernel.ANY_DEVICE) for e in kernel.registered().get(node.op, ())
        ):
            return False  # only its inputs' types tell which kernel
        try:
            entry = kernel.lookup(node.op, kind, node.dtypes)
        except UnimplementedError:
            return False  # building the plan reports it
        return not (entry.is_async or entry.takes_step)


def _memory(device: Device, options: PlanOptions) -> Memory | None:
    """The facts that the passes that save memory may know of a device; None if they have nothing to do."""
    figures = device.allocator.statistics()
    budget: int | None = getattr(device, "budget", None)
    budget = figures.budget if budget is None else budget
    short = options.save_memory and budget is not None
    if not short and not options.lower_peak:
        return None
    return Memory(
        threshold=figures.threshold,
        budget=budget if short else None,
        live=figures.live_bytes,
        feeds="free" if as_asynchronous(device) is None else "counted",
        lower=options.lower_peak,
        swaps=as_swapping(device) is not None,
    )
