"""Gradients of while loops: a loop that goes the iterations back.

The backward loop makes as many iterations as the forward one made, and walks back through the body in each: from the
gradients of what the body gave to those of what it was given. The values of an iteration that it needs, the forward
loop keeps on a stack, one more variable of it, and the backward loop takes them from there. Stacks are values and have
gradients themselves, so second and higher orders, loops in loops and branches in loops are the same code again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from actorflow.base.dtypes import variant
from actorflow.graph import scopes
from actorflow.graph.analysis.frames import is_free
from actorflow.graph.autodiff.branches import Mirror
from actorflow.graph.control_flow.context import Context
from actorflow.graph.control_flow.lifting import lifted
from actorflow.graph.control_flow.loop_context import LoopVariable, WhileContext
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.flow.lists import add_lists, empty_list, pop_back, push_back
from actorflow.graph.ops.math.arithmetic import add
from actorflow.graph.ops.math.logic import greater
from actorflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from actorflow.graph.autodiff.walk import Gradient, Walk


class BackwardContext(WhileContext):
    """The loop that goes back through the iterations of `forward`. A value that it captures from there is this
    iteration's."""

    def __init__(self, graph: Graph, name: str, parent: Context | None, forward: WhileContext) -> None:
        super().__init__(graph, name, parent, parallel_iterations=forward.parallel_iterations)
        self.forward = forward

    def capture(self, tensor: Tensor) -> Tensor:
        """See `Context.capture`."""
        flow = self.graph.flow_of(tensor.op.name)
        if flow is self or is_free(tensor.op.node) or flow is None or self.forward not in flow.chain():
            return super().capture(tensor)
        inner = self.captured.get(tensor.tensor_id)
        if inner is None:
            with self.entered(), self.graph.name_scope(f"{self.name}/"):
                inner = self.captured[tensor.tensor_id] = self._recall(tensor)
        return inner

    def _recall(self, tensor: Tensor) -> Tensor:
        """A tensor of the forward loop's body, as it was in the iteration that is gone back through."""
        source = self.forward.source_of(tensor)
        if source is not None:
            return self.capture(source)
        if tensor.op.type == "Const":
            return convert_to_tensor(tensor.op.node.attrs["value"], tensor.dtype, graph=self.graph)
        kept = history(self.forward, lifted(tensor, self.forward.chain()))
        assert kept.exit is not None
        mine = self.variable(kept.exit)
        assert mine.value is not None
        rest, item = pop_back(mine.value, element_dtype=tensor.dtype, element_shape=tensor.static_shape)
        self.close(mine, rest)
        return item


def history(loop: WhileContext, tensor: Tensor) -> LoopVariable:
    """The variable of `loop` that keeps the values of `tensor`, of its body, in all iterations; made once."""
    variable = loop.histories.get(tensor.tensor_id)
    if variable is None:
        graph = loop.graph
        with scopes.changed(graph, flow=loop.parent, controls=()), graph.name_scope(f"{loop.name}/"):
            variable = loop.histories[tensor.tensor_id] = loop.variable(empty_list())
        assert variable.value is not None
        with loop.entered(), graph.name_scope(f"{loop.name}/"):
            loop.close(variable, push_back(variable.value, tensor))
    return variable


def loop_gradients(
    walk: Walk, loop: WhileContext, exits: Sequence[Gradient | None]
) -> Iterator[tuple[Tensor, Gradient]]:
    """The gradients of what enters `loop`, from those of its variables' last values."""
    from actorflow.graph.autodiff.walk import differentiable, zero_gradient

    graph = walk.graph
    around = walk.mirror.of(loop.parent)
    count = loop.count()
    with scopes.changed(graph, flow=around, controls=()), graph.name_scope(f"{loop.name}_grad") as scope:
        back = BackwardContext(graph, scope.rstrip("/"), around, loop)
        left = back.variable(count)
        carried: list[tuple[LoopVariable, LoopVariable]] = []
        for variable, gradient in zip(list(loop.variables), exits):
            assert variable.exit is not None
            if differentiable(variable.exit):
                start = zero_gradient(variable.exit) if gradient is None else convert_to_tensor(gradient)
                shape = variable.merged.static_shape
                carried.append((variable, back.variable(start, shape, invariant=start.dtype is not variant)))
        with back.entered():
            pred = greater(left.merged, 0)
        back.decide(pred)
        assert left.value is not None
        with back.entered():
            back.close(left, left.value - 1)
        invariants = [(inside, outer) for inside, outer in loop.invariants() if walk.wanted(outer)]
        xs = [_value(variable) for variable, _ in carried] + [inside for inside, _ in invariants]
        inner = walk.inner(xs, Mirror(graph, loop, back))
        inner.run([_updated(variable) for variable, _ in carried], [_value(mine) for _, mine in carried])
        for variable, mine in carried:
            with back.entered():
                slope = inner.total(_value(variable).tensor_id)
                value = zero_gradient(_value(variable)) if slope is None else convert_to_tensor(slope)
                if value is _value(mine):
                    value = identity(value)
                back.close(mine, value)
            yield variable.initial, _exit(mine)
        for inside, outer in invariants:
            slope = inner.total(inside.tensor_id)
            if slope is not None:
                yield outer, _summed(back, outer, slope)


def _summed(back: BackwardContext, outer: Tensor, gradient: Any) -> Tensor:
    """The sum over all iterations of the gradient of what each of them uses."""
    from actorflow.graph.autodiff.walk import zero_gradient

    graph = back.graph
    with scopes.changed(graph, flow=back.parent, controls=()):
        base = outer.dtype.base_dtype
        start = zeros(outer.static_shape, base) if outer.dtype.is_ref else zero_gradient(outer)
        total = back.variable(start, outer.static_shape, invariant=start.dtype is not variant)
    with back.entered():
        part = convert_to_tensor(gradient)
        back.close(total, (add_lists if part.dtype is variant else add)(_value(total), part))
    return _exit(total)


def _value(variable: LoopVariable) -> Tensor:
    assert variable.value is not None
    return variable.value


def _updated(variable: LoopVariable) -> Tensor:
    assert variable.updated is not None
    return variable.updated


def _exit(variable: LoopVariable) -> Tensor:
    assert variable.exit is not None
    return variable.exit
