"""`build_plan`: from the graph of a device to its `Plan`: the slots and counts of each frame, the kernel and the expected cost of
each node, and the consumers of each edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from actorflow.base.registry import opdef, roles
from actorflow.base.shapes import is_static
from actorflow.engine.device.base import Device, as_asynchronous
from actorflow.engine.passes.coalesce import members_of
from actorflow.engine.passes.fusion.match import JOINED
from actorflow.engine.placement.cost_model import expected_cost, expected_elements, node_cost
from actorflow.engine.runtime.actors import (
    await_cancelling,
    await_kernel,
    fire_continuation,
    fire_on_loop,
    fire_primitive,
    fire_sink,
    fire_task,
    forward_dead,
    launch_by_cost,
    launch_with_step,
    move,
    with_dead,
    with_step,
    without_step,
)
from actorflow.engine.runtime.codegen.coalesced_loop import CoalescedLoop, run_loop
from actorflow.engine.runtime.codegen.jit import find_compiler
from actorflow.engine.runtime.codegen.launched import LaunchedRegion
from actorflow.engine.runtime.codegen.region import Region
from actorflow.engine.runtime.diagnostics.costs import UNKNOWN_NS, Cost, LaunchCost, NodeCosts
from actorflow.engine.runtime.diagnostics.numerics import checked
from actorflow.engine.runtime.frames import PRIMITIVES, Primitive, forward
from actorflow.engine.runtime.kernel_binding import ContextOf, bind, handing_to_host, kernel_of
from actorflow.engine.runtime.plan import SINK, Fire, MergeEdge, Plan, PlanNode, Run
from actorflow.engine.runtime.state.host_copies import wanted_on_host, with_fetches_copied
from actorflow.engine.runtime.state.resources import one_at_a_time
from actorflow.engine.runtime.tokens import EMPTY
from actorflow.engine.runtime.visible_actors import VISIBLE
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import ROOT, frames, is_free
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId


class _Layout:
    """The slots and counts of one frame, as they are laid out."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.index: dict[str, int] = {}
        self.slots: list[Any] = []
        self.pending: list[int] = [0]
        self.begins: dict[str, int] = {}

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        self.index[node.name] = len(self.nodes)
        self.pending.append(0)


def build_plan(
    graph: Subgraph,
    device: Device,
    context_of: ContextOf,
    fill_constants: bool = True,
    without: AbstractSet[str] = frozenset(),
    check_numerics: bool = False,
    seen: bool = False,
) -> Plan:
    """Compiles the part of a graph that one device runs. With `fill_constants`, constants are no nodes of the plan: their
    values are in their consumers' slots from the start. Kernels of the libraries named in `without` are not used.
    With `check_numerics`, kernels for host memory look for what is not finite (see `numerics`). With
    `seen`, each node is a task that asyncio shows (see `visible_actors`).

    Raises:
        UnimplementedError: a node has no kernel for the device.
        InvalidArgumentError: edges lead from one loop into another.
    """
    return _PlanBuilder(graph, device, context_of, fill_constants, without, check_numerics, seen).build()


