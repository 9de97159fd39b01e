"""The context of a while loop: its variables, each a circle of primitives (paper section 4.4).

    Enter ──► Merge ──► Switch ──false──► Exit
                ▲          └──true──► Identity ──► the body ──► NextIteration ──┐
                └────────────────────────────────────────────────────────────┘

Variables may be added when the loop is finished: what its gradient wants to know of each iteration is gathered in more of
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from actorflow.base.shapes import Shape, ShapeLike, as_shape, show
from actorflow.errors import describe
from actorflow.graph import scopes
from actorflow.graph.control_flow.context import Context
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.flow.primitives import exit_, loop_cond, next_iteration, switch
from actorflow.graph.tensor import Tensor


@dataclass(slots=True)
class LoopVariable:
    """One variable of a loop. `initial` is outside, `merged` what the condition sees, `value` what the body sees,
    `updated` what the body makes of it, and `exit` its last value, outside again."""

    initial: Tensor
    enter: Tensor
    merged: Tensor
    value: Tensor | None = None
    exit: Tensor | None = None
    updated: Tensor | None = None


class WhileContext(Context):
    """One `while_loop`."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        parent: Context | None,
        *,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
    ) -> None:
        super().__init__(graph, name, parent)
        with graph.name_scope(None):
            self.frame = graph.unique_name(f"{name}/frame")
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop
        self.swap_memory = swap_memory
        self.variables: list[LoopVariable] = []
        self.condition: Tensor | None = None
        self._entered: dict[TensorId, Tensor] = {}
        self._counter: LoopVariable | None = None
        self.histories: dict[TensorId, LoopVariable] = {}
        """The variables that keep what a tensor of the body was in each iteration, for gradients."""

    @property
    def loop(self) -> Context | None:
        return self

    def starts(self) -> list[Tensor]:
        return [variable.initial for variable in self.variables]

    def bring(self, outer: Tensor) -> Tensor:
        entered = self._enter(outer, constant=True)
        self._entered[entered.tensor_id] = outer
        return entered

    def is_invariant(self, tensor: Tensor) -> bool:
        return tensor.tensor_id in self._entered

    def is_no_invariant(self, tensor: Tensor) -> None:
        """Takes note that a node that brought a tensor in does something else in each iteration."""
        del self._entered[tensor.tensor_id]

    def source_of(self, tensor: Tensor) -> Tensor | None:
        """The tensor of the parent that was brought in as `tensor`, or None."""
        return self._entered.get(tensor.tensor_id)

    def invariants(self) -> list[tuple[Tensor, Tensor]]:
        """The tensors that were brought in: (inside, outside)."""
        return [(self.graph.tensor_at(inside), outer) for inside, outer in self._entered.items()]

    def variable(self, initial: Tensor, shape: ShapeLike = None, *, invariant: bool = False) -> LoopVariable:
        """Adds a variable that starts as `initial`, a tensor of the parent; `shape` is its invariant."""
        if self.parent is not None:
            initial = self.parent.capture(initial)
        enter = self._enter(initial, constant=False, invariant=invariant, shape=as_shape(shape))
        with self.entered(), self.graph.name_scope(f"{self.name}/"):
            merged = self.graph.create_op("Merge", [enter, enter], {}, "Merge").outputs[0]
        variable = LoopVariable(initial, enter, merged)
        self.variables.append(variable)
        if self.pivot is None:
            self.pivot = merged.op
        if self.condition is not None:
            self._divide(variable)
        return variable

    def decide(self, pred: Tensor) -> None:
        """Makes `pred` the condition under which the loop goes on, and divides the variables."""
        with self.entered(), self.graph.name_scope(f"{self.name}/"):
            self.condition = loop_cond(pred, name="LoopCond")
        for variable in self.variables:
            self._divide(variable)
        first = self.variables[0].value
        assert first is not None
        self.pivot = first.op

    def close(self, variable: LoopVariable, updated: Tensor) -> None:
        """Makes `updated` the variable's value in the next iteration.

        Raises:
            TypeError, ValueError: it has another element type, or another shape than the variable keeps to.
        """
        merged, updated = variable.merged, self.capture(updated)
        if updated.dtype is not merged.dtype:
            raise TypeError(
                describe(
                    f"The loop variable {variable.initial.name} has type {merged.dtype}, but the body makes it "
                    f"{updated.dtype} ({updated.name}).",
                    where=self.where,
                )
            )
        if not _keeps(merged.static_shape, updated.static_shape):
            raise ValueError(
                describe(
                    f"The shape of the loop variable {variable.initial.name} is not an invariant for the loop: it enters "
                    f"with shape {show(merged.static_shape)}, but has shape {show(updated.static_shape)} after one "
                    f"iteration.",
                    where=self.where,
                    hint="Say what all iterations keep to: shape_invariants=[af.TensorShape([None, ...]), ...], or "
                    "set_shape on the loop variable.",
                )
            )
        with self.entered(), self.graph.name_scope(f"{self.name}/"):
            following = next_iteration(updated, name="NextIteration")
        self.graph.close_loop(merged.op, following)
        variable.updated = updated

    def count(self) -> Tensor:
        """How many iterations the loop makes, an int32 of the parent; the variable that counts them is made once."""
        from actorflow.graph.convert import convert_to_tensor
        from actorflow.graph.ops.math.arithmetic import add

        if self._counter is None:
            with scopes.changed(self.graph, flow=self.parent, controls=()), self.graph.name_scope(f"{self.name}/"):
                zero = convert_to_tensor(0, graph=self.graph, name="zero")
            self._counter = self.variable(zero)
            assert self._counter.value is not None
            with self.entered(), self.graph.name_scope(f"{self.name}/"):
                one_more = add(self._counter.value, 1, name="count")
            self.close(self._counter, one_more)
        assert self._counter.exit is not None
        return self._counter.exit

    def _enter(self, outer: Tensor, *, constant: bool, invariant: bool = False, shape: Shape = None) -> Tensor:
        attrs: dict[str, Any] = {
            "frame_name": self.frame,
            "is_constant": constant,
            "parallel_iterations": self.parallel_iterations,
            "invariant": invariant,
            "shape": shape,
        }
        with scopes.changed(self.graph, flow=self.parent), self.graph.name_scope(f"{self.name}/"):
            operation = self.graph.create_op("Enter", [outer], attrs, "Enter")
        self.graph.set_flow(operation, self)
        return operation.outputs[0]

    def _divide(self, variable: LoopVariable) -> None:
        assert self.condition is not None
        with self.entered(), self.graph.name_scope(f"{self.name}/"):
            stays, goes_on = switch(variable.merged, self.condition, name="Switch")
            variable.value = identity(goes_on, name="Identity")
            variable.exit = exit_(stays, name="Exit")
        self.graph.set_flow(variable.exit.op, self.parent)

    def __str__(self) -> str:
        return f"the while loop made at {self.where}"


def _keeps(shape: Shape, updated: Shape) -> bool:
    """Whether each value of shape `updated` has shape `shape`."""
    if shape is None:
        return True
    if updated is None or len(updated) != len(shape):
        return False
    return all(size is None or size == other for size, other in zip(shape, updated))
