"""Partition: one subgraph a device, with Send and Recv where edges crossed (paper section 3.2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from actorflow.base.dtypes import float32
from actorflow.engine.passes.control_loops import add_control_loops, short_name
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import ROOT, is_free, with_loops
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId

LOSSY = "_lossy"
"""The attribute of nodes made in `lossy_sends`."""


def partition(graph: Subgraph, first: str, *, lossy: bool = False, copy_constants: bool = True) -> dict[str, Subgraph]:
    """Splits placed nodes by device. Each (tensor, destination device) gets one Send and one Recv, shared by all its
    consumers there; control edges get a pair without data. Fed tensors are delivered to each device that wants them, and
    those that are fetched come out of the device `first`. Constants are on each device that uses them, and never sent;
    without `copy_constants` they are nodes like others, except for what uses them in loops.

    In loops, Send and Recv run in each iteration: a Recv waits for what starts an iteration on its device
    (`actorflow.engine.passes.control_loops`).

    The attributes of a Send and of its Recv say which edge they carry: `key`, the same text for both, and for no other
    edge of the graph. They also say from which device to which the edge leads, and whether it is `lossy`. Edges of
    float32 are lossy if `lossy` is set, or if their source was made in `lossy_sends`.

    Raises:
        InvalidArgumentError: a loop can't be divided (see `add_control_loops`).
    """
    divided = add_control_loops(graph)
    graph, frames = divided.graph, divided.frames
    parts: dict[str, dict[str, Node]] = {}
    fed = graph.feeds
    nodes = graph.nodes
    received: dict[tuple[TensorId | str, str], Node] = {}

    def receive(source: Node, tensor_id: TensorId | None, device: str) -> str:
        """The name of the node that has a tensor of `source`, or else the fact that it is done, on `device`."""
        edge = tensor_id or source.name
        recv = received.get((edge, device))
        if recv is None:
            frame = frames.output(source) if frames.parent else ROOT
            starts = () if frame == ROOT else (divided.triggers[frame, device],)
            send, recv = _pair(source, tensor_id, device, starts, lossy)
            parts[source.device][send.name] = send
            parts[device][recv.name] = received[edge, device] = recv
        return recv.name

    def is_here(source: Node, node: Node) -> bool:
        """Whether a constant of another device is on that of its user too."""
        return is_free(source) and (copy_constants or bool(frames.parent) and frames.of[node.name] != ROOT)

    for node in yielding(nodes.values()):
        here = parts.setdefault(node.device, {})
        inputs = list(node.inputs)
        for i, tensor_id in enumerate(node.inputs):
            if tensor_id in fed or (source := nodes[tensor_id.node]).device == node.device:
                continue
            if is_here(source, node):
                here.setdefault(source.name, replace(source, device=node.device))
            else:
                inputs[i] = TensorId(receive(source, tensor_id, node.device), 0)
        controls: list[str] = []
        for name in node.controls:
            if (source := nodes[name]).device == node.device:
                controls.append(name)
            elif not is_here(source, node):  # it is done from the start
                controls.append(receive(source, None, node.device))
        edges = tuple(inputs), tuple(controls)
        changed = edges != (node.inputs, node.controls)
        here[node.name] = replace(node, inputs=edges[0], controls=edges[1]) if changed else node
    if not parts or any(tensor_id in fed for tensor_id in graph.fetches):
        parts.setdefault(first, {})
    loops = bool(frames.parent)
    return {device: _part(graph, members, device, first, loops) for device, members in parts.items()}


def _part(graph: Subgraph, members: Mapping[str, Node], device: str, first: str, divided: bool) -> Subgraph:
    part = replace(
        graph,
        nodes=members,
        fetches=tuple(
            e for e in graph.fetches if device == (first if e in graph.feeds else graph.nodes[e.node].device)
        ),
        targets=tuple(t for t in graph.targets if graph.nodes[t].device == device),
    )
    # a Recv stands before its first user, and the node that starts it anywhere
    return with_loops(topological(replace(part, entered={}))) if divided else part


def _pair(
    source: Node, tensor_id: TensorId | None, destination: str, starts: tuple[str, ...], lossy: bool
) -> tuple[Node, Node]:
    """The Send on the source's device and the Recv on the destination."""
    edge = str(tensor_id) if tensor_id else f"^{source.name}"
    port = f"_{tensor_id.port}" if tensor_id else "_control"
    base = f"{source.name}/{port}_to_{short_name(destination, source.device)}"
    dtype = source.dtypes[tensor_id.port] if tensor_id else None
    shape = source.shapes[tensor_id.port] if tensor_id else None
    attrs = {
        "key": f"{source.device};{destination};{edge}",
        "send_device": source.device,
        "recv_device": destination,
        "lossy": dtype is float32 and (lossy or bool(source.attrs.get(LOSSY))),
    }
    send = Node(
        name=f"{base}/send",
        op="_Send",
        inputs=(tensor_id,) if tensor_id else (),
        controls=() if tensor_id else (source.name,),
        attrs=MappingProxyType(attrs),
        device=source.device,
        where=source.where,
        origin=source.name,
    )
    recv = Node(
        name=f"{base}/recv",
        op="_Recv",
        controls=starts,
        attrs=MappingProxyType({**attrs, "dtype": dtype, "shape": shape}),
        dtypes=(dtype,) if dtype else (),
        shapes=(shape,) if tensor_id else (),
        device=destination,
        where=source.where,
        origin=source.name,
    )
    return send, recv
