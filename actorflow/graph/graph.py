"""`Graph`: an append-only list of nodes (paper section 2)."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

from actorflow.base import shapes
from actorflow.base.dtypes import DType, float32
from actorflow.base.registry import opdef
from actorflow.base.reports.user_line import user_line
from actorflow.base.unpicklable import unpicklable
from actorflow.errors import Where, describe, with_topic
from actorflow.graph import scopes
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.interchange import Interchange
from actorflow.graph.node import NO_ATTRS, Node, TensorId
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public

_NONE_GRADIENTS = 20
_MOST_INPUTS = 4
_keys = itertools.count()


@public("af")
class Graph(Interchange):
    """A dataflow graph.

    Nodes are only ever added; `version` counts them. A session sees nodes added later at its next run. Dtypes and
    static shapes are inferred as a node is made, so that mistakes raise at the line that made them.

    Example:
        >>> graph = af.Graph()
        >>> with graph.as_default():
        ...     x = af.placeholder(af.float32, name="x")
        ...     y = af.square(x, name="y")
        >>> [op.name for op in graph.get_operations()]
        ['x', 'y']
        >>> graph.get_tensor_by_name("y:0") is y
        True
        >>> async with af.Session(graph=graph) as session:
        ...     print(await session.run("y:0", {"x:0": 3.0}))
        9.0
    """

    eager: ClassVar[bool] = False
    """Whether this is the graph that runs each node as it is made (`actorflow.engine.eager`)."""
    takes_values: ClassVar[bool] = False
    """Whether tensors that have their values may enter nodes: of functions that are traced from eager programs."""
    takes_outer: ClassVar[bool] = False
    """Whether tensors of graphs around may enter nodes, which then belong to this graph: of functions of datasets."""

    __reduce_ex__ = unpicklable(
        "A graph is not pickled: variables, collections and functions of this process belong to it. Hand over its "
        "nodes with to_bytes() and Graph.from_bytes()."
    )

    def __init__(self) -> None:
        self.key = next(_keys)
        """A number that no other graph of the process has or had; an address may come again."""
        self._nodes: dict[str, Node] = {}
        self.nodes: Mapping[str, Node] = MappingProxyType(self._nodes)
        """All nodes by name, in the order in which they were made."""
        self._operations: dict[str, Operation] = {}
        self._names_in_use: dict[str, int] = {}
        self._consumers: dict[TensorId, list[str]] = {}
        self._collections: dict[str, list[Any]] = {}
        self._finalized = False
        self._edits = 0
        self._has_run = False
        self._made_by_line: Counter[Where] = Counter()
        self.none_gradients: deque[Any] = deque(maxlen=_NONE_GRADIENTS)
        """The latest gradients that were None, for the error of a run that fetches one (`actorflow.graph.autodiff.reasons`)."""
        self._flows: dict[str, Any] = {}
        self.seed: int | None = None

    # The parts of the graph

    @property
    def home(self) -> Graph:
        """The graph to which the variables belong that are made here: another one while a function is traced."""
        return self

    @property
    def version(self) -> int:
        """Grows with each change, so that equal versions mean an equal graph."""
        return len(self._nodes) + self._edits

    # Adding nodes

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Mapping[str, Any] = NO_ATTRS,
        name: str | None = None,
        where: Where | None = None,
    ) -> Operation:
        """Adds a node under the scopes in force here.

        Example:
            >>> graph = af.Graph()
            >>> with graph.as_default():
            ...     x = af.placeholder(af.float32, [3])
            >>> graph.create_op("Square", [x], name="y").outputs[0]
            <actorflow.Tensor 'y:0' shape=(3,) dtype=float32>

        Args:
            op_type: the type of the operation, as it is registered, such as `MatMul`.
            inputs: the tensors that enter it, of this graph.
            attrs: its attributes by name; those that have defaults or are inferred from the inputs may be left out.
            name: the name of the node within the name scope, made unique; the type unless given.
            where: the user's line that made it; the line that calls actorflow unless given.

        Raises:
            TypeError: an input has a wrong element type.
            ValueError: shapes contradict, or an input belongs to another graph.
            RuntimeError: the graph is finalized.
        """
        self._check_open()
        definition = opdef.lookup(op_type)
        where = where or user_line()
        scope = scopes.of(self)
        if op_type in scope.gradients:
            attrs = {**attrs, "_gradient_op_type": scope.gradients[op_type]}
        node_name = self._node_name(name or op_type, scope)
        for tensor in inputs:
            if tensor.graph is not self:
                raise _foreign_input(tensor, node_name, op_type, where)
        controls = self._controls(scope, inputs)
        if scope.flow is not None:
            inputs, controls = scope.flow.admit(op_type, inputs, controls)
        elif self._flows:
            self._check_outside(node_name, op_type, where, inputs, controls)
        try:
            definition.check_inputs([t.dtype for t in inputs])
            dtypes, inferred = definition.infer(self._inference(definition, inputs, attrs))
        except (TypeError, ValueError) as error:
            text = shapes.in_brackets(str(error))
            raise type(error)(describe(text, node=node_name, op=op_type, where=where, details=_kinds(inputs))) from None
        if scope.lossy and float32 in dtypes:
            attrs = {**attrs, "_lossy": True}
        node = Node(
            name=node_name,
            op=op_type,
            inputs=tuple(t.tensor_id for t in inputs),
            controls=controls,
            attrs=MappingProxyType(dict(attrs)) if attrs else NO_ATTRS,
            dtypes=dtypes,
            shapes=inferred,
            where=where,
            origin=scope.origin,
            colocate=scope.colocate,
        )
        operation = self.add_node(node)
        if scope.flow is not None:
            self._flows[node_name] = scope.flow
        self._set_device(operation, scope)
        for control in scope.controls:
            control.made_inside.add(node_name)
        if self._has_run and where is not None:
            self._watch_growth(where)
        return operation

    def add_node(self, node: Node) -> Operation:
        """Adds a finished record, as a deserialised graph does. Its inputs need not exist yet.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     a = af.constant(1.0, name="a")
            >>> copy = af.Graph()
            >>> copy.add_node(a.op.node).name
            'a'

        Raises:
            ValueError: its name is taken.
        """
        self._check_open()
        if node.name in self._nodes:
            raise ValueError(f"The graph has a node {node.name!r} already, made at {self._nodes[node.name].where}.")
        self._nodes[node.name] = node
        self._names_in_use.setdefault(node.name.lower(), 1)
        for tensor_id in dict.fromkeys(node.inputs):
            self._consumers.setdefault(tensor_id, []).append(node.name)
        operation = self._operations[node.name] = Operation(self, node)
        return operation

    def add_control_input(self, operation: Operation, other: Operation) -> None:
        """Makes `operation` wait for `other`.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     first, second = af.no_op(name="first"), af.no_op(name="second")
            >>> graph.add_control_input(second, first)
            >>> second.control_inputs
            [<actorflow.Operation 'first' type=NoOp>]
        """
        self._check_open()
        if other.graph is not self or operation.graph is not self:
            raise ValueError(f"{operation.name} and {other.name} belong to different graphs.")
        node = self._nodes[operation.name]
        if other.name not in node.controls:
            self._nodes[operation.name] = replace(node, controls=(*node.controls, other.name))
            self._edits += 1

    def flow_of(self, name: str) -> Any:
        """The branch or loop (`actorflow.graph.control_flow`) in which the outputs of a node are, or None.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     total = af.while_loop(lambda i: i < 3, lambda i: i + 1, [af.constant(0)])
            >>> graph.flow_of(total.op.name) is None  # outside of the loop again
            True
        """
        return self._flows.get(name)

    def set_flow(self, operation: Operation, flow: Any) -> None:
        """Says where the outputs of a node are that leads into a branch or loop, or out of it."""
        if flow is None:
            self._flows.pop(operation.name, None)
        else:
            self._flows[operation.name] = flow

    def _check_outside(
        self, name: str, op_type: str, where: Where | None, inputs: Sequence[Tensor], controls: Sequence[str]
    ) -> None:
        for tensor in inputs:
            if (flow := self._flows.get(tensor.op.name)) is not None:
                raise ValueError(
                    describe(
                        f"The input {tensor.name} is inside of {flow}, and can't be used outside.",
                        node=name,
                        op=op_type,
                        where=where,
                        details=[f"{tensor.name} was made at {tensor.where}"],
                        hint="Return it from the function that makes it.",
                    )
                )
        for control in controls:
            flow = self._flows.get(control)
            if flow is not None and flow.loop is not None and self._nodes[control].op != "Const":
                raise ValueError(
                    describe(
                        f"{control} is inside of {flow}, and nothing outside can wait for it.",
                        node=name,
                        op=op_type,
                        where=where,
                        details=[f"{control} was made at {self._nodes[control].where}"],
                        hint="Wait for an output of the loop.",
                    )
                )

    def close_loop(self, merge: Operation, value: Tensor) -> None:
        """Makes `value`, of a NextIteration, the second input of a loop's Merge."""
        self.rewrite(merge, inputs=(merge.node.inputs[0], value.tensor_id))

    def rewrite(self, operation: Operation, **changes: Any) -> None:
        """Changes fields of a node that no run has used yet. Its outputs keep their types and shapes."""
        self._check_open()
        before = self._nodes[operation.name]
        after = self._nodes[operation.name] = replace(before, **changes)
        for tensor_id in set(before.inputs) - set(after.inputs):
            self._consumers[tensor_id].remove(operation.name)
        for tensor_id in set(after.inputs) - set(before.inputs):
            self._consumers.setdefault(tensor_id, []).append(operation.name)
        self._edits += 1

    def refine_shape(self, tensor: Tensor, shape: shapes.Shape) -> None:
        """Adds to what is known of a tensor's shape.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.placeholder(af.float32, [None, 3])
            >>> graph.refine_shape(x, (2, None))
            >>> x.shape
            TensorShape([2, 3])
        """
        node = self._nodes[tensor.op.name]
        merged = list(node.shapes)
        try:
            merged[tensor.value_index] = shapes.merge(merged[tensor.value_index], shape)
        except ValueError as error:
            raise ValueError(describe(str(error), node=node.name, op=node.op, where=node.where)) from None
        if tuple(merged) != node.shapes:
            self._nodes[node.name] = replace(node, shapes=tuple(merged))
            self._edits += 1

    def _inference(
        self, definition: opdef.OpDef, inputs: Sequence[Tensor], attrs: Mapping[str, Any]
    ) -> opdef.Inference:
        from actorflow.graph.constant_value import constant_value, shape_value

        nodes = self._nodes
        records = [nodes[t.op.name] for t in inputs]
        return opdef.Inference(
            definition,
            attrs,
            [n.dtypes[t.value_index] for n, t in zip(records, inputs, strict=True)],
            [n.shapes[t.value_index] for n, t in zip(records, inputs, strict=True)],
            lambda i: constant_value(nodes, inputs[i].tensor_id),
            lambda i, rank: shape_value(nodes, inputs[i].tensor_id, rank),
        )

    def _controls(self, scope: scopes.Scopes, inputs: Sequence[Tensor]) -> tuple[str, ...]:
        """Control inputs from the blocks in force, less those that a data input waits for already."""
        if not scope.controls:
            return ()
        names_out: dict[str, None] = {}
        names = [t.op.name for t in inputs]
        for control in scope.controls:
            if not any(name in control.made_inside for name in names):
                names_out.update(dict.fromkeys(c for c in control.waits_for if c not in names))
        return tuple(names_out)

    def _set_device(self, operation: Operation, scope: scopes.Scopes) -> None:
        if scope.colocate:
            self.set_device(operation, self._nodes[scope.colocate[0]].device)
            return
        chosen = self.asked(operation, scope.devices, DeviceSpec())
        self.set_device(operation, str(self._beside_reference(operation, chosen)))

    def asked(
        self, operation: Operation, devices: Sequence[str | scopes.DeviceFunction | None], chosen: DeviceSpec
    ) -> DeviceSpec:
        """The device that scopes ask for where an operation asks for a part of it already.

        Args:
            operation: the node.
            devices: what the scopes ask for, the innermost last; None ends the search.
            chosen: the part that is decided.
        """
        for entry in reversed(devices):
            if entry is None:
                break
            if callable(entry):
                self.set_device(operation, str(chosen))  # so that the function sees what scopes inside its own ask for
                device = entry(operation)
            else:
                device = entry
            if device:
                chosen = chosen.merge(DeviceSpec.parse(str(device)))
        return chosen

    def set_device(self, operation: Operation, device: str) -> None:
        """Asks for another device for a node (its full or partial name, "" for any), as long as no run has placed it.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.ones([2])
            >>> graph.set_device(x.op, "/device:CPU:0")
            >>> x.device
            '/device:CPU:0'
        """
        node = self._nodes[operation.name]
        if node.device != device:
            self._nodes[operation.name] = replace(node, device=device)

    def set_relations(self, operation: Operation, colocate: tuple[str, ...], origin: str | None) -> None:
        """Says which nodes share the device of a node, and for which node it computes the gradient.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     a, b = af.ones([2], name="a"), af.ones([2], name="b")
            >>> graph.set_relations(b.op, ("a",), None)
            >>> b.op.colocation_groups()
            ['loc:@a']

        Args:
            operation: the node.
            colocate: the names of the nodes that share its device; empty leaves them as they are.
            origin: the name of the node whose gradient it computes; None leaves it as it is.
        """
        node = self._nodes[operation.name]
        self._nodes[operation.name] = replace(node, colocate=colocate or node.colocate, origin=origin or node.origin)

    def _beside_reference(self, operation: Operation, chosen: DeviceSpec) -> DeviceSpec:
        """The device of a node that the scopes want on `chosen`: if it takes a reference that is in another task, there."""
        for tensor_id in operation.node.inputs:
            source = self._nodes[tensor_id.node]
            if source.dtypes[tensor_id.port].is_ref:
                held = DeviceSpec.parse(source.device)
                theirs, mine = held.task_of(), chosen.task_of()
                return chosen if DeviceSpec() in (theirs, mine) or theirs == mine else held
        return chosen

    def _check_open(self) -> None:
        if self._finalized:
            raise RuntimeError(
                with_topic(
                    "Graph is finalized and cannot be modified: nothing can be added or changed. Build it before finalize().",
                    "graph-is-finalized",
                )
            )

    def finalize(self) -> None:
        """Makes each later addition an error.

        Example:
            >>> graph = af.Graph()
            >>> graph.finalize()
            >>> with graph.as_default():
            ...     af.ones([2])
            Traceback (most recent call last):
                ...
            RuntimeError: Graph is finalized and cannot be modified: nothing can be added or changed. Build it ...
        """
        self._finalized = True

    @property
    def finalized(self) -> bool:
        return self._finalized

    def _unsafe_unfinalize(self) -> None:
        """Takes `finalize` back: for whoever has finalized the graph for a time, as monitored sessions do."""
        self._finalized = False

    def as_default(self) -> AbstractContextManager[Graph]:
        """Makes this the graph to which ops add, inside the block."""
        return scopes.default_graph(self)

    def __len__(self) -> int:
        return len(self._nodes)

    def __str__(self) -> str:
        """One line a node, in the canonical form that tests of passes compare."""
        return "\n".join(str(node) for node in self._nodes.values())

    def __repr__(self) -> str:
        return f"<actorflow.Graph of {len(self._nodes)} nodes at version {self.version}>"


def _foreign_input(tensor: Tensor, node: str, op: str, where: Where | None) -> ValueError:
    """The error of a node with an input of another graph."""
    hint = "Build what belongs together inside of one graph: with graph.as_default(): ..."
    return ValueError(
        describe(
            f"The input {tensor.name} belongs to another graph than the node that it enters.",
            node=node,
            op=op,
            where=where,
            details=[f"{tensor.name} was made at {tensor.where}"],
            hint=with_topic(hint, "another-graph"),
        )
    )


def _kinds(inputs: Sequence[Tensor]) -> list[str]:
    """A line for each input; of many, for the first of each type and shape."""
    lines = [f"{t.name} {t.dtype} {shapes.show(t.static_shape)}" for t in inputs]
    shown = list(range(len(inputs)))
    if len(shown) > _MOST_INPUTS:
        firsts: dict[tuple[DType, shapes.Shape], int] = {}
        for i, t in enumerate(inputs):
            firsts.setdefault((t.dtype, t.static_shape), i)
        shown = list(firsts.values())[:_MOST_INPUTS]
    left = len(inputs) - len(shown)
    return [f"input {i}: {lines[i]}" for i in shown] + [f"... and {left} inputs more"] * (left > 0)
