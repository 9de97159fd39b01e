"""`Messages`: the nodes of a `GraphDef` by name, as functions that rewrite graphs see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.graph.graphdef.attributes import make_ndarray, to_attr
from actorflow.graph.graphdef.export import names_of
from actorflow.graph.graphdef.protos import GraphDef, NodeDef

COPIES = frozenset({"Identity", "StopGradient", "PreventGradient", "CheckNumerics"})
"""Ops whose output is their input."""


def split(text: str) -> tuple[str, int]:
    """The node and the port of an input."""
    text = text.removeprefix("^")
    name, colon, port = text.rpartition(":")
    return (name, int(port)) if colon and port.isdigit() else (text, 0)


def data_inputs(node: NodeDef) -> list[str]:
    """The inputs that are tensors."""
    return [text for text in node.input if not text.startswith("^")]


def controls(node: NodeDef) -> list[str]:
    """The names of the nodes that a node waits for without a value."""
    return [text[1:] for text in node.input if text.startswith("^")]


def with_inputs(node: NodeDef, inputs: Sequence[str]) -> NodeDef:
    """A copy of a node with other inputs."""
    rewired = NodeDef()
    rewired.CopyFrom(node)
    rewired.ClearField("input")
    rewired.input.extend(inputs)
    return rewired


def constant(name: str, value: Any, *, device: str = "", after: Sequence[str] = ()) -> NodeDef:
    """A node that gives an array.

    Args:
        name: its name.
        value: the array.
        device: the device that it asks for.
        after: the nodes that it waits for, which keep it within a loop.
    """
    array = np.asarray(value)
    node = NodeDef(name=name, op="Const", device=device, input=[f"^{other}" for other in after])
    node.attr["dtype"].CopyFrom(to_attr(as_dtype(array.dtype)))
    node.attr["value"].CopyFrom(to_attr(array))
    return node


class Messages:
    """The nodes of a message by name. A rewrite changes `nodes`, and asks for the message at its end.

    Args:
        graph_def: the message, which stays as it is.
    """

    def __init__(self, graph_def: GraphDef) -> None:
        self._graph_def = graph_def
        self.nodes: dict[str, NodeDef] = names_of(graph_def.node)

    def message(self, nodes: Iterable[NodeDef] | None = None) -> GraphDef:
        """The nodes, or those given, as a message with the library and versions of the original message."""
        graph_def = GraphDef()
        if self._graph_def.HasField("library"):
            graph_def.library.CopyFrom(self._graph_def.library)
        graph_def.versions.CopyFrom(self._graph_def.versions)
        graph_def.node.extend(self.nodes.values() if nodes is None else nodes)
        return graph_def

    def uses(self) -> Counter[str]:
        """How many inputs take something of each node."""
        return Counter(split(text)[0] for node in self.nodes.values() for text in node.input)

    def constant(self, text: str) -> Any:
        """The array that an input gives if it is a constant or a copy of a constant; None otherwise."""
        name, port = split(text)
        for _ in self.nodes:
            node = self.nodes.get(name)
            if node is None or port:
                return None
            if node.op == "Const":
                return make_ndarray(node.attr["value"].tensor)
            if node.op not in COPIES:
                return None
            name, port = split(node.input[0])
        return None

    def ordered(self) -> list[NodeDef]:
        """The nodes, each after those that it takes something of, apart from the ends of loops."""
        waits: dict[str, int] = {}
        users: dict[str, list[str]] = {}
        for node in self.nodes.values():
            sources = {split(text)[0] for text in node.input}
            if node.op in ("Merge", "RefMerge"):
                sources = {s for s in sources if self.nodes[s].op not in ("NextIteration", "RefNextIteration")}
            for source in sources:
                users.setdefault(source, []).append(node.name)
            waits[node.name] = len(sources)
        ready = [name for name, count in waits.items() if not count]
        for name in ready:  # grows
            for user in users.get(name, ()):
                waits[user] -= 1
                if not waits[user]:
                    ready.append(user)
        return [self.nodes[name] for name in ready]
