"""`gradients`: derivatives by extending the graph (paper section 4.1).

The walk goes backward over the nodes between xs and ys. Each node waits until all its consumers have given their part;
the parts of one tensor are summed, and the rule of the node's op builds the nodes of its inputs' gradients.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

from actorflow.autodiff.indexed_slices import IndexedSlices, add_slices
from actorflow.autodiff.unbroadcast import unbroadcast
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.graph import Graph
from actorflow.graph.node import Endpoint, user_line
from actorflow.graph.tensor import Operation, Tensor
from actorflow.ops.arithmetic import add_n
from actorflow.ops.control import group, identity
from actorflow.ops.filling import ones_like, zeros_like
from actorflow.shapes import compatible, show

Gradient: TypeAlias = "Tensor | IndexedSlices"

# The ops whose rules hand a gradient on as it is, so that one made of slices stays so.
_PASS_SLICES = {"Identity", "ReadVariableOp"}


class AggregationMethod:
    """TensorFlow's names for ways to sum gradients. All of them make one AddN here, which adds in place."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
) -> list[Gradient | None]:
    """The derivatives of the sum of `ys` with respect to each of `xs` (paper section 4.1; `tf.gradients`).

    For each x the result is a tensor of x's type and shape, sum over y of (dy/dx)ᵀ · grad_y; `IndexedSlices` where only
    some rows of x were gathered; None where no y depends on x in a differentiable way. Integers, booleans and strings
    have no derivative. For complex types it is TensorFlow's convention: the gradient of a holomorphic f is
    conj(f'(x)) · grad_y.

    Args:
        ys: a tensor or a list of them.
        xs: a tensor, a variable (for which all its reads count), or a list of them.
        grad_ys: weights of the ys, of their shapes and types; None, or None entries, stand for ones.
        name: the scope of the nodes made; those for node `a/b` are named `gradients/a/b_grad/...`.
        colocate_gradients_with_ops: put them on the devices of their forward nodes.
        gate_gradients: make all gradients of a node's inputs wait for each other.
        aggregation_method: one of `AggregationMethod`.
        stop_gradients: tensors (or one) that count as constants for all xs; an x among them still gets its own
            gradient.

    Raises:
        LookupError: an op on the way has no gradient registered, nor is declared to have none.
        TypeError: an x or y is no tensor, a complex y has no grad_y, or a type does not fit.
        ValueError: the lengths of ys and grad_ys differ, a shape does not fit, or a tensor is of another graph.
    """
    y_list = [_as_tensor(y, f"ys[{i}]") for i, y in enumerate(_as_list(ys))]
    x_list = [_endpoint_owner(x, f"xs[{i}]") for i, x in enumerate(_as_list(xs))]
    stops = [_endpoint_owner(s, f"stop_gradients[{i}]") for i, s in enumerate(_as_list(stop_gradients))]
    if not y_list:
        return [None] * len(x_list)
    graph = y_list[0].graph
    for tensor in (*y_list, *x_list, *stops):
        if tensor.graph is not graph:
            raise ValueError(
                describe(f"{tensor.name} belongs to another graph than {y_list[0].name}.", where=user_line())
            )
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"aggregation_method is one of af.AggregationMethod, but {aggregation_method!r} was given.")
    with graph.as_default(), graph.name_scope(name):
        seeds = _seeds(y_list, grad_ys)
        walk = _Walk(graph, x_list, stops, colocate_gradients_with_ops, gate_gradients)
        walk.run(y_list, seeds)
        return [walk.total(x.endpoint) for x in x_list]


