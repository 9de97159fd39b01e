"""Loops over several devices (paper section 4.4): where their primitives go, and the small loops that keep devices in step.

A device that takes part in a loop has to start its Recvs again in each iteration, and to stop when the loop does. The node
that tells it is a Merge of the loop's frame there. If the loop has none, a *control loop* is added, which computes
nothing and goes on as long as the predicate says, which comes from the LoopCond's device in each iteration:

    Const ──► Enter ──► Merge ──► Switch ──true──► NextIteration ──┐
                          ▲ └···► Recv (predicate) ──► Switch      │
                          │  └···► Recv (what the body uses)       │
                          └────────────────────────────────────────┘

So devices need no coordinator: in the last iteration the predicate is false, what the body would have sent arrives
dead, and all frames end by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.dtypes import int32, variant
from actorflow.base.registry import roles
from actorflow.base.shapes import Shape
from actorflow.engine.placement.groups import UnionFind
from actorflow.errors import InvalidArgumentError
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import ROOT, Frames, frames, is_free, with_loops
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import NO_ATTRS, Node, TensorId

_FOLLOWS_INPUT = (roles.SWITCH, roles.EXIT, roles.LOOP_CONDITION)
_GOES_AHEAD = (roles.ENTER, roles.NEXT_ITERATION)

Triggers: TypeAlias = Mapping[tuple[str, str], str]
"""For a frame and a device, the Merge that starts the Recvs of an iteration there."""


@dataclass(frozen=True, slots=True)
class ControlLoops:
    """A graph whose loops may be cut at any edge between devices, and the nodes that start Recvs in them."""

    graph: Subgraph
    frames: Frames
    triggers: Triggers


def short_name(device: str, source: str = "") -> str:
    """A device's name as a part of nodes' names; with `source`, what tells it from devices of that one's task."""
    task = source.partition("/device:")[0] + "/device:"
    return device.removeprefix(task).strip("/").replace("/", "_").replace(":", "_")


def add_control_loops(graph: Subgraph) -> ControlLoops:
    """Puts the primitives of a placed graph on the devices with the fewest crossings. Adds a control loop for each
    device and frame that needs it. A graph without branches and loops over several devices comes back as it is.

    Raises:
        InvalidArgumentError: a loop over several devices has no LoopCond or several, or a value that there is in some
            iterations only would have to cross.
    """
    if len({node.device for node in graph.nodes.values()}) < 2:
        return ControlLoops(graph, Frames({}, {}), {})
    graph = _spread(_with_their_inputs(_lists_together(graph)))
    loops = frames(graph)
    if not loops.parent:
        return ControlLoops(graph, loops, {})
    builder = _TriggerBuilder(graph, loops)
    for node in yielding(graph.nodes.values()):
        for name in (*[e.node for e in node.inputs if e not in graph.feeds], *node.controls):
            builder.cross(graph.nodes[name], node)
    if builder.added:
        graph = with_loops(graph.with_nodes([*graph.nodes.values(), *builder.added]))
    return ControlLoops(graph, frames(graph), builder.triggers)


# ---- where primitives go


def _lists_together(graph: Subgraph) -> Subgraph:
    """Lists (the values of arrays and of gradients' stacks) stay on the device on which each is made: they can't travel,
    and would do so whole in each iteration."""
    carries = [
        n for n in graph.nodes.values() if variant in n.dtypes or any(graph.type_of(e)[0] is variant for e in n.inputs)
    ]
    if len({node.device for node in carries}) < 2:
        return graph
    groups = UnionFind()
    for node in carries:
        for tensor_id in node.inputs:
            if tensor_id not in graph.feeds and graph.type_of(tensor_id)[0] is variant:
                groups.join(tensor_id.node, node.name)
    home: dict[str, str] = {}
    for node in carries:
        home.setdefault(groups.find(node.name), node.device)
    moved = {node.name: home[groups.find(node.name)] for node in carries}
    return graph.with_nodes(_on(node, moved.get(node.name, node.device)) for node in graph.nodes.values())


