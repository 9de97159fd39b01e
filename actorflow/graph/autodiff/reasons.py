"""`why_none`: why a gradient is None: there is no way from the tensor to the result, or no derivative goes along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from actorflow.errors import Where
from actorflow.graph.autodiff.override import rule_of
from actorflow.graph.autodiff.walk import differentiable
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor


@dataclass(frozen=True, slots=True)
class NoneGradient:
    """A gradient that `af.gradients` gave as None, for those who fetch it later. `where` is the line of that call."""

    x: Tensor
    ys: tuple[Tensor, ...]
    stops: tuple[Tensor, ...]
    where: Where | None

    def __str__(self) -> str:
        return f"af.gradients at {self.where} gave None for {named(self.x)}: {why_none(self.ys, self.x, self.stops)}"


def named(x: Tensor) -> str:
    """A tensor's name with its line; for a variable's handle the name of the variable."""
    return f"{x.name} (made at {x.where})"


def why_none(ys: Sequence[Tensor], x: Tensor, stops: Sequence[Tensor] = ()) -> str:
    """Why no y of `ys` has a derivative by `x`, as a clause."""
    if not differentiable(x):
        return f"it is {x.dtype.base_dtype}, and only floating-point and complex values have derivatives"
    results = " and ".join(y.name for y in ys[:3])
    if ys and not any(map(differentiable, ys)):
        return f"{results} is {ys[0].dtype}, and only floating-point and complex values have derivatives"
    graph = x.graph
    above = _ancestors(graph, ys)
    stopped = {tensor.tensor_id for tensor in stops}
    ends: list[str] = []
    seen = {x.tensor_id}
    waiting = [x.tensor_id]
    while waiting:
        for operation in graph.consumers(waiting.pop()):
            if operation.name not in above:
                continue
            if not callable(rule_of(operation)):
                ends.append(f"{_shown(operation)}, which has no gradient")
                continue
            for output in operation.outputs:
                if output.tensor_id in seen:
                    continue
                seen.add(output.tensor_id)
                if output.tensor_id in stopped:
                    ends.append(f"{_shown(operation)}, which is one of stop_gradients")
                elif differentiable(output):
                    waiting.append(output.tensor_id)
                else:
                    ends.append(f"{_shown(operation)}, which gives {output.dtype}")
    if ends:
        return f"the way to {results} ends at {ends[0]}"
    return f"{results} does not depend on it"


def _ancestors(graph: Graph, ys: Sequence[Tensor]) -> set[str]:
    """The names of the operations that the ys are computed from."""
    names = {y.op.name for y in ys}
    waiting = list(names)
    while waiting:
        for tensor_id in graph.nodes[waiting.pop()].inputs:
            if tensor_id.node not in names:
                names.add(tensor_id.node)
                waiting.append(tensor_id.node)
    return names


def _shown(operation: Operation) -> str:
    return f"{operation.name} ({operation.type}, made at {operation.where})"
