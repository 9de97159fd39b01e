"""`variable[1:3]`: a tensor that is a part of a variable's value, and can be assigned to."""

from __future__ import annotations

from typing import Any

from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.state import scatter_nd as state_scatter


class VariableSlice(Tensor):
    """The value of a part of a variable. `assign` sets that part of the variable, by one atomic operation."""

    __slots__ = ("_handle",)

    _handle: Tensor

    @classmethod
    def of(cls, part: Tensor, handle: Tensor) -> VariableSlice:
        """`part`, the output of a StridedSlice, as a part of the variable of `handle`."""
        made = cls(part.op, part.value_index)
        made._handle = handle
        part.op._outputs = (made,)  # the one object that stands for this output
        return made

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Sets the part to `value`, which broadcasts to it. Gives the whole variable's value then as a tensor, or with
        `read_value=False` the bare operation. `use_locking` changes nothing.

        Raises InvalidArgumentError in the run where the value does not fit."""
        made = state_scatter.strided_slice_assign_value if read_value else state_scatter.strided_slice_assign_target
        _, begin, end, strides = self.op.inputs
        return made(self._handle, begin, end, strides, value, name=name or f"{self.op.name}/assign/", **self.op.attrs)