class _Walk:
    """One backward walk: what is known of the gradient of each tensor so far."""

    def __init__(self, graph: Graph, xs: Sequence[Tensor], stops: Sequence[Tensor], colocate: bool, gate: bool) -> None:
        self._graph = graph
        self._colocate = colocate
        self._gate = gate
        self._xs = {x.endpoint for x in xs}
        self._stops = {s.endpoint for s in stops}
        self._reached = self._find_reached()
        self._parts: dict[Endpoint, list[Gradient]] = {}

    def run(self, ys: Sequence[Tensor], seeds: Sequence[Tensor | None]) -> None:
        """Gives each node between its gradients, consumers first."""
        for y, seed in zip(ys, seeds):
            if seed is not None and self._wanted(y):
                self._parts.setdefault(y.endpoint, []).append(seed)
        between, pending = self._pending(ys)
        ready = deque(name for name in between if not pending[name])
        while ready:
            operation = self._graph.get_operation_by_name(ready.popleft())
            self._visit(operation)
            for endpoint in operation.node.inputs:
                if endpoint.node in between:
                    pending[endpoint.node] -= 1
                    if not pending[endpoint.node]:
                        ready.append(endpoint.node)
        if looped := [name for name in between if pending[name]]:
            node = self._graph.nodes[looped[0]]
            raise NotImplementedError(
                describe(f"{node.name} is part of a loop, whose gradient is not known.", op=node.op, where=node.where)
            )

    def total(self, endpoint: Endpoint) -> Gradient | None:
        """The sum of the parts of one tensor's gradient."""
        parts = self._parts.get(endpoint)
        if not parts:
            return None
        if len(parts) > 1:
            with self._graph.gradient_of(endpoint.node):
                parts[:] = [_sum(parts)]
        return parts[0]

    def _find_reached(self) -> set[str]:
        """The nodes through which a derivative can get to an x."""
        reached: set[str] = set()
        stack = list(self._xs)
        while stack:
            for operation in self._graph.consumers(stack.pop()):
                if operation.name in reached or operation.definition.gradient is None:
                    continue
                reached.add(operation.name)
                stack.extend(
                    t.endpoint for t in operation.outputs if _differentiable(t) and t.endpoint not in self._stops
                )
        return reached

    def _pending(self, ys: Sequence[Tensor]) -> tuple[dict[str, None], Counter[str]]:
        """The nodes between xs and ys, and from how many edges each has to wait for a part."""
        between = dict.fromkeys(y.op.name for y in ys if y.op.name in self._reached)
        pending: Counter[str] = Counter()
        stack = list(between)
        while stack:
            for endpoint in self._graph.nodes[stack.pop()].inputs:
                if endpoint.node in self._reached:
                    pending[endpoint.node] += 1
                    if endpoint.node not in between:
                        between[endpoint.node] = None
                        stack.append(endpoint.node)
        return between, pending

    def _wanted(self, tensor: Tensor) -> bool:
        """Whether anything is to be known of this tensor's gradient."""
        endpoint = tensor.endpoint
        if not _differentiable(tensor):
            return False
        return endpoint in self._xs or endpoint.node in self._reached and endpoint not in self._stops

    def _visit(self, operation: Operation) -> None:
        outputs = [None if t.endpoint in self._stops else self.total(t.endpoint) for t in operation.outputs]
        if all(dy is None for dy in outputs):
            return
        found = self._input_gradients(operation, outputs)
        for tensor, gradient in zip(operation.inputs, found):
            if gradient is not None:
                self._parts.setdefault(tensor.endpoint, []).append(gradient)

    def _input_gradients(self, operation: Operation, outputs: Sequence[Gradient | None]) -> list[Gradient | None]:
        graph, definition = self._graph, operation.definition
        rule = definition.gradient
        if not callable(rule):
            raise LookupError(
                describe(
                    f"No gradient is defined for operation {operation.name!r} (op type: {operation.type}).",
                    where=operation.where,
                    details=[f"the op is declared at {definition.where}"],
                    hint="Register one with @NAME.gradient, or declare gradient=None where there is none.",
                )
            )
        with ExitStack() as scopes:
            scopes.enter_context(graph.name_scope(f"{operation.name}_grad"))
            scopes.enter_context(graph.gradient_of(operation.name))
            if self._colocate:
                scopes.enter_context(graph.colocate_with(operation))
            given = [_output_gradient(operation, t, dy) for t, dy in zip(operation.outputs, outputs)]
            try:
                made = rule(operation, *given)
            except Exception as error:
                error.add_note(
                    f"  while building the gradient of {operation.name} ({operation.type}), made at {operation.where}"
                )
                raise
            found = list(made) if isinstance(made, (list, tuple)) else [made]
            if len(found) != len(operation.inputs):
                raise ValueError(
                    f"The gradient rule of {operation.type} gave {len(found)} gradients, but {operation.name} has "
                    f"{len(operation.inputs)} inputs."
                )
            found = [
                self._fitted(operation, i, g) if g is not None and self._wanted(t) else None
                for i, (t, g) in enumerate(zip(operation.inputs, found))
            ]
            return together(found) if self._gate else found

    def _fitted(self, operation: Operation, index: int, gradient: Any) -> Gradient:
        """`gradient` in the shape and type of the input, of which it must be."""
        tensor = operation.inputs[index]
        given: Gradient = (
            gradient
            if isinstance(gradient, (Tensor, IndexedSlices))
            else convert_to_tensor(gradient, tensor.dtype.base_dtype)
        )
        if given.dtype is not tensor.dtype.base_dtype:
            raise TypeError(
                f"The gradient rule of {operation.type} gave a {given.dtype} for input {index} of {operation.name}, "
                f"which is {tensor.dtype.base_dtype}."
            )
        if operation.definition.broadcasts:
            given = unbroadcast(convert_to_tensor(given), operation, index)
        if isinstance(given, IndexedSlices):
            return given
        if not compatible(given.static_shape, tensor.static_shape):
            raise ValueError(
                f"The gradient rule of {operation.type} gave shape {show(given.static_shape)} for input {index} of "
                f"{operation.name}, which has shape {show(tensor.static_shape)}."
            )
        given.set_shape(tensor.static_shape)
        return given


