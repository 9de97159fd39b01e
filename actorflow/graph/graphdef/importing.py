"""`import_graph_def`: the nodes of a `GraphDef`, of TensorFlow's or actorflow's making, added to a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from actorflow.base import dtypes
from actorflow.base.registry import opdef, plugins
from actorflow.base.shapes import as_shape, compatible
from actorflow.errors import UnknownNameError, describe
from actorflow.graph.constant_value import constant_value
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.attributes import from_attr
from actorflow.graph.graphdef.export import names_of
from actorflow.graph.graphdef.inputs import canonical, data_inputs, has_back_edge, split
from actorflow.graph.graphdef.late_reads import with_late_reads
from actorflow.graph.graphdef.ops import (
    HIDDEN_ATTRS,
    IGNORED,
    INPUT_ORDER,
    OWN_PREFIX,
    PASS_ON,
    READ,
    RENAMED_ATTRS,
    SHAPE_INPUTS,
)
from actorflow.graph.graphdef.protos import GraphDef, NodeDef
from actorflow.graph.graphdef.rewrites.attributes import Attributes, Form
from actorflow.graph.graphdef.rewrites.datasets import with_datasets
from actorflow.graph.graphdef.rewrites.examples import PARSING, with_keys
from actorflow.graph.graphdef.rewrites.forms import FORMS
from actorflow.graph.graphdef.rewrites.functions import calls_functions, inlined
from actorflow.graph.graphdef.type_names import TYPE_NAMES
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public


@public("af", "tf.graph_util")
def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: None = None,
    producer_op_list: None = None,
) -> list[Tensor | Operation] | None:
    """Adds the nodes of a `GraphDef` to the default graph (`tf.import_graph_def`).

    TensorFlow's resource variables and its reference variables both become variables of actorflow. Nodes inside of a
    while loop run, but gradients through an imported loop are not given.

    Example:
        >>> with af.Graph().as_default() as graph:
        ...     y = af.square(af.placeholder(af.float32, name="x"), name="y")
        >>> data = graph.as_graph_def().SerializeToString()
        >>> image = af.placeholder(af.float32)
        >>> (result,) = af.import_graph_def(data, input_map={"x:0": image}, return_elements=["y:0"], name="model")
        >>> result.name, await session.run(result, {image: 3.0})
        ('model/y:0', 9.0)

    Args:
        graph_def: a `GraphDef`, its bytes, or any message that serialises as a `GraphDef`.
        input_map: tensors of the default graph that take the place of tensors of `graph_def`, by name (`"x:0"`, or `"x"`
            for output 0); `"^x"` stands for a control input.
        return_elements: names of operations (`"x"`) and tensors (`"x:0"`) to give back.
        name: what comes before the names of all nodes; `import` unless given, "" for nothing.
        op_dict, producer_op_list: have no meaning, and must be None.

    Returns:
        The tensors and operations that `return_elements` names, or None without it.

    Raises:
        TypeError: it is no GraphDef.
        ValueError: an input is not there, an attribute can't be, a name is taken, or `input_map` names a tensor that
            nothing takes.
        UnknownNameError: an op is not registered here; the node is named.
    """
    if op_dict is not None or producer_op_list is not None:
        raise ValueError("op_dict and producer_op_list have no meaning here; leave them out.")
    importer = Importer(get_default_graph(), _as_graph_def(graph_def), name, dict(input_map or {}))
    importer.add_all()
    return None if return_elements is None else [importer.element(element) for element in return_elements]


def _as_graph_def(value: Any) -> GraphDef:
    if isinstance(value, GraphDef):
        return value
    if hasattr(value, "SerializeToString"):
        value = value.SerializeToString()
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError(f"graph_def must be a GraphDef proto, but a {type(value).__name__} was given.")
    return GraphDef.FromString(bytes(value))


def _forms(op: str) -> Iterator[Form]:
    """How nodes of an op are built that are no single node here: as the core has it, and else as plug-ins have it."""
    if op in FORMS:
        yield FORMS[op]
    if op not in READ and op != "Div" and not op.startswith(OWN_PREFIX):
        try:
            opdef.lookup(op)
        except UnknownNameError:
            yield from (forms[op] for forms in plugins.load_all("graph_forms").values() if op in forms)


class Importer:
    """One import: which messages are there, and what was made of them."""

    def __init__(self, graph: Graph, message: GraphDef, name: str | None, input_map: dict[str, Any]) -> None:
        self.graph, self.prefix = graph, "import" if name is None else name
        if self.prefix:
            with graph.name_scope(self.prefix) as scope:
                self.prefix = scope
        if calls_functions(message):
            message = inlined(message)
        self.messages = {name: with_datasets(node) for name, node in names_of(message.node).items()}
        self.made: dict[str, Operation] = {}
        self.reads: dict[str, Tensor] = {}
        self.given = {canonical(key): value for key, value in input_map.items()}
        self.used: set[str] = set()

    def add_all(self) -> None:
        for name in self.messages:
            if f"{self.prefix}{name}" in self.graph.nodes:
                raise ValueError(
                    f"The graph has a node {self.prefix + name!r} already; import the GraphDef under another name=."
                )
        self.messages = {message.name: message for message in with_late_reads(self._ordered(), self.given)}
        for message in self.messages.values():
            with self._naming(message):
                self._add(message)
        for message in self.messages.values():
            if has_back_edge(message, self.messages):
                self._close(message)
        for message in self.messages.values():
            with self._naming(message):
                self._colocate(message)
        if unused := self.given.keys() - self.used:
            raise ValueError(
                "Attempted to map inputs that were not found in graph_def: "
                + ", ".join(f"[{name}]" for name in sorted(unused))
            )

    @contextmanager
    def _naming(self, message: NodeDef) -> Iterator[None]:
        """Errors name the node. Attributes come from a file, where each may have any type: what an op's rules say of that is no
        error of the rules."""
        try:
            yield
        except UnknownNameError:
            raise
        except Exception as error:
            if message.name in str(error) and isinstance(error, (TypeError, ValueError)):
                raise
            reason = str(error) or type(error).__name__
            raise ValueError(
                f"Node {message.name!r} ({message.op}) of the GraphDef can't be added: {reason}"
            ) from error

    def _close(self, message: NodeDef) -> None:
        self.graph.close_loop(self.made[message.name], self._tensor(message, data_inputs(message)[1]))

    def element(self, name: str) -> Tensor | Operation:
        """An operation or tensor by the name that it has in the GraphDef."""
        node, colon, port = name.rpartition(":")
        operation = self.made.get(node if colon else name)
        if operation is None or colon and (not port.isdigit() or int(port) >= len(operation.outputs)):
            raise ValueError(f"return_elements names {name!r}, which is not in the GraphDef.")
        return operation.outputs[int(port)] if colon else operation

    def _ordered(self) -> list[NodeDef]:
        """The messages so that each comes after its inputs, but for the ends of loops."""
        waits: dict[str, int] = {}
        users: dict[str, list[str]] = {}
        for message in self.messages.values():
            inputs = list(message.input)
            if has_back_edge(message, self.messages):
                inputs.remove(data_inputs(message)[1])
            sources = {split(text)[0] for text in inputs} - {
                split(text)[0] for text in inputs if canonical(text) in self.given
            }
            for source in sources:
                if source not in self.messages:
                    raise ValueError(f"Node {message.name!r} has the input {source!r}, which is not in the GraphDef.")
                users.setdefault(source, []).append(message.name)
            waits[message.name] = len(sources)
        ready = [name for name in self.messages if not waits[name]]
        order = []
        for name in ready:  # grows
            order.append(self.messages[name])
            for user in users.get(name, ()):
                waits[user] -= 1
                if not waits[user]:
                    ready.append(user)
        if len(order) < len(self.messages):
            stuck = [name for name, count in waits.items() if count][:5]
            raise ValueError(f"The nodes of the GraphDef form a cycle that is no loop: {', '.join(stuck)}.")
        return order

    def _add(self, message: NodeDef) -> None:
        inputs = data_inputs(message)
        if has_back_edge(message, self.messages):
            inputs = inputs[:1]
        tensors = [self._tensor(message, text) for text in inputs]
        controls = [self._control(message, text[1:]) for text in message.input if text.startswith("^")]
        if message.op in PARSING:
            message, tensors = with_keys(self.graph, message, tensors)
        for form in _forms(message.op):
            operation = self._in_another_form(form, message, tensors, controls)
            if operation is not None:
                self.made[message.name] = operation
                self._refine(message, operation)
                return
        op_type = self._op_type(message, tensors)
        if (order := INPUT_ORDER.get(op_type)) is not None and len(order) == len(tensors):
            tensors = [tensors[order.index(i)] for i in range(len(order))]
        definition = self._definition(message, op_type)
        attrs = self._attributes(message, definition)
        if (place := SHAPE_INPUTS.get(op_type)) is not None and len(tensors) > place:
            tensors = self._without_shape(op_type, place, tensors, attrs, definition)
        with self.graph.control_dependencies(controls), self.graph.device(message.device):
            tensors = self._values(definition, tensors)
            try:
                operation = self.graph.create_op(op_type, tensors, attrs, f"{self.prefix}{message.name}/")
            except (TypeError, ValueError) as error:
                raise type(error)(f"Node {message.name!r} of the GraphDef: {error}") from None
        self.made[message.name] = operation
        self._refine(message, operation)

    def _in_another_form(
        self, build: Form, message: NodeDef, tensors: Sequence[Tensor], controls: Sequence[Any]
    ) -> Operation | None:
        """A node that gives what ops of actorflow's make in the place of TensorFlow's; None where the op is actorflow's too."""
        name = f"{self.prefix}{message.name}"
        with self.graph.as_default(), self.graph.control_dependencies(controls), self.graph.device(message.device):
            with self.graph.name_scope(f"{name}/parts/"):
                form = build(Attributes(message), tensors)
            if form is None:
                return None
            results = form if isinstance(form, list) else [form]
            op_type = "NoOp" if not results else "Identity" if len(results) == 1 else "IdentityN"
            return self.graph.create_op(op_type, results, {}, f"{name}/")

    def _tensor(self, message: NodeDef, text: str) -> Tensor:
        key = canonical(text)
        if key in self.given:
            self.used.add(key)
            value = self.given[key]
            tensor = self.graph.as_graph_element(value) if not isinstance(value, Tensor) else value
            if not isinstance(tensor, Tensor):
                raise TypeError(f"input_map maps {text!r} to {value!r:.60}, which is no tensor.")
            return tensor
        name, port = split(text)
        source = self.made[name]
        if port < len(source.outputs):
            return source.outputs[port]
        if port == 0 and source.definition.writes:  # TensorFlow's update gives its reference on
            if text not in self.reads:
                with self.graph.control_dependencies([source]):
                    read = self.graph.create_op("ReadVariableOp", source.inputs[:1], name=f"{source.name}/updated/")
                self.reads[text] = read.outputs[0]
            return self.reads[text]
        raise ValueError(f"Node {message.name!r} has the input {text!r}, but {name!r} has no output {port}.")

    def _control(self, message: NodeDef, name: str) -> Any:
        if f"^{name}" in self.given:
            self.used.add(f"^{name}")
            return self.given[f"^{name}"]
        return self.made[name]

    def _op_type(self, message: NodeDef, tensors: Sequence[Tensor]) -> str:
        if message.op == "Identity" and tensors[0].dtype.is_ref and tensors[0].dtype is not dtypes.resource:
            return "ReadVariableOp"
        if message.op == "Div":
            return "RealDiv" if not tensors[0].dtype.is_integer else "TruncateDiv"
        if message.op.startswith(OWN_PREFIX):
            return str(message.op.removeprefix(OWN_PREFIX))
        try:
            opdef.lookup(message.op)
        except UnknownNameError:
            return READ.get(message.op) or str(message.op)
        return str(message.op)

    def _definition(self, message: NodeDef, op_type: str) -> opdef.OpDef:
        try:
            return opdef.lookup(op_type)
        except UnknownNameError:
            raise UnknownNameError(
                describe(
                    f"Node {message.name!r} of the GraphDef is of the op {message.op!r}, which actorflow does not have.",
                    node=message.name,
                    op=message.op,
                    hint="Import the package that declares it, or take the part of the graph without it: "
                    "tf.graph_util.extract_sub_graph.",
                )
            ) from None

    def _attributes(self, message: NodeDef, definition: opdef.OpDef) -> dict[str, Any]:
        renamed = {theirs: ours for ours, theirs in RENAMED_ATTRS.get(definition.type, {}).items()}
        hidden = HIDDEN_ATTRS.get(definition.type, frozenset())
        declared = {attr.name: attr for attr in definition.attrs}
        kept: dict[str, Any] = {}
        for theirs, value in message.attr.items():
            name = renamed.get(theirs, theirs)
            name = name[1:] if name[:1] == "_" and name[1:] in hidden else name
            if name not in declared:
                self._check_dropped(message, definition, name, value, kept)
                continue
            try:
                converted = from_attr(value)
            except ValueError as error:
                raise ValueError(
                    f"Node {message.name!r} ({message.op}): its attribute {theirs!r}: {str(error).rstrip('.')}."
                ) from None
            if hasattr(converted, "flags"):
                converted.flags.writeable = False
            if declared[name].kind == "bytes":
                converted = str(converted).encode("utf-8", "surrogateescape")
            kept[name] = converted
        for attr in definition.attrs:
            if attr.name not in kept:
                if attr.default is opdef.REQUIRED and attr.kind != "DTypeLike | None":
                    raise ValueError(f"Node {message.name!r} ({message.op}) has no attribute {attr.name!r}.")
                kept[attr.name] = None if attr.default is opdef.REQUIRED else attr.default
        if message.op in ("PriorityQueue", "PriorityQueueV2"):  # TensorFlow's types and shapes lack the priority
            kept["component_types"] = (dtypes.int64, *kept["component_types"])
            kept["shapes"] = ((), *kept["shapes"]) if kept["shapes"] or len(kept["component_types"]) == 1 else ()
        return kept

    def _check_dropped(
        self, message: NodeDef, definition: opdef.OpDef, name: str, value: Any, kept: dict[str, Any]
    ) -> None:
        """Takes an attribute that belongs to no op, and refuses an attribute that would change what the node does."""
        if name.startswith("_"):
            if name in ("_gradient_op_type", "_lossy"):
                kept[name] = from_attr(value)
            return
        which = value.WhichOneof("value")
        types = name in TYPE_NAMES.get(definition.type, ()) or which == "type" or which == "list" and value.list.type
        if types or name in IGNORED and IGNORED[name] is None or message.op == "VarHandleOp" or which is None:
            return
        actual = from_attr(value)
        if name not in IGNORED or actual != IGNORED[name]:
            raise ValueError(
                f"Node {message.name!r} ({message.op}) has the attribute {name}={actual!r:.60}, which the op does not "
                "take here."
            )

    def _without_shape(
        self, op_type: str, place: int, tensors: list[Tensor], attrs: dict[str, Any], definition: opdef.OpDef
    ) -> list[Tensor]:
        value = constant_value(self.graph.nodes, tensors[place].tensor_id)
        if any(attr.name == "element_shape" for attr in definition.attrs) and value is not None:
            attrs["element_shape"] = (
                tuple([None if n < 0 else int(n) for n in value]) if value.ndim else attrs.get("element_shape")
            )
        left = tensors[:place] + tensors[place + 1 :]
        return left[:0] if op_type == "EmptyTensorList" else left

    def _values(self, definition: opdef.OpDef, tensors: list[Tensor]) -> list[Tensor]:
        """The inputs, with a read for each variable where the op wants a value."""
        several = next((i for i, spec in enumerate(definition.inputs) if spec.kind == "list"), None)
        spare = len(tensors) - len(definition.inputs)
        out = []
        for index, tensor in enumerate(tensors):
            at = index
            if several is not None and index > several:
                at = max(several, index - spare)
            spec = definition.inputs[min(at, len(definition.inputs) - 1)] if definition.inputs else None
            passes = spec is None or spec.kind == "ref" or tensor.dtype is dtypes.resource
            if not tensor.dtype.is_ref or passes or definition.type in PASS_ON:
                out.append(tensor)
                continue
            out.append(self.graph.create_op("ReadVariableOp", (tensor,), name=f"{tensor.op.name}/read").outputs[0])
        return out

    def _refine(self, message: NodeDef, operation: Operation) -> None:
        if "_output_shapes" in message.attr:
            for tensor, shape in zip(operation.outputs, from_attr(message.attr["_output_shapes"])):
                if compatible(tensor.static_shape, as_shape(shape)):
                    tensor.set_shape(shape)

    def _colocate(self, message: NodeDef) -> None:
        if message.name not in self.made:
            return
        names = from_attr(message.attr["_class"]) if "_class" in message.attr else ()
        beside = [self.made.get(text.removeprefix("loc:@")) for text in names]
        colocated = tuple(
            other.name for other in beside if other is not None and other.name != self.prefix + message.name
        )
        origin = from_attr(message.attr["_gradient_of"]) if "_gradient_of" in message.attr else None
        if colocated or origin in self.made:
            self.graph.set_relations(
                self.made[message.name], colocated, self.made[origin].name if origin in self.made else None
            )
