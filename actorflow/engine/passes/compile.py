"""The way from a graph to what each device runs: all passes, in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.shapes import Shape
from actorflow.engine.passes.branches import fold_branches
from actorflow.engine.passes.coalesce import Loopable, coalesce, launch_cost, never
from actorflow.engine.passes.coalesce_loops import coalesce_loops
from actorflow.engine.passes.fold import Evaluate, fold
from actorflow.engine.passes.fusion.batch_products import batch_products
from actorflow.engine.passes.fusion.chains import fuse_chains
from actorflow.engine.passes.fusion.fuse import fuse
from actorflow.engine.passes.fusion.reshapes import sink_reshapes
from actorflow.engine.passes.memory.budget import Accepts, Memory, fit
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.passes.order_writes import order_writes
from actorflow.engine.passes.pack_strings import pack_strings
from actorflow.engine.passes.partition import partition
from actorflow.engine.passes.pipeline import Pass, run_passes
from actorflow.engine.placement.schedule_recvs import schedule_recvs
from actorflow.errors import OpError
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.duplicates import merge_duplicates
from actorflow.graph.analysis.feeding import check_loops, forget_shapes, watch_targets
from actorflow.graph.analysis.frames import with_loops
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.specialise import expected_sizes
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId


@dataclass(frozen=True, slots=True)
class RunSignature:
    """The feeds, fetches and targets of a run; equal signatures share a plan. `partial` runs are fed while they go
    on. Feeds that are `given` have one value in all runs of the plan."""

    feeds: Mapping[TensorId, tuple[DType, Shape]]
    fetches: tuple[TensorId, ...]
    targets: tuple[str, ...]
    partial: bool = False
    given: Mapping[TensorId, bool] = field(default_factory=dict)
    sizes: Mapping[TensorId, Shape] = field(default_factory=dict)
    """The shapes of what is fed first, where static shapes leave them open. Plans for other sizes are the same."""

    @property
    def key(self) -> tuple[Any, ...]:
        """The key of a plan: equal keys share a plan. A partial run goes by the order of feeds and targets."""
        if self.partial:
            return (tuple(self.feeds), self.fetches, self.targets, True)
        return (frozenset(self.feeds), self.fetches, frozenset(self.targets), False, frozenset(self.given.items()))

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names of the nodes that are asked for."""
        return (*(tensor_id.node for tensor_id in self.fetches), *self.targets)

    @property
    def deferred_feeds(self) -> frozenset[TensorId]:
        """The feeds that come while the step goes on."""
        return frozenset(self.feeds) if self.partial else frozenset()


@dataclass(frozen=True, slots=True)
class GraphPassOptions:
    """The questions of the passes over the whole graph: the nodes of the program, and the device of each; see `divide`."""

    nodes: Mapping[str, Node]
    placed: Mapping[str, str]
    refused: Mapping[str, OpError]
    evaluate: Evaluate
    options: PlanOptions
    partial: bool


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """The questions of the passes over the part of one device; see `finish`."""

    options: PlanOptions
    mergeable: Callable[[Node], bool]
    partial: frozenset[TensorId] = frozenset()
    loopable: Loopable = never
    memory: Memory | None = None
    launched: bool = False


def _refuse(graph: Subgraph, context: GraphPassOptions) -> Subgraph:
    """Raises why a node that is needed has no device."""
    for name in graph.nodes:
        if name in context.refused:
            raise context.refused[name].located()
    return graph


def _check_loops(graph: Subgraph, context: GraphPassOptions) -> Subgraph:
    check_loops(graph)
    return graph


def _fold_branches(graph: Subgraph, context: GraphPassOptions) -> Subgraph:
    """Nodes that depended on a branch may be constants without it."""
    folded = fold_branches(graph)
    return graph if folded is graph else prune(fold(prune(folded), context.evaluate))


def _devices(graph: Subgraph, context: GraphPassOptions) -> Subgraph:
    placed = context.placed
    return graph.with_nodes(
        [
            node if (device := placed.get(node.name, node.device)) == node.device else replace(node, device=device)
            for node in yielding(graph.nodes.values())
        ]
    )


def _coalesce(graph: Subgraph, context: DeviceOptions) -> Subgraph:
    if context.launched:
        return coalesce(graph, context.mergeable, context.partial, cost=launch_cost)
    return coalesce(graph, context.mergeable, context.partial, context.loopable)


def _save_memory(graph: Subgraph, context: DeviceOptions) -> Subgraph:
    """Merges nodes too, since that depends on how short the memory is."""
    assert context.memory is not None

    def merge(graph: Subgraph, accepts: Accepts) -> Subgraph:
        def mergeable(node: Node) -> bool:
            return accepts(node) and context.mergeable(node)

        return run_passes(MERGING_PASSES, graph, replace(context, mergeable=mergeable, memory=None))

    return fit(graph, context.memory, merge, context.partial)


def _batch_products(graph: Subgraph, context: DeviceOptions) -> Subgraph:
    """Products that stand for sums may be fused with their users."""
    batched = batch_products(graph)
    return graph if batched is graph else fuse(batched)


GRAPH_PASSES: tuple[Pass[Subgraph, GraphPassOptions], ...] = (
    Pass("prune", lambda graph, c: prune(graph)),
    Pass("watch_targets", lambda graph, c: watch_targets(graph, c.placed), lambda c: c.partial),
    Pass("refuse", _refuse, lambda c: bool(c.refused)),
    Pass("check_loops", _check_loops),
    Pass("with_loops", lambda graph, c: with_loops(graph)),
    Pass("forget_shapes", lambda graph, c: forget_shapes(graph, c.nodes)),
    Pass("devices", _devices),
    Pass("fold", lambda graph, c: prune(fold(graph, c.evaluate)), lambda c: c.options.folds),
    Pass("fold_branches", _fold_branches, lambda c: c.options.folds),
    Pass("merge_duplicates", lambda graph, c: merge_duplicates(graph), lambda c: c.options.optimize),
)
"""Over what a signature needs of the whole graph."""