def _output_gradient(operation: Operation, output: Tensor, dy: Gradient | None) -> Gradient | None:
    """What a rule gets for an output: zeros where no y uses it, None where it has no derivative."""
    if dy is None:
        return zeros_like(output) if _differentiable(output) else None
    return dy if operation.type in _PASS_SLICES else convert_to_tensor(dy)


def _sum(parts: Sequence[Gradient]) -> Gradient:
    slices = [part for part in parts if isinstance(part, IndexedSlices)]
    if len(slices) == len(parts):
        return add_slices(slices)
    return add_n([convert_to_tensor(part) for part in parts])


def together(found: Sequence[Gradient | None]) -> list[Gradient | None]:
    """The same gradients, each of which is available only when all are. None entries stay None."""
    present = [g for g in found if g is not None]
    if len(present) < 2:
        return list(found)
    gate = group(*(g.op for g in present))
    with gate.graph.control_dependencies([gate]):
        return [g if g is None else _gated(g) for g in found]


def _gated(gradient: Gradient) -> Gradient:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(identity(gradient.values), gradient.indices, gradient.dense_shape)
    return identity(gradient)


def _seeds(ys: Sequence[Tensor], grad_ys: Any) -> list[Tensor | None]:
    """The gradients with which the walk starts; None for a y that has no derivative."""
    given = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(given) != len(ys):
        raise ValueError(f"There are {len(ys)} ys, but {len(given)} grad_ys.")
    return [_seed(i, y, grad) for i, (y, grad) in enumerate(zip(ys, given))]


def _seed(index: int, y: Tensor, grad: Any) -> Tensor | None:
    facts: dict[str, Any] = {"node": y.op.name, "op": y.op.type, "where": y.where}
    if not _differentiable(y):
        return None
    if grad is None:
        if y.dtype.is_complex:
            raise TypeError(
                describe(
                    f"Gradients of complex tensors must set grad_ys, but ys[{index}], {y.name}, of {y.dtype} has none.",
                    **facts,
                    hint="Differentiate a real number of it, such as tf.abs or tf.real, or give grad_ys.",
                )
            )
        return ones_like(y, name=f"grad_ys_{index}")
    try:
        tensor = convert_to_tensor(grad, None if is_symbolic(grad) else y.dtype, name=f"grad_ys_{index}", graph=y.graph)
    except (TypeError, ValueError) as error:
        raise type(error)(describe(f"grad_ys[{index}]: {error}", **facts)) from None
    if tensor.dtype is not y.dtype:
        raise TypeError(
            describe(f"grad_ys[{index}] has type {tensor.dtype}, but ys[{index}], {y.name}, has {y.dtype}.", **facts)
        )
    if not compatible(tensor.static_shape, y.static_shape):
        shapes = f"{show(tensor.static_shape)}, but ys[{index}], {y.name}, has {show(y.static_shape)}"
        raise ValueError(describe(f"grad_ys[{index}] has shape {shapes}.", **facts))
    return tensor


def _differentiable(tensor: Tensor) -> bool:
    return tensor.dtype.kind in "fc"


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_tensor(value: Any, what: str) -> Tensor:
    if not is_symbolic(value):
        raise TypeError(
            describe(
                f"{what} is a tensor of a graph, but {value!r:.60} (a {type(value).__name__}) was given.",
                where=user_line(),
            )
        )
    return convert_to_tensor(value)


def _endpoint_owner(value: Any, what: str) -> Tensor:
    """The tensor whose gradient is meant: for a variable its handle, to which the gradients of all reads go."""
    handle = getattr(value, "handle", None)
    return handle if isinstance(handle, Tensor) else _as_tensor(value, what)
