"""`fold_constants`: nodes that depend on constants alone are computed once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from actorflow.base.registry import kernel, plugins
from actorflow.engine.passes.fold import fold
from actorflow.engine.runtime.kernel_binding import grouped
from actorflow.errors import UnimplementedError
from actorflow.exchange.export.messages import Messages, constant
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import import_graph_def
from actorflow.graph.graphdef.protos import GraphDef
from actorflow.graph.node import Node
from actorflow.public import public


@public("af.export")
def fold_constants(graph_def: GraphDef) -> GraphDef:
    """The graph with constants in the place of nodes that depend on constants alone. Results over 1 MiB are left out.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> y = af.multiply(x, af.constant(2.0) + af.constant(1.0), name="y")
        >>> folded = af.export.fold_constants(x.graph.as_graph_def())
        >>> sorted(node.op for node in folded.node if node.op != "Const")
        ['Mul', 'Placeholder']

    Args:
        graph_def: the message, which stays as it is.

    Raises:
        ValueError, UnknownNameError: the graph can't be imported; see `import_graph_def`.
    """
    plugins.load_kernels()
    graph = Graph()
    with graph.as_default():
        import_graph_def(graph_def, name="")
    messages = Messages(graph_def)
    folded = fold(Subgraph(dict(graph.nodes)), evaluate).nodes
    for name, message in messages.nodes.items():
        node = folded[name]
        if node.op == "Const" and message.op != "Const":
            after = [c for c in node.controls if c in messages.nodes]
            messages.nodes[name] = constant(name, node.attrs["value"], device=message.device, after=after)
    return messages.message()


def evaluate(node: Node, inputs: list[Any]) -> Any:
    """The value that the kernel of a node gives on the CPU; None where that needs more than its inputs."""
    try:
        entry = kernel.lookup(node.op, "CPU", node.dtypes)
    except UnimplementedError:
        return None
    if entry.takes_context or entry.takes_step or entry.is_async:
        return None
    call = grouped(node, functools.partial(entry.function, np, **{name: node.attrs[name] for name in entry.attrs}))
    with np.errstate(all="ignore"):
        return call(*inputs)
