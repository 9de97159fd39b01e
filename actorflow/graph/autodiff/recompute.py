"""`recompute`: tensors that a gradient computes again instead of keeping them (paper section 4.1)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph.autodiff.custom import remember_rule
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.autodiff.walk import differentiable
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.graph import Graph
from actorflow.graph.ops.building import outputs_of
from actorflow.graph.ops.flow.control import custom_gradient_op, identity
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public

_CONTROL_FLOW = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})


@public("af")
def recompute(f: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function of tensors whose inner tensors are not kept for its gradient, but computed again when that runs.

    It costs the forward pass of `f` once more, and saves the memory of what lies between its arguments and results. Of
    a chain of *n* layers in blocks of √n layers, about 2 √n layers are in memory at a time instead of *n*. The copies
    of the nodes wait for the gradient of the results. A node with another result each time (random numbers, queues,
    reads of variables) is not run again: its value is kept, so the gradient has the same bits as without.

    `f` may read variables and use tensors from around it; their gradients come out as always. Nested uses are allowed.

    Example:
        >>> @af.recompute
        ... def block(x):
        ...     return af.tanh(2.0 * af.tanh(x))
        >>> x = af.placeholder(af.float32)
        >>> await session.run(af.gradients(block(x), x), {x: 0.0})
        [2.0]

    Raises:
        ValueError: `f` holds a cond or a loop. These go around, not into, what is recomputed.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        graph = graph_of(args)
        with graph.as_default(), graph.name_scope("Recompute"):
            xs = [convert_to_tensor(x) for x in args]
            first = len(graph)
            result = f(*xs, **kwargs)
            several = isinstance(result, (list, tuple))
            ys = [convert_to_tensor(y) for y in (result if several else [result])]
            segment = _Segment(graph, graph.get_operations()[first:], ys)
            name = remember_rule(graph, segment.rule)
            outputs = outputs_of(custom_gradient_op([*ys, *segment.inputs], rule=name))
        return type(result)(outputs[: len(ys)]) if several else outputs[0]

    return decorated


class _Segment:
    """The nodes that are run again: those that `ys` need of what `f` made, where their results depend on their inputs alone."""

    def __init__(self, graph: Graph, operations: Sequence[Operation], ys: Sequence[Tensor]) -> None:
        for operation in operations:
            if operation.type in _CONTROL_FLOW:
                raise ValueError(
                    describe(
                        "A function that is recomputed can't hold a cond or a loop.",
                        node=operation.name,
                        op=operation.type,
                        where=user_line(),
                        hint="Recompute the functions of the branches or of the body instead.",
                    )
                )
        again = {operation.name for operation in operations if not operation.definition.stateful}
        needed: set[str] = set()
        waiting = [y.op for y in ys]
        while waiting:
            operation = waiting.pop()
            if operation.name in again and operation.name not in needed:
                needed.add(operation.name)
                waiting.extend(tensor.op for tensor in operation.inputs)
        self._graph = graph
        self._ys = list(ys)
        self._operations = [operation for operation in operations if operation.name in needed]
        inputs = {t: None for o in self._operations for t in o.inputs if t.op.name not in needed}
        self.inputs: list[Tensor] = list(inputs)
        """The tensors that the nodes take from elsewhere."""

    def rule(self, *dys: Tensor) -> list[Any]:
        """The gradients of the ys (none) and of `inputs`, through copies of the nodes that wait for `dys`."""
        graph, dys = self._graph, dys[: len(self._ys)]
        with graph.name_scope("again"):
            with graph.control_dependencies([dy.op for dy in dys]):
                copies = {tensor: identity(tensor) for tensor in self.inputs}
            starts = dict(copies)
            for operation in self._operations:
                with graph.device(operation.device):
                    inputs = [copies[tensor] for tensor in operation.inputs]
                    copy = graph.create_op(operation.type, inputs, operation.attrs, where=operation.where)
                copies.update(zip(operation.outputs, copy.outputs, strict=True))
        xs = [tensor for tensor in self.inputs if differentiable(tensor)]
        ys = [(copies.get(y, y), dy) for y, dy in zip(self._ys, dys) if differentiable(y)]
        slopes = gradients([y for y, _ in ys], [starts[x] for x in xs], [dy for _, dy in ys])
        of = dict(zip(xs, slopes, strict=True))
        return [None] * len(self._ys) + [of.get(tensor) for tensor in self.inputs]
