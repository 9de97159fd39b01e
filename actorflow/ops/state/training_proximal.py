"""The updates of optimizers that shrink weights to zero: proximal steps, dual averaging, FTRL.

As in `actorflow.ops.state.training`: the refs are variables of one shape and type, changed in place, and equal indices of
rows are summed first. The formulas are TensorFlow 1.15's.
"""

from __future__ import annotations

from actorflow.dtypes import int64
from actorflow.graph.tensor import Operation, TensorLike
from actorflow.ops.declare import RefLike
from actorflow.ops.state.training import updating


@updating("ApplyProximalGradientDescent", 1, 8)
def apply_proximal_gradient_descent(
    var: RefLike,
    alpha: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    delta: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """near = var - alpha · delta;
    var = sign(near) · max(|near| - alpha · l1, 0) / (1 + alpha · l2) (Duchi and Singer 2009, FOBOS)."""


@updating("SparseApplyProximalGradientDescent", 1, 8, sparse=True)
def sparse_apply_proximal_gradient_descent(
    var: RefLike,
    alpha: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    grad: TensorLike,
    indices: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyProximalGradientDescent` on the rows at `indices`; all others, and their slots, stay as they are."""


@updating("ApplyProximalAdagrad", 2, 12)
def apply_proximal_adagrad(
    var: RefLike,
    accum: RefLike,
    lr: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    grad: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """accum += grad²; rate = lr / √accum; near = var - rate · grad;
    var = sign(near) · max(|near| - rate · l1, 0) / (1 + rate · l2)."""


@updating("SparseApplyProximalAdagrad", 2, 12, sparse=True)
def sparse_apply_proximal_adagrad(
    var: RefLike,
    accum: RefLike,
    lr: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    grad: TensorLike,
    indices: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyProximalAdagrad` on the rows at `indices`; all others, and their slots, stay as they are."""


@updating("ApplyAdagradDA", 3, 12, types={"global_step": int64})
def apply_adagrad_da(
    var: RefLike,
    gradient_accumulator: RefLike,
    gradient_squared_accumulator: RefLike,
    grad: TensorLike,
    lr: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    global_step: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """s = gradient_accumulator += grad; q = gradient_squared_accumulator += grad²; t = global_step;
    var = -lr · sign(s) · max(|s| - l1 · t, 0) / (l2 · t · lr + √q) (Duchi et al. 2011, dual averaging). `global_step`
    is int64."""


@updating("SparseApplyAdagradDA", 3, 12, sparse=True, types={"global_step": int64})
def sparse_apply_adagrad_da(
    var: RefLike,
    gradient_accumulator: RefLike,
    gradient_squared_accumulator: RefLike,
    grad: TensorLike,
    indices: TensorLike,
    lr: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    global_step: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyAdagradDA` on the rows at `indices`; all others, and their slots, stay as they are."""


@updating("ApplyFtrl", 3, 24)
def apply_ftrl(
    var: RefLike,
    accum: RefLike,
    linear: RefLike,
    grad: TensorLike,
    lr: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    lr_power: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """a = accum + grad²; linear += grad - (a^-lr_power - accum^-lr_power) / lr · var; accum = a;
    var = (sign(linear) · l1 - linear) / (a^-lr_power / lr + 2 · l2) where |linear| > l1, else 0 (McMahan et al. 2013,
    FTRL-proximal)."""


@updating("SparseApplyFtrl", 3, 24, sparse=True)
def sparse_apply_ftrl(
    var: RefLike,
    accum: RefLike,
    linear: RefLike,
    grad: TensorLike,
    indices: TensorLike,
    lr: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    lr_power: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyFtrl` on the rows at `indices`; all others, and their slots, stay as they are."""


@updating("ApplyFtrlV2", 3, 28)
def apply_ftrl_v2(
    var: RefLike,
    accum: RefLike,
    linear: RefLike,
    grad: TensorLike,
    lr: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    l2_shrinkage: TensorLike,
    lr_power: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyFtrl`, where linear gets grad + 2 · l2_shrinkage · var instead of grad."""


@updating("SparseApplyFtrlV2", 3, 28, sparse=True)
def sparse_apply_ftrl_v2(
    var: RefLike,
    accum: RefLike,
    linear: RefLike,
    grad: TensorLike,
    indices: TensorLike,
    lr: TensorLike,
    l1: TensorLike,
    l2: TensorLike,
    l2_shrinkage: TensorLike,
    lr_power: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyFtrlV2` on the rows at `indices`; all others, and their slots, stay as they are."""
