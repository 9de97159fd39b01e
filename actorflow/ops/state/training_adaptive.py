"""More updates of optimizers with a rate for each weight: Adadelta, AdaMax, AddSign, PowerSign.

As in `actorflow.ops.state.training`: the refs are variables of one shape and type, changed in place, and equal indices of
rows are summed first. The formulas are TensorFlow 1.15's.
"""

from __future__ import annotations

from actorflow.graph.tensor import Operation, TensorLike
from actorflow.ops.declare import RefLike
from actorflow.ops.state.training import updating


@updating("ApplyAdadelta", 3, 16)
def apply_adadelta(
    var: RefLike,
    accum: RefLike,
    accum_update: RefLike,
    lr: TensorLike,
    rho: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """accum = rho · accum + (1 - rho) · grad²; step = √(accum_update + epsilon) / √(accum + epsilon) · grad;
    accum_update = rho · accum_update + (1 - rho) · step²; var -= lr · step (Zeiler 2012)."""


@updating("SparseApplyAdadelta", 3, 16, sparse=True)
def sparse_apply_adadelta(
    var: RefLike,
    accum: RefLike,
    accum_update: RefLike,
    lr: TensorLike,
    rho: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    indices: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyAdadelta` on the rows at `indices`; all others, and their slots, stay as they are."""


@updating("ApplyAdaMax", 3, 10)
def apply_ada_max(
    var: RefLike,
    m: RefLike,
    v: RefLike,
    beta1_power: TensorLike,
    lr: TensorLike,
    beta1: TensorLike,
    beta2: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """m = beta1 · m + (1 - beta1) · grad; v = max(beta2 · v, |grad|);
    var -= lr / (1 - beta1_power) · m / (v + epsilon) (Kingma and Ba 2014, section 7)."""


@updating("ApplyAddSign", 2, 10)
def apply_add_sign(
    var: RefLike,
    m: RefLike,
    lr: TensorLike,
    alpha: TensorLike,
    sign_decay: TensorLike,
    beta: TensorLike,
    grad: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """m = beta · m + (1 - beta) · grad; var -= lr · (alpha + sign_decay · sign(grad) · sign(m)) · grad
    (Bello et al. 2017)."""


@updating("ApplyPowerSign", 2, 20)
def apply_power_sign(
    var: RefLike,
    m: RefLike,
    lr: TensorLike,
    logbase: TensorLike,
    sign_decay: TensorLike,
    beta: TensorLike,
    grad: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """m = beta · m + (1 - beta) · grad; var -= lr · e^(logbase · sign_decay · sign(grad) · sign(m)) · grad
    (Bello et al. 2017)."""
