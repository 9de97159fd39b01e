"""Which variable takes which tensor of a checkpoint: a graph's own nodes that restore say it."""

from __future__ import annotations

from collections.abc import Mapping

from actorflow.graph.graphdef.attributes import make_ndarray
from actorflow.graph.graphdef.protos import MetaGraphDef, NodeDef
from actorflow.graph.graphdef.rewrites.functions import CALLS, inlined
from actorflow.graph.graphdef.saving import source
from actorflow.graph.graphdef.subgraphs import extract_sub_graph

_ASSIGNS = frozenset({"AssignVariableOp", "Assign"})
_COPIES = frozenset({"Identity", "Cast"})


def restored_names(message: MetaGraphDef) -> dict[str, str] | None:
    """The key in a checkpoint of each variable, by the name of the variable's node.

    Args:
        message: the graph; its nodes `RestoreV2` and the assignments behind them are read.

    Returns:
        None where the graph does not say it: it has no such nodes, or restores slices.
    """
    restore, calls = message.saver_def.restore_op_name, any(node.op in CALLS for node in message.graph_def.node)
    scope = restore if calls else restore.rpartition("/")[0]
    if not scope:
        return None
    every = inlined(extract_sub_graph(message.graph_def, [source(restore)])).node if calls else message.graph_def.node
    nodes = {node.name: node for node in every if node.name.startswith(f"{scope}/")}
    keys: dict[str, str] = {}
    for node in nodes.values():
        if node.op in _ASSIGNS and len(node.input) > 1:
            key = _key(nodes, node.input[1])
            if key is None:
                return None
            keys[node.input[0].partition(":")[0]] = key
    return keys or None


def _key(nodes: Mapping[str, NodeDef], text: str) -> str | None:
    for _ in nodes:
        name, _, port = text.partition(":")
        node = nodes.get(name)
        if node is None:
            return None
        if node.op in _COPIES:
            text = node.input[0]
            continue
        if node.op != "RestoreV2":
            return None
        names, slices = (nodes.get(source) for source in node.input[1:3])
        if names is None or slices is None or names.op != "Const" or slices.op != "Const":
            return None
        if any(make_ndarray(slices.attr["value"].tensor).ravel()):
            return None
        key = make_ndarray(names.attr["value"].tensor).ravel()[int(port or 0)]
        return key.decode() if isinstance(key, bytes) else str(key)
    return None