class _PlanBuilder:
    """Lays the frames of a part out, and makes their plans, inner frames first."""

    def __init__(
        self,
        graph: Subgraph,
        device: Device,
        context_of: ContextOf,
        fill_constants: bool,
        without: AbstractSet[str],
        check_numerics: bool,
        seen: bool,
    ) -> None:
        self._graph = graph = with_fetches_copied(graph, device)
        self._check_numerics = check_numerics
        self._seen = seen
        self._without = without
        self._device = device
        self._on_host = wanted_on_host(graph, device)
        self._context_of = context_of
        self._frames = frames(graph)
        merged = {e.node for node in graph.nodes.values() if node.role is roles.MERGE for e in node.inputs}
        self._free = {n.name for n in graph.nodes.values() if is_free(n) and n.name not in merged}
        self._constants = self._free if fill_constants else set[str]()
        self._data: dict[TensorId, list[tuple[int, int]]] = {}
        self._merges: dict[TensorId, list[MergeEdge]] = {}
        self._controls: dict[str, list[int]] = {}
        self._layouts: dict[str, _Layout] = {ROOT: _Layout(), **{name: _Layout() for name in self._frames.parent}}
        self._ranks = {n.name: _rank_of(n, graph.ranks) for n in graph.nodes.values()} if graph.ranks else {}

    def build(self) -> Plan:
        graph, frames = self._graph, self._frames
        for node in yielding(graph.nodes.values()):
            if node.name not in self._constants:
                self._layouts[frames.of[node.name]].add(node)
        root = self._layouts[ROOT]
        self._connect(root, SINK, graph.fetches)
        # By rank, so that of those that fire at a time the most urgent is first.
        for node in yielding(self._by_rank(graph.nodes.values())):
            if node.name in self._constants:
                continue
            layout = self._layouts[frames.of[node.name]]
            index = layout.index[node.name]
            join = self._merge if node.role is roles.MERGE else self._connect
            layout.begins[node.name] = join(layout, index, node.inputs)
            filled = self._filled(layout)
            for control in node.controls:
                if control not in filled:
                    self._controls.setdefault(control, []).append(index)
                    layout.pending[index] += 1
        for node in root.nodes:
            used = any(TensorId(node.name, p) in self._data for p in range(len(node.dtypes)))
            used = used or any(TensorId(node.name, p) in self._merges for p in range(len(node.dtypes)))
            if node.name in graph.targets or not (used or node.name in self._controls):
                self._controls.setdefault(node.name, []).append(SINK)
                root.pending[SINK] += 1
        return self._plan(ROOT)

    def _by_rank(self, nodes: Iterable[Node]) -> Iterable[Node]:
        return sorted(nodes, key=lambda node: -self._ranks[node.name]) if self._ranks else nodes

    def _filled(self, layout: _Layout) -> AbstractSet[str]:
        """The constants that are in slots from the start: in loops all that are free, since each iteration has them."""
        return self._constants if layout is self._layouts[ROOT] else self._free

    def _connect(self, layout: _Layout, consumer: int, inputs: Sequence[TensorId]) -> int:
        """Gives the consumer its slots, and returns the first."""
        begin = len(layout.slots)
        filled = self._filled(layout)
        for tensor_id in inputs:
            if tensor_id.node in filled and tensor_id not in self._graph.feeds:
                layout.slots.append(_constant(self._graph.nodes[tensor_id.node], self._device))
            else:
                self._data.setdefault(tensor_id, []).append((len(layout.slots), consumer))
                layout.slots.append(EMPTY)
                layout.pending[consumer] += 1
        return begin

    def _roots(self, layout: _Layout) -> Iterator[int]:
        """The nodes that wait for nothing."""
        if not layout.pending[SINK]:
            yield SINK
        indexes = (layout.index[node.name] for node in self._by_rank(layout.nodes))
        yield from (index for index in indexes if not layout.pending[index])

    def _merge(self, layout: _Layout, consumer: int, inputs: Sequence[TensorId]) -> int:
        """A Merge has two slots, for the value that comes first and its position, and waits for one token."""
        begin = len(layout.slots)
        layout.slots.extend((EMPTY, EMPTY))
        layout.pending[consumer] += 1
        nodes, feeds = self._graph.nodes, self._graph.feeds
        first = [e for e in inputs if e in feeds or nodes[e.node].role is not roles.NEXT_ITERATION]
        for position, tensor_id in enumerate(inputs):
            edge = MergeEdge(tensor_id.port, begin, consumer, position, len(first))
            self._merges.setdefault(tensor_id, []).append(edge)
        return begin

    def _plan(self, frame: str) -> Plan:
        graph, layout = self._graph, self._layouts[frame]
        inner = {name: self._plan(name) for name, around in self._frames.parent.items() if around == frame}
        plan_nodes = [_sink(len(graph.fetches) if frame == ROOT else 0)]
        plan_nodes.extend(self._plan_node(node, frame) for node in yielding(layout.nodes))
        enters = [n for n in graph.nodes.values() if n.role is roles.ENTER and n.attrs["frame_name"] == frame]
        executed = len(
            {m.name for n in plan_nodes[1:] for m in n.members} | (self._constants if frame == ROOT else set())
        )
        used = {e: (tuple(self._data.get(e, ())), tuple(self._merges.get(e, ()))) for e in graph.feeds}
        return Plan(
            device=self._device,
            nodes=tuple(plan_nodes),
            pending=layout.pending,
            slots=layout.slots,
            roots=tuple(self._roots(layout)) if frame == ROOT else (),
            feeds={e: edges for e, edges in used.items() if any(edges)} if frame == ROOT else {},
            fetches=graph.fetches if frame == ROOT else (),
            executed=executed + sum(plan.executed for plan in inner.values()),
            loops=inner,
            controlled=any(_primitive(node, frame) is not None for node in layout.nodes),
            urgent=_urgent(plan_nodes[1:]),
            enters=len(enters),
            parallel_iterations=enters[0].attrs["parallel_iterations"] if enters else 1,
            seen=self._seen,
        )

    def _plan_node(self, node: Node, frame: str) -> PlanNode:
        graph, layout, device = self._graph, self._layouts[frame], self._device
        index, begin = layout.index[node.name], layout.begins[node.name]
        outputs = [TensorId(node.name, port) for port in range(len(node.dtypes))]
        unfed = [e for e in outputs if e not in graph.feeds]
        merges = tuple(m for e in unfed for m in self._merges.get(e, ()))
        actor = self._actor(node, frame, any(e in self._on_host for e in outputs))
        dead_too = actor.fire is fire_primitive or opdef.lookup(node.op).fires_dead
        fire, fire_dead = actor.fire, actor.fire if dead_too else forward_dead
        width = 2 if node.role is roles.MERGE else len(node.inputs)
        members = members_of(node)
        definitions = [opdef.lookup(m.op) for m in members]
        types = [graph.type_of(e) for e in node.inputs]
        touches_state = any(d.is_ref for m in members for d in m.dtypes) or any(d.is_ref for d, _ in types)
        guess = sum_of_members(node, graph)
        on_host = as_asynchronous(device) is None
        open_shapes = any(not is_static(shape) and not dtype.is_ref for dtype, shape in types)
        may_follow = fire is fire_task and actor.run is launch_by_cost and on_host and not open_shapes
        return PlanNode(
            index=index,
            node=node,
            fire=VISIBLE.get(fire, fire) if self._seen else fire,
            fire_dead=VISIBLE.get(fire_dead, fire_dead) if self._seen else fire_dead,
            run=actor.run,
            launch=with_dead(actor.launch, index) if opdef.lookup(node.op).takes_dead else actor.launch,
            places=slice(begin, begin + width),
            blank=[EMPTY if node.role is roles.MERGE else None] * width,
            edges=tuple(() if e in graph.feeds else tuple(self._data.get(e, ())) for e in outputs),
            merges=merges,
            controls=tuple(self._controls.get(node.name, ())),
            cost=Cost(guess) if on_host else LaunchCost(),
            costs=(
                NodeCosts(guess, sum(expected_elements(s) for d, s in types if not d.is_ref))
                if open_shapes and on_host
                else None
            ),
            region=actor.region,
            touches_state=touches_state,
            is_threaded=actor.is_threaded,
            may_follow=may_follow
            and not (touches_state or merges)
            and not any(d.stateful or d.emits_dead for d in definitions),
            rank=self._ranks.get(node.name, 0.0),
            label=_label(node),
        )

    def _actor(self, node: Node, frame: str, on_host: bool) -> _Actor:
        """The way in which a node fires and runs; with `on_host`, its result has to come to host memory."""
        graph, device = self._graph, self._device
        if (primitive := _primitive(node, frame)) is not None:
            return _Actor(fire_primitive, move, primitive)
        types = [graph.type_of(e) for e in node.inputs]
        launching = as_asynchronous(device)
        if node.role is roles.LOOP:
            compiler = find_compiler(device.type, self._without)
            loop = CoalescedLoop(node, types, device, self._context_of, compiler, self._without)
            return _Actor(fire_task, run_loop, loop, region=loop)
        region: Region | None = None
        launch: Callable[..., Any]
        if node.role is roles.REGION:
            compiler = find_compiler(device.type, self._without)
            make = Region if launching is None else LaunchedRegion
            shares = _shares_state(node, graph)
            launch = region = make(node, types, device, self._context_of, shares, compiler, self._without)
        else:
            shapes, dtypes = [shape for _, shape in types], [dtype for dtype, _ in types]
            constants = [_constant_value(e, graph) for e in node.inputs]
            entry = kernel_of(node, device, dtypes, shapes, self._without, constants)
            launch = bind(node, entry, device, self._context_of)
            if not entry.is_async and _shares_state(node, graph):
                launch = one_at_a_time(launch)
            if self._check_numerics and not entry.takes_done and launching is None:
                launch = checked(node, launch, entry.is_async)
            if entry.is_async or entry.takes_step:
                with_tag = entry.takes_tag and frame != ROOT
                launch = with_step(launch, with_tag) if entry.takes_step else without_step(launch)
                fire = fire_continuation if entry.takes_done else fire_on_loop if entry.is_async else fire_task
                wait = await_kernel if entry.aborts_itself else await_cancelling
                return _Actor(fire, wait if entry.is_async else launch_with_step, launch, entry.is_threaded)
        if launching is not None and on_host:
            return _Actor(
                fire_continuation, await_kernel, without_step(handing_to_host(launch, launching)), region=region
            )
        return _Actor(fire_task, launch_by_cost, launch, region=region)


