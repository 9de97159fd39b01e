"""`tf.graph_util`: parts of a `GraphDef`, and variables that become constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.registry.opdef import lookup
from actorflow.errors import InvalidArgumentError, UnknownNameError
from actorflow.graph.graphdef.attributes import to_attr
from actorflow.graph.graphdef.export import names_of
from actorflow.graph.graphdef.ops import PASS_ON, READ
from actorflow.graph.graphdef.protos import GraphDef, NodeDef
from actorflow.graph.graphdef.saving import source
from actorflow.public import public

VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp"})


@public("tf.graph_util")
def extract_sub_graph(graph_def: GraphDef, dest_nodes: Sequence[str]) -> GraphDef:
    """The nodes that are needed to compute `dest_nodes`, which are names of nodes, in their order.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = af.placeholder(af.float32, name="x")
        >>> y, z = af.square(x, name="y"), af.sqrt(x, name="z")
        >>> [node.name for node in tf.graph_util.extract_sub_graph(x.graph.as_graph_def(), ["y"]).node]
        ['x', 'y']

    Raises:
        TypeError: `dest_nodes` is a string.
        ValueError: there is no node of a name.
    """
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list of names.")
    nodes = names_of(graph_def.node)
    needed: set[str] = set()
    stack = list(dest_nodes)
    while stack:
        name = stack.pop()
        if name not in nodes:
            raise ValueError(f"{name!r} is not in graph: the GraphDef has no such node.")
        if name not in needed:
            needed.add(name)
            stack.extend(source(text) for text in nodes[name].input)
    return _with_nodes(graph_def, (node for node in graph_def.node if node.name in needed))


@public("tf.graph_util")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: GraphDef,
    output_node_names: Sequence[str],
    variable_names_whitelist: Sequence[str] | None = None,
    variable_names_blacklist: Sequence[str] | None = None,
) -> GraphDef:
    """The part of a graph that computes `output_node_names`, with the present values of variables as constants.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with af.Graph().as_default() as graph:
        ...     y = af.multiply(af.placeholder(af.float32, name="x"), af.Variable(3.0, name="v"), name="y")
        ...     with af.blocking.Session(graph=graph) as blocking:
        ...         blocking.run(af.global_variables_initializer())
        ...         frozen = tf.graph_util.convert_variables_to_constants(blocking, graph.as_graph_def(), ["y"])
        >>> sorted({node.op for node in frozen.node})
        ['Const', 'Identity', 'Mul', 'Placeholder']

    Args:
        sess: a blocking session that has the values.
        input_graph_def: the graph of the session as a message.
        output_node_names: names of nodes.
        variable_names_whitelist: the only variables to convert.
        variable_names_blacklist: variables to leave as they are.

    Raises:
        ValueError: there is no node of a name.
        FailedPreconditionError: a variable has no value.
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    names = [node.name for node in part.node if node.op in VARIABLES]
    if variable_names_whitelist is not None:
        names = [name for name in names if name in variable_names_whitelist]
    names = [name for name in names if name not in (variable_names_blacklist or ())]
    values = dict(zip(names, sess.run([f"{name}:0" for name in names]) if names else [], strict=True))
    return with_constants(part, values)


def with_constants(graph_def: GraphDef, values: Mapping[str, Any]) -> GraphDef:
    """The graph with constants in the place of variables.

    Args:
        graph_def: the message, which stays as it is.
        values: the values of variables, by the names of their nodes.

    Raises:
        InvalidArgumentError: something else than a read takes one of these variables; the nodes are named.
    """
    types = _references(graph_def.node, values)
    nodes: list[NodeDef] = []
    others = []
    for node in graph_def.node:
        taken = next((source(t) for t in node.input if source(t) in types and not t.startswith("^")), None)
        if node.name in values:
            nodes.append(_constant(node, values[node.name]))
        elif taken is None:
            nodes.append(node)
        elif (change := _of_value(node, types[taken])) is not None:
            nodes.append(change)
        else:
            others.append(f"{node.name} ({node.op})")
    if others:
        raise InvalidArgumentError(
            f"Variables can't become constants, because nodes need their state: {', '.join(others)}.",
            hint="Build the graph for inference: training=False. If a tensor chooses between training and inference, give it its "
            "value for good: af.export.freeze(..., given={training: False}).",
        )
    return _with_nodes(graph_def, nodes)


def _references(nodes: Iterable[NodeDef], values: Iterable[str]) -> dict[str, tuple[int, bool]]:
    """The variables, and the nodes that pass a reference to a variable on: the number of the type, and whether it is a
    resource."""
    names = set(values)
    references = {n.name: (n.attr["dtype"].type, n.op == "VarHandleOp") for n in nodes if n.name in names}
    passing = [node for node in nodes if node.op in PASS_ON and node.attr["T"].type == _RESOURCE]
    count = -1
    while count != len(references):
        count = len(references)
        for node in passing:
            if node.input and source(node.input[0]) in references:
                references[node.name] = references[source(node.input[0])]
    return references


