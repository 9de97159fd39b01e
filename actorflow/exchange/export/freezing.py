"""`freeze`: a graph with the values of a session, for inference; and `optimize_for_inference` for graphs that are messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorflow import blocking
from actorflow.base.registry import opdef
from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError, UnknownNameError, describe
from actorflow.exchange.export.batch_norm import fold_scales
from actorflow.exchange.export.branches import fold_branches
from actorflow.exchange.export.constants import fold_constants
from actorflow.exchange.export.messages import Messages, constant, split, with_inputs
from actorflow.graph.convert import as_array
from actorflow.graph.graphdef.attributes import to_attr
from actorflow.graph.graphdef.ops import OWN_PREFIX, READ
from actorflow.graph.graphdef.protos import GraphDef, NodeDef
from actorflow.graph.graphdef.subgraphs import VARIABLES, extract_sub_graph, remove_training_nodes, with_constants
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.variable import Variable
from actorflow.pending_calls import pending_if_awaited
from actorflow.public import public

_KEEPS_STATE = ("Queue", "Reader", "Barrier", "Stack", "Accumulator", "SparseAccumulator", "ConditionalAccumulator")


@public("af.export")
@pending_if_awaited
def freeze(
    session: Any,
    outputs: Sequence[Any],
    inputs: Sequence[Any] | None = None,
    given: Mapping[Any, Any] | None = None,
    *,
    fold: bool = True,
) -> Any:
    """The part of a session's graph that computes `outputs`, with the present values of variables as constants: a `GraphDef`.

    Branches for training are left out first: a `placeholder_with_default` that is no input is a constant. With `fold`, what
    depends on constants alone is computed, and batch normalization goes into the weights before it. With a blocking
    session the call does without `await`.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> y = af.multiply(x, af.Variable(3.0), name="y")
        >>> await session.run(af.global_variables_initializer())
        >>> frozen = await af.export.freeze(session, [y], [x])
        >>> sorted({node.op for node in frozen.node})
        ['Const', 'Mul', 'Placeholder']

    Args:
        session: a session that has the values.
        outputs: tensors, operations, or names of them.
        inputs: tensors that are fed. Each becomes a placeholder, and what lies before it is left out. All placeholders that
            the outputs need, unless given.
        given: values that replace tensors for good, such as `{training: False}`.
        fold: whether to fold constants and batch normalization, and leave copies out.

    Returns:
        The message. Outputs and inputs have the names that they have in the graph.

    Raises:
        InvalidArgumentError: something that the outputs need writes state; all such nodes are named. Or an output depends
            on a placeholder that is none of `inputs`.
        ValueError: there is no node of a name.
        FailedPreconditionError: a variable has no value.
    """
    if isinstance(session, blocking.Session):
        return session._call(lambda: _frozen(session._inner, outputs, inputs, given, fold))
    return _frozen(session, outputs, inputs, given, fold)


async def _frozen(
    session: Session, outputs: Sequence[Any], inputs: Sequence[Any] | None, fixed: Mapping[Any, Any] | None, fold: bool
) -> GraphDef:
    graph = session.graph
    ends = [_tensor_name(graph, value) for value in outputs]
    fed = None if inputs is None else [_tensor_name(graph, value) for value in inputs]
    values = {_tensor_name(graph, key): value for key, value in (fixed or {}).items()}
    message = graph.as_graph_def(add_shapes=True)
    names = [split(name)[0] for name in ends]
    part = inference_part(message, names, fed, values, _types(graph, fed, values))
    variables = [node.name for node in part.node if node.op in VARIABLES]
    current = await session.run([f"{name}:0" for name in variables]) if variables else []
    frozen = with_constants(part, dict(zip(variables, current)))
    return simplified(frozen, names) if fold else frozen


def inference_part(
    graph_def: GraphDef,
    outputs: Sequence[str],
    inputs: Sequence[str] | None = None,
    given: Mapping[str, Any] | None = None,
    types: Mapping[str, tuple[Any, Any]] | None = None,
) -> GraphDef:
    """The nodes that compute `outputs` from `inputs`, without branches that are never taken.

    Args:
        graph_def: the message, which stays as it is.
        outputs: names of nodes.
        inputs: names of tensors that become placeholders; all placeholders unless given.
        given: values of tensors, by name.
        types: the element type and shape of each tensor in `inputs` and `given`.

    Raises:
        InvalidArgumentError: see `freeze`.
        ValueError: there is no node of a name.
    """
    messages = Messages(graph_def)
    replaced: dict[tuple[str, int], str] = {}
    for text, value in (given or {}).items():
        dtype = (types or {})[text][0].numpy_dtype
        _replace(messages, replaced, text, lambda name, v=value, t=dtype: constant(name, as_array(v).astype(t)))
    for text in inputs or ():
        _replace(messages, replaced, text, lambda name, t=text: _placeholder(name, *(types or {})[t]))
    for node in list(messages.nodes.values()):
        if any(not text.startswith("^") and split(text) in replaced for text in node.input):
            texts = [t if t.startswith("^") else replaced.get(split(t), t) for t in node.input]
            messages.nodes[node.name] = with_inputs(node, texts)
    if inputs is not None:
        fed = {split(text)[0] for text in inputs}
        for node in list(messages.nodes.values()):
            if node.op == "PlaceholderWithDefault" and node.name not in fed:
                messages.nodes[node.name] = _default(node)
    else:
        for node in list(messages.nodes.values()):
            # A switch for training is of type bool.
            if node.op == "PlaceholderWithDefault" and node.attr["dtype"].type == 10:
                messages.nodes[node.name] = _default(node)
    part = extract_sub_graph(messages.message(), list(outputs))
    part = extract_sub_graph(fold_branches(part, list(outputs)), list(outputs))
    if inputs is not None:
        _check_inputs(part, {split(text)[0] for text in inputs})
    _check_state(part)
    return part


def simplified(graph_def: GraphDef, outputs: Sequence[str]) -> GraphDef:
    """A graph without variables, with constants and batch normalization folded, and without copies.

    Args:
        graph_def: the message, which stays as it is.
        outputs: names of nodes.
    """
    smaller = extract_sub_graph(fold_constants(graph_def), list(outputs))
    smaller = extract_sub_graph(fold_scales(smaller), list(outputs))
    return extract_sub_graph(remove_training_nodes(smaller, list(outputs)), list(outputs))


@public("af.export")
def optimize_for_inference(
    input_graph_def: GraphDef,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any = 1,
) -> GraphDef:
    """A frozen graph, made smaller for inference (`tensorflow.python.tools.optimize_for_inference_lib`).

    Nodes that the outputs don't need are left out, then branches that are never taken, copies and checks. Batch normalization
    goes into the weights before it.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> y = af.identity(x * (af.constant(2.0) + 1.0), name="y")
        >>> small = af.export.optimize_for_inference(x.graph.as_graph_def(), ["x"], ["y"])
        >>> len(small.node) < len(x.graph.as_graph_def().node)
        True

    Args:
        input_graph_def: the message, which stays as it is.
        input_node_names: names of nodes, which become placeholders.
        output_node_names: names of nodes.
        placeholder_type_enum: the element type of inputs that are no placeholders, as a number of `DataType`; or a list of
            these, a number for each input.

    Raises:
        InvalidArgumentError: it has variables, or nodes that write state, which are named.
        ValueError: there is no node of a name.
    """
    messages = Messages(input_graph_def)
    several = isinstance(placeholder_type_enum, (list, tuple))
    for index, name in enumerate(input_node_names):
        if name not in messages.nodes:
            raise ValueError(f"{name!r} is not in graph: the GraphDef has no such node.")
        if messages.nodes[name].op != "Placeholder":
            placeholder = NodeDef(name=name, op="Placeholder", device=messages.nodes[name].device)
            placeholder.attr["dtype"].type = placeholder_type_enum[index] if several else placeholder_type_enum
            placeholder.attr["shape"].shape.unknown_rank = True
            messages.nodes[name] = placeholder
    part = inference_part(messages.message(), output_node_names)
    left = [node.name for node in part.node if node.op in VARIABLES]
    if left:
        raise InvalidArgumentError(
            f"The graph has variables: {', '.join(left[:8])}.",
            hint="Freeze it first: af.export.freeze, or tf.graph_util.convert_variables_to_constants.",
        )
    return simplified(part, output_node_names)


def _tensor_name(graph: Any, value: Any) -> str:
    if isinstance(value, Variable):
        value = value.value()
    element = value if isinstance(value, (Tensor, Operation)) else graph.as_graph_element(value)
    return f"{element.name}:0" if isinstance(element, Operation) else str(element.name)


def _types(graph: Any, *several: Any) -> dict[str, tuple[Any, Any]]:
    types = {}
    for names in several:
        for name in names or ():
            tensor = graph.get_tensor_by_name(name)
            types[name] = tensor.dtype, tensor.static_shape
    return types


def _replace(messages: Messages, replaced: dict[tuple[str, int], str], text: str, make: Any) -> None:
    """A node in the place of a tensor: under its name, where the node has no other output."""
    name, port = split(text)
    if port or any(split(t) == (name, p) for node in messages.nodes.values() for t in node.input for p in range(1, 9)):
        replaced[name, port] = own = f"{name}/fed_{port}"
        messages.nodes[own] = make(own)
    else:
        messages.nodes[name] = make(name)


def _placeholder(name: str, dtype: Any, shape: Any) -> NodeDef:
    node = NodeDef(name=name, op="Placeholder")
    node.attr["dtype"].CopyFrom(to_attr(dtype.base_dtype))
    node.attr["shape"].CopyFrom(to_attr(shape, "ShapeLike"))
    return node


def _default(node: NodeDef) -> NodeDef:
    identity = NodeDef(name=node.name, op="Identity", input=list(node.input), device=node.device)
    identity.attr["T"].CopyFrom(node.attr["dtype"])
    return identity


def _check_inputs(part: GraphDef, fed: set[str]) -> None:
    open_ = [node.name for node in part.node if node.op == "Placeholder" and node.name not in fed]
    if open_:
        raise InvalidArgumentError(
            f"The outputs need the placeholders {', '.join(open_[:8])}, which are no inputs.",
            hint="Name them in inputs=, or give them values for good: given={placeholder: value}.",
        )


def _check_state(part: GraphDef) -> None:
    writers = [f"{node.name} ({node.op})" for node in part.node if writes_state(node)]
    if writers:
        raise InvalidArgumentError(
            describe(
                f"The outputs can't be frozen, because {len(writers)} of the nodes that they need keep or write state: "
                f"{', '.join(writers[:8])}{' and others' if len(writers) > 8 else ''}.",
                hint="Build the graph for inference: training=False. If a tensor chooses between training and inference, give "
                "it its value for good: af.export.freeze(..., given={training: False}). Or name tensors behind these nodes as "
                "inputs=.",
            )
        )


def writes_state(node: NodeDef) -> bool:
    """Whether a node changes what outlives a step, or takes from it."""
    op = READ.get(node.op, node.op.removeprefix(OWN_PREFIX))
    if op in VARIABLES or op in ("VarIsInitializedOp", "IsVariableInitialized"):
        return False
    if op.startswith(_KEEPS_STATE):
        return True
    try:
        return opdef.lookup(op).writes
    except UnknownNameError:
        return str(node.op).startswith(("Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter"))
