"""`Assignments`: the methods of a variable that change its value, or a part of it; each is one atomic operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.state import scatter as state_sparse
from actorflow.graph.ops.state import scatter_nd as state_scatter
from actorflow.graph.ops.state import variable as state
from actorflow.graph.overloads import Overloads
from actorflow.graph.scopes import of
from actorflow.graph.tensor import Tensor, TensorLike


class Assignments(Overloads):
    """The writing methods of `Variable`, whose `handle` is the node that owns the value."""

    handle: Tensor
    aggregation: Any = None
    """How the updates of several replicas are joined, a value of `tf.VariableAggregation`; None if the program says nothing."""

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Makes `value` the value.

        Example:
            >>> v = af.Variable(1.0)
            >>> await session.run(v.assign(5.0))
            5.0

        Args:
            value: the new value, of the variable's type and shape.
            use_locking: accepted for compatibility, without effect: each update is atomic.
            name: the name of the operation, `Assign` unless given.
            read_value: whether to return the new value as a tensor, instead of the bare operation.

        Returns:
            A tensor, or an operation with `read_value=False`.
        """
        assign = state.assign_value if read_value else state.assign_target
        return self._changed(lambda: assign(self.handle, value, name=name or "Assign"))

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds `delta` in one atomic step.

        Args:
            delta: what to add, of the variable's type and shape.
            use_locking: accepted for compatibility, without effect: each update is atomic.
            name: the name of the operation, `AssignAdd` unless given.
            read_value: whether to return the sum as a tensor, instead of the bare operation.

        Returns:
            A tensor, or an operation with `read_value=False`.
        """
        assign = state.assign_add_value if read_value else state.assign_add_target
        return self._changed(lambda: assign(self.handle, delta, name=name or "AssignAdd"))

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts `delta` in one atomic step.

        Example:
            >>> v = af.Variable(3.0)
            >>> await session.run(v.initializer)
            >>> await session.run(v.assign_sub(1.0))
            2.0

        Args:
            delta: what to subtract, of the variable's type and shape.
            use_locking: accepted for compatibility, without effect: each update is atomic.
            name: the name of the operation, `AssignSub` unless given.
            read_value: whether to return the difference as a tensor, instead of the bare operation.

        Returns:
            A tensor, or an operation with `read_value=False`.
        """
        assign = state.assign_sub_value if read_value else state.assign_sub_target
        return self._changed(lambda: assign(self.handle, delta, name=name or "AssignSub"))

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Sets the rows of `sparse_delta`; gives the whole value then.

        Example:
            >>> v = af.Variable([1.0, 2.0, 3.0])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_update(af.IndexedSlices([10.0], [1])))
            [ 1. 10.  3.]
        """
        return self._scatter(state_sparse.scatter_update_value, sparse_delta, name)

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Adds the rows of `sparse_delta`, all that name one index; gives the whole value then.

        Example:
            >>> v = af.Variable([1.0, 2.0, 3.0])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_add(af.IndexedSlices([10.0], [1])))
            [ 1. 12.  3.]
        """
        return self._scatter(state_sparse.scatter_add_value, sparse_delta, name)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Subtracts the rows of `sparse_delta`, all that name one index; gives the whole value then.

        Example:
            >>> v = af.Variable([1.0, 2.0, 3.0])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_sub(af.IndexedSlices([10.0], [1])))
            [ 1. -8.  3.]
        """
        return self._scatter(state_sparse.scatter_sub_value, sparse_delta, name)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Multiplies by the rows of `sparse_delta`, all that name one index; gives the whole value then.

        Example:
            >>> v = af.Variable([1.0, 2.0, 3.0])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_mul(af.IndexedSlices([10.0], [1])))
            [ 1. 20.  3.]
        """
        return self._scatter(state_scatter.scatter_mul_value, sparse_delta, name)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Divides by the rows of `sparse_delta`, all that name one index; gives the whole value then.

        Example:
            >>> v = af.Variable([1.0, 2.0, 3.0])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_div(af.IndexedSlices([4.0], [1])))
            [1.  0.5 3. ]
        """
        return self._scatter(state_scatter.scatter_div_value, sparse_delta, name)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Bounds rows from above by those of `sparse_delta`; gives the whole value then.

        Example:
            >>> v = af.Variable([1.0, 2.0, 3.0])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_min(af.IndexedSlices([0.0], [1])))
            [1. 0. 3.]
        """
        return self._scatter(state_scatter.scatter_min_value, sparse_delta, name)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Tensor:
        """Bounds rows from below by those of `sparse_delta`; gives the whole value then.

        Example:
            >>> v = af.Variable([1.0, 2.0, 3.0])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_max(af.IndexedSlices([9.0], [1])))
            [1. 9. 3.]
        """
        return self._scatter(state_scatter.scatter_max_value, sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """`af.batch_scatter_update` with the indices and values of `sparse_delta`."""
        from actorflow.graph.ops.state.assign import batch_scatter_update

        def update(ref: Any, indices: Any, values: Any, name: str | None) -> Tensor:
            return batch_scatter_update(ref, indices, values, name=name)

        return self._scatter(update, sparse_delta, name)

    def scatter_nd_update(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Sets the elements or slices at full indices; gives the whole value then. See `af.scatter_nd_update`."""
        return state_scatter.scatter_nd_update_value(self.handle, indices, updates, name=name)

    def scatter_nd_add(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Adds to the elements or slices at full indices; gives the whole value then.

        Example:
            >>> v = af.Variable([[1.0, 2.0], [3.0, 4.0]])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_nd_add([[1, 0]], [10.0]))
            [[ 1.  2.]
             [13.  4.]]
        """
        return state_scatter.scatter_nd_add_value(self.handle, indices, updates, name=name)

    def scatter_nd_sub(self, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
        """Subtracts from the elements or slices at full indices; gives the whole value then.

        Example:
            >>> v = af.Variable([[1.0, 2.0], [3.0, 4.0]])
            >>> await session.run(v.initializer)
            >>> await session.run(v.scatter_nd_sub([[1, 0]], [10.0]))
            [[ 1.  2.]
             [-7.  4.]]
        """
        return state_scatter.scatter_nd_sub_value(self.handle, indices, updates, name=name)

    def _changed(self, write: Callable[[], Any]) -> Any:
        tower = of(self.handle.graph).tower
        return write() if tower is None else tower.change(self, write)

    def _scatter(self, update: Callable[..., Tensor], delta: Any, name: str | None) -> Tensor:
        if not isinstance(delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {delta!r:.80}.")
        return update(self.handle, delta.indices, delta.values, name=name)

    def count_up_to(self, limit: int) -> Tensor:
        """Adds 1 to a scalar; gives the value before. Raises OutOfRangeError in the run if the variable is at `limit`.

        Example:
            >>> v = af.Variable(0)
            >>> count = v.count_up_to(2)
            >>> await session.run(v.initializer)
            >>> [int(await session.run(count)) for _ in range(2)]
            [0, 1]
        """
        return state_sparse.count_up_to_op(self.handle, limit=limit)


class VariableSlice(Tensor):
    """The value of a part of a variable, as `variable[1:3]` gives it. `assign` sets that part."""

    __slots__ = ("_handle",)

    _handle: Tensor

    @classmethod
    def of(cls, part: Tensor, handle: Tensor) -> VariableSlice:
        """`part`, the output of a StridedSlice, as a part of the variable of `handle`."""
        piece = cls(part.op, part.value_index)
        piece._handle = handle
        part.op._outputs = (piece,)  # the one object that stands for this output
        return piece

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Sets the part to `value`, which broadcasts to it. Gives the whole variable's value then as a tensor, or with
        `read_value=False` the bare operation. `use_locking` changes nothing.

        Raises InvalidArgumentError in the run where the value does not fit."""
        assign = state_scatter.strided_slice_assign_value if read_value else state_scatter.strided_slice_assign_target
        _, begin, end, strides = self.op.inputs
        return assign(self._handle, begin, end, strides, value, name=name or f"{self.op.name}/assign/", **self.op.attrs)
