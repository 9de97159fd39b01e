"""A task's part of a plan: what the master registers there, and its form on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import msgpack

from actorflow.dtypes import as_dtype
from actorflow.errors import DataLossError
from actorflow.graph.codec import decode_nodes, encode_nodes
from actorflow.graph.node import Endpoint
from actorflow.passes.compile import Options
from actorflow.passes.subgraph import Subgraph


@dataclass(frozen=True, slots=True)
class Crossing:
    """An edge between two tasks. `key` is that of its Send and Recv; `outgoing` where the Send is here. `peer` is the other
    task with its address and incarnation."""

    key: str
    edge: int
    outgoing: bool
    peer: str
    address: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class TaskPart:
    """What one task does for a signature: a subgraph for each of its devices, the feeds that it is given, in order, where
    its fetches come out (which device, which of its fetches), and the edges that lead to other tasks."""

    session: int
    number: int
    graphs: Mapping[str, Subgraph]
    feeds: tuple[Endpoint, ...]
    places: tuple[tuple[int, int], ...]
    crossings: tuple[Crossing, ...]
    options: Options


def encode_part(part: TaskPart) -> bytes:
    """The part in msgpack."""
    options = part.options
    content = {
        "session": part.session,
        "number": part.number,
        "graphs": [[device, _encode_graph(graph)] for device, graph in part.graphs.items()],
        "feeds": [list(endpoint) for endpoint in part.feeds],
        "places": [list(place) for place in part.places],
        "crossings": [[c.key, c.edge, c.outgoing, c.peer, c.address, c.incarnation] for c in part.crossings],
        "options": asdict(options),
    }
    packed: bytes = msgpack.packb(content)
    return packed


def decode_part(content: bytes) -> TaskPart:
    """The part of `encode_part`. Raises DataLossError where it is none."""
    try:
        found = msgpack.unpackb(content, strict_map_key=True)
        return TaskPart(
            session=int(found["session"]),
            number=int(found["number"]),
            graphs={str(device): _decode_graph(graph) for device, graph in found["graphs"]},
            feeds=tuple(_endpoint(e) for e in found["feeds"]),
            places=tuple((int(part), int(position)) for part, position in found["places"]),
            crossings=tuple(
                Crossing(str(key), int(edge), bool(out), str(peer), str(address), int(incarnation))
                for key, edge, out, peer, address, incarnation in found["crossings"]
            ),
            options=Options(**{str(name): bool(value) for name, value in found["options"].items()}),
        )
    except (TypeError, ValueError, KeyError, msgpack.UnpackException) as error:
        raise DataLossError(f"What was to be registered is no part of a plan: {error}") from error


def _encode_graph(graph: Subgraph) -> dict[str, Any]:
    return {
        "nodes": encode_nodes(list(graph.nodes.values())),
        "feeds": [
            [*endpoint, dtype.name, None if shape is None else list(shape)]
            for endpoint, (dtype, shape) in graph.feeds.items()
        ],
        "fetches": [list(endpoint) for endpoint in graph.fetches],
        "targets": list(graph.targets),
        "entered": {name: list(enters) for name, enters in graph.entered.items()},
    }


def _decode_graph(found: Mapping[str, Any]) -> Subgraph:
    return Subgraph(
        {node.name: node for node in decode_nodes(found["nodes"])},
        {
            _endpoint((node, port)): (as_dtype(dtype), None if shape is None else tuple(shape))
            for node, port, dtype, shape in found["feeds"]
        },
        tuple(_endpoint(e) for e in found["fetches"]),
        tuple(map(str, found["targets"])),
        {str(name): tuple(map(str, enters)) for name, enters in found["entered"].items()},
    )


def _endpoint(found: Any) -> Endpoint:
    node, port = found
    return Endpoint(str(node), int(port))