class _Actor(NamedTuple):
    """The part of a plan's node that its kernel decides; see `PlanNode`."""

    fire: Fire
    run: Run
    launch: Callable[..., Any]
    is_threaded: bool = False
    region: Region | None = None


def _primitive(node: Node, frame: str) -> Primitive | None:
    """The move that a node is, if it computes nothing; in a loop Identity is a move."""
    return forward if frame != ROOT and node.role is roles.IDENTITY else PRIMITIVES.get(node.role)


def _rank_of(node: Node, ranks: Mapping[str, float]) -> float:
    """The rank of a node, or the highest of those that it stands for."""
    names = (name for m in members_of(node) for name in (m.name, *m.attrs.get(JOINED, ())))
    return max((ranks.get(name, 0.0) for name in names), default=0.0)


def _urgent(nodes: Sequence[PlanNode]) -> frozenset[int]:
    urgent: set[int] = set()
    # Consumers first, but for those of a loop's end, which are urgent by themselves.
    for node in yielding(reversed(nodes)):
        itself = node.run is not launch_by_cost or bool(node.merges)
        if itself or any(c in urgent for some in node.edges for _, c in some) or not urgent.isdisjoint(node.controls):
            urgent.add(node.index)
    return frozenset(urgent)


def _constant_value(tensor_id: TensorId, graph: Subgraph) -> Any:
    """The value of a constant, or None where the tensor is none, or is fed."""
    source = None if tensor_id in graph.feeds else graph.nodes.get(tensor_id.node)
    return source.attrs["value"] if source is not None and source.role is roles.CONSTANT else None