_RESOURCE = 20


def _constant(node: NodeDef, value: Any) -> NodeDef:
    const = NodeDef(name=node.name, op="Const", device=node.device)
    const.attr["dtype"].type = node.attr["dtype"].type
    const.attr["value"].CopyFrom(to_attr(np.asarray(value)))
    return const


def _of_value(node: NodeDef, variable: tuple[int, bool]) -> NodeDef | None:
    """A node that took a variable, as a node that takes its value; None if it needs the variable."""
    dtype, is_resource = variable
    identity = NodeDef()
    identity.CopyFrom(node)
    if node.op in PASS_ON:
        identity.attr["T"].type = dtype
        return identity
    op, types = _BY_VALUE.get(node.op, ("", {}))
    if not op:
        return None if is_resource or _writes(node.op) else identity
    identity.op = op
    identity.ClearField("input")
    identity.input.extend(
        [text for text in node.input if not text.startswith("^")]
    )  # a constant has its value at any time
    identity.ClearField("attr")
    for ours, theirs in types.items():
        identity.attr[ours].CopyFrom(node.attr[theirs])
    return identity


def _writes(op: str) -> bool:
    try:
        return lookup(READ.get(op, op)).writes
    except UnknownNameError:
        return False


_BY_VALUE: dict[str, tuple[str, dict[str, str]]] = {
    "ReadVariableOp": ("Identity", {"T": "dtype"}),
    "ResourceGather": ("Gather", {"Tparams": "dtype", "Tindices": "Tindices"}),
    "ResourceGatherNd": ("GatherNd", {"Tparams": "dtype", "Tindices": "Tindices"}),
    "VariableShape": ("Shape", {"T": "dtype", "out_type": "out_type"}),
}
"""Ops that read a variable: what they are for a value, and the attributes that say its types."""


@public("tf.graph_util")
def remove_training_nodes(input_graph: GraphDef, protected_nodes: Sequence[str] | None = None) -> GraphDef:
    """The graph without checks of numbers (`CheckNumerics`) and copies (`Identity`) that only training needs.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = af.placeholder(af.float32, name="x")
        >>> y = af.square(af.identity(x, name="copy"), name="y")
        >>> [node.name for node in tf.graph_util.remove_training_nodes(x.graph.as_graph_def()).node]
        ['x', 'y']

    Args:
        input_graph: the message.
        protected_nodes: names of nodes that stay.
    """
    kept = set(protected_nodes or ())
    for node in input_graph.node:  # what others wait for, or are to be beside of
        kept.update(source(text) for text in node.input if text.startswith("^"))
        if "_class" in node.attr:
            kept.update(text.decode().removeprefix("loc:@") for text in node.attr["_class"].list.s)
    nodes = names_of(input_graph.node)
    gone = {
        node.name: node.input[0]
        for node in input_graph.node
        if node.op in ("CheckNumerics", "Identity")
        and node.name not in kept
        and len(node.input) == 1
        and nodes[source(node.input[0])].op not in VARIABLES
    }

    def resolved(text: str) -> str:
        while text.removesuffix(":0") in gone:
            text = gone[text.removesuffix(":0")]
        return text

    used = {source(text) for node in input_graph.node for text in node.input}
    last = {name for name in gone if name not in used}  # what nothing takes is a result

    def joined(node: NodeDef) -> NodeDef:
        changed = NodeDef()
        changed.CopyFrom(node)
        changed.ClearField("input")
        changed.input.extend([resolved(text) for text in node.input])
        return changed

    return _with_nodes(input_graph, (joined(n) for n in input_graph.node if n.name not in gone or n.name in last))


@public("tf.graph_util")
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether a node (an operation or a NodeDef) is of a type that only a CPU has: strings, and int32 constants.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = af.placeholder(af.float32)
        >>> tf.graph_util.must_run_on_cpu(af.constant("text").op.node_def), tf.graph_util.must_run_on_cpu(x.op.node_def)
        (True, False)
    """
    message = node if isinstance(node, NodeDef) else node.node_def
    if pin_variables_on_cpu and message.op in VARIABLES:
        return True
    return message.op == "Const" and message.attr["dtype"].type in (3, 7)


@public("tf.graph_util")
def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> Any:
    """The static shape of the tensor that an input of a NodeDef names.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = af.placeholder(af.float32, [2, 3], name="x")
        >>> tf.graph_util.tensor_shape_from_node_def_name(x.graph, "x").as_list()
        [2, 3]
    """
    return graph.get_tensor_by_name(input_name if ":" in input_name else f"{input_name}:0").get_shape()


def _with_nodes(graph_def: GraphDef, nodes: Iterable[NodeDef]) -> GraphDef:
    graph = GraphDef()
    if graph_def.HasField("library"):
        graph.library.CopyFrom(graph_def.library)
    graph.versions.CopyFrom(graph_def.versions)
    graph.node.extend(nodes)
    return graph
