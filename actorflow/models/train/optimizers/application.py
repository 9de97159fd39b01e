"""`UpdateApplication`: how a variable is changed by its gradient: by an op of one row, or by a method of a subclass; and what an
optimizer keeps for each variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.shape import size
from actorflow.graph.ops.array.unique import unique
from actorflow.graph.ops.declare import Op
from actorflow.graph.ops.flow.control import group, no_op
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.segment import unsorted_segment_sum
from actorflow.graph.ops.state.update import Update
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.optimizers.slot_creator import create_filled_slot, create_slot


class UpdateApplication:
    """The part of an `Optimizer` that changes one variable.

    A subclass may say its row of `actorflow.graph.ops.state.training`: one op then changes a variable and its slots, and sums
    rows of equal indices itself. With it go the slots in the order of the op's inputs, and the parameters by their names in
    the graph, in the order of the op's scalars. A subclass without a row gives `_apply_dense` and `_apply_sparse`.
    """

    _name: str
    _slots: dict[str, dict[Variable, Variable]]
    _non_slots: dict[tuple[str, Graph], Variable]
    _row: Update | None = None
    _kept: Sequence[str] = ()
    _parameters: Mapping[str, Any] = MappingProxyType({})
    _attributes: Mapping[str, Any] = MappingProxyType({})
    _scalars: Sequence[Tensor] = ()

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        raise NotImplementedError

    # For subclasses

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Makes the slots of these variables."""
        for var in var_list:
            for slot in self._kept:
                self._zeros_slot(var, slot, self._name)

    def _prepare(self) -> None:
        """Makes tensors of the parameters."""
        self._scalars = [self._parameter(value, name) for name, value in self._parameters.items()]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation | Tensor:
        if self._row is None:
            return self._resource_apply_dense(grad, var)
        return self._by_row(self._row.dense, var, grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation | Tensor:
        """Applies rows; each index occurs once, unless an op of a row sums equal indices itself."""
        if self._row is None:
            return self._resource_apply_sparse(grad.values, var, grad.indices)
        assert self._row.sparse is not None
        return self._by_row(self._row.sparse, var, grad.values, grad.indices)

    def _by_row(self, op: Op[..., Operation], var: Variable, *gradient: Tensor) -> Operation:
        row = self._row
        assert row is not None
        kept = [self.get_slot(var, slot) for slot in self._kept]
        scalars = [s if n in row.types else cast(s, var.dtype) for n, s in zip(row.scalars, self._scalars, strict=True)]
        return op(var, *kept, *scalars[: row.gradient], *gradient, *scalars[row.gradient :], **self._attributes)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Operation | Tensor:
        """The name that subclasses use in TensorFlow for variables such as ours."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it applies a gradient: _apply_dense.")

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Operation | Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say how it applies IndexedSlices: _apply_sparse.")

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation | Tensor:
        """Applies rows, of which several may have one index: sums those, then calls `_apply_sparse`."""
        if self._row is not None and type(self)._apply_sparse is UpdateApplication._apply_sparse:
            return self._apply_sparse(grad, var)
        distinct, positions = unique(grad.indices)
        sums = unsorted_segment_sum(grad.values, positions, size(distinct))
        return self._apply_sparse(IndexedSlices(sums, distinct, grad.dense_shape), var)

    def _finish(self, update_ops: Sequence[Operation | Tensor], name_scope: str) -> Operation:
        """The operation that is done when all updates are."""
        return group(*update_ops, name=name_scope) if update_ops else no_op(name=name_scope)

    def _update(self, gradient: Tensor | IndexedSlices, variable: Variable) -> Operation | Tensor:
        if isinstance(gradient, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return self._apply_sparse_duplicate_indices(gradient, variable)
        update = self._apply_dense(gradient, variable)
        if variable.constraint is None:
            return update
        with variable.graph.control_dependencies([update]):
            constrained: Operation = variable.assign(variable.constraint(variable.read_value()), read_value=False)
        return constrained

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        """The slot, which is made at its first use with zeros of the variable's shape."""
        return self._filled_slot(var, 0.0, slot_name, op_name)

    def _filled_slot(self, var: Variable, value: float, slot_name: str, op_name: str) -> Variable:
        """The slot, which is made at its first use with `value` in all elements."""
        return self._slot(var, slot_name, lambda: create_filled_slot(var, value, op_name))

    def _get_or_make_slot(self, var: Variable, val: TensorLike, slot_name: str, op_name: str) -> Variable:
        """The slot, which is made at its first use with the initial value `val`."""
        return self._slot(var, slot_name, lambda: create_slot(var, val, op_name))

    def _slot(self, var: Variable, slot_name: str, make: Callable[[], Variable]) -> Variable:
        slots = self._slots.setdefault(slot_name, {})
        if var not in slots:
            slots[var] = make()
        return slots[var]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Variable) -> Variable:
        """A variable of the optimizer that belongs to no single variable, once for each graph."""
        key = (name, colocate_with.graph.home)
        if key not in self._non_slots:
            with colocate_with.graph.colocate_with(colocate_with.handle):
                self._non_slots[key] = Variable(initial_value, name=name, trainable=False)
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Variable:
        return self._non_slots[(name, (graph or get_default_graph()).home)]

    @staticmethod
    def _call_if_callable(param: Any) -> Any:
        return param() if callable(param) else param

    def _parameter(self, value: Any, name: str) -> Tensor:
        """A parameter, or the result of a parameter that is a function, as a tensor."""
        return convert_to_tensor(self._call_if_callable(value), name=name)
