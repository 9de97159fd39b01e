"""Partition: one subgraph a device, with Send and Recv where edges crossed (paper section 3.2.2)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from actorflow.graph.node import Endpoint, Node
from actorflow.passes.pace import paced
from actorflow.passes.subgraph import Subgraph


def partition(graph: Subgraph, first: str) -> dict[str, Subgraph]:
    """Splits placed nodes by device. Each (tensor, destination device) gets one Send and one Recv, shared by all its
    consumers there; control edges get a pair without data. Fed tensors are delivered to each device that wants them, and
    those that are fetched come out of the device `first`.
    """
    parts: dict[str, dict[str, Node]] = {}
    fed = graph.feeds
    nodes = graph.nodes
    received: dict[tuple[Endpoint | str, str], Node] = {}
    for node in paced(nodes.values()):
        here = parts.setdefault(node.device, {})
        inputs = list(node.inputs)
        for i, endpoint in enumerate(inputs):
            if endpoint not in fed and nodes[endpoint.node].device != node.device:
                recv = received.get((endpoint, node.device))
                if recv is None:
                    recv = received[endpoint, node.device] = _connect(
                        parts, nodes[endpoint.node], endpoint, node.device
                    )
                inputs[i] = Endpoint(recv.name, 0)
        controls = list(node.controls)
        for i, source in enumerate(controls):
            if nodes[source].device != node.device:
                recv = received.get((source, node.device))
                if recv is None:
                    recv = received[source, node.device] = _connect(parts, nodes[source], None, node.device)
                controls[i] = recv.name
        here[node.name] = replace(node, inputs=tuple(inputs), controls=tuple(controls))
    if not parts or any(endpoint in fed for endpoint in graph.fetches):
        parts.setdefault(first, {})
    return {
        device: replace(
            graph,
            nodes=members,
            fetches=tuple(e for e in graph.fetches if (device == first if e in fed else e.node in members)),
            targets=tuple(t for t in graph.targets if t in members),
        )
        for device, members in parts.items()
    }


def _connect(parts: dict[str, dict[str, Node]], source: Node, endpoint: Endpoint | None, destination: str) -> Node:
    """Adds the Send on the source's device and the Recv on the destination; gives the Recv."""
    edge = str(endpoint) if endpoint else f"^{source.name}"
    key = f"{source.device};{destination};{edge}"
    task = source.device.partition("/device:")[0] + "/device:"
    short = destination.removeprefix(task).strip("/").replace("/", "_").replace(":", "_")
    port = f"_{endpoint.port}" if endpoint else "_control"
    base = f"{source.name}/{port}_to_{short}"
    send = Node(
        name=f"{base}/send",
        op="_Send",
        inputs=(endpoint,) if endpoint else (),
        controls=() if endpoint else (source.name,),
        attrs=MappingProxyType({"key": key}),
        device=source.device,
        where=source.where,
        origin=source.name,
    )
    dtype = source.dtypes[endpoint.port] if endpoint else None
    shape = source.shapes[endpoint.port] if endpoint else None
    recv = Node(
        name=f"{base}/recv",
        op="_Recv",
        attrs=MappingProxyType({"key": key, "dtype": dtype, "shape": shape}),
        dtypes=(dtype,) if dtype else (),
        shapes=(shape,) if endpoint else (),
        device=destination,
        where=source.where,
        origin=source.name,
    )
    parts[source.device][send.name] = send
    parts[destination][recv.name] = recv
    return recv
