"""`FuncGraph`: the graph of a function that is traced from an eager program.

Tensors that have values, and variables of the program, may be used in it: they become its inputs. Nodes with effects are put in
the order of the program: each waits for those before it that touch the same variable, or that touch the world outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from actorflow.base.registry import opdef
from actorflow.base.reports.user_line import user_line
from actorflow.engine.eager.scope import eager_graph
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.engine.session.devices import shared_resources
from actorflow.errors import Where, describe
from actorflow.graph import scopes
from actorflow.graph.graph import Graph
from actorflow.graph.node import NO_ATTRS
from actorflow.graph.tensor import Operation, Tensor

CONTAINER = "eager"
"""The container in which sessions find the variables of eager programs."""
_WORLD = "the world"
_RESULTS = ("Identity", "NextIteration")


class Order:
    """Which nodes touched something last: the last write, the ends of branches and loops that may have written since, and the
    reads after it."""

    __slots__ = ("reads", "writes")

    def __init__(self) -> None:
        self.writes: list[str] = []
        """The nodes that a read waits for."""
        self.reads: list[str] = []

    @property
    def all(self) -> list[str]:
        """The nodes that a write waits for."""
        return [*self.writes, *self.reads]


class FuncGraph(Graph):
    """The graph to which a function of Python adds its nodes. `may_make` says whether it may make variables, `ordered`
    whether nodes with effects run in the order in which they are made."""

    takes_values = True

    def __init__(self, name: str, may_make: bool, ordered: bool = True, target: str | None = None) -> None:
        super().__init__()
        self.name = name
        self.target = target
        """The target of the sessions that run it; None is this process."""
        self.captures: dict[int, tuple[EagerTensor, Tensor]] = {}
        """Tensors of the program that have values, by identity, each with the placeholder that stands for it."""
        self.handles: dict[int, tuple[Any, Tensor]] = {}
        """Variables of the program, by identity, each with its handle here. They live as long as the graph."""
        self.devices_of: dict[int, Any] = {}
        """The devices that were asked for at the first use of each variable that is to live on a task of a cluster."""
        self.made: list[Any] = []
        self.uses_randomness = False
        self.has_flows = False
        self._may_make = may_make
        self._ordered = ordered
        self._orders: dict[tuple[Any, Any], Order] = {}
        self._effects: dict[str, None] = {}

    @contextmanager
    def without_order(self) -> Iterator[None]:
        """A block whose nodes are no part of the program: they wait for nothing, and nothing waits for them."""
        before, self._ordered = self._ordered, False
        try:
            yield
        finally:
            self._ordered = before

    @property
    def home(self) -> Graph:
        """The graph of the program."""
        return eager_graph()

    # The tensors that come in

    def capture(self, tensor: EagerTensor) -> Tensor:
        """The node that stands for a value of the program: a constant if the value can have no gradient, else an input."""
        entry = self.captures.get(id(tensor))
        if entry is not None:
            return entry[1]
        with scopes.changed(self, flow=None, controls=(), names="", devices=(), colocate=()):
            if tensor._dtype.kind in "fcV" and not tensor._dtype.is_ref:
                attrs = {"dtype": tensor._dtype, "shape": tensor.static_shape}
                placeholder = super().create_op("Placeholder", (), attrs, "captured").outputs[0]
                self.captures[id(tensor)] = tensor, placeholder
                return placeholder
            value = np.asarray(tensor.numpy(), dtype=tensor._dtype.numpy_dtype)
            return super().create_op("Const", (), {"value": value, "dtype": tensor._dtype}, "captured").outputs[0]

    def handle_of(self, variable: Any) -> Tensor:
        """The handle of a variable of the program in this graph."""
        entry = self.handles.get(id(variable))
        if entry is None:
            attrs = {
                "shape": variable.static_shape,
                "dtype": variable.dtype,
                "container": CONTAINER,
                "shared_name": variable.unique_id,
            }
            home = variable._home
            if home is not None and home.target != self.target:
                raise RuntimeError(
                    describe(
                        f"The variable {variable.name} lives on {home.target}, where functions of that device use it.",
                        where=user_line(),
                        hint="Take its value along: x = w.numpy().",
                    )
                )
            devices = () if self.target is None else scopes.of(self).devices if home is None else home.devices
            with scopes.changed(self, flow=None, controls=(), names="", devices=devices, colocate=()):
                handle = super().create_op("VariableV2", (), attrs, variable.name.partition(":")[0]).outputs[0]
            entry = self.handles[id(variable)] = variable, handle
            self.devices_of[id(variable)] = devices
            if self.target is None:
                _publish(variable)
        return entry[1]

    def lifted(self, initial_value: Any) -> Any:
        """An initial value that may have nodes here, as a value outside of the graph may."""
        if not self._may_make:
            raise ValueError(
                describe(
                    "tf.function-decorated function tried to create variables on non-first call.",
                    where=user_line(),
                    hint="Make the variable outside of the function, or in its first call only.",
                )
            )
        if not isinstance(initial_value, Tensor) or isinstance(initial_value, EagerTensor):
            return initial_value
        from actorflow.blocking import Session

        needs = [initial_value.op]
        for operation in needs:
            if operation.type == "Placeholder":
                raise ValueError(
                    describe(
                        "The initial value of a variable can't depend on the arguments of the function that makes it.",
                        where=user_line(),
                        hint="Give a function, af.Variable(lambda: ...), or a value of Python.",
                    )
                )
            needs.extend(t.op for t in operation.inputs if t.op not in needs)
        with Session(graph=self) as session:
            return session.run(initial_value)

    def made_variable(self, variable: Any) -> None:
        """Notes that the function has made a variable."""
        self.made.append(variable)

    def variables_used(self) -> list[Any]:
        """The variables that it has touched so far."""
        return [variable for variable, _ in self.handles.values()]

    # The nodes that are made

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Mapping[str, Any] = NO_ATTRS,
        name: str | None = None,
        where: Where | None = None,
    ) -> Operation:
        """Adds a node, in the order of the program if the node has an effect.

        Args:
            op_type, inputs, attrs, name, where: see `Graph.create_op`.

        Raises:
            TypeError, ValueError, RuntimeError: see `Graph.create_op`.
        """
        inputs = [self.capture(t) if isinstance(t, EagerTensor) else t for t in inputs]
        flow = scopes.of(self).flow
        definition = opdef.lookup(op_type)
        if flow is not None:
            self.has_flows = True
        if definition.module.startswith("actorflow.graph.ops.random") and definition.stateful:
            self.uses_randomness = True
        touched = self._touched(definition, inputs) if self._ordered else []
        waits: list[str] = []
        around = _chain(flow)
        for key, writes in touched:
            for within in around:
                if (order := self._orders.get((key, within))) is not None:
                    waits.extend(order.all if writes else order.writes)
        # A node in a loop can't wait for nodes around it, so each Enter does; and a value that leaves a branch or an
        # iteration comes after all that was done there.
        awaited = around if op_type == "Enter" else [flow] if op_type in _RESULTS and flow is not None else []
        if awaited:
            for (_, within), order in self._orders.items():
                if within in awaited:
                    waits.extend(order.all)
        if waits:
            with scopes.changed(
                self, controls=(*scopes.of(self).controls, scopes.ControlScope(tuple(dict.fromkeys(waits))))
            ):
                operation = super().create_op(op_type, inputs, attrs, name, where)
        else:
            operation = super().create_op(op_type, inputs, attrs, name, where)
        for key, writes in touched:
            order = self._orders.setdefault((key, flow), Order())
            if writes:
                order.writes, order.reads = [operation.name], []
                if flow is None:
                    self._effects[operation.name] = None
            else:
                order.reads.append(operation.name)
        if op_type == "Merge":
            for inner in {self.flow_of(t.op.name) for t in inputs} - {None}:
                self._leave(inner, operation.name)
        elif op_type == "NextIteration":  # the exits of the loop are there already
            self._leave(flow, flow.variables[0].exit.op.name)  # type: ignore[union-attr]
        return operation

    def _touched(self, definition: opdef.OpDef, inputs: Sequence[Tensor]) -> list[tuple[Any, bool]]:
        """The resources that a node touches, and whether it changes them."""
        if definition.has_ref_input:
            handles = [t.op.name for t in inputs if t.dtype.is_ref]
            reads = not definition.writes and definition.type in ("ReadVariableOp", "IsVariableInitialized")
            return [(_origin(self, handle), not reads) for handle in dict.fromkeys(handles)]
        effect = definition.stateful and definition.type not in ("Placeholder", "VariableV2")
        if not effect or definition.module.startswith("actorflow.graph.ops.random"):
            return []
        return [(_WORLD, True)]

    def _leave(self, inner: Any, end: str) -> None:
        """A value that leaves a branch or loop comes after all that it touched, so a node that waits for that waits for
        `end`."""
        for (key, within), order in list(self._orders.items()):
            if within is inner:
                outer = self._orders.setdefault((key, inner.parent), Order())
                (outer.writes if order.writes else outer.reads).append(end)
                if order.writes and inner.parent is None:
                    self._effects[end] = None

    def effects(self) -> list[Operation]:
        """The nodes that a call has to run although nothing takes their results."""
        return [self.get_operation_by_name(name) for name in self._effects]


def _chain(flow: Any) -> list[Any]:
    """A branch or loop, and those around it, out to none."""
    contexts = []
    while flow is not None:
        contexts.append(flow)
        flow = getattr(flow, "parent", None)
    return [*contexts, None]


def _origin(graph: Graph, handle: str) -> str:
    """The variable behind a handle, which branches and loops pass on."""
    node = graph.nodes[handle]
    while node.op in ("Switch", "Enter", "Identity", "RefSwitch", "RefEnter"):
        node = graph.nodes[node.inputs[0].node]
    return node.name


def _publish(variable: Any) -> None:
    """Lets sessions of this process find a variable of the program, as long as it lives."""
    import weakref

    for device in eager_graph().devices():  # type: ignore[attr-defined]
        container = shared_resources(device.name)._container(CONTAINER)
        key = (VariableState, variable.unique_id)
        if key not in container:
            container[key] = variable._state
            weakref.finalize(variable, container.pop, key, None)
