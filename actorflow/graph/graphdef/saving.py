"""The nodes that save and restore as TensorFlow has them, in a message; a graph's own are those of `af.train.Saver`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, string
from actorflow.graph.graphdef.attributes import to_attr
from actorflow.graph.graphdef.protos import GraphDef, NodeDef, SaverDef

OWN = frozenset({"TakeVariables", "SaveVariables", "CommitCheckpoint", "RestoreVariables", "ReadNonce"})


def without_saving(graph_def: GraphDef) -> GraphDef:
    """The nodes that neither save or restore by actorflow's own ops, nor need those that do."""
    gone = {node.name for node in graph_def.node if node.op in OWN}
    if not gone:
        return graph_def
    for node in graph_def.node:  # each comes after its inputs, but for the ends of loops
        if any(source(text) in gone for text in node.input):
            gone.add(node.name)
    used = {source(text) for node in graph_def.node if node.name not in gone for text in node.input}
    needed = {source(text) for node in graph_def.node if node.name in gone for text in node.input}
    kept = GraphDef()
    kept.versions.CopyFrom(graph_def.versions)
    for node in graph_def.node:
        idle = node.op in ("Placeholder", "Const") and node.name in needed and node.name not in used
        if node.name not in gone and not idle:
            kept.node.append(node)
    return kept


def source(text: str) -> str:
    """The node of an input."""
    return text.removeprefix("^").partition(":")[0]


def add_saving(graph_def: GraphDef, variables: Sequence[tuple[str, str, str, DType]], saver_def: SaverDef) -> None:
    """Adds `SaveV2`, `RestoreV2` and what belongs to them to a message, and names them in `saver_def`.

    Args:
        graph_def: the message.
        variables: for each its key in a checkpoint, its node, which slice of the tensor of that key it is, and its type.
        saver_def: gets the names.
    """
    taken = {node.name for node in graph_def.node}
    scope = next(name for name in ("save", *(f"save_{i}" for i in range(1, len(taken) + 2))) if not _used(taken, name))
    types = tuple(dtype for _, _, _, dtype in variables)
    keys = _strings([key for key, _, _, _ in variables])
    slices = _strings([part for _, _, part, _ in variables])

    def add(name: str, op: str, inputs: Sequence[str] = (), **attrs: Any) -> str:
        record = graph_def.node.add(name=f"{scope}/{name}", op=op, input=inputs)
        for key, value in attrs.items():
            record.attr[key].CopyFrom(to_attr(value))
        return str(record.name)

    path = add("Const", "Const", dtype=string, value=_strings(["model"]).reshape(()))
    nodes = [node for _, node, _, _ in variables]
    for op in ("SaveV2", "RestoreV2"):
        names = add(f"{op}/tensor_names", "Const", dtype=string, value=keys)
        parts = add(f"{op}/shape_and_slices", "Const", dtype=string, value=slices)
        read = [
            add(f"Read_{i}", "ReadVariableOp", [node], dtype=types[i]) for i, node in enumerate(nodes) if op == "SaveV2"
        ]
        add(op, op, [path, names, parts, *read], dtypes=types)
    saved = add("control_dependency", "Identity", [path, f"^{scope}/SaveV2"], T=string)
    restored = []
    for index, (_, node, _, dtype) in enumerate(variables):
        value = f"{scope}/RestoreV2" + (f":{index}" if index else "")
        restored.append(add(f"Assign_{index}", "AssignVariableOp", [node, value], dtype=dtype))
        graph_def.node[-1].attr["_class"].list.s.append(f"loc:@{node}")
    saver_def.filename_tensor_name = f"{path}:0"
    saver_def.save_tensor_name = f"{saved}:0"
    saver_def.restore_op_name = add("restore_all", "NoOp", [f"^{name}" for name in restored])
    saver_def.version = SaverDef.V2


def _used(taken: set[str], scope: str) -> bool:
    return any(name == scope or name.startswith(f"{scope}/") for name in taken)


def _strings(values: Sequence[str]) -> Any:
    column = np.empty(len(values), object)
    column[:] = [value.encode() for value in values]
    return column


def without_scope(graph_def: GraphDef, saver_def: SaverDef) -> GraphDef:
    """The nodes without those of a saver, which `saver_def` names; all of them where something else uses some."""
    scope = saver_def.restore_op_name.rpartition("/")[0]
    if not scope:
        return graph_def
    inner = {node.name for node in graph_def.node if node.name.startswith(f"{scope}/")}
    others: list[NodeDef] = [node for node in graph_def.node if node.name not in inner]
    if any(source(text) in inner for node in others for text in node.input):
        return graph_def
    kept = GraphDef()
    kept.versions.CopyFrom(graph_def.versions)
    kept.library.CopyFrom(graph_def.library)
    for node in others:
        kept.node.append(node)
    return kept
