"""A task's part of a plan: what the master registers there, and its form on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgpack

from actorflow.cluster.wire.signatures import Form, decode_feed, decode_tensor_id
from actorflow.engine.passes.options import PlanOptions
from actorflow.errors import DataLossError, InvalidArgumentError, NotFoundError, UnknownNameError, Where
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.codec import check_nodes, decode_nodes, encode_nodes
from actorflow.graph.node import Node, TensorId


@dataclass(frozen=True, slots=True)
class CrossTaskEdge:
    """An edge between two tasks. `key` is that of its Send and Recv; `outgoing` where the Send is here. `peer` is the other
    task with its address and incarnation."""

    key: str
    edge: int
    outgoing: bool
    peer: str
    address: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class TaskPartition:
    """The part of one task in a signature. It has a subgraph for each device, and the feeds that the task is given, in
    order. It says where the fetches come out (which device, which of its fetches), and which edges lead to other
    tasks."""

    session: int
    number: int
    graphs: Mapping[str, Subgraph]
    feeds: tuple[TensorId, ...]
    places: tuple[tuple[int, int], ...]
    crossings: tuple[CrossTaskEdge, ...]
    options: PlanOptions
    partial: bool = False
    """Whether it is fed and fetched while it runs."""
    users: Mapping[str, Sequence[Node]] = field(default_factory=dict)
    """The nodes of the whole graph that use each of its resources, for reports: their names, ops and lines."""

    def forms(self) -> tuple[Form, ...]:
        """The types and shapes of its feeds."""
        known_forms = {tensor_id: form for graph in self.graphs.values() for tensor_id, form in graph.feeds.items()}
        return tuple(known_forms[tensor_id] for tensor_id in self.feeds)


def encode_partition(part: TaskPartition) -> bytes:
    """The part in msgpack."""
    options = part.options
    content = {
        "session": part.session,
        "number": part.number,
        "graphs": [[device, _encode_graph(graph)] for device, graph in part.graphs.items()],
        "feeds": [list(tensor_id) for tensor_id in part.feeds],
        "places": [list(place) for place in part.places],
        "crossings": [[c.key, c.edge, c.outgoing, c.peer, c.address, c.incarnation] for c in part.crossings],
        "options": asdict(options),
        "partial": part.partial,
        "users": [[name, [_encode_user(user) for user in users]] for name, users in part.users.items()],
    }
    packed: bytes = msgpack.packb(content)
    return packed


def decode_partition(content: bytes) -> TaskPartition:
    """The part of `encode_partition`. Raises DataLossError for other data."""
    try:
        record = msgpack.unpackb(content, strict_map_key=True)
        return TaskPartition(
            session=int(record["session"]),
            number=int(record["number"]),
            graphs={str(device): _decode_graph(graph) for device, graph in record["graphs"]},
            feeds=tuple(map(decode_tensor_id, record["feeds"])),
            places=tuple((int(part), int(position)) for part, position in record["places"]),
            crossings=tuple(
                CrossTaskEdge(str(key), int(edge), bool(out), str(peer), str(address), int(incarnation))
                for key, edge, out, peer, address, incarnation in record["crossings"]
            ),
            options=PlanOptions(**{str(name): bool(value) for name, value in record["options"].items()}),
            partial=bool(record.get("partial", False)),
            users={str(name): tuple(map(_decode_user, users)) for name, users in record.get("users", ())},
        )
    except Exception as error:
        raise DataLossError(f"What was to be registered is no part of a plan: {error}") from error


def _encode_user(user: Node) -> list[Any]:
    where = (
        ["", 0] if user.where is None else [str(user.where.file).encode("utf-8", "replace").decode(), user.where.line]
    )
    return [user.name, user.op, *where]


def _decode_user(record: Any) -> Node:
    name, op, file, line = record
    return Node(str(name), str(op), where=Where(str(file), int(line)) if file else None)


def check_partition(part: TaskPartition, devices: Sequence[str]) -> None:
    """Whether a part that has arrived can be built on these devices. A part from a master of this version can.

    Raises:
        InvalidArgumentError: something in it leads nowhere.
        NotFoundError: an op is not known here.
    """
    try:
        _check(part.graphs.keys() <= set(devices), "it is for devices that are not here")
        feeds = frozenset(part.feeds)
        feeds_of_graphs = {tensor_id for graph in part.graphs.values() for tensor_id in graph.feeds}
        _check(len(feeds) == len(part.feeds) and feeds <= feeds_of_graphs, "its feeds are not those of its graphs")
        graphs = list(part.graphs.values())
        for index, position in part.places:
            _check(0 <= index < len(graphs) and 0 <= position < len(graphs[index].fetches), "a place is nowhere")
        for crossing in part.crossings:
            _check(0 <= crossing.edge < 1 << 30 and crossing.incarnation >= 0, "an edge has no such number")
        for device, graph in part.graphs.items():
            _check_graph(graph, device, feeds)
    except UnknownNameError as error:
        raise unknown_op(error, devices[0].partition("/device")[0]) from error
    except (TypeError, ValueError, KeyError, AssertionError) as error:
        raise InvalidArgumentError(f"The part of a plan can't be built here: {error}") from error


def unknown_op(error: UnknownNameError, task: str) -> NotFoundError:
    """The error about an op of the program's own, which tasks know only if they import it; it says what to do."""
    what = str(error.args[0]).partition(";")[0]
    return NotFoundError(
        f"{what} in {task}.",
        hint="Let the tasks import the module that declares it: `--import MODULE`, or LocalCluster(..., imports=[...]).",
    )


def _check_graph(graph: Subgraph, device: str, feeds: Set[TensorId]) -> None:
    nodes = graph.nodes
    fed: Any = {tensor_id.node: _Fed() for tensor_id in feeds}
    check_nodes([replace(node, colocate=()) for node in nodes.values()], fed)
    for node in nodes.values():
        _check(node.device == device, f"{node.name} is for another device")
        _check(all(e in feeds or e.node in nodes for e in node.inputs), f"{node.name} lacks an input")
        _check(nodes.keys() >= set(node.controls), f"{node.name} lacks a control input")
    for tensor_id in graph.fetches:
        there = tensor_id in feeds or (tensor_id.node in nodes and tensor_id.port < len(nodes[tensor_id.node].dtypes))
        _check(there, f"there is no {tensor_id}")
    _check(all(target in nodes for target in graph.targets), "a target is not there")
    topological(graph)


class _Fed:
    """Stands for a node of which only outputs are there, because they are fed."""

    dtypes = range(1 << 31)


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _encode_graph(graph: Subgraph) -> dict[str, Any]:
    return {
        "nodes": encode_nodes(list(graph.nodes.values())),
        "feeds": [
            [*tensor_id, dtype.name, None if shape is None else list(shape)]
            for tensor_id, (dtype, shape) in graph.feeds.items()
        ],
        "fetches": [list(tensor_id) for tensor_id in graph.fetches],
        "targets": list(graph.targets),
        "entered": {name: list(enters) for name, enters in graph.entered.items()},
        "ranks": dict(graph.ranks),
    }


def _decode_graph(record: Mapping[str, Any]) -> Subgraph:
    return Subgraph(
        {node.name: node for node in decode_nodes(record["nodes"])},
        dict(map(decode_feed, record["feeds"])),
        tuple(map(decode_tensor_id, record["fetches"])),
        tuple(map(str, record["targets"])),
        {str(name): tuple(map(str, enters)) for name, enters in record["entered"].items()},
        ranks={str(name): float(rank) for name, rank in record.get("ranks", {}).items()},
    )
