"""From the parts of a divided graph to plans: what a process does for its own devices, whoever divided the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from actorflow.device.base import Device, as_asynchronous
from actorflow.dtypes import DType
from actorflow.errors import UnimplementedError
from actorflow.graph.node import Endpoint, Node
from actorflow.passes.compile import Options, finish
from actorflow.passes.pace import paced
from actorflow.passes.subgraph import Subgraph
from actorflow.registry import kernel, opdef
from actorflow.runtime.context import KernelContext, NodeContexts
from actorflow.runtime.jit import find_compiler
from actorflow.runtime.launch import bind, kernel_of
from actorflow.runtime.plan import Plan, build_plan
from actorflow.runtime.resources import ResourceManager


class PlanBuilder:
    """Builds plans for `devices`. The kernel context of a node is the same in all of them."""

    def __init__(self, devices: Sequence[Device], resources: Mapping[str, ResourceManager]) -> None:
        self.devices = {device.name: device for device in devices}
        self.contexts = NodeContexts()
        self._resources = resources

    def build(
        self, parts: Mapping[str, Subgraph], options: Options, fed_later: frozenset[Endpoint] = frozenset()
    ) -> tuple[Plan, ...]:
        """The plans of these parts, by device name, in their order. `fed_later` are the feeds of a partial run.

        Raises:
            UnimplementedError: a node has no kernel for its device.
        """
        without = frozenset(() if options.jit else ("jit",))
        loopable = partial(self._loopable, without)
        plans = tuple(
            build_plan(
                finish(part, options, self._mergeable, fed_later, loopable),
                self.devices[name],
                self.context_of,
                options.fold,
                without,
            )
            for name, part in parts.items()
        )
        for plan in plans:
            for node in paced(plan.nodes):
                if node.region is not None:
                    node.region.prepare()
        return plans

    def context_of(self, node: Node) -> KernelContext:
        """The kernel context of a node."""
        found = self.contexts.get(node.name)
        if found is None:
            device = self.devices[node.device]
            made = KernelContext(node, device, self._resources[device.name], nodes=self.contexts)
            found = self.contexts.setdefault(node.name, made)
            if self.contexts.restored:
                self.contexts.resume(node.name)
        return found

    def evaluate(self, node: Node, inputs: list[Any]) -> Any:
        """Runs a node's kernel now, for constant folding; None where it can't run outside of a step."""
        device = self.devices[node.device]
        if (launching := as_asynchronous(device)) is not None:
            device = launching.host
        entry = kernel_of(node, device, ())
        if entry.takes_context or entry.takes_step or entry.is_async:
            return None
        with np.errstate(all="ignore"):
            return bind(node, entry, device, self.context_of)(*inputs)

    def _loopable(self, without: frozenset[str], node: Node, dtypes: Sequence[DType]) -> bool:
        compiler = find_compiler(self.devices[node.device].type, without)
        return compiler is not None and compiler.accepts(node.op, dtypes)

    def _mergeable(self, node: Node) -> bool:
        definition = opdef.lookup(node.op)
        if definition.asynchronous or definition.fires_dead or definition.emits_dead:
            return False
        if as_asynchronous(self.devices[node.device]) is not None:
            return False  # a launch costs more than a task, and what a member wants in host memory has to be waited for
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
