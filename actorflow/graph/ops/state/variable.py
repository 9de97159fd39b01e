"""Variables as ops: a handle, reads of it, and atomic updates (paper section 2).

`Variable` gives a *reference*, `ReadVariable` turns it into a value, and each `AssignF` changes what it refers to in one
atomic step. An update comes in two forms over one kernel: `AssignAdd` gives the value after its own update,
`AssignAddVariableOp` gives nothing and is fetched as a target only.
"""

from __future__ import annotations

from actorflow.base.dtypes import ANY, NUMERIC, DTypeLike
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike, compatible, merge, show
from actorflow.graph.ops.declare import RefLike, T, op
from actorflow.graph.ops.shape_rules import from_attr, scalar, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _update_shape(c: Inference) -> Shape:
    """The value has to have the variable's shape exactly."""
    variable, value = c.shapes[0], c.shapes[1]
    if not compatible(variable, value):
        raise ValueError(
            f"Shapes {show(variable)} and {show(value)} are incompatible: those of the variable and of the value."
        )
    return merge(variable, value)


def _assigned_shape(c: Inference) -> Shape:
    return _update_shape(c) if c.attrs["validate_shape"] else c.shapes[1]


def _checked_update(c: Inference) -> list[Shape]:
    _update_shape(c)
    return []


@op(
    "VariableV2",
    role=roles.VARIABLE,
    shape=from_attr("shape"),
    result=lambda c: c.attrs["dtype"].ref,
    gradient=None,
    stateful=True,
    work=0,
)
def variable_handle(
    *, shape: ShapeLike, dtype: DTypeLike, container: str = "", shared_name: str = "", name: str | None = None
) -> Tensor:
    """A reference to a variable of `dtype` and `shape`, which lives in `container` under `shared_name` (else the node's
    name) and has no value before its first Assign."""


@public("af")
@op("ReadVariableOp", role=roles.READ, shape=unchanged, result=T, stateful=True, work=0)
def read_variable(ref: RefLike, *, name: str | None = None) -> Tensor:
    """The variable's value as it is when the node runs; no later update changes it.

    Raises FailedPreconditionError in the run where the variable has no value yet.

    Example:
        >>> v = af.Variable(3.0)
        >>> af.read_variable(v)
        3.0
    """


@read_variable.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor]:
    return [dy]


@op("IsVariableInitialized", role=roles.IS_INITIALIZED, shape=scalar, result=bool_dtype, gradient=None, stateful=True)
def is_variable_initialized_op(ref: RefLike, *, name: str | None = None) -> Tensor:
    """Whether the variable has a value."""


@op("Assign", shape=_assigned_shape, dtypes=ANY, gradient=None, stateful=True, writes=True)
def assign_value(ref: RefLike, value: TensorLike, *, validate_shape: bool = True, name: str | None = None) -> Tensor:
    """Makes `value` the variable's value; the output is that value. Without `validate_shape` it may have another shape."""


@op("AssignVariableOp", shape=_checked_update, dtypes=ANY, result=None, gradient=None, stateful=True, writes=True)
def assign_target(ref: RefLike, value: TensorLike, *, name: str | None = None) -> Operation:
    """`Assign` without an output."""


@op("AssignAdd", shape=_update_shape, dtypes=NUMERIC, gradient=None, stateful=True, writes=True)
def assign_add_value(ref: RefLike, value: TensorLike, *, name: str | None = None) -> Tensor:
    """Adds `value` to the variable, atomically; the output is the sum."""


@op(
    "AssignAddVariableOp", shape=_checked_update, dtypes=NUMERIC, result=None, gradient=None, stateful=True, writes=True
)
def assign_add_target(ref: RefLike, value: TensorLike, *, name: str | None = None) -> Operation:
    """`AssignAdd` without an output."""


@op("AssignSub", shape=_update_shape, dtypes=NUMERIC, gradient=None, stateful=True, writes=True)
def assign_sub_value(ref: RefLike, value: TensorLike, *, name: str | None = None) -> Tensor:
    """Subtracts `value` from the variable, atomically; the output is the difference."""


@op(
    "AssignSubVariableOp", shape=_checked_update, dtypes=NUMERIC, result=None, gradient=None, stateful=True, writes=True
)
def assign_sub_target(ref: RefLike, value: TensorLike, *, name: str | None = None) -> Operation:
    """`AssignSub` without an output."""


@op("AssignMul", shape=_update_shape, dtypes=NUMERIC, gradient=None, stateful=True, writes=True)
def assign_mul_value(ref: RefLike, value: TensorLike, *, name: str | None = None) -> Tensor:
    """Multiplies the variable by `value`, atomically; the output is the product."""


@op(
    "AssignMulVariableOp", shape=_checked_update, dtypes=NUMERIC, result=None, gradient=None, stateful=True, writes=True
)
def assign_mul_target(ref: RefLike, value: TensorLike, *, name: str | None = None) -> Operation:
    """`AssignMul` without an output."""
