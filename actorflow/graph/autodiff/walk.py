"""The backward walk: from the gradients of some tensors to those of others, one node or loop at a time.

A node's rule is applied when the gradients of all its outputs are known. A while loop counts as a node: its inputs are
what enters it, its outputs what leaves it (`actorflow.graph.autodiff.loops`). So does a chain that has one gradient, by
the name of its last node (`actorflow.graph.autodiff.chains`). New nodes are made in the branch or loop where the
gradient that they compute belongs, so that they run when what they belong to does.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from actorflow.base.dtypes import variant
from actorflow.base.shapes import compatible, show
from actorflow.errors import describe
from actorflow.graph import scopes
from actorflow.graph.autodiff.branches import Mirror, branch_gradients, is_branching
from actorflow.graph.autodiff.chains import ChainUnit, chains_among
from actorflow.graph.autodiff.override import rule_of
from actorflow.graph.autodiff.unbroadcast import unbroadcast
from actorflow.graph.control_flow.context import Context, current
from actorflow.graph.control_flow.loop_context import LoopVariable, WhileContext
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.flow.control import group, identity
from actorflow.graph.ops.flow.lists import add_lists, list_zeros_like
from actorflow.graph.ops.indexed_slices import IndexedSlices, add_slices
from actorflow.graph.ops.math.arithmetic import add_n
from actorflow.graph.tensor import Operation, Tensor

Gradient: TypeAlias = "Tensor | IndexedSlices"
Unit: TypeAlias = "str | WhileContext"
"""A unit of the walk: a node or a chain, by name, or a loop."""

# The ops whose rules hand a gradient on as it is, so that one made of slices stays so.
_PASS_SLICES = {"Identity", "ReadVariableOp"}
_CARRIERS = {"Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch"}


class Walk:
    """One backward walk: what is known of the gradient of each tensor so far. `mirror` says where gradients are made."""

    def __init__(
        self, graph: Graph, xs: Sequence[Tensor], stops: Sequence[Tensor], colocate: bool, gate: bool, mirror: Mirror
    ) -> None:
        self.graph = graph
        self.mirror = mirror
        self.stops = list(stops)
        self._colocate = colocate
        self._gate = gate
        self._xs = {x.tensor_id for x in xs}
        self._stops = {s.tensor_id for s in stops}
        self._chains: dict[str, ChainUnit] = {}
        self._chain_of: dict[Unit, str] = {}
        """The names of chains by those of the nodes inside them."""
        self._reached = self._find_reached()
        self._parts: dict[TensorId, list[Gradient]] = {}

    def inner(self, xs: Sequence[Tensor], mirror: Mirror) -> Walk:
        """A walk of the same kind through the body of a loop."""
        return Walk(self.graph, xs, self.stops, self._colocate, self._gate, mirror)

    def run(self, ys: Sequence[Tensor], seeds: Sequence[Gradient | None]) -> None:
        """Gives each unit between its gradients, consumers first."""
        for y, seed in zip(ys, seeds):
            if seed is not None and self.wanted(y):
                self._parts.setdefault(y.tensor_id, []).append(seed)
        between, pending = self._pending(ys)
        if self._find_chains(between, ys):
            between, pending = self._pending(ys)
        ready = deque(unit for unit in between if not pending[unit])
        while ready:
            unit = ready.popleft()
            if isinstance(unit, WhileContext):
                self._visit_loop(unit)
            else:
                self._visit(self.graph.get_operation_by_name(unit))
            for tensor in self._inputs(unit):
                source = self._unit(tensor.op)
                if source in between:
                    pending[source] -= 1
                    if not pending[source]:
                        ready.append(source)
        if looped := [unit for unit in between if pending[unit]]:
            first = looped[0]
            node = self.graph.nodes[first] if isinstance(first, str) else None
            raise NotImplementedError(
                describe(
                    f"{first} is part of a cycle, whose gradient is not known.",
                    where=node.where if node is not None else None,
                    hint="Loops of primitives that were connected by hand, or came from to_bytes(), have no gradient; "
                    "build them with af.while_loop.",
                )
            )

    def _find_chains(self, between: Iterable[Unit], ys: Sequence[Tensor]) -> bool:
        """Makes units of the chains that have one gradient; says whether there are any."""
        if self.mirror.inside is not None:
            return False
        units = set(between)
        names = {unit for unit in units if isinstance(unit, str)}
        ends = self._xs | self._stops | {y.tensor_id for y in ys}
        self._chains = chains_among(self.graph, names, ends, lambda operation: self._unit(operation) in units)
        self._chain_of = {inner: name for name, chain in self._chains.items() for inner in chain.inner}
        if self._chains:
            self._reached = self._find_reached()
        return bool(self._chains)

    def total(self, tensor_id: TensorId) -> Gradient | None:
        """The sum of the parts of one tensor's gradient."""
        parts = self._parts.get(tensor_id)
        if not parts:
            return None
        if len(parts) > 1:
            with ExitStack() as entered:
                entered.enter_context(self.graph.gradient_of(tensor_id.node))
                entered.enter_context(self.made_in(self.graph.flow_of(tensor_id.node)))
                if self._colocate:  # where the first part is: the parts of a tensor mostly come from one device
                    entered.enter_context(self.graph.colocate_with(parts[0].op))
                parts[:] = [total(parts)]
        return parts[0]

    def add(self, tensor: Tensor, gradient: Gradient) -> None:
        """Takes a part of a tensor's gradient in, if anything is to be known of it."""
        if self.wanted(tensor):
            self._parts.setdefault(tensor.tensor_id, []).append(gradient)

    @contextmanager
    def made_in(self, flow: Context | None) -> Iterator[None]:
        """Nodes made inside the block are where the gradients of tensors in `flow` belong."""
        place = self.mirror.of(flow)
        if place is current(self.graph):  # where the program takes the gradient, and waits as the program says
            yield
            return
        with scopes.changed(self.graph, flow=place, controls=()):
            yield

    def _unit(self, operation: Operation) -> Unit:
        """The loop that `operation` is in, seen from where this walk goes, or the node itself."""
        name = operation.inputs[0].op.name if operation.type == "Exit" else operation.name
        flow = self.graph.flow_of(name)
        variable = self.mirror.variable_of(operation)
        unit: Unit = operation.name if variable is None else variable.enter.op.name
        while flow not in self.mirror.around:
            if isinstance(flow, WhileContext):
                unit = flow
            flow = flow.parent
        return self._chain_of.get(unit, unit)

    def _inputs(self, unit: Unit) -> Sequence[Tensor]:
        if isinstance(unit, WhileContext):
            return [v.initial for v in unit.variables] + [outer for _, outer in unit.invariants()]
        if unit in self._chains:
            return self._chains[unit].inputs
        operation = self.graph.get_operation_by_name(unit)
        return [self.mirror.brought(operation)] if self.mirror.passes(operation) else operation.inputs

    def _outputs(self, unit: Unit) -> Sequence[Tensor]:
        if isinstance(unit, WhileContext):
            return [v.exit for v in unit.variables if v.exit is not None]
        operation = self.graph.get_operation_by_name(unit)
        variable = self.mirror.variable_of(operation)
        if variable is None:
            return operation.outputs
        return [variable.merged, *([variable.value] if variable.value is not None else [])]

    def _find_reached(self) -> set[Unit]:
        """The units through which a derivative can get to an x."""
        reached: set[Unit] = set()
        stack = list(self._xs)
        while stack:
            for operation in self.mirror.users(stack.pop()):
                unit = self._unit(operation)
                if unit in reached:
                    continue
                if isinstance(unit, WhileContext):
                    if not unit.back_prop:
                        continue
                elif self.mirror.passes(operation) or self.mirror.variable_of(operation) is not None:
                    pass
                elif operation.type == "Enter":
                    raise NotImplementedError(
                        describe(
                            f"{operation.name} enters a loop of which only the nodes are known, so it has no gradient.",
                            where=operation.where,
                            hint="Build the loop with af.while_loop in this process.",
                        )
                    )
                elif rule_of(operation) is None:
                    continue
                reached.add(unit)
                stack.extend(
                    t.tensor_id for t in self._outputs(unit) if differentiable(t) and t.tensor_id not in self._stops
                )
        return reached

    def _pending(self, ys: Sequence[Tensor]) -> tuple[dict[Unit, None], Counter[Unit]]:
        """The units between xs and ys, and from how many edges each has to wait for a part."""
        between = dict.fromkeys(unit for y in ys if (unit := self._unit(y.op)) in self._reached)
        pending: Counter[Unit] = Counter()
        stack = list(between)
        while stack:
            for tensor in self._inputs(stack.pop()):
                source = self._unit(tensor.op)
                if source in self._reached:
                    pending[source] += 1
                    if source not in between:
                        between[source] = None
                        stack.append(source)
        return between, pending

    def wanted(self, tensor: Tensor) -> bool:
        """Whether anything is to be known of this tensor's gradient."""
        tensor_id = tensor.tensor_id
        if not differentiable(tensor):
            return False
        return tensor_id in self._xs or self._unit(tensor.op) in self._reached and tensor_id not in self._stops

    def _visit_loop(self, loop: WhileContext) -> None:
        from actorflow.graph.autodiff.loops import loop_gradients

        exits = [v.exit for v in loop.variables]
        incoming = [None if e is None or e.tensor_id in self._stops else self.total(e.tensor_id) for e in exits]
        if any(g is not None for g in incoming):
            with self.graph.gradient_of(loop.variables[0].enter.op.name):
                for tensor, gradient in loop_gradients(self, loop, incoming):
                    self.add(tensor, gradient)

    def _visit(self, operation: Operation) -> None:
        tensors = self._outputs(operation.name)
        outputs = [None if t.tensor_id in self._stops else self.total(t.tensor_id) for t in tensors]
        live = [dy for dy in outputs if dy is not None]
        if not live:
            return
        if (variable := self.mirror.variable_of(operation)) is not None:
            raise ValueError(_through_iterations(variable))
        if self.mirror.passes(operation):
            self.add(self.mirror.brought(operation), live[0])
            return
        if is_branching(operation):
            with self.graph.name_scope(f"{operation.name}_grad"), self.graph.gradient_of(operation.name):
                for tensor, part in branch_gradients(self.mirror, operation, outputs, self.wanted):
                    self.add(tensor, part)
            return
        chain = self._chains.get(operation.name)
        if chain is not None:
            for tensor, gradient in zip(chain.inputs, self._chain_gradients(operation, chain, outputs)):
                self.add(tensor, gradient)
            return
        gradients = self._input_gradients(operation, outputs)
        for tensor, own in zip(operation.inputs, gradients):
            if own is not None:
                self._parts.setdefault(tensor.tensor_id, []).append(own)

    def _chain_gradients(
        self, last: Operation, chain: ChainUnit, outputs: Sequence[Gradient | None]
    ) -> Sequence[Gradient]:
        """The gradients of what goes into a chain, by that of its last node."""
        (dy,) = outputs
        assert dy is not None
        with ExitStack() as entered:
            entered.enter_context(self.graph.name_scope(f"{last.name}_grad"))
            entered.enter_context(self.graph.gradient_of(last.name))
            if self._colocate:
                entered.enter_context(self.graph.colocate_with(last))
            slopes = chain.gradients(convert_to_tensor(dy))
            return [gradient for gradient in together(slopes) if gradient is not None] if self._gate else slopes

    def _input_gradients(self, operation: Operation, outputs: Sequence[Gradient | None]) -> list[Gradient | None]:
        graph, definition = self.graph, operation.definition
        rule = rule_of(operation)
        if not callable(rule):
            raise LookupError(
                describe(
                    f"No gradient is defined for operation {operation.name!r} (op type: {operation.type}).",
                    where=operation.where,
                    details=[f"the op is declared at {definition.where}"],
                    hint="Register one with @NAME.gradient, or declare gradient=None where there is none.",
                )
            )
        with ExitStack() as entered:
            entered.enter_context(graph.name_scope(f"{operation.name}_grad"))
            entered.enter_context(graph.gradient_of(operation.name))
            if (flow := graph.flow_of(operation.name)) is not None or self.mirror.inside is not None:
                entered.enter_context(self.made_in(flow))
            if self._colocate:
                entered.enter_context(graph.colocate_with(operation))
            dys = [output_gradient(operation, t, dy) for t, dy in zip(operation.outputs, outputs)]
            try:
                result = rule(operation, *dys)
            except Exception as error:
                error.add_note(
                    f"  while building the gradient of {operation.name} ({operation.type}), made at {operation.where}"
                )
                raise
            gradients = list(result) if isinstance(result, (list, tuple)) else [result]
            if len(gradients) != len(operation.inputs):
                raise ValueError(
                    f"The gradient rule of {operation.type} gave {len(gradients)} gradients, but {operation.name} has "
                    f"{len(operation.inputs)} inputs."
                )
            gradients = [
                fitted(operation, i, g) if g is not None and self.wanted(t) else None
                for i, (t, g) in enumerate(zip(operation.inputs, gradients))
            ]
            return together(gradients) if self._gate else gradients


