"""From what workers have measured to what placement takes: times and sizes for each node (paper section 3.2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from actorflow.engine.placement.cost_model import Measurements, expected_bytes, node_cost
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId


class NodeMeasurement(NamedTuple):
    """The measurements by runs of a node, or of several nodes that run as one node.

    names: of the graph's nodes.
    nanoseconds: for an execution of all of them, on `device`.
    samples: how many runs were timed.
    sizes: the bytes of outputs whose shapes the graph does not tell.
    idle: the part of the nanoseconds in which no core was taken.
    hop: the nanoseconds of a hop from the event loop to the device's thread, or back, if that thread ran it.
    """

    names: tuple[str, ...]
    device: str
    nanoseconds: float
    samples: int
    sizes: tuple[tuple[TensorId, int], ...] = ()
    idle: float = 0.0
    hop: float = 0.0


def encode_observed(rows: Iterable[NodeMeasurement]) -> list[list[Any]]:
    """In msgpack's types."""
    return [
        [list(o.names), o.device, o.nanoseconds, o.samples, [[*e, n] for e, n in o.sizes], o.idle, o.hop] for o in rows
    ]


def decode_observed(rows: Any) -> list[NodeMeasurement]:
    """The way back. Raises ValueError, TypeError for other data."""
    return [
        NodeMeasurement(
            tuple(map(str, names)),
            str(device),
            max(0.0, float(nanoseconds)),
            int(samples),
            tuple((TensorId(str(node), int(port)), int(size)) for node, port, size in sizes),
            max(0.0, float(idle)),
            max(0.0, float(hop)),
        )
        for names, device, nanoseconds, samples, sizes, idle, hop in rows
    ]


def measurements(observed: Iterable[NodeMeasurement], nodes: Mapping[str, Node]) -> Measurements:
    """The measurements of each node of a graph. The time of nodes that run as one node is divided in proportion to what
    was expected of them. If several plans have run a node, the plan that was timed most often counts."""
    whole = Subgraph(nodes)
    seconds: dict[str, float] = {}
    devices: dict[str, str] = {}
    sizes: dict[str, list[int]] = {}
    idle: dict[str, float] = {}
    hops: dict[str, float] = {}
    for row in sorted(observed, key=lambda o: (o.samples, -len(o.names), o.names, o.device)):
        members = [nodes[name] for name in row.names if name in nodes]
        expected = [node_cost(node, whole) if node.op != "Const" else 0.0 for node in members]
        total = sum(expected)
        for node, cost in zip(members, expected):
            share = cost / total if total else 1.0 / len(members)
            seconds[node.name] = row.nanoseconds * share * 1e-9
            devices[node.name] = row.device
            idle[node.name] = row.idle * share * 1e-9
            hops[node.name] = row.hop / len(members) * 1e-9
        for tensor_id, size in row.sizes:
            maker = nodes.get(tensor_id.node)
            if maker is not None and tensor_id.port < len(maker.dtypes):
                node_sizes = sizes.setdefault(
                    maker.name, [expected_bytes(s, d) for s, d in zip(maker.shapes, maker.dtypes)]
                )
                node_sizes[tensor_id.port] = size
    return Measurements(seconds, sizes, devices, idle, hops)
