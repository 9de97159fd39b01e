"""The compiled plan of one device: what a step needs to know of each node, as records and counts that never change.

Edges are slots: each input of each node has its place in one list, which the producer fills. A node may fire when its
pending count, the number of its data and control edges that have brought nothing yet, is zero (paper section 3.1).
A step starts with copies of `pending` and `slots`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.device.base import Device
from actorflow.graph.node import Endpoint, Node
from actorflow.passes.coalesce import members_of
from actorflow.passes.cost_model import expected_cost, expected_elements, node_cost
from actorflow.passes.pace import paced
from actorflow.passes.subgraph import Subgraph
from actorflow.registry import opdef
from actorflow.runtime.costs import Cost, Costs
from actorflow.runtime.launch import ContextOf, bind, kernel_of
from actorflow.runtime.region import Region
from actorflow.runtime.resources import one_at_a_time
from actorflow.runtime.tokens import DEAD, EMPTY
from actorflow.shapes import is_static

SINK = 0
"""The index of the node that collects the fetches; it fires last, and has no kernel."""


@dataclass(frozen=True, slots=True)
class PlanNode:
    """One node as its task sees it.

    `begin` and `end` bound its input slots, `blank` is what they hold when nothing is in them. `edges` lists, for each
    output, the (slot, consumer) pairs that it fills; `controls` the nodes that only wait for it.
    """

    index: int
    node: Node
    launch: Callable[..., Any]
    begin: int
    end: int
    blank: list[Any]
    edges: tuple[tuple[tuple[int, int], ...], ...]
    controls: tuple[int, ...]
    dead_outputs: Any
    asynchronous: bool
    aborts_itself: bool
    takes_step: bool
    fires_dead: bool
    touches_state: bool
    cost: Cost
    costs: Costs | None
    region: Region | None

    @property
    def members(self) -> tuple[Node, ...]:
        """The nodes of the user's graph that this one stands for."""
        return members_of(self.node)


@dataclass(frozen=True, slots=True)
class Plan:
    """The nodes of one device for one signature. `feeds` lists, for each fed tensor, the edges that it fills."""

    device: Device
    nodes: tuple[PlanNode, ...]
    pending: list[int]
    slots: list[Any]
    roots: tuple[int, ...]
    feeds: Mapping[Endpoint, tuple[tuple[int, int], ...]]
    fetches: tuple[Endpoint, ...]
    executed: int
    """How many nodes of the user's graph one step runs, members of regions counted."""


def build_plan(graph: Subgraph, device: Device, context_of: ContextOf, fill_constants: bool = True) -> Plan:
    """Compiles the part of a graph that one device runs. With `fill_constants`, constants are no nodes of the plan: their
    values are in their consumers' slots from the start.

    Raises:
        UnimplementedError: a node has no kernel for the device.
    """
    constants = {n.name for n in graph.nodes.values() if fill_constants and n.op == "Const" and not n.controls}
    nodes = [node for node in graph.nodes.values() if node.name not in constants]
    index = {node.name: i for i, node in enumerate(nodes, start=SINK + 1)}
    slots: list[Any] = []
    data: dict[Endpoint, list[tuple[int, int]]] = {}
    controls: dict[str, list[int]] = {}
    pending = [0] * (len(index) + 1)

    def connect(consumer: int, inputs: Sequence[Endpoint]) -> int:
        """Gives the consumer its slots, and returns the first."""
        begin = len(slots)
        for endpoint in inputs:
            if endpoint.node in constants and endpoint not in graph.feeds:
                slots.append(_constant(graph.nodes[endpoint.node]))
            else:
                data.setdefault(endpoint, []).append((len(slots), consumer))
                slots.append(EMPTY)
                pending[consumer] += 1
        return begin

    connect(SINK, graph.fetches)
    begins: dict[str, int] = {}
    for node in paced(nodes):
        begins[node.name] = connect(index[node.name], node.inputs)
        for control in node.controls:
            if control not in constants:
                controls.setdefault(control, []).append(index[node.name])
                pending[index[node.name]] += 1
    made = [_sink(len(graph.fetches))]
    for node in paced(nodes):
        outputs = [Endpoint(node.name, port) for port in range(len(node.dtypes))]
        edges = tuple(() if e in graph.feeds else tuple(data.get(e, ())) for e in outputs)
        if node.name in graph.targets or not (any(edges) or node.name in controls):
            controls.setdefault(node.name, []).append(SINK)
            pending[SINK] += 1
        waiting = tuple(controls.get(node.name, ()))
        made.append(_plan_node(index[node.name], node, begins[node.name], edges, waiting, graph, device, context_of))
    return Plan(
        device=device,
        nodes=tuple(made),
        pending=pending,
        slots=slots,
        roots=tuple(i for i, count in enumerate(pending) if count == 0),
        feeds={e: tuple(data[e]) for e in graph.feeds if e in data},
        fetches=graph.fetches,
        executed=len(constants.union(*({m.name for m in n.members} for n in made[1:]))),
    )