def _with_their_inputs(graph: Subgraph) -> Subgraph:
    """A Switch goes to its data, so that only what is chosen crosses; an Exit and a LoopCond to what they take."""
    nodes: dict[str, Node] = {}
    for node in yielding(graph.nodes.values()):
        if node.role in _FOLLOWS_INPUT and node.inputs[0] not in graph.feeds:
            source = nodes[node.inputs[0].node]
            if not is_free(source) and source.role not in _GOES_AHEAD:
                node = _on(node, source.device)
        nodes[node.name] = node
    return graph.with_nodes(nodes.values())


def _spread(graph: Subgraph) -> Subgraph:
    """Enters and NextIterations go to their consumers, with a copy on each device. A value gets into the frame, or into
    the next iteration, on the device of its use. So an invariant of a loop crosses once, and not in each iteration."""
    devices: dict[str, dict[str, None]] = {}
    copies: dict[str, list[Node]] = {}
    of: dict[tuple[str, str], str] = {}
    users: dict[str, list[str]] = {}
    waiting: dict[str, list[str]] = {}
    for node in yielding(graph.nodes.values()):
        for tensor_id in node.inputs:
            if tensor_id not in graph.feeds and graph.nodes[tensor_id.node].role in _GOES_AHEAD:
                users.setdefault(tensor_id.node, []).append(node.name)
        for name in node.controls:
            if graph.nodes[name].role in _GOES_AHEAD:
                waiting.setdefault(name, []).append(node.name)
    for node in yielding(reversed(list(graph.nodes.values()))):  # an Enter's consumer may be the Enter of an inner loop
        if node.role not in _GOES_AHEAD:
            continue
        places: dict[str, None] = {}
        for user in users.get(node.name) or waiting.get(node.name) or ():
            places.update(devices.get(user) or {graph.nodes[user].device: None})
        if not places or node.name in graph.targets:
            places[node.device] = None
        devices[node.name] = places
        keeps = node.device if node.device in places else next(iter(places))
        for device in places:
            name = node.name if device == keeps else f"{node.name}/on_{short_name(device, node.device)}"
            of[node.name, device] = name
            copies.setdefault(node.name, []).append(replace(node, name=name, device=device))
    changed = {name for name, group in copies.items() if group != [graph.nodes[name]]}
    if not changed:
        return graph
    nodes: list[Node] = []
    for node in yielding(graph.nodes.values()):
        for copy in copies.get(node.name, (node,)):
            inputs = tuple(
                TensorId(of[e.node, copy.device], e.port) if e.node in changed and e not in graph.feeds else e
                for e in copy.inputs
            )
            controls = tuple(of.get((c, copy.device), c) for c in copy.controls)
            nodes.append(replace(copy, inputs=inputs, controls=controls))
    return with_loops(graph.with_nodes(nodes))


def _on(node: Node, device: str) -> Node:
    return node if node.device == device else replace(node, device=device)


# ---- control loops


