"""Graphs and nodes as `GraphDef` and `NodeDef` messages that TensorFlow can import."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.base.dtypes import DType, int32, int64, resource
from actorflow.base.registry import opdef
from actorflow.base.registry.type_attrs import type_attr
from actorflow.graph.analysis.feeding import changing_variables
from actorflow.graph.graphdef.attributes import shape_proto, to_attr
from actorflow.graph.graphdef.ops import (
    ELEMENT_TYPES,
    HIDDEN_ATTRS,
    INPUT_ORDER,
    MORE_OUTPUTS,
    NARROW,
    ONE_TYPE,
    OWN_ATTRS,
    OWN_PREFIX,
    PASS_ON,
    RENAMED_ATTRS,
    SHAPE_INPUTS,
    UPDATES,
    WIDE,
    WRITTEN,
)
from actorflow.graph.graphdef.protos import GraphDef, NodeDef
from actorflow.graph.graphdef.rewrites.builder import constant_node
from actorflow.graph.graphdef.rewrites.expansion import expanded, summed_rows
from actorflow.graph.graphdef.rewrites.framed import with_constants_in_frames
from actorflow.graph.graphdef.rewrites.functions import without_functions
from actorflow.graph.graphdef.rewrites.ordered import with_reads_first
from actorflow.graph.graphdef.saving import without_saving
from actorflow.graph.graphdef.type_names import TYPE_NAMES
from actorflow.graph.node import NO_ATTRS, Node, TensorId
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.graph.graph import Graph

_PRODUCER = 134  # that of TensorFlow 1.15's graphs; ops changed their meaning for later versions


def graph_def_of(graph: Graph, since: int = 0, add_shapes: bool = False) -> GraphDef:
    """The nodes of a graph (those after its first `since`) as a message; see `Graph.as_graph_def`."""
    graph_def = GraphDef()
    graph_def.versions.producer = _PRODUCER
    graph_def.versions.SetInParent()
    nodes, old = with_constants_in_frames(without_functions(graph.nodes)), set(list(graph.nodes)[:since])
    changing = changing_variables(nodes)
    for node in with_reads_first(nodes).values():
        if node.name in changing:
            node = replace(
                node, attrs={**node.attrs, "shape": None}
            )  # TensorFlow's assignments have the shape that it says
        if node.name not in old:
            graph_def.node.extend(records(nodes, node, add_shapes))
    return without_saving(graph_def)


def node_def_of(nodes: Mapping[str, Node], node: Node, add_shapes: bool = False) -> NodeDef:
    """One node as a message. Raises TypeError, naming the node, for an attribute that no message has."""
    return records(nodes, node, add_shapes)[-1]


def records(nodes: Mapping[str, Node], node: Node, add_shapes: bool = False) -> list[NodeDef]:
    """The message of a node, after those of constants that TensorFlow's op takes as inputs beside it."""
    definition = opdef.lookup(node.op)
    inputs = [_input(tensor_id) for tensor_id in node.inputs]
    types = [nodes[e.node].dtypes[e.port] for e in node.inputs]
    if (update := UPDATES.get(node.op)) is not None:
        return _with_read(nodes, node, update, add_shapes)
    several = expanded(node, inputs, types)
    if several is not None:
        _set_relations(several[-1], node, add_shapes)
        return several
    before = _cast(node, inputs, types)
    record = NodeDef(name=node.name, op=WRITTEN.get(node.op, node.op), device=node.device)
    if node.op in WRITTEN and node.op.startswith("SparseApply"):
        before, inputs = summed_rows(node, inputs, types)
    record.input.extend([inputs[i] for i in INPUT_ORDER.get(node.op, range(len(inputs)))])
    if (place := SHAPE_INPUTS.get(node.op)) is not None:
        before.append(constant_node(f"{node.name}/element_shape", _element_shape(node), node))
        record.input.insert(place, before[-1].name)
        if node.op == "EmptyTensorList":
            before.append(constant_node(f"{node.name}/max_num_elements", -1, node))
            record.input.append(before[-1].name)
    record.input.extend([f"^{name}" for name in node.controls])
    try:
        _set_attrs(record, node, definition)
    except TypeError as error:
        raise TypeError(f"Node {node.name} ({node.op}), made at {node.where}, can't be a NodeDef: {error}") from None
    _set_types(record, nodes, node, definition, types)
    if node.op == "VariableV2":
        record.attr["shared_name"].s = node.attrs["shared_name"] or node.name
    _set_relations(record, node, add_shapes)
    return [*before, record]


def _cast(node: Node, inputs: list[str], types: list[DType]) -> list[NodeDef]:
    """Casts of integer inputs to the types that TensorFlow wants, whose names and types take the place of the inputs'."""
    several = ONE_TYPE.get(node.op, ())
    casts = dict.fromkeys(several, int64 if any(types[i] is int64 for i in several) else int32)
    for places, dtype in ((NARROW, int32), (WIDE, int64)):
        if (place := places.get(node.op)) is not None:
            casts[place] = dtype
    messages = []
    for index, dtype in casts.items():
        if types[index] is not dtype:
            name = f"{node.name}/cast_{index}"
            messages.append(NodeDef(name=name, op="Cast", input=[inputs[index]], device=node.device))
            for key, value in (("SrcT", types[index]), ("DstT", dtype)):
                messages[-1].attr[key].CopyFrom(to_attr(value))
            inputs[index], types[index] = name, dtype
    return messages


