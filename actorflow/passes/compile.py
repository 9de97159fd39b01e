"""The way from a graph to what each device runs: all passes, in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from actorflow.analysis.feeding import check_loops, forget_fed_values, watch_targets
from actorflow.analysis.frames import with_loops
from actorflow.analysis.pauses import paced
from actorflow.analysis.prune import prune
from actorflow.analysis.subgraph import Subgraph
from actorflow.dtypes import DType
from actorflow.errors import OpError
from actorflow.graph.node import Endpoint, Node
from actorflow.passes.coalesce import Loopable, coalesce, launch_cost, never
from actorflow.passes.coalesce_loops import coalesce_loops
from actorflow.passes.cse import merge_duplicates
from actorflow.passes.fold import Evaluate, fold
from actorflow.passes.fuse import fuse
from actorflow.passes.memory.budget import Memory, save_memory, without_large
from actorflow.passes.order_writes import order_writes
from actorflow.passes.partition import partition
from actorflow.placement.schedule_recvs import schedule_recvs
from actorflow.shapes import Shape

PASSES = (
    "inline",
    "place",
    "prune",
    "fold",
    "merge_duplicates",
    "partition",
    "fuse",
    "schedule_recvs",
    "order_writes",
    "coalesce_loops",
    "coalesce",
    "order_memory",
    "swap",
)
"""The order: `inline` and `place` over the whole graph (the session's planner runs them), then up to `schedule_recvs` over what
the signature needs, then on each part."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a run is asked for; equal signatures share a plan. `partial` runs are fed while they go on."""

    feeds: Mapping[Endpoint, tuple[DType, Shape]]
    fetches: tuple[Endpoint, ...]
    targets: tuple[str, ...]
    partial: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        """What is equal where a plan can be shared."""
        return (frozenset(self.feeds), self.fetches, frozenset(self.targets), self.partial)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names of the nodes that are asked for."""
        return (*(endpoint.node for endpoint in self.fetches), *self.targets)

    @property
    def fed_later(self) -> frozenset[Endpoint]:
        """The feeds that come while the step goes on."""
        return frozenset(self.feeds) if self.partial else frozenset()


@dataclass(frozen=True, slots=True)
class Options:
    """Which optional passes run, whether loops are compiled, and whether float32 loses 16 bits between devices. `lower_peak` is
    for devices without a budget too; `save_memory` lets those whose budget is short do something about it.
    `check_numerics` has each kernel look for what is not finite."""

    fold: bool = True
    merge_duplicates: bool = True
    coalesce: bool = True
    fuse: bool = True
    jit: bool = True
    soft_placement: bool = False
    schedule_recvs: bool = True
    lossy: bool = False
    lower_peak: bool = False
    save_memory: bool = True
    check_numerics: bool = False


def divide(
    nodes: Mapping[str, Node],
    placed: Mapping[str, str],
    signature: Signature,
    options: Options,
    evaluate: Evaluate,
    first_device: str,
    refused: Mapping[str, OpError] = MappingProxyType({}),
) -> tuple[dict[str, Subgraph], tuple[tuple[int, int], ...]]:
    """What each device has to run for `signature`, by full device name, and where each fetch comes out: in which part,
    and as which of its fetches. `placed` gives each node's device; fetches that are fed come out of the first one.
    `refused` says why a node has none; the error is raised where the node is needed.
    """
    graph = prune(Subgraph(nodes, signature.feeds, signature.fetches, signature.targets))
    if signature.partial:
        graph = watch_targets(graph, placed)
    if refused:
        for name in graph.nodes:
            if name in refused:
                raise refused[name].located()
    check_loops(graph)
    graph = with_loops(graph)
    graph = forget_fed_values(graph, nodes)
    graph = graph.with_nodes(
        [replace(node, device=placed.get(node.name, node.device)) for node in paced(graph.nodes.values())]
    )
    if options.fold:
        graph = fold(graph, evaluate)
        graph = prune(graph)
    if options.merge_duplicates:
        graph = merge_duplicates(graph)
    parts = partition(graph, first_device, lossy=options.lossy, copy_constants=options.fold)
    if options.fuse:
        parts = {device: fuse(part) for device, part in parts.items()}
    if options.schedule_recvs:
        parts = schedule_recvs(parts)
    return parts, _places(graph, parts)


def finish(
    part: Subgraph,
    options: Options,
    mergeable: Callable[[Node], bool],
    partial: frozenset[Endpoint] = frozenset(),
    loopable: Loopable = never,
    memory: Memory | None = None,
    launched: bool = False,
) -> Subgraph:
    """One part as its device runs it. Its fetches may get other names, and keep their order. `partial` are the feeds that
    come while the part runs. Where `memory` is given, less of it may be used. `launched` says that
    kernels are only launched there: such loops stay frames."""
    part = order_writes(part, partial)
    if options.coalesce:
        if memory is not None:
            mergeable = without_large(part, memory, mergeable)
        if launched:
            part = coalesce(part, mergeable, partial, cost=launch_cost)
        else:
            part = coalesce_loops(part, mergeable, partial)
            part = coalesce(part, mergeable, partial, loopable)
    return part if memory is None else save_memory(part, memory, partial)


def _places(graph: Subgraph, parts: Mapping[str, Subgraph]) -> tuple[tuple[int, int], ...]:
    owner: dict[Endpoint, tuple[int, int]] = {}
    for index, part in enumerate(parts.values()):
        for position, endpoint in enumerate(part.fetches):
            owner.setdefault(endpoint, (index, position))
    return tuple(owner[endpoint] for endpoint in graph.fetches)