DIVIDED_PASSES: tuple[Pass[dict[str, Subgraph], PlanOptions], ...] = (
    Pass(
        "fuse_chains", lambda parts, c: {device: fuse_chains(part) for device, part in parts.items()}, lambda c: c.fuses
    ),
    Pass(
        "sink_reshapes",
        lambda parts, c: {device: sink_reshapes(part) for device, part in parts.items()},
        lambda c: c.fuses,
    ),
    Pass("fuse", lambda parts, c: {device: fuse(part) for device, part in parts.items()}, lambda c: c.fuses),
    Pass("schedule_recvs", lambda parts, c: schedule_recvs(parts)),
)
"""Over the parts of all devices together."""

MERGING_PASSES: tuple[Pass[Subgraph, DeviceOptions], ...] = (
    Pass(
        "coalesce_loops",
        lambda graph, c: coalesce_loops(graph, c.mergeable, c.partial),
        lambda c: c.options.coalesces and not c.launched and c.memory is None,
    ),
    Pass("coalesce", _coalesce, lambda c: c.options.coalesces and c.memory is None),
)
"""Over the part of each device; where its memory counts, `save_memory` runs them."""

PART_PASSES: tuple[Pass[Subgraph, DeviceOptions], ...] = (
    Pass("batch_products", _batch_products, lambda c: c.options.fuses and not c.launched and c.memory is None),
    Pass("order_writes", lambda graph, c: order_writes(graph, c.partial)),
    Pass("pack_strings", lambda graph, c: pack_strings(graph), lambda c: c.options.optimize and not c.launched),
    *MERGING_PASSES,
    Pass("save_memory", _save_memory, lambda c: c.memory is not None),
)
"""Over the part of each device by itself."""


def listed() -> str:
    """All passes in their order, as docs/explanation/graph.md draws them."""
    whole = [step.name for step in GRAPH_PASSES]
    divided = [step.name for step in DIVIDED_PASSES] + [step.name for step in PART_PASSES]
    return " ► ".join(("inline", "place", *whole, "partition", *divided))


def divide(
    nodes: Mapping[str, Node],
    placed: Mapping[str, str],
    signature: RunSignature,
    options: PlanOptions,
    evaluate: Evaluate,
    first_device: str,
    refused: Mapping[str, OpError] = MappingProxyType({}),
) -> tuple[dict[str, Subgraph], tuple[tuple[int, int], ...]]:
    """The subgraph that each device has to run for `signature`, by full device name, and where each fetch comes out: in which
    part, and as which of its fetches. The session's planner has run `inline` and `place` over the whole graph before.

    Args:
        nodes: those of the program, calls expanded.
        placed: the full name of each node's device.
        signature: the feeds, fetches and targets of a run.
        options: which passes run.
        evaluate: runs a node's kernel, for constants.
        first_device: where fetches come out that are fed.
        refused: why a node has no device; the error is raised where the node is needed.
    """
    constants = signature.given
    nodes = (
        {**nodes, **{e.node: _constant(nodes[e.node], value) for e, value in constants.items()}} if constants else nodes
    )
    feeds = {e: form for e, form in signature.feeds.items() if e not in constants}
    graph = Subgraph(nodes, feeds, signature.fetches, signature.targets)
    graph = run_passes(
        GRAPH_PASSES, graph, GraphPassOptions(nodes, placed, refused, evaluate, options, signature.partial)
    )
    sizes = expected_sizes(graph, nodes, {e: shape for e, shape in signature.sizes.items() if e not in constants})
    parts = partition(graph, first_device, lossy=options.lossy, copy_constants=options.folds)
    parts = run_passes(DIVIDED_PASSES, parts, options)
    if sizes:
        parts = {device: replace(part, sizes=sizes) for device, part in parts.items()}
    return parts, _places(graph, parts)


def _constant(fed: Node, value: bool) -> Node:
    """A constant in the place of a fed predicate."""
    attrs = MappingProxyType({"value": np.array(value), "dtype": bool_dtype})
    return replace(fed, op="Const", inputs=(), controls=(), attrs=attrs, dtypes=(bool_dtype,), shapes=((),))


def finish(
    part: Subgraph,
    options: PlanOptions,
    mergeable: Callable[[Node], bool],
    partial: frozenset[TensorId] = frozenset(),
    loopable: Loopable = never,
    memory: Memory | None = None,
    launched: bool = False,
) -> Subgraph:
    """One part as its device runs it. Its fetches may get other names, and keep their order.

    Args:
        part: a part that `divide` gave.
        options: which passes run.
        mergeable: whether a node may become part of a region.
        partial: the feeds that come while the part runs.
        loopable: which nodes one compiled loop can compute.
        memory: the device's memory, where less of it may be used.
        launched: kernels are only launched there: such loops stay frames.
    """
    return run_passes(PART_PASSES, part, DeviceOptions(options, mergeable, partial, loopable, memory, launched))


def _places(graph: Subgraph, parts: Mapping[str, Subgraph]) -> tuple[tuple[int, int], ...]:
    owner: dict[TensorId, tuple[int, int]] = {}
    for index, part in enumerate(parts.values()):
        for position, tensor_id in enumerate(part.fetches):
            owner.setdefault(tensor_id, (index, position))
    return tuple(owner[tensor_id] for tensor_id in graph.fetches)