class _TriggerBuilder:
    """Finds or makes the trigger of each frame and device that needs a Recv."""

    def __init__(self, graph: Subgraph, loops: Frames) -> None:
        self.added: list[Node] = []
        self.triggers: dict[tuple[str, str], str] = {}
        self._graph = graph
        self._frames = loops
        self._condition: dict[str, Node] = {}
        self._decides: dict[str, set[str]] = {}
        self._once = _not_in_each_iteration(graph)

    def cross(self, source: Node, node: Node) -> None:
        """Looks at an edge, for which a Recv will be needed if it leads to another device inside of a loop."""
        frame = self._frames.output(source)
        if source.device == node.device or frame == ROOT or is_free(source):
            return
        if source.name in self._once:
            raise InvalidArgumentError(
                f"It has a value in some iterations of a loop only, so {node.name} on {node.device} can't wait for it "
                "in each one.",
                node=source.name,
                op=source.op,
                device=source.device,
                where=source.where,
                hint="Bring it in by a constant Enter, or through a Merge, as af.while_loop does; or put both on one device.",
            )
        self._need(frame, node.device)

    def _need(self, frame: str, device: str) -> str:
        trigger = self.triggers.get((frame, device))
        if trigger is None:
            condition = self._loop_cond(frame)
            trigger = self._merge_there(frame, device) or self._control_loop(frame, device, condition)
            self.triggers[frame, device] = trigger
        return trigger

    def _loop_cond(self, frame: str) -> Node:
        node = self._condition.get(frame)
        if node is None:
            mine = [n for n in self._graph.nodes.values() if self._frames.of[n.name] == frame]
            conditions = [n for n in mine if n.role is roles.LOOP_CONDITION]
            if len(conditions) != 1:
                at = conditions[0] if conditions else next(n for n in mine if not is_free(n))
                raise InvalidArgumentError(
                    f"The loop {frame.removesuffix('/frame')} is on several devices, and has {len(conditions)} nodes LoopCond; "
                    "it needs exactly one, which tells all devices whether it goes on.",
                    node=at.name,
                    op=at.op,
                    where=at.where,
                    hint="af.while_loop makes it.",
                )
            node = self._condition[frame] = conditions[0]
        return node

    def _merge_there(self, frame: str, device: str) -> str | None:
        """A Merge of the loop's own on the device, if the predicate depends on such a Merge: an iteration's Recvs then wait
        for nothing that the iteration as a whole does not wait for."""
        graph = self._graph
        decides = self._decides.get(frame)
        if decides is None:
            decides = self._decides[frame] = set()
            stack = [self._loop_cond(frame).name]
            while stack:
                name = stack.pop()
                if name not in decides and self._frames.of[name] == frame:
                    decides.add(name)
                    stack.extend(graph.predecessors(graph.nodes[name]))
        there = (graph.nodes[name] for name in decides if graph.nodes[name].device == device)
        return min((n.name for n in there if n.role is roles.MERGE and _goes_back(graph, n)), default=None)

    def _control_loop(self, frame: str, device: str, condition: Node) -> str:
        around = self._frames.parent[frame]
        waits = () if around == ROOT else (self._need(around, device),)
        enter = next(n for n in self._graph.nodes.values() if n.role is roles.ENTER and n.attrs["frame_name"] == frame)
        entering = {"frame_name": frame, "is_constant": False, "invariant": False, "shape": ()}
        entering["parallel_iterations"] = enter.attrs["parallel_iterations"]
        base = f"{frame.removesuffix('/frame')}/control_loop_on_{short_name(device, condition.device)}"
        outputs = {"Merge": (bool_dtype, int32), "Switch": (bool_dtype, bool_dtype)}

        def add(
            op: str, *inputs: TensorId, controls: tuple[str, ...] = (), attrs: Mapping[str, Any] = NO_ATTRS
        ) -> None:
            dtypes = outputs.get(op, (bool_dtype,))
            shapes: tuple[Shape, ...] = ((),) * len(dtypes)
            where, attrs = condition.where, MappingProxyType(dict(attrs))
            self.added.append(Node(f"{base}/{op}", op, inputs, controls, attrs, dtypes, shapes, device, where))

        add("Const", attrs={"value": np.array(False), "dtype": bool_dtype})
        add("Enter", TensorId(f"{base}/Const", 0), controls=waits, attrs=entering)
        add("Merge", TensorId(f"{base}/Enter", 0), TensorId(f"{base}/NextIteration", 0))
        add("Switch", TensorId(f"{base}/Merge", 0), TensorId(condition.name, 0))
        add("NextIteration", TensorId(f"{base}/Switch", 1))
        return f"{base}/Merge"


def _goes_back(graph: Subgraph, merge: Node) -> bool:
    return any(e not in graph.feeds and graph.nodes[e.node].role is roles.NEXT_ITERATION for e in merge.inputs)


def _not_in_each_iteration(graph: Subgraph) -> set[str]:
    """The nodes of loops that get a token in the first iteration only, or in later iterations only."""
    names: set[str] = set()
    for node in yielding(graph.nodes.values()):
        starts = node.role is roles.NEXT_ITERATION or node.role is roles.ENTER and not node.attrs["is_constant"]
        if starts or node.role not in (roles.MERGE, roles.EXIT) and not names.isdisjoint(graph.predecessors(node)):
            names.add(node.name)
    return names