def _through_iterations(variable: LoopVariable) -> str:
    return describe(
        f"Cannot compute gradient inside while loop through the initial value of a loop variable, {variable.initial.name}.",
        where=variable.initial.where,
        details=["the value in an iteration depends on it by all iterations before, whose body is not known yet"],
        hint="Take the gradient with respect to the loop variable that the body is given, or take it outside of the loop.",
    )


def differentiable(tensor: Tensor) -> bool:
    """Whether a tensor's values have derivatives: floats, complex numbers, and lists of them."""
    if tensor.dtype is not variant:
        return tensor.dtype.kind in "fc"
    seen: set[TensorId] = set()
    while tensor.op.type in _CARRIERS and tensor.tensor_id not in seen:
        seen.add(tensor.tensor_id)
        tensor = tensor.op.inputs[0]
    if tensor.op.type == "EagerPyFunc":
        return False  # the record of a call
    for other in tensor.op.inputs[1:]:  # what is put into a list
        if other.dtype.kind in "fcV":
            return True
    element = tensor.op.node.attrs.get("element_dtype")
    return True if element is None else element.kind in "fcV"


def zero_gradient(tensor: Tensor) -> Tensor:
    """Zeros in the place of a gradient of `tensor` that there is not."""
    return list_zeros_like(tensor) if tensor.dtype is variant else zeros_like(tensor)