def _constant(node: Node, device: Device) -> Any:
    """A constant's value as it travels: a scalar for rank 0, which computes ten times faster than an array."""
    value = node.attrs["value"]
    if (launching := as_asynchronous(device)) is not None:
        return launching.constant(value)
    return value[()] if value.ndim == 0 and not value.dtype.hasobject else value


def _label(node: Node) -> tuple[str, str, str, tuple[str, ...], str]:
    """The label of a node. A transfer is `lossy` where the tensor goes in fewer bits, and `scheduled` where the Recv is put off
    until its tensor is wanted soon."""
    members = members_of(node)
    names = () if members == (node,) else tuple([member.name for member in members])
    if node.role not in (roles.SEND, roles.RECV):
        return node.name, node.op, "", names, ""
    marks = ["lossy"] if node.attrs.get("lossy") else []
    if node.role is roles.RECV and node.controls:
        marks.append("scheduled")
    return node.name, node.op, node.attrs.get("key", ""), names, " ".join(marks)


def _shares_state(node: Node, graph: Subgraph) -> bool:
    """Whether a node touches what is in a named container: its handle, or what takes that."""
    references = [graph.nodes[e.node] for e in node.inputs if graph.type_of(e)[0].is_ref]
    return any(m.attrs.get("container") for n in (node, *references) for m in members_of(n))


def sum_of_members(node: Node, graph: Subgraph) -> float:
    """The expected cost of a node, or of all members of a region; UNKNOWN_NS if nothing is known of a member."""
    if any(opdef.lookup(member.op).work is None for member in members_of(node)):
        return UNKNOWN_NS
    if node.role is not roles.REGION:
        return node_cost(node, graph)
    types = {inner: graph.type_of(outer) for inner, outer in zip(node.attrs["inputs"], node.inputs, strict=True)}
    total = 0.0
    for member in members_of(node):
        inputs = [types[e] for e in member.inputs]
        total += expected_cost(member, [d for d, _ in inputs], [s for _, s in inputs])
        types.update((TensorId(member.name, port), kind) for port, kind in enumerate(zip(member.dtypes, member.shapes)))
    return total


def _unreachable(*inputs: Any) -> Any:
    raise AssertionError("the sink has no kernel")


def _sink(fetches: int) -> PlanNode:
    return PlanNode(
        index=SINK,
        node=Node(name="_Sink", op="_Sink"),
        fire=fire_sink,
        fire_dead=fire_sink,
        run=launch_by_cost,
        launch=_unreachable,
        places=slice(0, fetches),
        blank=[],
        edges=(),
        merges=(),
        controls=(),
        cost=Cost(0.0),
    )
