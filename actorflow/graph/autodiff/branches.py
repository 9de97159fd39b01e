"""The place of a gradient, and gradients of branches.

A gradient may be taken inside of a branch, a loop or a function. Its nodes are made there, also those that go back
through tensors from around. A Merge's gradient goes into the branch that was taken, and a Switch's comes out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from actorflow.base.dtypes import variant
from actorflow.graph import scopes
from actorflow.graph.control_flow.context import CondContext, Context, join
from actorflow.graph.control_flow.function_body import FunctionContext
from actorflow.graph.control_flow.lifting import lifted
from actorflow.graph.control_flow.loop_context import LoopVariable, WhileContext
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.flow.lists import list_zeros_like
from actorflow.graph.tensor import Operation, Tensor


class Mirror:
    """The place at which gradients are made.

    Gradients of tensors in `inside`, or around it, are made in `backward`. Those of tensors in another branch are made in a
    branch of the same predicate there. The two are the same context where a program takes a gradient inside of it, and
    differ where a gradient goes back through the body of a loop.
    """

    def __init__(self, graph: Graph, inside: Context | None, backward: Context | None) -> None:
        self.inside = inside
        self.backward = backward
        self.around: set[Context | None] = {None, *(inside.chain() if inside is not None else ())}
        """`inside` and the contexts around it."""
        self._graph = graph
        self._branches: dict[CondContext, CondContext] = {}
        loops = [flow for flow in self.around if isinstance(flow, WhileContext)]
        self._variables = {
            tensor.op.name: variable
            for loop in loops
            for variable in loop.variables
            for tensor in (variable.enter, variable.merged, variable.value)
            if tensor is not None
        }

    def of(self, flow: Context | None) -> Context | None:
        """The context for gradients of tensors that are in `flow`."""
        if flow in self.around:
            return self.backward
        if not isinstance(flow, CondContext):
            return flow
        around = self.of(flow.parent)
        if around is flow.parent:
            return flow
        if flow not in self._branches:
            assert around is not None and flow.twin is not None
            with scopes.changed(self._graph, flow=around, controls=()):
                with self._graph.name_scope(f"{around.name}/"), self._graph.name_scope("cond") as scope:
                    pred = identity(lifted(flow.pred, around.chain()), name="pred_id")
                    no, yes = _MirroredBranch.pair(self._graph, scope.rstrip("/"), around, pred)
            mine, other = (yes, no) if flow.branch else (no, yes)
            self._branches.update({flow: mine, flow.twin: other})
        return self._branches[flow]

    def variable_of(self, operation: Operation) -> LoopVariable | None:
        """The variable of a loop around this place that `operation` brings a value to, from before the iteration."""
        return self._variables.get(operation.name)

    def passes(self, operation: Operation) -> bool:
        """Whether `operation` brings a tensor from around into a branch, loop or function that this place is in."""
        if operation.type not in _BRINGING or (flow := self._graph.flow_of(operation.name)) not in self.around:
            return False
        if operation.type == "_Arg":
            return bool(operation.attrs["source"])
        return isinstance(flow, CondContext) if operation.type == "Switch" else bool(operation.attrs["is_constant"])

    def brought(self, operation: Operation) -> Tensor:
        """The tensor from around that an operation of `passes` brings in."""
        if operation.type == "_Arg":
            return self._graph.get_tensor_by_name(operation.attrs["source"])
        return operation.inputs[0]

    def users(self, tensor_id: TensorId) -> Iterator[Operation]:
        """The operations that take a tensor, also as the parameter of a function around this place."""
        yield from self._graph.consumers(tensor_id)
        for flow in self.around:
            if isinstance(flow, FunctionContext) and (parameter := flow.captured.get(tensor_id)) is not None:
                yield parameter.op


_BRINGING = {"Enter", "Switch", "_Arg"}


class _MirroredBranch(CondContext):
    """A branch, elsewhere, of the same predicate as a branch of the program. It takes the values of that."""

    def capture(self, tensor: Tensor) -> Tensor:
        """See `Context.capture`."""
        return super().capture(lifted(tensor, self.chain()))


def is_branching(operation: Operation) -> bool:
    """Whether `operation` brings a tensor into a branch of a `cond`, or its result out."""
    graph = operation.graph
    if operation.type == "Switch":
        return isinstance(graph.flow_of(operation.name), CondContext)
    return operation.type == "Merge" and all(
        isinstance(graph.flow_of(t.op.name), CondContext)
        and graph.flow_of(t.op.name).parent is graph.flow_of(operation.name)
        for t in operation.inputs
    )


def branch_gradients(
    mirror: Mirror, operation: Operation, outputs: Sequence[Any], needed: Callable[[Tensor], bool]
) -> Iterator[tuple[Tensor, Tensor]]:
    """The gradients of the inputs of a Switch or Merge of a `cond`, from those of its outputs."""
    graph = operation.graph
    if operation.type == "Merge":
        for tensor in operation.inputs:
            if needed(tensor):
                branch = mirror.of(graph.flow_of(tensor.op.name))
                with scopes.changed(graph, flow=branch, controls=()):
                    yield tensor, identity(convert_to_tensor(outputs[0]))
        return
    flow = graph.flow_of(operation.name)
    gradient = outputs[flow.branch]
    tensor = operation.inputs[0]
    if gradient is None or not needed(tensor):
        return
    taken, other = mirror.of(flow), mirror.of(flow.twin)
    with scopes.changed(graph, flow=taken, controls=()):
        live = identity(convert_to_tensor(gradient))
    with scopes.changed(graph, flow=other, controls=()):
        zeros = identity(zeros_of(tensor))
    sides = [zeros, live] if flow.branch else [live, zeros]
    joined = join(graph, mirror.of(flow.parent), sides)
    joined.set_shape(tensor.static_shape)
    yield tensor, joined


def zeros_of(tensor: Tensor) -> Tensor:
    """Zeros in the form of a gradient of `tensor`."""
    if tensor.dtype is variant:
        return list_zeros_like(tensor)
    if tensor.dtype.is_ref:
        from actorflow.graph.ops.array.constant import zeros

        return zeros(tensor.static_shape, tensor.dtype.base_dtype)
    return zeros_like(tensor)