def _constant(node: Node) -> Any:
    """A constant's value as it travels: a scalar for rank 0, which computes ten times faster than an array."""
    value = node.attrs["value"]
    return value[()] if value.ndim == 0 and not value.dtype.hasobject else value


def _plan_node(
    index: int,
    node: Node,
    begin: int,
    edges: tuple[tuple[tuple[int, int], ...], ...],
    controls: tuple[int, ...],
    graph: Subgraph,
    device: Device,
    context_of: ContextOf,
) -> PlanNode:
    types = [graph.type_of(e) for e in node.inputs]
    definition = opdef.lookup(node.op)
    region: Region | None = None
    launch: Callable[..., Any]
    asynchronous = takes_step = aborts_itself = False
    if node.op == "_Region":
        launch = region = Region(node, types, device, context_of, _shares_state(node, graph))
    else:
        entry = kernel_of(node, device, [dtype for dtype, _ in types])
        launch = bind(node, entry, device, context_of)
        if not entry.is_async and _shares_state(node, graph):
            launch = one_at_a_time(launch)
        asynchronous, takes_step, aborts_itself = entry.is_async, entry.takes_step, entry.aborts_itself
    guess = sum_of_members(node, graph)
    open_shapes = any(not is_static(shape) and not dtype.is_ref for dtype, shape in types)
    return PlanNode(
        index=index,
        node=node,
        launch=launch,
        begin=begin,
        end=begin + len(node.inputs),
        blank=[None] * len(node.inputs),
        edges=edges,
        controls=controls,
        dead_outputs=(DEAD,) * len(edges) if len(edges) > 1 else DEAD,
        asynchronous=asynchronous,
        aborts_itself=aborts_itself,
        takes_step=takes_step,
        fires_dead=definition.fires_dead,
        touches_state=any(d.is_ref for m in members_of(node) for d in m.dtypes) or any(d.is_ref for d, _ in types),
        cost=Cost(guess),
        costs=Costs(guess, sum(expected_elements(s) for d, s in types if not d.is_ref)) if open_shapes else None,
        region=region,
    )


def _shares_state(node: Node, graph: Subgraph) -> bool:
    """Whether a node touches what is in a named container: its handle, or what takes that."""
    references = [graph.nodes[e.node] for e in node.inputs if graph.type_of(e)[0].is_ref]
    return any(m.attrs.get("container") for n in (node, *references) for m in members_of(n))


def sum_of_members(node: Node, graph: Subgraph) -> float:
    """The expected cost of a node, or of all members of a region."""
    if node.op != "_Region":
        return node_cost(node, graph)
    types = {inner: graph.type_of(outer) for inner, outer in zip(node.attrs["inputs"], node.inputs, strict=True)}
    total = 0.0
    for member in members_of(node):
        inputs = [types[e] for e in member.inputs]
        total += expected_cost(member, [d for d, _ in inputs], [s for _, s in inputs])
        types.update((Endpoint(member.name, port), kind) for port, kind in enumerate(zip(member.dtypes, member.shapes)))
    return total


def _unreachable(*inputs: Any) -> Any:
    raise AssertionError("the sink has no kernel")


def _sink(fetches: int) -> PlanNode:
    return PlanNode(
        index=SINK,
        node=Node(name="_Sink", op="_Sink"),
        launch=_unreachable,
        begin=0,
        end=fetches,
        blank=[],
        edges=(),
        controls=(),
        dead_outputs=DEAD,
        asynchronous=False,
        aborts_itself=False,
        takes_step=False,
        fires_dead=True,
        touches_state=False,
        cost=Cost(0.0),
        costs=None,
        region=None,
    )