def fitted(operation: Operation, index: int, gradient: Any) -> Gradient:
    """The gradient that a rule gave for an input, checked against the input's shape and type."""
    tensor = operation.inputs[index]
    fitting: Gradient = (
        gradient
        if isinstance(gradient, (Tensor, IndexedSlices))
        else convert_to_tensor(gradient, tensor.dtype.base_dtype)
    )
    if fitting.dtype is not tensor.dtype.base_dtype:
        raise TypeError(
            f"The gradient rule of {operation.type} gave a {fitting.dtype} for input {index} of {operation.name}, "
            f"which is {tensor.dtype.base_dtype}."
        )
    if operation.definition.broadcasts:
        fitting = unbroadcast(convert_to_tensor(fitting), operation, index)
    if isinstance(fitting, IndexedSlices):
        return fitting
    if not compatible(fitting.static_shape, tensor.static_shape):
        raise ValueError(
            f"The gradient rule of {operation.type} gave shape {show(fitting.static_shape)} for input {index} of "
            f"{operation.name}, which has shape {show(tensor.static_shape)}."
        )
    fitting.set_shape(tensor.static_shape)
    return fitting


def output_gradient(operation: Operation, output: Tensor, dy: Gradient | None) -> Gradient | None:
    """The gradient that a rule gets for an output: zeros if no y uses the output, None if the output has no derivative."""
    if dy is None:
        return zero_gradient(output) if differentiable(output) else None
    return dy if operation.type in _PASS_SLICES else convert_to_tensor(dy)


def total(parts: Sequence[Gradient]) -> Gradient:
    """The sum of several parts of one tensor's gradient."""
    slices = [part for part in parts if isinstance(part, IndexedSlices)]
    if len(slices) == len(parts):
        return add_slices(slices)
    dense = [convert_to_tensor(part) for part in parts]
    if dense[0].dtype is variant:
        total = dense[0]
        for other in dense[1:]:
            total = add_lists(total, other)
        return total
    return add_n(dense)


def together(gradients: Sequence[Gradient | None]) -> list[Gradient | None]:
    """The same gradients, each of which is available only when all are. None entries stay None."""
    present = [g for g in gradients if g is not None]
    if len(present) < 2:
        return list(gradients)
    gate = group(*(g.op for g in present))
    with gate.graph.control_dependencies([gate]):
        return [g if g is None else _gated(g) for g in gradients]


def _gated(gradient: Gradient) -> Gradient:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(identity(gradient.values), gradient.indices, gradient.dense_shape)
    return identity(gradient)
