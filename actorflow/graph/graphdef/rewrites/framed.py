"""Constants of loops: here one without control inputs is in every frame, in TensorFlow it is in no loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from actorflow.graph.analysis.frames import ROOT, frames, is_free
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId


def with_constants_in_frames(nodes: Mapping[str, Node]) -> Mapping[str, Node]:
    """The same nodes, where a constant that a loop uses waits for a Merge of the loop, and so is in its frame. A
    constant that is used in several frames is there once for each."""
    if not any(node.op == "Enter" for node in nodes.values()):
        return nodes
    of = frames(topological(Subgraph(nodes))).of
    pivots: dict[str, str] = {}
    users: dict[str, dict[str, None]] = {}
    for node in nodes.values():
        if node.op == "Merge":
            pivots.setdefault(of[node.name], node.name)
        if not is_free(node):
            for tensor_id in node.inputs:
                if is_free(nodes[tensor_id.node]):
                    users.setdefault(tensor_id.node, {})[of[node.name]] = None
    place: dict[tuple[str, str], str] = {}
    placed: dict[str, Node] = {}
    for name, node in nodes.items():
        inner = [frame for frame in users.get(name, ()) if frame != ROOT and frame in pivots]
        if inner and list(users[name]) == inner[:1]:
            placed[name] = replace(node, controls=(pivots[inner[0]],))
            continue
        placed[name] = node
        for index, frame in enumerate(inner):
            copy = f"{name}/loop_{index}"
            place[name, frame] = copy
            placed[copy] = replace(node, name=copy, controls=(pivots[frame],))
    for name, node in placed.items():
        if name in of and not is_free(nodes[name]):
            inputs = tuple([TensorId(place.get((e.node, of[name]), e.node), e.port) for e in node.inputs])
            if inputs != node.inputs:
                placed[name] = replace(node, inputs=inputs)
    return placed
