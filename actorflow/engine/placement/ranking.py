"""Ranks: how urgent each node of a divided graph is, by the costs that runs have measured.

A rank is the length of the longest way from the begin of a node to the end of the step: of what waits for a device's thread, the
highest is next. The runtime gets the ranks that the simulation goes by, so that it runs what was simulated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from actorflow.engine.placement.affinity import Uses, same
from actorflow.engine.placement.cost_model import Measurements
from actorflow.engine.placement.feasible import Candidate
from actorflow.engine.placement.simulation.link_costs import LinkCosts
from actorflow.engine.placement.simulation.simulator import ranks
from actorflow.engine.placement.simulation.workload import DeviceSet, workload
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node


def ranked(
    parts: dict[str, Subgraph],
    nodes: Mapping[str, Node],
    devices: Sequence[Candidate],
    measured: Measurements,
    links: LinkCosts,
) -> dict[str, Subgraph]:
    """The parts of a graph, with ranks. They stay as they are where nothing was measured: then what is ready first is first.

    Args:
        parts: by device. A Send and its Recv rank as the nodes that they are for.
        nodes: the whole graph, from which the parts were made.
        devices, measured, links: see `place`.
    """
    if not measured.seconds:
        return parts
    names = sorted(needed_by((name for part in parts.values() for name in part.nodes), nodes))
    machine = DeviceSet(devices, links)
    here = {name for part in parts.values() for name in part.nodes}
    equal = same(Uses(nodes, [nodes[name] for name in names]))
    merged = {name: first for name, first in equal.items() if name not in here and first in here}
    rank_of = dict(zip(names, ranks(workload(nodes, names, (), (), machine, measured, merged), machine)))
    arriving: dict[str, float] = {}
    for part in parts.values():
        recvs = {node.name: node.attrs["key"] for node in part.nodes.values() if node.op == "_Recv"}
        for node in yielding(part.nodes.values()):
            for tensor_id in node.inputs:
                if (key := recvs.get(tensor_id.node)) is not None:
                    arriving[key] = max(arriving.get(key, 0.0), rank_of.get(node.name, 0.0))
    ranked_parts = {}
    for device, part in parts.items():
        mine = {name: rank_of[name] for name in part.nodes if name in rank_of}
        mine |= {n.name: arriving.get(n.attrs["key"], 0.0) for n in part.nodes.values() if n.op in ("_Send", "_Recv")}
        ranked_parts[device] = replace(part, ranks=mine)
    return ranked_parts


def needed_by(targets: Iterable[str], nodes: Mapping[str, Node]) -> set[str]:
    """The nodes with these names, as far as the graph has them, and all that they depend on."""
    waiting = [name for name in targets if name in nodes]
    needed = set(waiting)
    while waiting:
        node = nodes[waiting.pop()]
        for source in (*(tensor_id.node for tensor_id in node.inputs), *node.controls):
            if source in nodes and source not in needed:
                needed.add(source)
                waiting.append(source)
    return needed
