"""Updates of some rows of a variable, and other ways to change it: scatter, count up, read or compute.

As in `state`, an update comes in two forms over one kernel: one gives the value after its own update, one (named
`Resource...`) gives nothing and is fetched as a target only.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import ANY, INDEX, INTEGER, NUMERIC
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge, show
from actorflow.graph.ops.declare import RefLike, T, op
from actorflow.graph.tensor import Operation, Tensor, TensorLike

_INDICES = {"indices": INDEX}


def rows_shape(variable: Shape, indices: Shape, values: Shape) -> None:
    """Raises ValueError unless `values` may be rows of the variable: of shape indices.shape + variable.shape[1:]."""
    if variable is None or indices is None or values is None:
        return
    if not variable:
        raise ValueError("A scalar variable has no rows that indices could name.")
    expected = (*indices, *variable[1:])
    if not compatible(expected, values):
        raise ValueError(
            f"Rows of a variable of shape {show(variable)} at indices of shape {show(indices)} have the shape "
            f"{show(expected)}, but the values have {show(values)}."
        )


def _scattered(c: Inference) -> Shape:
    variable, indices, updates = c.shapes
    if updates != ():
        rows_shape(variable, indices, updates)
    return variable


def _checked_scatter(c: Inference) -> list[Shape]:
    _scattered(c)
    return []


@op("ScatterUpdate", shape=_scattered, dtypes=ANY, types=_INDICES, gradient=None, stateful=True, writes=True)
def scatter_update_value(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Sets the rows `ref[indices[i]]` to `updates[i]` (or all to one number); the output is the whole variable then.

    Of several updates of one row the last stays. Raises InvalidArgumentError in the run where an index is outside."""


@op(
    "ResourceScatterUpdate",
    shape=_checked_scatter,
    dtypes=ANY,
    types=_INDICES,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
)
def scatter_update_target(
    ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None
) -> Operation:
    """`ScatterUpdate` without an output."""


@op("ScatterAdd", shape=_scattered, dtypes=NUMERIC, types=_INDICES, gradient=None, stateful=True, writes=True)
def scatter_add_value(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Adds `updates[i]` (or one number) to the rows `ref[indices[i]]`; the output is the whole variable then.

    All updates of one row count. Raises InvalidArgumentError in the run where an index is outside."""


@op(
    "ResourceScatterAdd",
    shape=_checked_scatter,
    dtypes=NUMERIC,
    types=_INDICES,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
)
def scatter_add_target(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Operation:
    """`ScatterAdd` without an output."""


@op("ScatterSub", shape=_scattered, dtypes=NUMERIC, types=_INDICES, gradient=None, stateful=True, writes=True)
def scatter_sub_value(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Tensor:
    """Subtracts `updates[i]` (or one number) from the rows `ref[indices[i]]`; the output is the whole variable then.

    All updates of one row count. Raises InvalidArgumentError in the run where an index is outside."""


@op(
    "ResourceScatterSub",
    shape=_checked_scatter,
    dtypes=NUMERIC,
    types=_INDICES,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
)
def scatter_sub_target(ref: RefLike, indices: TensorLike, updates: TensorLike, *, name: str | None = None) -> Operation:
    """`ScatterSub` without an output."""


def _counter(c: Inference) -> Shape:
    return merge(c.shapes[0], ())


@op("CountUpTo", shape=_counter, dtypes=INTEGER & INDEX, gradient=None, stateful=True, writes=True)
def count_up_to_op(ref: RefLike, *, limit: int, name: str | None = None) -> Tensor:
    """Adds 1 to the scalar variable; the output is its value before.

    Raises OutOfRangeError in the run where the variable has reached `limit`."""


def _either_shape(c: Inference) -> Shape:
    return merge(c.shapes[0], c.shapes[1])


@op("ReadVariableOr", role=roles.READ_OR, shape=_either_shape, dtypes=ANY, result=T, stateful=True)
def read_variable_or(ref: RefLike, otherwise: TensorLike, *, name: str | None = None) -> Tensor:
    """The variable's value, or `otherwise` for a variable without a value."""


@read_variable_or.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, None]
