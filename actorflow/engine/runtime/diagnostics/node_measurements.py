"""The measurements by runs of a plan's nodes, for placement (paper section 3.2.1)."""

from __future__ import annotations

from collections.abc import Iterator

from actorflow.base.registry import roles
from actorflow.engine.passes.coalesce import members_of
from actorflow.engine.passes.fusion.match import JOINED
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.runtime.diagnostics.costs import LaunchCost
from actorflow.engine.runtime.plan import Plan
from actorflow.graph.node import TensorId


def node_measurements(plan: Plan) -> Iterator[NodeMeasurement]:
    """The measurements of each node that has run: on its own, or together with those that it was merged with. Asynchronous
    kernels only wait, and kernels that are launched take no time of the loop that could be measured."""
    for node in plan.nodes:
        cost = node.cost if node.costs is None else node.costs.usual()
        if cost is None or not cost.samples or isinstance(cost, LaunchCost):
            continue
        names = [name for m in members_of(node.node) for name in (*m.attrs.get(JOINED, ()), m.name)]
        outputs = node.node.attrs["outputs"] if node.node.role is roles.REGION else None
        sizes: tuple[tuple[TensorId, int], ...] = ()
        if node.costs is not None:
            outputs = outputs or [TensorId(node.node.name, port) for port in range(len(node.costs.outputs))]
            sizes = tuple(zip(outputs, node.costs.outputs))
        nanoseconds, idle = cost.alone()
        yield NodeMeasurement(tuple(names), plan.device.name, nanoseconds, cost.samples, sizes, idle, cost.hop)
    for loop in plan.loops.values():
        yield from node_measurements(loop)
