"""More updates of parts of a variable: rows multiplied, divided or bounded, and elements or slices by full indices.

As in `state_sparse`, an update comes in two forms over one kernel: one gives the value after its own update, one (named
`Resource...`) gives nothing and is fetched as a target only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, cast

from actorflow.base.dtypes import ANY, INDEX, NUMERIC, REAL, DType
from actorflow.base.registry.opdef import Inference, ShapeRule
from actorflow.base.shapes import Shape
from actorflow.graph.ops.array.scatter import check_updates
from actorflow.graph.ops.declare import Op, RefLike, op
from actorflow.graph.ops.state.scatter import rows_shape
from actorflow.graph.tensor import Operation, Tensor, TensorLike

P = ParamSpec("P")


def both_forms(
    type: str, shape: ShapeRule, dtypes: frozenset[DType], types: dict[str, Any], target: str = ""
) -> Callable[[Callable[P, Tensor]], tuple[Op[P, Tensor], Op[P, Operation]]]:
    """`@op` for an update and its form without an output, which is named `Resource<type>` (else `target`)."""

    def nothing(c: Inference) -> list[Shape]:
        shape(c)
        return []

    def decorate(function: Callable[P, Tensor]) -> tuple[Op[P, Tensor], Op[P, Operation]]:
        value = op(type, shape=shape, dtypes=dtypes, types=types, gradient=None, stateful=True, writes=True)
        bare = op(
            target or f"Resource{type}",
            shape=nothing,
            dtypes=dtypes,
            types=types,
            result=None,
            gradient=None,
            stateful=True,
            writes=True,
        )
        return value(function), cast("Op[P, Operation]", bare(function))

    return decorate


_INDICES = {"indices": INDEX}


def _rows(c: Inference) -> Shape:
    variable, indices, updates = c.shapes
    if updates != ():
        rows_shape(variable, indices, updates)
    return variable


@both_forms("ScatterMul", _rows, NUMERIC, _INDICES)
def _mul(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Multiplies the rows `ref[indices[i]]` by `updates[i]` (or all by one number), each as often as it is named.

    Raises InvalidArgumentError in the run where an index is outside."""


@both_forms("ScatterDiv", _rows, NUMERIC, _INDICES)
def _div(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Divides the rows `ref[indices[i]]` by `updates[i]` (or all by one number), each as often as it is named; integers
    are rounded towards zero. Raises InvalidArgumentError in the run where an index is outside, or an integer is divided
    by zero."""


@both_forms("ScatterMin", _rows, REAL, _INDICES)
def _min(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Makes the rows `ref[indices[i]]` the smaller of themselves and `updates[i]` (or one number), element by element.

    Raises InvalidArgumentError in the run where an index is outside."""


@both_forms("ScatterMax", _rows, REAL, _INDICES)
def _max(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Makes the rows `ref[indices[i]]` the larger of themselves and `updates[i]` (or one number), element by element.

    Raises InvalidArgumentError in the run where an index is outside."""


scatter_mul_value, scatter_mul_target = _mul
scatter_div_value, scatter_div_target = _div
scatter_min_value, scatter_min_target = _min
scatter_max_value, scatter_max_target = _max

# ---- elements and slices by full indices


def _nd(c: Inference) -> Shape:
    variable, indices, updates = c.shapes
    for what, shape in (("indices", indices), ("updates", updates)):
        if shape == ():
            raise ValueError(f"The {what} of a scatter by full indices have one dimension or more, not none.")
    if variable is not None and indices is not None and indices[-1] is not None and indices[-1] <= len(variable):
        check_updates(updates, indices, variable, "input")
    return variable


@both_forms("ScatterNdUpdate", _nd, ANY, _INDICES)
def _nd_update(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Sets `ref[tuple(indices[i])]` to `updates[i]`; of several updates of one place the last stays.

    Raises InvalidArgumentError in the run where an index is outside."""


@both_forms("ScatterNdAdd", _nd, NUMERIC, _INDICES)
def _nd_add(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Adds `updates[i]` to `ref[tuple(indices[i])]`; all updates of one place count.

    Raises InvalidArgumentError in the run where an index is outside."""


@both_forms("ScatterNdSub", _nd, NUMERIC, _INDICES)
def _nd_sub(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Subtracts `updates[i]` from `ref[tuple(indices[i])]`; all updates of one place count.

    Raises InvalidArgumentError in the run where an index is outside."""


scatter_nd_update_value, scatter_nd_update_target = _nd_update
scatter_nd_add_value, scatter_nd_add_target = _nd_add
scatter_nd_sub_value, scatter_nd_sub_target = _nd_sub

# ---- a slice

_BOUNDS = {"begin": INDEX, "end": INDEX, "strides": INDEX}


@both_forms("StridedSliceAssign", lambda c: c.shapes[0], ANY, _BOUNDS)
def _slice(
    ref: RefLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike,
    value: TensorLike,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """Sets the part `ref[begin:end:strides]`, with the masks of StridedSlice, to `value`, which broadcasts to it.

    Raises InvalidArgumentError in the run where the value does not fit, or a bound is outside."""


strided_slice_assign_value, strided_slice_assign_target = _slice
