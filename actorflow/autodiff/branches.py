"""Gradients of branches: a Merge's gradient goes into the branch that was taken, and a Switch's comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from actorflow.control_flow.context import CondContext, Context, join
from actorflow.dtypes import variant
from actorflow.graph import scopes
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor
from actorflow.ops.array.constant import zeros_like
from actorflow.ops.flow.control import identity
from actorflow.ops.flow.lists import list_zeros_like


class Mirror:
    """The place at which gradients are made. Those of tensors in `inside`, the loop body that is gone through (None: no
    loop), are made in `backward`; those of tensors in a branch, in a branch of the same predicate there."""

    def __init__(self, graph: Graph, inside: Context | None, backward: Context | None) -> None:
        self.inside = inside
        self.backward = backward
        self._graph = graph
        self._branches: dict[CondContext, CondContext] = {}

    def of(self, flow: Context | None) -> Context | None:
        """The context for gradients of tensors that are in `flow`."""
        if flow is self.inside:
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
                    pred = identity(flow.pred, name="pred_id")
                    no, yes = CondContext.pair(self._graph, scope.rstrip("/"), around, pred)
            mine, other = (yes, no) if flow.branch else (no, yes)
            self._branches.update({flow: mine, flow.twin: other})
        return self._branches[flow]


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
    mirror: Mirror, operation: Operation, outputs: Sequence[Any], wanted: Callable[[Tensor], bool]
) -> Iterator[tuple[Tensor, Tensor]]:
    """The gradients of the inputs of a Switch or Merge of a `cond`, from those of its outputs."""
    graph = operation.graph
    if operation.type == "Merge":
        for tensor in operation.inputs:
            if wanted(tensor):
                branch = mirror.of(graph.flow_of(tensor.op.name))
                with scopes.changed(graph, flow=branch, controls=()):
                    yield tensor, identity(convert_to_tensor(outputs[0]))
        return
    flow = graph.flow_of(operation.name)
    gradient = outputs[flow.branch]
    tensor = operation.inputs[0]
    if gradient is None or not wanted(tensor):
        return
    taken, other = mirror.of(flow), mirror.of(flow.twin)
    with scopes.changed(graph, flow=taken, controls=()):
        live = identity(convert_to_tensor(gradient))
    with scopes.changed(graph, flow=other, controls=()):
        zeros = identity(_zeros(tensor))
    sides = [zeros, live] if flow.branch else [live, zeros]
    made = join(graph, mirror.of(flow.parent), sides)
    made.set_shape(tensor.static_shape)
    yield tensor, made


def _zeros(tensor: Tensor) -> Tensor:
    if tensor.dtype is variant:
        return list_zeros_like(tensor)
    if tensor.dtype.is_ref:
        from actorflow.ops.array.constant import zeros

        return zeros(tensor.static_shape, tensor.dtype.base_dtype)
    return zeros_like(tensor)