def _with_read(nodes: Mapping[str, Node], node: Node, update: str, add_shapes: bool) -> list[NodeDef]:
    """An update that gives its value, as an update that does not and a read behind it."""
    declared = {attr.name for attr in opdef.lookup(update).attrs}
    attrs = {name: value for name, value in node.attrs.items() if name in declared or name.startswith("_")}
    bare = replace(node, name=f"{node.name}/update", op=update, dtypes=(), shapes=(), attrs=attrs)
    read = replace(node, op="ReadVariableOp", inputs=node.inputs[:1], controls=(bare.name,), attrs=NO_ATTRS)
    return [*records(nodes, bare, add_shapes), *records(nodes, read, add_shapes)]


def _set_relations(record: NodeDef, node: Node, add_shapes: bool) -> None:
    """The attributes in which a node names others and describes its outputs."""
    if node.colocate:
        record.attr["_class"].list.s.extend([f"loc:@{name}".encode() for name in node.colocate])
    if node.origin is not None:
        record.attr["_gradient_of"].s = node.origin
    alike = node.op not in MORE_OUTPUTS and not any(dtype.is_ref for dtype in node.dtypes)
    if add_shapes and node.dtypes and alike:
        record.attr["_output_shapes"].list.shape.extend([shape_proto(shape) for shape in node.shapes])


def _input(tensor_id: TensorId) -> str:
    return tensor_id.node if not tensor_id.port else str(tensor_id)


def _element_shape(node: Node) -> Any:
    shape = node.attrs.get("element_shape")
    return np.array(-1 if shape is None else [-1 if size is None else size for size in shape], np.int32)


def _set_attrs(record: NodeDef, node: Node, definition: opdef.OpDef) -> None:
    declared = {attr.name: attr for attr in definition.attrs}
    hidden, renamed = HIDDEN_ATTRS.get(node.op, ()), RENAMED_ATTRS.get(node.op, {})
    for name, value in node.attrs.items():
        attr = declared.get(name)
        kind = "Any" if attr is None else attr.kind
        if value is None and kind != "ShapeLike":
            continue
        if attr is not None and name in hidden:
            name = f"_{name}"
        elif attr is not None and name in OWN_ATTRS.get(node.op, ()):
            if value == attr.default:
                continue  # TensorFlow's op does what the default says
            record.op = OWN_PREFIX + node.op  # TensorFlow would leave the attribute out of account
        record.attr[renamed.get(name, name)].CopyFrom(to_attr(value, kind))


def _set_types(
    record: NodeDef, nodes: Mapping[str, Node], node: Node, definition: opdef.OpDef, inputs: Sequence[DType]
) -> None:
    """The attributes that say the types of inputs."""
    for name in TYPE_NAMES.get(node.op, ()):
        value = type_attr(definition, name, inputs, node.dtypes)
        if name == "T" and inputs[0].is_ref and node.op in PASS_ON:
            value = resource
        if name == "N" and node.op in ("DynamicStitch", "SparseConcat"):
            value = len(inputs) // (2 if node.op == "DynamicStitch" else 3)
        elif name == "T" and node.op == "DynamicStitch":
            value = inputs[-1].base_dtype
        elif name == "num_sparse":
            value = len(node.attrs["sparse_keys"])
        elif name == "shape_type":
            record.attr[name].type = 3
        elif name == "element_dtype" and node.op in ELEMENT_TYPES:
            record.attr[name].type = _element_type(nodes, node).code
            continue
        elif name == "T" and node.op in _LISTS_OF_TYPES and not isinstance(value, tuple):
            value = tuple(t.base_dtype for t in inputs[_LISTS_OF_TYPES[node.op] :])
        if value is not None:
            record.attr[name].CopyFrom(to_attr(value))
    if node.op == "ConcatOffset" and inputs[-1] is int64:
        record.attr["shape_type"].CopyFrom(to_attr(int64))


_LISTS_OF_TYPES = {"IdentityN": 0, "Assert": 1, "StringFormat": 0}


def _element_type(nodes: Mapping[str, Node], node: Node) -> DType:
    """The type of a list's elements: that of the first value that is written to it, or read from it."""
    reached, values = {node.name}, list(nodes.values())
    for other in values[[n.name for n in values].index(node.name) + 1 :]:
        if not any(e.node in reached for e in other.inputs):
            continue
        if other.op in ("TensorListSetItem", "TensorListPushBack"):
            item = other.inputs[-1]
            return nodes[item.node].dtypes[item.port].base_dtype
        if other.op.startswith("TensorList") and other.dtypes and other.dtypes[-1].name != "variant":
            return other.dtypes[-1].base_dtype
        reached.add(other.name)
    from actorflow.base.dtypes import float32

    return float32


@public("tf.train", "tf.io")
def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph to a file (`tf.train.write_graph`); gives its path.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = af.placeholder(af.float32, name="x")
        >>> with open(tf.io.write_graph(x.graph, "models", "graph.pbtxt")) as file:
        ...     print(file.readline())
        node {


    Args:
        graph_or_graph_def: a `Graph` or a `GraphDef`.
        logdir: the folder, which is made if it is not there.
        name: the file's name.
        as_text: the text format, else the binary format.

    Raises:
        TypeError: a node has an attribute that no message has.
    """
    message = graph_or_graph_def if isinstance(graph_or_graph_def, GraphDef) else graph_or_graph_def.as_graph_def()
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    with open(path, "wb") as file:
        file.write(str(message).encode() if as_text else message.SerializeToString())
    return path


def names_of(messages: Sequence[NodeDef]) -> dict[str, NodeDef]:
    """Nodes by name. Raises ValueError where two have one name."""
    by_name: dict[str, NodeDef] = {}
    for message in messages:
        if by_name.setdefault(message.name, message) is not message:
            raise ValueError(f"Two nodes of the GraphDef have the name {message.name!r}.")
    return by_name
