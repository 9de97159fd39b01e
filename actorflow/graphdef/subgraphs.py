"""`tf.graph_util`: parts of a `GraphDef`, and variables that become constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from actorflow.graphdef.attributes import to_attr
from actorflow.graphdef.export import names_of
from actorflow.graphdef.protos import GraphDef, NodeDef
from actorflow.graphdef.saving import source
from actorflow.public import public

_VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp"})
_READS = frozenset({"ReadVariableOp", "Identity"})


@public("tf.graph_util")
def extract_sub_graph(graph_def: GraphDef, dest_nodes: Sequence[str]) -> GraphDef:
    """The nodes that are needed to compute `dest_nodes`, which are names of nodes, in their order.

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
    wanted = [node.name for node in part.node if node.op in _VARIABLES]
    if variable_names_whitelist is not None:
        wanted = [name for name in wanted if name in variable_names_whitelist]
    wanted = [name for name in wanted if name not in (variable_names_blacklist or ())]
    values = dict(zip(wanted, sess.run([f"{name}:0" for name in wanted]) if wanted else [], strict=True))

    def constant(node: NodeDef) -> NodeDef:
        if node.name in values:
            dtype = node.attr["dtype"].type
            made = NodeDef(name=node.name, op="Const", device=node.device)
            made.attr["dtype"].type = dtype
            made.attr["value"].CopyFrom(to_attr(values[node.name]))
            return made
        if node.op in _READS and node.input and source(node.input[0]) in values:
            made = NodeDef(name=node.name, op="Identity", input=list(node.input), device=node.device)
            made.attr["T"].type = node.attr["T" if node.op == "Identity" else "dtype"].type
            return made
        return node

    return _with_nodes(part, map(constant, part.node))


@public("tf.graph_util")
def remove_training_nodes(input_graph: GraphDef, protected_nodes: Sequence[str] | None = None) -> GraphDef:
    """The graph without checks of numbers (`CheckNumerics`) and copies (`Identity`) that only training needs.

    Args:
        input_graph: the message.
        protected_nodes: names of nodes that stay.
    """
    kept = set(protected_nodes or ())
    controls = {source(text) for node in input_graph.node for text in node.input if text.startswith("^")}
    nodes = names_of(input_graph.node)
    gone = {
        node.name: node.input[0]
        for node in input_graph.node
        if node.op in ("CheckNumerics", "Identity")
        and node.name not in kept | controls
        and len(node.input) == 1
        and nodes[source(node.input[0])].op not in ("Switch", "Merge", *_VARIABLES)
        and node.input[0].partition(":")[0] == source(node.input[0])
    }

    def resolved(text: str) -> str:
        while text.removesuffix(":0") in gone:
            text = gone[text.removesuffix(":0")]
        return text

    used = {source(text) for node in input_graph.node for text in node.input}
    last = {name for name in gone if name not in used}  # what nothing takes is a result

    def joined(node: NodeDef) -> NodeDef:
        made = NodeDef()
        made.CopyFrom(node)
        made.ClearField("input")
        made.input.extend([resolved(text) for text in node.input])
        return made

    return _with_nodes(input_graph, (joined(n) for n in input_graph.node if n.name not in gone or n.name in last))


@public("tf.graph_util")
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether a node (an operation or a NodeDef) is of a type that only a CPU has: strings, and int32 constants."""
    message = node if isinstance(node, NodeDef) else node.node_def
    if pin_variables_on_cpu and message.op in _VARIABLES:
        return True
    return message.op == "Const" and message.attr["dtype"].type in (3, 7)


@public("tf.graph_util")
def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> Any:
    """The static shape of the tensor that an input of a NodeDef names."""
    return graph.get_tensor_by_name(input_name if ":" in input_name else f"{input_name}:0").get_shape()


def _with_nodes(graph_def: GraphDef, nodes: Iterable[NodeDef]) -> GraphDef:
    made = GraphDef()
    if graph_def.HasField("library"):
        made.library.CopyFrom(graph_def.library)
    made.versions.CopyFrom(graph_def.versions)
    made.node.extend(nodes)
    return made
