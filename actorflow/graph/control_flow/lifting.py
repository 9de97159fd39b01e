"""Values of branches outside of them, for gradients that are made elsewhere."""

from __future__ import annotations

from collections.abc import Container

from actorflow.base.dtypes import variant
from actorflow.graph import scopes
from actorflow.graph.control_flow.context import CondContext, Context, join
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.flow.lists import empty_list
from actorflow.graph.tensor import Tensor


def lifted(tensor: Tensor, around: Container[Context | None]) -> Tensor:
    """A tensor of a branch as a tensor of the first context outside of it that is in `around`.

    The value means nothing where the branch was not taken.
    """
    flow = tensor.graph.flow_of(tensor.op.name)
    while isinstance(flow, CondContext) and flow not in around:
        tensor, flow = _out_of(tensor, flow), flow.parent
    return tensor


def _out_of(tensor: Tensor, branch: CondContext) -> Tensor:
    assert branch.twin is not None
    merged = branch.lifted.get(tensor.tensor_id)
    if merged is None:
        graph = branch.graph
        with scopes.changed(graph, flow=branch.twin, controls=()), graph.name_scope(f"{branch.name}/"):
            nothing = empty_list() if tensor.dtype is variant else identity(zeros((0,), tensor.dtype))
        with scopes.changed(graph, flow=branch, controls=()), graph.name_scope(f"{branch.name}/"):
            inside = identity(tensor)
            merged = join(graph, branch.parent, [nothing, inside] if branch.branch else [inside, nothing])
        branch.lifted[tensor.tensor_id] = merged
    return merged
